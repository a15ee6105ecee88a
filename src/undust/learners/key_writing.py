"""A rule in codes, written in the rule language."""

from __future__ import annotations

import numpy as np

from undust.learners.explain import DROP, INSERT, PATH
from undust.learners.key_rule import (
    Among,
    Change,
    Composed,
    Fits,
    Ignored,
    KeyRule,
    Literal,
    Reference,
    Scorer,
    Value,
)
from undust.learners.key_table import Ints, conversion_named
from undust.rules import Scope, escape
from undust.rules.condition import Condition as Written
from undust.rules.rule import Action
from undust.url import common_type, split_key

_TYPES = frozenset({"int", "hex", "uuid", "date", "session"})
_ENOUGH = 3  # distinct values before a type is believed


class CannotWrite(Exception):
    """The language has no words for this rule."""


class Writer:
    """Writes rules of one table."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.table = scorer.table

    def write(self, rule: KeyRule, rows: Ints) -> tuple[Scope, dict[str, Written], dict[str, Action]]:
        """Scope, `when` and `do`; `rows` are URLs it applies to, from which groups take their type."""
        return _Draft(self, rule, rows).written()


class _Draft:
    """One rule on its way to paper: remembers the names its groups have got."""

    def __init__(self, writer: Writer, rule: KeyRule, rows: Ints) -> None:
        self.table, self.rule, self.rows = writer.table, rule, rows
        self.scorer = writer.scorer
        self.group_names: dict[int, str] = {}  # gap atom -> group
        self.changed = {c.atom(self.table) for c in rule.changes if c.one_key}

    def written(self) -> tuple[Scope, dict[str, Written], dict[str, Action]]:
        do = self._actions()
        scope, when = self._conditions()
        return scope, when, do

    # ------------------------------------------------------------------------------------- conditions

    def _conditions(self) -> tuple[Scope, dict[str, Written]]:
        table, rule = self.table, self.rule
        hosts: tuple[str, ...] = ()
        when: dict[str, Written] = {}
        left = dict(rule.when)
        if rule.segments is not None:
            front = [table.n_columns + i for i in range(rule.segments)]
            if front and table.end_alignment and table.last in left:  # the last segment, known from the end
                said = left.pop(table.last)
                if left.get(front[-1], Fits()) == Fits():
                    left[front[-1]] = said
                elif left[front[-1]] != said:
                    left[table.last] = said
            if front and all(a in left and not isinstance(left[a], Among) for a in front):
                shape = [(a, left.pop(a)) for a in front]
                when["path"] = "".join(
                    "/" + self._pattern(a, c) for a, c in shape if not isinstance(c, Among)
                )
            elif not rule.segments:
                when["path"] = ""
            else:
                if front[-1] not in left:
                    when[table.name(front[-1])] = "{}"
                if rule.segments < table.depth:
                    when[f"path[{rule.segments}]"] = None
        for atom, condition in left.items():
            key = table.name(atom)
            if key == "host" and isinstance(condition, int | Among):
                codes = condition.codes if isinstance(condition, Among) else (condition,)
                hosts = tuple(table.vocab[c] for c in codes)
            elif isinstance(condition, Among):
                when[key] = tuple(table.vocab[c] for c in condition.codes)
            else:
                when[key] = None if condition == 0 else self._pattern(atom, condition)
        if rule.names is not None:
            when["names"] = tuple({split_key(table.columns[j]).name or "" for j in rule.names})
        return Scope(hosts=hosts), when

    def _pattern(self, atom: int, condition: int | Fits) -> str:
        table = self.table
        if isinstance(condition, int):
            return escape(table.vocab[condition])
        if condition.tree < 0 or (condition.node == 0 and not condition.fixed):
            typed = "" if atom in self.changed else self._type(table.of_atom(atom, self.rows))
            return "{" + typed + "}"
        tree = table.trees[condition.tree]
        fixed = dict(condition.fixed)
        out = []
        for piece in tree.patterns[condition.node]:
            if isinstance(piece, str):
                out.append(escape(piece))
                continue
            gap = piece + table.gap_base[condition.tree] if piece else -1
            if gap in fixed:
                out.append(escape(table.vocab[fixed[gap]]))
            else:
                typed = self._type(table.of_atom(gap, self.rows)) if gap >= 0 else ""
                out.append("{" + self.group_names.get(gap, "") + typed + "}")
        return "".join(out)

    def _type(self, codes: object) -> str:
        distinct = {c for c in codes.tolist() if c}  # type: ignore[attr-defined]
        if len(distinct) < _ENOUGH:
            return ""
        found = common_type(self.table.vocab[c] for c in sorted(distinct))
        return f":{found}" if found in _TYPES else ""

    # ---------------------------------------------------------------------------------------- actions

    def _actions(self) -> dict[str, Action]:
        do: dict[str, Action] = {}
        inserts = [c for c in self.rule.changes if c.kind == INSERT]
        if inserts:
            do["path"] = self._whole_path(inserts)
        for change in self.rule.changes:
            if change.column < 0 and inserts:
                continue
            if change.kind == PATH and change.value is not None:
                do["path"] = "/" + self._template(change.value)
                continue
            key = self.table.name(change.atom(self.table))
            if change.value is None:
                do[key] = None
            elif isinstance(change.value, Ignored):
                do[key] = {"ignore": self.table.vocab[change.value.code]}
            else:
                do[key] = self._template(change.value)
        return do

    def _whole_path(self, inserts: list[Change]) -> str:
        rule = self.rule
        others = [c for c in rule.changes if c.column < 0 and c.kind != INSERT]
        new = "/".join(self._template(c.value) for c in sorted(inserts, key=lambda c: c.order) if c.value)
        if not others and all(c.from_end and c.place == 0 for c in inserts):
            return "{path}/" + new
        if not others and all(not c.from_end and c.place == 0 for c in inserts):
            return f"/{new}{{path}}"
        if rule.segments is None:
            raise CannotWrite
        segments = [f"{{path[{i}]}}" for i in range(rule.segments)]
        before: dict[int, list[Change]] = {}
        for change in rule.changes:
            if change.column >= 0:
                continue
            at = rule.segments - change.place if change.from_end else change.place
            if change.kind == INSERT:
                before.setdefault(at, []).append(change)
            elif change.kind == DROP or change.value is None:
                segments[at] = ""
            elif isinstance(change.value, Ignored):
                raise CannotWrite
            else:
                segments[at] = self._template(change.value)
        dropped = {
            rule.segments - c.place if c.from_end else c.place
            for c in rule.changes
            if c.kind == DROP and c.column < 0
        }
        out = []
        for i in range(rule.segments + 1):
            out += [
                self._template(c.value) for c in sorted(before.get(i, ()), key=lambda c: c.order) if c.value
            ]
            if i < rule.segments and i not in dropped:
                out.append(segments[i])
        return "/" + "/".join(out)

    def _template(self, value: Value) -> str:
        table = self.table
        match value:
            case Literal(code):
                return escape(table.vocab[code])
            case Reference(atom, convert):
                return self._reference(atom, convert)
            case Composed(_, _, parts):
                filled = dict(parts)
                return "".join(
                    escape(p) if isinstance(p, str) else self._template(filled[p])
                    for p in self.scorer.pieces(value)
                )
        raise CannotWrite

    def _reference(self, atom: int, convert: str) -> str:
        table = self.table
        steps = f"|{convert}" if convert else ""
        if atom < table.roots:
            known = self.rule.when.get(atom)
            if isinstance(known, int) and known:
                text = table.vocab[known]
                return escape(conversion_named(convert)(text) if convert else text)
            return f"{{{table.name(atom)}{steps}}}"
        root = table.gap_tree[atom - table.roots]
        condition = self.rule.when.get(root)
        if isinstance(condition, int) and condition:  # the value is known, so is its part
            at = table.value_at(np.array([root]), np.array([condition]))
            captures, _ = table.captures(at)
            here = captures[table.capture_gap[captures] == atom]
            if not len(here):
                raise CannotWrite
            text = table.vocab[int(table.capture_code[here[0]])]
            return escape(conversion_named(convert)(text) if convert else text)
        if not isinstance(condition, Fits) or condition.tree != root:
            raise CannotWrite
        tree, base = table.trees[root], table.gap_base[root]
        fixed = dict(condition.fixed)
        pieces = tree.fill(atom - base, condition.node)
        if convert and len(pieces) > 1:
            raise CannotWrite
        out = []
        for piece in pieces:
            if isinstance(piece, str):
                out.append(escape(piece))
                continue
            gap = piece + base
            if gap in fixed:
                text = table.vocab[fixed[gap]]
                out.append(escape(conversion_named(convert)(text) if convert else text))
            elif piece not in tree.patterns[condition.node]:
                raise CannotWrite
            else:
                name = self.group_names.setdefault(gap, _name(len(self.group_names)))
                out.append(f"{{{name}{steps}}}")
        return "".join(out)


def _name(i: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[i] if i < 26 else f"g{i}"
