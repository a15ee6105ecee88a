"""Validation of a rule book by fetching: as few pages as decide each rule, each page for all rules it can serve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import sqrt
from os import PathLike
from typing import Any, Literal

import pyarrow as pa

from undust.crawl import Crawl, read
from undust.errors import UndustError, UsageError
from undust.likeness import sketch_kind, sketcher, split_sites
from undust.likeness.site import host_of
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules
from undust.selection.bounds import wilson_lower
from undust.validation.as_published import validate_as_published
from undust.validation.case import Case, Trial
from undust.validation.live import LiveFetcher
from undust.validation.pages import AsyncFetcher, Pages, domain_of
from undust.validation.sameness import Sameness
from undust.validation.sequential import SequentialTest
from undust.validation.state import Ask, State

Method = Literal["sequential", "published"]

AT_A_TIME = 2
"""URLs tried of a rule before all are judged again: more of them would be fetched in vain when it is decided."""

FETCHED_TWICE = 4
"""Pages of a site that are fetched twice at the start, to learn what changes on it by itself."""

IN_VAIN = 25
"""Trials of a rule that may say nothing (dead pages, timeouts, repeated contents) before it is left undecided."""

MOST_URLS = 50_000
"""URLs of a site that rules are tried on; beyond, the first of them in an order drawn at random."""


@dataclass
class Court:
    """The rules of one site on trial."""

    rules: SiteRules
    cases: list[Case]
    urls: Mapping[str, object] = field(repr=False)
    likeness: Sameness = field(default_factory=Sameness, repr=False)
    served: Counter[str] = field(default_factory=Counter, repr=False)
    """How many rules can be tried on a URL."""

    def __post_init__(self) -> None:
        for case in self.cases:
            self.served.update(case.sources)


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
        self.urls = urls_by_site(book, crawl)
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
        cases = [Case(rule, urls, self.test) for rule in chosen]
        idle = {case.rule.id for case in cases if not case.size}
        if idle:
            steps = reached(site, urls, idle)
            cases = [
                case if case.size else Case(case.rule, urls, self.test, outcomes=steps.get(case.rule.id, {}))
                for case in cases
            ]
        return Court(site, cases, urls)

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

    def run(self, pages: Pages) -> None:
        """Try all rules until each is decided or nothing more may be fetched."""
        while not pages.stopped:
            trials = [
                (court, case, trial)
                for court in self.courts
                for case in court.cases
                if case.open
                for trial in self._next(court, case, pages)
            ]
            if not trials:
                break
            self._fetch(trials, pages)
            for court, case, trial in trials:
                self._judge(court, case, trial, pages)
        self.stop(pages.stopped)

    def run_as_published(self, pages: Pages, **parameters: float) -> None:
        """The papers' procedure instead, site by site."""
        for court in self.courts:
            self.published[court.rules.name] = validate_as_published(court, pages, **parameters)

    def stop(self, why: str) -> None:
        """What is not decided now stays undecided."""
        for case in self.cases:
            case.give_up(why)

    def _next(self, court: Court, case: Case, pages: Pages) -> list[Trial]:
        def cost(trial: Trial) -> float:
            # A page that other rules can use is paid by all of them.
            shared = 1 / sqrt(court.served[trial.url] or 1)
            return shared * (trial.url not in pages) + (trial.outcome not in pages)

        found = case.next(min(AT_A_TIME, case.missing), cost)
        if not found:
            case.exhausted()
        return found

    def _fetch(self, trials: list[tuple[Court, Case, Trial]], pages: Pages) -> None:
        """All pages of a round; first of all, some pages of each site twice."""
        asks: list[Ask] = []
        twice: Counter[str] = Counter()
        for court, _, trial in trials:
            asks += [(trial.url, 1), (trial.outcome, 1)]
            if not pages.used and twice[court.rules.name] < FETCHED_TWICE:
                twice[court.rules.name] += 1
                asks.append((trial.url, 2))
        pages.fetch(asks)
        for court, _, trial in trials:
            self._learn(court, trial.url, pages)
        doubtful = [t for t in trials if self._same(t[0], t[2], pages) is False]
        pages.fetch((shown.url, 2) for _, _, t in doubtful if (shown := pages.shown((t.url, 1))))
        for court, _, trial in doubtful:
            self._learn(court, trial.url, pages)

    def _learn(self, court: Court, url: str, pages: Pages) -> None:
        once = pages.shown((url, 1))
        again = once and pages.shown((once.url, 2))
        if once and again:
            court.likeness.learn(once.url, once.answer, again.answer)

    def _same(self, court: Court, trial: Trial, pages: Pages) -> bool | None:
        """Whether the rule was right; None: not to be told."""
        before, after = pages.shown((trial.url, 1)), pages.shown((trial.outcome, 1))
        if before is None or after is None or before.answer.kind != "page":
            return None
        if before.url == after.url:
            return True
        if after.answer.kind == "gone":
            return False
        again = pages.shown((before.url, 2))
        return court.likeness.same(before.answer, after.answer, again.answer if again else None)

    def _judge(self, court: Court, case: Case, trial: Trial, pages: Pages) -> None:
        before, after = pages.shown((trial.url, 1)), pages.shown((trial.outcome, 1))
        if before is None or after is None or not case.open:
            return
        case.fetched |= {trial.url, trial.outcome}
        same = self._same(court, trial, pages)
        if same is False:
            again = pages.shown((before.url, 2))
            if again is None or again.answer.kind != "page":
                same = None
        if same is None:
            case.unclear += 1
        elif same and self._spoke(court, case, before.url, pages):
            case.repeated += 1
        else:
            if same:
                case.contents.append(before.url)
            case.count(trial, same, str(after.answer) if after.answer.kind == "gone" else "another page")
        if case.open and case.unclear + case.repeated >= IN_VAIN + case.positive:
            case.give_up(f"{case.unclear} pages could not be compared, {case.repeated} repeated others")
        if not case.open:
            self.log(f"{'holds' if case.verdict else 'fails'}: {case.rule.describe()}")

    def _spoke(self, court: Court, case: Case, url: str, pages: Pages) -> bool:
        """Whether a page shows what another one has shown that spoke for the rule."""
        here = pages.shown((url, 1))
        for other in case.contents:
            there = pages.shown((other, 1))
            if other == url or (here and there and court.likeness.same(here.answer, there.answer)):
                return True
        return False

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
                rules = [judged.get(rule.id, rule) for rule in court.rules.rules]
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
    published: Mapping[str, float] | None = None,
    fetcher: AsyncFetcher | None = None,
    **manners: Any,
) -> RuleBook:
    """Put the rules of a book to the test by fetching; gives the book with its verdicts.

    `resume` is a file that keeps what was fetched: a later call with it goes on from there. `published` are
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
                validation.run(pages)
            else:
                validation.run_as_published(pages, **(published or {}))
        except (KeyboardInterrupt, SystemExit):
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
        )
