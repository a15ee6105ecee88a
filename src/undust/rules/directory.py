"""Which rules of a book are for which host."""

from __future__ import annotations

from collections.abc import Iterable

from undust.rules.book import SiteRules
from undust.rules.rule import Rule

DEEPEST = 10
"""Labels of a host above which no domain of a book is looked for."""


class Directory:
    """Rules by host, each with the name of the site it comes from.

    >>> book = Directory()
    >>> book.add(SiteRules("a.example", ("a.example", "www.a.example")), [Rule(do={"query[sid]": None})], "host")
    >>> [(site, rule.describe()) for site, rule in book.find("www.a.example", None) or ()]
    [('a.example', '*: drop sid')]
    >>> book.find("b.example", None) is None
    True
    """

    def __init__(self) -> None:
        self._hosts: dict[str, list[tuple[str, Rule]]] = {}
        self._domains: dict[str, list[tuple[str, Rule]]] = {}
        self._anywhere: list[tuple[str, Rule]] | None = None

    def add(self, site: SiteRules, rules: Iterable[Rule], site_key: str) -> None:
        """File these rules of a site; its hosts are known from then on, even if it has no rules."""
        named = [(site.name, rule) for rule in rules]
        if site.name == "*":
            self._anywhere = (self._anywhere or []) + named
        elif site_key == "domain":
            self._domains.setdefault(site.name, []).extend(named)
        for host in site.hosts:
            self._hosts.setdefault(host, []).extend(named)
        for one in named:
            scope = one[1].scope
            for host in scope.hosts:
                self._hosts.setdefault(host, []).append(one)
            if scope.domain is not None:
                self._domains.setdefault(scope.domain, []).append(one)

    def find(self, host: str, port: str | None, *, scoped: bool = True) -> list[tuple[str, Rule]] | None:
        """Site and rule of all that covers a host, equal rules once; None: the book does not know the host.

        Not `scoped`: also what is for other hosts of the same site.
        """
        known = [self._hosts[name] for name in (host, f"{host}:{port}") if name in self._hosts]
        labels = host.split(".")
        for start in range(max(0, len(labels) - DEEPEST), len(labels)):
            domain = ".".join(labels[start:])
            if domain in self._domains:
                known.append(self._domains[domain])
        if self._anywhere is not None:
            known.append(self._anywhere)
        if not known:
            return None
        found: dict[str, tuple[str, Rule]] = {}
        for some in known:
            for site, rule in some:
                if not scoped or rule.scope.covers_host(host, port):
                    # Of several sites that have the rule the first by name, whatever the order of the book.
                    found[rule.id] = min(found.get(rule.id, (site, rule)), (site, rule), key=_site)
        return list(found.values())


def _site(one: tuple[str, Rule]) -> str:
    return one[0]
