"""Every metric of the papers, from two numbers a URL: the key it got and the content it shows.

Nothing here enumerates pairs: all is sums over the cells of the table key x cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Resemblance = Callable[[Ints, Ints], Floats]

NEAR = 0.8
"""From this resemblance on, two pages that are not equal are near-duplicates: a wrong merge that hurts little."""


@dataclass(frozen=True)
class Measures:
    """What a canonicalizer makes of URLs whose content is known; counts, so that sites add up.

    >>> m = measure(np.array([0, 0, 1, 1, 2]), np.array([7, 7, 8, 9, 9]))
    >>> m.urls, m.contents, m.keys, m.reduction, m.ceiling
    (5, 3, 3, 0.4, 0.4)
    >>> m.true_merges, m.wrong_merges, m.lost, m.fpr, m.collision_precision
    (1, 1, 0, 0.5, 0.75)
    """

    urls: int = 0
    """N: URLs whose content is known."""
    contents: int = 0
    """C: distinct contents among them, pages of which there is only one URL included."""
    keys: int = 0
    """Distinct canonical URLs."""
    labels: int = 0
    """C_norm: distinct contents that are the majority of some key; the others are lost."""
    true_merges: int = 0
    """URLs merged with the content they show: on each key, the URLs of its majority less one."""
    wrong_merges: int = 0
    """URLs on a key whose majority shows another content, near-duplicates apart."""
    near_merges: int = 0
    """As many whose text resembles the majority's by `NEAR` or more."""
    pairs: int = 0
    """Support pairs: pairs of URLs on one key."""
    false_pairs: int = 0
    """Pairs of URLs on one key that show different contents."""
    colliding: int = 0
    """URLs on keys that have at least two."""
    agreeing: int = 0
    """Those of them that show the majority of their key."""
    lost: int = 0
    """Contents that would no longer be reached: each URL of theirs is on a key whose majority is another."""
    lost_near: int = 0
    """Lost contents of which a near-duplicate is kept."""
    changed: int = 0
    """URLs whose canonical form differs from them."""

    @property
    def reduction(self) -> float:
        """ReductionRatio, discovered redundancy: 1 - keys/N."""
        return _share(self.urls - self.keys, self.urls)

    compression_rate = reduction
    """The same by its name in Lei et al., equation 1."""

    @property
    def ceiling(self) -> float:
        """1 - C/N: the reduction of perfect rules; Lei et al. call it the duplicate rate."""
        return _share(self.urls - self.contents, self.urls)

    @property
    def duplicates(self) -> int:
        """Unique URLs less unique contents (T, W section 3)."""
        return self.urls - self.contents

    @property
    def reached(self) -> float:
        """True merges over all possible ones: the share of the ceiling that is honestly reached."""
        return _share(self.true_merges, self.urls - self.contents)

    @property
    def coverage(self) -> float:
        """Share of the list's duplicates that are gone (T, W section 3): what is left is keys - C_norm."""
        return _share(self.duplicates - (self.keys - self.labels), self.duplicates)

    @property
    def dup_reduction(self) -> float:
        """Dup-reduction rate, Lei et al., equation 2: by how much the share of duplicates falls."""
        left = 1 - self.labels / self.keys if self.keys else 0.0
        return 1 - left / self.ceiling if self.ceiling else 0.0

    @property
    def fpr(self) -> float:
        """Lei et al., equation 3: share of the pairs on one key that are not duplicates."""
        return _share(self.false_pairs, self.pairs)

    @property
    def collision_precision(self) -> float:
        """Share of the URLs that share a key that show the key's majority."""
        return self.agreeing / self.colliding if self.colliding else 1.0

    @property
    def lost_rate(self) -> float:
        return _share(self.lost, self.contents)

    def __add__(self, other: Measures) -> Measures:
        """Two sites as one whole (micro average)."""
        return Measures(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def to_dict(self) -> dict[str, Any]:
        """Counts and rates, flat."""
        return asdict(self) | {name: getattr(self, name) for name in RATES}


RATES = (
    "reduction",
    "compression_rate",
    "ceiling",
    "reached",
    "coverage",
    "dup_reduction",
    "fpr",
    "collision_precision",
    "lost_rate",
)
"""Names of the metrics that are ratios."""


def measure(
    key: Ints, cluster: Ints, *, changed: Bools | None = None, resemblance: Resemblance | None = None
) -> Measures:
    """Measure keys against contents, both as numbers from 0, aligned.

    Of two clusters that hold as many URLs of a key the one with the smaller number is its majority.
    `resemblance(i, j)`, of URLs by position, tells near-duplicates from other wrong merges; nan: cannot be told.
    """
    n = len(key)
    if not n:
        return Measures()
    _, of_key, of_cluster, at, size, best = _cells(key, cluster)
    near, minor = _near(of_key, at, size, best, resemblance)
    on_key = np.bincount(of_key, size).astype(np.int64)
    kept = np.unique(of_cluster[best])
    contents = np.unique(of_cluster)
    lost = np.setdiff1d(contents, kept, assume_unique=True)
    shared = on_key > 1
    return Measures(
        urls=n,
        contents=len(contents),
        keys=len(best),
        labels=len(kept),
        true_merges=int((size[best] - 1).sum()),
        wrong_merges=int(size[minor & ~near].sum()),
        near_merges=int(size[near].sum()),
        pairs=_pairs(on_key),
        false_pairs=_pairs(on_key) - _pairs(size),
        colliding=int(on_key[shared].sum()),
        agreeing=int(size[best][shared].sum()),
        lost=len(lost),
        lost_near=len(np.setdiff1d(lost, of_cluster[minor & ~near])),
        changed=int(changed.sum()) if changed is not None else 0,
    )


def astray(key: Ints, cluster: Ints, resemblance: Resemblance | None = None) -> tuple[Ints, Ints, Bools]:
    """The wrong merges of `measure` themselves: URLs on a key whose majority shows another content.

    By position: the URLs, for each one that shows the majority, and whether the two are near-duplicates.

    >>> wrong, kept, near = astray(np.array([0, 0, 0, 1]), np.array([7, 7, 8, 9]))
    >>> wrong.tolist(), kept.tolist(), near.tolist()
    ([2], [0], [False])
    """
    if not len(key):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool)
    cell, of_key, _, at, size, best = _cells(key, cluster)
    near, minor = _near(of_key, at, size, best, resemblance)
    rows = np.flatnonzero(minor[cell])
    return rows, at[best[of_key[cell[rows]]]], near[cell[rows]]


def _cells(key: Ints, cluster: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """The table key x cluster: the cell of each row; of each cell its key (from 0), cluster, first row and size;
    and of each key the cell of its majority."""
    width = int(cluster.max()) + 1
    cells, at, cell, size = np.unique(
        key * width + cluster, return_index=True, return_inverse=True, return_counts=True
    )
    of_key, of_cluster = np.divmod(cells, width)
    of_key = np.unique(of_key, return_inverse=True)[1]
    order = np.lexsort((of_cluster, -size, of_key))
    best = order[np.unique(of_key[order], return_index=True)[1]]
    return cell, of_key, of_cluster, at, size, best


def _near(
    of_key: Ints, at: Ints, size: Ints, best: Ints, resemblance: Resemblance | None
) -> tuple[Bools, Bools]:
    """Which cells nearly show the majority of their key, and which do not show it."""
    minor = np.ones(len(size), bool)
    minor[best] = False
    near = np.zeros(len(size), bool)
    if resemblance is not None and minor.any():
        near[minor] = np.nan_to_num(resemblance(at[minor], at[best[of_key[minor]]]), nan=0.0) >= NEAR
    return near, minor


def micro(measured: Iterable[Measures]) -> Measures:
    """All sites' URLs as one whole.

    >>> micro([Measures(urls=10, keys=5), Measures(urls=30, keys=30)]).reduction
    0.125
    """
    return sum(measured, Measures())


def macro(measured: Iterable[Measures]) -> dict[str, float]:
    """The mean over sites of each rate, whatever the sites' sizes.

    >>> macro([Measures(urls=10, keys=5), Measures(urls=30, keys=30)])["reduction"]
    0.25
    """
    sites = [m for m in measured if m.urls]
    return {name: sum(getattr(m, name) for m in sites) / max(len(sites), 1) for name in RATES}


def numbered(strings: Iterable[str]) -> Ints:
    """A number for each distinct string, in order of appearance.

    >>> numbered(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    number: dict[str, int] = {}
    return np.fromiter((number.setdefault(s, len(number)) for s in strings), np.int64)


def _pairs(sizes: Ints) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
