"""Soft pages: one small page under many unrelated addresses (log in first, nothing found), status 200.

Such a page makes every rule look right: if 2,700 `?p=` lead to one login form, `p` does not matter, or so
it seems. It is told from a page that truly has thousands of addresses by what the addresses name. A
session id names nothing: take two pages that differ in it alone, and they are the same. A post number
names a post: elsewhere on the site two pages that differ in it alone are different.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from undust.likeness.components import firsts, medians, same
from undust.likeness.identity import WHOLE_PATH, Cells
from undust.likeness.seen import NOTHING, Seen
from undust.likeness.sketch import mixed

MIN_NAMES = 10
"""Different names that must lead to one page."""

EXCESS = 5.0
"""How many times more names than the typical page of the site it must have."""

SHORT = 0.75
"""Text length of a soft page, at most, as a share of the median over the site's contents."""

SHORT_OWN = 0.5
"""The same where most of a page is the site's frame, for what is left without it."""

FRAME = 0.02
"""The frame of a site's pages is as long as the shortest of them, this share of them aside."""

MIN_DIFFERENCE = 0.5
"""Of the pairs of pages differing in a key alone, the share that must differ in content for it to name contents."""

WHOLE = 0.8
"""When this share of a cluster goes by too many names, all of it is soft; otherwise those pages alone."""


def soft_pages(
    urls: list[str], seen: Seen, cluster: NDArray[np.integer], boiler: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Pages of soft clusters, and redirects that send many unrelated addresses to one page.

    `boiler` marks the min-hashes of the template: by them the pages are known that wear the site's frame.
    """
    soft = np.zeros(len(seen), dtype=bool)
    member = cluster >= 0
    if not member.any():
        return soft
    n = int(cluster.max()) + 1
    # Sizes have to do where texts are not known.
    texts = member & seen.alive & (seen.text_len != NOTHING)
    measure = seen.text_len if texts.any() else seen.size_max
    shown = np.flatnonzero(member & seen.alive & (measure != NOTHING))
    length = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(length, cluster[shown], measure[shown])
    known = length < np.iinfo(np.int64).max
    framed = known.copy()
    if boiler is not None and texts.any():
        framed[:] = False
        framed[cluster[shown[boiler[shown].any(axis=1)]]] = True
    frame = np.quantile(length[framed], FRAME) if framed.any() else 0.0
    limit = frame + SHORT_OWN * (np.median(length[framed]) - frame) if framed.any() else 0.0
    if known.any():
        limit = max(limit, SHORT * float(np.median(length[known])))
    short = known & (length <= limit) & (np.bincount(cluster[shown], minlength=n) >= MIN_NAMES)
    sent = np.bincount(cluster[member & ~seen.alive], minlength=n) >= MIN_NAMES
    # Only addresses of these clusters are in question; all others bear witness.
    asked_shown = member & seen.alive & short[cluster]
    asked_sent = member & ~seen.alive & sent[cluster]
    if not (asked_shown.any() or asked_sent.any()):
        return soft
    names = _Names(urls, cluster, witness=member & seen.alive & ~asked_shown)
    for asked in (asked_shown, asked_sent):
        if asked.any():
            named = names.too_many(cluster, asked)
            share = np.bincount(cluster[named], minlength=n) / np.maximum(
                np.bincount(cluster[asked], minlength=n), 1
            )
            # The start page may have fallen into the cluster; it stays, and so do its other addresses.
            soft |= named | (asked & (share >= WHOLE)[cluster])
    return soft


class _Names:
    """What the values at each key of the URLs name, going by the witnesses."""

    def __init__(self, urls: list[str], cluster: NDArray[np.integer], witness: NDArray[np.bool_]) -> None:
        cells = Cells(urls)
        # The path as a whole is left out: its segments stand for it.
        whole = cells.keys.index(WHOLE_PATH) if WHOLE_PATH in cells.keys else -1
        part = cells.key != whole
        self.row, self.key, self.value = cells.row[part], cells.key[part], cells.value[part]
        self.number = np.array([v.isdigit() for v in cells.values], dtype=bool)
        # The sum of its cells' hashes stands for a URL, so that taking one off leaves the rest of it.
        cell = mixed((self.key * (len(cells.values) + 1) + self.value).astype(np.uint64))
        total = np.zeros(len(urls), dtype=np.uint64)
        np.add.at(total, self.row, cell)
        self.rest = total[self.row] - cell
        self._judge_keys(cluster, witness)

    def _judge_keys(self, cluster: NDArray[np.integer], witness: NDArray[np.bool_]) -> None:
        """Keys that name contents, values that name contents, and the usual number of names per content."""
        cells = np.flatnonzero(witness[self.row])
        key, value, content = self.key[cells], self.value[cells], cluster[self.row[cells]].astype(np.int64)
        n = int(self.key.max(initial=-1)) + 1
        # Pages that agree in all but this key, one a value; do their contents differ?
        alone = same(key, self.rest[cells])
        one = firsts(same(alone, value))
        alone, content_of, key_of = alone[one], content[one], key[one]
        pairs = _pairs_by(alone, key_of, n)
        equal = _pairs_by(same(alone, content_of), key_of, n)
        self.names_content = (pairs >= MIN_NAMES) & (equal <= (1 - MIN_DIFFERENCE) * pairs)
        self.value_names = np.zeros(len(self.number), dtype=bool)
        self.value_names[value[self.names_content[key]]] = True
        one = firsts(same(key, content, value))
        holder = same(key[one], content[one])
        self.usual = medians(np.bincount(holder), key[one][firsts(holder)], n)

    def too_many(self, cluster: NDArray[np.integer], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of these pages show a content that goes by many more names than one content has, at such a key?"""
        cells = np.flatnonzero(asked[self.row])
        slot = same(cluster[self.row[cells]].astype(np.int64), self.key[cells])
        one = firsts(same(slot, self.value[cells]))
        value = self.value[cells[one]]
        names = np.bincount(slot[one])
        # A value that names a content at another key names it here too; small numbers are everywhere.
        borrowed = np.bincount(slot[one], weights=self.value_names[value] & ~self.number[value])
        key = self.key[cells[firsts(slot)]]
        telling = self.names_content[key] | (borrowed >= 0.5 * names)
        many = telling & (names >= np.maximum(MIN_NAMES, EXCESS * self.usual[key]))
        out = np.zeros(len(cluster), dtype=bool)
        out[self.row[cells[many[slot]]]] = True
        return out


def _pairs_by(fine: NDArray[np.int64], key: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Number of pairs of equal `fine`, by key."""
    count = np.bincount(fine)
    key_of = np.zeros(len(count), dtype=np.int64)
    key_of[fine] = key
    return np.asarray(np.bincount(key_of, weights=count * (count - 1) / 2.0, minlength=n), dtype=np.float64)
