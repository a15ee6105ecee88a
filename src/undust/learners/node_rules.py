"""What has to be rewritten to bring the URLs of one node to the form of another.

Key-key mappings (Algorithm 3), the operations keep, replace and ignore, and the proof on the training sample.
All of it works on codes. A URL is a sum of 64-bit marks, one for each key and value, so rewriting a key is
one subtraction and one addition, and URLs that become one string are equal numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from undust.learners.build_tree import Node, Tree
from undust.learners.duplicate_nodes import Twins, in_clusters_of_two

__all__ = ["Candidate", "Operation", "Operations", "Proof", "Sample", "candidates", "operations", "prove"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Marks = NDArray[np.uint64]


class Operation(NamedTuple):
    """What happens to one key: `keep` writes the target's concrete value, `replace` copies from a key of the
    source, `ignore` writes one value for all. `value`: a code of the key (0: leave the key out), or for
    `replace` the number of the key to copy from."""

    kind: Literal["keep", "replace", "ignore"]
    value: int


Operations = Mapping[int, Operation]


class Pairs(NamedTuple):
    """Rows u of the source and v of the target in one cluster; `group` numbers the clusters from 0."""

    u: Ints
    v: Ints
    group: Ints


class Proof(NamedTuple):
    """A rule run on the training sample."""

    support: int  # URLs it changes
    pairs: int  # pairs of URLs that are one afterwards: support pairs
    false: int  # of these, pairs that are no duplicates
    merged: int  # URLs it changes that fall together with one of their own cluster

    @property
    def fpr(self) -> float:
        """Equation 3."""
        return self.false / self.pairs if self.pairs else 0.0


class Sample:
    """The labelled URLs under a tree, prepared for comparing and rewriting many of them at once.

    `rows` of the tree are those that may teach; `form` has a number for every URL of the site.
    """

    def __init__(self, tree: Tree, cluster: NDArray[np.int32], alive: Bools | None = None) -> None:
        self.tree = tree
        self.cluster = cluster
        n = len(cluster)
        self.alive = np.ones(n, bool) if alive is None else alive
        self.position = np.full(n, -1, np.int64)
        self.position[tree.order] = np.arange(len(tree.order))
        # Equal values have equal numbers whatever their key is; 0 is absence.
        number: dict[str | None, int] = {None: 0}
        self.ids: list[Ints] = [
            np.fromiter((number.setdefault(v, len(number)) for v in c.values), np.int64, len(c.values))
            for c in tree.columns
        ]
        self.marks = [self.mark(k, ids) for k, ids in enumerate(self.ids)]
        self.form = np.zeros(n, np.uint64)
        for marks, column in zip(self.marks, tree.columns, strict=True):
            self.form += marks[column.codes]
        self._by_form = np.argsort(self.form, kind="stable")
        self._forms = self.form[self._by_form]
        teaching = tree.order[in_clusters_of_two(np.where(self.position < 0, -1, cluster))[tree.order]]
        place = cluster[teaching].astype(np.int64) * (n + 1) + self.position[teaching]
        order = np.argsort(place)
        self._places, self._place_rows = place[order], teaching[order]

    def mark(self, key: int, ids: Ints) -> Marks:
        """The mark of each value under a key (splitmix64's finalizer); absence has none."""
        x = (ids.astype(np.uint64) << np.uint64(16)) + np.uint64(key + 1)
        x *= np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x ^= x >> np.uint64(shift)
            x *= np.uint64(factor)
        x ^= x >> np.uint64(31)
        x[ids == 0] = 0
        return x

    def numbers(self, key: int, rows: Ints) -> Ints:
        """The value numbers of a key in some rows."""
        return self.ids[key][self.tree.columns[key].codes[rows]]

    def pairs(self, s: Node, t: Node, *, max_clusters: int = 400, each: int = 3) -> Pairs:
        """Duplicates across two nodes (or within one), a few of each common cluster."""
        small, large = (s, t) if s.size <= t.size else (t, s)
        rows = self.tree.rows(small)
        clusters = np.unique(self.cluster[rows[:: 1 + len(rows) // 8000]]).astype(np.int64)
        begin, end = self._slices(clusters, large)
        first, last = self._slices(clusters, small)
        common = np.flatnonzero((end > begin) & (last - first > (s is t)))
        common = common[np.linspace(0, len(common) - 1, min(len(common), max_clusters)).astype(np.int64)]
        if large is s:
            begin, end, first, last = first, last, begin, end
        u, v, group = [], [], []
        for i in range(each):
            for j in range(i + 1 if s is t else 0, each):
                there = common[(first[common] + i < last[common]) & (begin[common] + j < end[common])]
                u.append(self._place_rows[first[there] + i])
                v.append(self._place_rows[begin[there] + j])
                group.append(np.searchsorted(common, there))
        return Pairs(np.concatenate(u), np.concatenate(v), np.concatenate(group))

    def _slices(self, clusters: Ints, node: Node) -> tuple[Ints, Ints]:
        """Where in `_place_rows` the members of each cluster that lie in the node begin and end."""
        base = clusters * (len(self.cluster) + 1)
        return np.searchsorted(self._places, base + node.lo), np.searchsorted(self._places, base + node.hi)

    def rewritten(self, rows: Ints, ops: Operations) -> Marks:
        """The forms of some rows after the operations."""
        form = self.form[rows]
        for key, op in ops.items():
            form -= self.marks[key][self.tree.columns[key].codes[rows]]
            if op.kind == "replace":
                form += self.mark(key, self.numbers(op.value, rows))
            else:
                form += self.marks[key][op.value]
        return form

    def standing(self, forms: Marks) -> tuple[Ints, Ints]:
        """Rows that have one of the forms as they are: (index into `forms`, row) for each such row."""
        begin = np.searchsorted(self._forms, forms, side="left")
        many = np.searchsorted(self._forms, forms, side="right") - begin
        at = np.repeat(np.arange(len(forms)), many)
        offset = np.arange(len(at)) - np.repeat(np.cumsum(many) - many, many)
        return at, self._by_form[begin[at] + offset]


def operations(
    sample: Sample,
    s: Node,
    t: Node,
    *,
    min_sigma: float = 0.5,
    max_differing: float = 0.2,
    literal: bool = False,
) -> dict[int, Operation]:
    """The operations that turn a URL of `s` into the format of `t`; keys that stay as they are have none.

    A key of `t` with one value is kept: that value is written. A key with several is replaced by the key of
    `s` that shares most values with it, if more than `min_sigma` of them, and ignored if there is none. A
    replacement is fake, and becomes ignore, when more than `max_differing` of the duplicates differ in it:
    about none do in a true identifier, about half with two mirrors.

    Sharing is counted by cluster: the share of common clusters in which the two keys have a value in common.
    `literal`: as printed, the share of the target's values that also are values of the source.
    """
    pairs = sample.pairs(s, t)
    if not len(pairs.u):
        return {}
    source = np.flatnonzero(s.pattern != 0).tolist()
    ops: dict[int, Operation] = {}
    for key in range(len(sample.tree.keys)):
        here, there = int(s.pattern[key]), int(t.pattern[key])
        if there >= 0:
            if here != there:
                ops[key] = Operation("keep", there)
            continue
        sigma, copied = _best_mapping(sample, s, t, key, source, pairs, literal)
        differing = _differing(sample, copied, key, pairs) if sigma > min_sigma else 1.0
        if differing > max_differing:
            ops[key] = Operation("ignore", _most_frequent(sample, key, t))
        elif copied != key:
            ops[key] = Operation("replace", copied)
    return ops


def without_ignored(
    sample: Sample, t: Node, ops: Operations, optional: Collection[int]
) -> dict[int, Operation]:
    """The operations with ignored keys left out of the URL, where a URL of the node was seen without them.

    So the URL that is written can be fetched. Where none was seen, the most frequent value stands for all.
    `optional`: the keys a URL can be without (query fields, not path segments).
    """
    ops = dict(ops)
    ignored = [key for key, op in ops.items() if op.kind == "ignore" and key in optional]
    rows = sample.tree.rows(t)
    for keys in ([ignored] if len(ignored) > 1 else []) + [[key] for key in ignored]:
        gone = {key: Operation("ignore", 0) for key in keys}
        at, row = sample.standing(sample.rewritten(rows, gone))
        if (sample.alive[row] & (sample.cluster[rows[at]] == sample.cluster[row])).any():
            ops |= gone
            if len(keys) == len(ignored):
                break
    return ops


def _best_mapping(
    sample: Sample, s: Node, t: Node, key: int, source: list[int], pairs: Pairs, literal: bool
) -> tuple[float, int]:
    """The key of the source that maps to a key of the target, by sigma; of equal ones the key itself."""
    best, found = -1.0, -1
    wanted = sample.numbers(key, pairs.v)
    groups = int(pairs.group.max()) + 1
    values = np.unique(sample.numbers(key, sample.tree.rows(t))) if literal else wanted
    for k in sorted({*source, key}, key=lambda k: k != key):
        if k != key and s.pattern[k] >= 0:
            continue  # one value cannot stand for several
        if literal:
            sigma = float(np.isin(values, sample.numbers(k, sample.tree.rows(s))).mean())
        else:
            agree = np.bincount(pairs.group, sample.numbers(k, pairs.u) == wanted, groups) > 0
            sigma = float(agree.mean())
        if sigma > best + 1e-9:
            best, found = sigma, k
        if best == 1.0:
            break
    return best, found


def _differing(sample: Sample, source: int, target: int, pairs: Pairs) -> float:
    """The share of duplicates whose values differ."""
    return float((sample.numbers(source, pairs.u) != sample.numbers(target, pairs.v)).mean())


def _most_frequent(sample: Sample, key: int, node: Node) -> int:
    """The value most URLs of the node have, the smallest text among equals."""
    column = sample.tree.columns[key]
    counts = np.bincount(column.codes[sample.tree.rows(node)])
    counts[0] = 0
    return min(np.flatnonzero(counts == counts.max()).tolist(), key=lambda code: column.values[code] or "")


def prove(sample: Sample, parts: Iterable[tuple[Ints, Operations]], *, at_most: int | None = None) -> Proof:
    """Run rewrites, each on its rows, and count what falls together, with the rows that stay as they are too.

    `at_most`: judge on about so many rows, all those that become one string or none of them.
    """
    rows, forms = [], []
    for members, ops in parts:
        after = sample.rewritten(members, ops)
        moved = after != sample.form[members]
        rows.append(members[moved])
        forms.append(after[moved])
    row, form = np.concatenate(rows), np.concatenate(forms)
    support = len(row)
    if at_most is not None and support > 2 * at_most:
        chosen = form % np.uint64(support // at_most) == 0
        row, form = row[chosen], form[chosen]
    distinct, group = np.unique(form, return_inverse=True)
    at, still = sample.standing(distinct)
    stays = (sample.position[still] >= 0) & ~np.isin(still, row)
    group = np.concatenate([group, at[stays]])
    cluster = sample.cluster[np.concatenate([row, still[stays]])].astype(np.int64)
    per_form = np.bincount(group, minlength=1)
    cell = group * (int(cluster.max(initial=0)) + 1) + cluster
    inverse, per_cell = np.unique(cell, return_inverse=True, return_counts=True)[1:]
    pairs, true = _choose_two(per_form), _choose_two(per_cell)
    merged = int((per_cell[inverse[: len(row)]] > 1).sum())
    if len(row) < support:
        factor = support / max(len(row), 1)
        return Proof(support, round(pairs * factor), round((pairs - true) * factor), round(merged * factor))
    return Proof(support, pairs, pairs - true, merged)


class Candidate(NamedTuple):
    """A rule between two nodes (or within one), as operations on codes."""

    source: Node
    target: Node
    ops: Operations
    proof: Proof

    @property
    def ignored(self) -> Operations:
        """What the target's own URLs need, to meet the rewritten ones: its ignored keys."""
        return {key: op for key, op in self.ops.items() if op.kind == "ignore"}


def candidates(
    sample: Sample,
    twins: Iterable[Twins],
    *,
    optional: Collection[int],
    min_sigma: float = 0.5,
    max_differing: float = 0.2,
    literal_sigma: bool = False,
    repair_above: float | None = None,
    at_most: int | None = 50_000,
) -> Iterator[Candidate]:
    """One raw rule for each pair of duplicate nodes that changes a URL and merges two.

    `repair_above`: while a rule's false-positive rate is above it, the ignored key without which the rate is
    lowest is left as it is; one key that matters need not cost the others.
    """
    for s, t, *_ in twins:
        ops = operations(
            sample, s, t, min_sigma=min_sigma, max_differing=max_differing, literal=literal_sigma
        )
        if s is t:
            ops = {key: op for key, op in ops.items() if op.kind == "ignore"}
        if not ops:
            continue
        raw = _proved(sample, s, t, without_ignored(sample, t, ops, optional), at_most)
        while repair_above is not None and raw.proof.fpr > repair_above:
            spare = [key for key in raw.ignored if s.pattern[key] != 0]
            if not spare or len(raw.ops) < 2:
                break
            raw = min(
                (
                    _proved(sample, s, t, {k: op for k, op in raw.ops.items() if k != key}, at_most)
                    for key in spare
                ),
                key=lambda one: (one.proof.fpr, -one.proof.merged),
            )
        if raw.proof.pairs:
            yield raw


def _proved(sample: Sample, s: Node, t: Node, ops: Operations, at_most: int | None) -> Candidate:
    raw = Candidate(s, t, ops, Proof(0, 0, 0, 0))
    parts = [(sample.tree.rows(s), ops)]
    if s is not t and raw.ignored:
        parts.append((sample.tree.rows(t), raw.ignored))
    return raw._replace(proof=prove(sample, parts, at_most=at_most))


def _choose_two(counts: Ints) -> int:
    return int((counts * (counts - 1) // 2).sum())
