"""The envelope kernel of DustBuster: which pairs of substrings stand in the same surroundings, and how often.

An *envelope* of a substring is the pair (prefix, suffix) around it; substrings with the same envelope form
a *bucket*; every two substrings of a small bucket are one instance of a rule. The published algorithm writes
all substrings to a table and sorts it. Here no substring is ever written:

* Rows are sorted once by their tokens and once by their tokens backwards. A prefix (or suffix) that two rows
  share is then a run of neighbours; one that nobody shares cannot be half of a shared envelope and is never
  looked at.
* For each prefix length the rows are put in the order (prefix, backwards order), by a stable radix sort on
  top of the backwards order. In that order *every* bucket with a prefix of this length is a run, for every
  suffix length at once: the runs break where two neighbours share fewer suffix tokens. So a bucket costs a
  comparison, not a sort.

All of this is exact. Only the two substrings of an instance are named by a 64-bit hash, to be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer]
Bools = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]
Similar = Callable[[Ints, Ints], Bools]
"""Two arrays of row numbers in; False where two rows are unlikely to be similar."""

_BATCH = 1 << 18
"""Rows put through the suffix loop together: enough to hide NumPy's overhead, few enough for the cache."""

_PAIRS = 1 << 21
"""Pairs of rows asked for their likeness at once."""

_INSTANCES = 1 << 25
"""Instances held at once; beyond, rules are counted in several passes, each over its share of the hashes."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of substrings, where one instance has them: `a` in `row_a`, `b` in `row_b`, both from `start`.

    `low` and `high` are the supports with the small and with the large bucket threshold.
    """

    row_a: Ints
    row_b: Ints
    start: Ints
    len_a: Ints
    len_b: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.row_a)

    def take(self, index: Ints | Bools) -> Pairs:
        """These pairs only, in this order."""
        return Pairs(*(getattr(self, field)[index] for field in self.__dataclass_fields__))

    def of_rows(self, rows: Ints) -> Pairs:
        """The same pairs, their row i being row `rows[i]` of a larger list."""
        return replace(self, row_a=rows[self.row_a], row_b=rows[self.row_b])


class Rows:
    """Token rows (`ids` cut at `offsets`) with constant-time hashes of any substring.

    >>> rows = Rows(np.array([0, 5, 6, 7, 1, 0, 6, 7, 1]), np.array([0, 5, 9]))
    >>> one, two = np.array([1]), np.array([2])
    >>> rows.hashes(one - 1, two, two) == rows.hashes(one, one, two)
    array([ True])
    """

    def __init__(self, ids: Ints, offsets: Ints) -> None:
        self.ids = np.ascontiguousarray(ids, dtype=np.int32)
        self.first = np.asarray(offsets[:-1], dtype=np.int64)
        self.lengths = np.diff(offsets).astype(np.int32)
        longest = int(self.lengths.max(initial=0))
        # H(t_0 .. t_k) = sum r(t_i) B^i mod 2^64, r pseudo-random. B is odd, so a substring's hash is moved
        # to position 0 by B^-start. B^2 - 1 holds few factors two: no short periodic string cancels itself.
        base = 0x5851F42D4C957F2D
        self._powers = _powers(base, 2 * longest + 1)
        self._inverse = _powers(pow(base, -1, 1 << 64), longest + 1)
        self._values = mixed(np.arange(1, int(self.ids.max(initial=0)) + 2, dtype=np.uint64))
        position = np.arange(len(self.ids)) - np.repeat(self.first, self.lengths)
        terms = self._values[self.ids]
        terms *= self._powers[position]
        self._sums = np.zeros(len(self.ids) + 1, dtype=np.uint64)
        np.cumsum(terms, out=self._sums[1:])

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, index: Ints | Bools) -> Rows:
        """Some of the rows; tokens and hashes are shared."""
        some = copy(self)
        some.first, some.lengths = self.first[index], self.lengths[index]
        return some

    def hashes(self, row: Ints, start: Ints, length: Ints) -> Hashes:
        """One well-mixed hash per substring; equal token sequences have equal hashes."""
        return mixed(self._sum(row, start, length))

    def name(self, tokens: Ints) -> Hashes:
        """The hash of a token sequence, not longer than the longest row, as an array of one."""
        total = (self._values[tokens] * self._powers[: len(tokens)]).sum(dtype=np.uint64, keepdims=True)
        return mixed(total)

    def replaced(self, row: Ints, start: Ints, length: Ints, by: Ints) -> Hashes:
        """Hashes of whole rows in which a substring is replaced by the tokens `by`."""
        rest = start + length
        found = self._sum(row, 0 * start, start)
        found += (self._values[by] * self._powers[: len(by)]).sum(dtype=np.uint64) * self._powers[start]
        found += self._sum(row, rest, self.lengths[row] - rest) * self._powers[start + len(by)]
        return mixed(found)

    def _sum(self, row: Ints, start: Ints, length: Ints) -> Hashes:
        first = self.first[row] + start
        found: Hashes = (self._sums[first + length] - self._sums[first]) * self._inverse[start]
        return found


def likely_pairs(
    rows: Rows,
    similar: Similar | None = None,
    *,
    max_substring: int = 35,
    bucket_low: int = 6,
    bucket_high: int = 11,
    crowd: int = 0,
    min_support: int = 3,
    literal: bool = False,
) -> Pairs:
    """All pairs of different substrings whose support with the small threshold reaches `min_support`.

    An envelope counts for a pair if its bucket holds at most `bucket_low` (for `low`) or `bucket_high` (for
    `high`) substrings and the two rows are likely similar. A larger one, of up to `crowd` substrings, counts for
    a pair as if it held only the rows that are likely similar to one of the two. An empty or periodic substring
    can sit in several envelopes of the same two rows; they count once unless `literal`. Rows must be distinct;
    the order of the pairs is unspecified.

    >>> from itertools import accumulate
    >>> urls = ["^x1$", "^y1$", "^x2$", "^y2$", "^x3$", "^y3$"]
    >>> ids = np.array([ord(c) for u in urls for c in u])
    >>> pairs = likely_pairs(Rows(ids, np.array([0, *accumulate(map(len, urls))])), bucket_low=2)
    >>> [urls[r][s : s + n] for r, s, n in zip(pairs.row_a, pairs.start, pairs.len_a)], pairs.low, pairs.high
    (['^x', 'x'], array([3, 3]), array([3, 3]))
    """
    parts = 1
    while True:  # a list with too many instances starts again, in parts
        try:
            found = [
                _counted(
                    rows,
                    _instances(rows, similar, max_substring, bucket_high, crowd, part, parts),
                    bucket_low,
                    min_support,
                    literal,
                )
                for part in range(parts)
            ]
        except _TooMany:
            parts *= 4
            continue
        return Pairs(*(np.concatenate([getattr(p, f) for p in found]) for f in Pairs.__dataclass_fields__))


def common_ends(rows: Rows, pairs: Pairs) -> tuple[Ints, Ints]:
    """How many leading and how many trailing tokens the two substrings of each pair share."""
    shorter = np.minimum(pairs.len_a, pairs.len_b)
    a = rows.first[pairs.row_a] + pairs.start
    b = rows.first[pairs.row_b] + pairs.start
    heads = _shared(rows.ids, a, b, shorter, 1)
    tails = _shared(rows.ids, a + pairs.len_a - 1, b + pairs.len_b - 1, shorter, -1)
    return heads, tails


# --- sorted rows ---


def _sorted(rows: Rows, backwards: bool) -> tuple[Ints, Ints]:
    """An order of rows that makes those of a common prefix (suffix) neighbours; tokens shared with the last.

    A radix sort from the last token to the first; a row joins where its last token is due.
    """
    step = -1 if backwards else 1
    first = rows.first + rows.lengths - 1 if backwards else rows.first
    by_length = np.argsort(rows.lengths, kind="stable").astype(np.int32)
    ends = np.searchsorted(rows.lengths[by_length], np.arange(int(rows.lengths.max(initial=0)) + 2))
    order = by_length[:0]
    for t in range(len(ends) - 2, 0, -1):
        order = np.concatenate([order, by_length[ends[t] : ends[t + 1]]])
        order = order[radix_argsort(rows.ids[first[order] + step * (t - 1)])]
    order = np.concatenate([order, by_length[: ends[1]]]) if len(ends) > 1 else order
    shared = np.full(len(rows), -1, dtype=np.int32)
    begin, length = first[order], rows.lengths[order]
    shared[1:] = _shared(rows.ids, begin[:-1], begin[1:], np.minimum(length[:-1], length[1:]), step)
    return order, shared


def _shared(ids: Ints, a: Ints, b: Ints, limit: Ints, step: int) -> Ints:
    """For each i: the number of equal tokens from positions a[i], b[i] on, stepwise, at most limit[i]."""
    found = limit.astype(np.int32)
    live = np.arange(len(a))
    t = 0
    while len(live):
        inside = limit > t
        if not inside.all():
            live, a, b, limit = live[inside], a[inside], b[inside], limit[inside]
        equal = ids[a + step * t] == ids[b + step * t]
        found[live[~equal]] = t
        live, a, b, limit = live[equal], a[equal], b[equal], limit[equal]
        t += 1
    return found


def radix_argsort(keys: Ints) -> Ints:
    """A stable argsort of non-negative integers; NumPy has a linear one for 16 bits only.

    >>> radix_argsort(np.array([70000, 3, 70000, 2]))
    array([3, 1, 0, 2])
    """
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    top = int(keys.max(initial=0)) >> 16
    while top:
        keys = keys >> 16
        order = order[np.argsort(keys[order].astype(np.uint16), kind="stable")]
        top >>= 16
    return order


class _RangeMinimum:
    """Minimum of any range of an array in two look-ups (a sparse table)."""

    def __init__(self, values: Ints) -> None:
        n = len(values)
        levels = max(1, n.bit_length())
        self._width = n
        self._table = np.empty((levels, n), dtype=np.int32 if values.max(initial=0) > 32000 else np.int16)
        self._table[0] = values
        for j in range(1, levels):
            half = 1 << (j - 1)
            self._table[j] = self._table[j - 1]
            np.minimum(
                self._table[j - 1, : n - half], self._table[j - 1, half:], out=self._table[j, : n - half]
            )
        self._flat = self._table.ravel()
        self._log = np.zeros(n + 1, dtype=np.int8)
        for j in range(1, levels):
            self._log[1 << j :] = j

    def __call__(self, first: Ints, last: Ints) -> Ints:
        """min(values[first : last + 1]), elementwise."""
        level = self._log[last - first + 1].astype(np.int64)
        at = level * self._width
        found: Ints = np.minimum(self._flat[at + first], self._flat[at + last + 1 - (1 << level)])
        return found


# --- buckets ---


@dataclass(frozen=True)
class _Instances:
    """Instances of rules: hash of the unordered pair, the two rows, start, tokens after it, bucket size."""

    key: Hashes
    u: Ints
    v: Ints
    start: Ints
    rest: Ints
    size: Ints


class _TooMany(Exception):
    """More instances than are held at once."""


def _levels(rows: Rows) -> Iterator[tuple[int, Ints, Ints]]:
    """Per prefix length the rows that share such a prefix, in (prefix, backwards) order.

    With each comes the number of suffix tokens shared with the one before; -1 at a new prefix.
    """
    by_prefix, shared = _sorted(rows, backwards=False)
    by_suffix, shared_suffix = _sorted(rows, backwards=True)
    useful = np.empty(len(rows), dtype=np.int32)
    useful[by_prefix] = np.maximum(shared, np.append(shared[1:], -1))
    rank = np.empty(len(rows), dtype=np.int32)
    rank[by_suffix] = np.arange(len(rows))
    least = _RangeMinimum(shared_suffix)
    group_of = np.empty(len(rows), dtype=np.int32)
    reach = useful[by_suffix]
    for i in range(int(useful.max(initial=-1)) + 1):
        keep = useful[by_prefix] >= i
        by_prefix, shared = by_prefix[keep], shared[keep]
        keep = reach >= i
        by_suffix, reach = by_suffix[keep], reach[keep]
        group_of[by_prefix] = np.cumsum(shared < i)
        group = group_of[by_suffix]
        order = radix_argsort(group)
        row, group = by_suffix[order], group[order]
        at = rank[row]
        suffix = np.full(len(row), -1, dtype=np.int32)
        together = np.flatnonzero(group[1:] == group[:-1])
        suffix[together + 1] = least(at[together] + 1, at[together + 1])
        yield i, row, suffix


def _instances(
    rows: Rows,
    similar: Similar | None,
    max_substring: int,
    bucket_high: int,
    crowd: int,
    part: int,
    parts: int,
) -> _Instances:
    """Every instance from a bucket of 2 to `bucket_high` rows, of rules whose hash falls into this part."""
    found: list[_Instances] = []
    held = 0
    largest = bucket_high if similar is None else max(bucket_high, crowd)
    for batch in _batches(_levels(rows)):
        members = _buckets(rows, *batch, max_substring, largest)
        for some in _bucket_pairs(rows, similar, *members, bucket_high):
            if parts > 1:
                mine = some.key % np.uint64(parts) == part
                some = _Instances(*(getattr(some, f)[mine] for f in _Instances.__dataclass_fields__))
            found.append(some)
            held += len(some.key)
            if held > _INSTANCES and parts < 1 << 12:
                raise _TooMany
    if not found:
        none = np.zeros(0, dtype=np.int32)
        return _Instances(none.astype(np.uint64), none, none, none, none, none)
    return _Instances(
        *(np.concatenate([getattr(s, f) for s in found]) for f in _Instances.__dataclass_fields__)
    )


def _batches(levels: Iterator[tuple[int, Ints, Ints]]) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Levels put together until NumPy's overhead is small: rows, their prefix lengths, shared suffixes."""
    held: list[tuple[Ints, Ints, Ints]] = []
    size = 0
    for i, row, suffix in levels:
        held.append((row, np.full(len(row), i, dtype=np.int32), suffix))
        size += len(row)
        if size >= _BATCH:
            yield tuple(map(np.concatenate, zip(*held, strict=True)))  # type: ignore[misc]  # three arrays
            held, size = [], 0
    if size:
        yield tuple(map(np.concatenate, zip(*held, strict=True)))  # type: ignore[misc]


def _buckets(
    rows: Rows, row: Ints, start: Ints, suffix: Ints, max_substring: int, bucket_high: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Members of all buckets of 2 to `bucket_high`: row, start, tokens after it; and the sizes of buckets."""
    middle = rows.lengths[row] - start  # tokens after the prefix
    at = np.arange(len(row))
    members, afters, sizes = [], [], []
    k = 0
    while len(at):
        width = middle - k
        fits = (width >= 0) & (width <= max_substring)
        first = np.flatnonzero(suffix < k)
        if fits.all():
            inside, size = at, np.diff(first, append=len(at))
        else:  # the run goes on through a row whose substring would be too long (or of negative length)
            inside, size = at[fits], np.add.reduceat(fits, first, dtype=np.int64)
        small = (size >= 2) & (size <= bucket_high)
        member = inside[np.repeat(small, size)]
        members.append(member)
        afters.append(np.full(len(member), k, dtype=np.int32))
        sizes.append(size[small])
        k += 1
        more = suffix >= k  # shares k suffix tokens with the row before it, or with the one after
        more[:-1] |= more[1:]
        at, suffix, middle = at[more], suffix[more], middle[more]
    member = np.concatenate(members)
    return row[member], start[member], np.concatenate(afters), np.concatenate(sizes)


def _bucket_pairs(
    rows: Rows, similar: Similar | None, row: Ints, start: Ints, rest: Ints, sizes: Ints, bucket_high: int
) -> Iterator[_Instances]:
    """Every two likely similar members of each bucket; hashes are added, so their order does not matter.

    In a bucket larger than `bucket_high` the rows similar to either of the two take the place of the bucket.
    """
    name = rows.hashes(row, start, rows.lengths[row] - start - rest)
    begin = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        left, right = np.triu_indices(size, 1)
        all_first = begin[sizes == size]
        for i in range(0, len(all_first), portion := max(1, _PAIRS // len(left))):
            first = all_first[i : i + portion]
            a = (first[:, None] + left).ravel()
            b = (first[:, None] + right).ravel()
            if similar is not None:
                alike = similar(row[a], row[b])
                a, b = a[alike], b[alike]
            flock = np.full(len(a), size, dtype=np.int32)
            if size > bucket_high:
                companions = np.bincount(a, minlength=len(row)) + np.bincount(b, minlength=len(row))
                flock = 1 + np.maximum(companions[a], companions[b]).astype(np.int32)
                few = flock <= bucket_high
                a, b, flock = a[few], b[few], flock[few]
            yield _Instances(name[a] + name[b], row[a], row[b], start[a], rest[a], flock)


# --- counting ---


def _counted(rows: Rows, found: _Instances, bucket_low: int, min_support: int, literal: bool) -> Pairs:
    """The rules of these instances with their two supports, those with enough low support only."""
    order = _groups(found, bucket_low, min_support)
    key = found.key[order]
    new = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.zeros(0, dtype=np.int64)
    low = found.size[order] <= bucket_low
    rule = np.repeat(np.arange(len(new)), np.diff(new, append=len(key)))
    first = order[new]
    u, v, start, rest = found.u[first], found.v[first], found.start[first], found.rest[first]
    len_u, len_v = rows.lengths[u] - start - rest, rows.lengths[v] - start - rest
    swap = len_v > len_u
    pairs = Pairs(
        np.where(swap, v, u),
        np.where(swap, u, v),
        start,
        np.maximum(len_u, len_v),
        np.minimum(len_u, len_v),
        np.bincount(rule[low], minlength=len(new)),
        np.bincount(rule, minlength=len(new)),
    )
    if not literal:
        pairs = _once(rows, pairs, found.u[order], found.v[order], rule, low)
    return pairs.take(pairs.low >= min_support)


def _groups(found: _Instances, bucket_low: int, min_support: int) -> Ints:
    """Instances ordered by rule, leaving out most of those whose rule cannot have the support.

    A table of counts by some bits of the hash is cheap and never too small; only what passes is sorted.
    """
    bits = min(24, len(found.key).bit_length() + 1)
    slot = (found.key >> np.uint64(64 - bits)).astype(np.int32)
    counts = np.bincount(slot[found.size <= bucket_low], minlength=1 << bits)
    order = np.flatnonzero(counts[slot] >= min_support)
    return order[np.argsort(found.key[order])]


def _once(rows: Rows, pairs: Pairs, u: Ints, v: Ints, rule: Ints, low: Bools) -> Pairs:
    """Supports as numbers of different row pairs (Theorem 2 needs it for empty and periodic substrings only).

    A pair of rows sits in two envelopes of one rule only if b is both the beginning and the end of a: moving
    by x, from p·a·s and p·b·s to another envelope, gives a·w = x·a and b·w = x·b, so both are powers of the
    root of x followed by the same remainder.
    """
    heads, tails = common_ends(rows, pairs)
    doubtful = (heads == pairs.len_b) & (tails == pairs.len_b)
    mine = doubtful[rule]
    rule, u, v, low = rule[mine], u[mine], v[mine], low[mine]
    lesser, greater = np.minimum(u, v).astype(np.uint64), np.maximum(u, v).astype(np.uint64)
    name = (lesser << np.uint64(32)) | greater
    high_count, low_count = pairs.high.copy(), pairs.low.copy()
    for count, some in ((high_count, slice(None)), (low_count, low)):
        r, x = rule[some], name[some]
        order = np.lexsort((x, r))
        r, x = r[order], x[order]
        again = np.append(False, (r[1:] == r[:-1]) & (x[1:] == x[:-1])) if len(r) else np.zeros(0, dtype=bool)
        count -= np.bincount(r[again], minlength=len(pairs))
    return replace(pairs, low=low_count, high=high_count)


def _powers(base: int, n: int) -> Hashes:
    powers = np.full(n, base, dtype=np.uint64)
    powers[:1] = 1
    found: Hashes = np.cumprod(powers, dtype=np.uint64)
    return found


def mixed(x: Hashes) -> Hashes:
    """A bijection of 64 bits whose output looks random (the finalizer of splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = x ^ (x >> np.uint64(31))
    return mixed
