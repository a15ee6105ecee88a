"""From a rule book to a function on URLs: host lookup, normal form, the site's rules to a fixpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from undust.errors import UsageError
from undust.rules.book import RuleBook, SiteRules
from undust.rules.compiled import CompiledRule, compile_rule
from undust.rules.mutable import MutableUrl
from undust.rules.rule import Rule
from undust.url import lower_host, normal, parse, split_authority

LEVELS = {
    "validated": ("validated",),
    "probable": ("validated", "probable"),
    "likely": ("validated", "probable", "likely"),
}
MAX_ROUNDS = 10


@dataclass(frozen=True)
class Explanation:
    """What happened to a URL: every rule that changed it, with the URL before and after. `print` it."""

    steps: tuple[tuple[Rule | None, str, str], ...]
    url: str
    key: str

    def __str__(self) -> str:
        lines = []
        for rule, before, _ in self.steps:
            lines.append(before)
            name = "normal form (RFC 3986)" if rule is None else f"{rule.id} {rule.status}: {rule.describe()}"
            lines.append(f"  {name}")
        lines.append(self.url)
        if self.key != self.url:
            lines.append(f"  key {self.key}")
        return "\n".join(lines)


class Canonicalizer:
    """Canonical URLs and keys by a rule book.

    >>> from undust.rules import Rule, RuleBook, SiteRules
    >>> book = RuleBook({"example.com": SiteRules("example.com", (), [Rule(do={"query[sid]": None})])})
    >>> canon = Canonicalizer(book)
    >>> canon("http://Example.com:80/a?sid=1&t=2"), canon("http://other.example/?sid=1")
    ('http://example.com/a?t=2', 'http://other.example/?sid=1')
    >>> canon.map(["http://example.com/?sid=1", None])
    ['http://example.com/', None]
    """

    def __init__(self, book: RuleBook, level: str = "probable", normal: bool = True) -> None:
        if level not in LEVELS:
            raise UsageError(f"unknown level {level!r}; known are {', '.join(LEVELS)}")
        self.level = level
        self.normal = normal
        self._by_host: dict[str, list[Rule]] = {}
        self._by_domain: dict[str, list[Rule]] = {}
        self._anywhere: list[Rule] | None = None
        self._programs: dict[tuple[str, str | None], list[CompiledRule] | None] = {}
        for site in book.sites.values():
            self._add(site, book.site_key)

    def _add(self, site: SiteRules, site_key: str) -> None:
        rules = [rule for rule in site.rules if rule.status in LEVELS[self.level]]
        if site.name == "*" and not site.hosts:
            self._anywhere = rules
        for host in site.hosts:
            self._by_host.setdefault(host, []).extend(rules)
        if site_key == "domain":
            self._by_domain.setdefault(site.name, []).extend(rules)
        for rule in rules:
            for host in rule.scope.hosts:
                self._by_host.setdefault(host, []).append(rule)
            if rule.scope.domain is not None:
                self._by_domain.setdefault(rule.scope.domain, []).append(rule)

    def _program(self, host: str, port: str | None) -> list[CompiledRule] | None:
        """The rules for a host in order of application; None: the book does not know the host."""
        place = host, port
        if place in self._programs:
            return self._programs[place]
        known = [self._by_host[name] for name in (host, f"{host}:{port}") if name in self._by_host]
        labels = host.split(".")
        for start in range(len(labels)):
            name = ".".join(labels[start:])
            if name in self._by_domain:
                known.append(self._by_domain[name])
        if self._anywhere is not None:
            known.append(self._anywhere)
        program = None
        if known:
            rules = {rule.id: rule for some in known for rule in some if rule.scope.covers_host(host, port)}
            program = [compile_rule(rule) for rule in sorted(rules.values(), key=lambda rule: rule.rank)]
        self._programs[place] = program
        return program

    def _rules_for(self, url: str) -> list[CompiledRule] | None:
        authority = parse(url).authority
        if authority is None:
            return None
        _, host, port = split_authority(authority)
        return self._program(lower_host(host), port)

    def __call__(self, url: str) -> str:
        """The canonical URL."""
        return self._canonical(url, None)

    def _canonical(self, url: str, steps: list[tuple[Rule | None, str, str]] | None) -> str:
        if self._rules_for(url) is None:
            return url
        start = self._normal(url, steps)
        limit = MutableUrl(start).limit
        seen = [start]
        for _ in range(MAX_ROUNDS):
            now = self._round(seen[-1], limit, steps)
            if now == seen[-1]:
                return now
            if now in seen:
                return min(seen[seen.index(now) :], key=lambda u: (len(u), u))
            seen.append(now)
        return start

    def _normal(self, url: str, steps: list[tuple[Rule | None, str, str]] | None) -> str:
        out = normal(url) if self.normal else url
        if steps is not None and out != url:
            steps.append((None, url, out))
        return out

    def _round(self, url: str, limit: int, steps: list[tuple[Rule | None, str, str]] | None) -> str:
        program = self._rules_for(url)
        if not program:
            return url
        u = MutableUrl(url, limit)
        now = url
        for rule in program:
            if rule.covers(u) and rule.apply_parsed(u):
                before, now = now, str(u)
                if steps is not None:
                    steps.append((rule.rule, before, now))
        return self._normal(now, steps)

    def key(self, url: str) -> str:
        """What identifies the page: the canonical URL with `*` for every ignored value."""
        out = self(url)
        return out

    def explain(self, url: str) -> Explanation:
        """Which rules fire, in order."""
        steps: list[tuple[Rule | None, str, str]] = []
        out = self._canonical(url, steps)
        return Explanation(tuple(steps), out, self.key(url))

    def map(self, urls: Any, emit: str = "url") -> Any:
        """Canonical URLs (or keys) of many; the same kind of container comes back."""
        one = self.key if emit == "key" else self
        out = [one(url) if isinstance(url, str) else None for url in urls]
        return tuple(out) if isinstance(urls, tuple) else out
