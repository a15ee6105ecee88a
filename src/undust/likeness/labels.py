"""Labels: which pages of a site are alike, and by what evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from undust.likeness.components import compact, components, same, star
from undust.likeness.seen import NOTHING, Seen

LEVELS = ("url", "size", "digest", "sketch", "label", "fetched")
"""Kinds of evidence, weakest first; `Labels.level` indexes it."""

URL, SIZE, DIGEST, SKETCH, LABEL, FETCHED = range(6)


@dataclass(frozen=True)
class Labels:
    """Clusters of the pages of a site.

    `cluster`: number of the page's cluster, singletons too; -1: its content is not known (errors, redirects that lead
    out, no evidence). `soft`: the page belongs to an error, login or empty-result cluster and must teach nothing.
    `level`: what put it where it is, index into `LEVELS`.
    """

    cluster: NDArray[np.int32]
    soft: NDArray[np.bool_]
    level: NDArray[np.uint8]
    seen: Seen

    def __len__(self) -> int:
        return len(self.cluster)

    def resemblance(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.float64]:
        """Estimated share of common text of the pages i[k] and j[k]; nan where it cannot be told."""
        seen = self.seen
        comparable = seen.has_sketch[i] & seen.has_sketch[j] & (seen.kind[i] == seen.kind[j])
        out = np.full(len(i), np.nan)
        out[comparable] = (seen.sketch[i[comparable]] == seen.sketch[j[comparable]]).mean(axis=1)
        # Bytes without a text are alike when they are equal, and otherwise not.
        bytes_only = ~seen.has_sketch[i] & ~seen.has_sketch[j] & (seen.digest[i] >= 0) & (seen.digest[j] >= 0)
        out[bytes_only] = 0.0
        out[(seen.digest[i] >= 0) & (seen.digest[i] == seen.digest[j])] = 1.0
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
        )


def label_site(seen: Seen) -> Labels:
    """Clusters as the union of the evidence, strongest first: given clusters, redirects, digests, sketches, canonicals."""
    n = len(seen)
    level = np.zeros(n, dtype=np.uint8)
    edges_i: list[NDArray[np.int64]] = []
    edges_j: list[NDArray[np.int64]] = []
    body = seen.alive & (seen.given == NOTHING)

    def link(rows: NDArray[np.int64], code: NDArray[np.int64]) -> None:
        i, j = star(rows, code)
        edges_i.append(i)
        edges_j.append(j)

    given = np.flatnonzero(seen.given != NOTHING)
    link(given, seen.given[given])
    level[given] = LABEL

    rows = np.flatnonzero(body & (seen.digest != NOTHING))
    link(rows, seen.digest[rows])
    level[rows] = DIGEST

    rows = np.flatnonzero(body & seen.has_sketch)
    if len(rows):
        link(rows, same(*seen.sketch[rows].T, seen.text_len[rows], seen.kind[rows]))
        level[rows] = np.maximum(level[rows], SKETCH)

    known = level > 0
    target = seen.canonical
    rows = np.flatnonzero(body & (target != NOTHING) & (target != np.arange(n)))
    rows = rows[known[rows] & known[target[rows]]]
    if len(rows):
        alike = (seen.sketch[rows] == seen.sketch[target[rows]]).mean(axis=1) >= 0.5
        rows = rows[alike & seen.has_sketch[rows] & seen.has_sketch[target[rows]]]
        edges_i.append(rows)
        edges_j.append(target[rows])
        level[rows] = LABEL

    rows = np.flatnonzero((seen.location != NOTHING) & (seen.given == NOTHING))
    edges_i.append(rows)
    edges_j.append(seen.location[rows])
    level[rows] = LABEL

    root = components(n, np.concatenate(edges_i), np.concatenate(edges_j))
    # A chain of redirects that never arrives at a page with content says nothing.
    arrived = np.zeros(n, dtype=bool)
    arrived[root[known]] = True
    cluster = np.where(arrived[root], root, NOTHING)
    level[cluster == NOTHING] = URL
    return Labels(compact(cluster), seen.given_soft.copy(), level, seen)
