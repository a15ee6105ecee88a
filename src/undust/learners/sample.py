"""The labelled URLs under a pattern tree as numbers: find duplicates across nodes, rewrite, count merges.

A URL is a sum of 64-bit marks, one for each key and value. So rewriting a key is one subtraction and one
addition, and URLs that become one string are equal numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from undust.learners.build_tree import ANY, Node, Tree
from undust.learners.duplicate_nodes import in_clusters_of_two

__all__ = ["Conditions", "Operation", "Operations", "Pairs", "Proof", "Sample", "prove"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Marks = NDArray[np.uint64]


class Operation(NamedTuple):
    """What happens to one key: `keep` writes the target's concrete value, `replace` copies from a key of the
    source, `ignore` writes one value for all, where there is one. `value`: a code of the key (0: leave the key
    out), or for `replace` the number of the key to copy from."""

    kind: Literal["keep", "replace", "ignore"]
    value: int


Operations = Mapping[int, Operation]
Conditions = Mapping[int, int]  # key -> the code it must have (0: absent), or ANY: it must be there


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
    merged: int  # URLs that go because they fall together with one of their own cluster
    wrong: int  # URLs that fall together with a larger group of another cluster

    @property
    def fpr(self) -> float:
        """Equation 3. One large cluster has many pairs, and can hide a wrong merge of many small ones."""
        return self.false / self.pairs if self.pairs else 0.0

    @property
    def wrong_share(self) -> float:
        """Wrong merges among all, by URL: each URL counts once."""
        return self.wrong / (self.wrong + self.merged) if self.wrong else 0.0


class Sample:
    """The labelled URLs under a tree, prepared for comparing and rewriting many of them at once.

    `rows` of the tree are those that may teach; `form` has a number for every URL of the site.
    """

    def __init__(self, tree: Tree, cluster: NDArray[np.int32], alive: Bools | None = None) -> None:
        self.tree = tree
        self.cluster = cluster
        n = len(cluster)
        self.path = [k for k, key in enumerate(tree.keys) if key.startswith("path[")]
        self.path.sort(key=lambda k: abs(int(tree.keys[k][5:-1])))  # from the end that the tree counts from
        self.from_start = not self.path or "-" not in tree.keys[self.path[0]]
        self.alive = np.ones(n, bool) if alive is None else alive
        self.none = np.zeros(n, bool)
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
        self._matching: dict[tuple[tuple[int, int], ...], Ints] = {}
        self._by_form = np.argsort(self.form, kind="stable")
        forms = self.form[self._by_form]
        self._first = np.flatnonzero(np.concatenate([[True], forms[1:] != forms[:-1]])) if n else np.arange(0)
        self._many = np.diff(np.append(self._first, n))
        self._forms = forms[self._first]
        self._seen_without: dict[tuple[int, tuple[int, ...]], bool] = {}
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

    def matching(self, node: Node, when: Conditions) -> Ints:
        """The teaching rows that meet the conditions, which all members of the node do.

        They can be more than the node's: its wildcard stands beside siblings with the key's salient values.
        """
        known = tuple(sorted(when.items()))
        if known not in self._matching:
            down = [node]
            while down[-1].parent is not None:
                down.append(down[-1].parent)
            start = down.pop()
            while down and 0 <= down[-1].pattern[down[-1].key] == when.get(down[-1].key):
                start = down.pop()  # decided by the conditions alone
            rows = self.tree.rows(start)
            # Literals first: they leave fewest rows for the others to look at.
            for key, code in sorted(when.items(), key=lambda item: (item[1] <= 0, item[1] == ANY, item[0])):
                if start.pattern[key] != code:
                    codes = self.tree.columns[key].codes[rows]
                    rows = rows[codes > 0 if code == ANY else codes == code]
            self._matching[known] = rows
        return self._matching[known]

    def numbers(self, key: int, rows: Ints) -> Ints:
        """The value numbers of a key in some rows."""
        return self.ids[key][self.tree.columns[key].codes[rows]]

    def pairs(self, s: Node, t: Node, *, max_clusters: int = 200, each: int = 2) -> Pairs:
        """Duplicates across two nodes (or within one), a few of each common cluster."""
        small, large = (s, t) if s.size <= t.size else (t, s)
        rows = self.tree.rows(small)
        clusters = np.unique(self.cluster[rows[:: 1 + len(rows) // 4000]]).astype(np.int64)
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

    def path_numbers(self, rows: Ints) -> Ints:
        """The value numbers of all path segments, one row a URL."""
        return np.stack([self.numbers(k, rows) for k in self.path], axis=1)

    def _slices(self, clusters: Ints, node: Node) -> tuple[Ints, Ints]:
        """Where in `_place_rows` the members of each cluster that lie in the node begin and end."""
        base = clusters * (len(self.cluster) + 1)
        return np.searchsorted(self._places, base + node.lo), np.searchsorted(self._places, base + node.hi)

    def rewritten(self, rows: Ints, ops: Operations) -> Marks:
        """The forms of some rows after the operations."""
        form = self.form[rows]
        for key, op in ops.items():
            codes = self.tree.columns[key].codes[rows]
            form -= self.marks[key][codes]
            if op.kind == "replace":
                form += self.mark(key, self.numbers(op.value, rows))
            elif op.kind == "ignore":
                form += np.where(codes > 0, self.marks[key][op.value], 0)
            else:
                form += self.marks[key][op.value]
        return form

    def alike(self, node: Node) -> Proof:
        """What is one already in a node, to the tree: URLs of the same keys and values."""
        rows = self.tree.rows(node)
        if not len(rows):
            return Proof(0, 0, 0, 0, 0)
        form = np.unique(self.form[rows], return_inverse=True)[1]
        counts = _merges(form, self.cluster[rows])
        return Proof(counts[2] + counts[3], *counts)

    def seen_without(self, node: Node, keys: Sequence[int]) -> bool:
        """Whether a URL of the node, with the keys left out, is that of a live page of its own cluster."""
        known = node.id, tuple(keys)
        if known not in self._seen_without:
            rows = self.tree.rows(node)
            at, row = self.standing(self.rewritten(rows, {key: Operation("ignore", 0) for key in keys}))
            found = self.alive[row] & (self.cluster[rows[at]] == self.cluster[row])
            self._seen_without[known] = bool(found.any())
        return self._seen_without[known]

    def standing(self, forms: Marks) -> tuple[Ints, Ints]:
        """Rows that have one of the forms as they are: (index into `forms`, row) for each such row."""
        place = np.minimum(np.searchsorted(self._forms, forms), len(self._forms) - 1)
        begin = self._first[place]
        many = np.where(self._forms[place] == forms, self._many[place], 0)
        at = np.repeat(np.arange(len(forms)), many)
        offset = np.arange(len(at)) - np.repeat(np.cumsum(many) - many, many)
        return at, self._by_form[begin[at] + offset]


def prove(sample: Sample, parts: Iterable[tuple[Ints, Operations]], *, at_most: int | None = None) -> Proof:
    """Run rewrites, each on its rows, and count what falls together, with the rows that stay as they are too.

    `at_most`: judge on about so many rows, all those that become one string or none of them.
    """
    rows, forms = [], []
    for members, ops in parts:
        after = sample.rewritten(members, ops)
        changed = after != sample.form[members]
        rows.append(members[changed])
        forms.append(after[changed])
    row, form = np.concatenate(rows), np.concatenate(forms)
    support = len(row)
    moved = sample.none.copy()
    moved[row] = True
    if at_most is not None and support > 2 * at_most:
        chosen = form % np.uint64(support // at_most) == 0
        row, form = row[chosen], form[chosen]
    if not len(row):
        return Proof(support, 0, 0, 0, 0)
    order = np.argsort(form)
    row, form = row[order], form[order]
    new = np.concatenate([[True], form[1:] != form[:-1]])
    at, still = sample.standing(form[new])
    stays = (sample.position[still] >= 0) & ~moved[still]
    group = np.concatenate([np.cumsum(new) - 1, at[stays]])
    counts = _merges(group, sample.cluster[np.concatenate([row, still[stays]])])
    factor = support / len(row)
    return Proof(support, *(round(count * factor) for count in counts))


def _merges(group: Ints, cluster: NDArray[np.int32]) -> tuple[int, int, int, int]:
    """Rows of one group are one URL: support pairs, false pairs, URLs merged rightly and wrongly."""
    step = int(cluster.max()) + 1
    cell = np.sort(group * step + cluster)
    start = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    per_cell = np.diff(np.append(start, len(cell)))
    form_of_cell = cell[start] // step
    first = np.flatnonzero(np.concatenate([[True], form_of_cell[1:] != form_of_cell[:-1]]))
    per_form, largest = np.add.reduceat(per_cell, first), np.maximum.reduceat(per_cell, first)
    pairs, true = _choose_two(per_form), _choose_two(per_cell)
    return pairs, pairs - true, int((largest - 1).sum()), int((per_form - largest).sum())


def _choose_two(counts: Ints) -> int:
    return int((counts * (counts - 1) // 2).sum())
