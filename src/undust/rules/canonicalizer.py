"""From a rule book to a function on URLs: host lookup, normal form, the site's rules to a fixpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any, Final, NamedTuple

from undust.errors import BookError, UsageError
from undust.rules.aliases import AliasTable
from undust.rules.beyond import Beyond, followed
from undust.rules.book import RuleBook
from undust.rules.columns import convert
from undust.rules.compiled import compile_condition
from undust.rules.conflict import refuse
from undust.rules.directory import Directory
from undust.rules.guarded import MOST_GUARDED, Guarded
from undust.rules.listed import Listed
from undust.rules.mutable import MutableUrl
from undust.rules.program import Plan, Program
from undust.rules.rule import Rule
from undust.url import host_labels, normal, normal_escapes, split_key

LEVELS: Final = {
    "validated": frozenset({"validated"}),
    "probable": frozenset({"validated", "probable"}),
    "likely": frozenset({"validated", "probable", "likely"}),
}
MAX_ROUNDS: Final = 10
# Caches are emptied when they reach this size: a stream of ever new hosts or paths must not fill the memory.
CACHE: Final = 1 << 16

LONG: Final = 1 << 10

_by_name = methodcaller("partition", "=")  # as `undust.rules.conversion.sort` has it

# scheme://authority as a whole, and nothing that could belong to another component
_PREFIX = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*)?://[^/?#]*\Z")

_AUTHORITY_END = re.compile(r"[/?#]")

Step = tuple["Rule | None", str, str]


@dataclass(frozen=True)
class Explanation:
    """What happened to a URL: each rule that changed it, with the URL before and after. `print` it.

    The rule of a step is None where the RFC 3986 normal form changed the URL, or the table of aliases did: `looked_up`
    has the places of these steps, and by what the table knows. `trouble` says why rules that did fire were not
    followed: they ran in a circle, or came to no end. `held` says which guarded rules were not, and what the list has
    against it.
    """

    steps: tuple[Step, ...]
    url: str
    key: str
    trouble: str | None = None
    looked_up: Mapping[int, str] = field(default_factory=dict)
    held: tuple[str, ...] = ()

    def named(self, place: int) -> str:
        """What made the step at this place, in words."""
        rule = self.steps[place][0]
        if rule is not None:
            return f"{rule.id} {rule.status}: {rule.describe()}"
        if place in self.looked_up:
            return "table of aliases" + (f" ({self.looked_up[place]})" if self.looked_up[place] else "")
        return "normal form (RFC 3986)"

    def __str__(self) -> str:
        lines = []
        for place, (_, before, after) in enumerate(self.steps):
            lines += [f"  {before}", f"    {self.named(place)}", f"  {after}"]
        # What one step gives is what the next one takes: print it once.
        shown = [line for place, line in enumerate(lines) if place == 0 or line != lines[place - 1]]
        shown += [f"    {said}" for said in (self.trouble, *self.held) if said]
        shown.append(f"= {self.url}")
        if self.key != self.url:
            shown.append(f"key {self.key}")
        return "\n".join(shown)


class Settled(NamedTuple):
    """Where the rules lead: a URL, and the URLs passed through if they led nowhere (a cycle, or no end)."""

    url: str
    cycle: tuple[str, ...] = ()
    endless: bool = False


class Place(NamedTuple):
    """What is known of `scheme://authority`: its rules, and what stands there before they are asked."""

    program: Program
    prefix: str
    scheme: str
    authority: str


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
    check: whether a book with rules that clash (see `undust.rules.conflict`) is refused.
    aliases: a table of URLs that were seen, which is asked before the rules.
    listed: all URLs there are of the sites, for guarded rules (`docs/guarded.md`). Without it these are `skipped`.

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

    def __init__(
        self,
        book: RuleBook,
        level: str = "probable",
        normal: bool = True,
        *,
        check: bool = True,
        aliases: AliasTable | None = None,
        listed: Iterable[str] | Listed | None = None,
    ) -> None:
        if level not in LEVELS:
            raise UsageError(f"unknown level {level!r}; known are {', '.join(LEVELS)}")
        self.book = book
        self.level = level
        self.normal = normal
        self._directory = Directory()
        self._programs: dict[tuple[str, ...], Program] = {}
        self._known: dict[tuple[str | None, str], Program | None] = {}
        self._places: dict[str, Place | None] = {}
        self.beyond = Beyond(self._many, aliases, self._akin) if aliases is not None else None
        self._homes: dict[str, str] = {host: site.name for site in book.sites.values() for host in site.hosts}
        under_guard = Directory()
        guarded: list[Rule] = []
        for site in book.sites.values():
            rules = [rule for rule in site.rules if rule.status in LEVELS[level]]
            if check:
                refuse(rules, site.hosts, site.name)
            self._directory.add(site, [rule for rule in rules if rule.guard is None], book.site_key)
            if asking := [rule for rule in rules if rule.guard is not None]:
                if len(asking) > MOST_GUARDED:
                    raise BookError(f"site {site.name} has more than {MOST_GUARDED} guarded rules")
                under_guard.add(site, asking, book.site_key)
                guarded += asking
        self.skipped: tuple[Rule, ...] = tuple(guarded) if listed is None else ()
        """Guarded rules that are not used, because no list was given."""
        self.guarded: Guarded | None = None
        if guarded and listed is not None:
            self.guarded = Guarded(under_guard, self._unguarded, listed)

    def __reduce__(self) -> tuple[Any, ...]:
        aliases = self.beyond.aliases if self.beyond else None
        return _again, (
            self.book, self.level, self.normal, aliases, self.guarded.listed if self.guarded else None
        )  # fmt: skip

    # -- one URL ------------------------------------------------------------

    def __call__(self, url: str) -> str:
        """The canonical URL."""
        out = self._canonical((url,))[0]
        if out is None:
            raise UsageError(f"a URL is a str, not {type(url).__name__}")
        return out

    def key(self, url: str) -> str:
        """What identifies the page: the canonical URL with `*` for every value that is ignored."""
        return self._key(self(url))

    def explain(self, url: str) -> Explanation:
        """Which rules fire, in order, and what each does."""
        steps: list[Step] = []
        looked_up: dict[int, str] = {}
        settled = self._step_by_step(url, steps, looked_up)
        held: list[str] = []
        if self.guarded is not None:
            leaps, held = self.guarded.leaps(settled.url)
            for rule, before, raw in leaps:
                steps.append((rule, before, raw))
                settled = self._step_by_step(raw, steps, looked_up)
        if self.beyond is not None:
            self.beyond.looked_up += bool(looked_up)
        trouble = None
        if settled.cycle:
            trouble = "these rules run in a circle: the smallest of its URLs is taken"
        elif settled.endless:
            trouble = "these rules come to no end: none is applied"
        return Explanation(tuple(steps), settled.url, self._key(settled.url), trouble, looked_up, tuple(held))

    def _step_by_step(self, url: str, steps: list[Step], looked_up: dict[int, str]) -> Settled:
        """Rules and table, without guarded rules."""
        if self.beyond is None:
            return self.settle(url, steps)
        return self._led(url, steps, looked_up, self.beyond)

    def _led(self, url: str, steps: list[Step], looked_up: dict[int, str], beyond: Beyond) -> Settled:
        """The same for a URL that the table may know: what `Beyond.many` does, step by step."""
        found = beyond.find(url)
        trail: list[str] = []
        settled = Settled(url)
        while True:
            if found is not None and found.url != url:
                looked_up[len(steps)] = found.via
                steps.append((None, url, found.url))
                url = found.url
            settled = self.settle(url, steps)
            now, ended = followed(trail, settled.url)
            if ended:
                return Settled(now, tuple(trail[trail.index(settled.url) :]))
            found = beyond.find(now)
            if found is None or found.url == now:
                return settled
            url = now

    def _akin(self, url: str, to: str) -> bool:
        """Whether an alias stays on its site: on its host, its registrable domain, or the hosts of one site."""
        scheme, _, rest = url.partition("://")
        if to.startswith(f"{scheme}://{_AUTHORITY_END.split(rest, maxsplit=1)[0]}/"):
            return True
        here, there = MutableUrl(url), MutableUrl(to)
        if not here.host or not there.host or there.scheme not in ("http", "https", here.scheme):
            return False
        if self.book.site_key == "all" or host_labels(here.host)[0] == host_labels(there.host)[0]:
            return True
        return here.host in self._homes and self._homes[here.host] == self._homes.get(there.host)

    def settle(self, url: str, steps: list[Step] | None = None) -> Settled:
        """The canonical URL, and whether the rules went in a circle or came to no end."""
        program = self._program(url)
        if program is None:
            return Settled(url)
        start = self._clean(url, steps)
        out = self._run(MutableUrl(start), [start], program, program.candidates(start), steps)
        return Settled(out) if isinstance(out, str) else out

    def _run(
        self,
        u: MutableUrl,
        seen: list[str],
        program: Program | None,
        mask: int,
        steps: list[Step] | None = None,
    ) -> str | Settled:
        """Apply the rules of `program` that are in `mask`, then all that what they did calls for.

        `seen` is what the URL was before each round so far, and `u` the last of these taken apart. Only where
        it comes to no end, or to a circle, it says so.
        """
        start = seen[0]
        for _ in range(len(seen) - 1, MAX_ROUNDS):
            if not mask or program is None:
                return seen[-1]
            scheme, authority = u.scheme, u.authority
            fired = moved = False
            looked: int | None = None  # the rules for the URL as it is, if that is known
            while mask:
                lowest = mask & -mask
                mask ^= lowest
                number = lowest.bit_length() - 1
                rule = program.ready[number] or program.compiled(number)
                before = str(u) if steps is not None else ""
                changed = rule.apply_parsed(u)
                if u.overlong or (changed and len(str(u)) > u.limit):
                    return Settled(start, endless=True)
                if not changed:
                    continue
                fired = True
                looked = None
                if steps is not None:
                    steps.append((rule.rule, before, str(u)))
                if u.authority != authority or u.scheme != scheme:
                    # Another host, other rules; the round goes on with those that come after.
                    scheme, authority, moved = u.scheme, u.authority, True
                    program = self._program_of(u)
                    if program is None:
                        break
                    looked = program.look(u.path, u.query, str(u))
                    mask = looked & program.after(rule.rule)
                else:
                    looked = program.look(u.path, u.query, str(u))
                    mask = looked & -(lowest << 1)
            if not fired:
                return seen[-1]
            text = now = str(u)
            if moved or steps is not None or "%" in text or "/." in text or not u.path:
                now = self._clean(text, steps)
            if now == seen[-1]:  # what one rule did another undid
                return Settled(now, (now,))
            if now in seen:
                cycle = tuple(seen[seen.index(now) :])
                return Settled(min(cycle, key=lambda v: (len(v), v)), cycle)
            seen.append(now)
            if now is not text:
                u = MutableUrl(now, u.limit)
                program, looked = self._program_of(u), None
            if program is None:
                return now
            mask = program.look(u.path, u.query, str(u)) if looked is None else looked
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
        return self._program_of(MutableUrl(url))

    def _program_of(self, u: MutableUrl) -> Program | None:
        if u.authority is None:
            return None
        where = u.scheme, u.authority
        if where in self._known:
            return self._known[where]
        program = None
        rules = self._rules(u.host or "", u.port)
        if rules is not None:
            # What a rule asks of scheme, host and port is the same for all URLs of this place: asked once.
            rules = [rule for rule in rules if _may_hold(rule, u)]
            name = tuple(sorted(rule.id for rule in rules))
            if name not in self._programs:
                self._programs[name] = Program(rules)
            program = self._programs[name]
        if len(self._known) >= CACHE:
            self._forget()
        if len(u.authority) <= LONG:
            self._known[where] = program
        return program

    def _place(self, prefix: str) -> Place | None:
        """For `scheme://authority`; None: the host is not in the book, or this is no such thing."""
        if prefix in self._places:
            return self._places[prefix]
        if len(self._places) >= CACHE:
            self._forget()
        place = None
        if _PREFIX.match(prefix):
            here = prefix
            program = self._program(prefix + "/")
            if program is not None and self.normal:
                here = normal(prefix + "/")[:-1]
                program = self._program(here + "/")
            if program is not None:
                alias = self._alias(here, program)
                if alias is not None:
                    here, program = alias
                scheme, _, authority = here.partition("://")
                place = Place(program, here, scheme, authority)
        if len(prefix) <= LONG:
            self._places[prefix] = place
        return place

    def _alias(self, prefix: str, program: Program) -> tuple[str, Program] | None:
        """Where a rule about hosts leads, if it can be applied before all others with the same outcome.

        It can when the other rules are the same here and there and do not look at the host: then the two kinds of
        rules go their ways without meeting.
        """
        mask = program.host_rules()
        if not mask or not program.blind(prefix):
            return None
        u = MutableUrl(prefix + "/")
        for number in range(len(program.rules)):
            if mask >> number & 1 and program.compiled(number).apply_parsed(u):
                break
        else:
            return None
        target = self._program_of(u)
        there = str(u)[:-1]
        if target is None or not target.blind(there) or self._clean(there + "/") != there + "/":
            return None
        v = MutableUrl(there + "/")
        mask_there = target.host_rules()
        if any(
            mask_there >> number & 1 and target.compiled(number).apply_parsed(v)
            for number in range(len(target.rules))
        ):
            return None
        others = [[rule.id for place, rule in enumerate(p.rules) if not bits >> place & 1]
                  for p, bits in ((program, mask), (target, mask_there))]  # fmt: skip
        return (there, target) if others[0] == others[1] else None

    def _forget(self) -> None:
        self._places.clear()
        self._known.clear()
        self._programs.clear()

    def _rules(self, host: str, port: str | None) -> list[Rule] | None:
        found = self._directory.find(host, port)
        return None if found is None else [rule for _, rule in found]

    # -- many URLs ----------------------------------------------------------

    def map(self, urls: Any, emit: str = "url") -> Any:
        """Canonical URLs (or keys) of many; the same kind of container comes back, nulls where no text was.

        Takes a list, a tuple, any iterable of str (gives a list), an Arrow array or chunked array, a pandas or
        Polars series.
        """
        if emit not in ("url", "key"):
            raise UsageError(f"unknown emit {emit!r}; known are url, key")
        return convert(urls, self._canonical if emit == "url" else self._many_keys)

    def _canonical(self, urls: Iterable[Any]) -> list[str | None]:
        made = self._unguarded(urls)
        return made if self.guarded is None else self.guarded.many(made)

    def _unguarded(self, urls: Iterable[Any]) -> list[str | None]:
        return self._many(urls) if self.beyond is None else self.beyond.many(urls)

    def _many_keys(self, urls: Iterable[Any]) -> list[str | None]:
        return [None if url is None else self._key(url) for url in self._canonical(urls)]

    def stuck(self, urls: Iterable[str]) -> list[str]:
        """Those of `urls` on which the rules run in a circle or come to no end, or a second time changes more."""
        urls = list(urls)
        stuck: list[str] = []
        once = self._many(urls, stuck)
        twice = self._many(once)
        return stuck + [url for url, one, two in zip(urls, once, twice, strict=True) if one != two]

    def _odd(self, url: str, stuck: list[str] | None) -> str:
        settled = self.settle(url)
        if stuck is not None and (settled.cycle or settled.endless):
            stuck.append(url)
        return settled.url

    def _many(self, urls: Iterable[Any], stuck: list[str] | None = None) -> list[str | None]:
        """Canonical URLs, host by host: a site's rules are fetched once, and are near while they are needed."""
        urls = list(urls)
        out: list[str | None] = [None] * len(urls)
        groups: dict[str, list[int]] = {}
        for number, url in enumerate(urls):
            if type(url) is not str and not isinstance(url, str):
                continue
            slash = url.find("/", 8)
            prefix = url[:slash] if slash > 0 else ""
            group = groups.get(prefix)
            if group is None:
                groups[prefix] = [number]
            else:
                group.append(number)
        # The prefixes of one site (http and https, with and without www) have one program: one after the other.
        sites: dict[int, tuple[dict[str, Plan | None], list[tuple[Place, int, list[int]]]]] = {}
        for prefix, numbers in groups.items():
            place = self._place(prefix)
            if place is not None:
                sites.setdefault(id(place.program), ({}, []))[1].append((place, len(prefix), numbers))
            elif _PREFIX.match(prefix):  # a host that is not in the book
                for number in numbers:
                    out[number] = urls[number]
            else:
                for number in numbers:
                    out[number] = self._odd(urls[number], stuck)
        for plans, parts in sites.values():
            for place, cut, numbers in parts:
                self._group(place, cut, urls, numbers, out, plans, stuck)
        return out

    def _group(
        self,
        place: Place,
        cut: int,
        urls: list[Any],
        numbers: list[int],
        out: list[str | None],
        plans: dict[str, Plan | None],
        stuck: list[str] | None,
    ) -> None:
        """The loop all speed hangs on: for a URL that no rule can change it makes a handful of look-ups.

        What stands before the `?` repeats itself in most crawls, so the rules it leaves are kept (`plans`). What
        is out of the ordinary goes to `settle`, which is the same without short cuts.
        """
        program, prefix, scheme, authority = place
        clean = self.normal
        ready, free, mixing = program.ready, program.free, ~(program.free | program.commuting)
        same = len(prefix) == cut and urls[numbers[0]].startswith(prefix)
        plain_texts, no_query, no_text = program.plain_texts, program.no_query, program.no_text
        for number in numbers:
            url = urls[number]
            path, mark, query = url[cut:].partition("?")
            now = url if same else f"{prefix}{path}{mark}{query}"
            if mark:
                if path in plans:
                    plan = plans[path]
                else:
                    odd = "#" in path or (clean and ("/." in path or normal_escapes(path) != path))
                    plan = plans[path] = None if odd else program.plan(program.for_path(path))
                # An escape that is not in normal form is all that can be wrong behind the `?`.
                if (
                    plan is None
                    or "#" in query
                    or (clean and "%" in query and normal_escapes(query) != query)
                ):
                    out[number] = self._odd(url, stuck)
                    continue
                mask, names, needles, always, sorts, drops = plan
                # Without its last `&` a query is one of `;`, and then has other parameters.
                if not always and ";" not in query:
                    for text in needles:
                        if text in now:
                            break
                    else:
                        fields = query.split("&")
                        kept: list[str] | None = [f for f in fields if f.partition("=")[0] not in names]
                        if kept is not None and len(kept) < len(fields) and len(drops) < len(names):
                            less_sure = [f for f in fields if f.partition("=")[0] not in drops]
                            if len(less_sure) > len(kept):
                                kept = _sift(fields, names)
                        if kept is not None:
                            if sorts and len(kept) > 1:
                                kept.sort(key=_by_name)
                            if len(kept) < len(fields) or (sorts and kept != fields):
                                out[number] = f"{prefix}{path}?{'&'.join(kept)}" if kept else prefix + path
                            else:
                                out[number] = now
                            continue
                by_path = mask
                mask = program.for_texts(now, mask & program.for_query(query))
            else:
                if "#" in path or (
                    clean and ("/." in path or ("%" in path and normal_escapes(path) != path))
                ):
                    out[number] = self._odd(url, stuck)
                    continue
                by_path = program.for_path(path)
                mask = no_text  # from here on `Program.look` for a URL without a query
                for text, bits in plain_texts:
                    if text in now:
                        mask |= bits
                mask &= by_path & no_query
            if not mask:
                out[number] = now
                continue
            first = now
            if (
                mark
                and mask & free
                and not mask & mixing
                and ";" not in query
                and not any(text in now for text in program.coming)
            ):
                kept = [f for f in query.split("&") if f.partition("=")[0] not in program.free_names]
                mark, query = ("?" if kept else ""), "&".join(kept)
                first = f"{prefix}{path}{mark}{query}"
                before, mask = mask, program.look(path, query if mark else None, first, by_path)
                if mask & ~before:  # what was taken out brought something about
                    out[number] = self._odd(url, stuck)
                    continue
                if not mask:
                    out[number] = first
                    continue
            # The first round of `_run`, without what only the unusual needs.
            u = MutableUrl.of(scheme, authority, path, query if mark else None, first)
            last, left = 0, mask
            while left:
                lowest = left & -left
                left ^= lowest
                rule = ready[lowest.bit_length() - 1] or program.compiled(lowest.bit_length() - 1)
                if rule.apply_parsed(u):
                    last = lowest
                    if u.authority != authority or u.scheme != scheme:
                        left = -1  # another host: unusual
                        break
                    known = by_path if u.path is path else None
                    mask = program.look(u.path, u.query, u.text(), known)
                    left = mask & -(lowest << 1)
            text = u.text()
            end: str | Settled = text
            if not last and not u.overlong:
                out[number] = text
                continue
            if (
                left
                or u.overlong
                or text == now
                or len(text) > u.limit
                or (("%" in text or "/." in text) and self._clean(text) != text)
            ):
                end = Settled(text, endless=True)
            elif mask and not (mask == last and mask & program.settling):
                end = self._run(u, [now, text], program, mask)
            out[number] = end if isinstance(end, str) else self._odd(url, stuck)


def _again(
    book: RuleBook, level: str, normal: bool, aliases: AliasTable | None, listed: Listed | None
) -> Canonicalizer:
    """The same canonicalizer in another process."""
    return Canonicalizer(book, level, normal, aliases=aliases, listed=listed)


def _sift(fields: list[str], names: dict[str, bool | frozenset[str] | None]) -> list[str] | None:
    """The fields that stay; None: there is one that this cannot judge."""
    kept = []
    judged = set()
    for one in fields:
        name, _, value = one.partition("=")
        if name in names:
            drop = names[name]
            if drop is None:
                return None
            if drop is True:
                continue
            # A condition looks at the first field of its name, a drop is of all of them: not both in one pass.
            if name in judged:
                return None
            judged.add(name)
            if drop and value in drop:
                continue
        kept.append(one)
    return kept


def _may_hold(rule: Rule, u: MutableUrl) -> bool:
    """Whether the conditions on scheme, host and port hold, which are the same for all URLs with one prefix."""
    return all(
        compile_condition(key, condition)(u, {})
        for key, condition in rule.when.items()
        if key != "names" and split_key(key).kind in ("scheme", "host", "port")
    )
