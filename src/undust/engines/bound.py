"""Sites too large to be learned whole: which pages are looked at, and what their rules do to all of them.

Everything is decided row by row from sums over the rows (Koppula et al. would say: by a map after a reduce), so a
cluster of machines draws the same sample as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import frexp
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from undust.likeness.seen import floats, integers, page_urls
from undust.likeness.site import host_of, registrable
from undust.rules import Canonicalizer, RuleBook, SiteRules
from undust.url import normal

MAX_URLS = 1_000_000
"""URLs of one host (or domain, or crawl: what `site_key` says) that are looked at."""

ONE = 1 << 53
"""Lots are drawn from 0 to here: a share of the pages is a bound on their lots."""

BATCH = 1 << 16

SLACK = 1.25
"""How far a sample may exceed what was asked for before it is cut without regard to contents."""


class Lot(NamedTuple):
    """What decides whether a page is in the sample."""

    key: str
    """The host, the domain or `*`: whose pages are counted."""
    stratum: int
    """Its importance, as a power of two."""
    content: int
    """Equal for equal contents: either all of them are in, as far as they are equally important, or none is."""
    url: int
    """Its own lot, should one content alone be more than there is room for."""


def key_of(form: str, site_key: str) -> str:
    """Whose page this is: its host, its registrable domain, or `*`.

    >>> [key_of("http://www.a.example/x", k) for k in ("host", "domain", "all")]
    ['www.a.example', 'a.example', '*']
    """
    if site_key == "all":
        return "*"
    host = host_of(form)
    return host if site_key == "host" else registrable(host)


def lots(pages: pa.Table, forms: Sequence[str], keys: Sequence[str]) -> list[Lot]:
    """The lots of pages with these normal forms and keys."""
    hits = integers(pages, "hits", 1)
    given = floats(pages, "importance")
    weight = np.where(np.isnan(given), hits, given).tolist()
    contents = [_values(pages, name) for name in ("cluster", "digest", "sketch")]
    out = []
    for i, (form, key) in enumerate(zip(forms, keys, strict=True)):
        known = next(((n, values[i]) for n, values in enumerate(contents) if values[i] is not None), None)
        url = _draw(form)
        content = url if known is None else _draw(f"{known[0]}{known[1]}")
        out.append(Lot(key, frexp(weight[i])[1] if weight[i] > 0 else -1, content, url))
    return out


def shares(strata: Mapping[int, int], most: int) -> dict[int, int]:
    """The bound on the lots of each stratum: as many pages of each, and all where there are fewer.

    So what is visited much is looked at whole, and of the long tail as much.

    >>> {s: bound / ONE for s, bound in shares({1: 800, 5: 100, 9: 10}, 210).items()}
    {9: 1.0, 5: 1.0, 1: 0.125}
    """
    out = {}
    left = most
    for i, (stratum, n) in enumerate(sorted(strata.items(), key=lambda s: (s[1], s[0]))):
        taken = min(n, left // (len(strata) - i))
        out[stratum] = ONE * taken // n
        left -= taken
    return out


def bounded(pages: pa.Table, site_key: str, most: int) -> tuple[pa.Table, dict[str, int]]:
    """The pages to look at, and of which hosts (or domains) there were more, with how many.

    >>> pages = pa.table({"url": [f"http://a.example/{i}" for i in range(1000)]})
    >>> part, over = bounded(pages, "host", 100)
    >>> 80 < len(part) < 120, over
    (True, {'a.example': 1000})
    """
    if len(pages) <= most:
        return pages, {}
    count: Counter[str] = Counter()
    for start in range(0, len(pages), BATCH):
        count.update(key_of(normal(url), site_key) for url in page_urls(pages.slice(start, BATCH)))
    over = {key: n for key, n in sorted(count.items()) if n > most}
    if not over:
        return pages, {}
    number = {key: i for i, key in enumerate(over)}
    drawn = [_drawn(pages.slice(start, BATCH), site_key, number) for start in range(0, len(pages), BATCH)]
    row, key, stratum, content, url = np.concatenate(drawn, axis=1)
    row += np.repeat(np.arange(len(drawn)) * BATCH, [part.shape[1] for part in drawn])
    names = list(over)
    pairs, of_pair = np.unique(np.stack([key, stratum]), axis=1, return_inverse=True)
    strata = [(names[k], s) for k, s in pairs.T.tolist()]
    draw = Draw.of(dict(zip(strata, np.bincount(of_pair.ravel()).tolist(), strict=True)), most)
    taken = content < np.array([draw.strata[pair] for pair in strata])[of_pair.ravel()]
    draw = draw.cut(
        dict(zip(names, np.bincount(key[taken], minlength=len(names)).tolist(), strict=True)), most
    )
    taken &= url < np.array([draw.again.get(name, ONE) for name in names])[key]
    keep = np.ones(len(pages), bool)
    keep[row] = taken
    return pages.filter(pa.array(keep)), over


def _drawn(pages: pa.Table, site_key: str, number: Mapping[str, int]) -> NDArray[np.int64]:
    """Row, number of the key and lots of those of the pages whose keys have numbers."""
    forms = [normal(url) for url in page_urls(pages)]
    keys = [key_of(form, site_key) for form in forms]
    rows = [i for i, key in enumerate(keys) if key in number]
    found = lots(pages.take(pa.array(rows, pa.int64())), [forms[i] for i in rows], [keys[i] for i in rows])
    columns = [
        (i, number[lot.key], lot.stratum, lot.content, lot.url) for i, lot in zip(rows, found, strict=True)
    ]
    return np.array(columns, np.int64).reshape(-1, 5).T


class Draw(NamedTuple):
    """Bounds on the lots: by key and stratum, and by key for those whose contents are too large to be kept whole."""

    strata: dict[tuple[str, int], int]
    again: dict[str, int]

    @classmethod
    def of(cls, counts: Mapping[tuple[str, int], int], most: int) -> Draw:
        by_key: dict[str, dict[int, int]] = {}
        for (key, stratum), n in counts.items():
            by_key.setdefault(key, {})[stratum] = n
        return cls({(k, s): b for k, ns in by_key.items() for s, b in shares(ns, most).items()}, {})

    def cut(self, taken: Mapping[str, int], most: int) -> Draw:
        """The same, where some contents are so large that far too much would be taken."""
        again = {key: ONE * most // n for key, n in taken.items() if n > SLACK * most}
        return self._replace(again=again)

    def takes(self, lot: Lot) -> bool:
        return lot.content < self.strata[lot.key, lot.stratum] and lot.url < self.again.get(lot.key, ONE)


def supports(site: SiteRules, site_key: str, urls: Iterable[str]) -> list[int]:
    """How many of the URLs each rule of a site changes, as they run one after the other.

    >>> from undust.rules import Rule
    >>> site = SiteRules("a.example", (), [Rule(do={"query[sid]": None})])
    >>> supports(site, "host", ["http://a.example/?sid=1", "http://a.example/"])
    [1]
    """
    forms = [normal(url) for url in urls]
    out = []
    for rule in site.rules:
        alone = RuleBook({site.name: SiteRules(site.name, site.hosts, [rule])}, site_key)
        after: list[str] = Canonicalizer(alone, level="likely").map(forms)
        out.append(sum(a != b for a, b in zip(forms, after, strict=True)))
        forms = after
    return out


def owners(sites: Iterable[SiteRules], over: Collection[str]) -> dict[str, SiteRules]:
    """Of each key of a site that was not learned whole, the site."""
    out = {}
    for site in sites:
        keys = {site.name, *site.hosts}
        if not keys.isdisjoint(over):
            out.update(dict.fromkeys(keys, site))
    return out


def owned(urls: Iterable[str], owner: Mapping[str, SiteRules], site_key: str) -> dict[str, list[str]]:
    """Those of the URLs that belong to such a site, by its name."""
    out: dict[str, list[str]] = {}
    for url in urls:
        site = owner.get(key_of(normal(url), site_key))
        if site is not None:
            out.setdefault(site.name, []).append(url)
    return out


def recounted(site: SiteRules, support: Sequence[int], pages: int) -> SiteRules:
    """The site's rules with their support among all of its pages."""
    rules = [
        replace(rule, evidence=replace(rule.evidence, support=n))
        for rule, n in zip(site.rules, support, strict=True)
    ]
    return replace(site, rules=rules, notes=site.notes | {"sampled_from": pages})


def _values(pages: pa.Table, name: str) -> list[Any]:
    """A column's values; of a sketch its first min-hash, which is the same for equal texts."""
    if name not in pages.column_names:
        return [None] * len(pages)
    values: list[Any] = pages[name].to_pylist()
    return [v[0] if v else None for v in values] if name == "sketch" else values


def _draw(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogateescape")) >> 11
