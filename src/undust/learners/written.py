"""A rule between two nodes of a pattern tree, written in the rule language so that it can be deployed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from undust.learners.build_tree import MAYBE, REST, TYPES, Node
from undust.learners.node_rules import Candidate
from undust.learners.sample import Operation, Sample
from undust.rules import escape
from undust.rules.condition import Condition
from undust.rules.rule import Action
from undust.url import (
    Key,
    common_type,
    field_name,
    matches_type,
    parse,
    query_separator,
    split_key,
    split_query,
)

__all__ = ["Writer"]


class Writer:
    """Writes conditions for a source node and actions for its operations.

    The condition is the node's pattern: a literal for a key of one value, a group (typed, where all values of
    the node agree on a type) for a key with several, null for a key whose absence was decided on the way to
    the node. Keys that have one value all over the site say nothing and are left out. A path of fixed length
    is one pattern, so the number of its segments counts.
    """

    def __init__(self, sample: Sample, urls: Sequence[str]) -> None:
        self.sample = sample
        self.tree = sample.tree
        self.urls = urls
        self.kinds = [Key(REST) if key == REST else split_key(key) for key in self.tree.keys]
        self.path = sample.path
        self._types: dict[tuple[str, int], NDArray[np.bool_]] = {}
        self._pieces: dict[tuple[int, tuple[tuple[int, int], ...]], str | None] = {}
        self._orders: dict[int, tuple[tuple[str, ...], str]] = {}

    @property
    def optional(self) -> set[int]:
        """The keys a URL can be without."""
        return {
            k
            for k, kind in enumerate(self.kinds)
            if kind.kind in ("query", "matrix", "port") or (kind.kind == "host" and kind.position)
        }

    def write(self, candidate: Candidate) -> tuple[dict[str, Condition], dict[str, Action]] | None:
        """`when` and `do`, or None where the language has no words for it."""
        s, t, ops = candidate.source, candidate.target, candidate.ops
        named = set(ops) | {op.value for op in ops.values() if op.kind == "replace"}
        if any(self.kinds[k].kind == REST for k in named):
            return None
        do = self._path_actions(candidate)
        if do is None:
            return None
        when = self.conditions(candidate)
        for k, op in ops.items():
            if self.kinds[k].kind != "path":
                action = self._action(s, k, op)
                if action is _IMPOSSIBLE:
                    return None
                do[self.tree.keys[k]] = action
        whole = self._whole_query(candidate) if s is not t else None
        if whole is not None:
            names, query = whole
            do = {key: action for key, action in do.items() if not key.startswith("query[")} | {
                "query": query
            }
            when = {key: c for key, c in when.items() if c is not None or not key.startswith("query[")}
            when["names"] = names
        return when, do

    def conditions(self, candidate: Candidate) -> dict[str, Condition]:
        """A candidate's conditions in the words of the rule language."""
        when: dict[str, Condition] = {}
        everywhere = self.tree.nodes[0].pattern
        path = self.path_pattern(candidate)
        if path is not None:
            when["path"] = path
        # Where one position is absent, so are those farther out: the nearest absence says it all.
        beyond = [k for k in self.path if candidate.when.get(k) == 0]
        beyond = [k for k in beyond if k != min(beyond, key=lambda k: abs(self.kinds[k].position or 0))]
        for k, code in candidate.when.items():
            of_path = self.kinds[k].kind == "path"
            if everywhere[k] >= 0 or (of_path and path is not None) or k in beyond:
                continue
            if code == 0:
                when[self.tree.keys[k]] = None
            else:  # a segment that is empty now and then is there all the same
                text = self._piece(candidate, k)
                when[self.tree.keys[k]] = "{:rest}" if text is None else text
        return when

    def path_pattern(self, candidate: Candidate) -> str | None:
        """The whole path as one pattern; None when the number of segments varies."""
        pieces = []
        tail = candidate.tail
        for k in self.path[: tail.source if tail else None]:
            code = candidate.when.get(k, MAYBE)
            if code == MAYBE:
                return None
            if code != 0:
                piece = self._piece(candidate, k)
                if piece is None:
                    return None
                pieces.append(piece)
        matrix = any(
            k.kind == "matrix" and candidate.source.pattern[i] != 0 for i, k in enumerate(self.kinds)
        )
        if matrix or not (pieces or tail):
            return None
        return self._joined(pieces, "{tail:rest}" if tail else None)

    def _joined(self, pieces: list[str], tail: str | None) -> str:
        """A path of segments, given from the end that the tree counts from, and what lies beyond them."""
        if self.sample.from_start:
            return "/" + "/".join(pieces + ([tail] if tail is not None else []))
        return "/".join(["" if tail is None else tail, *reversed(pieces)])

    def _piece(self, candidate: Candidate, k: int) -> str | None:
        """A key's value or group; None for a path segment that is empty now and then."""
        code = candidate.when[k]
        if code > 0:
            return escape(self._value(k, code))
        known = k, tuple(sorted(candidate.when.items()))
        if known not in self._pieces:
            self._pieces[known] = self._group(k, self.sample.matching(candidate.source, candidate.when))
        return self._pieces[known]

    def _group(self, k: int, rows: NDArray[np.int64]) -> str | None:
        """A group that holds the values of a key in some rows, typed where they all are of a type."""
        column = self.tree.columns[k]
        seen = np.zeros(len(column.values), bool)
        seen[column.codes[rows]] = True
        codes = np.flatnonzero(seen)
        if self.kinds[k].kind not in ("query", "matrix") and "" in [column.values[c] for c in codes.tolist()]:
            return None
        found = common_type([column.values[c] or "" for c in codes[:20].tolist()])
        return "{:" + found + "}" if found in TYPES and self._all_of(found, k)[codes].all() else "{}"

    def _all_of(self, type_name: str, k: int) -> NDArray[np.bool_]:
        """Per code of a key, whether its value is of the type."""
        if (type_name, k) not in self._types:
            values = self.tree.columns[k].values
            of_type = (value is None or matches_type(type_name, value) for value in values)
            self._types[type_name, k] = np.fromiter(of_type, bool, len(values))
        return self._types[type_name, k]

    def _value(self, k: int, code: int) -> str:
        value = self.tree.columns[k].values[code]
        assert value is not None
        return value

    def _action(self, s: Node, k: int, op: Operation) -> Action:
        kind = self.kinds[k]
        if op.kind == "replace":
            text: Action = "{" + self.tree.keys[op.value] + "}"
        elif op.value == 0:
            text = None
            if kind.kind in ("scheme", "path") or (kind.kind == "host" and not kind.position):
                return _IMPOSSIBLE
        elif op.kind == "ignore" and s.pattern[k] != 0:
            text = {"ignore": self._value(k, op.value)}
        else:
            text = escape(self._value(k, op.value))
        if kind.kind == "matrix" and s.pattern[k] == 0 and text is not None:
            return _IMPOSSIBLE
        return text

    def _path_actions(self, candidate: Candidate) -> dict[str, Action] | None:
        """Segments that are there before and after are set one by one; else the path is written whole."""
        s, t, ops = candidate.source, candidate.target, candidate.ops
        changed = [k for k in self.path if k in ops]
        if not changed:
            return {}
        tail = candidate.tail
        if tail is None and all(self._in_place(s, k, ops[k]) for k in changed):
            return {self.tree.keys[k]: self._action(s, k, ops[k]) for k in changed}
        if self.path_pattern(candidate) is None:
            return None
        kept = self.path[: tail.target if tail else None]
        if any(t.pattern[k] == MAYBE or (s.pattern[k] == MAYBE and k not in ops) for k in kept):
            return None
        pieces = [piece for k in kept if (piece := self._after(candidate, k)) is not None]
        return {"path": self._joined(pieces, "{tail}" if tail else None)}

    @staticmethod
    def _in_place(s: Node, k: int, op: Operation) -> bool:
        """Whether a segment is set where there is one, and none is added or removed."""
        writes = op.kind == "replace" or op.value != 0
        return writes and s.pattern[k] != 0 and (s.pattern[k] != MAYBE or op.kind == "ignore")

    def _after(self, candidate: Candidate, k: int) -> str | None:
        """The template of a key's value after the rule; None: the key is gone."""
        op = candidate.ops.get(k)
        if op is not None and op.kind == "replace":
            return "{" + self.tree.keys[op.value] + "}"
        code = int(candidate.when.get(k, candidate.source.pattern[k])) if op is None else op.value
        if code == 0:
            return None
        return escape(self._value(k, code)) if code > 0 else "{" + self.tree.keys[k] + "}"

    def _whole_query(self, candidate: Candidate) -> tuple[tuple[str, ...], str] | None:
        """The query written at once, in the order the target has it, where changes one by one would miss it.

        A field that is added stands at the end, and those that stay keep the source's order: it may be another
        URL than the one that is meant. The set of fields must be known on both sides.
        """
        s, t = candidate.source, candidate.target
        fields = [k for k, kind in enumerate(self.kinds) if kind.kind == "query"]
        if any(MAYBE in (s.pattern[k], t.pattern[k]) for k in fields):
            return None
        if any(self.kinds[k].occurrence > 1 for k in fields if s.pattern[k] != 0 or t.pattern[k] != 0):
            return None
        of_name = {self.kinds[k].name or "": k for k in fields}
        names, separator = self._order(t)
        after = {name: self._after(candidate, k) for name, k in of_name.items()}
        before = [name for name in self._order(s)[0] if after.get(name) is not None]
        if before == list(names) or any(after.get(name) is None for name in names):
            return None
        present = tuple(sorted(self.kinds[k].name or "" for k in fields if s.pattern[k] != 0))
        return present, separator.join(f"{escape(name)}={after[name]}" for name in names)

    def _order(self, node: Node) -> tuple[tuple[str, ...], str]:
        """The names of the query fields in the order most of the node's URLs have them, and what separates them."""
        if node.id not in self._orders:
            seen = Counter[tuple[tuple[str, ...], str]]()
            for row in self.tree.rows(node)[:50].tolist():
                query = parse(self.urls[row]).query or ""
                names = tuple(field_name(field) for field in split_query(query)[0] if field)
                seen[names, query_separator(query)] += 1
            self._orders[node.id] = max(seen, key=lambda order: (seen[order], order))
        return self._orders[node.id]


_IMPOSSIBLE: Mapping[str, str] = {"impossible": ""}
