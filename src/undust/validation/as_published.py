"""The papers' procedure on live pages: N samples a rule, drawn at random, refuted by a share of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from undust.rules import Rule
from undust.validation.answer import Answer
from undust.validation.court import Court
from undust.validation.fetcher import NotRecorded, Page
from undust.validation.pages import Pages
from undust.validation.published import PublishedValidation, Trial, shrinking_first
from undust.validation.sameness import Sameness


@dataclass(frozen=True)
class LivePage(Page):
    """A page that is compared as the sequential test compares pages, its noise aside."""

    url: str = ""
    answer: Answer = field(default_factory=lambda: Answer("failed"))
    pages: Pages | None = field(default=None, repr=False, compare=False)
    likeness: Sameness = field(default_factory=Sameness, repr=False, compare=False)

    def similar(self, other: Page, matches: int = 4) -> bool:
        if not isinstance(other, LivePage) or self.pages is None:
            return super().similar(other, matches)
        if self.url == other.url or self.likeness.same(self.answer, other.answer):
            return True
        self.pages.fetch([(self.url, 2)])
        again = self.pages.shown((self.url, 2))
        if again is None or again.answer.kind != "page":
            return False
        self.likeness.learn(self.url, self.answer, again.answer)
        return bool(self.likeness.same(self.answer, other.answer, again.answer))


class LivePages:
    """Pages one by one, as `PublishedValidation` asks for them."""

    def __init__(self, pages: Pages) -> None:
        self.pages, self.likeness = pages, Sameness()

    def fetch(self, url: str) -> Page | None:
        self.pages.fetch([(url, 1)])
        shown = self.pages.shown((url, 1))
        if shown is None or shown.answer.kind == "refused":
            raise NotRecorded(url)
        if shown.answer.kind != "page":
            return None
        return LivePage(
            shown.answer.digest, url=shown.url, answer=shown.answer, pages=self.pages, likeness=self.likeness
        )


class Interruptible(PublishedValidation):
    """Knows which rules it could not finish."""

    def __init__(self, pages: Pages, urls: Iterable[str], **parameters: float) -> None:
        super().__init__(LivePages(pages), list(urls), **parameters)  # type: ignore[arg-type]
        self.pages, self.unfinished = pages, set[str]()

    def validate_rule(self, rule: Rule) -> Trial:
        trial = super().validate_rule(rule)
        if self.pages.stopped:
            self.unfinished.add(rule.id)
            return Trial(False, trial.positive, trial.negative, self.pages.stopped)
        return trial


def validate_as_published(court: Court, pages: Pages, **parameters: float) -> tuple[list[Rule], list[Rule]]:
    """The rules of a site, kept and rejected. What was not finished is kept as it was."""
    method = Interruptible(pages, court.urls, **parameters)
    given = [case.rule for case in court.cases]
    found = method.validate(given)
    covered = "a broader rule that holds does the same"
    rejected = [rule for rule in found.rejected if rule.id not in method.unfinished]
    rejected += [replace(rule, status="rejected", why=covered) for rule in found.spared]
    known = {rule.id for rule in (*found.rules, *rejected)}
    # A pair may have been validated the other way round.
    known |= {flip.id for rule in found.rules if "substitute" in rule.do for flip in shrinking_first(rule)}
    unfinished = [replace(rule, why=f"undecided: {pages.stopped}") for rule in given if rule.id not in known]
    return found.rules + unfinished, rejected
