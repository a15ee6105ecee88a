"""The sequential test: stop as soon as the decision is clear at the chosen error rates (Wald 1945)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

from undust.errors import UsageError


@dataclass(frozen=True)
class SequentialTest:
    """Wald's sequential probability ratio test between a rule that holds and one that does not.

    Parameters
    ----------
    tolerated: share of counterexamples that a rule which holds may have (a page that has just changed, ...)
    refuted: share of counterexamples from which on a rule is wrong
    accept_error: chance that a rule as wrong as `refuted` is accepted
    reject_error: chance that a rule as right as `tolerated` is rejected
    credit: pages that a rule need not be tried on when the crawl itself has shown three times as many pairs
        of equal content, and none of different

    Random draws are assumed. Our draws go to rare branches more often than chance would, so that a rule which
    fails on one of them fails sooner.

    >>> test = SequentialTest()
    >>> test.needed(0), test.verdict(test.needed(0), 0), test.verdict(3, 0), test.verdict(0, 2)
    (15, True, None, False)
    """

    tolerated: float = 0.02
    refuted: float = 0.2
    accept_error: float = 0.05
    reject_error: float = 0.05
    credit: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.tolerated < self.refuted < 1:
            raise UsageError("of the shares of counterexamples: 0 < tolerated < refuted < 1")
        if not (0 < self.accept_error < 0.5 and 0 < self.reject_error < 0.5):
            raise UsageError("the error rates of the test lie between 0 and 0.5")
        if self.credit < 0:
            raise UsageError("the credit of a rule is no less than 0")

    @property
    def against(self) -> float:
        """What a counterexample weighs."""
        return log(self.refuted / self.tolerated)

    @property
    def favour(self) -> float:
        """What an example weighs."""
        return log((1 - self.tolerated) / (1 - self.refuted))

    @property
    def upper(self) -> float:
        return log((1 - self.reject_error) / self.accept_error)

    @property
    def lower(self) -> float:
        return -log((1 - self.accept_error) / self.reject_error)

    def verdict(self, positive: int, negative: int, credit: int = 0) -> bool | None:
        """True: accept; False: reject; None: go on. Credit can spare a rule pages, but not save it."""
        score = positive * self.favour - negative * self.against
        if score <= self.lower:
            return False
        return True if score + credit * self.favour >= self.upper else None

    def needed(self, negative: int) -> int:
        """Examples that accept a rule which has so many counterexamples."""
        return ceil((self.upper + negative * self.against) / self.favour)
