"""Guarded rules at work: they come after all others, each followed only where the list has nothing against it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from undust.rules.compiled import CompiledRule, Test, compile_condition, compile_rule
from undust.rules.directory import Directory
from undust.rules.guard import Guard, group_names
from undust.rules.listed import Listed, Thing, Told, Values, gathered, hashed
from undust.rules.mutable import MutableUrl
from undust.rules.pattern import parse_key, parse_pattern
from undust.rules.program import Program
from undust.rules.rule import Rule
from undust.url import host_labels

MOST_GUARDED = 100
"""Guarded rules of a site: each looks at every URL of the list."""

MOST_LEAPS = 10
BLOCK = 1 << 14
CACHE = 1 << 14

Settle = Callable[[Iterable[Any]], "list[str | None]"]


class Ready(NamedTuple):
    """A guarded rule on one site, ready to run."""

    rule: Rule
    guard: Guard
    compiled: CompiledRule
    bound: tuple[str, ...]
    absent: tuple[tuple[Test, ...], ...]
    number: str | None
    site: str

    @property
    def key(self) -> tuple[str, str]:
        return self.site, self.rule.id


class Place(NamedTuple):
    """What is asked of the URLs of one host: rules that may fire there, and rules whose things it may show."""

    program: Program
    firing: tuple[Ready, ...]
    showing: tuple[Ready, ...]


class Lead(NamedTuple):
    """Where a rule would lead a URL, before the list was asked."""

    ready: Ready
    thing: Values
    raw: str


class Guarded:
    """The guarded rules of a book with a list at hand.

    A URL is settled by the other rules (and the table) first. Then the first guarded rule, in the order of
    application, that leads it to a *listed* URL and has no other page of the same thing listed, is followed; what
    comes out is settled and asked again. What runs in a circle, or on and on, stays where it was. So doing it twice
    changes nothing, and neither does the order of the list or of the URLs.
    """

    def __init__(self, directory: Directory, settle: Settle, listed: Iterable[str] | Listed) -> None:
        self.settle = settle
        self._directory = directory
        self._places: dict[tuple[str | None, str], Place | None] = {}
        self._ready: dict[tuple[str, str], Ready] = {}
        self.followed = 0
        """URLs so far that a guarded rule led elsewhere."""
        self.listed = listed if isinstance(listed, Listed) else self._read(listed)

    def many(self, settled: Sequence[str | None]) -> list[str | None]:
        """Where guarded rules lead URLs that the others have settled."""
        ends = self._ends(
            [url for url in dict.fromkeys(settled) if url is not None and self._at(url) is not None]
        )
        if not ends:
            return list(settled)
        out = [url if url is None else ends.get(url, url) for url in settled]
        self.followed += sum(a != b for a, b in zip(settled, out, strict=True))
        return out

    def leaps(self, url: str) -> tuple[list[tuple[Rule, str, str]], list[str]]:
        """The steps guarded rules make from a settled URL, and what kept others from theirs."""
        steps: list[tuple[Rule, str, str]] = []
        held: list[str] = []
        now, end = url, self._ends([url]).get(url, url)
        self.followed += end != url
        while True:
            leads = self._leads(now)
            made = self.settle([lead.raw for lead in leads])
            for lead, to in zip(leads, made, strict=True):
                why = None if to is None or to == now else self._against(lead, to)
                if why is not None:
                    held.append(f"{lead.ready.rule.id} is not followed: {why}")
                elif to is not None and to != now:
                    if now == end:
                        held.append(
                            f"{lead.ready.rule.id} is not followed: it would lead in a circle or on and on"
                        )
                        return steps, held
                    steps.append((lead.ready.rule, now, lead.raw))
                    now = to
                    break
            else:
                return steps, held

    def unused(self) -> list[tuple[Rule, str]]:
        """Rules that the list is not complete enough for, on the sites it has URLs of, and why."""
        found = []
        for key, told in sorted(self.listed.rules.items(), key=lambda one: one[0]):
            made = self._ready.get(key)
            why = None if made is None else incomplete(told, made.guard)
            if made is not None and why is not None:
                found.append((made.rule, why))
        return found

    # -- one step after the other --------------------------------------------

    def _ends(self, urls: Iterable[str]) -> dict[str, str]:
        """For those of the URLs that are led elsewhere, where to in the end."""
        trails = {url: [url] for url in urls}
        ends: dict[str, str] = {}
        for _ in range(MOST_LEAPS + 1):
            if not trails:
                break
            steps = self._steps(dict.fromkeys(trail[-1] for trail in trails.values()))
            for url, trail in list(trails.items()):
                to = steps.get(trail[-1])
                if to is None:
                    if len(trail) > 1:
                        ends[url] = trail[-1]
                    del trails[url]
                elif to in trail:
                    del trails[url]
                else:
                    trail.append(to)
        return ends

    def _steps(self, urls: Iterable[str]) -> dict[str, str]:
        """The next step of each URL that has one."""
        leads = [(url, lead) for url in urls for lead in self._leads(url)]
        made = self.settle([lead.raw for _, lead in leads])
        steps: dict[str, str] = {}
        for (url, lead), to in zip(leads, made, strict=True):
            if url not in steps and to is not None and to != url and self._against(lead, to) is None:
                steps[url] = to
        return steps

    def _leads(self, url: str) -> list[Lead]:
        """Where the rules would lead a settled URL, in the order of application."""
        place = self._at(url)
        if place is None:
            return []
        u = MutableUrl(url)
        mask = place.program.look(u.path, u.query, url)
        found = []
        while mask:
            lowest = mask & -mask
            mask ^= lowest
            lead = _lead(place.firing[lowest.bit_length() - 1], url)
            if lead is not None:
                found.append(lead)
        return found

    def _against(self, lead: Lead, to: str) -> str | None:
        """What the list has against a step; None: nothing."""
        ready = lead.ready
        told = self.listed.rules.get(ready.key) or Told()
        why = incomplete(told, ready.guard)
        if why is not None:
            return why
        if not self.listed.holds(to):
            return f"{to} is not in the list"
        thing = told.things.get(lead.thing)
        other = None if thing is None else thing.other(_page(to))
        if other is None:
            return None
        same = ", ".join(f"{n} {v}" for n, v in zip(ready.bound, lead.thing, strict=True))
        return f"the list has {other}, another page of {same}"

    # -- the list ------------------------------------------------------------

    def _read(self, urls: Iterable[str]) -> Listed:
        """One pass over the list."""
        told: dict[tuple[str, str], Told] = {}
        leads: dict[tuple[str, str], dict[Values, str]] = {}  # where the first URL of a thing would go
        forms: set[int] = set()
        seen = 0
        source = iter(urls)
        while block := list(islice(source, BLOCK)):
            seen += len(block)
            shown: list[tuple[Ready, Values, int | None]] = []
            texts: list[str] = []
            for url in dict.fromkeys(self.settle(block)):
                place = None if url is None else self._at(url)
                if place is None or url is None or hashed(url) in forms:
                    continue
                forms.add(hashed(url))
                led = {lead.ready.key: lead for lead in self._leads(url)}
                u = MutableUrl(url)
                for ready in place.showing:
                    # What the rule itself would rewrite counts as what comes out.
                    text = led[ready.key].raw if ready.key in led else url
                    for thing, number in _shown(ready, u, url):
                        shown.append((ready, thing, number))
                        texts.append(text)
                for lead in led.values():
                    shown.append((lead.ready, lead.thing, -1))
                    texts.append(lead.raw)
            for (ready, thing, number), to in zip(shown, self.settle(texts), strict=True):
                if number == -1:
                    leads.setdefault(ready.key, {}).setdefault(thing, to or "")
                else:
                    things = told.setdefault(ready.key, Told()).things
                    things.setdefault(thing, Thing()).add(_page(to or ""), number)
        for key in {*told, *leads}:
            led_to = leads.get(key, {}).items()
            told.setdefault(key, Told()).finish({v: (_page(to), hashed(to) in forms) for v, to in led_to})
        return Listed(told, gathered(forms), seen)

    # -- which rules ---------------------------------------------------------

    def _at(self, url: str) -> Place | None:
        """The guarded rules for a URL's host."""
        scheme, mark, rest = url.partition("://")
        if not mark:
            return None
        authority = rest.partition("/")[0].partition("?")[0].partition("#")[0]
        where = scheme, authority
        if where not in self._places:
            if len(self._places) >= CACHE:
                self._places.clear()
            self._places[where] = self._place(MutableUrl(f"{scheme}://{authority}/"))
        return self._places[where]

    def _place(self, u: MutableUrl) -> Place | None:
        host = u.host
        if host is None:
            return None
        showing = self._directory.find(host, u.port, scoped=False)
        if not showing:
            return None
        firing = self._directory.find(host, u.port) or []
        program = Program([rule for _, rule in firing])
        site = {rule.id: name for name, rule in firing}
        return Place(
            program,
            tuple(self._made(rule, site[rule.id], host) for rule in program.rules),
            tuple(self._made(rule, name, host) for name, rule in showing),
        )

    def _made(self, rule: Rule, site: str, host: str) -> Ready:
        # Rules for every host have things of their own on every domain.
        where = host_labels(host)[0] if site == "*" else site
        key = where, rule.id
        if key not in self._ready:
            self._ready[key] = ready(rule, where)
        return self._ready[key]


def ready(rule: Rule, site: str) -> Ready:
    """Compile a guarded rule."""
    guard = rule.guard
    assert guard is not None
    groups = group_names(rule.when)
    absent = tuple(
        # In doubt a page is another one: of a parameter with several values the first is taken.
        tuple(
            compile_condition(key, c, () if key == "names" else (parse_key(key).name or "",))
            for key, c in some.items()
        )
        for some in guard.absent
    )
    return Ready(rule, guard, compile_rule(rule), guard.bound(groups), absent, numbering(guard, groups), site)


def numbering(guard: Guard, groups: frozenset[str]) -> str | None:
    """The group that numbers the other pages: the first `int` the rule's own conditions do not have.

    >>> numbering(Guard(({"path": "/t{t:int}", "query[page]": "{n:int}"},)), frozenset("t"))
    'n'
    """
    for some in guard.absent:
        for key, condition in some.items():
            if isinstance(condition, str) and key != "names":
                for group in parse_pattern(condition, parse_key(key)).groups:
                    if group.type == "int" and group.name and group.name not in groups:
                        return group.name
    return None


def incomplete(told: Told, guard: Guard) -> str | None:
    """Why a list is not complete enough for a guard; None: it is.

    >>> incomplete(Told(several=2), Guard(({"path": "/{t}"},), entities=5))
    'the list is not taken for complete: it has other pages of 2 things, not of 5'
    """
    if told.several < guard.entities:
        return (
            "the list is not taken for complete: "
            f"it has other pages of {told.several} things, not of {guard.entities}"
        )
    if told.between is not None and told.between < guard.between:
        return (
            "the list is not taken for complete: "
            f"it has {told.between:.0%} of the pages before the last ones, not {guard.between:.0%}"
        )
    return None


def _lead(ready: Ready, url: str) -> Lead | None:
    u = MutableUrl(url)
    groups: dict[str, str] = {}
    if not ready.compiled.covers(u) or not all(test(u, groups) for test in ready.compiled.tests):
        return None
    if not ready.compiled.apply_parsed(u):
        return None
    raw = str(u)
    return None if raw == url or len(raw) > u.limit else Lead(ready, _values(ready, groups), raw)


def _shown(ready: Ready, u: MutableUrl, url: str) -> Iterator[tuple[Values, int | None]]:
    """The things that a listed URL is a page of, with the number of the page; however carelessly it is written."""
    plain = loosely(url)
    forms = (u,) if plain == url else (u, MutableUrl(plain))
    for tests in ready.absent:
        for form in forms:
            groups: dict[str, str] = {}
            if all(test(form, groups) for test in tests):
                number = groups.get(ready.number, "") if ready.number else ""
                # Longer ones number no pages.
                yield _values(ready, groups), int(number) if 0 < len(number) < 10 else None
                break


def _values(ready: Ready, groups: dict[str, str]) -> Values:
    """What thing it is, whichever way its name is written: to take two for one costs a merge, not a page."""
    return tuple(unquote(groups[name]).casefold().lstrip("0") for name in ready.bound)


def loosely(url: str) -> str:
    """A URL as people mean it: escapes decoded, `&amp;` for `&`, no path parameters, no slash at the end of the path.

    Only for the question whether a listed URL is another page of a thing; nothing is rewritten to it.

    >>> loosely("http://a.example/topic%2C1.15.html;sid=3/?a=1&amp;b=2")
    'http://a.example/topic,1.15.html?a=1&b=2'
    """
    head, mark, query = url.partition("?")
    if mark and "&amp;" in query:
        query = query.replace("&amp;", "&")
    scheme, slashes, rest = head.partition("://")
    authority, slash, path = rest.partition("/")
    if ";" in path:
        path = _MATRIX.sub("", path)
    path = path.rstrip("/")
    out = f"{scheme}{slashes}{authority}{slash}{path}{mark}{query}"
    return unquote(out, errors="surrogateescape") if "%" in out else out


_MATRIX = re.compile(r";[^/]*")


def _page(url: str) -> str:
    """Path, query and fragment: on which of its hosts a page is, and how it is spelled, is all one to a guard."""
    _, mark, rest = loosely(url).partition("://")
    if not mark:
        return url
    cut = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    return rest[cut:] or "/"
