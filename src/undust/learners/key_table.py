"""A site's URLs as Koppula et al. see them: keys counted from both ends, deep keys, one vocabulary.

Every place a value can stand at has a number, its *atom*: first the columns (scheme, host, port, fields of
the query, ...), then the path segments counted from the start, then the same counted from the end, then the
gaps of the deep patterns of each of these. All values of all atoms are numbered alike, so "the target's
value stands somewhere in the source" is a comparison of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from undust.rules.conversion import CONVERSIONS, Convert, translate
from undust.url import SiteTable
from undust.url.deep import Anchors, DeepTree, deep_tokenize

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

MAX_SEGMENTS = 16
MAX_COLUMNS = 250
_HEAD = ("scheme", "host", "port", "fragment")


def mix(x: npt.NDArray[Any]) -> Hashes:
    """Scramble integers (the finalizer of splitmix64), so that sums of them identify sets.

    >>> len(set(mix(np.arange(1000)).tolist()))
    1000
    """
    h = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def mix2(place: npt.NDArray[Any] | int, code: npt.NDArray[Any] | int) -> Hashes:
    """Scramble pairs of a place and a code."""
    return mix((np.asarray(place, np.int64) << np.int64(32)) + np.asarray(code, np.int64))


class KeyTable:
    """Code columns of a site.

    Parameters
    ----------
    table
        The URLs.
    deep
        Learn deep tokens; without, a value is one piece.
    end_alignment
        Count path segments from the end too.

    >>> table = KeyTable(SiteTable.build(["http://a.example/x/y?q=1", "http://a.example/y"]))
    >>> table.columns
    ['scheme', 'host', 'query[q]']
    >>> [table.name(atom) for atom in range(table.roots)]
    ['scheme', 'host', 'query[q]', 'path[0]', 'path[1]', 'path[-1]', 'path[-2]']
    >>> table.of_atom(5).tolist() == [table.number["y"]] * 2   # path[-1]
    True
    """

    def __init__(self, table: SiteTable, *, deep: bool = True, end_alignment: bool = True) -> None:
        self.site = table
        self.n = table.n
        self.end_alignment = end_alignment
        self.vocab: list[str] = [""]
        self.number: dict[str, int] = {}
        self._conversions: dict[str, dict[int, int]] = {}
        self._gap_codes: dict[int, tuple[Ints, Codes]] = {}
        keys = table.keys
        segments = sorted(int(k[5:-1]) for k in keys if k.startswith("path[") and k[5] != "-")
        named = [k for k in keys if k.startswith(("query[", "matrix["))]
        count = {k: table.count(k) for k in named}
        ranked = sorted(named, key=lambda k: (-count[k], k))
        self.columns = [k for k in (*_HEAD, *ranked[:MAX_COLUMNS]) if count.get(k) or table.count(k)]
        self.n_columns = len(self.columns)
        self.codes = self._gather(self.columns)
        # fields too rare to be a key of their own: two URLs that differ in them teach nothing
        self.rest = np.zeros(self.n, np.uint64)
        for i, key in enumerate(ranked[MAX_COLUMNS:]):
            column = table.codes(key)
            rows = np.flatnonzero(column)
            self.rest[rows] += mix2(i, column[rows])
        self.depth = min(len(segments), MAX_SEGMENTS)
        self.path = self._gather([f"path[{i}]" for i in range(self.depth)])
        self.length: Ints = np.count_nonzero(self.path, axis=1).astype(np.int64)
        self.odd: Bools = np.zeros(self.n, bool)  # URLs with more segments than are looked at
        if len(segments) > MAX_SEGMENTS:
            self.odd = table.column(f"path[{MAX_SEGMENTS}]").codes > 0
        self.roots = self.n_columns + self.depth * (2 if end_alignment else 1)
        self.last = self.n_columns + self.depth  # atom of `path[-1]`
        self._learn_deep(deep)

    def _gather(self, keys: Sequence[str]) -> Codes:
        out = np.zeros((self.n, len(keys)), np.int32, order="F")
        for j, key in enumerate(keys):
            codes, values = self.site.column(key)
            new = np.zeros(len(values), np.int32)
            for i, value in enumerate(values):
                if value is not None:
                    new[i] = self.code(value)
            out[:, j] = new[codes]
        return out

    def code(self, value: str) -> int:
        """The number of a value; a new one if it has none yet. 0 is "absent"."""
        found = self.number.get(value)
        if found is None:
            found = self.number[value] = len(self.vocab)
            self.vocab.append(value)
        return found

    # ------------------------------------------------------------------------------------------ deep keys

    def _learn_deep(self, deep: bool) -> None:
        """A pattern tree per key; its gaps below the root become atoms."""
        self.trees: dict[int, DeepTree] = {}
        self.tree_codes: dict[int, Ints] = {}
        self.tree_base: dict[int, int] = {}
        atom, value = self.roots, 0
        self.gap_tree: list[int] = []
        self.gap_base: dict[int, int] = {}
        per_value, gaps, codes, leaves, parents = [], [], [], [], []
        for root in self.tree_roots if deep else ():
            used = np.unique(self.tree_column(root)).astype(np.int64)
            used = used[used > 0]
            tree = deep_tokenize([self.vocab[c] for c in used.tolist()], ANCHORS)
            if tree.n_gaps == 1 and len(tree.patterns) == 1:
                continue
            self.trees[root], self.tree_codes[root], self.tree_base[root] = tree, used, value
            self.gap_base[root] = atom - 1
            self.gap_tree += [root] * (tree.n_gaps - 1)
            owner = np.repeat(np.arange(len(used)), np.diff(tree.offsets))
            inner = tree.gaps > 0
            texts = tree.values
            codes += [
                self.code(texts[i][s:e])
                for i, s, e in zip(
                    owner[inner].tolist(), tree.starts[inner].tolist(), tree.ends[inner].tolist(), strict=True
                )
            ]
            gaps.append(tree.gaps[inner].astype(np.int64) + self.gap_base[root])
            per_value.append(np.bincount(owner[inner], minlength=len(used)))
            leaves.append(tree.leaf.astype(np.int64))
            above = tree.parent_gaps()
            parents.append(np.where(above > 0, above + self.gap_base[root], -1)[1:])
            atom += tree.n_gaps - 1
            value += len(used)
        empty = np.zeros(0, np.int64)
        self.atoms = atom
        self.capture_offsets = np.concatenate(([0], np.cumsum(np.concatenate([*per_value, empty]))))
        self.capture_gap: Ints = np.concatenate([*gaps, empty])
        self.capture_code = np.array(codes, np.int32)
        self.parent_gap: Ints = np.concatenate([*parents, empty])  # -1: a part of the whole value
        self.leaves: Ints = np.concatenate([*leaves, empty])

    @cached_property
    def tree_roots(self) -> list[int]:
        """Atoms whose values are tokenized on their own: columns, inner segments by place, the last one."""
        fields = [i for i, k in enumerate(self.columns) if k not in _HEAD]
        return [*fields, *range(self.n_columns, self.last), *([self.last] if self.end_alignment else ())]

    def tree_column(self, root: int) -> Codes:
        """Values of the URLs whose value at this atom belongs to its tree."""
        codes = self.of_atom(root)
        if self.end_alignment and self.n_columns <= root < self.last:
            return np.where(self.length == root - self.n_columns + 1, 0, codes).astype(np.int32)
        return codes

    def tree_of(self, atom: npt.NDArray[Any], back: npt.NDArray[Any]) -> Ints:
        """The tree of a value at an atom; of a segment `back` is the place from the end, 1 the last."""
        if not self.end_alignment:
            return atom.astype(np.int64)
        return np.where((atom >= self.n_columns) & (back == 1), self.last, atom).astype(np.int64)

    def value_at(self, tree: npt.NDArray[Any], code: npt.NDArray[Any]) -> Ints:
        """Number of a value in its tree, over all trees; -1 where the tree is trivial."""
        out = np.full(len(code), -1, np.int64)
        for root in np.unique(tree).tolist():
            if root in self.trees:
                rows = np.flatnonzero(tree == root)
                known = self.tree_codes[root]
                at = np.minimum(np.searchsorted(known, code[rows]), len(known) - 1)
                out[rows] = np.where(known[at] == code[rows], self.tree_base[root] + at, -1)
        return out

    def leaf_of(self, tree: Ints, value: Ints) -> Ints:
        """Leaf pattern of values numbered by `value_at`; 0 (the wildcard) for values of trivial trees."""
        return np.where(value >= 0, self.leaves[np.maximum(value, 0)], 0) if len(self.leaves) else value * 0

    # ---------------------------------------------------------------------------------------------- atoms

    @cached_property
    def path_back(self) -> Codes:
        """Path segments counted from the end: column 0 is the last segment."""
        at = self.length[:, None] - 1 - np.arange(self.depth)[None, :]
        back = np.take_along_axis(self.path, np.maximum(at, 0), axis=1)
        return np.asfortranarray(np.where(at >= 0, back, 0).astype(np.int32))

    def of_atom(self, atom: int, rows: Ints | None = None) -> Codes:
        """Code at an atom of all URLs, or of some; 0: not there."""
        if atom < self.n_columns:
            column = self.codes[:, atom]
        elif atom < self.last:
            column = self.path[:, atom - self.n_columns]
        elif atom < self.roots:
            column = self.path_back[:, atom - self.last]
        else:
            return self._of_gap(atom, rows)
        return column if rows is None else column[rows]

    def _of_gap(self, atom: int, rows: Ints | None) -> Codes:
        root = self.gap_tree[atom - self.roots]
        codes = self.tree_column(root)
        codes = codes if rows is None else codes[rows]
        if atom not in self._gap_codes:
            where = np.flatnonzero(self.capture_gap == atom)
            value = np.searchsorted(self.capture_offsets, where, side="right") - 1 - self.tree_base[root]
            self._gap_codes[atom] = self.tree_codes[root][value], self.capture_code[where]
        known, captured = self._gap_codes[atom]
        at = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return np.where(known[at] == codes, captured[at], 0).astype(np.int32)

    def name(self, atom: int) -> str:
        """The key of an atom in the rule language; of a gap, the key it lies in."""
        if atom < self.n_columns:
            return self.columns[atom]
        if atom < self.last:
            return f"path[{atom - self.n_columns}]"
        if atom < self.roots:
            return f"path[{self.last - 1 - atom}]"
        return self.name(self.gap_tree[atom - self.roots])

    def values_of(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """(index into `rows`, atom, code) of everything that stands in these URLs."""
        who: list[Ints] = []
        atom: list[Ints] = []
        code: list[npt.NDArray[Any]] = []
        trees, codes, owners = [], [], []
        for block, first in ((self.codes, 0), (self.path, self.n_columns)):
            at, column = np.nonzero(block[rows])
            who.append(at)
            atom.append(column + first)
            code.append(block[rows][at, column])
            back = self.length[rows][at] - column if first else np.zeros(len(at), np.int64)
            trees.append(self.tree_of(column + first, back))
            codes.append(code[-1])
            owners.append(at)
            if first and self.end_alignment:
                who.append(at)
                atom.append(self.last + back - 1)
                code.append(code[-1])
        tree, code_, owner = (np.concatenate(x) for x in (trees, codes, owners))
        value = self.value_at(tree, code_)
        deep = np.flatnonzero(value >= 0)
        where, of = self.captures(value[deep])
        who.append(owner[deep][of])
        atom.append(self.capture_gap[where])
        code.append(self.capture_code[where])
        return np.concatenate(who), np.concatenate(atom), np.concatenate(code).astype(np.int64)

    def captures(self, values: Ints) -> tuple[Ints, Ints]:
        """(captures, index into `values`) of the gaps of these values."""
        return ranges(self.capture_offsets[values], self.capture_offsets[values + 1])

    # ---------------------------------------------------------------------------------------- conversions

    def converted(self, codes: Ints, conversion: str, *, grow: bool = False) -> Ints:
        """Codes after a conversion; 0 where the result is no known value (unless the vocabulary may grow)."""
        known = self._conversions.setdefault(conversion, {})
        convert = conversion_named(conversion)
        distinct, inverse = np.unique(codes, return_inverse=True)
        out = np.zeros(len(distinct), np.int64)
        for i, code in enumerate(distinct.tolist()):
            found = known.get(code, -1)
            if found < 0 or (grow and found == 0):
                text = convert(self.vocab[code])
                found = self.code(text) if grow else self.number.get(text, 0)
                known[code] = found
            out[i] = found
        return out[inverse]

    # -------------------------------------------------------------------------------------- URLs as hashes

    @cached_property
    def identity(self) -> Hashes:
        """One number per URL, equal when all keys are (not their order: the paper's URL is a function)."""
        total = self.rest.copy()
        for j in range(self.n_columns):
            total += np.where(self.codes[:, j] > 0, mix2(j, self.codes[:, j]), np.uint64(0))
        return total + self.path_hash(self.path)

    def path_hash(self, path: Codes) -> Hashes:
        """One number per path; a segment that is absent (0) is skipped, what follows moves up."""
        there = path > 0
        place = np.cumsum(there, axis=1)
        hashes = np.where(there, mix2(place + 1_000_000, path), np.uint64(0))
        total: Hashes = hashes.sum(axis=1, dtype=np.uint64)
        return total


ANCHORS = Anchors()


def conversion_named(name: str) -> Convert:
    """`lower`, `tr(%20,_)`, ...

    >>> conversion_named("tr(%20,_)")("a%20b")
    'a_b'
    """
    if name.startswith("tr("):
        old, _, new = name[3:-1].partition(",")
        return translate(old, new)
    return CONVERSIONS[name]


def ranges(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """All integers of the ranges, and which range each is of.

    >>> ranges(np.array([5, 0, 7]), np.array([7, 0, 8]))
    (array([5, 6, 7]), array([0, 0, 2]))
    """
    sizes = high - low
    of = np.repeat(np.arange(len(low)), sizes)
    first = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) - first[of] + low[of], of
