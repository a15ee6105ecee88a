"""Tables 1 to 6 and Figures 1 and 3 of Koppula et al. (K): rules learned from half of the clusters.

All figures are of the other half. A rule's precision is the share of the URLs that meet another one by it that
meet their own content (RES-28); singletons are in the data, unlike the paper's, and can be met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from undust.learners.base import Learner
from undust.learners.key_table import KeyTable
from undust.learners.pairwise import Pairwise
from undust.learners.rewrite import Rewrite
from undust.learners.view import View
from undust.likeness import Site
from undust.measures.cases import Case
from undust.measures.metrics import Measures, micro
from undust.measures.papers.curves import Curves
from undust.measures.papers.labelled import Learn, applied, half, hard, labelled_sites, sizes
from undust.measures.table import Cell, percent, table
from undust.rules import Rule
from undust.selection.trial import trial

PRECISIONS = (1.0, 0.95, 0.9, 0.8, 0.0)
COVERAGES = (10, 100, 1000)
LABELS = {1.0: "= 1", 0.95: ">= .95", 0.9: ">= .9", 0.8: ">= .8", 0.0: "all"}

# precision: rules, share of all rules in %, RR in %
BASELINE = {
    1.0: (1_149, 3.67, 3),
    0.95: (21_894, 69.81, 16),
    0.9: (21_938, 69.95, 17),
    0.8: (22_105, 70.48, 18),
    0.0: (31_363, 100, 43),
}
SMALL = {
    1.0: (649, 1.67, 6),
    0.95: (1_707, 4.40, 26),
    0.9: (2_375, 6.12, 33),
    0.8: (3_547, 9.13, 42),
    0.0: (38_830, 100, 69),
}
LARGE = {
    1.0: (439_919, 5.30, 7.63),
    0.95: (810_611, 9.77, 29.02),
    0.9: (1_065_641, 12.85, 33.59),
    0.8: (1_421_145, 17.14, 38.82),
    0.0: (8_293_763, 100, 60.36),
}
# precision: per minimum coverage 10, 100, 1000: rules / RR / average reduction per rule
BY_COVERAGE = {
    "Table 4, paper (7.87 M URLs)": {
        1.0: ("649 / 6.20 / 748", "296 / 5.37 / 1,430", "126 / 4.18 / 2,615"),
        0.95: ("1,707 / 26.42 / 1,219", "1,105 / 25.50 / 1,817", "523 / 21.88 / 3,292"),
        0.9: ("2,375 / 32.98 / 1,094", "1,527 / 31.89 / 1,644", "662 / 26.99 / 3,209"),
        0.8: ("3,547 / 41.53 / 922", "2,214 / 40.26 / 1,431", "894 / 33.38 / 2,938"),
    },
    "Table 6, paper (2.97 G URLs)": {
        1.0: ("439,919 / 7.63 / 515", "123,417 / 6.44 / 1,550", "16,065 / 4.12 / 7,622"),
        0.95: ("810,611 / 29.02 / 1,063", "381,894 / 27.42 / 2,133", "82,406 / 21.33 / 7,689"),
        0.9: ("1,065,641 / 33.59 / 936", "499,926 / 31.68 / 1,882", "104,977 / 24.24 / 6,858"),
        0.8: ("1,421,145 / 38.82 / 811", "669,454 / 36.55 / 1,622", "135,210 / 27.47 / 6,035"),
    },
}
FANOUT = 10
"""Of the baseline. The paper has 30, on sites a hundred times as large."""
NO_FILTER: dict[str, Any] = {"min_precision": 0.0, "max_rules": 5_000}


@dataclass(frozen=True)
class Scored:
    """A rule with what it does to the test half: URLs it applies to, and its precision there."""

    rule: Rule
    coverage: int
    precision: float


@dataclass
class Learned:
    """The rules of one method on all sites."""

    name: str
    sites: list[tuple[Site, list[Scored]]] = field(default_factory=list)

    def chosen(self, precision: float, coverage: int) -> Iterator[tuple[Site, list[Rule]]]:
        """The rules of each site that pass, surest first."""
        for site, scored in self.sites:
            kept = [s for s in scored if s.precision >= precision and s.coverage >= coverage]
            kept.sort(key=lambda s: (-s.precision, -s.coverage, s.rule.id))
            yield site, [s.rule for s in kept]

    def at(self, precision: float, coverage: int = COVERAGES[0]) -> tuple[int, Measures]:
        """How many rules pass, and what they do together."""
        chosen = list(self.chosen(precision, coverage))
        return sum(len(rules) for _, rules in chosen), micro(applied(rules, site) for site, rules in chosen)

    def count(self, coverage: int) -> int:
        """Rules of any precision."""
        return sum(s.coverage >= coverage for _, scored in self.sites for s in scored)


def pairs(data: Sequence[Case], learn: Learn | None = None, seed: int = 1) -> Iterator[str | Curves]:
    """K on all the data together."""
    sites = list(labelled_sites(data))
    split = [half(site, seed) for site in sites]
    methods = {
        "baseline": learned("baseline", Rewrite(fanout=FANOUT, **NO_FILTER), split),
        "published": learned(
            "published", Pairwise(nearest=False, relax=False, min_tested=0.0, **NO_FILTER), split
        ),
        "ours": learned("ours", Pairwise(**NO_FILTER), split),
    }
    yield from data_sets(sites)
    yield ""
    yield from generalization(split)
    yield ""
    yield from by_precision(list(methods.values()), split, learn)
    yield ""
    yield from by_coverage(methods["published"])
    yield ""
    yield from cluster_sizes(sites)
    yield ""
    yield from cumulative_coverage(methods["published"])
    yield ""


def learned(name: str, learner: Learner, split: Sequence[tuple[Site, Site]]) -> Learned:
    """Learn on one half of each site and score the rules on the other."""
    out = Learned(name)
    for train, test in split:
        view, scored = View(test), []
        for rule in learner.propose(train):
            tried = trial(rule, view)
            if tried is not None:
                met = len(tried.source)
                scored.append(Scored(rule, len(tried.rows), tried.merges / met if met else 1.0))
        out.sites.append((test, scored))
    return out


def data_sets(sites: Sequence[Site]) -> Iterator[str]:
    """K Table 1."""
    yield "K Table 1: data sets"
    clusters = [sizes(site.labels.cluster[hard(site)]) for site in sites]
    every = np.concatenate(clusters) if clusters else np.zeros(0, np.int64)
    several = every[every > 1]
    hosts = sum(len(site.hosts) for site in sites)

    def ceiling(urls: int, contents: int) -> str:
        return percent(1 - contents / urls) if urls else "-"

    yield from table(
        ["", "URLs", "clusters", "hosts", "ceiling %"],
        [
            ["paper: small (Dasgupta's)", "7.87 M", "1.83 M", "356", "76.7"],
            ["paper: large", "2.97 G", "604 M", "1 M", "79.7"],
            [
                "here: duplicates only",
                int(several.sum()),
                len(several),
                hosts,
                ceiling(int(several.sum()), len(several)),
            ],
            [
                "here: with singletons",
                int(every.sum()),
                len(every),
                hosts,
                ceiling(int(every.sum()), len(every)),
            ],
        ],
    )


def generalization(split: Sequence[tuple[Site, Site]]) -> Iterator[str]:
    """K Table 2."""
    yield "K Table 2: rules from pairs, generalized, and after the coverage filter"
    learner = Pairwise(
        nearest=False,
        relax=False,
        min_coverage=1,
        min_clusters=1,
        min_tested=0.0,
        min_precision=0.0,
        max_rules=100_000,
    )
    all_pairs = selected = general = covering = 0
    for train, _ in split:
        of = sizes(train.labels.cluster[hard(train)])
        all_pairs += int((of * (of - 1)).sum())
        rules = learner.propose(train)
        cluster = np.where(hard(train), train.labels.cluster, -1).astype(np.int64)
        selected += len(learner.select(KeyTable(train.table), cluster, train)[0])
        general += len(rules)
        covering += sum((rule.evidence.support or 0) >= COVERAGES[0] for rule in rules)

    def less(before: int, after: int) -> str:
        return f"{after:,} (-{percent(1 - after / before, 2)} %)" if before else "-"

    yield from table(
        ["", "all pairs", "selected pairs", "generalized", "r_cov >= 10"],
        [
            ["paper: small", "", "12.37 M", "93.23 K (-99.25 %)", "38.83 K (-58.35 %)"],
            ["paper: large", "", "728.26 M", "13.54 M (-98.14 %)", "8.29 M (-38.77 %)"],
            ["here", all_pairs, selected, less(selected, general), less(general, covering)],
        ],
    )


def by_precision(
    methods: Sequence[Learned], split: Sequence[tuple[Site, Site]], learn: Learn | None
) -> Iterator[str]:
    """K Tables 3 and 5."""
    yield "K Tables 3 and 5: rules/% of all/reduction ratio %, by least precision of a rule"
    totals = {m.name: max(m.count(COVERAGES[0]), 1) for m in methods}
    ceiling = 0.0
    rows: list[list[Cell]] = []
    for precision in PRECISIONS:
        row: list[Cell] = [
            LABELS[precision],
            *(
                "/".join([f"{paper[precision][0]:,}", *map(str, paper[precision][1:])])
                for paper in (BASELINE, SMALL, LARGE)
            ),
        ]
        for method in methods:
            count, m = method.at(precision)
            ceiling = m.ceiling
            row.append(f"{count:,}/{percent(count / totals[method.name])}/{percent(m.reduction)}")
        rows.append(row)
    header = ["", "paper: baseline", "paper: small", "paper: large", "here: baseline", "published", "ours"]
    yield from table(header, rows)
    yield f"Ceilings: paper 76.7 and 79.7; here {percent(ceiling)} %. Baseline: fan-out 30 in the paper, here {FANOUT}."
    yield "Published: all as in the paper. Ours: nearest pairs too, contexts as wide as they hold."
    for method in methods:
        m = method.at(0.95)[1]
        yield f"At .95 {method.name}: fpr {m.fpr:.5f}, {m.lost} contents lost, {percent(m.reached)} % of the ceiling"
    if learn is not None:
        books = [(learn(train.pages, "auto"), test) for train, test in split]
        m = micro(applied(book, test) for book, test in books)
        yield (
            f"undust's auto: {sum(len(book) for book, _ in books)} rules, reduction {percent(m.reduction)} %, "
            f"fpr {m.fpr:.5f}, {m.lost} contents lost, {percent(m.reached)} % of the ceiling"
        )


def by_coverage(method: Learned) -> Iterator[str]:
    """K Tables 4 and 6."""
    yield "K Tables 4 and 6: rules / reduction ratio % / average reduction per rule, by least coverage of a rule"
    header = ["", *(f"r_cov >= {coverage:,}" for coverage in COVERAGES)]
    for title, figures in BY_COVERAGE.items():
        yield from table([title, *header[1:]], ([LABELS[p], *cells] for p, cells in figures.items()))
    rows: list[list[Cell]] = []
    for precision in PRECISIONS[:-1]:
        row: list[Cell] = [LABELS[precision]]
        for coverage in COVERAGES:
            count, m = method.at(precision, coverage)
            saved = m.urls - m.keys
            row.append(f"{count:,} / {percent(m.reduction, 2)} / {saved / count if count else 0:,.1f}")
        rows.append(row)
    urls = sum(int(hard(site).sum()) for site, _ in method.sites)
    yield from table([f"here, as published ({urls:,} URLs)", *header[1:]], rows)


def cluster_sizes(sites: Sequence[Site]) -> Iterator[str | Curves]:
    """K Figure 1."""
    yield "K Figure 1: sizes of duplicate clusters (paper: a power law, sizes 1 to 1e8, counts 1 to 1e12)"
    every = np.concatenate(
        [sizes(site.labels.cluster[hard(site)]) for site in sites] or [np.zeros(0, np.int64)]
    )
    if not len(every):
        return
    bounds = 2 ** np.arange(int(np.log2(every.max())) + 2)
    counts = [int(((every >= a) & (every < b)).sum()) for a, b in pairwise(bounds)]
    exponent = 1 + len(every) / np.log(every / 0.5).sum()
    header = ["size from", *(f"{b:,}" for b in bounds[:-1])]
    rows: list[list[Cell]] = [["here: clusters", *counts]]
    yield from table(header, rows)
    yield f"A power law fitted to them has the exponent {exponent:.2f}; the largest cluster has {every.max():,} URLs."
    logs: list[Cell] = [f"{np.log10(n):.2f}" if n else None for n in counts]
    yield Curves.of("K Figure 1: sizes of clusters (log 10 of how many)", header, [["here", *logs]])


def cumulative_coverage(method: Learned) -> Iterator[str | Curves]:
    """K Figure 3."""
    yield "K Figure 3: URLs covered by the best n rules, counted for each rule, in % of the URLs"
    coverage = np.sort([s.coverage for _, scored in method.sites for s in scored])[::-1]
    urls = max(sum(int(hard(site).sum()) for site, _ in method.sites), 1)
    at = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if n < len(coverage)]
    at.append(len(coverage))
    header = ["rules", *(f"{n:,}" for n in at)]
    rows: list[list[Cell]] = [["here", *(percent(float(coverage[:n].sum()) / urls, 0) for n in at)]]
    yield from table(header, rows)
    yield Curves.of("K Figure 3: coverage of the best n rules, % of the URLs", header, rows)
    few = int((coverage < COVERAGES[0]).sum())
    yield (
        f"{few:,} of {len(coverage):,} rules cover fewer than 10 URLs (paper: such rules add little; all 100 K rules "
        "cover 4.5e7 to 5e7, 570 to 640 % of the 7.87 M URLs)"
    )
