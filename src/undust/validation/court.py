"""The rules of one site on trial, side by side: a page fetched for one serves all that can use it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

from undust.rules import SiteRules
from undust.validation.case import Case, Trial
from undust.validation.pages import Pages
from undust.validation.sameness import Sameness
from undust.validation.state import Ask

AT_A_TIME = 2
"""URLs tried of a rule before all are judged again: more of them would be fetched in vain when it is decided."""

PROVEN = 3
"""Pages that have spoken for a rule, and none against it, before it is tried together with others."""

TOGETHER = 3
"""Rules tried at once at most: when the page differs, each must be tried by itself."""

IN_VAIN = 25
"""Trials of a rule that may say nothing (dead pages, timeouts, repeated contents) before it is left undecided."""


class Attempt(NamedTuple):
    """A URL, what one rule or several in a row make of it, and what it says of each of them."""

    url: str
    outcome: str
    parts: tuple[tuple[Case, Trial], ...]


def alone(case: Case, trial: Trial) -> Attempt:
    """One rule by itself."""
    return Attempt(trial.url, trial.outcome, ((case, trial),))


@dataclass
class Court:
    """The rules of one site on trial."""

    rules: SiteRules
    cases: list[Case]
    urls: Mapping[str, object] = field(repr=False)
    log: Callable[[str], None] = field(default=lambda _: None, repr=False)
    likeness: Sameness = field(default_factory=Sameness, repr=False)

    def __post_init__(self) -> None:
        self.served = Counter(url for case in self.cases for url in case.trials)

    def add(self, case: Case) -> None:
        """One more rule to try."""
        self.cases.append(case)
        self.served.update(case.trials.keys())

    def attempts(self, pages: Pages) -> list[Attempt]:
        """What to try next of each rule that is not decided."""
        out: list[Attempt] = []
        planned: Counter[str] = Counter()
        for case in self.cases:
            wanted = min(AT_A_TIME, case.missing) - planned[case.rule.id]
            if not case.open or wanted <= 0:
                continue
            found = case.next(wanted, lambda trial: self._cost(trial, pages))
            if not found and not planned[case.rule.id]:
                case.exhausted()
            for trial in found:
                attempt = self._together(case, trial, planned)
                planned.update(part.rule.id for part, _ in attempt.parts)
                out.append(attempt)
        return out

    def _cost(self, trial: Trial, pages: Pages) -> float:
        # A page that other rules can use is paid by all of them.
        shared = 1 / sqrt(self.served[trial.url] or 1)
        return shared * (trial.url not in pages) + (trial.outcome not in pages)

    def _together(self, case: Case, trial: Trial, planned: Counter[str]) -> Attempt:
        """The trial, and what further rules make of its outcome: one page fetched says the same of all.

        Only rules that have held so far: then it mostly goes well, and a page is saved for each.
        """
        parts, outcome, passed = [(case, trial)], trial.outcome, {trial.url, trial.outcome}
        for other in self.cases if _proven(case) else ():
            too = other.trials.get(trial.url)
            if other is case or too is None or not _proven(other) or other.missing <= planned[other.rule.id]:
                continue
            after = other.apply(outcome)
            if after is None or after in passed or not other.take(too):
                continue
            parts.append((other, too))
            passed.add(after)
            outcome = after
            if len(parts) == TOGETHER:
                break
        return Attempt(trial.url, outcome, tuple(parts))

    def learn(self, url: str, pages: Pages) -> None:
        """Of a page fetched twice, what changes on it by itself."""
        once = pages.shown((url, 1))
        again = once and pages.shown((once.url, 2))
        if once and again:
            self.likeness.learn(once.url, once.answer, again.answer)

    def same(self, attempt: Attempt, pages: Pages) -> bool | None:
        """Whether the URL and what became of it show the same; None: not to be told."""
        before, after = pages.shown((attempt.url, 1)), pages.shown((attempt.outcome, 1))
        if before is None or after is None or before.answer.kind != "page":
            return None
        if before.url == after.url:
            return True
        if after.answer.kind == "gone":
            return False
        again, after_again = pages.shown((before.url, 2)), pages.shown((after.url, 2))
        same = self.likeness.same(before.answer, after.answer, again.answer if again else None)
        if same is False and after_again:
            # The outcome may be the one that is never the same.
            same = self.likeness.same(after.answer, before.answer, after_again.answer)
        return same

    def witnesses(self, attempt: Attempt, pages: Pages) -> list[Ask]:
        """The pages to be fetched once more before a difference is believed."""
        shown = [pages.shown((attempt.url, 1)), pages.shown((attempt.outcome, 1))]
        return [(s.url, 2) for s in shown if s is not None and s.answer.kind == "page"]

    def judge(self, attempt: Attempt, pages: Pages) -> None:
        """What an attempt says of its rules."""
        before, after = pages.shown((attempt.url, 1)), pages.shown((attempt.outcome, 1))
        if before is None or after is None:
            return
        same = self.same(attempt, pages)
        if same is False:
            again = [pages.shown(ask) for ask in self.witnesses(attempt, pages)]
            if any(shown is None or shown.answer.kind != "page" for shown in again):
                same = None
        what = str(after.answer) if after.answer.kind == "gone" else "another page"
        for case, trial in attempt.parts:
            if not case.open:
                continue
            case.fetched |= {attempt.url, attempt.outcome}
            if same is None:
                case.unclear += 1
            elif same and self._spoke(case, before.url, pages):
                case.repeated += 1
            else:
                if same:
                    case.contents.append(before.url)
                case.count(trial, same, what)
            if case.open and case.unclear + case.repeated >= IN_VAIN + case.positive:
                case.give_up(f"{case.unclear} pages could not be compared, {case.repeated} repeated others")
            if not case.open:
                self.log(
                    f"{'holds' if case.verdict else 'open' if case.over else 'fails'}: {case.rule.describe()}"
                )

    def _spoke(self, case: Case, url: str, pages: Pages) -> bool:
        """Whether a page shows what another one has shown that spoke for the rule."""
        here = pages.shown((url, 1))
        for other in case.contents:
            there = pages.shown((other, 1))
            if other == url or (here and there and self.likeness.same(here.answer, there.answer)):
                return True
        return False


def _proven(case: Case) -> bool:
    return case.open and case.positive >= PROVEN and not case.negative
