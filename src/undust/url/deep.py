"""Deep tokens: what a site's own delimiters make of the values of one key.

A web master's `topic,49.msg359.html` is one path segment to RFC 3986, and five things to the site: a
script, a topic, a message, two constants. Koppula et al. (WSDM 2010, section 3.1.2) learn such encodings from
the values alone: they grow a tree of ever more special patterns, and a value's *deep tokens* are what the
groups of its leaf pattern match.

Here a pattern is a sequence of literal texts and *gaps*. A child refines some gaps of its parent and keeps
the others, under the same number: so a gap means the same thing in all patterns that have it, which is what
a rule needs that speaks of "the number after `topic,`".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

_BEGIN, _END, _UNIT = 0, 1, 2  # delimiters that are no character; characters follow, then percent-escapes
_OTHER, _LOWER, _UPPER, _DIGIT = range(4)
_ESCAPE = 0x110000
_FIRST_ROUNDS = 8  # times one pattern may split off children before what is left stays with it


@dataclass(frozen=True)
class Anchors:
    """When a group of candidate anchors is selected (the paper says high, low, low; the figures are ours)."""

    coverage: float = 0.8
    max_unique: int = 10
    max_variation: float = 1.0
    min_tokens: int = 5
    max_depth: int = 8
    minority: bool = True
    delimiters: bool = True


@dataclass
class DeepTree:
    """The patterns of one key and where each of its values fits.

    `patterns[node]` is a sequence of literals (str) and gaps (int); node 0 is the wildcard alone, gap 0 the
    whole value. `leaf[i]` is the node of value i; its gaps, from the whole value down to those of the leaf,
    are `gaps[offsets[i]:offsets[i + 1]]`, at `starts` to `ends` of the value.
    """

    values: Sequence[str]
    patterns: list[tuple[str | int, ...]] = field(default_factory=lambda: [(0,)])
    parents: list[int] = field(default_factory=lambda: [-1])
    refined: dict[int, list[tuple[int, tuple[str | int, ...]]]] = field(default_factory=dict)
    n_gaps: int = 1
    leaf: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    offsets: Int = field(default_factory=lambda: np.zeros(1, np.int64))
    gaps: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    starts: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    ends: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def captures(self, i: int) -> dict[int, str]:
        """Text of every gap on the way from the root to the leaf of value `i`."""
        span = range(self.offsets[i], self.offsets[i + 1])
        return {int(self.gaps[j]): self.values[i][self.starts[j] : self.ends[j]] for j in span}

    def tokens(self, i: int) -> list[str]:
        """Deep tokens of value `i`: anchors, delimiters and what fills the gaps, in order.

        >>> tree = deep_tokenize([f"friends-{x}" for x in ("lttU7d", "nMfcaJ", "Zk19Qw", "aaB2cc", "q7Rw1x")])
        >>> tree.tokens(0)
        ['friends', '-', 'lttU7d']
        """
        texts = self.captures(i)
        out: list[str] = []
        for piece in self.patterns[self.leaf[i]]:
            out += [texts[piece]] if isinstance(piece, int) else units(piece)
        return [token for token in out if token]

    def pattern(self, node: int, gap: str = "{}") -> str:
        """A node's pattern as text.

        >>> deep_tokenize([f"tt{i}" for i in (810900, 53198, 120737, 68646, 71562)]).pattern(1)
        'tt{}'
        """
        return "".join(gap if isinstance(piece, int) else piece for piece in self.patterns[node])

    def ancestors(self, node: int) -> Iterator[int]:
        """The node and what lies above it, up to the root."""
        while node >= 0:
            yield node
            node = self.parents[node]

    def common(self, nodes: Sequence[int]) -> int:
        """The most special pattern that covers all the nodes."""
        shared = list(self.ancestors(nodes[0]))
        for node in nodes[1:]:
            above = set(self.ancestors(node))
            shared = [s for s in shared if s in above]
        return shared[0]

    def parent_gaps(self) -> Int:
        """For each gap the gap it is a part of; -1 for gap 0."""
        above = np.full(self.n_gaps, -1, np.int64)
        for gap, finer in self.refined.items():
            for _, pieces in finer:
                above[[piece for piece in pieces if isinstance(piece, int)]] = gap
        return above

    def fill(self, gap: int, node: int) -> tuple[str | int, ...]:
        """A gap written with the gaps of a node below the one that has it."""
        path = set(self.ancestors(node))
        pieces: tuple[str | int, ...] = (gap,)
        while True:
            step: list[str | int] = []
            for piece in pieces:
                finer = self.refined.get(piece, ()) if isinstance(piece, int) else ()
                step += next((found for child, found in finer if child in path), (piece,))
            if tuple(step) == pieces:
                return pieces
            pieces = tuple(step)


def units(text: str) -> list[str]:
    """Candidate anchors and delimiters of a text, in order: runs of letters or digits, every other character.

    A leading capital belongs to the lower case after it (`SiteID` is `Site`, `ID`); a percent-escape is one
    delimiter.

    >>> units("ct-17.Austria_SiteID%3Afoo")
    ['ct', '-', '17', '.', 'Austria', '_', 'Site', 'ID', '%3A', 'foo']
    """
    u = _Units([text])
    return [text[s:e] for s, e in zip(u.all_starts.tolist(), u.all_ends.tolist(), strict=True)]


def deep_tokens(text: str, delimiters: str) -> list[str]:
    """Deep tokens under given delimiters (the paper's example has `[` and `]`).

    >>> deep_tokens("accelerate.php[id]100019[SiteID]softwareoasis", "[]")
    ['accelerate.php', '[', 'id', ']', '100019', '[', 'SiteID', ']', 'softwareoasis']
    """
    out = [""]
    for char in text:
        if char in delimiters:
            out += [char, ""]
        else:
            out[-1] += char
    return [token for token in out if token]


def deep_tokenize(values: Sequence[str], anchors: Anchors = Anchors()) -> DeepTree:
    """Grow the pattern tree of a key's distinct values (Algorithms 1 and 2 of the paper).

    Candidate anchors of the gaps of a pattern are clustered by delimiter before, delimiter after, kind and
    gap; among clusters that cover most values, have few anchors and none far more frequent than the others,
    those with fewest are selected and become literal, with the delimiters beside them.

    Where no cluster covers most values, `minority` lets one anchor set off those that have it, and
    `delimiters` splits gaps whose values are built alike (`49.0`, `71.15`): both are ours, without them one
    odd value in five hides all structure. Values that look drawn at random are left whole.

    >>> messages = [f"topic,{t}.msg{9 * t}.html" for t in range(20)]
    >>> tree = deep_tokenize(messages + [f"topic,{t}.0.html" for t in range(20)])
    >>> sorted({tree.pattern(leaf) for leaf in tree.leaf})
    ['topic,{}.0.html', 'topic,{}.msg{}.html']
    """
    tree = DeepTree(values)
    tree.leaf = np.zeros(len(values), np.int32)
    u = _Units(values)
    rows = np.arange(len(values), dtype=np.int64)
    root = _Fit(0, rows, u.offsets[:-1, None], u.offsets[1:, None], np.flatnonzero(~u.opaque[u.value]))
    record = [(rows, np.zeros(len(rows), np.int64), u.offsets[:-1], u.offsets[1:])]
    todo = [(root, 0)]
    while todo:
        fit, depth = todo.pop()
        tree.leaf[fit.rows] = fit.node
        for _ in range(_FIRST_ROUNDS):
            if depth >= anchors.max_depth or len(fit.rows) < anchors.min_tokens or not len(fit.units):
                break
            found = _select(u, fit, anchors)
            if found is None:
                break
            children, fit = _children(tree, u, fit, found, anchors, record)
            todo += ((child, depth + 1) for child in children)
            if not children:
                break
    value, gap, start, end = (np.concatenate(parts) for parts in zip(*record, strict=True))
    order = np.argsort(value, kind="stable")
    tree.offsets = np.searchsorted(value[order], np.arange(len(values) + 1))
    tree.gaps = gap[order].astype(np.int32)
    base = u.offsets[value[order]]
    tree.starts = (start[order] - base).astype(np.int32)
    tree.ends = (end[order] - base).astype(np.int32)
    return tree


@dataclass
class _Fit:
    """Values under a pattern: where their gaps lie (one column a gap), and the units inside, in order."""

    node: int
    rows: Int
    starts: Int
    ends: Int
    units: Int


@dataclass
class _Found:
    """What to make literal: spans by row of the fit and gap, and a number for what stands there."""

    row: Int
    gap: Int
    start: Int
    end: Int
    text: Int


class _Units:
    """The candidate anchors of all values, as arrays over one long text."""

    def __init__(self, values: Sequence[str]) -> None:
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        self.offsets = np.concatenate(([0], np.cumsum(lengths)))
        text = np.frombuffer("".join(values).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
        n = len(text)
        kind = _KIND[np.minimum(text, 128)]
        owner = np.repeat(np.arange(len(values)), lengths)
        delimiter = text + 3
        if n > 2:  # a percent-escape is one delimiter
            hexes = _HEX[np.minimum(text, 128)]
            at = np.flatnonzero(
                (text[:-2] == 37) & (hexes[1:-1] >= 0) & (hexes[2:] >= 0) & (owner[:-2] == owner[2:])
            )
            kind[at + 1] = kind[at + 2] = _OTHER
            delimiter[at] = _ESCAPE + 3 + hexes[at + 1] * 16 + hexes[at + 2]
        else:
            at = np.zeros(0, np.int64)
        first = np.ones(n, bool)
        if n > 1:
            before, after = kind[:-1], kind[1:]
            first[1:] = (before != after) & ~((before == _UPPER) & (after == _LOWER)) | (after == _OTHER)
            caps = (
                np.flatnonzero((before[:-1] == _UPPER) & (after[:-1] == _UPPER) & (after[1:] == _LOWER)) + 1
            )
            first[caps] = True
            first[at + 1] = first[at + 2] = False
            first[self.offsets[:-1][lengths > 0]] = True
        # a capital that opens its run takes the lower case behind it, but a value's end cuts everything
        starts = np.flatnonzero(first)
        ends = np.append(starts[1:], n) if n else starts
        self.text = text
        self.all_starts, self.all_ends, is_unit = starts, ends, kind[starts] != _OTHER
        who = owner[starts]
        new = np.ones(len(starts), bool)
        new[1:] = who[1:] != who[:-1]
        sort = np.where(is_unit, _UNIT, delimiter[starts])
        behind = np.append(sort[1:], _END)
        behind[np.append(new[1:], True)] = _END
        ahead = np.concatenate(([_BEGIN], sort[:-1]))[: len(sort)]
        ahead[new] = _BEGIN
        keep = np.flatnonzero(is_unit)
        self.value, self.start, self.end = who[keep], starts[keep], ends[keep]
        self.ahead, self.behind = ahead[keep], behind[keep]
        # how far the delimiters beside a unit reach, to be literal together with it
        reach = ends - starts
        self.left = np.where(self.ahead > _UNIT, reach[keep - 1], 0) if len(keep) else keep
        self.right = (
            np.where(self.behind > _UNIT, reach[np.minimum(keep + 1, len(reach) - 1)], 0)
            if len(keep)
            else keep
        )
        self.numeric = kind[self.start] == _DIGIT
        self.anchor = _numbers(text, self.start, self.end)
        per_value = np.bincount(self.value, minlength=len(values))
        plain = np.bincount(who, minlength=len(values)) == per_value
        digits = np.bincount(self.value[self.numeric], minlength=len(values)) > 0
        self.opaque: Bool = plain & digits & (lengths >= 16) & (per_value * 5 >= lengths)
        # delimiters, for splitting gaps that are built alike
        other = np.flatnonzero(~is_unit)
        self.d_value, self.d_start, self.d_end, self.d_code = (
            who[other],
            starts[other],
            ends[other],
            delimiter[starts[other]],
        )


def _tables() -> tuple[Int, Int]:
    kind = np.full(129, _OTHER, np.int64)
    kind[48:58], kind[97:123], kind[65:91] = _DIGIT, _LOWER, _UPPER
    kind[128] = _LOWER  # beyond ASCII: letters, as far as anchors go
    hexes = np.full(129, -1, np.int64)
    hexes[48:58], hexes[97:103], hexes[65:71] = range(10), range(10, 16), range(10, 16)
    return kind, hexes


_KIND, _HEX = _tables()


def _mix(x: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Scramble (the finalizer of splitmix64)."""
    h = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def _numbers(text: Int, starts: Int, ends: Int) -> Int:
    """A number for each substring, equal for equal texts: a polynomial hash modulo 2**64 by prefix sums."""
    n = len(text)
    power = np.full(n + 1, 0x5851F42D4C957F2D, np.uint64)  # odd, so it has an inverse modulo 2**64
    inverse = np.full(n + 1, pow(0x5851F42D4C957F2D, -1, 1 << 64), np.uint64)
    power[0] = inverse[0] = 1
    power, inverse = np.cumprod(power), np.cumprod(inverse)
    total = np.concatenate(([np.uint64(0)], np.cumsum(_mix(text) * power[:-1])))
    hashes = (total[ends] - total[starts]) * inverse[starts]
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)


def _ranks(codes: Int) -> tuple[Int, int]:
    values, ranks = np.unique(codes, return_inverse=True)
    return ranks.astype(np.int64), len(values)


def _locate(fit: _Fit, start: Int, end: Int) -> tuple[Int, Int, Bool]:
    """Row and gap of the fit in which a span lies, and whether it lies in one at all."""
    flat = fit.starts.ravel()
    at = np.searchsorted(flat, start, side="right") - 1
    inside = (at >= 0) & (end <= fit.ends.ravel()[at])
    return at // fit.starts.shape[1], at % fit.starts.shape[1], inside


def _select(u: _Units, fit: _Fit, anchors: Anchors) -> _Found | None:
    """Algorithm 2, SelectAnchors; or the delimiters of gaps that are built alike."""
    units_ = fit.units
    row, gap, inside = _locate(fit, u.start[units_], u.end[units_])
    units_, row, gap = units_[inside], row[inside], gap[inside]
    if len(units_):
        chosen = _anchor_clusters(u, units_, row, gap, len(fit.rows), anchors)
        if chosen is not None:
            units_, row, gap = units_[chosen], row[chosen], gap[chosen]
            low = np.maximum(u.start[units_] - u.left[units_], fit.starts[row, gap])
            high = np.minimum(u.end[units_] + u.right[units_], fit.ends[row, gap])
            text = (((u.anchor[units_] << 21) + u.ahead[units_]) << 21) + u.behind[units_]
            return _Found(row, gap, low, high, text)
    return _built_alike(u, fit, anchors) if anchors.delimiters else None


def _anchor_clusters(u: _Units, units_: Int, row: Int, gap: Int, n: int, anchors: Anchors) -> Bool | None:
    """Units of the selected clusters."""
    cluster, k = _ranks(((gap * 2 + u.numeric[units_]) << 42) + (u.ahead[units_] << 21) + u.behind[units_])
    covered = np.bincount(np.unique(cluster * n + row) // n, minlength=k) / n
    text, _ = _ranks(u.anchor[units_])
    pair, count = np.unique(cluster * (text.max() + 1) + text, return_counts=True)
    of = pair // (text.max() + 1)
    unique = np.bincount(of, minlength=k)
    mean = np.bincount(of, weights=count, minlength=k) / unique
    spread = np.sqrt(
        np.maximum(np.bincount(of, weights=count.astype(float) ** 2, minlength=k) / unique - mean**2, 0)
    )
    few = (unique <= anchors.max_unique) & (mean >= 2)
    good = few & (covered >= anchors.coverage) & (spread <= anchors.max_variation * mean)
    if good.any():
        best = good & (unique == unique[good].min())
        found: Bool = best[cluster]
        return found
    if anchors.minority:
        # one cluster only: the one whose frequent anchors set off most values
        frequent = count >= max(anchors.min_tokens, 0.05 * n)
        set_off = np.bincount(of, weights=count * frequent, minlength=k)
        set_off[cluster[u.numeric[units_]]] = 0
        if set_off.any():
            found = (cluster == set_off.argmax()) & frequent[
                np.searchsorted(pair, cluster * (text.max() + 1) + text)
            ]
            return found
    return None


def _built_alike(u: _Units, fit: _Fit, anchors: Anchors) -> _Found | None:
    """Delimiters inside the gaps of values that have a common sequence of them, at most four."""
    lo = np.searchsorted(u.d_value, fit.rows)
    hi = np.searchsorted(u.d_value, fit.rows, side="right")
    at = np.repeat(lo - np.cumsum(np.append(0, (hi - lo)[:-1])), hi - lo) + np.arange((hi - lo).sum())
    row, gap, inside = _locate(fit, u.d_start[at], u.d_end[at])
    at, row, gap = at[inside], row[inside], gap[inside]
    if not len(at):
        return None
    text = gap * (_ESCAPE + 1024) + u.d_code[at]
    first = np.searchsorted(row, row)  # rows come in order
    signature = np.zeros(len(fit.rows), np.uint64)
    np.add.at(signature, row, _mix(text * 64 + np.minimum(np.arange(len(row)) - first, 63)))
    ranks, k = _ranks(signature.view(np.int64))
    size = np.bincount(ranks, minlength=k)
    count = np.bincount(row, minlength=len(fit.rows))
    good = (count >= 1) & (count <= 4) & (size[ranks] >= max(anchors.min_tokens, 0.2 * len(fit.rows)))
    keep = good[row]
    if not keep.any():
        return None
    return _Found(row[keep], gap[keep], u.d_start[at[keep]], u.d_end[at[keep]], text[keep])


def _children(
    tree: DeepTree,
    u: _Units,
    fit: _Fit,
    found: _Found,
    anchors: Anchors,
    record: list[tuple[Int, Int, Int, Int]],
) -> tuple[list[_Fit], _Fit]:
    """GenerateChildPatterns: one child for each sequence of literals found; and the rest of the fit."""
    row, gap = found.row, found.gap
    fresh = np.ones(len(row), bool)
    fresh[1:] = (row[1:] != row[:-1]) | (gap[1:] != gap[:-1])
    low, high = found.start.copy(), found.end
    # two literals may share the delimiter between them
    low[1:] = np.where(fresh[1:], low[1:], np.maximum(low[1:], high[:-1]))
    opens = low > np.where(
        fresh, fit.starts[row, gap], np.append(0, high[:-1])
    )  # a gap is left before the literal
    last = np.append(fresh[1:], True)
    closes = last & (high < fit.ends[row, gap])  # ... and behind the last one
    code = _mix(found.text) ^ _mix(gap * 4 + opens * 2 + closes)
    place = np.arange(len(row)) - np.searchsorted(row, row)
    signature = np.zeros(len(fit.rows), np.uint64)
    np.add.at(signature, row, _mix(code.view(np.int64) + 0x51ED * (place + 1)))
    has = np.zeros(len(fit.rows), bool)
    has[row] = True
    ranks, k = _ranks(signature.view(np.int64))
    size = np.bincount(ranks, minlength=k)
    goes = has & (size[ranks] >= anchors.min_tokens)
    children = []
    columns = fit.starts.shape[1]
    order = np.argsort(ranks[goes], kind="stable")
    groups = np.flatnonzero(goes)[order]
    for members in np.split(groups, np.flatnonzero(np.diff(ranks[groups])) + 1) if len(groups) else []:
        where = np.flatnonzero(np.isin(row, members))
        each = len(where) // len(members)
        lows, highs, gaps_ = (x[where].reshape(len(members), each) for x in (low, high, gap))
        starts: list[Int] = []
        ends: list[Int] = []
        pieces: list[str | int] = []
        node = len(tree.patterns)
        gap_at = 0
        example = tree.values[int(fit.rows[members[0]])]
        base = int(u.offsets[fit.rows[members[0]]])
        for piece in tree.patterns[fit.node]:
            if isinstance(piece, str):
                pieces.append(piece)
                continue
            begin, end = fit.starts[members, gap_at], fit.ends[members, gap_at]
            here = np.flatnonzero(gaps_[0] == gap_at)
            gap_at += 1
            if not len(here):
                pieces.append(piece)
                starts.append(begin)
                ends.append(end)
                continue
            inner: list[str | int] = []
            for j in [*here.tolist(), -1]:
                stop = end if j < 0 else lows[:, j]
                if stop[0] > begin[0]:
                    inner.append(tree.n_gaps)
                    tree.n_gaps += 1
                    starts.append(begin)
                    ends.append(stop)
                    record.append(
                        (fit.rows[members], np.full(len(members), inner[-1], np.int64), begin, stop)
                    )
                if j >= 0:
                    literal = example[int(lows[0, j]) - base : int(highs[0, j]) - base]
                    if inner and isinstance(inner[-1], str):
                        inner[-1] += literal
                    else:
                        inner.append(literal)
                    begin = highs[:, j]
            tree.refined.setdefault(piece, []).append((node, tuple(inner)))
            pieces += inner
        assert gap_at == columns
        tree.patterns.append(_joined(pieces))
        tree.parents.append(fit.node)
        rows = fit.rows[members]
        mine = fit.units[np.isin(u.value[fit.units], rows)]
        shape = (len(members), len(starts))
        child = _Fit(
            node,
            rows,
            np.stack(starts, 1) if starts else np.zeros(shape, np.int64),
            np.stack(ends, 1) if ends else np.zeros(shape, np.int64),
            mine,
        )
        if starts:
            _, _, inside = _locate(child, u.start[mine], u.end[mine])
            child.units = mine[inside]
        else:
            child.units = mine[:0]
        children.append(child)
    stay = ~goes
    rest = _Fit(
        fit.node,
        fit.rows[stay],
        fit.starts[stay],
        fit.ends[stay],
        fit.units[~np.isin(u.value[fit.units], fit.rows[goes])],
    )
    return children, rest


def _joined(pieces: Sequence[str | int]) -> tuple[str | int, ...]:
    """Neighbouring literals as one."""
    out: list[str | int] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        else:
            out.append(piece)
    return tuple(out)
