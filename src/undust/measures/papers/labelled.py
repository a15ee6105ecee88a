"""The papers' labelled input: sites whose duplicate clusters are given, and what rules do to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from undust.likeness import Site, split_sites
from undust.likeness.seen import page_urls
from undust.measures.cases import Case
from undust.measures.metrics import Bools, Ints, Measures, measure, numbered
from undust.measures.splits import by_cluster
from undust.measures.truth import Truth
from undust.rules import Canonicalizer, Rule, RuleBook
from undust.selection.together import ordered_book

Learn = Callable[[pa.Table, str], RuleBook]
"""Pages and a learner's name to a rule book."""

SMALLEST = 20
"""Known URLs a site must have to be learned from."""


def labelled_sites(data: Iterable[Case]) -> Iterator[Site]:
    """The sites of the data, their clusters given by the truth; URLs in normal form."""
    for case in data:
        cluster, soft = case.truth.clusters, dict(zip(case.truth.urls, case.truth.soft.tolist(), strict=True))
        urls = page_urls(case.pages)
        known = case.pages.filter(pa.array([url in cluster for url in urls], pa.bool_()))
        kept = page_urls(known)
        for name, column in (
            ("cluster", pa.array([str(cluster[url]) for url in kept], pa.string())),
            ("soft", pa.array([soft[url] for url in kept], pa.bool_())),
        ):
            if name in known.column_names:
                known = known.drop_columns([name])
            known = known.append_column(name, column)
        for site in split_sites(known):
            if hard(site).sum() >= SMALLEST:
                yield site


def hard(site: Site) -> Bools:
    """Pages whose content is known, soft ones apart."""
    return np.asarray((site.labels.cluster >= 0) & ~site.labels.soft)


def half(site: Site, seed: int) -> tuple[Site, Site]:
    """The site cut in two by cluster: one part to learn from, one to measure on (Koppula et al.)."""
    rows = np.flatnonzero(hard(site))
    truth = Truth(
        tuple(site.urls[rows].tolist()), site.labels.cluster[rows].astype(np.int64), ~hard(site)[rows]
    )
    test = by_cluster(truth, seed)
    return site.take(rows[~test]), site.take(rows[test])


def fifth(site: Site, seed: int, most: int = 100_000) -> tuple[Site, Site]:
    """A random fifth of the URLs to learn from, and the whole site to measure on (Lei et al.)."""
    rows = np.flatnonzero(hard(site)).tolist()
    sample = random.Random(seed).sample(rows, min(most, max(1, len(rows) // 5)))
    return site.take(np.sort(np.array(sample, np.int64))), site.take(np.array(rows, np.int64))


def applied(rules: Sequence[Rule] | RuleBook, site: Site) -> Measures:
    """Rules in the given order, or a whole book, on the labelled URLs of a site."""
    book = rules if isinstance(rules, RuleBook) else ordered_book(rules, site)
    rows = np.flatnonzero(hard(site))
    urls = site.urls[rows].tolist()
    after = Canonicalizer(book, level="likely").map(urls)
    return measure(numbered(after), site.labels.cluster[rows].astype(np.int64))


def sizes(clusters: NDArray[np.integer]) -> Ints:
    """How many URLs each cluster has."""
    counts: Ints = np.unique(clusters, return_counts=True)[1].astype(np.int64)
    return counts
