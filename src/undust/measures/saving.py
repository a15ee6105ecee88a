"""What to expect of a rule book: how far the measured reduction may be off, and what fewer rules would save."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from undust.likeness.components import components
from undust.measures.evaluation import Evaluation, RuleMeasures
from undust.measures.metrics import Floats, Ints, Measures, measure, numbered
from undust.rules import Canonicalizer, RuleBook
from undust.url import normal

DRAWS = 2_000
TRIED = 14
"""Numbers of rules that are tried."""

FALSE_SHARE = 0.05
"""The share of wrong merges up to which a rule counts as valid: epsilon of T, section 5.6."""


def interval(key: Ints, cluster: Ints, *, share: float = 0.95, seed: int = 1) -> tuple[float, float]:
    """Bounds for the reduction on other pages of the kind: of `DRAWS` crawls made of these contents by lot.

    A bootstrap of whole groups: URLs that share a key or a content are drawn together, as they are not
    independent. So one content with thousands of URLs makes the interval as wide as it should be.

    >>> key = np.repeat(np.arange(200), 2)
    >>> interval(key, key)
    (0.5, 0.5)
    >>> low, high = interval(np.r_[key, 200 + np.arange(400)], np.arange(800) // 2)
    >>> 0.2 < low < 0.25 < high < 0.3
    True
    """
    if not len(key):
        return 0.0, 0.0
    keys, key = np.unique(key, return_inverse=True)
    cluster = np.unique(cluster, return_inverse=True)[1] + len(keys)
    group = components(int(cluster.max()) + 1, key, cluster)
    # Groups of as many URLs and keys are all one; so few kinds are drawn from.
    urls = np.bincount(group[key], minlength=len(group))
    forms = np.bincount(group[: len(keys)], minlength=len(group))
    kinds, often = np.unique(np.stack([urls, forms])[:, urls > 0], axis=1, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(often.sum(), often / often.sum(), size=DRAWS)
    reduction: Floats = 1 - (drawn @ kinds[1]) / (drawn @ kinds[0])
    low, high = np.quantile(reduction, [(1 - share) / 2, (1 + share) / 2]).tolist()
    return low, high


def by_number(
    book: RuleBook,
    result: Evaluation,
    level: str = "probable",
    most: int = TRIED,
    listed: Collection[str] | None = None,
) -> Iterator[tuple[int, Measures]]:
    """What the first 0, 1, 2, ... rules do, those that merge most by themselves first; soft pages apart.

    A figure of the reduction against the number of rules (L, section 6; K, Table 4 for all rules). `listed`: all
    URLs there are, for guarded rules.

    >>> from undust.measures import evaluate
    >>> from undust.rules import Rule, SiteRules
    >>> pages = [{"url": f"http://a.example/p?id={i}&{s}=1", "digest": f"{i}"} for i in range(9) for s in "xyz"]
    >>> rules = [Rule(do={f"query[{s}]": None}) for s in "xyz"]
    >>> book = RuleBook({"a.example": SiteRules("a.example", (), rules)})
    >>> [(n, round(m.reduction, 2)) for n, m in by_number(book, evaluate(book, pages))]
    [(0, 0.0), (1, 0.0), (2, 0.33), (3, 0.67)]
    """
    if result.on is None:
        return
    truth = result.on.truth
    plain = [normal(url) for url in truth.urls]
    # What all rules leave as it is, none of them fires on: the book has no circles.
    moved = [row for row, form in enumerate(result.canonical) if form != plain[row]]
    moving = [truth.urls[row] for row in moved]
    hard = np.flatnonzero(~truth.soft)
    for count in steps(len(result.rules), most):
        forms = plain.copy()
        after = Canonicalizer(first(book, result, count), level=level, listed=listed).map(moving)
        for row, form in zip(moved, after, strict=True):
            forms[row] = form
        key = numbered(forms)
        yield count, measure(key[hard], truth.cluster[hard])


def first(book: RuleBook, result: Evaluation, count: int) -> RuleBook:
    """The book with the first rules of the evaluation only."""
    kept = {(rule.site, rule.rule.id) for rule in result.rules[:count]}
    sites = {
        name: replace(site, rules=[rule for rule in site.rules if (name, rule.id) in kept])
        for name, site in book.sites.items()
    }
    return replace(book, sites=sites)


def steps(last: int, most: int = TRIED) -> list[int]:
    """Numbers from 0 to `last`: all of them if there are not too many, else denser at the start.

    >>> steps(3), steps(1000, 8)
    ([0, 1, 2, 3], [0, 1, 3, 7, 19, 52, 139, 373, 1000])
    """
    if last < most:
        return list(range(last + 1))
    grown = np.geomspace(1, last, most).round().astype(int).tolist()
    return sorted({0, *grown})


def precision_at(rules: list[RuleMeasures]) -> list[float]:
    """precision@k (T, section 6.4): of the first k rules by the support they were learned with, the valid share.

    Valid is what fetching has shown to be; of other rules, one of whose merges on these pages at most
    `FALSE_SHARE` are wrong. Rules that merge nothing here are left out: there is nothing to tell them by.

    >>> precision_at([])
    []
    """
    ranked = sorted(rules, key=lambda rule: -(rule.rule.evidence.pairs or rule.rule.evidence.support or 0))
    good = np.array([known for rule in ranked if (known := valid(rule)) is not None], float)
    found: list[float] = (np.cumsum(good) / np.arange(1, len(good) + 1)).tolist()
    return found


def valid(rule: RuleMeasures) -> bool | None:
    """Whether a rule holds on the pages it was measured on; None where it merges nothing."""
    if rule.rule.status == "validated":
        return True
    right, wrong = rule.alone.true_merges, rule.alone.wrong_merges
    return wrong <= FALSE_SHARE * (right + wrong) if right + wrong else None
