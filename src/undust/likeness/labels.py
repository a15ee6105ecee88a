"""Labels: which pages of a site are alike, and by what evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from undust.likeness.boilerplate import boilerplate_values
from undust.likeness.canonical import canonical_edges
from undust.likeness.components import Edges, compact, components, same, star
from undust.likeness.same_text import by_bytes, stable_share, text_edges, text_resemblance, tolerant_edges
from undust.likeness.seen import NOTHING, Seen, page_urls, see
from undust.likeness.soft import soft_pages
from undust.likeness.unchained import unchained

LEVELS = ("url", "size", "digest", "sketch", "label", "fetched")
"""Kinds of evidence, weakest first; `Labels.level` indexes it."""

CHANGING = 0.7
"""Below this share of equal texts with equal bytes, small differences in length are clocks and counters."""

URL, SIZE, DIGEST, SKETCH, LABEL, FETCHED = range(6)


@dataclass(frozen=True)
class Labels:
    """Clusters of the pages of a site.

    `cluster`: number of the page's cluster, singletons too; -1: its content is not known (errors,
    redirects that lead out, no evidence). `soft`: the page is an error, login or empty-result page and
    must teach nothing. `level`: the strongest kind of evidence the page is known by, index into `LEVELS`.
    `boiler` marks min-hashes of the template; `steady` is the share of equal texts that came as equal
    bytes: 1 on a static site, 0 with a clock on every page.
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
        """Estimated share of common own text (template aside) of pages i[k] and j[k]; nan: cannot be told.

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
        # Two pages that were told apart (given clusters, believed links, sizes where nothing else is known) differ,
        # unless their texts say otherwise.
        told = ((self.level[i] >= LABEL) & (self.level[j] >= LABEL)) | (
            (self.level[i] == SIZE) & (self.level[j] == SIZE)
        )
        told &= (self.cluster[i] >= 0) & (self.cluster[j] >= 0)
        out[told & np.isnan(out)] = 0.0
        out[(self.cluster[i] >= 0) & (self.cluster[i] == self.cluster[j])] = 1.0
        return out

    def apart(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.float64]:
        """By how many characters the texts of two pages each differ in length; nan where that is not known."""
        a, b = self.seen.text_len[i], self.seen.text_len[j]
        return np.where((a != NOTHING) & (b != NOTHING), np.abs(a - b), np.nan)

    def claimed(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Do two pages each say of themselves, by their canonical link, that they are one?"""
        of = self.seen.canonical_code
        found: NDArray[np.bool_] = (of[i] != NOTHING) & (of[i] == of[j])
        return found

    def take(self, rows: NDArray[np.integer]) -> Labels:
        """Labels of some of the pages; clusters keep their numbers, links to pages left out are cut."""
        return replace(
            self,
            cluster=self.cluster[rows],
            soft=self.soft[rows],
            level=self.level[rows],
            seen=self.seen.take(rows),
            boiler=None if self.boiler is None else self.boiler[rows],
        )


def label_site(pages: pa.Table, seen: Seen | None = None, *, boilerplate: bool = True) -> Labels:
    """Clusters of the pages of one site: the union of all evidence, each kind held to its own test.

    `boilerplate=False` takes the template for the pages' own text, to show what telling them apart is worth.

    >>> urls = [f"http://a.example/{i}" for i in range(3)]
    >>> label_site(pa.table({"url": urls, "digest": ["x", "x", None]})).cluster.tolist()
    [0, 0, -1]
    """
    return _Labelling(page_urls(pages), see(pages) if seen is None else seen, boilerplate).labels()


class _Labelling:
    """The evidence of one site: edges between pages, and for each page the strongest kind it is known by."""

    def __init__(self, urls: list[str], seen: Seen, boilerplate: bool) -> None:
        self.urls, self.seen = urls, seen
        self.level = np.zeros(len(seen), dtype=np.uint8)
        self.boiler = boilerplate_values(seen) if boilerplate else np.zeros(seen.sketch.shape, dtype=bool)
        self.steady = 1.0
        self.edges: list[Edges] = []

    def labels(self) -> Labels:
        self._given()
        self._texts()
        text = self.join(self.edges)
        known = self.level > URL
        linked = canonical_edges(self.urls, self.seen, self.boiler, text)
        group = unchained(self.seen, self.boiler, text, linked)
        self.level[linked[0][group[linked[0]] == group[linked[1]]]] = LABEL
        cluster = self._redirected(group, known | (self.seen.canonical_code != NOTHING) & self.seen.alive)
        soft = self.seen.given_soft | soft_pages(self.urls, self.seen, cluster, self.boiler)
        return Labels(cluster, soft, self.level, self.seen, self.boiler, self.steady)

    def join(self, edges: list[Edges]) -> NDArray[np.int64]:
        return components(len(self.seen), *(np.concatenate(ends) for ends in zip(*edges, strict=True)))

    def _given(self) -> None:
        """Clusters that came with the pages override all else."""
        rows = np.flatnonzero(self.seen.given != NOTHING)
        self.edges.append(star(rows, self.seen.given[rows]))
        self.level[rows] = LABEL

    def _texts(self) -> None:
        """Equal bytes, and equal texts as far as sketches tell."""
        seen = self.seen
        body = seen.alive & (seen.given == NOTHING)
        # A page without text has one digest with all such pages where digests are taken of texts.
        rows = np.flatnonzero(body & (seen.digest != NOTHING))
        blank = np.where(seen.text_len[rows] == 0, seen.size_max[rows], NOTHING)
        self.edges.append(star(rows, same(seen.digest[rows], blank)))
        self.level[rows] = DIGEST
        self.level[body & seen.has_sketch] = SKETCH
        alike = text_edges(self.urls, seen, self.boiler)
        self.steady = stable_share(seen, *alike)
        self.edges.append(by_bytes(seen, *alike))
        if self.steady < CHANGING:
            self.edges.append(tolerant_edges(seen, self.boiler))

    def _redirected(self, group: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The clusters: pages with known content, and redirects that arrive at one of them."""
        seen = self.seen
        rows = np.flatnonzero((seen.location != NOTHING) & (seen.given == NOTHING))
        root = self.join([star(np.flatnonzero(known), group[known]), (rows, seen.location[rows])])
        arrived = np.zeros(len(seen), dtype=bool)
        arrived[root[known]] = True
        cluster = compact(np.where(arrived[root], root, NOTHING))
        moved = known & (seen.canonical_code != NOTHING) & (self.level == URL)
        self.level[rows] = self.level[moved] = LABEL
        self.level[cluster == NOTHING] = URL
        return cluster
