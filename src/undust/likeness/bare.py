"""Bare views: print views and exports, which show the text of the page they name without the site's frame.

Resemblance denies them, since the frame is missing and what it stood between is cut otherwise. Containment does not
(thesis 2006, section 7): the text of a bare view is found in its page. What also names a page and shows another text
(an older revision, a comparison, an edit form, a list sorted otherwise) wears the frame, is no shorter, or shares
little of it.
"""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from undust.likeness.boilerplate import own_agreement
from undust.likeness.components import medians
from undust.likeness.seen import NOTHING, Seen
from undust.url import parse

MANY = 10
"""Links of a kind from which the kind may be judged."""

ONE_TO_ONE = 0.75
"""Different pages named by the links of a kind, per link: all that name the start page are no bare views of it."""

CONTAINED = 0.5
"""Share of a bare view's text that must be found in the page it names, pooled over the kind."""

DOUBT = 4.0
"""Min-hashes against, added to each kind: three that agree by chance prove nothing."""

FRAMED = 0.5
"""Share of the template's min-hashes that may agree; a page that wears the frame has nearly all of them."""

FOLLOWS = 0.9
"""Rank correlation that the lengths of views must have with the lengths of the pages they name."""

SHORTER = 0.9
"""Share of the views that must not be longer than the page they name."""


_WORDS = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d+")


def bare_views(
    urls: list[str],
    seen: Seen,
    boiler: NDArray[np.bool_],
    rows: NDArray[np.int64],
    hub: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which of the links from `rows` to `hub` lead from a bare view to the page it shows.

    Links are judged by their kind (`added_words`). A view that is longer than its page holds more than that page
    does (all pages of a topic, say), and is left out.
    """
    names: dict[str, int] = {}
    kinds = (added_words(urls[i], urls[j]) for i, j in zip(rows.tolist(), hub.tolist(), strict=True))
    pattern = np.array([names.setdefault(kind, len(names)) for kind in kinds], dtype=np.int64)
    a, b = seen.text_len[rows], seen.text_len[hub]
    known = (a != NOTHING) & (b > 0) & (seen.canonical[hub] == hub)
    count = int(pattern.max(initial=-1)) + 1
    agree, against = own_agreement(seen, boiler, rows, hub)
    equal = seen.sketch[rows] == seen.sketch[hub]
    framed = np.where(seen.sketch[rows] <= seen.sketch[hub], boiler[rows], boiler[hub])

    def of_kind(values: NDArray[np.generic]) -> NDArray[np.float64]:
        weights = np.where(known, values, 0).astype(np.float64)
        return np.bincount(pattern, weights=weights, minlength=count).astype(np.float64)

    links = of_kind(known)
    ratio = np.where(known, a / np.maximum(b, 1), 0.0)
    usual = np.zeros(count)
    usual[:] = medians(ratio[known], pattern[known], count)
    common = of_kind(agree) / (of_kind(agree) + of_kind(against) + DOUBT)
    # Of two texts with resemblance r, r / (1 + r) of both together is common.
    held = common / (1 + common) * (1 + usual) / np.maximum(np.minimum(usual, 1.0), 1e-9)
    frame = of_kind((framed & equal).sum(axis=1)) / np.maximum(of_kind(framed.sum(axis=1)), 1)
    fit = (links >= MANY) & (held >= CONTAINED) & (frame <= FRAMED)
    fit &= of_kind(a <= b) >= SHORTER * links
    for kind in np.flatnonzero(fit).tolist():
        of = known & (pattern == kind)
        fit[kind] = (
            len(np.unique(hub[of])) >= ONE_TO_ONE * links[kind] and _rank_correlation(a[of], b[of]) >= FOLLOWS
        )
    found: NDArray[np.bool_] = fit[pattern] & known & (a <= b)
    return found


def added_words(url: str, page: str) -> str:
    """What the URL of a view has beyond the URL of its page: the kind of view, in whatever section it is.

    >>> added_words("http://a.example/_export/xhtml/wiki/syntax", "http://a.example/wiki/syntax")
    'export xhtml'
    >>> added_words("http://a.example/index.php?action=print;topic=7.0", "http://a.example/index.php/topic,7.0.html")
    'action print'
    >>> added_words("http://a.example/print/7", "http://a.example/news/a-dog")
    '0 print'
    """
    return " ".join(sorted((_words(url) - _words(page)).elements()))


def _words(url: str) -> Counter[str]:
    parts = parse(url)
    words = _WORDS.findall(unquote(f"{parts.path} {parts.query or ''}").lower())
    return Counter(_DIGITS.sub("0", word) for word in words)


def _rank_correlation(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Spearman's: 1 when the longer of two pages always has the longer view."""
    one, other = (np.unique(x, return_inverse=True)[1].astype(np.float64) for x in (a, b))
    if not (np.ptp(one) and np.ptp(other)):
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
