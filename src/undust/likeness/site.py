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

from undust.likeness.aliases import alias_groups
from undust.likeness.labels import Labels, label_site
from undust.likeness.seen import Seen, alive, floats, integers, page_urls, see
from undust.url import SiteTable, host_labels, normal, split_authority

SiteKey = Literal["host", "domain", "all"]


@dataclass(frozen=True)
class Site:
    """The pages of one site, rows in order of URL, with their labels.

    `pages["url"]` holds normal forms (`undust.url.normal`), each once. Columns come as NumPy arrays
    aligned with the rows: `urls`, `alive`, `size_min`, `size_max`, `hits`, `importance`, `sketch`.

    >>> urls = ["http://A.example/x", "http://a.example/"]
    >>> site, = split_sites(pa.table({"url": urls, "digest": ["1", "1"]}))
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
        """Normal forms of the URLs."""
        return _objects(page_urls(self.pages))

    @cached_property
    def table(self) -> SiteTable:
        """The URLs' keys and tokens as dictionary codes."""
        return SiteTable.build(page_urls(self.pages))

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
        """Records a page was seen in; 1 where not counted."""
        return integers(self.pages, "hits", 1)

    @cached_property
    def importance(self) -> NDArray[np.float64]:
        """Traffic or rank; the hits where none was given."""
        given = floats(self.pages, "importance")
        return np.where(np.isnan(given), self.hits, given)

    def with_labels(self, labels: Labels) -> Site:
        """The same pages under other labels."""
        return Site(self.name, self.hosts, self.pages, labels)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Site:
        """The site cut down to some rows (a mask, or ascending row numbers), each with the label it has."""
        numbers = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows, dtype=np.int64)
        return Site(self.name, self.hosts, self.pages.take(numbers), self.labels.take(numbers))


def split_sites(pages: pa.Table, site_key: SiteKey = "host", *, aliases: bool = True) -> Iterator[Site]:
    """The sites of a crawl in order of name, pages merged by normal form.

    `host`: a site a host (port included unless it is the default), together with the hosts proven to be its
    aliases. `domain`: a site a registrable domain. `all`: one site named `*`.
    """
    pages = merge_by_normal_form(pages)
    if not len(pages):
        return
    urls = page_urls(pages)
    hosts, host = _numbered([host_of(url) for url in urls])
    domain = _numbered([registrable(h) for h in hosts])[1]
    if site_key == "all":
        group = np.zeros(len(hosts), dtype=np.int64)
    elif site_key == "domain":
        group = domain
    else:
        group = np.arange(len(hosts))
        if aliases:
            _join_aliases(group, pages, urls, host, domain)
    weight = np.bincount(host, minlength=len(hosts))
    order = np.argsort(group[host], kind="stable")
    bounds = np.cumsum(np.append(0, np.bincount(group[host])))
    parts = []
    for g in np.unique(group).tolist():
        members = np.flatnonzero(group == g)
        name = _name(site_key, members, hosts, weight)
        parts.append((name, tuple(hosts[m] for m in members.tolist()), order[bounds[g] : bounds[g + 1]]))
    for name, names, rows in sorted(parts, key=lambda part: part[0]):
        yield Site(name, names, pages if len(rows) == len(pages) else pages.take(rows))


def _join_aliases(
    group: NDArray[np.int64],
    pages: pa.Table,
    urls: list[str],
    host: NDArray[np.int64],
    domain: NDArray[np.int64],
) -> None:
    """Give hosts that are aliases one group; domain by domain, so that none depends on what else was crawled."""
    order = np.argsort(domain[host], kind="stable")
    bounds = np.cumsum(np.append(0, np.bincount(domain[host])))
    for d in np.flatnonzero(np.bincount(domain) > 1).tolist():
        rows, hosts = order[bounds[d] : bounds[d + 1]], np.flatnonzero(domain == d)
        path = _numbered([urls[row].partition("//")[2].partition("/")[2] for row in rows.tolist()])[1]
        local = np.searchsorted(hosts, host[rows])
        joined = alias_groups(label_site(pages.take(rows)), path, local, np.zeros(len(hosts), np.int64))
        group[hosts] = hosts[joined]


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
    raw = page_urls(pages)
    forms = [normal(url) for url in raw]
    position = pages.column_names.index("url")
    pages = pages.set_column(position, "url", pa.array(forms, pa.large_string()))
    dead = ~alive(integers(pages, "status", 0))
    blank = np.ones(len(pages), dtype=bool)
    for name in ("digest", "sketch", "cluster"):
        if name in pages.column_names:
            blank &= np.asarray(pages[name].is_null())
    keys = pa.table(
        {"url": pages["url"], "dead": dead, "blank": blank, "raw": pa.array(raw, pa.large_string())}
    )
    order = np.asarray(pc.sort_indices(keys, [(k, "ascending") for k in keys.column_names]))
    code = _numbered(forms)[1][order]
    first = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))[: len(pages)]
    merged = pages.take(order[first])
    if len(first) == len(pages):
        return merged
    for name, combine in (("size_min", np.fmin), ("size_max", np.fmax), ("hits", np.add)):
        if name in pages.column_names:
            at, field = pages.column_names.index(name), pages.schema.field(name)
            values = combine.reduceat(floats(pages, name)[order], first)
            merged = merged.set_column(at, field, pa.array(values, mask=np.isnan(values)).cast(field.type))
    return merged


def _objects(strings: Sequence[str]) -> NDArray[np.object_]:
    out = np.empty(len(strings), dtype=object)
    out[:] = strings
    return out


def _numbered(strings: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Distinct strings in order, and the number of each string."""
    distinct = sorted(set(strings))
    number = {string: i for i, string in enumerate(distinct)}
    return distinct, np.fromiter((number[s] for s in strings), np.int64, len(strings))


def registrable(host: str) -> str:
    """Registrable domain of a host that may carry a port.

    >>> registrable("www.example.com:8080")
    'example.com'
    """
    bare = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return host_labels(bare)[0] if bare else host


def _name(site_key: SiteKey, members: NDArray[np.int64], hosts: list[str], weight: NDArray[np.int64]) -> str:
    """The site's largest host, the smallest string among equals."""
    if site_key == "all":
        return "*"
    if site_key == "domain":
        return registrable(hosts[members[0]])
    return hosts[int(members[np.argmax(weight[members])])]
