"""A generalized rule in codes, and what it does to a site, found by counting instead of rewriting strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from undust.learners.explain import DROP, INSERT, PATH, SET
from undust.learners.key_table import Bools, Codes, Hashes, Ints, KeyTable, mix2


@dataclass(frozen=True)
class Fits:
    """The value is there and fits a deep pattern; `fixed` are gaps (atoms) with the code they must have."""

    tree: int = -1
    node: int = 0
    fixed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Among:
    """One of these values."""

    codes: tuple[int, ...]


Condition = int | Fits | Among  # a code: exactly this value; 0: absent


@dataclass(frozen=True)
class Literal:
    code: int


@dataclass(frozen=True)
class Reference:
    """The value at an atom of the source, after a conversion ("": none)."""

    atom: int
    convert: str = ""


@dataclass(frozen=True)
class Composed:
    """A deep pattern whose gaps (local numbers of the tree) are filled."""

    tree: int
    node: int
    parts: tuple[tuple[int, Literal | Reference], ...]


@dataclass(frozen=True)
class Ignored:
    """Whatever stands there means nothing; `code` represents it where the URL cannot do without."""

    code: int


Value = Literal | Reference | Composed | Ignored


@dataclass(frozen=True)
class Change:
    """Set, drop or insert. A segment's place counts from the start, or (`from_end`) from the end, 1 the last.

    A segment is inserted before that place; place 0 from the end is behind the last segment.
    """

    kind: int
    column: int = -1
    place: int = 0
    from_end: bool = False
    order: int = 0
    value: Value | None = None

    def atom(self, table: KeyTable) -> int:
        """The atom that is set or dropped."""
        if self.column >= 0:
            return self.column
        return table.last + self.place - 1 if self.from_end else table.n_columns + self.place

    @property
    def one_key(self) -> bool:
        """A key is set or dropped; not: a segment inserted, the whole path set."""
        return self.kind in (SET, DROP)


@dataclass(frozen=True)
class KeyRule:
    """Conditions on atoms, on the number of segments and on the exact set of columns; and what changes."""

    when: Mapping[int, Condition]
    changes: tuple[Change, ...]
    segments: int | None = None
    names: tuple[int, ...] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal rules."""
        return (
            tuple(sorted(self.when.items(), key=lambda item: item[0])),
            self.changes,
            self.segments,
            self.names,
        )

    def needed(self, table: KeyTable) -> set[int]:
        """Atoms without which the rule would be another: those it changes and those it reads."""
        atoms = {c.atom(table) for c in self.changes if c.one_key}
        for change in self.changes:
            value = change.value
            parts = [p for _, p in value.parts] if isinstance(value, Composed) else [value]
            atoms |= {p.atom for p in parts if isinstance(p, Reference)}
        return {table.gap_tree[a - table.roots] if a >= table.roots else a for a in atoms}


@dataclass(frozen=True)
class Score:
    """What a rule does to the URLs it was learned from.

    `coverage`: URLs it changes. `true`: URLs that fall together with their own content, `wrong`: with
    another. `known`: changed URLs of a known cluster; `met`: those of them that fall together with any
    other. `pairs`, `false_pairs`: pairs that become one URL, and those of different clusters. `precision`:
    share of the URLs that meet others which are in the majority of their new URL (collision precision);
    `literal`: the paper's own, over targets that are in the data (RES-28); both None where nothing can be
    said.
    """

    coverage: int
    true: int
    wrong: int
    known: int
    met: int
    pairs: int
    false_pairs: int
    precision: float | None
    literal: float | None
    rows: Ints = field(repr=False, compare=False)
    new: Hashes = field(repr=False, compare=False)

    @property
    def tested(self) -> float:
        """Share of the changed URLs on which the data could have said no."""
        return self.met / self.known if self.known else 0.0


class Scorer:
    """Scores rules on a site whose clusters are known (-1: not, or soft)."""

    def __init__(self, table: KeyTable, cluster: Ints) -> None:
        self.table = table
        self.cluster = cluster
        self.order = np.argsort(table.identity, kind="stable")
        self.sorted = table.identity[self.order]
        self.trials = 0  # URLs rewritten so far
        self._masks: dict[tuple[int, Condition], Bools] = {}
        self.fields = [j for j, k in enumerate(table.columns) if k.startswith("query[")]

    # ------------------------------------------------------------------------------------------- where

    def rows(self, rule: KeyRule) -> Ints:
        """URLs that meet the rule's conditions."""
        mask = np.ones(self.table.n, bool)
        for atom, condition in rule.when.items():
            mask &= self.mask(atom, condition)
        if rule.segments is not None:
            mask &= self.table.length == rule.segments
        rows = np.flatnonzero(mask)
        if rule.names is not None and len(rows):
            want = np.zeros(self.table.n_columns, bool)
            want[list(rule.names)] = True
            there = self.table.codes[rows][:, self.fields] > 0
            rows = rows[(there == want[self.fields]).all(axis=1) & (self.table.rest[rows] == 0)]
        return rows

    def mask(self, atom: int, condition: Condition) -> Bools:
        """URLs that meet one condition; kept, as many rules share it."""
        key = (atom, condition)
        if key not in self._masks:
            self._masks[key] = self._mask(atom, condition)
        return self._masks[key]

    def _mask(self, atom: int, condition: Condition) -> Bools:
        codes = self.table.of_atom(atom)
        if isinstance(condition, int):
            found: Bools = codes == condition
            return found
        if isinstance(condition, Among):
            return np.isin(codes, condition.codes)
        if condition.tree < 0 or (condition.node == 0 and not condition.fixed):
            there: Bools = codes > 0
            return there
        table, root = self.table, condition.tree
        tree, known = table.trees[root], table.tree_codes[root]
        below = np.array([condition.node in set(tree.ancestors(node)) for node in range(len(tree.patterns))])
        good = below[tree.leaf]
        for gap, code in condition.fixed:
            where = np.flatnonzero((table.capture_gap == gap) & (table.capture_code == code))
            has = np.zeros(len(known), bool)
            has[np.searchsorted(table.capture_offsets, where, side="right") - 1 - table.tree_base[root]] = (
                True
            )
            good &= has
        allowed = np.zeros(len(table.vocab), bool)
        allowed[known[good]] = True
        allowed[0] = False
        return allowed[codes]

    # -------------------------------------------------------------------------------------------- what

    def outcome(self, rule: KeyRule, rows: Ints | None = None) -> tuple[Ints, Hashes]:
        """URLs the rule changes and what they become; `rows` are those that meet its conditions, if known."""
        table = self.table
        rows = self.rows(rule) if rows is None else rows
        self.trials += len(rows)
        new = table.identity[rows].copy()
        ok = np.ones(len(rows), bool)
        path: list[tuple[Change, Ints | None]] = []
        for change in rule.changes:
            value = None if change.value is None else self.values(change.value, rows)
            if value is not None:
                ok &= value >= 0
            if change.column < 0:
                path.append((change, value))
                continue
            old = table.codes[rows, change.column]
            ok &= (old > 0) | (change.kind != DROP)
            new -= np.where(old > 0, mix2(change.column, old), np.uint64(0))
            if value is not None:
                new += np.where(value > 0, mix2(change.column, value), np.uint64(0))
        if path:
            segments, fits = self._path(path, rows)
            ok &= fits
            new += table.path_hash(segments) - table.path_hash(table.path[rows])
        changed = ok & (new != table.identity[rows])
        return rows[changed], new[changed]

    def _path(self, changes: list[tuple[Change, Ints | None]], rows: Ints) -> tuple[Codes, Bools]:
        table = self.table
        inserts = sum(change.kind == INSERT for change, _ in changes)
        step = inserts + 1
        out = np.zeros((len(rows), (table.depth + 1) * step), np.int32)
        out[:, step - 1 : table.depth * step : step] = table.path[rows]
        length = table.length[rows]
        fits = np.ones(len(rows), bool)
        each = np.arange(len(rows))
        for change, value in changes:
            if change.kind == PATH:
                assert value is not None
                out = self._segments(value)
                continue
            place = length - change.place if change.from_end else np.full(len(rows), change.place)
            fits &= (place >= 0) & (place < length + (change.kind == INSERT))
            at = np.clip(place, 0, table.depth) * step
            at = at + (change.order if change.kind == INSERT else step - 1)
            out[each, np.minimum(at, out.shape[1] - 1)] = 0 if value is None else np.maximum(value, 0)
        return out, fits

    def _segments(self, paths: Ints) -> Codes:
        """Whole paths, given without their first slash, as segments."""
        table = self.table
        distinct, inverse = np.unique(np.maximum(paths, 0), return_inverse=True)
        texts = [table.vocab[c].split("/") for c in distinct.tolist()]
        out = np.zeros((len(texts), max(map(len, texts), default=0)), np.int32)
        for i, segments in enumerate(texts):
            out[i, : len(segments)] = [table.code(s) for s in segments]
        return out[inverse]

    def values(self, value: Value, rows: Ints) -> Ints:
        """Codes a value has for these URLs; -1 where it cannot be made."""
        table = self.table
        match value:
            case Literal(code) | Ignored(code):
                return np.full(len(rows), code, np.int64)
            case Reference(atom, convert):
                codes = table.of_atom(atom, rows).astype(np.int64)
                there = codes > 0
                if convert:
                    codes[there] = table.converted(codes[there], convert, grow=True)
                return np.where(there, codes, -1)
        filled = [self.values(part, rows) for _, part in value.parts]
        index = {gap: i for i, (gap, _) in enumerate(value.parts)}
        stacked = np.stack(filled, axis=1)
        distinct, inverse = np.unique(stacked, axis=0, return_inverse=True)
        pieces = self.pieces(value)
        out = np.empty(len(distinct), np.int64)
        for i, codes in enumerate(distinct.tolist()):
            if min(codes) < 0:
                out[i] = -1
            else:
                text = "".join(p if isinstance(p, str) else table.vocab[codes[index[p]]] for p in pieces)
                out[i] = table.code(text)
        return out[inverse.ravel()]

    def pieces(self, value: Composed) -> list[str | int]:
        """Literals and gaps of a composed value: gaps that are not refined further in it."""
        tree = self.table.trees[value.tree]
        have = {gap for gap, _ in value.parts}
        todo: list[str | int] = [0]
        out: list[str | int] = []
        path = set(tree.ancestors(value.node))
        while todo:
            piece = todo.pop(0)
            if isinstance(piece, str) or piece in have:
                out.append(piece)
            else:
                todo = list(next(found for child, found in tree.refined[piece] if child in path)) + todo
        return out

    # ------------------------------------------------------------------------------------------- score

    def score(self, rule: KeyRule, rows: Ints | None = None) -> Score:
        """What the rule does to the site."""
        return self.score_of(*self.outcome(rule, rows))

    def score_of(self, rows: Ints, new: Hashes) -> Score:
        """The same of an outcome."""
        keys = np.unique(new)
        lo, hi = np.searchsorted(self.sorted, keys), np.searchsorted(self.sorted, keys, side="right")
        hit = np.flatnonzero(hi > lo)
        sizes = (hi - lo)[hit]
        at = np.repeat(lo[hit] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        stand, key_of = self.order[at], np.repeat(hit, sizes)
        moved = np.zeros(self.table.n, bool)
        moved[rows] = True
        stays = ~moved[stand]
        member = np.concatenate((rows, stand[stays]))
        group = np.concatenate((np.searchsorted(keys, new), key_of[stays]))
        # the paper's precision: targets that are in the data
        first = np.full(len(keys), -1, np.int64)
        first[hit[::-1]] = self.cluster[self.order[lo[hit[::-1]]]]
        target = first[np.searchsorted(keys, new)]
        own = self.cluster[rows]
        wrong = int(((target >= 0) & (own >= 0) & (target != own)).sum())
        literal = (len(rows) - wrong) / len(rows) if len(rows) else None
        return replace(score_groups(rows, new, member, group, self.cluster), literal=literal)


def score_groups(rows: Ints, new: Hashes, member: Ints, group: Ints, cluster: Ints) -> Score:
    """The score of a change of `rows`, after which each `member` (they among them) is in the `group` of its URL."""
    known = cluster[member] >= 0
    k = int(group.max(initial=-1)) + 1
    n, largest, false = _groups(group[known], cluster[member[known]], k)
    meet = n >= 2
    total = int(n[meet].sum())
    changed = known & np.isin(member, rows)
    return Score(
        coverage=len(rows),
        true=int((largest[meet] - 1).sum()),
        wrong=int((n - largest)[meet].sum()),
        known=int(changed.sum()),
        met=int(meet[group[changed]].sum()),
        pairs=int((n * (n - 1) // 2).sum()),
        false_pairs=false,
        precision=int(largest[meet].sum()) / total if total else None,
        literal=None,
        rows=rows,
        new=new,
    )


def _groups(group: Ints, cluster: Ints, k: int) -> tuple[Ints, Ints, int]:
    """Per group its size and that of its largest cluster; and the pairs of different clusters, over all."""
    n = np.bincount(group, minlength=k)
    largest = np.zeros(k, np.int64)
    if not len(group):
        return n, largest, 0
    size = int(cluster.max()) + 1
    pair, count = np.unique(group * size + cluster, return_counts=True)
    np.maximum.at(largest, pair // size, count)
    return n, largest, int((n * (n - 1) // 2).sum() - (count * (count - 1) // 2).sum())


def without(rule: KeyRule, drop: set[int] | frozenset[int] = frozenset(), **fields: object) -> KeyRule:
    """The rule with some conditions dropped."""
    return replace(rule, when={a: c for a, c in rule.when.items() if a not in drop}, **fields)  # type: ignore[arg-type]
