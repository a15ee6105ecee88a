"""Validation of a rule book by fetching: as few pages as decide each rule, each page for all rules it can serve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

import pyarrow as pa

from undust.crawl import Crawl, read
from undust.errors import UndustError, UsageError
from undust.likeness import sketch_kind, sketcher, split_sites
from undust.likeness.seen import page_urls
from undust.likeness.site import host_of
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules
from undust.selection.bounds import wilson_lower
from undust.validation.as_published import validate_as_published
from undust.validation.case import Case
from undust.validation.court import Attempt, Court, alone
from undust.validation.live import LiveFetcher
from undust.validation.pages import AsyncFetcher, Pages, domain_of
from undust.validation.probe import idle_parameters, reversed_rules, swaps
from undust.validation.sequential import SequentialTest
from undust.validation.state import Ask, State

Method = Literal["sequential", "published"]

FETCHED_TWICE = 4
"""Pages of a site that are fetched twice at the start, to learn what changes on it by itself."""

MOST_URLS = 50_000
"""URLs of a site that rules are tried on; beyond, the first of them in an order drawn at random."""


@dataclass(frozen=True)
class Outcome:
    """The book with its verdicts, and what they took."""

    book: RuleBook
    validated: int
    rejected: int
    undecided: int
    fetched: int
    """Pages asked for, those of the run that was resumed included."""
    now: int
    """Pages fetched by this run."""
    stopped: str = ""
    interrupted: bool = False
    answers: int = 0
    """Pages of which a server said anything in this run."""
    trouble: tuple[tuple[str, str, int], ...] = ()
    """Pages that could not be had: host, reason and how many, the most frequent first."""

    @property
    def per_rule(self) -> float:
        """Pages fetched per decided rule."""
        return self.fetched / max(1, self.validated + self.rejected)


class Validation:
    """The sequential validation of a book.

    Each rule is tried on URLs of the crawl that it changes: the URL and what becomes of it are fetched and
    compared. All rules are tried side by side, so that a page serves as many of them as it can. Only pages of
    different contents count. A difference counts when the page, fetched again, is still what it was.

    Everything is decided by the answers alone, not by when they come: with the same answers the same book.
    """

    def __init__(
        self,
        book: RuleBook,
        crawl: Crawl | pa.Table | Any,
        *,
        test: SequentialTest | None = None,
        again: bool = False,
        log: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.book, self.test, self.again, self.log = book, test or SequentialTest(), again, log
        crawl = (
            crawl if isinstance(crawl, Crawl) else read(crawl, sketcher=sketcher, sketch_kind=sketch_kind())
        )
        self.urls = urls_by_site(book, crawl)
        self.allowed = allowed(book, crawl, self.urls)
        self.courts = [self._court(site) for site in book.sites.values()]
        self.published: dict[str, tuple[list[Rule], list[Rule]]] = {}
        self.given = {r.id for site in book.sites.values() for r in (*site.rules, *site.rejected)}

    @property
    def domains(self) -> set[str]:
        """The registrable domains that the run may fetch from."""
        return {
            domain_of(host)
            for court in self.courts
            for host in [*court.rules.hosts, *map(host_of, court.urls)]
            if host
        }

    @property
    def cases(self) -> list[Case]:
        return [case for court in self.courts for case in court.cases]

    def _court(self, site: SiteRules) -> Court:
        urls = self.urls[site.name]
        chosen = [
            r for r in site.rules if self.again or r.status not in ("validated", "rejected", "disabled")
        ]
        free = [r for r in chosen if r.guard is None]
        cases = [Case(rule, urls, self.test) for rule in free]
        idle = {case.rule.id for case in cases if not case.size}
        if idle:
            steps = reached(site, urls, idle)
            cases = [
                case if case.size else Case(case.rule, urls, self.test, outcomes=steps.get(case.rule.id, {}))
                for case in cases
            ]
        cases += [
            Case(rule, urls, self.test, outcomes=self.allowed.get((site.name, rule.id), {}))
            for rule in chosen
            if rule.guard is not None
        ]
        return Court(site, cases, urls, self.log)

    def plan(self) -> Iterator[str]:
        """What a run would do, without a request."""
        for court in self.courts:
            yield f"{court.rules.name}: {len(court.cases)} rules to try on {len(court.urls):,} URLs"
            for case in court.cases:
                yield f"  {case.rule.describe()}"
                trials = min(case.size, case.missing)
                yield f"    {case.size:,} URLs; {trials} pairs if all is well, first"
                for trial in replace(case).next(2, cost=lambda t: 2):
                    yield f"    {trial.url} -> {trial.outcome}"

    def run(self, pages: Pages, probe: bool = False) -> None:
        """Try all rules until each is decided or nothing more may be fetched; then what comes of the failures.

        With `probe` the sites are also asked about parameters that no rule is about.
        """
        self._decide(pages)
        for court in self.courts:
            cases = [case for case in court.cases if case.rule.guard is None]
            self._propose(court, reversed_rules(cases))
            if probe and not pages.stopped:
                self._propose(court, swaps(cases))
                self._propose(court, idle_parameters(court, self.verdicts(), pages))
        self._decide(pages)
        self.stop(pages.stopped)

    def _propose(self, court: Court, rules: Iterable[Rule]) -> None:
        """Further rules to try. They come into the book only if they hold."""
        known = {rule.id for rule in (*court.rules.rules, *court.rules.rejected)}
        known |= {case.rule.id for case in court.cases}
        last = max((rule.order for rule in court.rules.rules), default=0)
        for rule in rules:
            if rule.id not in known:
                known.add(rule.id)
                court.add(Case(replace(rule, order=last + 1), court.urls, self.test))

    def _decide(self, pages: Pages) -> None:
        while not pages.stopped:
            attempts = [(court, attempt) for court in self.courts for attempt in court.attempts(pages)]
            if not attempts:
                break
            for court, attempt in self._fetch(attempts, pages):
                court.judge(attempt, pages)

    def run_as_published(self, pages: Pages, **parameters: float) -> None:
        """The papers' procedure instead, site by site. It knows no guards: rules that have one stay as they are."""
        for court in self.courts:
            court.cases = [case for case in court.cases if case.rule.guard is None]
            self.published[court.rules.name] = validate_as_published(court, pages, **parameters)

    def stop(self, why: str) -> None:
        """What is not decided now stays undecided."""
        for case in self.cases:
            case.give_up(why)

    def _fetch(self, attempts: list[tuple[Court, Attempt]], pages: Pages) -> list[tuple[Court, Attempt]]:
        """All pages of a round; the attempts to judge: of rules tried together in vain, each by itself."""
        asks: list[Ask] = []
        twice: Counter[str] = Counter()
        for court, attempt in attempts:
            asks += [(attempt.url, 1), (attempt.outcome, 1)]
            if not pages.used and twice[court.rules.name] < FETCHED_TWICE:
                twice[court.rules.name] += 1
                asks.append((attempt.url, 2))
        pages.fetch(asks)
        for court, attempt in attempts:
            court.learn(attempt.url, pages)
        # Before a difference is believed, the source is fetched once more, then the outcome.
        for which in (0, 1):
            doubtful = [
                (court, attempt) for court, attempt in attempts if court.same(attempt, pages) is False
            ]
            pages.fetch(
                ask for court, attempt in doubtful for ask in court.witnesses(attempt, pages)[: which + 1]
            )
            for court, attempt in doubtful:
                court.learn(attempt.url, pages)
        done, apart = [], []
        for court, attempt in attempts:
            if len(attempt.parts) == 1 or court.same(attempt, pages):
                done.append((court, attempt))
            else:
                apart += [(court, alone(case, trial)) for case, trial in attempt.parts]
        return done + (self._fetch(apart, pages) if apart else [])

    def verdicts(self) -> RuleBook:
        """The book with what is decided; what is not stays as it was, and says why."""
        book = RuleBook(site_key=self.book.site_key)
        for court in self.courts:
            if court.rules.name in self.published:
                tried = {case.rule.id for case in court.cases}
                rules = [rule for rule in court.rules.rules if rule.id not in tried]
                rules += [rule for some in self.published[court.rules.name] for rule in some]
            else:
                judged = {case.rule.id: judge(case) for case in court.cases}
                rules = [judged.pop(rule.id, rule) for rule in court.rules.rules]
                rules += [rule for rule in judged.values() if rule.status == "validated"]
            rejected = [*court.rules.rejected, *(r for r in rules if r.status == "rejected")]
            kept = [r for r in rules if r.status != "rejected"]
            # Rules that are rejected once more are not kept twice.
            last = {rule.id: rule for rule in rejected}
            book.add(replace(court.rules, rules=kept, rejected=list(last.values())))
        return book


def judge(case: Case) -> Rule:
    """A rule with its verdict."""
    tried = case.positive + case.negative
    evidence = replace(case.rule.evidence, fetched=len(case.fetched))
    if case.verdict is None:
        return replace(case.rule, evidence=evidence, why=case.why)
    low = round(wilson_lower(case.positive, tried), 4)
    evidence = replace(evidence, level="fetched", precision_low=low)
    status = "validated" if case.verdict else "rejected"
    return replace(case.rule, status=status, evidence=evidence, why=case.why)


def urls_by_site(book: RuleBook, crawl: Crawl | pa.Table | Any) -> dict[str, dict[str, object]]:
    """For each site of the book the URLs to try rules on, and what content stands there, if known.

    Dead pages are left out, and soft ones: there every rule looks right.
    """
    if not isinstance(crawl, Crawl):
        crawl = read(crawl, sketcher=sketcher, sketch_kind=sketch_kind())
    home = {host: site.name for site in book.sites.values() for host in site.hosts}
    out: dict[str, dict[str, object]] = {name: {} for name in book.sites}
    site_key = book.site_key if book.site_key in ("domain", "all") else "host"
    for number, site in enumerate(split_sites(crawl.pages, site_key)):  # type: ignore[arg-type]  # one of three
        labels = site.labels
        for url, cluster, soft, alive in zip(
            site.urls.tolist(),
            labels.cluster.tolist(),
            labels.soft.tolist(),
            site.alive.tolist(),
            strict=True,
        ):
            host = host_of(url)
            name = (
                home.get(host) or home.get(host.partition(":")[0]) or ("*" if "*" in out else domain_of(host))
            )
            if name in out and not soft and (alive or cluster >= 0):
                out[name][url] = (number, cluster) if cluster >= 0 else None
    return {name: _some(urls) for name, urls in out.items()}


def _some(urls: dict[str, object]) -> dict[str, object]:
    if len(urls) <= MOST_URLS:
        return urls
    from random import Random

    return {url: urls[url] for url in sorted(Random(0).sample(sorted(urls), MOST_URLS))}


def allowed(
    book: RuleBook, crawl: Crawl, urls: Mapping[str, Mapping[str, object]]
) -> dict[tuple[str, str], dict[str, str]]:
    """By site and guarded rule, the URLs that its guard lets it change, with the crawl as the list of URLs."""
    out: dict[tuple[str, str], dict[str, str]] = {}
    if not any(rule.guard is not None for rule in book.rules()):
        return out
    try:
        canon = Canonicalizer(book, level="likely", listed=page_urls(crawl.pages))
    except UndustError:  # rules that clash: without a canonical form nothing can be looked up
        return out
    for name, some in urls.items():
        for url in some:
            for rule, before, after in canon.explain(url).steps:
                if rule is not None and rule.guard is not None:
                    out.setdefault((name, rule.id), {})[before] = after
    return out


def reached(site: SiteRules, urls: Iterable[str], wanted: set[str]) -> dict[str, dict[str, str]]:
    """For rules that fire only on what others have made of a URL: those URLs, before and after."""
    out: dict[str, dict[str, str]] = {rule: {} for rule in wanted}
    try:
        canon = Canonicalizer(RuleBook({site.name: site}), level="likely")
        for url in urls:
            for rule, before, after in canon.explain(url).steps:
                if rule is not None and rule.id in wanted:
                    out[rule.id][before] = after
    except UndustError:
        pass  # rules that clash are tried one by one
    return out


def validate(
    book: RuleBook,
    crawl: Crawl | pa.Table | Any,
    *,
    resume: str | PathLike[str] | None = None,
    max_fetches: int | None = None,
    max_time: float | None = None,
    method: Method = "sequential",
    test: SequentialTest | None = None,
    again: bool = False,
    probe: bool = False,
    published: Mapping[str, float] | None = None,
    fetcher: AsyncFetcher | None = None,
    **manners: Any,
) -> RuleBook:
    """Put the rules of a book to the test by fetching; gives the book with its verdicts.

    `resume` is a file that keeps what was fetched: a later call with it goes on from there. `probe` asks the
    sites about parameters that no rule is about, too. `published` are
    the parameters of the papers' procedure (count, epsilon). `manners` are those of `LiveFetcher`: delay,
    concurrency, contact, obey_robots, allow_private, resolve, ...

    >>> from undust.rules import Rule
    >>> book = RuleBook({"a.test": SiteRules("a.test", rules=[Rule(do={"query[sid]": None})])})
    >>> urls = [f"http://a.test/p?id={i}&sid={s}" for i in range(30) for s in "xy"]
    >>> from undust.validation import Offline
    >>> pages = {u: f"Page {u[16:u.index('&')]} of a small example site" for u in urls}
    >>> pages |= {u[:u.index("&")]: text for u, text in pages.items()}
    >>> [(r.status, r.evidence.fetched) for r in validate(book, urls, fetcher=Offline(pages)).rules()]
    [('validated', 30)]
    """
    done = run(
        book,
        crawl,
        resume=resume,
        max_fetches=max_fetches,
        max_time=max_time,
        method=method,
        test=test,
        again=again,
        probe=probe,
        published=published,
        fetcher=fetcher,
        **manners,
    )
    if done.interrupted:
        raise KeyboardInterrupt
    return done.book


def run(
    book: RuleBook,
    crawl: Crawl | pa.Table | Any,
    *,
    resume: str | PathLike[str] | None = None,
    max_fetches: int | None = None,
    max_time: float | None = None,
    method: Method = "sequential",
    test: SequentialTest | None = None,
    again: bool = False,
    probe: bool = False,
    published: Mapping[str, float] | None = None,
    fetcher: AsyncFetcher | None = None,
    on_page: Callable[[], object] = lambda: None,
    log: Callable[[str], None] = lambda _: None,
    **manners: Any,
) -> Outcome:
    """`validate`, with what it took. Interrupted, it gives the book with what is decided by then."""
    if method not in ("sequential", "published"):
        raise UsageError(f"no method {method!r}; there are sequential, published")
    validation = Validation(book, crawl, test=test, again=again, log=log)
    interrupted = False
    with ExitStack() as stack:
        state = stack.enter_context(State(resume))
        source = fetcher or LiveFetcher(memory=state, **manners)
        pages = stack.enter_context(
            Pages(
                source,
                state,
                validation.domains,
                max_fetches=max_fetches,
                max_time=max_time,
                on_page=on_page,
            )
        )
        try:
            if method == "sequential":
                validation.run(pages, probe)
            else:
                validation.run_as_published(pages, **(published or {}))
        except KeyboardInterrupt:
            interrupted = True
            validation.stop("interrupted")
        verdicts = validation.verdicts()
        tried = {case.rule.id for case in validation.cases}
        counted = Counter(
            rule.status
            for site in verdicts.sites.values()
            for rule in (*site.rules, *site.rejected)
            if rule.id in tried or rule.id not in validation.given
        )
        return Outcome(
            verdicts,
            validated=counted["validated"],
            rejected=counted["rejected"],
            undecided=counted.total() - counted["validated"] - counted["rejected"],
            fetched=pages.fetched,
            now=pages.now,
            stopped=pages.stopped,
            interrupted=interrupted,
            answers=pages.answers,
            trouble=tuple(
                (host, why, n)
                for (host, why), n in sorted(pages.trouble.items(), key=lambda t: (-t[1], t[0]))
            ),
        )
