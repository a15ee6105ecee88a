"""What the pairs of a site teach: generalized rules in codes, a context and a transformation each.

Context generalization gives the leaves of the decision tree; transformation generalization (Koppula et al.,
section 3.2.2) makes a key irrelevant that is open in the context and takes several values in the targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from undust.learners.context_tree import Column, contexts
from undust.learners.explain import (
    DEEP,
    DROP,
    INSERT,
    LITERAL,
    PATH_CONVERSIONS,
    REFERENCE,
    SET,
    VARIES,
    Edits,
    differences,
    explain,
    refer_to_paths,
    transformation_hashes,
)
from undust.learners.key_rule import (
    Among,
    Change,
    Composed,
    Condition,
    Fits,
    Ignored,
    KeyRule,
    Literal,
    Reference,
    Scorer,
    Value,
    without,
)
from undust.learners.key_table import Bools, Hashes, Ints, KeyTable, ranges
from undust.url import value_type

_FEW = 12  # values of a key that may be listed instead of left open
_OPAQUE = frozenset({"hex", "uuid", "session"})
_ABSENT = 6  # keys whose absence a condition may ask for one by one


@dataclass(frozen=True)
class Leaf:
    """Pairs of one transformation whose contexts are generalized to one."""

    transformation: int
    pairs: Ints
    clusters: int
    low: Ints  # least and greatest code at every root atom
    high: Ints


@dataclass
class Lesson:
    """What the pairs of a site say: their transformations, and the contexts these are seen in."""

    table: KeyTable
    cluster: Ints
    u: Ints
    v: Ints
    edits: Edits
    from_end: Bools
    transformation: Ints
    nodes: Ints
    conversions: Sequence[str]
    scorer: Scorer

    def leaves(self, most: int = 1 << 60) -> Iterator[Leaf]:
        """Leaves of the decision tree, the `most` seen in most clusters, those first."""
        order = np.argsort(self.nodes, kind="stable")
        order = order[self.nodes[order] >= 0]
        nodes = self.nodes[order]
        starts = np.flatnonzero(np.append(True, nodes[1:] != nodes[:-1])) if len(nodes) else nodes
        sizes = np.diff(np.append(starts, len(nodes)))
        size = int(self.cluster.max(initial=0)) + 1
        of = np.repeat(np.arange(len(starts)), sizes)
        seen = np.unique(of * size + self.cluster[self.u[order]]) // size
        clusters = np.bincount(seen, minlength=len(starts))
        chosen = np.lexsort((self.u[order[starts]], -sizes, -clusters))[:most]
        where, _ = ranges(starts[chosen], starts[chosen] + sizes[chosen])
        rows = self.u[order[where]]
        begin = np.cumsum(sizes[chosen]) - sizes[chosen]
        low = np.empty((self.table.roots, len(chosen)), np.int64)
        high = np.empty((self.table.roots, len(chosen)), np.int64)
        for atom in range(self.table.roots if len(chosen) else 0):
            codes = self.table.of_atom(atom, rows)
            low[atom] = np.minimum.reduceat(codes, begin)
            high[atom] = np.maximum.reduceat(codes, begin)
        for k, i in enumerate(chosen.tolist()):
            pairs = np.sort(order[starts[i] : starts[i] + sizes[i]])
            yield Leaf(int(self.transformation[pairs[0]]), pairs, int(clusters[i]), low[:, k], high[:, k])

    def rule(self, leaf: Leaf) -> KeyRule | None:
        """The leaf's context and transformation; None where it is no function."""
        table = self.table
        rows = self.u[leaf.pairs]
        when: dict[int, Condition] = {}
        lengths = table.length[rows]
        segments = int(lengths[0]) if (lengths == lengths[0]).all() else None
        changes = self._changes(leaf)
        if changes is None:
            return None
        needed = KeyRule({}, changes).needed(table)
        if segments and table.end_alignment and table.last in needed:
            # what is read of the last segment is known by its place from the end: so must be what is changed
            changes = tuple(
                replace(c, place=1, from_end=True)
                if c.column < 0 and c.one_key and not c.from_end and c.place == segments - 1
                else c
                for c in changes
            )
            needed = KeyRule({}, changes).needed(table)
        for atom in range(table.roots):
            low, high = int(leaf.low[atom]), int(leaf.high[atom])
            front, back = table.n_columns <= atom < table.last, atom >= table.last
            if segments is not None and (front or back) and atom not in needed:
                said = atom - table.n_columns == segments - 1 and table.last in needed
                if back or said or atom - table.n_columns >= segments:
                    continue
            if low == high:
                if low or not (front or back):
                    when[atom] = low
            elif low:
                fits = self._fits(atom, rows, segments)
                if atom < table.n_columns or segments is not None or fits.node or atom in needed:
                    when[atom] = fits
        for change in changes:  # an empty segment inside is no trailing slash
            if change.kind == DROP and change.column < 0 and segments is None:
                atom = change.atom(table)
                beside = atom + 1
                if (
                    when.get(atom) == table.number.get("", -1)
                    and beside not in (table.last, table.roots)
                    and leaf.low[beside]
                ):
                    when.setdefault(beside, Fits())
        fields = self.scorer.fields
        names = None
        if all((leaf.low[j] > 0) == (leaf.high[j] > 0) for j in fields) and not self.table.rest[rows].any():
            names = tuple(j for j in fields if leaf.low[j] > 0)
        return KeyRule(when, changes, segments, names)

    def _fits(self, atom: int, rows: Ints, segments: int | None) -> Fits:
        """The most special deep pattern of an atom's values here, gaps that do not vary fixed."""
        table = self.table
        root = atom
        if table.n_columns <= atom < table.last:
            last = atom - table.n_columns + 1
            if table.end_alignment and segments == last:
                root = table.last
            elif table.end_alignment and segments is None:
                return Fits()
        if root not in table.trees:
            return Fits()
        codes = np.unique(table.of_atom(atom, rows))
        value = table.value_at(np.full(len(codes), root), codes)
        if (value < 0).any():
            return Fits()
        tree = table.trees[root]
        node = tree.common(np.unique(table.leaves[value]).tolist())
        fixed: list[tuple[int, int]] = []
        if node:
            captures, _ = table.captures(value)
            for piece in tree.patterns[node]:
                if isinstance(piece, int) and piece:
                    gap = piece + table.gap_base[root]
                    seen = np.unique(table.capture_code[captures[table.capture_gap[captures] == gap]])
                    if len(seen) == 1:
                        fixed.append((gap, int(seen[0])))
        return Fits(root, node, tuple(fixed))

    def _changes(self, leaf: Leaf) -> tuple[Change, ...] | None:
        """The transformation of a leaf; what varies over its targets is irrelevant if open in the context."""
        edits = self.edits
        pair = int(leaf.pairs[0])
        from_end = bool(self.from_end[pair])
        out = []
        for i in edits.of(pair).tolist():
            column = int(edits.atom[i])
            place = int(edits.back[i] if from_end else edits.at[i]) if column < 0 else 0
            change = Change(int(edits.kind[i]), column, place, from_end and column < 0, int(edits.order[i]))
            if change.kind != DROP:
                value = self._value(leaf, change, i)
                if value is None:
                    return None
                change = replace(change, value=value)
            out.append(change)
        return tuple(sorted(out, key=lambda c: (c.column, c.from_end, c.place, c.kind, c.order)))

    def _value(self, leaf: Leaf, change: Change, i: int) -> Value | None:
        table, edits = self.table, self.edits
        kind, what = int(edits.explained[i]), int(edits.what[i])
        if kind == REFERENCE:
            return Reference(what, self._conversion(edits.convert[i]))
        if kind == DEEP:
            tree = int(edits.tree[i])
            node = int(table.leaf_of(edits.tree[[i]], edits.value[[i]])[0])
            parts = edits.parts
            filled: list[tuple[int, Literal | Reference]] = []
            for j in parts.of(i).tolist():
                gap = int(parts.gap[j]) - table.gap_base[tree]
                if parts.explained[j] == REFERENCE:
                    filled.append((gap, Reference(int(parts.what[j]), self._conversion(parts.convert[j]))))
                else:
                    filled.append((gap, Literal(int(parts.what[j]))))
            return Composed(tree, node, tuple(filled))
        if kind == LITERAL:
            return Literal(what)
        targets = self._targets(leaf, change)
        codes, count = np.unique(targets, return_counts=True)
        if len(codes) == 1:
            return Literal(int(codes[0]))
        atom = change.atom(table)
        if leaf.low[atom] == leaf.high[atom]:
            return None  # one value in, several out
        return Ignored(int(codes[np.lexsort(([table.vocab[c] for c in codes.tolist()], -count))[0]]))

    def _targets(self, leaf: Leaf, change: Change) -> Ints:
        """What the leaf's targets have where `change` varies."""
        edits = self.edits
        rows = np.concatenate([edits.of(p) for p in leaf.pairs.tolist()])
        place = edits.back if change.from_end else edits.at
        mine = (
            (edits.atom[rows] == change.column)
            & (edits.kind[rows] == SET)
            & (edits.explained[rows] == VARIES)
        )
        if change.column < 0:
            mine &= place[rows] == change.place
        found: Ints = edits.code[rows[mine]]
        return found

    def _conversion(self, number: object) -> str:
        n = int(number)  # type: ignore[call-overload]
        return self.conversions[n - 1] if n else ""

    def relaxed(self, rule: KeyRule, rows: Ints) -> list[KeyRule]:
        """The rule under fewer conditions, the most general first, as narrow as the pairs are last.

        Every form is there twice: with the keys the tree left open, and with the values listed that they were
        seen to have, where these are few.
        """
        needed = rule.needed(self.table)
        if rule.segments is None:
            needed |= {a for a, c in rule.when.items() if c == Fits() and a >= self.table.n_columns}
        heads = {a for a in rule.when if a < self.table.n_columns and a not in self.scorer.fields}
        absent = {a for a in rule.when if rule.when[a] == 0}
        path = {a for a in rule.when if a >= self.table.n_columns}
        fields = set(rule.when) - heads - path - absent
        literal = {a for a in fields if isinstance(rule.when[a], int)}
        inserts = any(change.kind == INSERT for change in rule.changes)  # said of paths of one length only
        open_ = without(rule, absent - needed, names=None, segments=rule.segments if inserts else None)
        ladder = [
            without(
                replace(open_, when=dict(open_.when) | self._opaque(rule)), (heads | path | fields) - needed
            ),
            without(open_, (heads | path | fields) - needed),
            without(open_, (heads | fields) - needed, segments=rule.segments),
            without(open_, (heads | fields) - literal - needed, segments=rule.segments),
            without(open_, heads - needed, segments=rule.segments),
        ]
        few = {a: c for a in rule.when if (c := self._few(rule.when[a], a, rows)) is not None}
        listed = (
            [replace(r, when=dict(r.when) | {a: c for a, c in few.items() if a in r.when}) for r in ladder]
            if few
            else []
        )
        narrow = replace(open_, segments=rule.segments, names=rule.names)
        if rule.names is None:
            matched = self.scorer.rows(narrow)
            there = {a for a in absent if self.table.of_atom(a, matched).any()}
            if len(there) <= _ABSENT:
                narrow = replace(narrow, when=dict(narrow.when) | dict.fromkeys(there, 0))
        forms = [*ladder, *listed, narrow, replace(narrow, when=dict(narrow.when) | few)]
        return list({form.key: form for form in reversed(forms)}.values())[::-1]

    def _opaque(self, rule: KeyRule) -> dict[int, Condition]:
        """Dropped keys of one value that is drawn at random: another crawl will have others there."""
        found: dict[int, Condition] = {}
        for change in rule.changes:
            code = rule.when.get(change.column, 0)
            if change.column < 0 or change.kind != DROP or not isinstance(code, int) or code == 0:
                continue
            if value_type(self.table.vocab[code]) in _OPAQUE:
                found[change.column] = Fits()
        return found

    def _few(self, condition: Condition, atom: int, rows: Ints) -> Among | None:
        """The values of a key, if they are few and each was seen more than once on average."""
        if not isinstance(condition, Fits):
            return None
        codes = np.unique(self.table.of_atom(atom, rows))
        if len(codes) > _FEW or 2 * len(codes) > len(np.unique(self.cluster[rows])):
            return None
        return Among(tuple(codes.tolist()))


def learn(
    table: KeyTable, cluster: Ints, u: Ints, v: Ints, *, conversions: Sequence[str], threshold: int
) -> Lesson:
    """Pairwise rules of all pairs, and the context each ends in (Algorithms 3 and 5)."""
    edits = differences(table, u, v)
    explain(table, edits, u, cluster[u], conversions=conversions)
    if conversions:
        conversions = [*conversions, *PATH_CONVERSIONS]
        edits = refer_to_paths(table, edits, u, v, cluster[u], conversions)
    keep = np.zeros(len(u), bool)
    keep[edits.pair] = True
    keep &= table.rest[u] == table.rest[v]
    front, back = transformation_hashes(table, edits, len(u))
    wide_front, wide_back = (_clusters_of(h, cluster[u]) for h in (front, back))
    from_end = (
        (wide_back > wide_front) | ((wide_back == wide_front) & _near_the_end(edits, len(u)))
    ) & table.end_alignment
    transformation = np.unique(np.where(from_end, back, front), return_inverse=True)[1].astype(np.int64)
    columns: list[Column] = [table.of_atom(atom, u) for atom in range(table.roots)]
    columns += [table.length[u], *_shapes(table, u)]
    kept = np.flatnonzero(keep)
    nodes = np.full(len(u), -1, np.int64)
    if len(kept):
        nodes[kept] = contexts([c[kept] for c in columns], transformation[kept], threshold)
    return Lesson(
        table, cluster, u, v, edits, from_end, transformation, nodes, conversions, Scorer(table, cluster)
    )


def _near_the_end(edits: Edits, pairs: int) -> Bools:
    """Pairs whose changed segments are all nearer to the end of the path than to its start."""
    near = np.ones(pairs, bool)
    near[edits.pair[(edits.atom < 0) & (edits.back > edits.at)]] = False
    return near


def _clusters_of(hashes: Hashes, cluster: Ints) -> Ints:
    """In how many clusters each transformation occurs."""
    way = np.unique(hashes, return_inverse=True)[1].astype(np.int64)
    size = int(cluster.max()) + 1
    found: Ints = np.bincount(np.unique(way * size + cluster) // size)[way]
    return found


def _shapes(table: KeyTable, u: Ints) -> list[Ints]:
    """Deep patterns as keys of the context: the leaf of each tree, and its pattern below the wildcard."""
    out = []
    for root, tree in table.trees.items():
        codes = table.tree_column(root)[u]
        value = table.value_at(np.full(len(u), root), codes)
        leaf = np.where(value >= 0, table.leaves[np.maximum(value, 0)] + 1, 0)
        top = np.zeros(len(tree.patterns) + 1, np.int64)
        for node in range(len(tree.patterns)):
            line = list(tree.ancestors(node))
            top[node + 1] = line[-2] + 1 if len(line) > 1 else 1
        out += [top[leaf], leaf]
    return out
