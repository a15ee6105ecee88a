"""How well selected rules do on a site: the protocol of Lei et al., section 6, for any learner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from undust.learners.base import Learner
from undust.learners.pattern_tree import PatternTree
from undust.likeness import Site
from undust.rules import Canonicalizer, Rule
from undust.selection.graph import graph
from undust.selection.links import Link, rule_links, tree_links
from undust.selection.naive import naive
from undust.selection.together import holding, ordered_book

__all__ = ["STRATEGIES", "Outcome", "macro", "micro", "outcome", "raw_links", "sweep"]

STRATEGIES: dict[str, Callable[[Sequence[Link], Sequence[str]], list[Rule]]] = {
    "naive": lambda links, urls: naive(links),
    "graph": graph,
}


class Outcome(NamedTuple):
    """What some rules make of some URLs; counts, so that sites can be added up."""

    urls: int  # N_ori
    clusters: int  # C_ori
    forms: int  # N_norm
    labels: int  # C_norm: distinct clusters that hold the majority of a form
    pairs: int
    false: int

    @property
    def compression(self) -> float:
        """Equation 1."""
        return 1 - self.forms / self.urls if self.urls else 0.0

    @property
    def ceiling(self) -> float:
        """The compression of perfect rules: the duplicate rate."""
        return 1 - self.clusters / self.urls if self.urls else 0.0

    @property
    def reduction(self) -> float:
        """The dup-reduction rate, equation 2."""
        return 1 - (1 - self.labels / self.forms) / self.ceiling if self.ceiling else 0.0

    @property
    def fpr(self) -> float:
        """Equation 3, for the set of rules."""
        return self.false / self.pairs if self.pairs else 0.0


class Row(NamedTuple):
    """One line of Table 4: a threshold, rules before and after selection, and their outcome."""

    max_fpr: float
    raw: int
    qualified: int
    deployed: int
    outcome: Outcome


def raw_links(learner: Learner, site: Site) -> tuple[list[Link], list[float]]:
    """A learner's raw rules as links, and the false-positive rate of each raw rule.

    A pattern tree's links come with its nodes; of any other learner the rules are run on the site.
    """
    if not isinstance(learner, PatternTree):
        links = list(rule_links(learner.propose(site), site))
        return links, [link.fpr for link in links]
    links, rates = [], []
    for grown in learner.grow(site):
        raw = learner.raw(grown)
        rates += [learner.rate(c) for c in raw]
        links += tree_links(grown, raw, learner.rate)
    return links, rates


def sweep(
    learner: Learner,
    strategy: str,
    train: Site,
    test: Site,
    thresholds: Iterable[float] = (0.05,),
) -> list[Row]:
    """Learn on one site, select at each threshold, and measure on the other (Figures 11 and 12)."""
    links, rates = raw_links(learner, train)
    rows = []
    for threshold in thresholds:
        good = [link for link in links if link.fpr <= threshold]
        rules = holding(STRATEGIES[strategy](good, train.urls.tolist()), train, threshold)
        qualified = sum(rate <= threshold for rate in rates)
        rows.append(Row(threshold, len(rates), qualified, len(rules), outcome(rules, test)))
    return rows


def outcome(rules: Sequence[Rule], site: Site) -> Outcome:
    """Run rules on the labelled URLs of a site, soft clusters apart.

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> urls = [f"http://a.example/?id={i}{sid}" for i in range(3) for sid in ("", "&sid=7")]
    >>> (site,) = split_sites(pa.table({"url": urls, "digest": ["x", "x", "y", "y", "z", "z"]}))
    >>> done = outcome([Rule(do={"query[sid]": None})], site)
    >>> done.compression, done.ceiling, done.reduction, done.fpr
    (0.5, 0.5, 1.0, 0.0)
    """
    known = np.flatnonzero((site.labels.cluster >= 0) & ~site.labels.soft)
    cluster = site.labels.cluster[known].astype(np.int64)
    after = Canonicalizer(ordered_book(rules, site), level="likely").map(site.urls[known].tolist())
    number: dict[str, int] = {}
    form = np.array([number.setdefault(url, len(number)) for url in after], np.int64)
    cell, per_cell = np.unique(form * (int(cluster.max(initial=0)) + 1) + cluster, return_counts=True)
    of_form, of_cluster = np.divmod(cell, int(cluster.max(initial=0)) + 1)
    order = np.lexsort((of_cluster, -per_cell, of_form))
    first = np.unique(of_form[order], return_index=True)[1]
    labels = len(np.unique(of_cluster[order][first]))
    per_form = np.bincount(form) if len(form) else np.zeros(0, np.int64)
    pairs = int((per_form * (per_form - 1) // 2).sum())
    true = int((per_cell * (per_cell - 1) // 2).sum())
    return Outcome(len(known), len(np.unique(cluster)), len(number), labels, pairs, pairs - true)


def micro(outcomes: Iterable[Outcome]) -> Outcome:
    """All sites' URLs as one whole.

    >>> micro([Outcome(10, 5, 8, 5, 2, 0), Outcome(90, 45, 45, 45, 45, 0)]).compression
    0.47
    """
    return Outcome(*(sum(column) for column in zip(*outcomes, strict=True)))


def macro(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """The sites' mean compression and dup-reduction rate."""
    n = max(len(outcomes), 1)
    return sum(o.compression for o in outcomes) / n, sum(o.reduction for o in outcomes) / n
