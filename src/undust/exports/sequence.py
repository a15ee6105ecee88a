"""Rewrites one after the other, once: what regular-expression targets do. Here it is made sure that once is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from undust.exports.company import Company
from undust.exports.expression import Rewrite, rewrites
from undust.exports.target import Cannot, NotExpressible
from undust.rules import Canonicalizer, Rule, RuleBook

MAX_PASSES = 3
MOST_GROUPS = 8
"""Servers number them with one digit, and the ninth is kept to be empty."""

LONGEST = 3_500
"""Characters of a line; nginx reads 4,096."""

MOST_HOPS = 20


class Sequence(NamedTuple):
    """Rewrites in their order, and the rules that have none."""

    rewrites: list[Rewrite]
    missing: list[NotExpressible]

    def once(self, url: str) -> str:
        """What one pass makes of a URL."""
        for rewrite in self.rewrites:
            url = rewrite.apply(url) or url
        return url


def translate(book: RuleBook, level: str = "probable") -> Sequence:
    """The rules of a book as rewrites; each is tried on made-up and on remembered URLs and must lead to where the
    book leads.

    >>> from undust.rules import SiteRules
    >>> rules = [Rule(do={"query[sid]": None}), Rule(do={"path": "{path|lower}"})]
    >>> found = translate(RuleBook({"a.example": SiteRules("a.example", rules=rules)}))
    >>> found.once("http://a.example/x?sid=1&t=2&sid=3"), [m.why for m in found.missing]
    ('http://a.example/x?t=2', ['regular expressions cannot do |lower'])
    """
    return _translate(Company.of(book, level))


def _translate(company: Company) -> Sequence:
    out = Sequence([], [])
    for place in company.places:
        try:
            found = rewrites(place)
        except Cannot as error:
            out.missing.append(NotExpressible(place.rule, str(error)))
            continue
        wrong = _disagreement(found, company.own[place.rule.id], company.canon)
        if wrong is None:
            out.rewrites.extend(found)
        else:
            out.missing.append(NotExpressible(place.rule, f"it would not lead where the book leads: {wrong}"))
    return out


def _disagreement(found: list[Rewrite], urls: Iterable[str], canon: Canonicalizer) -> str | None:
    for url in urls:
        for rewrite in found:
            after = rewrite.apply(url)
            if after is not None and after != url and canon(after) != canon(url):
                return url
    return None


class _ByHost:
    """Rewrites by the hosts they are for: most of a large book cannot match a URL."""

    def __init__(self, rewrites: list[Rewrite]) -> None:
        self.anywhere: list[tuple[int, Rewrite]] = []
        self.on: dict[str, list[tuple[int, Rewrite]]] = {}
        for place, rewrite in enumerate(rewrites):
            for host in rewrite.hosts or ("",):
                (self.on.setdefault(host, []) if host else self.anywhere).append((place, rewrite))
        self.known: dict[str, list[tuple[int, Rewrite]]] = {}

    def of(self, url: str) -> list[tuple[int, Rewrite]]:
        """Those that may match, in their order."""
        authority = url.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]
        found = self.known.get(authority)
        if found is None:
            names = dict.fromkeys((authority, authority.partition(":")[0]))
            some = [entry for name in names for entry in self.on.get(name, ())]
            found = self.known[authority] = sorted([*some, *self.anywhere], key=lambda entry: entry[0])
        return found

    def steps(self, url: str) -> Iterator[tuple[Rewrite, str, str]]:
        """One pass: each rewrite that changes the URL, with the URL before and after."""
        reached = -1
        while True:
            for place, rewrite in self.of(url):
                if place <= reached:
                    continue
                reached = place
                after = rewrite.apply(url)
                if after is not None and after != url:
                    yield rewrite, url, after
                    url = after
                    break  # it may be on another host now
            else:
                return

    def first(self, url: str) -> tuple[Rewrite, str] | None:
        """The first that matches, and where it leads."""
        for _, rewrite in self.of(url):
            after = rewrite.apply(url)
            if after is not None:
                return rewrite, after
        return None


def settled(book: RuleBook, level: str = "probable") -> Sequence:
    """Rewrites of which one pass is a fixpoint: those that a later one may wake are written again behind it. What
    does not come to rest on the samples all the same, or leads elsewhere than the book, is left out and listed.

    >>> from undust.rules import SiteRules
    >>> rules = [Rule(when={"path": "/a"}, do={"query[sid]": None}), Rule(when={"path": "/b"}, do={"path": "/a"})]
    >>> found = settled(RuleBook({"x.example": SiteRules("x.example", rules=rules)}))
    >>> found.once("http://x.example/b?sid=1")
    'http://x.example/a'
    """
    company = Company.of(book, level)
    start = _translate(company)
    return _sifted(start, company, _repeated, _unsettled)


Trial = Callable[[_ByHost, str, Canonicalizer], "tuple[Rule, str] | None"]


def _sifted(
    start: Sequence, company: Company, arranged: Callable[[list[Rewrite]], list[Rewrite]], trial: Trial
) -> Sequence:
    """The rewrites as they are arranged, without the rules that fail the trial on one of the URLs."""
    left, missing, urls = start.rewrites, list(start.missing), company.urls()
    out = arranged(left)
    ready, clean = _ByHost(out), False
    while not clean:
        clean = True
        for url in urls:
            while (failed := trial(ready, url, company.canon)) is not None:
                rule, why = failed
                missing.append(NotExpressible(rule, why))
                left = [rewrite for rewrite in left if rewrite.rule.id != rule.id]
                out = arranged(left)
                ready, clean = _ByHost(out), False
    return Sequence(out, missing)


def _unsettled(ready: _ByHost, url: str, canon: Canonicalizer) -> tuple[Rule, str] | None:
    """A rule that leads elsewhere than the book, or would change in a second pass what the first has made."""
    at = url
    for rewrite, before, after in ready.steps(url):
        if canon(after) != canon(before):
            return rewrite.rule, f"with the others it would not lead where the book leads: {url}"
        at = after
    for rewrite, _, _ in ready.steps(at):
        return rewrite.rule, "with the others it does not come to rest in one pass"
    return None


def _repeated(rewrites: list[Rewrite]) -> list[Rewrite]:
    """The list, and behind it again and again what the end of the list may have woken."""
    out, before = list(rewrites), rewrites
    near = _ByHost(rewrites)
    for _ in range(MAX_PASSES - 1):
        again = set(map(id, before))
        awake = []
        for place, rewrite in enumerate(rewrites):
            hosts = rewrite.hosts or (*near.on, "")
            others = (entry for host in hosts for entry in (*near.on.get(host, ()), *near.anywhere))
            # What stands in the same round behind the one that wakes it has its turn already.
            done = id(rewrite) in again
            if any(
                id(o) in again and not (done and place > n) and _wakes(o.rule, rewrite.rule)
                for n, o in others
            ):
                awake.append(rewrite)
        if not awake:
            break
        out += awake
        before = awake
    return out


def _wakes(writer: Rule, reader: Rule) -> bool:
    """Whether `reader` may fire on what `writer` writes where it did not before."""
    if writer.id == reader.id:
        return False
    if "substitute" in writer.do or "substitute" in reader.do:
        return True
    read = {*reader.when, *reader.do}
    kinds = {key.partition("[")[0] for key in read} | ({"path"} if reader.scope.path else set())
    for key, action in writer.do.items():
        kind = key.partition("[")[0]
        if kind in ("path", "matrix") and kinds & {"path", "matrix"}:
            return True
        if kind in ("host", "scheme", "port") and (kinds & {"host", "scheme", "port"} or reader.scope.hosts):
            return True
        if kind == "query":
            if key == "query":
                return True  # it may have held semicolons, and been left alone for them
            if action is None and (read & {"names", "query"} or reader.when.get(key, "") is None):
                return True
            if action is not None and read & {"names", "query", key}:
                return True
    return False


def _circling(ready: _ByHost, url: str, canon: Canonicalizer) -> tuple[Rule, str] | None:
    """A rule that leads elsewhere than the book, or takes part in an endless chain of redirects."""
    seen = {url}
    while (found := ready.first(url)) is not None:
        rewrite, after = found
        if after in seen or len(seen) > MOST_HOPS:
            return rewrite.rule, "it would redirect in a circle"
        if canon(after) != canon(url):
            return rewrite.rule, f"with the others it would not lead where the book leads: {url}"
        seen.add(after)
        url = after
    return None


def redirects(book: RuleBook, level: str = "probable") -> Sequence:
    """Rewrites for a server that answers the first match with a redirect: none fires on what it leads to."""
    company = Company.of(book, level)
    start = _translate(company)
    missing = list(start.missing)
    known = {m.rule.id for m in missing}
    for rewrite in start.rewrites:
        text = "".join(map(str, rewrite.replacement))
        why = None
        if rewrite.groups > MOST_GROUPS:
            why = "it needs more than eight groups"
        elif not (rewrite.pattern + text).isascii():
            why = "a server sees other than ASCII characters in more than one way"
        elif "$" in text or not _one_line(rewrite):
            why = "its text would be read as a variable"
        elif len(rewrite.pattern) + len(text) > LONGEST:
            why = "it is longer than what a server reads of a line"
        if why is not None and rewrite.rule.id not in known:
            missing.append(NotExpressible(rewrite.rule, why))
            known.add(rewrite.rule.id)
    left = [rewrite for rewrite in start.rewrites if rewrite.rule.id not in known]
    return _sifted(Sequence(left, missing), company, lambda some: list(dict.fromkeys(some)), _circling)


def _one_line(rewrite: Rewrite) -> bool:
    text = "".join(map(str, rewrite.replacement))
    return text.isprintable() and not set('"\\%{} ') & set(text)
