"""ClearURLs: the `data.min.json` shape (version 1) of its rules; it drops parameters, regardless of case."""

from __future__ import annotations

import json
import re
from typing import Any

from undust.exports.expression import quote
from undust.exports.target import Cannot, Export, NotExpressible, Placed, as_drop, placed
from undust.rules import RuleBook

CAVEAT = "version 1 (data.min.json); ClearURLs ignores the case of hosts, paths and names"

_CASED = re.compile(r"[A-Za-z]")


def write(book: RuleBook, level: str = "probable") -> Export:
    """One provider for each set of hosts and path.

    >>> from undust.rules import Rule, Scope, SiteRules
    >>> rule = Rule(Scope(path="/f/"), do={"query[sid]": None})
    >>> found = json.loads(write(RuleBook({"a.example": SiteRules("a.example", rules=[rule])})).text)
    >>> found["providers"]["a.example/f/"]["urlPattern"], found["providers"]["a.example/f/"]["rules"]
    ('^https?://a\\\\.example(?::[0-9]+)?/f/', ['sid'])
    """
    providers: dict[str, dict[str, Any]] = {}
    missing = []
    names_of: dict[str, set[str]] = {}
    for place in placed(book, level):
        for key in (*place.rule.do, *place.rule.when):
            if key.startswith("query["):
                names_of.setdefault(key.lower(), set()).add(key)
    for place in placed(book, level):
        rule = place.rule
        try:
            drop = as_drop(rule)
            if drop.value is not None and _CASED.search(drop.value):
                raise Cannot("its condition on a value would be read regardless of case")
            twins = [sorted(names_of[key.lower()]) for key in rule.do if len(names_of[key.lower()]) > 1]
            if twins:
                raise Cannot(f"the case of a name matters here: {', '.join(twins[0])}")
            if not all(name.isprintable() and not set("&;#=") & set(name) for name in drop.names):
                raise Cannot("a name with a separator in it")
        except Cannot as error:
            missing.append(NotExpressible(rule, str(error)))
            continue
        path = "" if drop.prefix == "/" and not drop.exact else drop.prefix
        name = (",".join(place.hosts) or place.domain or "anywhere") + path + ("$" if drop.exact else "")
        if drop.value is not None:
            name += f" {drop.names[0]}={drop.value}"
        provider = providers.setdefault(name, _provider(place, path, drop.exact, drop.names, drop.value))
        provider["rules"] = sorted({*provider["rules"], *map(_name, drop.names)})
    data = {"providers": dict(sorted(providers.items()))}
    return Export(json.dumps(data, indent=2) + "\n", missing)


def _provider(
    place: Placed, path: str, exact: bool, names: tuple[str, ...], value: str | None
) -> dict[str, Any]:
    hosts = [quote(host) + ("" if re.search(r":[0-9]+\Z", host) else "(?::[0-9]+)?") for host in place.hosts]
    if place.domain is not None:
        hosts = [rf"(?:[^/?#]*\.)?{quote(place.domain)}(?::[0-9]+)?"]
    where = hosts[0] if len(hosts) == 1 else f"(?:{'|'.join(hosts)})" if hosts else "[^/?#]+"
    end = "(?:[?#]|$)" if exact else "" if path.endswith("/") else "(?:[/?#]|$)"
    only = ""
    if value is not None:
        name = quote(names[0])
        some = rf"[^#]*[?&]{name}"
        only = rf"(?={some}={quote(value)}(?:[&#]|$))(?!{some}(?:=[^&#]*)?&(?:[^#]*&)?{name}(?:[=&#]|$))"
    return {
        "urlPattern": f"^https?://{where}{only}{quote(path)}{end}",
        "completeProvider": False,
        "rules": [],
        "rawRules": [],
        "referralMarketing": [],
        "exceptions": [],
        "redirections": [],
        "forceRedirection": False,
    }


def _name(name: str) -> str:
    # ClearURLs sees names decoded; an expression that matches the whole name.
    return quote(name)
