"""Boilerplate: what recurs on page after page of a site, and says nothing of any of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from undust.likeness.components import firsts, same
from undust.likeness.seen import NOTHING, Seen

CLOCK = 0.005
"""Relative difference in length that a clock, a counter or a token makes in one content."""

SPREAD = 5
"""A min-hash found in texts of this many lengths that no clock explains comes from the template."""

LENGTHS = 16
"""So does one found in texts of this many different lengths, however close they lie.

One content shows a handful of lengths at most; a template shows as many as it has contents.
"""


def boilerplate_values(seen: Seen) -> NDArray[np.bool_]:
    """For each min-hash of each page: does its shingle belong to a template of the site?

    Where no text lengths are known, a value is boilerplate when it occurs in `SPREAD` different sketches.
    """
    rows = np.flatnonzero(seen.alive & seen.has_sketch)
    out = np.zeros(seen.sketch.shape, dtype=bool)
    if not len(rows):
        return out
    sketch = seen.sketch[rows]
    length = seen.text_len[rows]
    family = same(*sketch.T, seen.kind[rows])
    exact = np.where(length == NOTHING, -1 - family, length)
    coarse = np.where(length == NOTHING, -1 - family, np.log(np.maximum(length, 1)) // np.log1p(CLOCK))
    for p in range(sketch.shape[1]):
        value = same(sketch[:, p], seen.kind[rows])
        out[rows, p] = ((_different(value, coarse) >= SPREAD) | (_different(value, exact) >= LENGTHS))[value]
    return out


def _different(value: NDArray[np.int64], content: NDArray[np.generic]) -> NDArray[np.int64]:
    """How many different contents go with each value."""
    return np.bincount(value[firsts(same(value, content))])


def own_agreement(
    seen: Seen, boiler: NDArray[np.bool_], i: NDArray[np.integer], j: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many min-hashes speak for, and how many against, equal own texts of pages i[k] and j[k].

    The smaller of two values at one place is the least hash of both texts together. If it is boilerplate,
    the place says nothing. Otherwise it is a shingle of the pages' own text, and it either stands in both
    or in one only. So `for / (for + against)` estimates the resemblance of what is left when the template
    is taken away.
    """
    a, b = seen.sketch[i], seen.sketch[j]
    own = ~np.where(a <= b, boiler[i], boiler[j])
    equal = a == b
    return (own & equal).sum(axis=1), (own & ~equal).sum(axis=1)
