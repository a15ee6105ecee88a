"""Greedy selection in rounds: the rules that merge most, under a budget of what may be lost.

Each round asks the learners what they see in the site as it is rewritten so far, narrows every proposal to where
it holds, and takes the best that do not touch the same URLs. Equal forms then become one and the next round sees
the next difference. It ends when a round brings nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from undust.learners.view import View
from undust.likeness import LEVELS, Site
from undust.rules import Evidence, Rule, compile_rule
from undust.selection.refine import Bar, Candidate, refine
from undust.selection.trial import Trial, trial

ROUNDS = 14
SMALL = 0.15  # share of the round's best below which a candidate waits
MAX_RULES = 30


@dataclass
class Selection:
    """What was chosen, what it costs on the pages it was judged on, and what was turned down."""

    rules: list[Rule] = field(default_factory=list)
    rejected: list[tuple[Rule, str]] = field(default_factory=list)
    lost: int = 0
    view: View | None = None


def select(
    site: Site,
    propose: Callable[[View], Sequence[Rule]],
    *,
    risk: float = 0.001,
    bar: Bar | None = None,
    max_rules: int = MAX_RULES,
    log: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Choose rules for a site; `risk` is the share of distinct contents that may be lost."""
    bar = bar or Bar()
    view = View(site)
    chosen = Selection(view=view)
    budget = risk * view.clusters
    idle: dict[str, int] = {}  # proposals that brought nothing: they are tried again only with more votes
    for turn in range(ROUNDS):
        tried: dict[str, Candidate] = {}
        for rule in propose(view):
            votes = rule.evidence.support or 0
            if idle.get(rule.id, -1) >= votes:
                continue
            t = trial(rule, view)
            found = refine(t, bar) if t is not None and t.good.any() else []
            if not found:
                idle[rule.id] = votes
            for c in found:
                tried.setdefault(c.rule.id, c)
        if not _take(tried, view, chosen, budget, max_rules, turn, log):
            break
        view = view.rewritten(rewriter(chosen.rules))
        chosen.view = view
    return chosen


def _take(
    tried: dict[str, Candidate],
    view: View,
    chosen: Selection,
    budget: float,
    max_rules: int,
    turn: int,
    log: Callable[[str], None],
) -> bool:
    """Accept a round's best candidates: most merges, widest, least change.

    What earlier ones of the round have merged already does not count again; two that write the same part of the
    same URLs do not go together; and what is small beside the round's best waits for the next round, in which
    more may have come together.
    """
    ranked = sorted(tried.values(), key=lambda c: (-c.merges, c.conditions, c.changed, c.rule.id))
    known = {r.id for r in chosen.rules}
    merged = np.arange(view.n)  # forms united by the rules of this round
    written: list[tuple[frozenset[str], np.ndarray]] = []
    floor = 0.0
    any_taken = False
    for c in ranked:
        if len(chosen.rules) >= max_rules or c.merges < floor:
            break
        if c.rule.id in known:
            continue
        t = trial(c.rule, view)
        if t is None or t.merges < 1:
            continue
        fresh = t.good & (merged[t.source] != merged[t.anchor])
        if fresh.sum() < 0.7 * t.merges or _clashes(c.rule, t, written, view.n):
            continue
        if t.lost and chosen.lost + t.lost > budget:
            chosen.rejected.append((c.rule, f"would lose {t.lost} contents, over the budget"))
            continue
        rule = replace(c.rule, order=len(chosen.rules), status="probable", evidence=_evidence(c, t))
        chosen.rules.append(rule)
        chosen.lost += t.lost
        merged = _unite(merged, t.source[t.good], t.anchor[t.good])
        written.append((_parts_written(rule), t.rows))
        floor = max(floor, SMALL * t.merges)
        any_taken = True
        log(
            f"round {turn} +{t.merges:5d} rows={len(t.rows)} bad={int(t.bad.sum())} near={int(t.near.sum())} g={c.good} b={c.bad} "
            f"low={c.precision_low:.3f} {rule.scope.to_dict()} {dict(rule.when)} -> {dict(rule.do)}"
        )
    return any_taken


def _parts_written(rule: Rule) -> frozenset[str]:
    """Which parts of a URL the rule writes: changes of different parts go together."""
    return frozenset(
        "path" if key.startswith("path") else "all" if key == "substitute" else key for key in rule.do
    )


def _clashes(rule: Rule, t: Trial, written: list[tuple[frozenset[str], np.ndarray]], n: int) -> bool:
    mine = _parts_written(rule)
    for parts, rows in written:
        if mine & parts or "all" in mine | parts:
            mask = np.zeros(n, bool)
            mask[rows] = True
            if mask[t.rows].mean() > 0.2 or mask[t.anchor[t.good]].mean() > 0.2:
                return True
    return False


def _unite(group: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Groups after joining a[i] with b[i], each named by its smallest member."""
    while True:
        low = np.minimum(group[a], group[b])
        new = group.copy()
        np.minimum.at(new, group[a], low)
        np.minimum.at(new, group[b], low)
        new = new[new]
        if (new == group).all():
            return group
        group = new


def _evidence(c: Candidate, t: Trial) -> Evidence:
    labels = t.view.site.labels
    level = (
        LEVELS[int(labels.level[t.view.representative[t.source]].max(initial=0))]
        if labels is not None
        else "url"
    )
    return Evidence(
        level=level,
        support=int(t.view.pages[t.rows].sum()),
        pairs=len(t.source),
        false=int(t.bad.sum()),
        near=int(t.near.sum()),
        lost=t.lost,
        precision_low=round(c.precision_low, 4),
    )


def rewriter(rules: Sequence[Rule], rounds: int = 10) -> Callable[[str], str]:
    """Apply rules in order to a fixpoint; the canonicalizer proper adds lookup by host and speed."""
    compiled = [compile_rule(r) for r in rules]

    def rewrite(url: str) -> str:
        for _ in range(rounds):
            before = url
            for rule in compiled:
                new = rule.apply(url)
                if new is not None:
                    url = new
            if url == before:
                break
        return url

    return rewrite
