"""What all export targets have in common: rules in their order with their hosts, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from undust.rules import Rule, RuleBook, SiteRules
from undust.rules.canonicalizer import LEVELS
from undust.url import parse

_HOST = re.compile(r"[^\s\x00-,/:-@\[-^`{-\x7f]+(?::[0-9]+)?\Z")


class NotExpressible(NamedTuple):
    """A rule, or a part of it, that the target has no words for."""

    rule: Rule
    why: str

    def __str__(self) -> str:
        return f"{self.rule.id} {self.rule.describe()}: {self.why}"


class Export(NamedTuple):
    """The text of the target's file, and what could not be said in it."""

    text: str
    missing: list[NotExpressible]
    beside: Mapping[str, str] = {}
    """Further files the target reads, by name."""
    wider: tuple[NotExpressible, ...] = ()
    """Rules that are written, but that the target reads more broadly than they were learned, and how."""


class Cannot(Exception):
    """The target has no words for this; the text says why."""


@dataclass(frozen=True)
class Placed:
    """A rule and where it is in force: named hosts, a domain with all below it, or anywhere (neither)."""

    rule: Rule
    hosts: tuple[str, ...] = ()
    domain: str | None = None

    @property
    def anywhere(self) -> bool:
        return not self.hosts and self.domain is None

    def check(self) -> None:
        """Cannot, where a host is none: a book is data from outside, and names go into files read line by line."""
        for host in (*self.hosts, self.domain or "a"):
            if _HOST.match(host) is None:
                raise Cannot(f"{host!r} is no name of a host")


@dataclass
class Drop:
    """The commonest rule: these parameters do not matter below `prefix` (`exact`: on that path alone)."""

    names: tuple[str, ...]
    prefix: str = "/"
    exact: bool = False
    value: str | None = None  # only with this value
    rules: list[Rule] = field(default_factory=list)


def placed(book: RuleBook, level: str = "probable") -> Iterator[Placed]:
    """The rules in force at `level`, site by site, in the order in which they are applied.

    >>> from undust.rules import Scope
    >>> site = SiteRules("example.com", ("example.com", "www.example.com"), [Rule(do={"query[sid]": None})])
    >>> [p.hosts for p in placed(RuleBook({"example.com": site}))]
    [('example.com', 'www.example.com')]
    """
    for name, site in sorted(book.sites.items()):
        for rule in sorted(site.rules, key=lambda rule: rule.rank):
            if rule.status in LEVELS[level]:
                yield _place(rule, name, site, book.site_key)


def _place(rule: Rule, name: str, site: SiteRules, site_key: str) -> Placed:
    if rule.scope.hosts:
        return Placed(rule, rule.scope.hosts)
    if rule.scope.domain is not None:
        return Placed(rule, domain=rule.scope.domain)
    if name == "*":
        return Placed(rule)
    return Placed(rule, domain=name) if site_key == "domain" else Placed(rule, site.hosts)


ASKS = "it asks the list of URLs, which only undust has at hand (--list)"


def ask_nobody(rule: Rule) -> None:
    """Cannot, if the rule asks the list of URLs: no other tool has it at hand."""
    if rule.guard is not None:
        raise Cannot(ASKS)


def as_drop(rule: Rule) -> Drop:
    """`rule` as a drop of parameters, with a path as its only condition (and one value, at most).

    >>> as_drop(Rule(do={"query[sid]": None})).names
    ('sid',)
    >>> as_drop(Rule(do={"path": "/"}))
    Traceback (most recent call last):
    undust.exports.target.Cannot: it can only drop parameters
    """
    ask_nobody(rule)
    names = []
    for key, action in rule.do.items():
        if action is not None or not key.startswith("query[") or _occurrence(key):
            raise Cannot("it can only drop parameters")
        names.append(key[len("query[") : -1])
    out = Drop(tuple(names), rule.scope.path or "/", rules=[rule])
    for key, condition in rule.when.items():
        literal = condition if isinstance(condition, str) and "{" not in condition else None
        if key == "path" and literal is not None:
            if not rule.scope.covers_path(literal):
                raise Cannot("its scope and its path exclude each other")
            out.prefix, out.exact = literal, True
        elif key == f"query[{names[0]}]" and len(names) == 1:
            if condition in ("{}", "{:rest}"):
                continue  # present: to be dropped it must be
            if literal is None or not literal:
                raise Cannot("it has no conditions on values")
            out.value = literal
        else:
            raise Cannot(f"it has no conditions on {key}")
    return out


class Paths:
    """The paths a book knows: where a target would take another one of them for a rule's, the rule is not written.

    >>> known = Paths([Rule(when={"path": "/P"}, do={"query[a]": None})])
    >>> known.other_case("/p"), known.other_case("/P"), known.longer("/P")
    (True, False, False)
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.all: set[str] = set()
        for rule in rules:
            said = rule.when.get("path")
            for path in (said,) if isinstance(said, str) else said if isinstance(said, tuple) else ():
                self.all.add(path.partition("{")[0])
            self.all |= {parse(url).path for pair in rule.examples for url in pair}
            self.all.add(rule.scope.path or "/")
        self.folded = {path.lower(): set[str]() for path in self.all}
        for path in self.all:
            self.folded[path.lower()].add(path)

    def other_case(self, path: str) -> bool:
        """Whether the book knows a path that differs in case alone, as far as `path` goes."""
        low = path.lower()
        return any(known.startswith(low) and not any(p.startswith(path) for p in some)
                   for known, some in self.folded.items())  # fmt: skip

    def longer(self, path: str) -> bool:
        """Whether the book knows a path that only begins like this one."""
        return any(known != path and known.startswith(path) for known in self.all)


def comment(text: str) -> str:
    """Text for a comment of one line: a backslash at its end would take the next line in.

    >>> comment("drop a\\nb\\\\")
    'drop a?b?'
    """
    return "".join(char if char.isprintable() and char != "\\" else "?" for char in text)


def _occurrence(key: str) -> bool:
    return "#" in key
