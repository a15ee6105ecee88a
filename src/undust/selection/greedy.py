"""Greedy selection in rounds: the rules that merge most, under a budget of what may be lost.

Each round asks the learners what they see in the site as it is rewritten so far, narrows every proposal to where
it holds, and takes the best that do not touch the same URLs. Equal forms then become one and the next round sees
the next difference. It ends when a round brings nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from undust.learners.view import View
from undust.likeness import LEVELS, Site
from undust.rules import Canonicalizer, Evidence, Rule, RuleBook, SiteRules
from undust.selection.bounds import wilson_lower
from undust.selection.prior import OPAQUE, strength
from undust.selection.prune import pruned
from undust.selection.refine import Bar, Candidate, counted, refine
from undust.selection.trial import Trial, trial

ROUNDS = 14
SMALL_SITE = 3_000  # URLs up to which rules are tried out that have little evidence: a larger site has more
TENTATIVE = 3  # further rounds, in which rules are tried out that little speaks for and nothing against
PLAUSIBLE = 3  # true merges from which a proposal that is turned down is worth a word
WORDY = 0.1  # what each further condition or change takes from the weight of a rule's merges
OVERSHOOT = 1.5  # rules looked for beyond what is kept: the smallest go in the end
BEYOND_DOUBT = 14.0  # prior strength of rules by which the labels' own errors are measured
SMALL = 0.15  # share of the round's best below which a candidate waits
MAX_RULES = 30


@dataclass
class Selection:
    """What was chosen, what it costs on the pages it was judged on, and what was turned down."""

    rules: list[Rule] = field(default_factory=list)
    rejected: dict[str, tuple[int, Rule, str]] = field(default_factory=dict)  # id -> true merges, rule, why
    lost: float = 0.0  # contents, beyond what wrong labels alone would make of it
    view: View | None = None
    noise: float = 0.0  # share of the merges of rules beyond doubt that the labels deny
    doubtful: dict[str, tuple[int, int, Rule]] = field(
        default_factory=dict
    )  # id -> true and wrong merges, rule

    def doubt(self, t: Trial) -> None:
        """Remember a proposal that merges much and is wrong now and then: a guard may tell when."""
        merges, wrong = t.merges, int(t.bad.sum())
        if wrong and merges > self.doubtful.get(t.rule.id, (0,))[0]:
            self.doubtful[t.rule.id] = merges, wrong, t.rule

    def reject(self, t: Trial, why: str) -> None:
        """Remember a proposal that had something for it, and what was against it."""
        self.rejected[t.rule.id] = (t.merges, t.rule, why)

    def rejected_rules(self, most: int = 10) -> list[Rule]:
        """The most plausible ones turned down, each with its reason."""
        taken = {r.id for r in self.rules}
        ranked = sorted(
            (r for i, r in self.rejected.items() if i not in taken), key=lambda r: (-r[0], r[1].id)
        )
        return [replace(r, status="rejected", why=why) for _, r, why in ranked[:most]]


def select(
    site: Site,
    propose: Callable[[View], Sequence[Rule]],
    more: Callable[[View], Sequence[Rule]] = lambda _: (),
    *,
    risk: float = 0.001,
    bar: Bar | None = None,
    max_rules: int = MAX_RULES,
    log: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Choose rules for a site; `risk` is the share of distinct contents that may be lost."""
    view = View(site)
    view.semicolons = _takes_semicolons(view)
    chosen = Selection(view=view, noise=noise_of(view))
    bar = (bar or Bar()).allowing(chosen.noise)
    budget = risk * view.clusters
    clean = Bar(precision=0.6, impurity=0.0, clusters=2)
    idle: dict[str, int] = {}  # proposals that brought nothing: they are tried again only with more votes
    most = int(OVERSHOOT * max_rules)
    tentative: set[str] = set()
    for turn in range(ROUNDS + TENTATIVE):
        proposed = propose(view)
        tried = _tried(proposed, view, bar, idle, chosen)
        if not _take(tried, view, bar, chosen, budget, most, turn, log):
            tried = _tried(more(view), view, bar, idle, chosen)
            if not _take(tried, view, bar, chosen, budget, most, turn, log):
                if view.n > SMALL_SITE:
                    break
                known = {rule.id for rule in chosen.rules}
                tried = _tried(proposed, view, clean, {}, chosen)
                if not _take(tried, view, clean, chosen, 0.0, 2 * most, turn, log):
                    break
                tentative |= {rule.id for rule in chosen.rules} - known
        view = view.rewritten(canonicalizer(site, chosen.rules).map)
        chosen.view = view
    if tentative:
        chosen = _standing(site, chosen, tentative, bar, log)
    kept = pruned(View(site), chosen.rules, max_rules, canonicalizer)
    if len(kept) < len(chosen.rules):
        chosen.rules = kept
        chosen.view = View(site).rewritten(canonicalizer(site, kept).map)
    return chosen


def _standing(
    site: Site, chosen: Selection, tentative: set[str], bar: Bar, log: Callable[[str], None]
) -> Selection:
    """Of the rules that were tried out those that hold now, each judged where all the others have been applied.

    Four parameters that mostly come together have few pairs of pages each that differ in one alone: once the three
    others are gone there are many. A rule that still has not enough is given up, the weakest first.
    """
    rules = list(chosen.rules)
    first = View(site)
    first.semicolons = chosen.view.semicolons if chosen.view else False
    while True:
        weakest: tuple[float, int, str] | None = None
        seen: dict[str, Evidence] = {}
        for k, rule in enumerate(rules):
            if rule.id not in tentative:
                continue
            view = first.rewritten(canonicalizer(site, rules[:k] + rules[k + 1 :]).map)
            t = trial(rule, view)
            low, good, bad = counted(t, bar) if t is not None else (0.0, 0, 0)
            if t is None or low < bar.precision or good < bar.clusters or bad or t.near.sum() > t.merges:
                weakest = min(weakest or (2.0, 0, ""), (low, good, rule.id))
            else:
                seen[rule.id] = evidence_of(t, low)
        if weakest is None:
            break
        rules = [r for r in rules if r.id != weakest[2]]
        log(f"given up: {weakest}")
    rules = [replace(r, evidence=seen.get(r.id, r.evidence)) for r in rules]
    view = first.rewritten(canonicalizer(site, rules).map)
    return replace(chosen, rules=rules, view=view)


def _tried(
    proposals: Sequence[Rule], view: View, bar: Bar, idle: dict[str, int], chosen: Selection
) -> dict[str, Candidate]:
    """Proposals carried out on the view and narrowed to where they hold; those that bring nothing are noted."""
    tried: dict[str, Candidate] = {}
    for rule in proposals:
        votes = rule.evidence.support or 0
        if idle.get(rule.id, -1) >= votes:
            continue
        t = trial(rule, view)
        said: list[tuple[int, str]] = []  # of each part that did not pass: its size, and why
        found = refine(t, bar, lambda _, why, part: said.append((len(part), why))) if t is not None else []  # noqa: B023
        if t is not None and t.merges >= PLAUSIBLE:
            chosen.doubt(t)
        if not found:
            idle[rule.id] = votes
            if t is not None and t.merges >= PLAUSIBLE:
                chosen.reject(t, _against(t, max(said, key=lambda part: part[0])[1] if said else ""))
        for c in found:
            tried.setdefault(c.rule.id, c)
    return tried


def confirm(site: Site, sampled: Selection, *, risk: float = 0.001, bar: Bar | None = None) -> Selection:
    """Judge rules found on a sample on the whole site, one after the other as they will run.

    A rule keeps its place if it holds there as well; its evidence becomes that of all pages.
    """
    bar = (bar or Bar()).allowing(sampled.noise)
    view = View(site)
    budget = risk * view.clusters
    chosen = Selection(
        rejected=dict(sampled.rejected), view=view, noise=sampled.noise, doubtful=dict(sampled.doubtful)
    )
    for rule in sampled.rules:
        t = trial(rule, view)
        if t is None or not t.merges:
            continue
        bad = int(t.bad.sum())
        lost = lost_by(t, chosen.noise)
        if bad > bar.impurity * (t.merges + bad) or (lost and chosen.lost + lost > budget):
            chosen.reject(t, f"held on a sample, not on the whole site: {_against(t)}")
            continue
        clusters = [len(np.unique(view.cluster[t.source[mask]])) for mask in (t.good, t.bad)]
        prior = strength(rule, view.opaque)
        low = wilson_lower(clusters[0] + prior, sum(clusters) + prior)
        seen = replace(evidence_of(t, low), level=rule.evidence.level)
        chosen.rules.append(replace(rule, evidence=seen, examples=examples_of(t)))
        chosen.lost += lost
        view = view.rewritten(canonicalizer(site, chosen.rules).map)
    chosen.view = view
    return chosen


def noise_of(view: View) -> float:
    """How often the labels deny what cannot be doubted: an estimate of the share of wrong labels.

    What carries who asks or whence is dropped from every URL; such rules that are right four times out of five
    are taken to be right always, and what the labels say against them to be the labels' error (pages
    that change by themselves, few min-hashes). The order of parameters is no such witness: software exists that
    minds it.
    """
    good = bad = 0
    for rule in _undoubted(view):
        t = trial(rule, view)
        if t is not None and t.merges >= 10 and int(t.bad.sum()) <= 0.25 * t.merges:
            good += t.merges
            bad += int(t.bad.sum())
    return bad / (good + bad) if good + bad >= 30 else 0.0


def _undoubted(view: View) -> list[Rule]:
    """Rules that hardly ever are wrong: session ids and trackers go, `www.` and the scheme do not matter."""
    keys = [f"query[{n}]" for n in sorted(view.values)] + [f"matrix[{n}]" for n in sorted(view.matrix)]
    rules = [Rule(do={key: None}) for key in keys if not set(key[key.index("[") + 1 : -1]) & set("[]#;")]
    found = [rule for rule in rules if strength(rule, view.opaque) >= OPAQUE]
    origins = {origin.partition("://")[::2] for origin, _, _ in view.parts}
    hosts = sorted({authority for _, authority in origins})
    for host in hosts:
        bare = host.removeprefix("www.")
        if bare != host and bare in hosts and ":" not in host:
            found.append(Rule(when={"host": host}, do={"host": bare}))
    if {"http", "https"} <= {scheme for scheme, _ in origins}:
        found.append(Rule(when={"scheme": "http"}, do={"scheme": "https"}))
    return found


def lost_by(t: Trial, noise: float) -> float:
    """Contents a rule would lose, beyond what wrong labels alone would make of its merges."""
    expected = noise * len(t.source)
    return max(0.0, t.lost - expected - 2 * sqrt(expected))


def _takes_semicolons(view: View) -> bool:
    """Does the site take `;` for `&`? Asked of the pages that were seen under both."""
    t = trial(Rule(when={"separator": ";"}, do={"query": "{query|semi}"}), view)
    return t is not None and t.merges >= 2 and int(t.bad.sum()) <= 0.02 * t.merges


def _take(
    tried: dict[str, Candidate],
    view: View,
    bar: Bar,
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
    ranked = sorted(
        tried.values(),
        key=lambda c: (-_weight(c, view), _plainness(c.rule), _length(c.rule), c.changed, c.rule.id),
    )
    known = {r.id for r in chosen.rules}
    merged = np.arange(view.n)  # forms united by the rules of this round
    written: list[tuple[frozenset[str], np.ndarray]] = []
    floor = 0.0
    any_taken = False
    for c in ranked:
        if len(chosen.rules) >= max_rules or _weight(c, view) < floor:
            break
        if c.rule.id in known:
            continue
        t = trial(c.rule, view)
        if t is None or t.merges < 1 or t.bad.sum() > bar.impurity * (t.merges + t.bad.sum()):
            continue
        fresh = t.good & (merged[t.source] != merged[t.anchor])
        if fresh.sum() < 0.7 * t.merges or _clashes(c.rule, t, written, view.n):
            continue
        lost = lost_by(t, chosen.noise)
        if lost and chosen.lost + lost > budget:
            chosen.reject(t, f"would lose {t.lost} contents, over the budget of {budget:.1f}; {_against(t)}")
            continue
        rule = replace(
            c.rule,
            order=len(chosen.rules),
            status="probable",
            evidence=evidence_of(t, c.precision_low),
            examples=examples_of(t),
        )
        chosen.rules.append(rule)
        chosen.lost += lost
        merged = _unite(merged, t.source[t.good], t.anchor[t.good])
        written.append((_parts_written(rule), t.rows))
        floor = max(floor, SMALL * _weight(c, view))
        any_taken = True
        log(
            f"round {turn} +{t.merges:5d} rows={len(t.rows)} bad={int(t.bad.sum())} near={int(t.near.sum())} "
            f"g={c.good} b={c.bad} "
            f"low={c.precision_low:.3f} {rule.scope.to_dict()} {dict(rule.when)} -> {dict(rule.do)}"
        )
    return any_taken


def _against(t: Trial, why: str = "") -> str:
    """What speaks against a tried rule, with a pair of URLs to look at; `why`: of its largest part."""
    if not t.bad.any():
        return f"{t.merges} true merges, but {why}" if why else f"{t.merges} true merges are too few"
    e = int(np.flatnonzero(t.bad)[0])
    view = t.view
    return (
        f"{int(t.bad.sum())} of {len(t.source)} merges are of different pages, "
        f"e.g. {view.urls[t.source[e]]} and {view.urls[t.anchor[e]]}"
    )


def examples_of(t: Trial, most: int = 3) -> tuple[tuple[str, str], ...]:
    """True merges to look at: a URL and the one it falls together with."""
    events = np.flatnonzero(t.good)
    spread = events[np.linspace(0, len(events) - 1, min(most, len(events))).astype(int)]
    urls = t.view.urls
    return tuple((urls[t.source[e]], urls[t.anchor[e]]) for e in spread)


def _plainness(rule: Rule) -> int:
    """How soon a person sees what the rule does: drops and habits, then rewrites of parts, then of text."""
    if all(v is None or (isinstance(v, str) and v.startswith(f"{{{k}|")) for k, v in rule.do.items()):
        return 0
    return 2 if "substitute" in rule.do else 1


def _length(rule: Rule) -> int:
    """How much there is to read: conditions, limits of scope, and what is written."""
    return (
        len(rule.when)
        + len(rule.do)
        + bool(rule.scope.hosts)
        + bool(rule.scope.domain)
        + bool(rule.scope.path)
    )


def _weight(c: Candidate, view: View) -> float:
    """Merges; fewer for what takes longer to say, and for parameters dropped regardless of each other."""
    loose = [k for k, v in c.rule.do.items() if v is None and k.startswith("query[") and k not in c.rule.when]
    doubtful = len(loose) > 1 and "names" not in c.rule.when and strength(c.rule, view.opaque) < BEYOND_DOUBT
    share = 0.3 if doubtful else 1.0
    return c.merges * share / (1 + WORDY * (_length(c.rule) - 1))


def _parts_written(rule: Rule) -> frozenset[str]:
    """Which parts of a URL the rule writes: changes of different parts go together."""
    if all(value is None and key.startswith("query[") for key, value in rule.do.items()):
        return frozenset({"drops"})
    return frozenset(
        "path" if key.startswith("path") else "all" if key == "substitute" else key for key in rule.do
    )


def _clashes(rule: Rule, t: Trial, written: list[tuple[frozenset[str], np.ndarray]], n: int) -> bool:
    """Do its writes meet those of an earlier rule of the round? Parameters may be dropped in any order."""
    mine = _parts_written(rule)
    if mine == {"drops"}:
        return False
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


def evidence_of(t: Trial, precision_low: float) -> Evidence:
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
        precision_low=round(precision_low, 4),
    )


def canonicalizer(site: Site, rules: Sequence[Rule]) -> Canonicalizer:
    """The site's rules as they would be deployed."""
    book = RuleBook({site.name: SiteRules(site.name, site.hosts, list(rules))})
    return Canonicalizer(book, level="likely", normal=False)
