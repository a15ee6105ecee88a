"""What URLs show, as far as it is known: given by a file or a column, else derived from the pages."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from undust.errors import InputError
from undust.files import reading
from undust.likeness import Labels, Site, split_sites
from undust.likeness.seen import page_urls
from undust.likeness.site import SiteKey
from undust.measures.metrics import Bools, Floats, Ints
from undust.url import normal


@dataclass(frozen=True)
class Truth:
    """Clusters given for URLs (as written, not in normal form), with those that are soft.

    >>> truth = Truth.of([("http://a.example/", 0, False), ("http://a.example/?x", 0, False)])
    >>> len(truth), truth.cluster.tolist()
    (2, [0, 0])
    """

    urls: tuple[str, ...]
    cluster: Ints
    soft: Bools

    def __len__(self) -> int:
        return len(self.urls)

    @classmethod
    def of(cls, rows: Iterable[tuple[str, int, bool]]) -> Truth:
        """From rows of URL, cluster, soft."""
        urls, cluster, soft = tuple(zip(*rows, strict=True)) or ((), (), ())
        return cls(urls, np.array(cluster, np.int64), np.array(soft, bool))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Truth:
        """From a file of lines `url TAB cluster TAB soft ...` under a header; plain or compressed."""
        with reading(path) as blocks:
            lines = b"".join(blocks).decode("utf-8", "surrogateescape").split("\n")
        rows = []
        for number, line in enumerate(lines[1:], 2):
            if not line:
                continue
            try:
                url, cluster, soft = line.split("\t")[:3]
                rows.append((url, int(cluster), soft == "1"))
            except ValueError:
                raise InputError(
                    str(path), number, "not a line of truth", "expected: url TAB cluster TAB soft"
                ) from None
        return cls.of(rows)

    @property
    def clusters(self) -> dict[str, int]:
        return dict(zip(self.urls, self.cluster.tolist(), strict=True))

    def take(self, rows: Ints | Bools) -> Truth:
        """Some of the URLs."""
        numbers = np.arange(len(self))[rows]
        return Truth(tuple(self.urls[i] for i in numbers.tolist()), self.cluster[numbers], self.soft[numbers])

    def only(self, urls: Iterable[str]) -> Truth:
        """The URLs that are among these."""
        wanted = set(urls)
        return self.take(np.fromiter((url in wanted for url in self.urls), bool, len(self)))


@dataclass(frozen=True)
class Known:
    """The URLs of a crawl that can be measured on, aligned columns, in order of URL.

    `site` numbers `sites`. `page` is the row of the URL's page in its site, by which `resemblance` asks.
    """

    truth: Truth
    site: Ints
    sites: tuple[str, ...]
    page: Ints
    importance: Floats
    labels: tuple[Labels, ...]
    unknown: int
    """Live URLs of the crawl whose content is not known."""
    parts: tuple[Site, ...] = field(default=(), repr=False, compare=False)
    """The sites themselves, with the labels their pages give them."""

    def take(self, rows: Ints) -> Known:
        """Some of the URLs."""
        return replace(
            self,
            truth=self.truth.take(rows),
            site=self.site[rows],
            page=self.page[rows],
            importance=self.importance[rows],
        )

    def resemblance(self, i: Ints, j: Ints) -> Floats:
        """Estimated share of common text; nan across sites and where it cannot be told."""
        out = np.full(len(i), np.nan)
        same = self.site[i] == self.site[j]
        for site in np.unique(self.site[i[same]]).tolist():
            here = np.flatnonzero(same & (self.site[i] == site))
            out[here] = self.labels[site].resemblance(self.page[i[here]], self.page[j[here]])
        return out


def known(pages: pa.Table, truth: Truth | None = None, site_key: SiteKey = "host") -> Known:
    """The live URLs of a page table whose content is known.

    By `truth` if there is one (other URLs then count as unknown), else by the pages' own `cluster` column, else
    by the clusters that likeness derives from digests, sketches, canonical links and redirects.

    >>> pages = pa.table({"url": ["http://a.example/?x", "http://a.example/"], "digest": ["1", "1"]})
    >>> known(pages).truth.cluster.tolist()
    [0, 0]
    """
    sites = list(split_sites(pages, site_key))
    place = {url: (s, p) for s, site in enumerate(sites) for p, url in enumerate(site.urls.tolist())}
    cluster_of, soft_of = _clusters(sites)
    raw = page_urls(pages)
    given = truth.clusters if truth is not None else _given(pages)
    softs = dict(zip(truth.urls, truth.soft.tolist(), strict=True)) if truth is not None else {}
    offset = max(given.values(), default=-1) + 1
    importance = np.concatenate([site.importance for site in sites]) if sites else np.zeros(0)
    start = np.concatenate(([0], np.cumsum([site.n for site in sites]))).astype(np.int64)
    # A derived cluster that holds a page whose cluster is given goes by the given name.
    name_of = {
        int(cluster_of[start[s] + p]): given[url]
        for url in reversed(raw)
        if truth is None and url in given
        for s, p in [place[normal(url)]]
    }
    rows, unknown = [], 0
    for url in sorted(raw):
        s, p = place[normal(url)]
        at = int(start[s]) + p
        if not sites[s].alive[p]:
            continue
        derived = int(cluster_of[at])
        cluster = given.get(url, -1)
        if cluster < 0 and truth is None and derived >= 0:
            cluster = name_of.get(derived, offset + derived)
        if cluster < 0:
            unknown += 1
            continue
        soft = softs[url] if truth is not None else bool(soft_of[at])
        rows.append((url, cluster, soft, s, p, float(importance[at])))
    columns = list(zip(*rows, strict=True)) or [()] * 6
    return Known(
        Truth(columns[0], np.array(columns[1], np.int64), np.array(columns[2], bool)),
        np.array(columns[3], np.int64),
        tuple(site.name for site in sites),
        np.array(columns[4], np.int64),
        np.array(columns[5], np.float64),
        # Without clusters: that two pages count as one is no evidence that they resemble each other.
        tuple(replace(site.labels, cluster=np.full(site.n, -1, np.int32)) for site in sites),
        unknown,
        tuple(sites),
    )


def _clusters(sites: list[Site]) -> tuple[Ints, Bools]:
    """Clusters of the pages of all sites, each site's numbered after those of the one before."""
    clusters, softs, offset = [np.zeros(0, np.int64)], [np.zeros(0, bool)], 0
    for site in sites:
        own = site.labels.cluster.astype(np.int64)
        clusters.append(np.where(own >= 0, own + offset, -1))
        softs.append(site.labels.soft)
        offset += int(own.max(initial=-1)) + 1
    return np.concatenate(clusters), np.concatenate(softs)


def _given(pages: pa.Table) -> dict[str, int]:
    """Numbers for the clusters that came with the pages, in order of their names, numbers as numbers."""
    if "cluster" not in pages.column_names:
        return {}
    pairs = [
        (url, name)
        for url, name in zip(page_urls(pages), pages["cluster"].to_pylist(), strict=True)
        if name is not None
    ]
    number = {
        name: i for i, name in enumerate(sorted({name for _, name in pairs}, key=lambda n: (len(n), n)))
    }
    return {url: number[name] for url, name in pairs}
