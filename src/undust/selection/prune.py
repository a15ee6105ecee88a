"""Pruning: no rule stays that can go without loss, and of too many those go that are missed least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from undust.learners.view import View
from undust.rules import Canonicalizer, Rule

Ints = npt.NDArray[np.int64]
LOOKED_AT = 6000  # changed URLs that tell which rules are at work


class _Ledger:
    """Where every form of a site ends under a set of rules, and which rules took it there."""

    def __init__(
        self, view: View, rules: Sequence[Rule], canonicalizer: Callable[..., Canonicalizer]
    ) -> None:
        self.view = view
        self.build = canonicalizer
        self.rules = list(rules)
        known = np.flatnonzero((view.cluster >= 0) & ~view.soft)
        step = max(1, len(known) // LOOKED_AT)
        self.rows = known[::step] if step > 1 and len(known) > 2 * LOOKED_AT else known
        self.urls = [view.urls[row] for row in self.rows.tolist()]
        self.cluster = view.cluster[self.rows].tolist()
        self.ends = list(self.urls)
        self.fired: dict[str, set[int]] = {rule.id: set() for rule in self.rules}
        self.count = dict(Counter(zip(self.ends, self.cluster, strict=True)))
        self._settle(range(len(self.urls)))

    def _settle(self, rows: Iterable[int]) -> None:
        """Where these rows end under the rules as they are now. A URL on which a rule never fired is none of them."""
        canon = self.build(self.view.site, self.rules)
        rows = list(rows)
        ends = canon.map([self.urls[i] for i in rows])
        for i, end in zip(rows, ends, strict=True):
            if end != self.ends[i]:
                old, new = (self.ends[i], self.cluster[i]), (end, self.cluster[i])
                self.count[old] -= 1
                self.count[new] = self.count.get(new, 0) + 1
                self.ends[i] = end
            if end != self.urls[i]:
                for rule in {step[0].id for step in canon.explain(self.urls[i]).steps if step[0] is not None}:
                    self.fired[rule].add(i)

    def missed(self, rule: Rule) -> int:
        """True merges that would be lost without the rule: forms of one content more than with it."""
        touched = sorted(self.fired[rule.id])
        if not touched:
            return 0
        canon = self.build(self.view.site, [r for r in self.rules if r.id != rule.id])
        ends = canon.map([self.urls[i] for i in touched])
        change: dict[tuple[str, int], int] = {}
        for i, end in zip(touched, ends, strict=True):
            change[self.ends[i], self.cluster[i]] = change.get((self.ends[i], self.cluster[i]), 0) - 1
            change[end, self.cluster[i]] = change.get((end, self.cluster[i]), 0) + 1
        gone = sum(1 for pair, n in change.items() if n < 0 and self.count.get(pair, 0) + n == 0)
        new = sum(1 for pair, n in change.items() if n > 0 and not self.count.get(pair, 0))
        return new - gone

    def remove(self, rule: Rule) -> None:
        self.rules = [r for r in self.rules if r.id != rule.id]
        touched = sorted(self.fired.pop(rule.id))
        for rows in self.fired.values():
            rows.difference_update(touched)
        self._settle(touched)


def pruned(
    view: View, rules: Sequence[Rule], most: int, canonicalizer: Callable[..., Canonicalizer]
) -> list[Rule]:
    """The rules without those that nobody would miss, and at most `most` of them; the order stays.

    A rule is missed for the true merges that the others do not make without it: a rule of one directory is not
    once the same rule of the whole site is there.
    """
    ledger = _Ledger(view, rules, canonicalizer)
    loss = {rule.id: ledger.missed(rule) for rule in ledger.rules}
    while ledger.rules:
        # Of rules that stand in for each other the special one goes first.
        least = min(ledger.rules, key=lambda r: (loss[r.id], -_said(r), r.id))
        now = ledger.missed(least)
        if now > loss[least.id]:
            loss[least.id] = now
            continue
        if now > 0 and len(ledger.rules) <= most:
            break
        ledger.remove(least)
    return ledger.rules


def _said(rule: Rule) -> int:
    """How much a rule says of where it holds."""
    scope = rule.scope
    return len(rule.when) + bool(scope.hosts) + bool(scope.domain) + bool(scope.path)
