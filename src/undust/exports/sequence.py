"""Rewrites one after the other, once: what regular-expression targets do. Here it is made sure that once is enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from undust.exports.expression import Rewrite, rewrites
from undust.exports.target import Cannot, NotExpressible, placed
from undust.rules import Canonicalizer, Rule, RuleBook
from undust.rules.conflict import meetings

MAX_PASSES = 3
SAMPLES = 8
MOST_GROUPS = 8
"""Servers number them with one digit, and the ninth is kept to be empty."""


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
    canon = Canonicalizer(book, level)
    out = Sequence([], [])
    for place in placed(book, level):
        try:
            found = rewrites(place)
        except Cannot as error:
            out.missing.append(NotExpressible(place.rule, str(error)))
            continue
        wrong = _disagreement(found, _samples(place.rule, place.hosts), canon)
        if wrong is None:
            out.rewrites.extend(found)
        else:
            out.missing.append(NotExpressible(place.rule, f"it would not lead where the book leads: {wrong}"))
    return out


def samples(book: RuleBook, level: str = "probable") -> list[str]:
    """URLs on which the rules fire: those remembered with them, and made-up ones."""
    return list(dict.fromkeys(u for p in placed(book, level) for u in _samples(p.rule, p.hosts)))


def _samples(rule: Rule, hosts: tuple[str, ...]) -> Iterator[str]:
    for pair in rule.examples:
        yield from pair
    for url in islice(meetings(rule, rule, hosts), SAMPLES):
        if not hosts or any(url.startswith(f"http://{host}/") for host in hosts):
            yield url


def _disagreement(found: list[Rewrite], urls: Iterable[str], canon: Canonicalizer) -> str | None:
    for url in urls:
        for rewrite in found:
            after = rewrite.apply(url)
            if after is not None and after != url and canon(after) != canon(url):
                return url
    return None


def settled(book: RuleBook, level: str = "probable") -> Sequence:
    """Rewrites of which one pass is a fixpoint: those that a later one may wake are written again behind it. What
    does not come to rest on the samples all the same is left out and listed.

    >>> from undust.rules import SiteRules
    >>> rules = [Rule(when={"path": "/a"}, do={"query[sid]": None}), Rule(when={"path": "/b"}, do={"path": "/a"})]
    >>> found = settled(RuleBook({"x.example": SiteRules("x.example", rules=rules)}))
    >>> found.once("http://x.example/b?sid=1")
    'http://x.example/a'
    """
    left, missing = translate(book, level)
    urls = samples(book, level)
    while True:
        out = Sequence(_repeated(left), missing)
        restless = next((rule for url in urls if (rule := _restless(out, url)) is not None), None)
        if restless is None:
            return out
        missing.append(NotExpressible(restless, "with the others it does not come to rest in one pass"))
        left = [rewrite for rewrite in left if rewrite.rule.id != restless.id]


def _repeated(rewrites: list[Rewrite]) -> list[Rewrite]:
    """The list, and behind it again and again what the end of the list may have woken."""
    out, before = list(rewrites), rewrites
    for _ in range(MAX_PASSES - 1):
        awake = []
        for place, rewrite in enumerate(rewrites):
            later = set(map(id, rewrites[place + 1 :])) & set(map(id, before))
            if any(_wakes(other.rule, rewrite.rule) for other in rewrites[place + 1 :] if id(other) in later):
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
            if key == "query" and kinds & {"query", "names"}:
                return True
            if action is None and (read & {"names", "query"} or reader.when.get(key, "") is None):
                return True
            if action is not None and read & {"names", "query", key}:
                return True
    return False


def _restless(sequence: Sequence, url: str) -> Rule | None:
    """A rule that would change in a second pass what the first has made."""
    url = sequence.once(url)
    for rewrite in sequence.rewrites:
        after = rewrite.apply(url)
        if after is not None and after != url:
            return rewrite.rule
    return None


def looping(sequence: list[Rewrite], urls: list[str]) -> Rule | None:
    """A rule that takes part in an endless chain of redirects, the first match of each request deciding."""
    for url in urls:
        seen = {url}
        while True:
            hit = next(((r, after) for r in sequence if (after := r.apply(url)) is not None), None)
            if hit is None:
                break
            rewrite, url = hit
            if url in seen or len(seen) > len(sequence) + 10:
                return rewrite.rule
            seen.add(url)
    return None


def redirects(book: RuleBook, level: str = "probable") -> Sequence:
    """Rewrites for a server that answers the first match with a redirect: none fires on what it leads to."""
    start = translate(book, level)
    urls = samples(book, level)
    missing, left = list(start.missing), []
    for rewrite in start.rewrites:
        why = None
        if rewrite.groups > MOST_GROUPS:
            why = "it needs more than eight groups"
        elif not (rewrite.pattern + "".join(map(str, rewrite.replacement))).isascii():
            why = "a server sees other than ASCII characters in more than one way"
        elif "$" in "".join(map(str, rewrite.replacement)) or not _one_line(rewrite):
            why = "its text would be read as a variable"
        if why is None:
            left.append(rewrite)
        elif all(m.rule.id != rewrite.rule.id for m in missing):
            missing.append(NotExpressible(rewrite.rule, why))
    bad = {m.rule.id for m in missing}
    left = list(dict.fromkeys(r for r in left if r.rule.id not in bad))
    while (rule := looping(left, urls)) is not None:
        missing.append(NotExpressible(rule, "it would redirect in a circle"))
        left = [rewrite for rewrite in left if rewrite.rule.id != rule.id]
    return Sequence(left, missing)


def _one_line(rewrite: Rewrite) -> bool:
    text = "".join(map(str, rewrite.replacement))
    return text.isprintable() and not set('"\\%{} ') & set(text)
