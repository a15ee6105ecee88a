"""A rule on trial: the URLs it can be tried on, which of them come next, and how it fares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import xxhash

from undust.rules import Rule, compile_rule
from undust.validation.features import Features, features
from undust.validation.sequential import SequentialTest

LOOKED_AT = 2_000
"""URLs among which the next is chosen; of each feature a few."""

A_FEW = 20

COMMON = 0.05
"""A feature that so many of the URLs have is tried before a rule is accepted."""

LEAST = 5
"""Different contents that a rule must have been right on, if there are no more URLs to try it on."""


class Trial(NamedTuple):
    """A URL, what the rule makes of it, and what it stands for."""

    url: str
    outcome: str
    features: Features
    content: object
    """What the crawl says stands there; None if it does not say."""


@dataclass
class Case:
    """One rule, tried on URL after URL.

    >>> urls = [f"http://a.test/p?id={i}&sid={i % 3}" for i in range(20)]
    >>> case = Case(Rule(do={"query[sid]": None}), {url: None for url in urls})
    >>> case.size, len({t.url[-1] for t in case.next(3, cost=lambda t: 2)})  # session ids differ, too
    (20, 3)
    """

    rule: Rule
    urls: Mapping[str, object] = field(repr=False)
    test: SequentialTest = field(default_factory=SequentialTest)
    outcomes: Mapping[str, str] | None = field(default=None, repr=False)
    """Given where the rule fires only on what other rules have made of URLs, or where its guard allows it."""

    positive: int = 0
    negative: int = 0
    unclear: int = 0
    repeated: int = 0
    verdict: bool | None = None
    over: str = ""
    """Why nothing more is tried, when there is no verdict."""
    counterexample: tuple[str, str, str] | None = None
    fetched: set[str] = field(default_factory=set, repr=False)
    contents: list[str] = field(default_factory=list, repr=False)
    """URLs of the pages that spoke for the rule, each another content."""

    _left: list[Trial] = field(default_factory=list, repr=False)
    _spoken: set[object] = field(default_factory=set, repr=False)
    _outcomes: set[str] = field(default_factory=set, repr=False)
    _have: Counter[int] = field(default_factory=Counter, repr=False)
    _tried: Counter[int] = field(default_factory=Counter, repr=False)
    _tally: Counter[tuple[int, bool]] = field(default_factory=Counter, repr=False)
    _suspects: set[int] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        trials = sorted(self._trials(), key=self._by_lot)
        self.size = len(trials)
        self._have = Counter(f for trial in trials for f in trial.features)
        self.trials = {trial.url: trial for trial in trials}
        self._left = some(trials)

    @cached_property
    def apply(self) -> Callable[[str], str | None]:
        if self.rule.guard is not None:  # only where the list allows it
            return (self.outcomes or {}).get
        return compile_rule(self.rule).apply

    def _by_lot(self, trial: Trial) -> int:
        return xxhash.xxh3_64_intdigest(f"{self.rule.id} {trial.url}".encode("utf-8", "replace"))

    @cached_property
    def credit(self) -> int:
        """What the crawl has shown already, in pages."""
        known = self.rule.evidence
        if known.level in ("url", "size") or known.false or known.lost:
            return 0
        return min(self.test.credit, (known.pairs or 0) // 3)

    @property
    def missing(self) -> int:
        """Pages that must speak for the rule before it is accepted."""
        return max(1, self.test.needed(self.negative) - self.credit - self.positive)

    @property
    def open(self) -> bool:
        return self.verdict is None and not self.over

    def _trials(self) -> Iterator[Trial]:
        if self.outcomes is not None:
            pairs = list(self.outcomes.items())
        else:
            pairs = [(url, after) for url in self.urls if (after := self.apply(url)) not in (None, url)]
        told = features(self.rule, [url for url, _ in pairs])
        for (url, outcome), has in zip(pairs, told, strict=True):
            yield Trial(url, outcome, has, self.urls.get(url))

    def next(self, most: int, cost: Callable[[Trial], float]) -> list[Trial]:
        """The next URLs to try: those that show most of what was not tried, for the fetches they cost.

        When there is a counterexample, those that are like it in what no other page was: is it them, or a mishap?
        """
        out: list[Trial] = []
        while len(out) < most and self._left:
            best = max(self._left, key=lambda t: self._gain(t) / (0.5 + cost(t)))
            out.append(best)
            self._strike(best)
        return out

    def take(self, trial: Trial) -> bool:
        """Try this URL next, if it has anything new to say."""
        if trial.outcome in self._outcomes or trial.content in self._spoken or trial not in self._left:
            return False
        self._strike(trial)
        return True

    def _strike(self, trial: Trial) -> None:
        self._tried.update(trial.features)
        if trial.content is not None:
            self._spoken.add(trial.content)
        self._outcomes.add(trial.outcome)
        # Another address of a content that has spoken says nothing new, unless it is of another kind.
        self._left = [t for t in self._left if t is not trial and not self._stale(t)]

    def _stale(self, trial: Trial) -> bool:
        known = (
            trial.content in self._spoken if trial.content is not None else trial.outcome in self._outcomes
        )
        return known and all(self._tried[f] for f in trial.features)

    def _gain(self, trial: Trial) -> float:
        """Common features count more than rare ones, and each less the more often it was tried."""
        gain = sum(sqrt(self._have[f] / self.size) * 0.1 ** self._tried[f] for f in trial.features)
        if self._suspects:
            gain += 2 * len(self._suspects.intersection(trial.features)) / len(self._suspects)
        return (1e-6 + gain) * (
            1.0 if trial.content not in self._spoken and trial.outcome not in self._outcomes else 0.2
        )

    def count(self, trial: Trial, same: bool, why: str = "") -> None:
        """A trial that says something."""
        self._tally.update((f, same) for f in trial.features)
        if same:
            self.positive += 1
            self._suspects.difference_update(trial.features)
        else:
            self.negative += 1
            self.counterexample = self.counterexample or (trial.url, trial.outcome, why)
            self._suspects |= {f for f in trial.features if not self._tally[f, True]}
        self.verdict = self.test.verdict(self.positive, self.negative, self.credit)
        if self.verdict and self.untried:
            self.verdict = None
        if not same and any(
            self.test.verdict(self._tally[f, True], self._tally[f, False]) is False for f in trial.features
        ):
            self.verdict = False

    @property
    def untried(self) -> set[int]:
        """Common features that no page tried has had."""
        floor = max(2.0, COMMON * self.size)
        left = {f for trial in self._left for f in trial.features}
        return {f for f in left if self._have[f] >= floor and not self._tried[f]}

    def exhausted(self) -> None:
        """There is no URL left to try: what was seen must do."""
        tried = self.positive + self.negative
        if self.negative and self.negative >= self.test.refuted * tried:
            self.verdict = False
        elif not self.negative and self.positive >= LEAST:
            self.verdict = True
        else:
            self.over = "no more pages to try it on"

    def give_up(self, why: str) -> None:
        if self.open:
            self.over = why

    @property
    def why(self) -> str | None:
        """What is to be said of the verdict."""
        tried = self.positive + self.negative
        if self.verdict is True:
            return None
        if self.verdict is False and self.counterexample:
            url, outcome, what = self.counterexample
            return f"{self.negative} of {tried} pages differ: {url} became {outcome} ({what})"
        seen = f"{self.positive} of {tried} pages alike" if tried else "no pages compared"
        return f"undecided, {seen}: {self.over or 'not finished'}"


def some(trials: list[Trial]) -> list[Trial]:
    """Not more than can be looked at: of each feature a few, the rest by lot."""
    if len(trials) <= LOOKED_AT:
        return trials
    seen: Counter[int] = Counter()
    first: list[Trial] = []
    rest: list[Trial] = []
    for trial in trials:
        rare = any(seen[f] < A_FEW for f in trial.features)
        (first if rare else rest).append(trial)
        seen.update(trial.features)
    return (first + rest)[:LOOKED_AT]
