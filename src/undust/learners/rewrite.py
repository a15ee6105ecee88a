"""Dasgupta, Kumar, Sasturkar, "De-duping URLs via rewrite rules" (KDD 2008): our re-implementation.

The paper itself was not at hand: this follows what Koppula et al. and Lei et al., who both measured against
it, say of it. It is their baseline and ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from undust.learners.base import Learner
from undust.learners.explain import DROP, INSERT, REFERENCE, SET, differences, explain
from undust.learners.key_rule import (
    Change,
    Condition,
    Fits,
    Ignored,
    KeyRule,
    Literal,
    Reference,
    Score,
    Scorer,
    Value,
)
from undust.learners.key_table import Bools, Codes, Hashes, Ints, KeyTable, mix2
from undust.learners.key_writing import Writer
from undust.learners.pairs import all_pairs
from undust.learners.proposal import proposal
from undust.likeness import Site
from undust.rules import Rule

# A transformation per key, as a number: keep, drop, or 2 * what + (0: literal, 1: reference) + 2.
_KEEP, _DROP = 0, 1
_STAR, _ANY = -1, -2  # in a context: any value; any value or none. In a transformation _STAR: irrelevant


class Rewrite(Learner):
    """Rewrite rules by bottom-up induction (Dasgupta et al., our re-implementation).

    Every ordered pair of a cluster gives a rule: its context is the source, key by key (path segments
    counted from the start), its transformation keeps, drops, copies or sets each key. Rules are generalized
    as long as they differ in *exactly one* key: where that key takes more than `fanout` values, it is left
    open in the context - and in the transformation too, if it is the key that is set. A filter on the site
    itself drops rules with false positives.

    Parameters
    ----------
    fanout
        A key is left open when it takes more values than this (the later papers use 5, 10 and 30).
    min_coverage, min_precision
        URLs a rule must apply to, and its collision precision on the site.
    max_cluster
        Pairs are taken from the first so many URLs of a cluster: all pairs of a large one do not fit
        anywhere.
    max_rules
        At most so many rules, those with most true merges first.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> urls = [f"http://www.example.com/show.php?id={i}&sid={7 * i + s}" for i in range(4) for s in range(3)]
    >>> (site,) = split_sites(pa.table({"url": urls, "cluster": [str(i // 3) for i in range(12)]}))
    >>> (rule,) = Rewrite(fanout=2, min_coverage=1).propose(site)
    >>> rule.when["path"], rule.when["names"], rule.do
    ('/show.php', ('id', 'sid'), {'query[sid]': {'ignore': '1'}})

    References
    ----------
    A. Dasgupta, R. Kumar, A. Sasturkar: De-duping URLs via rewrite rules. KDD 2008.
    """

    name: ClassVar[str] = "rewrite"

    def __init__(
        self,
        *,
        fanout: int = 10,
        min_coverage: int = 10,
        min_precision: float = 0.8,
        max_cluster: int = 50,
        max_rules: int = 1000,
    ) -> None:
        self.fanout = fanout
        self.min_coverage = min_coverage
        self.min_precision = min_precision
        self.max_cluster = max_cluster
        self.max_rules = max_rules

    def propose(self, site: Site) -> list[Rule]:
        """Rules of the site, most true merges first."""
        return [rule for rule, _ in self.scored(site)]

    def scored(self, site: Site) -> list[tuple[Rule, Score]]:
        """The same with what each rule does to the site."""
        cluster = np.where(site.labels.soft, -1, site.labels.cluster).astype(np.int64)
        table = KeyTable(site.table, deep=False, end_alignment=False)
        u, v = self.select(table, cluster, site)
        if not len(u):
            return []
        raw = raw_rules(table, cluster, u, v)
        scorer = Scorer(table, cluster)
        found: list[tuple[KeyRule, Score, int]] = []
        for row in generalize(raw, self.fanout):
            rule = raw.rule(row)
            score = scorer.score(rule)
            if (
                score.coverage >= self.min_coverage
                and score.true
                and (score.precision or 0) >= self.min_precision
            ):
                found.append((rule, score, row))
        found.sort(key=lambda f: (f[1].wrong - f[1].true, repr(f[0].key)))
        writer = Writer(scorer)
        out: dict[str, tuple[Rule, Score]] = {}
        for rule, score, row in found:
            if len(out) == self.max_rules:
                break
            pair = raw.pair[row : row + 1]
            written = proposal(writer, rule, score, u[pair], v[pair], site, self.name)
            if written is not None:
                out.setdefault(written.id, (written, score))
        return list(out.values())

    def select(self, table: KeyTable, cluster: Ints, site: Site) -> tuple[Ints, Ints]:
        """All ordered pairs of all clusters."""
        return all_pairs(np.where(table.odd, -1, cluster), np.asarray(site.alive), limit=self.max_cluster)


@dataclass
class RawRules:
    """One row per rule: context and transformation, one column per key; `pair` is a pair it came from.

    `target` has the target of each pair: an irrelevant key is represented by what the target has there.
    """

    table: KeyTable
    context: Codes
    transformation: Codes
    pair: Ints
    target: Ints

    def rule(self, row: int) -> KeyRule:
        """The rule of a row."""
        table = self.table
        when: dict[int, Condition] = {}
        changes = []
        segments: int | None = 0
        names: list[int] | None = []
        fields = {j for j, k in enumerate(table.columns) if k.startswith("query[")}
        for atom in range(table.last):
            code, change = int(self.context[row, atom]), int(self.transformation[row, atom])
            path = atom >= table.n_columns
            if code == _ANY:
                segments, names = (None, names) if path else (segments, None if atom in fields else names)
            elif code == _STAR:
                when[atom] = Fits()
            elif code or not (path or atom in fields):
                when[atom] = code
            if code not in (0, _ANY):
                if path and segments is not None:
                    segments += 1
                elif atom in fields and names is not None:
                    names.append(atom)
            if change != _KEEP:
                changes.append(self._change(atom, change, code, row))
        return KeyRule(when, tuple(changes), segments, None if names is None else tuple(names))

    def _change(self, atom: int, change: int, code: int, row: int) -> Change:
        table = self.table
        column, place = (atom, 0) if atom < table.n_columns else (-1, atom - table.n_columns)
        if change == _DROP:
            return Change(DROP, column, place)
        value: Value
        if change == _STAR:
            target = self.target[self.pair[row : row + 1]]
            value = Ignored(int(table.of_atom(atom, target)[0]))
        else:
            what = (change - 2) // 2
            value = Reference(what) if change % 2 else Literal(what)
        return Change(INSERT if column < 0 and code == 0 else SET, column, place, value=value)


def raw_rules(table: KeyTable, cluster: Ints, u: Ints, v: Ints) -> RawRules:
    """A rule per pair (the pairwise rules, before any generalization).

    TV-3.1: the source is the context; all keys stay but the session, which is set to the target's.

    >>> from undust.url import SiteTable
    >>> urls = ["http://www.xyz.com/show.php?sid=71829", "http://www.xyz.com/show.php?sid=17628"]
    >>> table = KeyTable(SiteTable.build(urls), deep=False, end_alignment=False)
    >>> raw = raw_rules(table, np.zeros(2, np.int64), np.array([0]), np.array([1]))
    >>> [table.vocab[code] for code in raw.context[0]]
    ['http', 'www.xyz.com', '71829', 'show.php']
    >>> table.vocab[raw.rule(0).changes[0].value.code]
    '17628'
    """
    edits = differences(table, u, v)
    explain(table, edits, u, cluster[u], conversions=())
    context = np.concatenate((table.codes[u], table.path[u]), axis=1)
    transformation = np.zeros_like(context)
    at = np.where(edits.kind == INSERT, edits.at + edits.order, edits.at)
    atom = np.where(edits.atom >= 0, edits.atom, table.n_columns + at)
    refers = edits.explained == REFERENCE
    what = np.where(refers, edits.what, edits.code) * 2 + 2 + refers
    transformation[edits.pair, atom] = np.where(edits.kind == DROP, _DROP, what)
    keep = (transformation != _KEEP).any(axis=1) & (table.rest[u] == 0) & (table.rest[v] == 0)
    return RawRules(table, context[keep], transformation[keep], np.flatnonzero(keep), v)


def generalize(raw: RawRules, fanout: int) -> list[int]:
    """Bottom-up induction, in place; the rows of distinct rules in which some key is open."""
    atoms = raw.context.shape[1]
    context, transformation = _sum(raw.context), _sum(raw.transformation)
    spread = [len(np.unique(raw.context[:, k])) for k in range(atoms)]
    alive = np.ones(len(raw.pair), bool)
    while True:
        changed = False
        for k in sorted(range(atoms), key=lambda k: (-spread[k], k)):
            rows = np.flatnonzero(alive)
            for sets in (True, False):
                use = _generalizable(raw, rows, k, sets)
                if len(use) <= fanout:
                    continue
                rest = context[use] - mix2(k, raw.context[use, k])
                done = transformation[use] - (mix2(k, raw.transformation[use, k]) if sets else np.uint64(0))
                group = np.unique(rest * np.uint64(0x9E3779B97F4A7C15) + done, return_inverse=True)[1]
                open_, absent = _fans_out(group, raw.context[use, k], fanout)
                if not open_.any():
                    continue
                changed = True
                hit = use[open_]
                context[hit] -= mix2(k, raw.context[hit, k])
                raw.context[hit, k] = np.where(absent[open_], _ANY, _STAR)
                context[hit] += mix2(k, raw.context[hit, k])
                if sets:
                    transformation[hit] -= mix2(k, raw.transformation[hit, k])
                    raw.transformation[hit, k] = _STAR
                    transformation[hit] += mix2(k, raw.transformation[hit, k])
        rows = np.flatnonzero(alive)
        key = context[rows] * np.uint64(0x9E3779B97F4A7C15) + transformation[rows]
        first = np.unique(key, return_index=True)[1]
        alive[:] = False
        alive[rows[first]] = True
        if not changed:
            break
    found = np.flatnonzero(alive & (raw.context < 0).any(axis=1))
    return [int(row) for row in found]


def _generalizable(raw: RawRules, rows: Ints, k: int, sets: bool) -> Ints:
    """Rules whose key `k` may be opened: set to a literal from some value, or left alone."""
    context, transformation = raw.context[rows, k], raw.transformation[rows, k]
    if sets:
        usable = (context > 0) & (transformation >= 2) & (transformation % 2 == 0)
    else:
        usable = (context >= 0) & (transformation == _KEEP)
    found: Ints = rows[usable]
    return found


def _fans_out(group: Ints, values: Codes, fanout: int) -> tuple[Bools, Bools]:
    """Per row: whether its group has more than `fanout` values, and whether one of them is "absent"."""
    size = int(values.max()) + 2
    pairs = np.unique(group * size + values + 1)
    count = np.bincount(pairs // size, minlength=int(group.max()) + 1)
    absent = np.zeros(len(count), bool)
    absent[group[values == 0]] = True
    return (count > fanout)[group], absent[group]


def _sum(codes: Codes) -> Hashes:
    total = np.zeros(len(codes), np.uint64)
    for k in range(codes.shape[1]):
        total += mix2(k, codes[:, k])
    return total
