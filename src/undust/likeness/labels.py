"""Labels: which pages of a site are alike, and by what evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from undust.likeness.boilerplate import boilerplate_values
from undust.likeness.canonical import canonical_edges
from undust.likeness.components import compact, components, star
from undust.likeness.same_text import Edges, stable_share, text_edges, text_resemblance, tolerant_edges
from undust.likeness.seen import NOTHING, Seen, see
from undust.likeness.soft import soft_pages

LEVELS = ("url", "size", "digest", "sketch", "label", "fetched")
"""Kinds of evidence, weakest first; `Labels.level` indexes it."""

URL, SIZE, DIGEST, SKETCH, LABEL, FETCHED = range(6)


@dataclass(frozen=True)
class Labels:
    """Clusters of the pages of a site.

    `cluster`: number of the page's cluster, singletons too; -1: its content is not known (errors, redirects that lead
    out, no evidence). `soft`: the page belongs to an error, login or empty-result cluster and must teach nothing.
    `level`: what put it where it is, index into `LEVELS`. `boiler` marks min-hashes that belong to the template, `steady`
    is the share of equal texts that came as equal bytes: 1 on a static site, 0 with a clock on every page.
    """

    cluster: NDArray[np.int32]
    soft: NDArray[np.bool_]
    level: NDArray[np.uint8]
    seen: Seen
    boiler: NDArray[np.bool_] | None = None
    steady: float = 1.0

    def __len__(self) -> int:
        return len(self.cluster)

    def resemblance(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.float64]:
        """Estimated share of common text of pages i[k] and j[k], the site's template aside; nan: cannot be told.

        From 0.8 on pages count as near-duplicates. Members of one cluster have 1, so have equal digests.
        """
        seen = self.seen
        out = np.full(len(i), np.nan)
        texts = np.flatnonzero(seen.has_sketch[i] & seen.has_sketch[j] & (seen.kind[i] == seen.kind[j]))
        boiler = boilerplate_values(seen) if self.boiler is None else self.boiler
        out[texts] = text_resemblance(seen, boiler, self.steady, i[texts], j[texts])
        # Bytes without a text, or a text and no text: equal when the digests are, and otherwise not.
        hashed = (seen.digest[i] != NOTHING) & (seen.digest[j] != NOTHING)
        out[hashed & (~seen.has_sketch[i] | ~seen.has_sketch[j])] = 0.0
        out[hashed & (seen.digest[i] == seen.digest[j])] = 1.0
        out[(self.cluster[i] >= 0) & (self.cluster[i] == self.cluster[j])] = 1.0
        return out

    def take(self, rows: NDArray[np.integer]) -> Labels:
        """Labels of some of the pages; clusters keep their numbers, links to pages left out are cut."""
        seen = self.seen
        columns = {name: getattr(seen, name)[rows] for name in seen.__dataclass_fields__}
        new = np.full(len(seen) + 1, NOTHING, dtype=np.int64)
        new[rows] = np.arange(len(rows))
        for name in ("location", "canonical"):
            columns[name] = new[columns[name]]
        return replace(
            self,
            cluster=self.cluster[rows],
            soft=self.soft[rows],
            level=self.level[rows],
            seen=Seen(**columns),
            boiler=None if self.boiler is None else self.boiler[rows],
        )


def label_site(pages: pa.Table, seen: Seen | None = None) -> Labels:
    """Clusters of the pages of one site: the union of all evidence, each kind held to its own test."""
    seen = see(pages) if seen is None else seen
    n = len(seen)
    level = np.zeros(n, dtype=np.uint8)
    edges: list[Edges] = []
    body = seen.alive & (seen.given == NOTHING)
    boiler = boilerplate_values(seen)

    given = np.flatnonzero(seen.given != NOTHING)
    edges.append(star(given, seen.given[given]))
    level[given] = LABEL

    rows = np.flatnonzero(body & (seen.digest != NOTHING))
    edges.append(star(rows, seen.digest[rows]))
    level[rows] = DIGEST

    level[body & seen.has_sketch] = SKETCH
    alike = text_edges(pages, seen, boiler)
    edges.append(alike)
    steady = stable_share(seen, *alike)
    if steady < 0.5:
        edges.append(tolerant_edges(seen, boiler))

    known = level > 0
    text = _join(n, edges)
    linked = canonical_edges(pages, seen, boiler, text)
    edges.append(linked)
    level[linked[0]] = LABEL

    rows = np.flatnonzero((seen.location != NOTHING) & (seen.given == NOTHING))
    edges.append((rows, seen.location[rows]))
    level[rows] = LABEL

    root = _join(n, edges)
    # A chain of redirects that never arrives at a page with content says nothing.
    arrived = np.zeros(n, dtype=bool)
    arrived[root[known]] = True
    cluster = np.where(arrived[root], root, NOTHING)
    level[cluster == NOTHING] = URL
    numbered = compact(cluster)
    return Labels(numbered, seen.given_soft | soft_pages(pages, seen, numbered), level, seen, boiler, steady)


def _join(n: int, edges: list[Edges]) -> NDArray[np.int64]:
    return components(n, np.concatenate([e[0] for e in edges]), np.concatenate([e[1] for e in edges]))
