"""Rules that get in one another's way: found by trying them on a URL made up so that both apply, and on real ones.

*Which rules are refused.* Two rules clash if they have the same order and the same specificity, so that nothing but
their figures says which goes first; write the same key; and there is a URL on which both fire and which ends
differently depending on which goes first. That URL is made up from their conditions and shown in the message, so a
refusal is never a guess; a clash for which no such URL is found is not refused, and the order of application
(figures, then id) decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import TYPE_CHECKING

from undust.errors import BookError
from undust.rules.compiled import CompiledRule, compile_rule
from undust.rules.condition import Condition
from undust.rules.pattern import parse_key, parse_pattern
from undust.rules.refinement import holds, sides
from undust.rules.rule import Rule

if TYPE_CHECKING:
    from undust.rules.canonicalizer import Canonicalizer

MAX_PAIRS = 20_000
MAX_TRIES = 24
ROUNDS = 10


@dataclass(frozen=True)
class Conflict:
    """Two rules that clash, and the URL that shows it."""

    first: Rule
    second: Rule
    url: str
    one: str
    other: str

    def __str__(self) -> str:
        return (
            f"{self.first.id} ({self.first.describe()}) and {self.second.id} ({self.second.describe()}) are equally "
            f"specific, and {self.url} becomes {self.one} or {self.other}, depending on which goes first; "
            "give one of them a higher `order`, or narrow it"
        )


def conflicts(rules: Iterable[Rule], hosts: Sequence[str] = ()) -> Iterator[Conflict]:
    """All pairs of rules that clash, as defined above; `hosts` are those of the site.

    >>> one, two, other = ({key: value} for key, value in (("query[s]", "1"), ("query[s]", "2"), ("query[t]", "2")))
    >>> rules = [Rule(when={"query[s]": "{}"}, do=do) for do in (one, two, other)]
    >>> [(c.url, sorted([c.one, c.other])) for c in conflicts(rules)]
    [('http://www.example.com/?s=x', ['http://www.example.com/?s=1', 'http://www.example.com/?s=2'])]
    """
    by_key: dict[tuple[bool, int, str], list[Rule]] = {}
    for rule in {rule.id: rule for rule in rules}.values():
        for part in _parts(rule):
            # Guarded rules come after all others: the two kinds do not meet.
            by_key.setdefault((rule.guard is not None, rule.order, part), []).append(rule)
    tried: set[tuple[str, str]] = set()
    for some in by_key.values():
        if len(some) < 2:
            continue
        ready: dict[str, CompiledRule] = {}
        equals: dict[tuple[int, ...], list[Rule]] = {}
        for rule in sorted(some, key=lambda rule: rule.id):
            equals.setdefault(rule.specificity, []).append(rule)
        for group in equals.values():
            for a, b in _pairs(group):
                if (a.id, b.id) in tried or len(tried) >= MAX_PAIRS:
                    continue
                tried.add((a.id, b.id))
                if not _same_key(a, b):
                    continue
                for rule in (a, b):
                    if rule.id not in ready:
                        ready[rule.id] = compile_rule(rule)
                found = _clash(ready[a.id], ready[b.id], hosts)
                if found is not None:
                    yield found


def _pairs(group: list[Rule]) -> Iterator[tuple[Rule, Rule]]:
    """Pairs that are not for different values of one key: those never meet, and they are most of a large book."""
    known = [
        {key: value for key, value in rule.when.items() if isinstance(value, str) and "{" not in value}
        for rule in group
    ]
    for i, a in enumerate(group):
        for j in range(i + 1, len(group)):
            if not any(key in known[j] and known[j][key] != value for key, value in known[i].items()):
                yield a, group[j]


def _parts(rule: Rule) -> set[str]:
    """The components a rule writes; a parameter is one by itself unless the whole query is written too."""
    parts = set()
    for text in rule.do:
        if text == "substitute":
            return {"substitute"}
        key = parse_key(text)
        parts.add(f"query[{key.name}]" if key.kind == "query" and key.name is not None else key.kind)
    return parts


def _same_key(a: Rule, b: Rule) -> bool:
    """Whether two rules write a key in common."""
    if ("substitute" in a.do) != ("substitute" in b.do):
        return False
    if "substitute" in a.do:
        return True
    for one in a.do:
        for other in b.do:
            k, m = parse_key(one), parse_key(other)
            if k == m:
                return True
            if k.kind != m.kind or k.name != m.name:
                continue
            # `path` and `path[0]`; `path[0]` and `path[-1]` may be one segment.
            if k.position is None or m.position is None or (k.position < 0) != (m.position < 0):
                return True
    return False


def _clash(a: CompiledRule, b: CompiledRule, hosts: Sequence[str]) -> Conflict | None:
    for url in islice(meetings(a.rule, b.rule, hosts), MAX_TRIES):
        if a.apply(url) is None or b.apply(url) is None:
            continue
        one, other = _run((a, b), url), _run((b, a), url)
        if one != other:
            return Conflict(a.rule, b.rule, url, one, other)
    return None


def _run(rules: Sequence[CompiledRule], url: str) -> str:
    for _ in range(ROUNDS):
        before = url
        for rule in rules:
            url = rule.apply(url) or url
        if url == before:
            break
    return url


# -- made-up URLs --------------------------------------------------------

_SAMPLES = {
    "int": ("7", "0"),
    "hex": ("0123456789abcdef",),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "date": ("2006-03-01",),
    "slug": ("a-b",),
    "word": ("abc",),
    "session": ("8KpX2dQv0ZrT7yLm",),
    "any": ("x", "7", "A"),
    "rest": ("x", "x/y", ""),
}


def meetings(a: Rule, b: Rule, hosts: Sequence[str] = ()) -> Iterator[str]:
    """URLs on which both rules may fire."""
    if "substitute" in a.do and "substitute" in b.do:
        yield from _overlaps(a, b)
        return
    head = f"http://{_host(a, b, hosts)}"
    if "url" in a.when or "url" in b.when:
        yield from _values("url", a, b)
        return
    for path, fields in product(_paths(a, b), _queries(a, b)):
        yield head + path + (f"?{fields}" if fields else "")


def _overlaps(a: Rule, b: Rule) -> Iterator[str]:
    """Texts in which the two substitutions share tokens."""
    (x, _), (y, _) = sides(a), sides(b)
    for one, two in ((x, y), (y, x)):
        for size in range(min(len(one), len(two)), 0, -1):
            if one[-size:] == two[:size]:
                yield _wrap((*one, *two[size:]))
        for at in range(len(one) - len(two) + 1):
            if one[at : at + len(two)] == two:
                yield _wrap(one)


def _wrap(tokens: Sequence[str]) -> str:
    start, end = tokens[:1] == ("^",), tokens[-1:] == ("$",)
    text = "".join(tokens[start : len(tokens) - end])
    return ("" if start else "http://www.example.com/a/") + text + ("" if end else "/z")


def _host(a: Rule, b: Rule, hosts: Sequence[str]) -> str:
    named = [value for rule in (a, b) for value in _listed(rule.when.get("host"))]
    known = [*named, *a.scope.hosts, *b.scope.hosts, *hosts]
    known += [domain for rule in (a, b) if (domain := rule.scope.domain)]
    for host in known:
        if all(
            rule.scope.covers_host(host.partition(":")[0], host.partition(":")[2] or None) for rule in (a, b)
        ):
            return host
    return "www.example.com"


def _paths(a: Rule, b: Rule) -> Iterator[str]:
    if "path" in a.when or "path" in b.when:
        yield from _values("path", a, b)
        return
    base = max((rule.scope.path or "/" for rule in (a, b)), key=len)
    if base != "/":
        base = base.rstrip("/") + "/"
    keys = sorted(
        {key for rule in (a, b) for key in (*rule.when, *rule.do) if key.startswith("path[")},
        key=lambda key: parse_key(key).position or 0,
    )
    places = [parse_key(key).position or 0 for key in keys]
    least = max([place + 1 if place >= 0 else -place for place in places], default=0)
    for extra in (0, 1):
        segments = base.strip("/").split("/") if base != "/" else []
        segments += [f"x{n}" for n in range(max(0, least - len(segments) + extra))]
        for chosen in islice(product(*(list(_values(key, a, b)) or ["9z"] for key in keys)), 4):
            now = list(segments)
            for place, value in zip(places, chosen, strict=True):
                if -len(now) <= place < len(now):
                    now[place] = value
            yield "/" + "/".join(now) if now else base


def _queries(a: Rule, b: Rule) -> Iterator[str]:
    if "query" in a.when or "query" in b.when:
        yield from _values("query", a, b)
        return
    exact = [condition for rule in (a, b) if isinstance(condition := rule.when.get("names"), tuple)]
    names: dict[str, None] = {}
    for rule in (a, b):
        for text in (*rule.when, *rule.do):
            if text.startswith("query["):
                name = parse_key(text).name
                if name and not (f"query[{name}]" in rule.when and rule.when[f"query[{name}]"] is None):
                    names[name] = None
    absent = {key for rule in (a, b) for key, condition in rule.when.items() if condition is None}
    wanted = [name for name in (exact[0] if exact else names) if f"query[{name}]" not in absent]
    values = [list(islice(_values(f"query[{name}]", a, b), 3)) or ["9z"] for name in wanted]
    for chosen in islice(product(*values), 6):
        yield "&".join(f"{name}={value}" for name, value in zip(wanted, chosen, strict=True))
    if any("query" in rule.do for rule in (a, b)):
        yield "z=1&a=2&a=1&b="


def _values(key: str, a: Rule, b: Rule) -> Iterator[str]:
    """Values of a key that meet the conditions of both rules."""
    conditions = [rule.when[key] for rule in (a, b) if key in rule.when]
    seen = set()
    for condition in conditions or ["9z"]:  # a value no rule has in mind
        for value in _examples(key, condition):
            if value not in seen and all(holds(key, other, value) for other in conditions):
                seen.add(value)
                yield value


def _examples(key: str, condition: Condition) -> Iterator[str]:
    if isinstance(condition, Mapping):
        yield from (value for value in ("0", "zz", "x1") if value not in condition["not"])
    elif isinstance(condition, tuple):
        yield from condition[:8]
    elif condition is not None:
        pattern = parse_pattern(condition, parse_key(key))
        samples = [_SAMPLES[group.type] for group in pattern.groups]
        for chosen in islice(product(*samples), 8):
            out = [pattern.literals[0]]
            for value, literal in zip(chosen, pattern.literals[1:], strict=True):
                out += [value, literal]
            yield "".join(out)


def _listed(condition: Condition) -> tuple[str, ...]:
    if isinstance(condition, tuple):
        return condition
    return (condition,) if isinstance(condition, str) and "{" not in condition else ()


# -- proof on real URLs --------------------------------------------------


@dataclass(frozen=True)
class Proof:
    """A rule set that was applied twice to URLs, and what had to go so that the second time changes nothing."""

    rules: tuple[Rule, ...]
    removed: tuple[Rule, ...]  # status `rejected`, with the reason in `why`


def prove(rules: Iterable[Rule], urls: Sequence[str], hosts: Sequence[str] = ("*",)) -> Proof:
    """Take out the weaker rule of each clash, cycle or endless chain, until the rules settle on all `urls`.

    "Weaker" is the one of lower status, then lower precision, then lower support, then higher id. Rules that are
    rejected or disabled are left as they are.

    >>> there = Rule(do={"path": "/b"}, when={"path": "/a"}, status="likely")
    >>> back = Rule(do={"path": "/a"}, when={"path": "/b"})
    >>> proof = prove([there, back], ["http://example.com/a"])
    >>> [rule.describe() for rule in proof.rules], proof.removed[0].why[:23]
    (['*: when path is /b: set path to /a'], 'runs in a circle on htt')
    """
    from undust.rules.book import RuleBook, SiteRules
    from undust.rules.canonicalizer import LEVELS, Canonicalizer

    left = {rule.id: rule for rule in rules}
    removed: list[Rule] = []

    def remove(rule: Rule, why: str) -> None:
        removed.append(replace(left.pop(rule.id), status="rejected", why=why))

    def live() -> list[Rule]:
        return [rule for rule in left.values() if rule.status in LEVELS["likely"]]

    for conflict in list(conflicts(live(), [host for host in hosts if host != "*"])):
        if conflict.first.id in left and conflict.second.id in left:
            weak, strong = sorted((conflict.first, conflict.second), key=_strength)
            remove(weak, f"clashes with {strong.id} on {conflict.url}")
    waiting: list[str] | None = None  # URLs that made trouble: tried first, it goes faster
    while True:
        site = SiteRules("*" if "*" in hosts else hosts[0], tuple(h for h in hosts if h != "*"), live())
        canon = Canonicalizer(RuleBook({site.name: site}), level="likely", check=False)
        stuck = canon.stuck(waiting if waiting is not None else urls)
        if not stuck:
            if waiting is None:
                return Proof(tuple(left.values()), tuple(removed))
            waiting = None
            continue
        waiting = stuck
        weak, why = _culprit(canon, stuck[0])
        remove(weak, why)


def _culprit(canon: Canonicalizer, url: str) -> tuple[Rule, str]:
    """The weakest of the rules that go round and round on a URL."""
    steps: list[tuple[Rule | None, str, str]] = []
    settled = canon.settle(url, steps)
    fired = [rule for rule, _, _ in steps if rule is not None]
    if settled.cycle:
        # The circle is walked once: of all steps those since its first URL.
        begin = next(place for place, (_, before, _) in enumerate(steps) if before in settled.cycle)
        round_ = [rule for rule, _, _ in steps[begin:] if rule is not None]
        return min(round_ or fired, key=_strength), f"runs in a circle on {url}"
    often = Counter(rule.id for rule in fired)
    again = [rule for rule in fired if often[rule.id] > 1] or fired or list(canon.book.rules())
    return min(again, key=_strength), f"comes to no end on {url}"


def _strength(rule: Rule) -> tuple[int, float, int, tuple[int, ...]]:
    status = ("likely", "probable", "validated").index(rule.status)
    known = rule.evidence
    return status, known.precision_low or 0.0, known.support or 0, tuple(-ord(char) for char in rule.id)


def refuse(rules: Iterable[Rule], hosts: Sequence[str], site: str) -> None:
    """BookError naming two rules of a site that clash, if there are any."""
    for conflict in conflicts(rules, hosts):
        raise BookError(f"site {site}: {conflict}", rule=conflict.first.id, field="order")
