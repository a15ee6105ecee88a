"""Tables 1 to 4 and Figures 9 to 12 of Lei et al. (L): learned from a fifth of the URLs, measured on all.

The training URLs are among the tested ones, as in the paper; `undust bench quality` is stricter. Of each selection,
rules go until the set as a whole keeps to fpr_max on the training URLs: without that, sets could not be compared at
equal fpr.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from undust.learners.base import Learner
from undust.learners.pattern_tree import PatternTree
from undust.learners.rewrite import Rewrite
from undust.likeness import Site
from undust.measures.cases import Case
from undust.measures.metrics import Measures, macro, micro
from undust.measures.papers.curves import Curves
from undust.measures.papers.labelled import Learn, applied, fifth, hard, labelled_sites, sizes
from undust.measures.table import Cell, percent, table
from undust.rules import Rule
from undust.selection.deployment import STRATEGIES, raw_links
from undust.selection.links import Link
from undust.selection.together import holding

MAX_FPR = 0.05
THRESHOLDS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1)
WIDE = (*THRESHOLDS[::5], 0.2, 0.3, 0.5, 0.7, 0.9)
LEARNERS: dict[str, Learner] = {
    "fanout-5": Rewrite(fanout=5, min_coverage=2, min_precision=0.0, max_rules=2_000),
    "fanout-10": Rewrite(fanout=10, min_coverage=2, min_precision=0.0, max_rules=2_000),
    "tree": PatternTree(),
}
COMBINATIONS = (("fanout-5", "naive"), ("fanout-10", "naive"), ("tree", "naive"), ("tree", "graph"))
# raw rules, qualified, rate, deployable, compression
PAPER = {
    ("fanout-5", "naive"): (52_577, 19_754, "37.6", 10_433, "18.8"),
    ("fanout-10", "naive"): (36_149, 13_813, "38.2", 7_434, "16.0"),
    ("tree", "naive"): (14_912, 6_373, "42.7", 2_069, "26.3"),
    ("tree", "graph"): (14_912, 6_373, "42.7", 1_171, "34.5"),
}
SECONDS = {"fanout-5": "73.5", "fanout-10": "60.6", "tree": "37.3"}


@dataclass
class Raw:
    """One learner's raw rules on one site, their false-positive rates, and the CPU seconds they took."""

    links: list[Link]
    rates: list[float]
    seconds: float


@dataclass
class Study:
    """One site: its fifth, the whole, and what each learner makes of it."""

    train: Site
    test: Site
    raw: dict[str, Raw] = field(default_factory=dict)
    nodes: int = 0
    height: int = 0
    growing: float = 0.0
    selected: dict[tuple[str, str, int], list[Rule]] = field(default_factory=dict)
    measured: dict[tuple[str, ...], Measures] = field(default_factory=dict)

    def at(self, learner: str, strategy: str, threshold: float) -> tuple[int, Measures]:
        """Deployed rules, as a set within the threshold too, and their outcome; the same rules are run once."""
        good = [link for link in self.raw[learner].links if link.fpr <= threshold]
        known = (learner, strategy, len(good))
        if known not in self.selected:
            self.selected[known] = STRATEGIES[strategy](good, self.train.urls.tolist())
        rules = holding(self.selected[known], self.train, threshold)
        names = tuple(rule.id for rule in rules)
        if names not in self.measured:
            self.measured[names] = applied(rules, self.test)
        return len(rules), self.measured[names]


def trees(data: Sequence[Case], learn: Learn | None = None, seed: int = 1) -> Iterator[str | Curves]:
    """L on all the data together."""
    studies = [study(site, seed) for site in labelled_sites(data)]
    if not studies:
        return
    yield from data_sets(studies)
    yield ""
    yield from tree_sizes(studies)
    yield ""
    yield from rule_counts(studies, learn)
    yield ""
    yield from times(studies)
    yield ""
    yield from qualified_rates(studies)
    yield ""
    yield from curves(studies)
    yield ""


def study(site: Site, seed: int) -> Study:
    """Learn from a fifth of the site with each learner."""
    train, test = fifth(site, seed)
    out = Study(train, test)
    began = time.process_time()
    grown = list(PatternTree(align="start").grow(train))
    out.growing = time.process_time() - began
    out.nodes = sum(len(g.tree.nodes) for g in grown)
    out.height = max((g.tree.height for g in grown), default=0)
    for name, learner in LEARNERS.items():
        began = time.process_time()
        links, rates = raw_links(learner, train)
        out.raw[name] = Raw(links, rates, time.process_time() - began)
    return out


def _spread(values: Sequence[float], places: int = 0) -> list[Cell]:
    return [f"{f(values):,.{places}f}" for f in (min, max, np.mean)]


def data_sets(studies: Sequence[Study]) -> Iterator[str]:
    """L Table 1."""
    yield "L Table 1: data set"
    of = [sizes(s.test.labels.cluster[hard(s.test)]) for s in studies]
    header = ["", "paper: min", "max", "avg", "here: min", "max", "avg"]
    yield from table(
        header,
        [
            ["URLs/site", 24_147, 3_000_000, 352_106, *_spread([int(x.sum()) for x in of])],
            ["clusters/site", 158, 976_862, 92_365, *_spread([len(x) for x in of])],
            ["URLs/cluster", 2, 314_465, "3.8", *_spread(np.concatenate(of).tolist(), 1)],
            ["duplicate rate %", None, None, "63.4", *_spread([100 * (1 - len(x) / x.sum()) for x in of], 1)],
        ],
    )


def tree_sizes(studies: Sequence[Study]) -> Iterator[str]:
    """L Table 2."""
    yield "L Table 2: pattern trees"
    yield from table(
        ["", "paper: min", "max", "avg", "here: min", "max", "avg"],
        [
            ["nodes/tree", 8, 634, 105, *_spread([s.nodes for s in studies])],
            ["height", 3, 16, 6, *_spread([s.height for s in studies])],
            ["seconds/tree", "<1", 257, 22, *_spread([s.growing for s in studies], 2)],
        ],
    )


def rule_counts(studies: Sequence[Study], learn: Learn | None) -> Iterator[str]:
    """L Tables 3 and 4."""
    yield f"L Tables 3 and 4: raw, qualified (fpr <= {MAX_FPR}) and deployable rules, and their compression"
    rows: list[list[Cell]] = []
    for learner, strategy in COMBINATIONS:
        rates = [rate for s in studies for rate in s.raw[learner].rates]
        good = sum(rate <= MAX_FPR for rate in rates)
        outcomes = [s.at(learner, strategy, MAX_FPR) for s in studies]
        m = micro(o for _, o in outcomes)
        rows.append(
            [
                f"{learner} + {strategy}",
                *PAPER[learner, strategy],
                len(rates),
                good,
                percent(good / max(len(rates), 1)),
                sum(n for n, _ in outcomes),
                percent(m.reduction),
                f"{m.fpr:.4f}",
                m.lost,
            ]
        )
    if learn is not None:
        books = [learn(s.train.pages, "auto") for s in studies]
        m = micro(applied(book, s.test) for book, s in zip(books, studies, strict=True))
        rows.append(
            ["undust auto", *[None] * 8, sum(map(len, books)), percent(m.reduction), f"{m.fpr:.4f}", m.lost]
        )
    ceiling = micro(applied([], s.test) for s in studies).ceiling
    rows.append(["ceiling", *[None] * 4, "63.4", *[None] * 4, percent(ceiling), None, None])
    paper = ["paper: raw", "qual.", "%", "depl.", "compr. %"]
    yield from table(["", *paper, "here: raw", "qual.", "%", "depl.", "compr. %", "fpr", "lost"], rows)


def times(studies: Sequence[Study]) -> Iterator[str]:
    """L Figure 9."""
    yield "L Figure 9: CPU seconds per site to make the raw rules (tree: with growing it)"
    names = list(LEARNERS)
    here: list[Cell] = [f"{np.mean([s.raw[name].seconds for s in studies]):.2f}" for name in names]
    yield from table(
        ["", *names], [["paper (2.33 GHz Xeon, C#)", *(SECONDS[name] for name in names)], ["here", *here]]
    )


def qualified_rates(studies: Sequence[Study]) -> Iterator[str | Curves]:
    """L Figure 10."""
    yield "L Figure 10: qualified rate % by fpr_max (paper: the tree is above both at most thresholds)"
    rows: list[list[Cell]] = []
    for name in LEARNERS:
        rates = np.array([rate for s in studies for rate in s.raw[name].rates])
        rows.append([name, *(percent(float((rates <= t).mean())) if len(rates) else "-" for t in WIDE)])
    header = ["fpr_max", *(f"{t:g}" for t in WIDE)]
    yield from table(header, rows)
    yield Curves.of("L Figure 10: qualified rate %", header, rows)


def curves(studies: Sequence[Study]) -> Iterator[str | Curves]:
    """L Figures 11 and 12."""
    found = {
        (learner, strategy, t): [s.at(learner, strategy, t)[1] for s in studies]
        for learner, strategy in COMBINATIONS
        for t in THRESHOLDS
    }
    paper = "paper: tree + graph > tree + naive > fanout-5, fanout-10; best about 35"
    for figure, rate in (("11", "reduction"), ("12", "dup_reduction")):
        what = "compression" if rate == "reduction" else "dup-reduction"
        for average in ("micro", "macro"):
            yield f"L Figure {figure}: {what} rate %, {average} average, by fpr_max ({paper})"
            rows: list[list[Cell]] = []
            for learner, strategy in COMBINATIONS:
                row: list[Cell] = [f"{learner} + {strategy}"]
                for t in THRESHOLDS:
                    here = found[learner, strategy, t]
                    value = getattr(micro(here), rate) if average == "micro" else macro(here)[rate]
                    row.append(percent(value))
                rows.append(row)
            header = ["fpr_max", *(f"{t:g}" for t in THRESHOLDS)]
            yield from table(header, rows)
            yield Curves.of(f"L Figure {figure}: {what} rate %, {average} average", header, rows)
            paper = "as above"
