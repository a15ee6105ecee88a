"""The rules that hold for one host, indexed by what must be present for each to fire.

A site's rules are asked about each URL "which of you could change it?", and the usual answer is "none". So each
rule is filed under its needs (`compiled.needs`): a path or a segment, the name of a parameter, a piece of text.
Sets of rules are bits of an int, the rule applied first in the lowest bit; a URL is looked at once, not once a
rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from undust.rules.compiled import CompiledRule, Needs, compile_rule, literal_values, needs
from undust.rules.conversion import CONVERSIONS
from undust.rules.mutable import MutableUrl
from undust.rules.pattern import parse_key, parse_template
from undust.rules.rule import Rule
from undust.url import Key, query_separator, split_path, split_segment

MAX_PLANS = 1024


class Plan(NamedTuple):
    """What is left to look at when the path is known: how most queries are dealt with in one pass.

    `fields`: what a field of that name means. True: it is dropped. A set: it is, if its value is in it. None: it
    concerns a rule that does something else. `needles`: pieces of the texts that other rules look for, such as no
    dropping or sorting of fields brings about. `always`: there is a rule of which nothing can be said. Where one
    of these comes in the rules are run one by one. `sorts`: what stays is sorted.
    """

    mask: int
    fields: dict[str, bool | frozenset[str] | None]
    needles: tuple[str, ...]
    always: bool
    sorts: bool
    drops: frozenset[str]  # the fields that are dropped without a look at their values


class Program:
    """Rules in the order of application, with their index. Rules are compiled when first needed.

    >>> index = Rule(when={"path[-1]": "index.html"}, do={"path[-1]": ""})
    >>> program = Program([Rule(do={"query[sid]": None}), index])
    >>> [program.candidates("http://e.com" + path) for path in ("/a?t=1", "/a?sid=1", "/index.html?sid=1")]
    [0, 2, 3]
    """

    __slots__ = (
        "_needs", "_plans", "any_path", "any_query", "coming", "commuting", "free", "free_names", "names", "no_query",
        "no_text", "plain_texts", "ready", "rules", "scoped", "scopes", "settling", "stars", "tables", "texts",
    )  # fmt: skip

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: tuple[Rule, ...] = tuple(sorted(rules, key=lambda rule: rule.rank))
        self.ready: list[CompiledRule | None] = [None] * len(self.rules)
        self._needs: list[Needs] = [needs(rule) for rule in self.rules]
        self._plans: dict[int, Plan] = {}
        # Rules that need no path in particular, no parameter, no query, no text.
        self.any_path = self.any_query = self.no_query = self.no_text = 0
        # Rules by the whole path, by its first segment, by its last, by any.
        paths: dict[str, int] = {}
        firsts: dict[str, int] = {}
        lasts: dict[str, int] = {}
        segments: dict[str, int] = {}
        self.tables = paths, firsts, lasts, segments
        # The rules a parameter of that name calls for, whatever its value; and those a value of it calls for.
        self.names: dict[str, tuple[int, dict[str, int]]] = {}
        texts: dict[str, int] = {}
        scopes: dict[str, int] = {}
        self.stars: list[int] = []  # rules that ignore something: a key shows a wildcard for it
        for place, (rule, need) in enumerate(zip(self.rules, self._needs, strict=True)):
            bit = 1 << place
            if need.paths is not None:
                _file(paths, need.paths, bit)
            elif need.first is not None:
                _file(firsts, (need.first,), bit)
            elif need.segments is not None:
                _file(lasts if need.last else segments, need.segments, bit)
            else:
                self.any_path |= bit
            if need.names is not None:
                for name in need.names:
                    bits, by_value = self.names.get(name, (0, {}))
                    if need.values is None:
                        bits |= bit
                    else:
                        _file(by_value, need.values, bit)
                    self.names[name] = bits, by_value
            else:
                self.any_query |= bit
            if not need.query:
                self.no_query |= bit
            if need.texts is not None:
                _file(texts, need.texts, bit)
            else:
                self.no_text |= bit
            if rule.scope.path is not None:
                _file(scopes, (rule.scope.path,), bit)
            if any(isinstance(action, dict) and "ignore" in action for action in rule.do.values()):
                self.stars.append(place)
        self.texts = list(texts.items())
        # Pieces of texts that may come about when fields are dropped one after the other.
        self.coming = tuple({needle(text) for text in texts if needle(text) != text})
        self.plain_texts = [(text, bits) for text, bits in self.texts if bits & self.no_query]
        self.scopes = [(path.rstrip("/") + "/", path, bits) for path, bits in scopes.items()]
        self.scoped = sum(scopes.values())
        # Rules that drop parameters wherever they are, and those for which it is the same whether that is done
        # before or after them: so it can be done first, and at once.
        self.free = self._bits(_is_free)
        self.free_names = frozenset(
            name
            for place, need in enumerate(self._needs)
            if self.free >> place & 1
            for name in need.names or ()
        )
        self.commuting = self._bits(lambda rule: _commutes(rule, self.free_names))
        self.settling = self._bits(_settles)

    def _bits(self, test: Callable[[Rule], bool]) -> int:
        return sum(1 << place for place, rule in enumerate(self.rules) if test(rule))

    def compiled(self, place: int) -> CompiledRule:
        """The rule at a place, ready to run."""
        rule = self.ready[place]
        if rule is None:
            rule = self.ready[place] = compile_rule(self.rules[place])
        return rule

    def candidates(self, url: str) -> int:
        """The rules that could change `url`."""
        u = MutableUrl(url)
        return self.look(u.path, u.query, url)

    def look(self, path: str, query: str | None, text: str, for_path: int | None = None) -> int:
        """The same for a URL whose path and query are known (and perhaps what the path leaves)."""
        mask = self.for_path(path) if for_path is None else for_path
        if query is not None:
            return self.for_texts(text, mask & self.for_query(query))
        mask &= self.no_query
        found = self.no_text
        for value, bits in self.plain_texts:
            if value in text:
                found |= bits
        return mask & found

    def for_path(self, path: str) -> int:
        """The rules this path does not rule out."""
        mask = self.any_path
        paths, firsts, lasts, segments = self.tables
        if path in paths:
            mask |= paths[path]
        cut = path.find("/", 1)
        segment = path[1:cut] if cut > 0 else path[1:]
        if segment in firsts:
            mask |= firsts[segment]
        segment = path[path.rfind("/") + 1 :]
        if ";" in segment:
            segment = split_segment(segment)[0]
        if segment in lasts:
            mask |= lasts[segment]
        if segments:
            for segment in split_path(path):
                if ";" in segment:
                    segment = split_segment(segment)[0]
                if segment in segments:
                    mask |= segments[segment]
        if mask & self.scoped:
            for below, itself, bits in self.scopes:
                if not path.startswith(below) and path != itself:
                    mask &= ~bits
        return mask

    def for_query(self, query: str) -> int:
        """The rules the parameters of this query do not rule out."""
        mask = self.any_query
        names = self.names
        for field in query.split(query_separator(query) if ";" in query else "&"):
            name, _, value = field.partition("=")
            if name in names and field:
                bits, by_value = names[name]
                mask |= bits
                if value in by_value:
                    mask |= by_value[value]
        return mask

    def for_texts(self, url: str, mask: int) -> int:
        """Of the rules in `mask` those whose text is there."""
        found = self.no_text
        if mask & ~found:
            for value, bits in self.texts:
                if value in url:
                    found |= bits
        return mask & found

    def plan(self, mask: int) -> Plan:
        """What to look for in the query of a URL whose path leaves the rules in `mask`."""
        plan = self._plans.get(mask)
        if plan is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            plan = self._plans[mask] = self._plan(mask)
        return plan

    def _plan(self, mask: int) -> Plan:
        fields: dict[str, bool | frozenset[str] | None] = {}
        needles: dict[str, None] = {}
        always = sorts = False
        for place, (rule, need) in enumerate(zip(self.rules, self._needs, strict=True)):
            if not mask >> place & 1:
                continue
            if need.names is None:
                if _sorts(rule):
                    sorts = True
                elif need.texts is None or not all(need.texts):
                    always = True
                else:
                    needles.update(dict.fromkeys(map(needle, need.texts)))
                continue
            dropped = _plain_drop(rule)
            for name in need.names:
                before = fields.get(name, frozenset())
                if dropped is None or before is None or not name:
                    fields[name] = None
                elif isinstance(dropped, bool) or isinstance(before, bool):
                    fields[name] = True
                else:
                    fields[name] = before | dropped
        drops = frozenset(name for name, drop in fields.items() if drop is True)
        return Plan(mask, fields, tuple(needles), always, sorts, drops)

    def after(self, rule: Rule) -> int:
        """The rules applied after `rule` (of this or another program)."""
        return -1 << sum(other.rank <= rule.rank for other in self.rules)

    def host_rules(self) -> int:
        """The rules about scheme, host and port alone."""
        return self._bits(_about_host)

    def blind(self, prefix: str) -> bool:
        """Whether the other rules do the same whatever the host is, as far as `prefix` is concerned."""
        for rule in self.rules:
            if _about_host(rule):
                continue
            swap = rule.do.get("substitute")
            if isinstance(swap, Mapping):
                old = swap["from"]
                # It must neither lie in the prefix nor begin there.
                if swap["start"] or not old or old in prefix:
                    return False
                if any(
                    old.startswith(prefix[at:]) for at in range(max(0, len(prefix) - len(old)), len(prefix))
                ):
                    return False
            elif any(key.kind in HOST_KEYS for key in _keys(rule)):
                return False
        return True


def needle(text: str) -> str:
    """What must be in a URL if `text` is to be in it once fields of its query have been dropped or sorted.

    Fields that were apart may come to stand side by side, so what they are parted by does not count.

    >>> needle("story_"), needle("&LastView=&Close="), needle(".php3?"), needle("&"), needle("?&")
    ('story_', 'LastView=', '.php3', '&', '')
    """
    pieces = text.replace("?", "&").split("&")
    return max(pieces, key=len) or (text if len(text) == 1 else "")


def _sorts(rule: Rule) -> bool:
    """Whether the rule does nothing but sort the parameters, wherever host and path are what they are known to be."""
    if rule.do != {"query": "{query|sort}"}:
        return False
    for text, condition in rule.when.items():
        if text == "path":
            if literal_values(text, condition) is None:
                return False
        elif text not in ("scheme", "host", "port") and not text.startswith("host["):
            return False
    return True


HOST_KEYS = ("scheme", "host", "port", "url")


def _keys(rule: Rule) -> Iterator[Key]:
    """All keys a rule reads or writes."""
    for key in rule.when:
        if key != "names":
            yield parse_key(key)
    for key, action in rule.do.items():
        if key != "substitute":
            yield parse_key(key)
            if isinstance(action, str):
                for reference in parse_template(action).references:
                    if isinstance(reference.source, Key):
                        yield reference.source


def _about_host(rule: Rule) -> bool:
    if "names" in rule.when or "substitute" in rule.do or rule.scope.path is not None:
        return False
    return all(key.kind in HOST_KEYS[:3] for key in _keys(rule))


def _plain_drop(rule: Rule) -> bool | frozenset[str] | None:
    """True for a rule that drops parameters wherever host and path are what they are known to be; the values,
    for one that drops a parameter of these values; None for any other.

    Rules of the first two kinds do not meddle with one another: in whatever order and however often they are
    applied, one pass over the fields does the same.
    """
    if "substitute" in rule.do or "names" in rule.when:
        return None
    keys = [parse_key(key) for key in rule.do]
    if not all(key.kind == "query" and key.name and key.occurrence == 1 for key in keys):
        return None
    if any(action is not None for action in rule.do.values()):
        return None
    values: bool | frozenset[str] = True
    for text, condition in rule.when.items():
        if text in ("scheme", "host", "port") or text.startswith("host["):
            continue
        literal = literal_values(text, condition)
        if literal is None:
            return None
        if text == "path":
            continue
        if len(keys) > 1 or values is not True or parse_key(text) != keys[0]:
            return None
        values = frozenset(literal)
    return values


def _is_free(rule: Rule) -> bool:
    if _plain_drop(rule) is not True or rule.scope.path is not None:
        return False
    return all(parse_key(key).kind in HOST_KEYS for key in rule.when)


def _commutes(rule: Rule, dropped: frozenset[str]) -> bool:
    """Whether it is the same to drop parameters of these names before the rule and after it."""
    if "substitute" in rule.do or "names" in rule.when:
        return False
    if rule.do == {"query": "{query|sort}"}:
        return all(parse_key(key).kind not in ("query", "url") for key in rule.when)
    return all(
        key.kind != "url" and (key.kind != "query" or (bool(key.name) and key.name not in dropped))
        for key in _keys(rule)
    )


def _settles(rule: Rule) -> bool:
    """Whether to apply it twice in a row is to apply it once: it converts a component, with one conversion."""
    if len(rule.do) != 1:
        return False
    ((key, action),) = rule.do.items()
    return key in ("path", "query") and isinstance(action, str) and action[len(key) + 2 : -1] in CONVERSIONS


def _file(index: dict[str, int], values: Sequence[str], bit: int) -> None:
    for value in values:
        index[value] = index.get(value, 0) | bit
