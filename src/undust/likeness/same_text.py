"""Pages that show the same text, from sketches, lengths and what is template on the site.

Two pages with equal sketches may still differ: in a line the four min-hashes missed, or, where the
template is most of the page, in everything of their own. Equal lengths decide then, but only where
lengths tell contents apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from undust.likeness.boilerplate import CLOCK, own_agreement
from undust.likeness.components import Edges, firsts, same, star
from undust.likeness.identity import named_alike
from undust.likeness.seen import NOTHING, Seen

WINDOW = 10
"""Lengths within so many characters of a page's length show how crowded the lengths are about there."""


CROWD = (4, 1)
"""Other lengths within the window that are borne: half of the sketch from own text, some of it. Else none."""

STILL = 0.9
"""Share of the pages with equal texts that must have a twin of equal bytes, for bytes to decide."""

LONG = 800
"""Characters of a text of which a clock's width is a small part."""


def text_edges(urls: list[str], seen: Seen, boiler: NDArray[np.bool_]) -> Edges:
    """Pages with equal sketches and equal lengths, save for those whose agreement may be an accident.

    A family is the pages of one sketch. When its sketch is all template, and other lengths are found
    close to a page's own, then two contents will be equally long by accident; pages of such a length are
    linked only if their URLs name the same thing (`identity`). With half of the sketch from their own
    text there is no doubt.
    """
    rows = np.flatnonzero(seen.alive & seen.has_sketch & (seen.given == NOTHING))
    if not len(rows):
        return rows, rows
    family = same(*seen.sketch[rows].T, seen.kind[rows])
    length = seen.text_len[rows]
    group = same(family, length)
    own = 1 - boiler[rows].mean(axis=1)
    crowd = _crowd(family, length)
    sure = crowd <= np.select([own >= 0.5, own > 0], CROWD, default=0)
    # Without a length equal sketches are all there is: the sketch must be the page's own.
    sure &= (length != NOTHING) | (own >= 0.5)
    i, j = star(rows[sure], group[sure])
    doubtful = np.bincount(family, weights=~sure & (np.bincount(group)[group] > 1)) > 0
    # All of the family is needed to see whether a key names the content.
    doubt = np.flatnonzero(doubtful[family] & (length != NOTHING))
    if len(doubt):
        a, b = named_alike(
            [urls[row] for row in rows[doubt].tolist()],
            family[doubt],
            same(length[doubt], seen.size_max[rows[doubt]]),
        )
        i, j = np.concatenate((i, rows[doubt[a]])), np.concatenate((j, rows[doubt[b]]))
    return i, j


def _crowd(family: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each page, how many other lengths of its family lie within `WINDOW` of its own."""
    step = int(length.max(initial=0)) + 2 * WINDOW + 2
    keys, inverse = np.unique(family * step + length + 1, return_inverse=True)
    upper = np.searchsorted(keys, keys + WINDOW, side="right")
    lower = np.searchsorted(keys, keys - WINDOW, side="left")
    crowd: NDArray[np.int64] = (upper - lower - 1)[inverse]
    return crowd


def stable_share(seen: Seen, i: NDArray[np.int64], j: NDArray[np.int64]) -> float:
    """Share of links between equal texts whose digests agree: 1 on a static site, 0 with clocks on all pages.

    1 where no digests are known, as then nothing shows that the site's pages change by themselves.
    """
    known = (seen.digest[i] != NOTHING) & (seen.digest[j] != NOTHING)
    if not known.any():
        return 1.0
    return float((seen.digest[i] == seen.digest[j])[known].mean())


def by_bytes(seen: Seen, i: NDArray[np.int64], j: NDArray[np.int64]) -> Edges:
    """Of links between equal texts those that bytes do not deny, on a site whose pages stand still.

    There nearly every page with an equal text has a twin with equal bytes, so other bytes are another page: one word
    differs, and the sketch and the length have missed it.
    """
    hashed = (seen.digest[i] != NOTHING) & (seen.digest[j] != NOTHING)
    equal = hashed & (seen.digest[i] == seen.digest[j])
    paired = np.unique(np.concatenate((i[hashed], j[hashed])))
    _, number, count = np.unique(seen.digest[paired], return_inverse=True, return_counts=True)
    if (count[number] > 1).sum() < STILL * len(paired):
        return i, j
    kept = ~hashed | equal
    return i[kept], j[kept]


def tolerant_edges(seen: Seen, boiler: NDArray[np.bool_]) -> Edges:
    """Pages with equal sketches, half of own text, whose lengths differ by a clock's or counter's width.

    Each length is linked to the family's most frequent one only, so that small steps do not add up. In a short
    text the same few characters may be all that differs between two contents, so it must be a long one; and where
    lengths crowd, they are not a clock's.
    """
    rows = np.flatnonzero(seen.alive & seen.has_sketch & (seen.given == NOTHING) & (seen.text_len != NOTHING))
    rows = rows[(boiler[rows].mean(axis=1) <= 0.5) & (seen.text_len[rows] >= LONG)]
    if not len(rows):
        return rows, rows
    family = same(*seen.sketch[rows].T, seen.kind[rows])
    length = seen.text_len[rows]
    group = same(family, length)
    # Rows by family, the most frequent length first, the shortest among equals.
    order = np.lexsort((rows, length, -np.bincount(group)[group], family))
    hub = order[firsts(family[order])][family]
    close = np.abs(length - length[hub]) <= CLOCK * length[hub]
    edge = close & (length != length[hub]) & (_crowd(family, length) <= CROWD[0])
    return rows[edge], rows[hub[edge]]


def text_resemblance(
    seen: Seen, boiler: NDArray[np.bool_], steady: float, i: NDArray[np.integer], j: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Estimated resemblance of the own texts of two pages each; nan where their sketches are template only.

    Equal lengths count as one more min-hash that agrees, and as three where pages change by themselves;
    half of that if the lengths differ by a clock's width. Two texts cannot resemble each other more than
    their lengths do.
    """
    agree, against = own_agreement(seen, boiler, i, j)
    a, b = seen.text_len[i], seen.text_len[j]
    both = (a != NOTHING) & (b != NOTHING)
    apart, longer = np.abs(a - b), np.maximum(np.maximum(a, b), 1)
    equal = np.where(apart == 0, 1.0, np.where(apart <= np.maximum(2, CLOCK * longer), 0.5, 0.0))
    bonus = np.where(both, equal * (3.0 - 2.0 * steady), 0.0)
    estimate = (agree + bonus + 0.5) / (agree + against + bonus + 1)
    estimate = np.where(both, np.minimum(estimate, 1 - apart / longer), estimate)
    # With nothing but template to compare, only a marked difference in length tells.
    unknown = (agree + against == 0) & (~both | (apart <= 0.02 * longer))
    return np.where(unknown, np.nan, estimate)
