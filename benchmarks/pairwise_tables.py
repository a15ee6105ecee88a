"""Tables 2, 3 and 4 of Koppula et al. and an ablation on labelled sites.

    python benchmarks/pairwise_tables.py DATA...       directories of NAME.pages.jsonl.gz with NAME.truth.tsv

Rules are learned from the pages of half of the clusters, with the labels that these pages show, and applied
to the other half, soft pages apart. `precision` is a rule's collision precision on the half it was learned
from; all rules of that precision are applied together, as in the paper: nothing is selected or judged. All
sites are pooled.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from undust.learners.key_rule import Score
from undust.learners.key_table import KeyTable
from undust.learners.lesson import learn
from undust.learners.pairwise import Pairwise
from undust.learners.rewrite import Rewrite
from undust.likeness import Site, split_sites
from undust.measures.cases import Case, cases
from undust.measures.metrics import Measures, measure, numbered
from undust.measures.splits import halves
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules

THRESHOLDS = ((1.0, "= 1"), (0.95, ">= .95"), (0.9, ">= .9"), (0.8, ">= .8"), (0.0, "all"))
EVERYTHING = 10**9
Found = list[tuple[Rule, Score]]

PRINTED = {"nearest": False, "relax": False, "min_clusters": 1, "min_tested": 0.0}
OPEN = {"min_precision": 0.0, "max_rules": EVERYTHING}


@dataclass
class Half:
    """A site to learn from and the URLs to measure on."""

    name: str
    sites: list[Site]
    urls: list[str]
    cluster: np.ndarray

    @classmethod
    def of(cls, case: Case) -> Half:
        split = halves(case)
        hard = split.test[~case.truth.soft[split.test]]
        urls = [case.truth.urls[i] for i in hard.tolist()]
        return cls(case.name, list(split_sites(split.train)), urls, case.truth.cluster[hard])

    def measured(self, rules: Sequence[Sequence[Rule]]) -> Measures:
        """All these rules, applied to the URLs of the other half."""
        book = RuleBook(
            {s.name: SiteRules(s.name, s.hosts, list(r)) for s, r in zip(self.sites, rules, strict=True)}
        )
        after = Canonicalizer(book, level="likely", check=False).map(self.urls)
        changed = np.array([a != b for a, b in zip(after, self.urls, strict=True)])
        return measure(numbered(after), self.cluster, changed=changed)


class Run:
    """A learner's rules on all sites."""

    def __init__(self, learner: Pairwise | Rewrite, data: Sequence[Half]) -> None:
        start = time.process_time()
        self.data = data
        self.found: list[list[Found]] = [[learner.scored(s) for s in half.sites] for half in data]
        self.seconds = time.process_time() - start

    def at(self, precision: float, coverage: int = 10) -> tuple[int, list[Measures]]:
        """Rules of at least that precision and coverage, and what they do to each site."""
        count, out = 0, []
        for half, found in zip(self.data, self.found, strict=True):
            chosen = [
                [r for r, s in rules if (s.precision or 0) >= precision and s.coverage >= coverage]
                for rules in found
            ]
            count += sum(map(len, chosen))
            out.append(half.measured(chosen))
        return count, out


def row(*cells: object) -> None:
    print("| " + " | ".join(str(c) for c in cells) + " |")


def said(count: int, total: int, sites: Iterable[Measures]) -> list[str]:
    m = sum(sites, Measures())
    each = m.urls * m.reduction / count if count else 0.0
    return [
        str(count),
        f"{100 * count / max(total, 1):.0f}",
        f"{100 * m.reduction:.1f}",
        f"{each:.0f}",
        f"{100 * m.reached:.1f}",
        f"{m.collision_precision:.4f}",
        str(m.lost),
    ]


HEAD = ("rules", "% of rules", "RR %", "RR/rule", "reached %", "test precision", "lost")


def table_2(data: Sequence[Half]) -> None:
    """Rules left by each step; the paper: 12.37 M, 93.23 K (- 99.25 %), 38.83 K (- 58.35 %)."""
    row("pairs", "pairwise rules", "generalized", "less %", "coverage >= 10", "less %")
    row(*["---"] * 6)
    for name, options in {"all": {"pairs": "all"}, "selected": {}}.items():
        learner = Pairwise(**(PRINTED | OPEN | options))  # type: ignore[arg-type]
        pairs = leaves = kept = 0
        for site in (s for half in data for s in half.sites):
            cluster = np.where(site.labels.soft, -1, site.labels.cluster).astype(np.int64)
            table = KeyTable(site.table)
            u, v = learner.select(table, cluster, site)
            if len(u):
                lesson = learn(table, cluster, u, v, conversions=learner.conversions.split(), threshold=5)
                pairs += len(u)
                leaves += len(np.unique(lesson.nodes[lesson.nodes >= 0]))
                kept += len(learner.scored(site))
        row(
            name, pairs, leaves, f"{100 - 100 * leaves / pairs:.1f}", kept, f"{100 - 100 * kept / leaves:.1f}"
        )


def table_3(runs: dict[str, Run]) -> None:
    row("learner", "precision", *HEAD)
    row(*["---"] * (2 + len(HEAD)))
    for name, run in runs.items():
        total = sum(len(rules) for found in run.found for rules in found)
        for threshold, text in THRESHOLDS:
            count, sites = run.at(threshold)
            row(name, text, *said(count, total, sites))


def table_4(run: Run) -> None:
    row("precision", "coverage", *HEAD)
    row(*["---"] * (2 + len(HEAD)))
    total = sum(len(rules) for found in run.found for rules in found)
    for threshold, text in THRESHOLDS[:4]:
        for coverage in (10, 100, 1000):
            count, sites = run.at(threshold, coverage)
            row(text, coverage, *said(count, total, sites))


def per_site(runs: dict[str, Run], threshold: float) -> None:
    data = next(iter(runs.values())).data
    row("site", "ceiling %", *(f"{name}: rules / reached % / precision" for name in runs))
    row(*["---"] * (2 + len(runs)))
    for i, half in enumerate(data):
        cells = []
        for run in runs.values():
            chosen = [[r for r, s in rules if (s.precision or 0) >= threshold] for rules in run.found[i]]
            m = half.measured(chosen)
            cells.append(f"{sum(map(len, chosen))} / {100 * m.reached:.1f} / {m.collision_precision:.3f}")
        row(half.name, f"{100 * m.ceiling:.1f}", *cells)


def ablation(data: Sequence[Half]) -> None:
    variants: dict[str, dict[str, object]] = {
        "as printed": {},
        "no deep tokens": {"deep": False},
        "no end alignment": {"end_alignment": False},
        "no conversions": {"conversions": ""},
        "none of the three": {"deep": False, "end_alignment": False, "conversions": ""},
        "all pairs": {"pairs": "all"},
        "three targets": {"targets": 3},
        "+ nearest target": {"nearest": True},
        "+ two clusters": {"nearest": True, "min_clusters": 2},
        "+ tested": {"nearest": True, "min_clusters": 2, "min_tested": 0.1},
        "+ relaxed contexts (default)": {
            "nearest": True,
            "min_clusters": 2,
            "min_tested": 0.1,
            "relax": True,
        },
        "default, no deep tokens": {
            "nearest": True,
            "min_clusters": 2,
            "min_tested": 0.1,
            "relax": True,
            "deep": False,
        },
        "default, no end alignment": {
            "nearest": True,
            "min_clusters": 2,
            "min_tested": 0.1,
            "relax": True,
            "end_alignment": False,
        },
        "default, no conversions": {
            "nearest": True,
            "min_clusters": 2,
            "min_tested": 0.1,
            "relax": True,
            "conversions": "",
        },
    }
    row("variant", "CPU s", *(f"{t}: rules / RR % / reached % / test precision" for t in (">= .95", ">= .8")))
    row(*["---"] * 4)
    for name, options in variants.items():
        run = Run(Pairwise(**(PRINTED | OPEN | options)), data)  # type: ignore[arg-type]
        cells = []
        for threshold in (0.95, 0.8):
            count, sites = run.at(threshold)
            m = sum(sites, Measures())
            cells.append(
                f"{count} / {100 * m.reduction:.1f} / {100 * m.reached:.1f} / {m.collision_precision:.4f}"
            )
        row(name, f"{run.seconds:.1f}", *cells)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", nargs="+")
    options.add_argument("--only", choices=("2", "3", "4", "sites", "ablation"))
    a = options.parse_args()
    data = [Half.of(case) for case in cases(a.data)]
    whole = sum((half.measured([[] for _ in half.sites]) for half in data), Measures())
    print(f"{len(data)} sites, {whole.urls} URLs to measure on, ceiling {100 * whole.ceiling:.1f} %\n")
    if a.only in (None, "2"):
        table_2(data)
        print()
    if a.only in (None, "3", "4", "sites"):
        runs = {
            "rewrite, fan-out 30": Run(Rewrite(fanout=30, min_precision=0.0, max_rules=EVERYTHING), data),
            "rewrite, fan-out 10": Run(Rewrite(fanout=10, min_precision=0.0, max_rules=EVERYTHING), data),
            "rewrite, fan-out 5": Run(Rewrite(fanout=5, min_precision=0.0, max_rules=EVERYTHING), data),
            "pairwise as printed": Run(Pairwise(**(PRINTED | OPEN)), data),  # type: ignore[arg-type]
            "pairwise": Run(Pairwise(**OPEN), data),  # type: ignore[arg-type]
        }
        if a.only in (None, "3"):
            table_3(runs)
            print()
        if a.only in (None, "sites"):
            per_site({k: runs[k] for k in ("rewrite, fan-out 10", "pairwise as printed", "pairwise")}, 0.95)
            print()
        if a.only in (None, "4"):
            table_4(runs["pairwise"])
            print()
    if a.only in (None, "ablation"):
        ablation(data)


if __name__ == "__main__":
    main()
