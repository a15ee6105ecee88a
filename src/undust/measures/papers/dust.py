"""Tables 1 to 4 and Figures 5, 6 and 8 of Bar-Yossef, Keidar, Schonfeld (W); 6.1 ff. of the thesis (T).

Rules are learned from one log by sizes, digests and sketches, as the pages have them; tried on URLs of another
log, where the truth says whether two pages are alike; and applied to that other log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from undust.learners.dustbuster import DustBuster
from undust.likeness import Site, split_sites
from undust.likeness.seen import integers
from undust.measures.cases import Case
from undust.measures.metrics import Measures, measure, numbered
from undust.measures.papers.curves import Curves
from undust.measures.papers.labelled import SMALLEST, Learn
from undust.measures.splits import Split, two_logs
from undust.measures.table import Cell, percent, table
from undust.rules import Canonicalizer, Rule, RuleBook
from undust.selection.together import ordered_book
from undust.validation import PublishedValidation, RecordedFetcher

AT = (5, 10, 20, 50, 100, 200, 300)
COUNTS = (5, 10, 20, 30, 40, 50, 100)
IMAGES = (".gif", ".jpg", ".jpeg", ".png", ".ico", ".svg", ".webp", ".bmp")


@dataclass(frozen=True)
class Study:
    """DustBuster on one case: learned from one log, validated on and applied to another."""

    case: Case
    split: Split

    @cached_property
    def sites(self) -> list[Site]:
        return [site for site in split_sites(self.split.train) if site.n >= SMALLEST]

    @cached_property
    def fetcher(self) -> RecordedFetcher:
        clusters = {url: str(cluster) for url, cluster in self.case.truth.clusters.items()}
        return RecordedFetcher(self.case.pages, clusters)

    @cached_property
    def reduced(self) -> tuple[int, int]:
        """Likely rules, and those left by the redundancy elimination."""
        learner = DustBuster()
        likely = [learner.likely(site) for site in self.sites]
        return sum(map(len, likely)), sum(len(learner.reduced(rules)) for rules in likely)

    def proposed(self, **options: Any) -> dict[str, list[Rule]]:
        """The ranked list of each site."""
        return {site.name: DustBuster(**options).propose(site) for site in self.sites}

    @cached_property
    def rules(self) -> dict[str, list[Rule]]:
        return self.proposed()

    def validation(self, count: int = 100) -> PublishedValidation:
        return PublishedValidation(self.fetcher, self.split.urls, count=count)

    @cached_property
    def valid(self) -> tuple[RuleBook, int, int]:
        """The valid rules, how many were tried, and pages fetched."""
        book, tried, fetched = RuleBook(), 0, 0
        for site in self.sites:
            found = self.validation().validate(self.rules[site.name])
            book.sites.update(ordered_book(found.rules, site).sites)
            tried, fetched = tried + found.attempted, fetched + found.fetched
        return book, tried, fetched

    def precision(self, ranked: dict[str, list[Rule]]) -> list[bool]:
        """Which of the likely rules, best first, are valid in some direction or refine a valid one (RES-1)."""
        rules = sorted(
            (rule for site in ranked.values() for rule in site[: AT[-1]]),
            key=lambda rule: -(rule.evidence.pairs or 0),
        )[: AT[-1]]
        refuted = {rule.id for rule in self.validation().validate(rules).rejected}
        return [rule.id not in refuted for rule in rules]

    def applied(self, book: RuleBook) -> Measures:
        """A book on the other log, soft pages included, as the papers have it."""
        keys = Canonicalizer(book, level="likely").map(self.split.urls)
        return measure(numbered(keys), self.case.truth.cluster[self.split.test])


def dust(data: Sequence[Case], learn: Learn | None = None, seed: int = 1) -> Iterator[str | Curves]:
    """T and W on each case."""
    studies = [Study(case, two_logs(case, seed)) for case in data]
    for part in (data_sets, redundancies, valid_rules, reduction):
        yield from part(studies, learn)
        yield ""
    yield from precisions(studies)
    yield ""
    yield from needed(studies)
    yield ""
    yield from where_duplicates_go(studies)
    yield ""


def data_sets(studies: Sequence[Study], learn: Learn | None = None) -> Iterator[str]:
    """W Table 1, T Table 6.1."""
    yield "W Table 1 (T 6.1): data sets"
    paper: list[list[Cell]] = [
        ["paper: forum", 38_816, 15_608],
        ["paper: academic", 344_266, 17_742],
        ["paper: large news", 11_883, 11_883],
        ["paper: small news", 9_456, 9_456],
    ]
    ours: list[list[Cell]] = [
        [s.case.name, int(integers(s.case.pages, "hits", 1).sum()), s.case.pages.num_rows] for s in studies
    ]
    yield from table(["", "log lines", "unique URLs"], paper + ours)


def redundancies(studies: Sequence[Study], learn: Learn | None = None) -> Iterator[str]:
    """W Table 2, T Table 6.2."""
    yield "W Table 2 (T 6.2): likely rules, and what the elimination of redundancies leaves"
    paper: list[list[Cell]] = [
        ["paper: forum", 402, 37, "9.2"],
        ["paper: academic", 26_899, 2_041, "7.6"],
        ["paper: large news", 12_144, 1_243, "10.2"],
        ["paper: small news", 4_220, 96, "2.3"],
    ]
    ours: list[list[Cell]] = [
        [s.case.name, likely, left, percent(left / max(likely, 1))]
        for s in studies
        for likely, left in [s.reduced]
    ]
    yield from table(["", "likely rules", "left", "left %"], paper + ours)


def valid_rules(studies: Sequence[Study], learn: Learn | None = None) -> Iterator[str]:
    """W Table 3, T Table 6.3."""
    yield "W Table 3 (T 6.3): rules that validation accepts"
    paper: list[list[Cell]] = [
        ["paper: forum", 19, 7, None],
        ["paper: academic", None, 52, None],
        ["paper: large news", None, 62, None],
        ["paper: small news", None, 5, None],
    ]
    ours: list[list[Cell]] = [
        [s.case.name, tried, len(book), fetched] for s in studies for book, tried, fetched in [s.valid]
    ]
    yield from table(["", "tried", "valid", "pages fetched"], paper + ours)


def reduction(studies: Sequence[Study], learn: Learn | None = None) -> Iterator[str]:
    """W Table 4, T Table 6.4."""
    yield "W Table 4 (T 6.4): discovered redundancy of another log, by the valid rules and by undust's auto"
    paper: list[list[Cell]] = [
        ["paper: forum", "4.7"],
        ["paper: academic", "18"],
        ["paper: large news", "6"],
        ["paper: small news", "26"],
    ]
    rows: list[list[Cell]] = [[*row, None, None, None, None, None, None] for row in paper]
    for s in studies:
        valid = s.applied(s.valid[0])
        row: list[Cell] = [
            s.case.name,
            percent(valid.reduction),
            percent(valid.reached),
            valid.lost,
            percent(valid.ceiling),
        ]
        if learn is not None:
            auto = s.applied(learn(s.split.train, "auto"))
            row += [percent(auto.reduction), percent(auto.reached), auto.lost]
        rows.append(row)
    header = ["", "reduction %", "reached %", "lost", "ceiling %"]
    if learn is not None:
        header += ["auto: reduction %", "reached %", "lost"]
    yield from table(header, [row[: len(header)] + [None] * (len(header) - len(row)) for row in rows])


def precisions(studies: Sequence[Study]) -> Iterator[str | Curves]:
    """W Figure 5, T Figures 6.1 to 6.3."""
    yield "W Figure 5 (T 6.1-6.3): precision at k of the likely rules, with and without the similarity filter"
    paper: list[list[Cell]] = [
        ["paper: forum, sizes", "0.6", "0.8", None, ">0.8"],
        ["paper: academic, sizes", None, None, None, None, ">0.8", None, ">0.6"],
        ["paper: large news, shingles", None, None, None, "0.42", None, "0.74"],
        ["paper: large news, no filter", None, None, None, "0.24", None, "0.40"],
    ]
    rows: list[list[Cell]] = [row + [None] * (len(AT) + 2 - len(row)) for row in paper]
    for s in studies:
        for name, options in (("", {}), (", no filter", {"likeness": "none"})):
            valid = s.precision(s.proposed(parameters=False, **options))
            rows.append(
                [
                    s.case.name + name,
                    *(f"{np.mean(valid[:k]):.2f}" if len(valid) >= k else None for k in AT),
                    f"{np.mean(valid):.2f} of {len(valid)}" if valid else "-",
                ]
            )
    yield from table(["k", *map(str, AT), "all"], rows)
    yield Curves.of("W Figure 5: precision at k", ["k", *map(str, AT)], [row[:-1] for row in rows])


def needed(studies: Sequence[Study]) -> Iterator[str | Curves]:
    """W Figure 6, T Figure 6.4."""
    yield "W Figure 6 (T 6.4): of the rules valid with N validations, the share valid with 100"
    rows: list[list[Cell]] = [["paper: 8 logs", None, None, None, None, "1.0", "1.0", "1.0"]]
    for s in studies:
        ranked = [rule for site in s.rules.values() for rule in site[:100]]
        accepted = {n: {rule.id for rule in s.validation(n).validate(ranked).rules} for n in COUNTS}
        final = accepted[COUNTS[-1]]
        rows.append(
            [
                s.case.name,
                *(
                    f"{len(accepted[n] & final) / len(accepted[n]):.2f}" if accepted[n] else "-"
                    for n in COUNTS
                ),
            ]
        )
    yield from table(["N", *map(str, COUNTS)], rows)
    yield Curves.of("W Figure 6: share of the rules valid with N validations", ["N", *map(str, COUNTS)], rows)


def where_duplicates_go(studies: Sequence[Study]) -> Iterator[str]:
    """W Figure 8, T Figure 6.6."""
    yield "W Figure 8 (T 6.6): what the duplicates of a log are, in %"
    rows: list[list[Cell]] = [["paper: academic", "47.1", "25.7", "17.9", "7.5", "1.8"]]
    for s in studies:
        left = _left(s)
        total = max(left.total(), 1)
        kinds = ("removed", "image", "copy", "soft", "other")
        rows.append([s.case.name, *(percent(left[kind] / total) for kind in kinds)])
    yield from table(
        ["", "removed by rules", "images, icons", "same name elsewhere", "soft errors", "others"], rows
    )


def _left(s: Study) -> Counter[str]:
    """Each duplicate of the other log: removed, or why not. A cluster of n URLs has n - 1 duplicates."""
    truth = s.case.truth.take(s.split.test)
    keys = Canonicalizer(s.valid[0], level="likely").map(list(truth.urls))
    forms: dict[int, dict[str, int]] = {}
    for row, (key, cluster) in enumerate(zip(keys, truth.cluster.tolist(), strict=True)):
        forms.setdefault(cluster, {}).setdefault(key, row)
    found = Counter({"removed": len(truth) - sum(map(len, forms.values()))})
    for of_cluster in forms.values():
        names: set[str] = set()
        for key, row in of_cluster.items():
            path = key.partition("?")[0]
            name = path.rsplit("/", 1)[-1]
            kind = (
                "soft"
                if truth.soft[row]
                else "image"
                if path.lower().endswith(IMAGES)
                else "copy"
                if name in names
                else "other"
            )
            names.add(name)
            if row != next(iter(of_cluster.values())):
                found[kind] += 1
    return found
