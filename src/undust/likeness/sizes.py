"""Labels from sizes alone, for web-server logs: the weakest evidence there is, and named so."""

from __future__ import annotations

import numpy as np

from undust.likeness.components import compact
from undust.likeness.labels import SIZE, Labels
from undust.likeness.seen import Seen

SWALLOWED = 0.02
"""A size that this share of all pages has (and at least `MANY` of them) is an error page's, not a content's."""

MANY = 30


def label_by_size(seen: Seen) -> Labels:
    """Pages whose every answer had one and the same size are put together by it.

    Two different pages of a site seldom have the same number of bytes, so of two URLs that a rule calls equal the
    sizes tell much; of two URLs taken at random they tell little. So such clusters may judge a proposal and may
    not be taken for duplicates. A page whose size varied is not known.
    """
    fixed = seen.alive & (seen.size_min > 0) & (seen.size_min == seen.size_max)
    cluster = np.full(len(seen), -1, np.int64)
    rows = np.flatnonzero(fixed)
    _, code, count = np.unique(seen.size_min[rows], return_inverse=True, return_counts=True)
    cluster[rows] = code
    soft = np.zeros(len(seen), bool)
    soft[rows] = (count >= max(MANY, SWALLOWED * len(rows)))[code]
    level = np.where(fixed, SIZE, 0).astype(np.uint8)
    return Labels(compact(cluster), soft, level, seen)
