"""Which pages of a crawl are the same page whatever their URLs look like: the rows of a table of aliases.

A rule has to stand up to many pages, an alias is about one. So only evidence counts that does not confuse two pages
(docs/aliases.md has the figures): redirects, equal bytes, given clusters, and canonical links between pages
that likeness has found alike and that are equally long. Equal sketches alone are not enough, and soft pages never are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from undust.crawl import Crawl
from undust.likeness import Site, split_sites
from undust.likeness.components import Edges, components, same, star
from undust.likeness.seen import NOTHING
from undust.rules import Canonicalizer, RuleBook
from undust.rules.aliases import Alias

EVEN = 0.5
"""Share of a site's canonical links between equally long texts from which all links must be: no clock blurs them."""

Ints = NDArray[np.int64]


def aliases(crawl: Crawl | pa.Table, book: RuleBook, *, level: str = "probable") -> Iterator[Alias]:
    """The aliases of a crawl's pages that the rules of a book leave over.

    Both sides are canonical under the rules: the table is asked with what the rules make of a URL, so that one alias
    holds for all of its variants, and what it answers needs no rule any more.

    >>> pages = pa.table({"url": ["http://a.test/?p=7", "http://a.test/t-1"], "digest": ["x", "x"]})
    >>> list(aliases(pages, RuleBook()))
    [('http://a.test/?p=7', 'http://a.test/t-1', 'digest')]
    """
    canon = Canonicalizer(book, level=level)
    pages = crawl.pages if isinstance(crawl, Crawl) else crawl
    for site in split_sites(pages, book.site_key):  # type: ignore[arg-type]  # a book has one of the three
        yield from site_aliases(site, canon)


def site_aliases(site: Site, canon: Canonicalizer) -> list[Alias]:
    """The aliases of one site's pages, in order of URL."""
    kinds = evidence(site)
    cluster = site.labels.cluster.astype(np.int64)
    rows = np.flatnonzero((cluster >= 0) & ~site.labels.soft)
    if not sum(len(i) for i, _ in kinds.values()):
        return []
    forms: list[str] = canon.map(site.urls[rows].tolist())
    clear = _clear(forms, cluster[rows])
    # What the rules have united is one page here too, as far as its pages are alike.
    code = same(_numbered(forms), cluster[rows])
    group = components(site.n, *_joined([*kinds.values(), star(rows, code)]))
    main = _mains(site, rows, forms, group, kinds)
    via = _said(site.n, kinds)
    found: dict[str, Alias] = {}
    for row, form in zip(rows.tolist(), forms, strict=True):
        to = main.get(int(group[row]))
        if via[row] and to is not None and to != form and form in clear and to in clear:
            # Rows come in order of URL, so of several pages of one form the first is told of.
            found.setdefault(form, (form, to, via[row]))
    return sorted(found.values())


def evidence(site: Site) -> dict[str, Edges]:
    """Pairs of rows that are one page, by the kind of evidence, strongest first."""
    labels, seen = site.labels, site.labels.seen
    cluster = labels.cluster.astype(np.int64)
    hard = (cluster >= 0) & ~labels.soft

    def kept(i: Ints, j: Ints) -> Edges:
        fit = hard[i] & hard[j] & (cluster[i] == cluster[j])
        return i[fit], j[fit]

    given = np.flatnonzero(seen.given != NOTHING)
    moved = np.flatnonzero(seen.location != NOTHING)
    equal = np.flatnonzero(seen.alive & (seen.digest != NOTHING) & (seen.given == NOTHING) & hard)
    linking = np.flatnonzero(seen.alive & (seen.canonical != NOTHING) & (seen.given == NOTHING))
    return {
        "given": kept(*star(given, seen.given[given])),
        "redirect": kept(moved, seen.location[moved]),
        "digest": kept(
            *star(equal, cluster[equal] * (int(seen.digest.max(initial=0)) + 1) + seen.digest[equal])
        ),
        "canonical": _even(site, *kept(linking, seen.canonical[linking])),
    }


def _even(site: Site, i: Ints, j: Ints) -> Edges:
    """Canonical links between texts of one length; where a clock makes nearly all lengths differ, all of them.

    Software names the current page as canonical on its old revisions too: those are of other lengths.
    """
    length = site.labels.seen.text_len
    i, j = i[i != j], j[i != j]
    equal = (length[i] == length[j]) & (length[i] != NOTHING)
    even = bool(len(i)) and equal.mean() >= EVEN
    return (i[equal], j[equal]) if even else (i, j)


def _joined(edges: Iterable[Edges]) -> Edges:
    i, j = zip(*edges, strict=True)
    return np.concatenate(i), np.concatenate(j)


def _clear(forms: list[str], cluster: Ints) -> set[str]:
    """Forms all of whose pages are alike: where rules merge different pages, the table must not add to it."""
    of: dict[str, int] = {}
    mixed = {form for form, c in zip(forms, cluster.tolist(), strict=True) if of.setdefault(form, c) != c}
    return of.keys() - mixed


def _numbered(texts: list[str]) -> Ints:
    number: dict[str, int] = {}
    return np.fromiter((number.setdefault(text, len(number)) for text in texts), np.int64, len(texts))


def _mains(site: Site, rows: Ints, forms: list[str], group: Ints, kinds: dict[str, Edges]) -> dict[int, str]:
    """For each group the form its pages go by: where most links and redirects lead, then the most visited.

    It is the form of a page that was seen alive.
    """
    named = np.zeros(site.n, np.int64)
    for kind in ("redirect", "canonical"):
        np.add.at(named, kinds[kind][1], 1)
    weight: dict[tuple[int, str], list[int]] = {}
    for row, form in zip(rows.tolist(), forms, strict=True):
        if site.alive[row]:
            sums = weight.setdefault((int(group[row]), form), [0, 0])
            sums[0] += int(named[row])
            sums[1] += int(site.hits[row])
    best: dict[int, tuple[int, int, int, str]] = {}
    for (g, form), (links, hits) in weight.items():
        rank = (-links, -hits, len(form), form)
        best[g] = min(best.get(g, rank), rank)
    return {g: rank[3] for g, rank in best.items()}


def _said(n: int, kinds: dict[str, Edges]) -> list[str]:
    """The strongest evidence that ties each row to its group."""
    via = [""] * n
    for kind in reversed(kinds):
        for end in kinds[kind]:
            for row in end.tolist():
                via[row] = kind
    return via
