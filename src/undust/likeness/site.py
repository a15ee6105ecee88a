"""Sites: pages that are learned together; one a host, with the host's proven aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from undust.likeness.components import compact, components
from undust.likeness.labels import Labels, label_site
from undust.likeness.seen import Seen, column, see
from undust.url import SiteTable, host_labels, normal, split_authority

SiteKey = Literal["host", "domain", "all"]

MIN_COMMON = 3
"""Distinct contents two hosts must show under the same paths to be taken for aliases."""

ALIAS_SHARE = 0.8
"""Share of their common paths under which two hosts must show the same content to be aliases."""


@dataclass(frozen=True)
class Site:
    """The pages of one site, rows in order of URL, with their labels.

    `pages["url"]` holds normal forms (`undust.url.normal`), each once. Columns come as NumPy arrays aligned with the
    rows: `urls`, `alive`, `size_min`, `size_max`, `hits`, `importance`, `sketch`.

    >>> site, = split_sites(pa.table({"url": ["http://A.example/x", "http://a.example/"], "digest": ["1", "1"]}))
    >>> site.name, site.urls.tolist(), site.labels.cluster.tolist()
    ('a.example', ['http://a.example/', 'http://a.example/x'], [0, 0])
    """

    name: str
    hosts: tuple[str, ...]
    pages: pa.Table
    given_labels: Labels | None = None

    @property
    def n(self) -> int:
        return len(self.pages)

    @cached_property
    def urls(self) -> NDArray[np.object_]:
        return np.array(self.pages["url"].to_pylist(), dtype=object)

    @cached_property
    def table(self) -> SiteTable:
        """The URLs' keys and tokens as dictionary codes."""
        return SiteTable.build(self.pages["url"].to_pylist())

    @cached_property
    def seen(self) -> Seen:
        return see(self.pages)

    @cached_property
    def labels(self) -> Labels:
        """Which pages are alike; derived from the pages when not given."""
        return self.given_labels if self.given_labels is not None else label_site(self.pages, self.seen)

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Pages answered with 2xx, or whose status is not known."""
        return self.seen.alive

    @property
    def size_min(self) -> NDArray[np.int64]:
        """Smallest size seen; -1: unknown."""
        return self.seen.size_min

    @property
    def size_max(self) -> NDArray[np.int64]:
        """Largest size seen; -1: unknown."""
        return self.seen.size_max

    @property
    def sketch(self) -> NDArray[np.uint64]:
        """Min-hashes, one row a page (see `has_sketch`)."""
        return self.seen.sketch

    @property
    def has_sketch(self) -> NDArray[np.bool_]:
        return self.seen.has_sketch

    @cached_property
    def hits(self) -> NDArray[np.int64]:
        values = column(self.pages, "hits")
        if values is None:
            return np.ones(self.n, dtype=np.int64)
        return np.asarray(pc.fill_null(values.cast(pa.int64()), 1).to_numpy(zero_copy_only=False))

    @cached_property
    def importance(self) -> NDArray[np.float64]:
        """Traffic or rank; the hits where none was given."""
        values = column(self.pages, "importance")
        hits = self.hits.astype(np.float64)
        if values is None:
            return hits
        given = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return np.where(np.isnan(given), hits, given)

    def with_labels(self, labels: Labels) -> Site:
        """The same pages under other labels."""
        return Site(self.name, self.hosts, self.pages, labels)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Site:
        """The site cut down to some rows (a mask, or row numbers in ascending order), each with the label it has."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows)
        return Site(self.name, self.hosts, self.pages.take(pa.array(rows)), self.labels.take(rows))


def split_sites(pages: pa.Table, site_key: SiteKey = "host", *, aliases: bool = True) -> Iterator[Site]:
    """The sites of a crawl in order of name, pages merged by normal form.

    `host`: a site a host (port included unless it is the default), together with the hosts proven to be its aliases.
    `domain`: a site a registrable domain. `all`: one site named `*`.
    """
    pages = merge_by_normal_form(pages)
    if not len(pages):
        return
    urls = pages["url"].to_pylist()
    hosts, host = np.unique(np.array([host_of(u) for u in urls], dtype=object), return_inverse=True)
    if site_key == "all":
        group = np.zeros(len(hosts), dtype=np.int64)
    elif site_key == "domain" or aliases:
        domains = [_domain(h) for h in hosts.tolist()]
        group = np.unique(np.array(domains, dtype=object), return_inverse=True)[1]
    else:
        group = np.arange(len(hosts))
    if site_key == "host" and aliases:
        group = _split_by_alias(pages, urls, hosts, host, group)
    weight = np.bincount(host, minlength=len(hosts))
    order = np.argsort(group[host], kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(group[host], minlength=int(group.max()) + 1))))
    sites = []
    for g in range(int(group.max()) + 1):
        members = np.flatnonzero(group == g)
        rows = order[bounds[g] : bounds[g + 1]]
        name = _name(site_key, members, hosts, weight)
        sites.append((name, tuple(hosts[members].tolist()), rows))
    for name, names, rows in sorted(sites, key=lambda s: s[0]):
        yield Site(name, names, pages if len(rows) == len(pages) else pages.take(pa.array(rows)))


def host_of(url: str) -> str:
    """Lower-case host, with the port when it is not the default; the empty string for a URL without one.

    >>> host_of("http://www.example.com:8080/x")
    'www.example.com:8080'
    """
    authority = url.partition("//")[2].partition("/")[0].partition("?")[0].partition("#")[0]
    _, host, port = split_authority(authority)
    return f"{host}:{port}" if port else host


def merge_by_normal_form(pages: pa.Table) -> pa.Table:
    """One row per normal form, sorted by it: sizes become a range, hits add up, the rest is the best row's.

    Best is alive before dead, with a digest or sketch before without, then the smallest raw URL.
    """
    raw = pages["url"].to_pylist()
    urls = pa.array([normal(u) for u in raw], pa.large_string())
    position = pages.column_names.index("url")
    pages = pages.set_column(position, "url", urls)
    if pc.count_distinct(urls).as_py() == len(urls):
        return pages.take(pc.sort_indices(urls))
    status = pc.fill_null(_number(pages, "status"), 0).to_numpy(zero_copy_only=False)
    dead = ~((status == 0) | ((status >= 200) & (status < 300)))
    blank = np.ones(len(pages), dtype=bool)
    for name in ("digest", "sketch", "cluster"):
        if name in pages.column_names:
            blank &= pages[name].combine_chunks().is_null().to_numpy(zero_copy_only=False)
    keys = pa.table({"url": urls, "dead": dead, "blank": blank, "raw": pa.array(raw, pa.large_string())})
    order = pc.sort_indices(keys, [(k, "ascending") for k in keys.column_names]).to_numpy()
    code = urls.dictionary_encode().indices.to_numpy()[order]
    first = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))
    merged = pages.take(pa.array(order[first]))
    for name, combine in (("size_min", np.fmin), ("size_max", np.fmax), ("hits", np.add)):
        if name in pages.column_names:
            floats = _number(pages, name).cast(pa.float64()).to_numpy(zero_copy_only=False)[order]
            values = combine.reduceat(floats, first)
            column_ = pa.array(values, mask=np.isnan(values)).cast(pages.schema.field(name).type)
            merged = merged.set_column(merged.column_names.index(name), pages.schema.field(name), column_)
    return merged


def _number(pages: pa.Table, name: str) -> pa.Array:
    if name not in pages.column_names:
        return pa.nulls(len(pages), pa.int64())
    return pages[name].combine_chunks().cast(pa.int64())


def _domain(host: str) -> str:
    """Registrable domain of a host that may carry a port."""
    bare = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return host_labels(bare)[0] if bare else host


def _name(
    site_key: SiteKey, members: NDArray[np.int64], hosts: NDArray[np.object_], weight: NDArray[np.int64]
) -> str:
    """The site's largest host, the smallest string among equals."""
    if site_key == "all":
        return "*"
    if site_key == "domain":
        return _domain(str(hosts[members[0]]))
    return str(hosts[members[np.argmax(weight[members])]])


def _split_by_alias(
    pages: pa.Table,
    urls: Sequence[str],
    hosts: NDArray[np.object_],
    host: NDArray[np.int64],
    domain: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Groups of hosts of one domain that show the same content under most of their common paths.

    Two hosts are aliases when at least `MIN_COMMON` distinct contents stand under the same path and query on both, and
    `ALIAS_SHARE` of the paths they have in common carry the same content; a shared start page or robots.txt proves
    nothing. Contents that one host shows under many paths count once.
    """
    several = np.bincount(domain)[domain[host]] > 1
    rows = np.flatnonzero(several)
    if not len(rows):
        return np.arange(len(hosts))
    part = pages.take(pa.array(rows))
    content = label_site(part).cluster
    tails = [urls[r].partition("//")[2] for r in rows]
    paths = np.array([t[t.index("/") :] if "/" in t else t for t in tails], dtype=object)
    known = np.flatnonzero(content >= 0)
    key = (
        pa.array(paths[known].tolist(), pa.large_string())
        .dictionary_encode()
        .indices.to_numpy()
        .astype(np.int64)
    )
    key = key * (int(domain.max()) + 1) + domain[host[rows[known]]]
    order = np.argsort(key, kind="stable")
    key, content, where = key[order], content[known][order], host[rows[known]][order]
    # All pairs of hosts under one path; hosts under one path are few, so pairs at distance 1, 2, ... in the run.
    common: dict[tuple[int, int], list[tuple[int, int]]] = {}
    distance = 1
    while distance < len(key) and (key[distance:] == key[:-distance]).any():
        for at in np.flatnonzero(key[distance:] == key[:-distance]).tolist():
            a, b = int(where[at]), int(where[at + distance])
            if a != b:
                pair = (min(a, b), max(a, b))
                common.setdefault(pair, []).append((int(content[at]), int(content[at + distance])))
        distance += 1
    i, j = [], []
    for (a, b), contents in common.items():
        alike = [c for c, d in contents if c == d]
        if len(set(alike)) >= MIN_COMMON and len(alike) >= ALIAS_SHARE * len(contents):
            i.append(a)
            j.append(b)
    return compact(components(len(hosts), np.array(i, dtype=np.int64), np.array(j, dtype=np.int64))).astype(
        np.int64
    )
