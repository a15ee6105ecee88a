"""Rules among each other: a target may lack some of a book's rules, and may have an order of its own.

A rule may be followed without the others if wherever it fires the book leads to the same end behind it. That is tried
on URLs that are remembered with the rules, and on some that are made up so that two rules meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from undust.exports.target import ASKS, Placed, placed
from undust.rules import Canonicalizer, Rule, RuleBook, compile_rule
from undust.rules.conflict import meetings
from undust.rules.pattern import parse_key, parse_template
from undust.url import Key

SAMPLES = 12
"""URLs made up for a rule, and for a pair of rules that meet."""

MOST_PAIRS = 50_000
"""Pairs of rules that are tried; a book has no more unless somebody means ill."""

_ANY_QUERY = "query"
_EVERYTHING = "url"
_ADDED = "added"


@dataclass
class Company:
    """The rules in force, with URLs on which they fire (`own`) and on which two of them meet (`met`).

    >>> from undust.rules import SiteRules
    >>> rules = [Rule(when={"query[s]": "1"}, do={"path": "/b"}), Rule(do={"query[s]": None}, order=1)]
    >>> company = Company.of(RuleBook({"a.example": SiteRules("a.example", rules=rules)}))
    >>> [company.needed(rule) for rule in rules]
    [None, 'without the others it would lead elsewhere: http://a.example/?s=1']
    """

    places: list[Placed]
    canon: Canonicalizer
    own: dict[str, list[str]]
    met: dict[str, list[str]]

    @classmethod
    def of(cls, book: RuleBook, level: str = "probable") -> Company:
        out = cls(list(placed(book, level)), Canonicalizer(book, level), {}, {})
        for place in out.places:
            out.own.setdefault(place.rule.id, []).extend(_own(place))
            out.met.setdefault(place.rule.id, [])
        for one, other in islice(_pairs(out.places), MOST_PAIRS):
            for url in islice(_meetings(one.rule, other.rule, one.hosts), SAMPLES):
                if _there(one, url) and _there(other, url):
                    out.met[one.rule.id].append(url)
        return out

    def needed(self, rule: Rule) -> str | None:
        """Why a rule must not be followed without the others, or without a list; None: it may."""
        if rule.guard is not None:
            return ASKS
        ready = compile_rule(rule)
        for url in (*self.own[rule.id], *self.met[rule.id]):
            after = ready.apply(url)
            if after is None or after == url:
                continue
            end = self.canon.settle(url)
            if end.cycle or end.endless:
                return f"the book comes to no rest on {url}"
            if self.canon(after) != end.url:
                return f"without the others it would lead elsewhere: {url}"
        return None

    def urls(self) -> list[str]:
        """All the URLs."""
        some = [*self.own.values(), *self.met.values()]
        return list(dict.fromkeys(url for urls in some for url in urls))


def _own(place: Placed) -> Iterator[str]:
    for pair in place.rule.examples:
        yield from pair
    for url in islice(_meetings(place.rule, place.rule, place.hosts), SAMPLES):
        if _there(place, url):
            yield url


def _meetings(one: Rule, other: Rule, hosts: tuple[str, ...]) -> Iterator[str]:
    """URLs on which both may fire; a substitution's text is put wherever it may stand."""
    swaps = [
        str(swap["from"]) for rule in (one, other) if isinstance(swap := rule.do.get("substitute"), Mapping)
    ]
    if len(swaps) != 1:
        for url in meetings(one, other, hosts):
            head, mark, query = url.partition("?")
            # What lies below a path that ends in a slash is longer than the path.
            below = [f"{head.rstrip('/')}/x"] if one.scope.path or other.scope.path else []
            for start in (head, *below):
                yield f"{start}{mark}{query}"
                if mark:
                    yield start
    for text in dict.fromkeys(swaps):
        plain = other if "substitute" in one.do else one
        urls = list(islice(meetings(plain, plain, hosts), 2)) if "substitute" not in plain.do else []
        for url in urls or [f"http://{host}/x?x=x" for host in (*one.scope.hosts, *hosts)[:1]]:
            head, _, rest = url.partition("://")[2].partition("/")
            start = f"http://{head}/"
            path, mark, query = rest.partition("?")
            more = f"&{query}" if mark else ""
            inner = text.strip("/?&")
            yield f"{start}{path}?{inner}=1{more}"
            yield f"{start}{path}?q={inner}{more}"
            yield start + rest.replace("x", inner).replace("7", inner)
            yield f"{start}{inner}/{rest}"
            yield f"{start}{path.rstrip('/')}/{inner}{mark}{query}"


def _there(place: Placed, url: str) -> bool:
    host = url.partition("://")[2].partition("/")[0]
    return not place.hosts or host in place.hosts or host.partition(":")[0] in place.hosts


def _pairs(places: list[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Pairs of which the first writes what the second reads or writes, on a host of both."""
    readers: dict[str, list[int]] = {}
    touched = [_touches(place.rule) for place in places]
    for number, names in enumerate(touched):
        for name in names:
            readers.setdefault(name, []).append(number)
    for number, one in enumerate(places):
        near: dict[int, None] = {}
        for name in _writes(one.rule):
            if name == _EVERYTHING:
                near |= dict.fromkeys(range(len(places)))
            near |= dict.fromkeys([*readers.get(name, ()), *readers.get(_EVERYTHING, ())])
            if name.startswith("query["):
                near |= dict.fromkeys(readers.get(_ANY_QUERY, ()))
            elif name == _ANY_QUERY:
                near |= dict.fromkeys(
                    n for n, names in enumerate(touched) if any("query" in m for m in names)
                )
        for other in near:
            if other != number and _same_host(one, places[other]):
                yield one, places[other]


def _same_host(one: Placed, other: Placed) -> bool:
    names = ({host.partition(":")[0] for host in place.hosts} for place in (one, other))
    return not one.hosts or not other.hosts or not set.isdisjoint(*names)


def _writes(rule: Rule) -> set[str]:
    out = {_part(key) for key in rule.do}
    # Parameters that are added stand in the order of the rules.
    added = (key for key, action in rule.do.items() if key.startswith("query[") and isinstance(action, str))
    return out | {_ADDED for _ in added}


def _touches(rule: Rule) -> set[str]:
    out = _writes(rule) | {_part(key) for key in rule.when}
    if rule.scope.path is not None:
        out.add("path")
    if rule.scope.hosts or rule.scope.domain is not None:
        out.add("host")
    for action in rule.do.values():
        if isinstance(action, str):
            refs = parse_template(action).references
            out |= {_part_of(ref.source) for ref in refs if not isinstance(ref.source, str)}
    return out


def _part(text: str) -> str:
    """The part of the URL a key is of; parameters are parts by themselves."""
    if text == "substitute":
        return _EVERYTHING
    return _ANY_QUERY if text == "names" else _part_of(parse_key(text))


def _part_of(key: Key) -> str:
    if key.kind == "query" and key.name is not None:
        return f"query[{key.name}]"
    return {"matrix": "path", "scheme": "host", "port": "host", "separator": _ANY_QUERY}.get(
        key.kind, key.kind
    )
