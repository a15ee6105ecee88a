"""What to learn from and what to measure on: the papers' protocols, with fixed seeds."""

from __future__ import annotations

import random
from dataclasses import dataclass
from urllib.parse import urljoin

import numpy as np
import pyarrow as pa

from undust.likeness.seen import integers, page_urls
from undust.measures.cases import Case
from undust.measures.metrics import Bools, Ints
from undust.measures.truth import Truth
from undust.rules import Rule, RuleBook, Scope, SiteRules

SEED = 1


@dataclass(frozen=True)
class Split:
    """Pages to learn from, and the rows of the case's known URLs to measure on."""

    case: Case
    train: pa.Table
    test: Ints

    @property
    def urls(self) -> list[str]:
        """The URLs to measure on."""
        return [self.case.truth.urls[i] for i in self.test.tolist()]


def by_cluster(truth: Truth, seed: int = SEED) -> Bools:
    """Which URLs are for testing: half of the clusters, drawn at random (Koppula et al.).

    No cluster is on both sides. Soft ones teach nothing and are reported apart; of these each URL is drawn by
    itself, so that one login page under a thousand URLs does not decide a half. The draw does not depend on the
    order of the URLs.

    >>> truth = Truth.of([(f"http://a.example/{i}", i // 2, False) for i in range(8)])
    >>> by_cluster(truth).reshape(4, 2).all(axis=1).sum()
    np.int64(2)
    """
    draw = random.Random(seed)
    clusters = np.unique(truth.cluster).tolist()
    draw.shuffle(clusters)
    test = np.isin(truth.cluster, clusters[::2])
    for i in sorted(np.flatnonzero(truth.soft).tolist(), key=lambda i: truth.urls[i]):
        test[i] = draw.random() < 0.5
    return np.asarray(test)


def halves(case: Case, seed: int = SEED) -> Split:
    """Learn from half of the clusters, measure on the other half.

    Pages of unknown content (errors, redirects) are for learning, but for redirects that lead to a test page.
    """
    test = by_cluster(case.truth, seed)
    held_out = {case.truth.urls[i] for i in np.flatnonzero(test).tolist()}
    return Split(case, _without(case.pages, held_out), np.flatnonzero(test))


def fifth(case: Case, seed: int = SEED, share: float = 0.2, most: int = 100_000) -> Split:
    """Learn from a random fifth of the URLs, at most 0.1 M; measure on all, training included (Lei et al.).

    This flatters: use it to compare with their figures only.
    """
    urls = sorted(case.truth.urls)
    chosen = set(random.Random(seed).sample(urls, min(most, int(share * len(urls)))))
    return Split(case, _without(case.pages, set(urls) - chosen), np.arange(len(urls)))


def two_logs(case: Case, seed: int = SEED) -> Split:
    """Learn from one log of a site and apply to another (T, W): each visit falls into one of the two by lot.

    So a page that is visited often is in both, one visited once in either.
    """
    draw = np.random.default_rng(seed)
    hits = integers(case.pages, "hits", 1)
    first = draw.binomial(np.maximum(hits, 1), 0.5)
    urls = np.array(page_urls(case.pages), dtype=object)
    second = set(urls[first < hits].tolist())
    test = np.fromiter((url in second for url in case.truth.urls), bool, len(case.truth))
    return Split(case, case.pages.filter(pa.array(first > 0)), np.flatnonzero(test))


def transferred(books: list[RuleBook], hosts: tuple[str, ...]) -> RuleBook:
    """The rules of other sites, put on the hosts of this one: what may be a habit of the software.

    >>> rule = Rule(Scope(("a.example",)), do={"query[sid]": None})
    >>> [r.describe() for r in transferred([RuleBook({"a": SiteRules("a", (), [rule])})], ("b.example",)).rules()]
    ['*: drop sid']
    """
    moved: dict[str, Rule] = {}
    for book in books:
        for rule in sorted(book.rules(), key=lambda rule: rule.rank):
            if "host" in rule.do or any(key.startswith("host") for key in rule.when):
                continue
            freed = Rule(
                Scope(path=rule.scope.path),
                rule.when,
                rule.do,
                order=len(moved),
                status=rule.status,
                evidence=rule.evidence,
            )
            moved.setdefault(freed.id, freed)
    return RuleBook({hosts[0]: SiteRules(hosts[0], hosts, list(moved.values()))})


def _without(pages: pa.Table, held_out: set[str]) -> pa.Table:
    """Pages that neither are held out nor redirect to one that is."""
    urls = page_urls(pages)
    links = pages["location"].to_pylist() if "location" in pages.column_names else [None] * len(urls)
    keep = [
        url not in held_out and not (link and _joined(url, link) in held_out)
        for url, link in zip(urls, links, strict=True)
    ]
    return pages.filter(pa.array(keep, pa.bool_()))


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return link
