"""duplicate-url-discarder: its JSON rules. It removes parameters and segments, nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

from undust.exports.company import Company
from undust.exports.target import Cannot, Export, NotExpressible, Paths, Placed, as_drop, ask_nobody
from undust.rules import Rule, RuleBook

CAVEAT = (
    "paths and hosts are matched regardless of case there; empty fields go; URLs with a port are left alone"
)

_CASED = re.compile(r"[^\W\d_]")

# `*` and a final `|` have a meaning in url-matcher's patterns; `?` and `#` would end the path.
_NAME = re.compile(r"[^&;#=%+*\s\x00-\x20]+\Z")
_PATH = re.compile(r"/[^*|?#;\s]*\Z")


def write(book: RuleBook, level: str = "probable") -> Export:
    """Names merged per host and path, since each rule costs it a parse of the URL.

    >>> from undust.rules import Scope, SiteRules
    >>> rules = [Rule(do={"query[sid]": None}), Rule(when={"path": "/a"}, do={"path": "/b"})]
    >>> found = write(RuleBook({"a.example": SiteRules("a.example", rules=rules)}))
    >>> json.loads(found.text)[0]["urlPattern"], [m.why for m in found.missing]
    ({'exclude': ['www.a.example/', '?sid=*;*'], 'include': ['a.example/']}, ['it can only drop parameters'])
    """
    names: dict[str, dict[str, None]] = {}  # pattern -> names
    segments: dict[str, int] = {}
    whole: dict[str, None] = {}
    anywhere: dict[str, None] = {}
    missing: list[NotExpressible] = []
    wider: list[NotExpressible] = []
    hosts: set[str] = set()
    company = Company.of(book, level)
    paths = Paths(place.rule for place in company.places)
    for place in company.places:
        rule = place.rule
        try:
            ask_nobody(rule)
            place.check()
            if why := company.needed(rule):
                raise Cannot(why)
            if any(":" in host for host in place.hosts):
                raise Cannot("it never matches a host with a port")
            if place.domain is not None and rule.scope.path:
                raise Cannot("it knows no path for a domain with all below it")
            path = "/"
            if rule.do.keys() == {"query"} and rule.do["query"] is None:
                path, exact = _path_of(rule)
                if place.anywhere:
                    raise Cannot("it would be followed only where no other is")
                _cased(path, paths)
                whole |= dict.fromkeys(_patterns(place, path, exact))
            elif any(key.startswith("path[") for key in rule.do):
                path, at = _segment(place)
                _cased(path, paths)
                segments |= dict.fromkeys(_patterns(place, path, False), at)
            else:
                drop = as_drop(rule)
                path = drop.prefix
                if not all(map(_NAME.match, drop.names)):
                    raise Cannot("a name that it would not find, or find where it is not")
                if drop.value is not None:
                    raise Cannot("of a parameter given twice it takes whichever has the value")
                if place.anywhere:
                    if drop.prefix != "/" or drop.exact:
                        raise Cannot("it knows no path without a host")
                    anywhere |= dict.fromkeys(drop.names)
                _cased(path, paths)
                for pattern in _patterns(place, drop.prefix, drop.exact):
                    names.setdefault(pattern, {}).update(dict.fromkeys(drop.names))
            if _CASED.search(path):
                wider.append(NotExpressible(rule, f"the path {path} is matched regardless of case"))
        except Cannot as error:
            missing.append(NotExpressible(rule, str(error)))
            continue
        hosts |= set(place.hosts)
    covered = hosts | {host for site in book.sites.values() for host in site.hosts}
    if anywhere:
        # A universal rule is followed only where no other is: so every host gets its names too.
        for host in sorted(covered):
            names.setdefault(f"{host}/", {}).update(anywhere)
    rules = [_rule(0, p, "queryRemoval", sorted(n)) for p, n in sorted(names.items())]
    if anywhere:
        rules.append(_rule(0, "", "queryRemoval", sorted(anywhere)))
    rules += [_rule(0, p, "queryRemovalExcept", []) for p in sorted(whole)]
    rules += [_rule(1, p, "subpathRemoval", [at]) for p, at in sorted(segments.items())]
    return Export(json.dumps(rules, indent=2, sort_keys=True) + "\n", missing, wider=tuple(wider))


def _cased(path: str, paths: Paths) -> None:
    if paths.other_case(path):
        raise Cannot(f"the case of a path matters here: {path}")


def _path_of(rule: Rule) -> tuple[str, bool]:
    """(path, whether it is exact) of a rule that has no other condition."""
    if set(rule.when) - {"path"}:
        raise Cannot("it has no conditions but hosts and paths")
    condition = rule.when.get("path")
    if condition is None:
        return rule.scope.path or "/", False
    if not isinstance(condition, str) or "{" in condition or not rule.scope.covers_path(condition):
        raise Cannot("its paths have no groups")
    return condition, True


def _patterns(place: Placed, path: str, exact: bool) -> list[str]:
    if place.anywhere:
        return []
    if _PATH.match(path) is None:
        raise Cannot("a path with characters that mean something else there")
    ends = ["|"] if exact else [""] if path.endswith("/") else ["|", "/"]
    if place.domain is not None:
        if exact or path != "/":
            raise Cannot("it knows no path for a domain with all below it")
        return [place.domain]
    return [f"{host}{path}{end}" for host in place.hosts for end in ends]


def _segment(place: Placed) -> tuple[str, int]:
    """A segment that is dropped where it and all before it are known: the output no longer matches."""
    rule = place.rule
    ((key, action),) = rule.do.items() if len(rule.do) == 1 else (("", ""),)
    found = re.fullmatch(r"path\[([0-9]+)\]", key)
    if (
        action is not None
        or found is None
        or set(rule.when) != {f"path[{i}]" for i in range(int(found[1]) + 1)}
    ):
        raise Cannot("it drops segments by number only, and they must be known")
    literals = [rule.when[f"path[{i}]"] for i in range(int(found[1]) + 1)]
    if not all(isinstance(one, str) and one and "{" not in one for one in literals) or rule.scope.path:
        raise Cannot("it drops segments by number only, and they must be known")
    return "/" + "/".join(map(str, literals)) + "/", int(found[1])


def _rule(order: int, pattern: str, processor: str, arguments: list[Any]) -> dict[str, Any]:
    """One rule; `exclude` keeps it from what the pattern takes beyond what the rule is for."""
    out: dict[str, Any] = {
        "order": order,
        "processor": processor,
        "urlPattern": {"include": [pattern] if pattern else []},
    }
    if arguments:
        out["args"] = arguments
    host, slash, _ = pattern.partition("/")
    exclude = []
    if slash:
        # A pattern for a host is one for its www. twin too; a twin the rule is for has a pattern of its own.
        exclude = [f"www.{host}/"]
    if processor == "queryRemoval":
        # `?sid=1;t=2` would lose its `t` too.
        exclude += [f"?{name}=*;*" for name in arguments]
    if exclude:
        out["urlPattern"]["exclude"] = exclude
    return out
