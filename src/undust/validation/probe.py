"""Active probes: what the list of URLs cannot tell, the site can be asked (AFTER 2: ablation, as search engines do).

Remove: parameters that no rule is about are left out, many at once; where the page changes, half of them, and
so on, so that the few that matter among many cost few pages (group testing). Swap: where a parameter must be
there but its value does not matter, it is set to the value most pages have. Reverse: a substitution that fails is
tried the other way round. All that comes of it are candidates, which are then tried like any other rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from undust.errors import UndustError
from undust.rules import Canonicalizer, Rule, RuleBook, Scope, compile_rule
from undust.url import field_name, field_value, parse, split_query
from undust.validation.case import LEAST, Case
from undust.validation.court import Attempt, Court
from undust.validation.pages import Pages
from undust.validation.published import shrinking_first, writable

URLS_A_SECTION = 2
"""URLs on which parameters must be found to be idle before a rule is made of it."""

Section = tuple[str, str]
"""`path` or `below`, and the path."""


def reversed_rules(cases: Iterable[Case]) -> Iterator[Rule]:
    """Substitutions that failed, the other way round.

    >>> case = Case(Rule(do={"substitute": {"from": "/story?id=", "to": "/story_"}}), {})
    >>> case.verdict = False
    >>> [rule.describe() for rule in reversed_rules([case])]
    ['*: replace /story_ by /story?id=']
    """
    known = {case.rule.id for case in cases}
    for case in cases:
        if case.verdict is False and "substitute" in case.rule.do:
            for rule in shrinking_first(case.rule):
                if rule.id not in known and writable(rule):
                    yield replace(rule, status="likely", source=(*rule.source, "probe"), why=None)


def swaps(cases: Iterable[Case]) -> Iterator[Rule]:
    """For parameters that could not be dropped: set to the value that most pages have (RES-11)."""
    for case in cases:
        keys = [key for key, action in case.rule.do.items() if action is None and key.startswith("query[")]
        if case.verdict is not False or len(case.rule.do) != 1 or not keys:
            continue
        (key,) = keys
        name = key.removeprefix("query[").removesuffix("]")
        values = Counter(value for url in case.trials for value in _values(url, name) if value)
        if len(values) > 1:
            common = min(values, key=lambda value: (-values[value], value))
            when = {**case.rule.when, key: case.rule.when.get(key, "{}")}
            yield Rule(
                case.rule.scope,
                when,
                {key: {"ignore": common}},
                status="likely",
                source=(*case.rule.source, "probe"),
            )


def idle_parameters(court: Court, book: RuleBook, pages: Pages) -> Iterator[Rule]:
    """Rules that drop parameters which no rule is about and which a few URLs were found not to need."""
    for (kind, path), urls in sorted(_sections(court, book).items()):
        found: Counter[str] = Counter()
        asked: Counter[str] = Counter()
        for url in _rich(urls):
            names = sorted(names_of(url))
            idle = idle_in(url, names, lambda url, some: _same_without(court, pages, url, some))
            asked.update(names)
            found.update(idle)
            if pages.stopped:
                return
        for name in sorted(found):
            if found[name] == asked[name]:
                scope = Scope(path=path) if kind == "below" else Scope()
                when = {"path": path} if kind == "path" else {}
                yield Rule(scope, when, {f"query[{name}]": None}, status="likely", source=("probe",))


def idle_in(url: str, names: list[str], same: Callable[[str, list[str]], bool]) -> list[str]:
    """Which of the parameters a URL does not need: all at once, else by halves.

    >>> asked = []
    >>> def same(url: str, without: list[str]) -> bool:
    ...     asked.append(without)
    ...     return "id" not in without
    >>> idle_in("http://a.test/", ["a", "b", "c", "d", "e", "f", "g", "id"], same), len(asked)
    (['a', 'b', 'c', 'd', 'e', 'f', 'g'], 7)
    """
    if not names or same(url, names):
        return names
    if len(names) == 1:
        return []
    half = len(names) // 2
    return idle_in(url, names[:half], same) + idle_in(url, names[half:], same)


def names_of(url: str) -> set[str]:
    """Names of the query parameters.

    >>> sorted(names_of("http://a.test/?b=1&a=2&b=3"))
    ['a', 'b']
    """
    query = parse(url).query
    return {field_name(f) for f in split_query(query)[0]} - {""} if query else set()


def _values(url: str, name: str) -> Iterator[str | None]:
    query = parse(url).query
    return (field_value(f) for f in split_query(query)[0] if field_name(f) == name) if query else iter(())


def _sections(court: Court, book: RuleBook) -> dict[Section, list[str]]:
    """URLs with parameters that the rules leave, by script or by folder."""
    try:
        canon: Callable[[str], str] = Canonicalizer(book, level="validated")
    except UndustError:
        canon = str
    left = sorted({after for url in court.urls if "?" in url and "?" in (after := canon(url))})
    of_path: Counter[str] = Counter(parse(url).path for url in left)
    out: defaultdict[Section, list[str]] = defaultdict(list)
    for url in left:
        path = parse(url).path
        if of_path[path] >= LEAST:
            out["path", path].append(url)
        else:
            out["below", path[: path.rindex("/") + 1] if "/" in path else "/"].append(url)
    return {section: urls for section, urls in out.items() if len(urls) >= LEAST}


def _rich(urls: list[str]) -> Iterator[str]:
    """URLs that show all parameters of a section, each twice."""
    need: Counter[str] = Counter()
    for url in urls:
        need.update(names_of(url))
    left = {name: URLS_A_SECTION for name, count in need.items() if count >= LEAST}
    for url in sorted(urls, key=lambda url: (-len(names_of(url) & set(left)), url)):
        names = {name for name in names_of(url) if left.get(name, 0) > 0}
        if names:
            left = {name: count - (name in names) for name, count in left.items()}
            yield url


def _same_without(court: Court, pages: Pages, url: str, names: list[str]) -> bool:
    outcome = compile_rule(Rule(do={f"query[{name}]": None for name in names})).apply(url)
    if outcome is None or pages.stopped:
        return False
    attempt = Attempt(url, outcome, ())
    pages.fetch([(url, 1), (outcome, 1)])
    if court.same(attempt, pages) is False:
        pages.fetch(court.witnesses(attempt, pages)[:1])
        court.learn(url, pages)
    return court.same(attempt, pages) is True
