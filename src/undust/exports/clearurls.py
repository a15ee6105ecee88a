"""ClearURLs: the `data.min.json` shape (version 1) of its rules; it drops parameters, regardless of case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from undust.exports.company import Company
from undust.exports.expression import quote
from undust.exports.target import Cannot, Export, NotExpressible, Paths, Placed, as_drop
from undust.rules import Rule, RuleBook
from undust.rules.pattern import parse_key
from undust.url import parse

CAVEAT = (
    "version 1 (data.min.json); ClearURLs ignores the case of hosts, paths and names; it writes queries anew"
)

_CASED = re.compile(r"[A-Za-z]")
# Nothing else is the same decoded and as it stands.
_NAME = re.compile(r"[A-Za-z0-9._~\-]+\Z")


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
    wider: list[NotExpressible] = []
    company = Company.of(book, level)
    paths = Paths(place.rule for place in company.places)
    names_of: dict[str, set[str]] = {}
    for place in company.places:
        for name in _names(place.rule):
            names_of.setdefault(name.lower(), set()).add(name)
    for place in company.places:
        rule = place.rule
        try:
            place.check()
            if why := company.needed(rule):
                raise Cannot(why)
            drop = as_drop(rule)
            if drop.value is not None and _CASED.search(drop.value):
                raise Cannot("its condition on a value would be read regardless of case")
            twins = [sorted(names_of[name.lower()]) for name in drop.names if len(names_of[name.lower()]) > 1]
            if twins:
                raise Cannot(f"the case of a name matters here: {', '.join(twins[0])}")
            if paths.other_case(drop.prefix):
                raise Cannot(f"the case of a path matters here: {drop.prefix}")
            if not all(map(_NAME.match, drop.names)):
                raise Cannot("a name that is written otherwise when it is decoded")
            path = "" if drop.prefix == "/" and not drop.exact else drop.prefix
            made = _provider(place, path, drop.exact, drop.names, drop.value)
            told = [name for name in drop.names if _CASED.search(name)]
            if _CASED.search(drop.prefix):
                told.append(drop.prefix)
            if told:
                wider.append(NotExpressible(rule, f"{', '.join(told)}: read regardless of case"))
        except Cannot as error:
            missing.append(NotExpressible(rule, str(error)))
            continue
        name = (",".join(place.hosts) or place.domain or "anywhere") + path + ("$" if drop.exact else "")
        if drop.value is not None:
            name += f" {drop.names[0]}={drop.value}"
        provider = providers.setdefault(name, made)
        provider["rules"] = sorted({*provider["rules"], *map(quote, drop.names)})
        provider["exceptions"] = _exceptions(provider["rules"])
    data = {"providers": dict(sorted(providers.items()))}
    return Export(json.dumps(data, indent=2) + "\n", missing, wider=tuple(wider))


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
        some = rf"[^?#]*\?(?:[^#]*&)?{name}"
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


def _exceptions(names: list[str]) -> list[str]:
    """Where it would find the names though they are none of the query: behind a slash in a value, in the fragment, and
    in queries with semicolons, which it does not cut there. Older versions also lose some signs of a query."""
    some = "|".join(names)
    return [
        r"^[^?#]*\?(?:[^#]*[;?|]|(?:[^#]*&)?/)",
        rf"^[^?#]*\?[^#]*[/?]+(?:{some})=",
        rf"#.*(?:{some})(?:[=&]|$)",
    ]


def _names(rule: Rule) -> Iterator[str]:
    """The parameters a rule knows of: its own, and those of its examples."""
    for key in (*rule.do, *rule.when):
        if key == "names":
            yield from rule.when["names"] or ()
        elif key.startswith("query["):
            yield str(parse_key(key).name)
    for pair in rule.examples:
        for url in pair:
            yield from (one.partition("=")[0] for one in (parse(url).query or "").split("&"))
