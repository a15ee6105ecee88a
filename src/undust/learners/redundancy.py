"""Phase 2 of DustBuster: of rules that say the same on this list, keep the one that carries the context.

A pair (a', b') refines (a, b) iff a' = g·a·d and b' = g·b·d (Lemma 6 of the thesis). So the pairs it refines
are exactly those made by taking tokens off common beginnings and ends: they are looked up, not searched for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undust.learners.envelopes import Bools, Ints, Pairs, Rows, common_ends
from undust.learners.occurrences import NO_ROW, Names

_LOOKUPS = 1 << 22
"""Shorter pairs looked up at once."""


def survivors(
    rows: Rows, pairs: Pairs, *, relative: float = 0.05, absolute: int = 1, window: int = 0
) -> Bools:
    """Which of the pairs EliminateRedundancies keeps; they come sorted by `high`, greatest first.

    Two pairs are compared if they are at most `window` places apart (0: any distance) and their supports differ
    by at most max(relative * greater support, absolute). An eliminated pair eliminates nothing any more.
    """
    keep = np.ones(len(pairs), dtype=bool)
    gone = [False] * len(pairs)
    current = -1
    for first, second, first_is_finer in _comparisons(rows, pairs, relative, absolute, window):
        if first != current:
            current, killed = first, False
        if killed or gone[first] or gone[second]:
            continue
        if first_is_finer:
            gone[second] = True
        else:  # the pair itself goes, and is compared no further
            gone[first] = killed = True
    keep[np.array(gone, dtype=bool)] = False
    return keep


def _comparisons(
    rows: Rows, pairs: Pairs, relative: float, absolute: int, window: int
) -> Iterator[tuple[int, int, bool]]:
    """Pairs of places (earlier, later) of which one refines the other, in the order of the double loop."""
    fine, broad = refinements(rows, pairs)
    first, second = np.minimum(fine, broad), np.maximum(fine, broad)
    high = pairs.high[first].astype(np.float64)
    near = (second - first <= (window or len(pairs))) & (
        high - pairs.high[second] <= np.maximum(relative * high, absolute)
    )
    first, second, finer = first[near], second[near], fine[near] == first[near]
    order = np.lexsort((second, first))
    return zip(first[order].tolist(), second[order].tolist(), finer[order].tolist(), strict=True)


def refinements(rows: Rows, pairs: Pairs) -> tuple[Ints, Ints]:
    """All (i, j) such that pair i refines pair j."""
    name = rows.hashes(pairs.row_a, pairs.start, pairs.len_a) + rows.hashes(
        pairs.row_b, pairs.start, pairs.len_b
    )
    names = Names(name)
    heads, tails = common_ends(rows, pairs)
    cuts = (heads + 1).astype(np.int64) * (tails + 1)
    fine, broad = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for some in _slices(cuts):
        rule = np.repeat(np.arange(some.start, some.stop), cuts[some])
        nth = np.arange(len(rule)) - np.repeat(np.cumsum(cuts[some]) - cuts[some], cuts[some])
        head, tail = nth // (tails[rule] + 1), nth % (tails[rule] + 1)
        shorter = (nth > 0) & (head + tail <= pairs.len_b[rule])
        rule, head, tail = rule[shorter], head[shorter], tail[shorter]
        start, less = pairs.start[rule] + head, head + tail
        cut = rows.hashes(pairs.row_a[rule], start, pairs.len_a[rule] - less)
        cut += rows.hashes(pairs.row_b[rule], start, pairs.len_b[rule] - less)
        place = names.find(cut)
        fine.append(rule[place != NO_ROW])
        broad.append(place[place != NO_ROW])
    return np.concatenate(fine), np.concatenate(broad)


def _slices(cuts: Ints) -> Iterator[slice]:
    """Pairs in portions of about `_LOOKUPS` shorter pairs."""
    total = np.cumsum(cuts)
    begin = 0
    while begin < len(cuts):
        base = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, base + _LOOKUPS, side="right")))
        yield slice(begin, end)
        begin = end
