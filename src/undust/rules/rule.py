"""A rule: where it holds (scope), when it fires (conditions), what it does, and what it rests on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeAlias

from undust.errors import BookError
from undust.rules.condition import Condition, describe_condition, one_form, plain, short
from undust.rules.guard import Guard, group_names
from undust.rules.pattern import parse_key, parse_pattern
from undust.url import tokenize

STATUSES = ("validated", "probable", "likely", "rejected", "disabled")
EVIDENCE_LEVELS = ("url", "size", "digest", "sketch", "label", "fetched")
# null: drop | template | {"ignore": representative} | for `substitute`: {"from", "to", "start", "end"}
Action: TypeAlias = str | Mapping[str, Any] | None


@dataclass(frozen=True)
class Scope:
    """The URLs a rule is about: named hosts, or a domain with all below it, or any host of the site.

    A host may carry a port (`localhost:8000`): then only that port is meant, else any. `path` is a prefix
    that ends at a segment: `/forum/` holds all below it, `/forum` that and itself too, but not `/forums`.

    >>> Scope(hosts=("WWW.example.com",), path="/forum/").to_dict()
    {'hosts': ['www.example.com'], 'path': '/forum/'}
    """

    hosts: tuple[str, ...] = ()
    domain: str | None = None
    path: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(sorted({host.lower() for host in self.hosts})))
        if self.domain is not None:
            object.__setattr__(self, "domain", self.domain.lower().strip("."))
        if self.hosts and self.domain is not None:
            raise BookError("either hosts or domain, not both", field="scope")
        if self.path is not None and not self.path.startswith("/"):
            raise BookError("a path begins with a slash", field="scope.path")

    def covers_host(self, host: str, port: str | None = None) -> bool:
        """Whether `host` (lower case) is meant.

        >>> Scope(domain="x.com").covers_host("www.x.com"), Scope(domain="x.com").covers_host("ax.com")
        (True, False)
        """
        if self.hosts:
            return host in self.hosts or (port is not None and f"{host}:{port}" in self.hosts)
        return self.domain is None or host == self.domain or host.endswith("." + self.domain)

    def covers_path(self, path: str) -> bool:
        """Whether `path` lies below the scope's path.

        >>> [Scope(path="/a").covers_path(p) for p in ("/a", "/a/b", "/ab")]
        [True, True, False]
        """
        prefix = self.path
        if prefix is None or path.startswith(prefix if prefix.endswith("/") else prefix + "/"):
            return True
        return path == prefix

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if self.hosts:
            out["hosts"] = list(self.hosts)
        if self.domain is not None:
            out["domain"] = self.domain
        if self.path is not None:
            out["path"] = self.path
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scope:
        return cls(tuple(data.get("hosts", ())), data.get("domain"), data.get("path"))


@dataclass(frozen=True)
class Evidence:
    """What a rule rests on; unknown figures are None.

    `level`: the weakest likeness behind it. `support`: URLs it changes. `pairs`: pairs of URLs it makes one;
    of these `false` are of different clusters, `near` too but nearly alike. `lost`: pages that would vanish.
    `precision_low`: lower confidence bound. `fetched`: pages fetched to test it.
    """

    level: str = "url"
    support: int | None = None
    pairs: int | None = None
    false: int | None = None
    near: int | None = None
    lost: int | None = None
    precision_low: float | None = None
    fetched: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Evidence:
        return cls(**{f.name: data[f.name] for f in fields(cls) if f.name in data})


@dataclass(frozen=True)
class Rule:
    """One rule of the one language; `docs/rules.md` is the reference.

    >>> rule = Rule(Scope(("www.example.com",), path="/forum/"), do={"query[sid]": None})
    >>> rule.describe()
    'www.example.com/forum/: drop sid'
    >>> Rule.from_dict(rule.to_dict()) == rule
    True
    """

    scope: Scope = field(default_factory=Scope)
    when: Mapping[str, Condition] = field(default_factory=dict)
    do: Mapping[str, Action] = field(default_factory=dict)
    order: int = 0
    status: str = "probable"
    source: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    examples: tuple[tuple[str, str], ...] = ()
    learned_at: str | None = None
    why: str | None = None  # why it was rejected
    guard: Guard | None = None  # what the list of URLs must not hold; None: the rule asks the URL alone

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "when", {key: one_form(key, value) for key, value in sorted(self.when.items())})
        put(self, "do", {key: _action(key, value) for key, value in sorted(self.do.items())})
        put(self, "source", tuple(self.source))
        put(self, "examples", tuple((u, v) for u, v in self.examples))
        if self.status not in STATUSES:
            raise BookError(
                f"unknown status {self.status!r}; known are {', '.join(STATUSES)}", field="status"
            )
        if not self.do:
            raise BookError("a rule must do something", field="do")

    def __hash__(self) -> int:
        return hash(self.id)

    @cached_property
    def id(self) -> str:
        """12 hexadecimal digits that depend on scope, conditions, rewrite and guard alone.

        >>> Rule(do={"query[sid]": None}).id
        '22fa29ffe885'
        """
        said = [self.scope.to_dict(), plain(self.when), plain(self.do)]
        if self.guard is not None:
            said.append(self.guard.to_dict())
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @cached_property
    def body(self) -> str:
        """Conditions and rewrite as JSON: what the rule does, wherever it does it."""
        return json.dumps([plain(self.when), plain(self.do)], sort_keys=True)

    @cached_property
    def specificity(self) -> tuple[int, int, int, int]:
        """How narrow the rule is; more specific rules are applied first (RES-32).

        Compared in this order: scope (hosts, domain, any), segments of the scope's path, weight of the
        conditions (literal, absent or names 4, alternatives 3, typed group 2, anything 1; a substitution
        weighs the tokens it replaces), characters of literal text.
        """
        scope = 2 if self.scope.hosts else 1 if self.scope.domain else 0
        path = len([segment for segment in (self.scope.path or "").split("/") if segment])
        weight = literal = 0
        for key, condition in self.when.items():
            heavy, characters = _weight(key, condition)
            weight += heavy
            literal += characters
        swap = self.do.get("substitute")
        if isinstance(swap, Mapping):
            weight += len(tokenize(swap["from"])) - 2 + swap["start"] + swap["end"]
            literal += len(swap["from"])
        return scope, path, weight, literal

    @cached_property
    def rank(self) -> tuple[Any, ...]:
        """The order of application: order, most specific first, then precision, support, id."""
        known = self.evidence
        return (
            self.order,
            tuple(-x for x in self.specificity),
            -(known.precision_low or 0.0),
            -(known.support or 0),
            self.id,
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of a rule book."""
        out: dict[str, Any] = {
            "id": self.id,
            "scope": self.scope.to_dict(),
            "when": plain(self.when),
            "do": plain(self.do),
            "order": self.order,
            "status": self.status,
            "source": list(self.source),
            "evidence": self.evidence.to_dict(),
            "examples": [list(pair) for pair in self.examples],
        }
        if self.guard is not None:
            out["guard"] = self.guard.to_dict()
        if self.learned_at is not None:
            out["learned_at"] = self.learned_at
        if self.why is not None:
            out["why"] = self.why
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rule:
        """The inverse of `to_dict`; all but `do` may be missing. The id is computed, never taken over."""
        return cls(
            scope=Scope.from_dict(data.get("scope", {})),
            when=data.get("when", {}),
            do=data["do"],
            order=data.get("order", 0),
            status=data.get("status", "probable"),
            source=tuple(data.get("source", ())),
            evidence=Evidence.from_dict(data.get("evidence", {})),
            examples=tuple((u, v) for u, v in data.get("examples", ())),
            learned_at=data.get("learned_at"),
            why=data.get("why"),
            guard=Guard.from_dict(data["guard"]) if "guard" in data else None,
        )

    def describe(self) -> str:
        """One line for people.

        >>> Rule(when={"path": "/wiki/{t}"}, do={"path": "/", "query[title]": "{t}"}).describe()
        '*: when path is /wiki/{t}: set path to /, set title to {t}'
        """
        where = ", ".join(self.scope.hosts) or (f"*.{self.scope.domain}" if self.scope.domain else "*")
        where += self.scope.path or ""
        tests = " and ".join(describe_condition(key, condition) for key, condition in self.when.items())
        does = ", ".join(_describe_action(key, action) for key, action in self.do.items())
        if self.guard is not None:
            does += f", {self.guard.describe(group_names(self.when))}"
        return f"{where}: when {tests}: {does}" if tests else f"{where}: {does}"


def _action(key: str, value: Any) -> Action:
    if key == "substitute":
        if (
            not isinstance(value, Mapping)
            or not isinstance(value.get("from"), str)
            or not isinstance(value.get("to"), str)
        ):
            raise BookError("a substitution needs the texts `from` and `to`", field="do.substitute")
        if set(value) - {"from", "to", "start", "end"}:
            raise BookError("a substitution has only from, to, start, end", field="do.substitute")
        return {
            "end": bool(value.get("end", False)),
            "from": value["from"],
            "start": bool(value.get("start", False)),
            "to": value["to"],
        }
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping) and set(value) == {"ignore"} and isinstance(value["ignore"], str):
        return {"ignore": value["ignore"]}
    raise BookError('an action is null (drop), a template, or {"ignore": "value"}', field=f"do.{key}")


def _weight(key: str, condition: Condition) -> tuple[int, int]:
    if condition is None:
        return 4, 0
    if isinstance(condition, str):
        pattern = parse_pattern(condition, parse_key(key))
        characters = sum(map(len, pattern.literals))
        if pattern.literal is not None:
            return 4, characters
        typed = any(group.type not in ("any", "rest") for group in pattern.groups)
        return (2 if typed or characters else 1), characters
    if isinstance(condition, tuple):
        return (4 if key == "names" or len(condition) == 1 else 3), 0
    return 1, 0


def _describe_action(key: str, action: Action) -> str:
    if key == "substitute" and isinstance(action, Mapping):
        before = "^" * action["start"] + action["from"] + "$" * action["end"]
        return (
            f"replace {before} by {'^' * action['start'] + action['to'] + '$' * action['end'] or 'nothing'}"
        )
    if action is None:
        return f"drop {short(key)}"
    if isinstance(action, str):
        return f"set {short(key)} to {action or 'nothing'}"
    return f"ignore {short(key)} ({action['ignore']})"
