"""What the labels of a site come to, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from undust.likeness.labels import LEVELS

if TYPE_CHECKING:
    from undust.likeness.site import Site


@dataclass(frozen=True)
class Summary:
    """Live pages and their contents; soft pages count as pages and are left out of all that follows.

    `ceiling` is the share of the hard pages that a perfect rule book would save: 1 - clusters / pages.
    """

    pages: int
    alive: int
    unknown: int
    soft: int
    clusters: int
    duplicates: int
    levels: dict[str, int]

    @property
    def ceiling(self) -> float:
        known = self.clusters + self.duplicates
        return self.duplicates / known if known else 0.0

    @property
    def soft_share(self) -> float:
        return self.soft / self.alive if self.alive else 0.0

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            pages=self.pages + other.pages,
            alive=self.alive + other.alive,
            unknown=self.unknown + other.unknown,
            soft=self.soft + other.soft,
            clusters=self.clusters + other.clusters,
            duplicates=self.duplicates + other.duplicates,
            levels={name: self.levels[name] + other.levels[name] for name in LEVELS},
        )

    def __str__(self) -> str:
        levels = ", ".join(f"{name} {n}" for name, n in self.levels.items() if n)
        return (
            f"pages={self.pages} alive={self.alive} clusters={self.clusters} duplicates={self.duplicates} "
            f"ceiling={self.ceiling:.1%} soft={self.soft_share:.1%} unknown={self.unknown} ({levels})"
        )


def summary(site: Site) -> Summary:
    """Count a site's labels.

    >>> from undust.likeness import split_sites
    >>> import pyarrow as pa
    >>> urls = [f"http://a.example/{i}" for i in range(4)]
    >>> pages = pa.table({"url": urls, "digest": ["x", "x", "y", None]})
    >>> print(summary(next(split_sites(pages))))
    pages=4 alive=4 clusters=2 duplicates=1 ceiling=33.3% soft=0.0% unknown=1 (digest 3)
    """
    labels, alive = site.labels, site.alive
    known = alive & (labels.cluster >= 0)
    hard = known & ~labels.soft
    clusters = len(np.unique(labels.cluster[hard]))
    counts = np.bincount(labels.level[hard], minlength=len(LEVELS)).tolist()
    return Summary(
        pages=site.n,
        alive=int(alive.sum()),
        unknown=int((alive & (labels.cluster < 0)).sum()),
        soft=int((alive & labels.soft).sum()),
        clusters=clusters,
        duplicates=int(hard.sum()) - clusters,
        levels=dict(zip(LEVELS, counts, strict=True)),
    )
