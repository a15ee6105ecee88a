"""LikelySimilar: what a URL list says about two pages being alike, before anything is fetched."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from undust.errors import UsageError
from undust.learners.envelopes import Bools, Ints
from undust.likeness import Site

Likeness = Literal["auto", "none", "size", "sketch"]

UNKNOWN = -1

SIZE_TOLERANCE = 0.4
"""Where sizes are all there is. Irrelevant parameters of sites with advertisements or clocks in the page kept the
size in 60 to 100 % of the pairs, relevant ones in under 50 %, most of them under 5 % (measured on logs)."""


class LikelySimilar:
    """False for two pages only if they are unlikely to be similar; `known` says when that rests on anything.

    `size`: the ranges of sizes seen of the two pages must meet (the papers' test for logs). `sketch`: at least
    `sketch_matches` of the min-hashes must agree, or the digests, or both pages sit in one cluster (redirect,
    checked canonical link, given label). `auto`: the sketch test where both pages have such evidence, else
    the size test. `none`: always true.

    >>> import pyarrow as pa
    >>> site = Site("h.test", ("h.test",), pa.table({"url": ["http://h.test/a", "http://h.test/b"],
    ...     "size_min": [10, 15], "size_max": [15, 20]}))
    >>> LikelySimilar(site)(np.array([0]), np.array([1])), LikelySimilar(site).level
    (array([ True]), 'size')
    """

    def __init__(self, site: Site, likeness: Likeness = "auto", sketch_matches: int = 4) -> None:
        if likeness not in get_args(Likeness):
            raise UsageError(f"likeness={likeness!r}; there are {', '.join(get_args(Likeness))}")
        self._seen = site.seen
        content = bool(
            site.seen.has_sketch.any() or (site.seen.digest >= 0).any() or (site.seen.given >= 0).any()
        )
        self._labels = site.labels if content and likeness in ("auto", "sketch") else None
        # What is sent along with a redirect says nothing of the page it leads to.
        direct = site.alive & (site.size_min >= 0) if likeness in ("auto", "size") else np.zeros(site.n, bool)
        self._sizes = bool(direct.any())
        self._low = np.where(direct, site.size_min, 0)
        self._high = np.where(direct, site.size_max, np.iinfo(np.int64).max)
        self._has_size = direct
        self._share = sketch_matches / max(1, site.seen.sketch.shape[1] if site.seen.has_sketch.any() else 4)
        self.level = "url"
        if self._labels is not None:
            self.level = "sketch" if site.seen.has_sketch.any() else "digest"
        elif self._sizes:
            self.level = "size"

    def tolerance(self, epsilon: float) -> float:
        """Share of unlike pairs that still does not refute: sizes of pages made anew for each visit vary."""
        return epsilon if self._labels is not None else max(epsilon, SIZE_TOLERANCE)

    @property
    def hopeless(self) -> float:
        """Share of unlike pairs beyond which a rule is not even likely."""
        return 0.5 if self._labels is not None else 0.75

    @property
    def always(self) -> bool:
        """Whether nothing is known, so that every two pages pass."""
        return self._labels is None and not self._sizes

    @property
    def soft(self) -> Bools:
        """Login, error and empty-result pages: alike without saying anything about their URLs."""
        return np.zeros(len(self._seen), bool) if self._labels is None else self._labels.soft

    def __call__(self, u: Ints, v: Ints) -> Bools:
        alike: Bools = self.verdict(u, v) != 0
        return alike

    def verdict(self, u: Ints, v: Ints) -> npt.NDArray[np.int8]:
        """1: likely similar; 0: unlikely; UNKNOWN: nothing to tell by."""
        out = np.full(len(u), UNKNOWN, dtype=np.int8)
        if self._sizes:
            both = self._has_size[u] & self._has_size[v]
            meet = (self._low[u] <= self._high[v]) & (self._low[v] <= self._high[u])
            out[both] = meet[both]
        if self._labels is not None:
            share = self._labels.resemblance(u, v)
            told = ~np.isnan(share)
            out[told] = share[told] >= self._share
            cluster = self._labels.cluster
            apart = ~told & (cluster[u] >= 0) & (cluster[v] >= 0) & (cluster[u] != cluster[v])
            out[apart] = 0
        return out
