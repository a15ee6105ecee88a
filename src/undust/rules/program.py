"""The rules that hold for one host, indexed by what must be present for each to fire.

A site's rule set is asked about each URL "which of you could change it?", and the usual answer is "none". So
each rule is filed under its needs (`compiled.needs`): a path or a segment, the name of a parameter, a piece of
text. Sets of rules are bits of an int, the rule applied first in the lowest bit; a URL is looked at once, not
once a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from undust.rules.compiled import CompiledRule, compile_rule, needs
from undust.rules.mutable import MutableUrl
from undust.rules.rule import Rule, Scope
from undust.url import query_separator, split_segment


class Program:
    """Rules in the order of application, with their index. Rules are compiled when first needed.

    >>> index = Rule(when={"path[-1]": "index.html"}, do={"path[-1]": ""})
    >>> program = Program([Rule(do={"query[sid]": None}), index])
    >>> [program.candidates("http://e.com" + path) for path in ("/a?t=1", "/a?sid=1", "/index.html?sid=1")]
    [0, 2, 3]
    """

    __slots__ = (
        "_compiled", "all", "any_path", "any_query", "names", "paths", "rules", "scopes", "segments", "stars", "texts",
    )  # fmt: skip

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: tuple[Rule, ...] = tuple(sorted(rules, key=lambda rule: rule.rank))
        self._compiled: list[CompiledRule | None] = [None] * len(self.rules)
        self.all = (1 << len(self.rules)) - 1
        self.any_path = self.any_query = 0  # rules that need no particular path; no particular parameter
        self.paths: dict[str, int] = {}
        self.segments: dict[str, int] = {}
        self.names: dict[str, int] = {}
        texts: dict[tuple[str, ...], int] = {}
        scopes: dict[str, int] = {}
        self.stars: list[int] = []  # rules that ignore something: a key shows a wildcard for it
        for place, rule in enumerate(self.rules):
            bit = 1 << place
            need = needs(rule)
            if need.paths is not None:
                _file(self.paths, need.paths, bit)
            elif need.segments is not None:
                _file(self.segments, need.segments, bit)
            else:
                self.any_path |= bit
            if need.names is not None:
                _file(self.names, need.names, bit)
            else:
                self.any_query |= bit
            if need.texts is not None:
                texts[need.texts] = texts.get(need.texts, 0) | bit
            if rule.scope.path is not None:
                scopes[rule.scope.path] = scopes.get(rule.scope.path, 0) | bit
            if any(isinstance(action, dict) and "ignore" in action for action in rule.do.values()):
                self.stars.append(place)
        # A text that is absent rules its rules out: (texts, all but these rules).
        self.texts = [(values, self.all & ~bits) for values, bits in texts.items()]
        self.scopes = [(Scope(path=path), self.all & ~bits) for path, bits in scopes.items()]

    def compiled(self, place: int) -> CompiledRule:
        """The rule at a place, ready to run."""
        rule = self._compiled[place]
        if rule is None:
            rule = self._compiled[place] = compile_rule(self.rules[place])
        return rule

    def for_path(self, path: str) -> int:
        """The rules this path does not rule out."""
        mask = self.any_path | self.paths.get(path, 0)
        if self.segments:
            segments = self.segments
            for segment in path.split("/")[1:] if path[:1] == "/" else path.split("/"):
                if segment in segments:
                    mask |= segments[segment]
                elif ";" in segment:
                    mask |= segments.get(split_segment(segment)[0], 0)
        for scope, others in self.scopes:
            if not scope.covers_path(path):
                mask &= others
        return mask

    def for_query(self, query: str) -> int:
        """The rules the parameters of this query do not rule out."""
        mask = self.any_query
        names = self.names
        for field in query.split(query_separator(query) if ";" in query else "&"):
            name = field.partition("=")[0]
            if name in names and field:
                mask |= names[name]
        return mask

    def for_texts(self, url: str, mask: int) -> int:
        """Of the rules in `mask` those whose text is there."""
        for values, others in self.texts:
            if mask & ~others and not any(value in url for value in values):
                mask &= others
        return mask

    def candidates(self, url: str) -> int:
        """The rules that could change `url`."""
        return self.look(MutableUrl(url))

    def look(self, u: MutableUrl) -> int:
        """The same for a URL that is being rewritten."""
        mask = self.for_path(u.path)
        mask &= self.any_query if u.query is None else self.for_query(u.query)
        return self.for_texts(str(u), mask) if mask and self.texts else mask


def _file(index: dict[str, int], values: Sequence[str], bit: int) -> None:
    for value in values:
        index[value] = index.get(value, 0) | bit
