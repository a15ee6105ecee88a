"""Canonical links as checked labels: what a page says of itself counts where such words were found true.

Software writes canonical links by rule, so they are right or wrong by kind of page: a forum's message
links name their topic's page and show it, a wiki's edit form names the article and shows a form. Links
are pooled by the pattern of the linking URL, each pattern is tested on content, and each link in the
light of its pattern.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from undust.likeness.bare import bare_views
from undust.likeness.boilerplate import own_agreement
from undust.likeness.components import Edges, medians, same
from undust.likeness.seen import NOTHING, Seen
from undust.url import field_name, parse, split_query

TRUSTED = 0.8
"""Resemblance of page and canonical page, pooled over a pattern, from which its links are believed."""

DOUBTED = 0.5
"""Below this pooled resemblance a pattern's links are not used at all."""

BORNE_OUT = 0.6
"""Resemblance that a single link of any other pattern must show."""

PRIOR = 2.0
"""Weight of the pattern's resemblance in judging one link, in min-hashes."""

SITE_PRIOR = 10.0
"""Weight of the site's resemblance in judging one pattern, in min-hashes."""

DRIFT = 0.1
"""Relative difference in length that a link may show, unless all of a believed pattern shows more."""

MANY = 10
"""Links, and pairs to compare them with, from which a pattern's lengths may speak for it."""

TEMPLATE = 0.6
"""Mean agreement of whole sketches, template included, that such a pattern must show."""

FOLLOWERS = 8
"""Links to one page that lengths may bear out: many pages that name one are its filtered views, and differ."""

NEARER = 0.25
"""How much nearer in length linked pages must be than other pages of the pattern."""

_DIGITS = re.compile(r"\d+")


def canonical_edges(urls: list[str], seen: Seen, boiler: NDArray[np.bool_], text: NDArray[np.int64]) -> Edges:
    """Links from pages to the page that stands for their canonical address, where content bears them out.

    `text` numbers the pages by text found equal so far. A canonical address that is itself no page of the
    site is stood for by the page of its group that shows the group's most frequent text. Where nothing is
    known of the texts, sizes have to do.
    """
    rows = np.flatnonzero(seen.alive & (seen.given == NOTHING) & (seen.canonical_code != NOTHING))
    hub = _hubs(rows, seen, text)
    rows, hub = rows[hub != rows], hub[hub != rows]
    compared = seen.has_sketch[rows] & seen.has_sketch[hub] & (seen.kind[rows] == seen.kind[hub])
    # Without texts sizes have to bear a link out; where there are none either, other digests deny it.
    sized = (seen.size_max[rows] >= 0) & (seen.size_max[hub] >= 0)
    hashed = (seen.digest[rows] != NOTHING) & (seen.digest[hub] != NOTHING)
    equal = hashed & (seen.digest[rows] == seen.digest[hub])
    fit = equal | ~sized & ~hashed & ~_leads_up(urls, rows, hub)
    kept = np.flatnonzero(sized & ~equal & ~compared)
    if len(kept):
        fit[kept] = _sizes_tell(urls, seen, rows[kept], hub[kept])
    kept = np.flatnonzero(compared)
    if len(kept):
        fit[kept] = _borne_out(urls, seen, boiler, text, rows[kept], hub[kept])
    return rows[fit], hub[fit]


def _sizes_tell(
    urls: list[str], seen: Seen, rows: NDArray[np.int64], hub: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which links are borne out by sizes, where nothing is known of the texts.

    That all pages of a site have some 8,000 bytes bears nothing out. A kind of links is believed when its pages are
    far nearer in size to the pages they name than to others, and of these links those that are about as near.
    """
    pattern = url_patterns([urls[row] for row in rows.tolist()])
    drift = _drift(seen.size_max, rows, hub)
    order = np.lexsort((rows, pattern))
    a, b = order[:-1], order[1:]
    other = (pattern[a] == pattern[b]) & (hub[a] != hub[b])
    a, b = a[other], b[other]
    count = int(pattern.max(initial=-1)) + 1
    among = medians(_drift(seen.size_max, rows[a], rows[b]), pattern[a], count)
    # Where a kind names one page only, or too few to tell, any two pages of the site must do.
    every = np.flatnonzero(seen.alive & (seen.size_max >= 0))
    far = np.median(_drift(seen.size_max, every, np.roll(every, len(every) // 2)))
    among = np.where(np.bincount(pattern[a], minlength=count) >= MANY, np.minimum(among, far), far)
    linked = medians(drift, pattern, count)
    few = np.bincount(pattern, minlength=count) < MANY
    linked[few] = np.median(drift)
    told = linked <= NEARER * among
    near: NDArray[np.bool_] = told[pattern] & (
        drift <= np.minimum(DRIFT, np.maximum(DRIFT / 20, 3 * linked[pattern]))
    )
    return near


def _leads_up(urls: list[str], rows: NDArray[np.int64], hub: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Links to a page that many pages below it name: a start page that some template calls canonical for all.

    It is all that can be said where nothing is known of what the pages show.
    """
    paths = [
        (parse(urls[i]).path, parse(urls[j]).path) for i, j in zip(rows.tolist(), hub.tolist(), strict=True)
    ]
    below = np.array([a != b and a.startswith(b[: b.rfind("/") + 1]) for a, b in paths], dtype=bool)
    named = Counter(
        j
        for j, _ in {(j, a) for j, (a, _), up in zip(hub.tolist(), paths, below.tolist(), strict=True) if up}
    )
    many = np.array([named[j] > FOLLOWERS for j in hub.tolist()], dtype=bool)
    found: NDArray[np.bool_] = below & many
    return found


def _borne_out(
    urls: list[str],
    seen: Seen,
    boiler: NDArray[np.bool_],
    text: NDArray[np.int64],
    rows: NDArray[np.int64],
    hub: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which links agree with the texts at their two ends."""
    agree, against = own_agreement(seen, boiler, rows, hub)
    equal = text[rows] == text[hub]
    pattern = url_patterns([urls[row] for row in rows.tolist()])
    # Equal texts agree at least once, also where the whole sketch is template.
    agreed = np.bincount(pattern, weights=np.where(equal, np.maximum(agree, 1), agree))
    denied = np.bincount(pattern, weights=np.where(equal, 0, against))
    # A pattern of few links leans on the site's links as a whole.
    site = agreed.sum() / max(agreed.sum() + denied.sum(), 1)
    pooled = ((agreed + SITE_PRIOR * site) / (agreed + denied + SITE_PRIOR))[pattern]
    single = (agree + PRIOR * pooled) / (agree + against + PRIOR)
    drift = _drift(seen.text_len, rows, hub)
    # A print view is shorter than its page by the template, and so are all of its pattern.
    usual = medians(drift, pattern, len(agreed))[pattern]
    believed = (pooled >= TRUSTED) & ((agree > 0) | (against < 2)) & (drift <= np.maximum(DRIFT, 1.5 * usual))
    checked = (pooled >= DOUBTED) & (single >= BORNE_OUT) & (drift <= DRIFT)
    alike = _lengths_tell(seen, rows, hub, pattern, drift)
    bare = bare_views(urls, seen, boiler, rows, hub)
    fit: NDArray[np.bool_] = equal | believed | checked | alike | bare
    return fit


def _lengths_tell(
    seen: Seen,
    rows: NDArray[np.int64],
    hub: NDArray[np.int64],
    pattern: NDArray[np.int64],
    drift: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Links of patterns that few min-hashes can neither bear out nor deny: short pages, or full of clocks.

    Such a pattern is believed when a page is far nearer in length to the page it names than to the others of
    its pattern, and when the texts as a whole, template included, mostly agree.
    """
    order = np.lexsort((rows, pattern))
    a, b = order[:-1], order[1:]
    other = (pattern[a] == pattern[b]) & (hub[a] != hub[b])
    a, b = a[other], b[other]
    count = int(pattern.max(initial=-1)) + 1
    among = medians(_drift(seen.text_len, rows[a], rows[b]), pattern[a], count)
    linked = medians(drift, pattern, count)
    agree = (seen.sketch[rows] == seen.sketch[hub]).mean(axis=1)
    whole = np.bincount(pattern, weights=agree, minlength=count) / np.maximum(
        np.bincount(pattern, minlength=count), 1
    )
    enough = np.bincount(pattern, minlength=count) >= MANY
    enough &= np.bincount(pattern[a], minlength=count) >= MANY
    told = enough & (whole >= TEMPLATE) & (linked <= NEARER * among)
    _, named, links = np.unique(hub, return_inverse=True, return_counts=True)
    near = (links[named] <= FOLLOWERS) & (drift <= np.maximum(DRIFT / 5, 2 * linked[pattern]))
    believed: NDArray[np.bool_] = told[pattern] & near
    return believed


def _drift(length: NDArray[np.int64], i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
    """Relative difference of two lengths; 0 where one is unknown."""
    a, b = length[i], length[j]
    drift = np.abs(a - b) / np.maximum(np.maximum(a, b), 1)
    return np.where((a == NOTHING) | (b == NOTHING), 0.0, drift)


def _hubs(rows: NDArray[np.int64], seen: Seen, text: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row the page its canonical link leads to, or the typical page of those with the same link."""
    target = seen.canonical[rows]
    code = seen.canonical_code[rows]
    group = same(code, text[rows])
    order = np.lexsort((rows, -np.bincount(group)[group], code))
    codes, first = np.unique(code[order], return_index=True)
    typical = rows[order[first]][np.searchsorted(codes, code)]
    return np.where((target != NOTHING) & seen.alive[target], target, typical)


def url_patterns(urls: list[str]) -> NDArray[np.int64]:
    """A number per URL for its pattern: digits made equal, and parts rare among these URLs left open.

    >>> url_patterns([f"http://a.example/{t}?x={x}" for t, x in (("t1", 7), ("t22", 8), ("u", 9))]).tolist()
    [0, 0, 0]
    >>> many = [f"http://a.example/{kind}{i}" for i in range(10) for kind in ("t", "u")]
    >>> url_patterns(many)[:4].tolist()
    [0, 1, 0, 1]
    """
    shapes = [list(_shape(url)) for url in urls]
    count = Counter(part for shape in shapes for part in set(shape))
    common = max(10, len(urls) // 200)
    numbers: dict[tuple[str, ...], int] = {}
    patterns = (tuple(shown if count[shown, left] >= common else left for shown, left in s) for s in shapes)
    return np.array([numbers.setdefault(pattern, len(numbers)) for pattern in patterns], dtype=np.int64)


def _shape(url: str) -> Iterator[tuple[str, str]]:
    """Segments and fields, each with its digits made equal, and with its value left open."""
    parts = parse(url)
    for segment in parts.path.split("/")[1:]:
        yield "/" + _DIGITS.sub("0", segment), "/*"
    for field in sorted(split_query(parts.query)[0]) if parts.query else ():
        yield _DIGITS.sub("0", field), _DIGITS.sub("0", field_name(field)) + "=*"
