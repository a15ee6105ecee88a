"""From a rule book to a function on URLs: host lookup, normal form, the site's rules to a fixpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from undust.errors import UsageError
from undust.rules.book import RuleBook
from undust.rules.columns import convert
from undust.rules.compiled import compile_condition
from undust.rules.mutable import MutableUrl
from undust.rules.program import Program
from undust.rules.rule import Rule
from undust.url import lower_host, normal, normal_escapes, parse, split_authority, split_key

LEVELS: Final = {
    "validated": frozenset({"validated"}),
    "probable": frozenset({"validated", "probable"}),
    "likely": frozenset({"validated", "probable", "likely"}),
}
MAX_ROUNDS: Final = 10
# Caches are emptied when they reach this size: a stream of ever new hosts or paths must not fill the memory.
CACHE: Final = 1 << 16

LONG: Final = 1 << 10

# scheme://authority as a whole, and nothing that could belong to another component
_PREFIX = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*)?://[^/?#]*\Z")

Step = tuple["Rule | None", str, str]


@dataclass(frozen=True)
class Explanation:
    """What happened to a URL: each rule that changed it, with the URL before and after. `print` it.

    The rule of a step is None where the RFC 3986 normal form changed the URL. `trouble` says why rules that
    did fire were not followed: they ran in a circle, or came to no end.
    """

    steps: tuple[Step, ...]
    url: str
    key: str
    trouble: str | None = None

    def __str__(self) -> str:
        lines = []
        for rule, before, after in self.steps:
            name = "normal form (RFC 3986)" if rule is None else f"{rule.id} {rule.status}: {rule.describe()}"
            lines += [f"  {before}", f"    {name}", f"  {after}"]
        # What one step gives is what the next one takes: print it once.
        shown = [line for place, line in enumerate(lines) if place == 0 or line != lines[place - 1]]
        if self.trouble:
            shown.append(f"    {self.trouble}")
        shown.append(f"= {self.url}")
        if self.key != self.url:
            shown.append(f"key {self.key}")
        return "\n".join(shown)


@dataclass(frozen=True)
class Settled:
    """Where the rules lead: a URL, and the URLs passed through if they led nowhere (a cycle, or no end)."""

    url: str
    cycle: tuple[str, ...] = ()
    endless: bool = False


class Canonicalizer:
    """Canonical URLs and keys by a rule book.

    A URL whose host is not in the book comes back untouched. Any other is brought to the RFC 3986 normal form
    (`normal=False`: is not), then the rules of its host are applied in their order, again and again until
    nothing changes, at most 10 rounds. Should the rules run in a circle the smallest URL of the circle is
    taken; should they come to no end, the normal form. So applying it twice never changes anything.

    Parameters
    ----------
    book: the rules.
    level: the weakest status that is applied: `validated`, `probable` or `likely`.
    normal: whether the RFC 3986 normal form is a part of it.

    Examples
    --------
    >>> from undust.rules import Rule, RuleBook, SiteRules
    >>> book = RuleBook({"example.com": SiteRules("example.com", (), [Rule(do={"query[sid]": None})])})
    >>> canon = Canonicalizer(book)
    >>> canon("http://Example.com:80/a?sid=1&t=2"), canon("http://other.example/?sid=1")
    ('http://example.com/a?t=2', 'http://other.example/?sid=1')
    >>> canon.map(["http://example.com/?sid=1", None])
    ['http://example.com/', None]
    >>> print(canon.explain("http://example.com/a?sid=1"))
      http://example.com/a?sid=1
        22fa29ffe885 probable: *: drop sid
      http://example.com/a
    = http://example.com/a
    """

    def __init__(self, book: RuleBook, level: str = "probable", normal: bool = True) -> None:
        if level not in LEVELS:
            raise UsageError(f"unknown level {level!r}; known are {', '.join(LEVELS)}")
        self.book = book
        self.level = level
        self.normal = normal
        self._hosts: dict[str, list[Rule]] = {}
        self._domains: dict[str, list[Rule]] = {}
        self._anywhere: list[Rule] | None = None
        self._programs: dict[tuple[str, ...], Program] = {}
        self._prefixes: dict[str, tuple[Program, bool] | None] = {}
        self._heads: dict[str, tuple[Program, int, bool] | None] = {}
        for site in book.sites.values():
            rules = [rule for rule in site.rules if rule.status in LEVELS[level]]
            if site.name == "*":
                self._anywhere = (self._anywhere or []) + rules
            elif book.site_key == "domain":
                self._domains.setdefault(site.name, []).extend(rules)
            for host in site.hosts:
                self._hosts.setdefault(host, []).extend(rules)
            for rule in rules:
                for host in rule.scope.hosts:
                    self._hosts.setdefault(host, []).append(rule)
                if rule.scope.domain is not None:
                    self._domains.setdefault(rule.scope.domain, []).append(rule)

    def __reduce__(self) -> tuple[Any, ...]:
        return Canonicalizer, (self.book, self.level, self.normal)

    # -- one URL ------------------------------------------------------------

    def __call__(self, url: str) -> str:
        """The canonical URL."""
        out = self._many((url,))[0]
        if out is None:
            raise UsageError(f"a URL is a str, not {type(url).__name__}")
        return out

    def key(self, url: str) -> str:
        """What identifies the page: the canonical URL with `*` for every value that is ignored."""
        return self._key(self(url))

    def explain(self, url: str) -> Explanation:
        """Which rules fire, in order, and what each does."""
        steps: list[Step] = []
        settled = self.settle(url, steps)
        trouble = None
        if settled.cycle:
            trouble = "these rules run in a circle: the smallest of its URLs is taken"
        elif settled.endless:
            trouble = "these rules come to no end: none is applied"
        return Explanation(tuple(steps), settled.url, self._key(settled.url), trouble)

    def settle(self, url: str, steps: list[Step] | None = None) -> Settled:
        """The canonical URL, and whether the rules went in a circle or came to no end."""
        program = self._program(url)
        if program is None:
            return Settled(url)
        start = self._clean(url, steps)
        return self._run(start, program, program.candidates(start), steps)

    def _run(
        self, start: str, program: Program | None, mask: int, steps: list[Step] | None = None
    ) -> Settled:
        """Apply the rules of `program` that are in `mask`, then all that what they did calls for."""
        u = MutableUrl(start)
        seen = [start]
        for _ in range(MAX_ROUNDS):
            if not mask or program is None:
                return Settled(seen[-1])
            place = u.scheme, u.authority
            before = seen[-1]
            fired = False
            while mask:
                lowest = mask & -mask
                mask ^= lowest
                number = lowest.bit_length() - 1
                changed = program.compiled(number).apply_parsed(u)
                if u.overlong:
                    return Settled(start, endless=True)
                if changed:
                    fired = True
                    if steps is not None:
                        steps.append((program.rules[number], before, str(u)))
                        before = str(u)
                    if place != (u.scheme, u.authority):
                        break  # another host, other rules: a new round
                    mask = program.look(u) & -(lowest << 1)
            if not fired:
                return Settled(seen[-1])
            text = str(u)
            now = self._clean(text, steps)
            if now == seen[-1]:
                return Settled(now)
            if now in seen:
                cycle = tuple(seen[seen.index(now) :])
                return Settled(min(cycle, key=lambda v: (len(v), v)), cycle)
            seen.append(now)
            if now is not text:
                u = MutableUrl(now, u.limit)
            if place != (u.scheme, u.authority):
                program = self._program(now)
            mask = 0 if program is None else program.look(u)
        return Settled(start, endless=True)

    def _clean(self, url: str, steps: list[Step] | None = None) -> str:
        out = normal(url) if self.normal else url
        if steps is not None and out != url:
            steps.append((None, url, out))
        return out

    def _key(self, url: str) -> str:
        program = self._program(url)
        if program is None or not program.stars:
            return url
        u = MutableUrl(url)
        stars = [edit for number in program.stars for edit in program.compiled(number).ignored(u)]
        for edit in stars:
            edit.write(u, "*")
        return str(u)

    # -- which rules --------------------------------------------------------

    def _program(self, url: str) -> Program | None:
        """The rules for the URL's host; None: the book does not know it, or there is no host."""
        scheme, authority, _, _, _ = parse(url)
        if authority is None:
            return None
        found = self._prefix(f"{scheme or ''}://{authority}")
        return None if found is None else found[0]

    def _prefix(self, prefix: str) -> tuple[Program, bool] | None:
        """For `scheme://authority`: its program, and whether it is normal. None: the host is not known."""
        if prefix in self._prefixes:
            return self._prefixes[prefix]
        if len(self._prefixes) >= CACHE:
            self._prefixes.clear()
            self._programs.clear()
            self._heads.clear()
        found = rules = None
        scheme, _, authority = prefix.partition("://")
        if _PREFIX.match(prefix):
            _, host, port = split_authority(authority)
            rules = self._rules(lower_host(host), port)
        if rules is not None:
            u = MutableUrl(f"{prefix}/" if scheme else f"//{authority}/")
            rules = [rule for rule in rules if _may_hold(rule, u)]
            place = tuple(sorted(rule.id for rule in rules))
            if place not in self._programs:
                self._programs[place] = Program(rules)
            found = self._programs[place], not self.normal or normal(f"{prefix}/") == f"{prefix}/"
        if len(prefix) <= LONG:
            self._prefixes[prefix] = found
        return found

    def _rules(self, host: str, port: str | None) -> list[Rule] | None:
        known = [self._hosts[name] for name in (host, f"{host}:{port}") if name in self._hosts]
        labels = host.split(".")
        for start in range(max(0, len(labels) - 10), len(labels)):
            domain = ".".join(labels[start:])
            if domain in self._domains:
                known.append(self._domains[domain])
        if self._anywhere is not None:
            known.append(self._anywhere)
        if not known:
            return None
        rules = {rule.id: rule for some in known for rule in some if rule.scope.covers_host(host, port)}
        return list(rules.values())

    # -- many URLs ----------------------------------------------------------

    def map(self, urls: Any, emit: str = "url") -> Any:
        """Canonical URLs (or keys) of many; the same kind of container comes back, nulls where no text was.

        Takes a list, a tuple, any iterable of str (gives a list), an Arrow array or chunked array, a pandas or
        Polars series.
        """
        if emit not in ("url", "key"):
            raise UsageError(f"unknown emit {emit!r}; known are url, key")
        return convert(urls, self._many if emit == "url" else self._many_keys)

    def _many_keys(self, urls: Iterable[Any]) -> list[str | None]:
        return [None if url is None else self._key(url) for url in self._many(urls)]

    def _many(self, urls: Iterable[Any]) -> list[str | None]:
        """The loop all speed hangs on: for a URL that no rule can change it makes a handful of look-ups.

        What stands before the `?` repeats itself in most crawls, so what is known of it (is it normal, which
        rules does the path leave) is kept. All that is out of the ordinary goes to `settle`.
        """
        out: list[str | None] = []
        append = out.append
        heads, prefixes, clean = self._heads, self._prefixes, self.normal
        for url in urls:
            if type(url) is not str:
                append(self._many([str(url)])[0] if isinstance(url, str) else None)
                continue
            mark = url.find("?")
            if mark > 0:
                head, query = url[:mark], url[mark + 1 :]
                known = heads[head] if head in heads else self._head(head)
                if known is None:
                    append(url)
                    continue
                program, mask, plain = known
                # An escape that is not in normal form is all that can be wrong behind the `?`.
                if not plain or "#" in query or (clean and "%" in query and normal_escapes(query) != query):
                    append(self.settle(url).url)
                    continue
                if mask:
                    mask &= program.for_query(query)
            else:
                slash = url.find("/", 8)
                prefix, path = url[:slash], url[slash:]
                found = prefixes[prefix] if prefix in prefixes else self._prefix(prefix)
                if found is None or slash < 0 or not found[1] or "#" in path or (clean and _odd(path)):
                    append(self.settle(url).url)
                    continue
                program, mask = found[0], found[0].any_query
                mask &= program.for_path(path)
            if mask and program.texts:
                mask = program.for_texts(url, mask)
            append(self._run(url, program, mask).url if mask else url)
        return out

    def _head(self, head: str) -> tuple[Program, int, bool] | None:
        """For what stands before the `?`: program, rules the path leaves, whether it is plain and normal."""
        if len(self._heads) >= CACHE:
            self._heads.clear()
        scheme, _, path, _, fragment = parse(head)
        found = None
        program = self._program(head)
        if program is not None:
            plain = fragment is None and scheme is not None and (not self.normal or normal(head) == head)
            found = program, program.for_path(path), plain
        if len(head) <= LONG:
            self._heads[head] = found
        return found


def _odd(path: str) -> bool:
    """Whether the path is perhaps not in normal form."""
    return "/." in path or ("%" in path and normal_escapes(path) != path)


def _may_hold(rule: Rule, u: MutableUrl) -> bool:
    """Whether the conditions on scheme, host and port hold, which are the same for all URLs with one prefix."""
    return all(
        compile_condition(key, condition)(u, {})
        for key, condition in rule.when.items()
        if key != "names" and split_key(key).kind in ("scheme", "host", "port")
    )
