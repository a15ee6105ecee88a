"""Canonical links as checked labels: what a page says of itself counts where such links were found to be true.

Software writes canonical links by rule, so they are right or wrong by kind of page: the message links of a forum name
their topic's page and show it, the edit form of a wiki names the article and shows a form. Links are pooled by the
pattern of the linking URL and each pattern is tested on content; then each link is tested in the light of its pattern.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from undust.likeness.boilerplate import own_agreement
from undust.likeness.components import medians, same
from undust.likeness.seen import NOTHING, Seen
from undust.url import field_name, parse, split_query

TRUSTED = 0.8
"""Resemblance of page and canonical page, pooled over a pattern, from which its links are taken at their word."""

DOUBTED = 0.5
"""Below this pooled resemblance a pattern's links are not used at all."""

PRIOR = 2.0
"""Weight of the pattern's resemblance in judging one link, in min-hashes."""

SITE_PRIOR = 10.0
"""Weight of the site's resemblance in judging one pattern, in min-hashes."""

Edges = tuple[NDArray[np.int64], NDArray[np.int64]]

_DIGITS = re.compile(r"\d+")


def canonical_edges(
    pages: pa.Table, seen: Seen, boiler: NDArray[np.bool_], text: NDArray[np.int64]
) -> Edges:
    """Links from pages to the page that stands for their canonical address, where content bears them out.

    `text` numbers the pages by text found equal so far. A canonical address that is itself no page of the site is stood
    for by the page of its group that shows the group's most frequent text.
    """
    rows = np.flatnonzero(seen.alive & (seen.given == NOTHING) & (seen.canonical_code != NOTHING) & seen.has_sketch)
    hub = _hubs(rows, seen, text)
    keep = hub != rows
    rows, hub = rows[keep], hub[keep]
    if not len(rows):
        return rows, rows
    agree, against = own_agreement(seen, boiler, rows, hub)
    longer = np.maximum(seen.text_len[rows], seen.text_len[hub])
    drift = np.abs(seen.text_len[rows] - seen.text_len[hub]) / np.maximum(longer, 1)
    equal = text[rows] == text[hub]
    pattern = url_patterns(pages["url"].take(pa.array(rows)).to_pylist())
    # Equal texts agree at least once, also where the whole sketch is template.
    agree_sum = np.bincount(pattern, weights=np.where(equal, np.maximum(agree, 1), agree))
    against_sum = np.bincount(pattern, weights=np.where(equal, 0, against))
    # A pattern of few links leans on the site's links as a whole.
    site = agree_sum.sum() / max(agree_sum.sum() + against_sum.sum(), 1)
    pooled = ((agree_sum + SITE_PRIOR * site) / (agree_sum + against_sum + SITE_PRIOR))[pattern]
    single = (agree + PRIOR * pooled) / (agree + against + PRIOR)
    # A print view is shorter than its page by the template, and so are all of its pattern.
    usual = medians(drift, pattern, int(pattern.max()) + 1)[pattern]
    near = drift <= np.maximum(0.1, 1.5 * usual)
    taken = (pooled >= TRUSTED) & ((agree > 0) | (against < 2)) & near
    checked = (pooled >= DOUBTED) & (single >= 0.6) & near
    ok = equal | taken | checked
    return rows[ok], hub[ok]


def _hubs(rows: NDArray[np.int64], seen: Seen, text: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row the page its canonical link leads to, or the typical page of those with the same link."""
    target = seen.canonical[rows]
    there = (target != NOTHING) & seen.alive[target] & seen.has_sketch[target]
    code = seen.canonical_code[rows]
    size = np.bincount(same(code, text[rows]))[same(code, text[rows])]
    order = np.lexsort((rows, -size, code))
    codes, first = np.unique(code[order], return_index=True)
    typical = rows[order[first]][np.searchsorted(codes, code)]
    return np.where(there, target, typical)


def url_patterns(urls: list[str]) -> NDArray[np.int64]:
    """A number per URL for its pattern: digits made equal, and parts that are rare among these URLs left open.

    >>> url_patterns(["http://a.example/t,1.html?x=7", "http://a.example/t,22.html?x=8", "http://a.example/u"]).tolist()
    [0, 0, 1]
    """
    shapes = [list(_shape(url)) for url in urls]
    count = Counter(part for shape in shapes for part in set(shape))
    common = max(10, len(urls) // 200)
    numbers: dict[tuple[str, ...], int] = {}
    patterns = (tuple(shown if count[shown, opened] >= common else opened for shown, opened in s) for s in shapes)
    return np.array([numbers.setdefault(pattern, len(numbers)) for pattern in patterns], dtype=np.int64)


def _shape(url: str) -> Iterator[tuple[str, str]]:
    """Segments and fields, each with its digits made equal and with its value left open."""
    parts = parse(url)
    for segment in parts.path.split("/")[1:]:
        yield "/" + _DIGITS.sub("0", segment), "/*"
    for field in sorted(split_query(parts.query)[0]) if parts.query else ():
        yield _DIGITS.sub("0", field), _DIGITS.sub("0", field_name(field)) + "=*"
