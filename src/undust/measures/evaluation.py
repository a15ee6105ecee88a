"""What a rule book saves and what it risks on a crawl: for the set, for each rule and for each site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from undust.crawl import Crawl, read
from undust.likeness import sketch_kind, sketcher
from undust.likeness.seen import alive, integers, page_urls
from undust.likeness.site import host_of
from undust.measures.metrics import (
    Bools,
    Floats,
    Ints,
    Measures,
    Resemblance,
    astray,
    macro,
    measure,
    numbered,
)
from undust.measures.truth import Known, Truth, known
from undust.rules import AliasTable, Canonicalizer, Rule, RuleBook, SiteRules
from undust.rules.canonicalizer import LEVELS
from undust.url import host_labels, normal

Canonical = Callable[[list[str]], list[str]]
"""Canonical URLs, or keys, of URLs."""

WRONG_SHOWN = 5
"""Wrong merges of a rule that are kept to be shown."""


@dataclass(frozen=True)
class Spread:
    """One canonicalizer measured on different parts of the same URLs."""

    hard: Measures
    """Soft pages (errors, logins, empty results) apart: the figures to go by."""
    all: Measures
    tail: Measures | None
    """The third of the URLs with the lowest importance, soft pages apart; None when all weigh the same."""

    def to_dict(self) -> dict[str, Any]:
        parts = {"hard": self.hard, "all": self.all, "tail": self.tail}
        return {name: part.to_dict() for name, part in parts.items() if part is not None}


@dataclass(frozen=True)
class Astray:
    """A wrong merge: a URL, the canonical one it gets, and one that stays there and shows something else."""

    url: str
    canonical: str
    kept: str
    near: bool


@dataclass(frozen=True)
class RuleMeasures:
    """A rule by itself on the URLs' normal forms, each of them once, and in the set.

    `covers` (r_cov): URLs it applies to. `false`: those it leads to a URL that was seen with another content;
    `true`: to one seen with the same. `alone`: what the rule would do as the only one. `fired`: URLs that it
    changes somewhere on the way when all rules are at work.
    """

    rule: Rule
    covers: int
    true: int
    false: int
    fired: int
    alone: Measures
    site: str = ""
    wrong: tuple[Astray, ...] = ()
    """Some of the wrong merges of the rule alone, those of no near-duplicates first."""

    @property
    def precision(self) -> float:
        """Koppula et al., section 5: the share of the covered URLs that are not led astray."""
        return (self.covers - self.false) / self.covers if self.covers else 1.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.rule.id,
            "rule": self.rule.describe(),
            "covers": self.covers,
            "true": self.true,
            "false": self.false,
            "precision": self.precision,
            "fired": self.fired,
            "alone": self.alone.to_dict(),
        }


@dataclass(frozen=True)
class Evaluation:
    """All measures of a rule book on a crawl. Those of `hard` can be asked for directly: `result.fpr`."""

    set: Spread
    sites: dict[str, Spread] = field(default_factory=dict)
    rules: tuple[RuleMeasures, ...] = ()
    unknown: int = 0
    """Live URLs whose content is not known; they are in no figure but `seen` and `forms`."""
    seen: int = 0
    """All URLs of the crawl, dead or alive, known or not."""
    forms: int = 0
    """Their distinct canonical URLs."""
    sized: int = 0
    """Merged live URLs whose sizes can be compared with those of the page they are merged with."""
    same_size: int = 0
    """Those of them whose ranges of sizes meet: all there is to say of a log."""
    on: Known | None = field(default=None, repr=False, compare=False)
    """What was measured on."""
    canonical: tuple[str, ...] = field(default=(), repr=False)
    """The canonical URLs of those URLs, in their order."""
    steps: dict[str, Measures] = field(default_factory=dict, compare=False)
    """Soft pages apart: the rules by themselves, then with the guarded ones, then with the table of aliases, as far as
    there are any. The last one is the set."""
    skipped: int = 0
    """Guarded rules that were not used, because no list was given."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.set.hard, name)

    @property
    def fired(self) -> int:
        """Rules that changed a URL."""
        return sum(rule.fired > 0 for rule in self.rules)

    @property
    def reduction_per_rule(self) -> float:
        """AvgReductionPerRule (Koppula et al., section 5): URLs saved per rule that is applied."""
        hard = self.set.hard
        return (hard.urls - hard.keys) / len(self.rules) if self.rules else 0.0

    @property
    def macro(self) -> dict[str, float]:
        """The mean over sites of each rate, soft pages apart."""
        return macro(site.hard for site in self.sites.values())

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            **self.set.to_dict(),
            "macro": self.macro,
            "sites": {name: spread.to_dict() for name, spread in self.sites.items()},
            "rules": [rule.to_dict() for rule in self.rules],
            "fired": self.fired,
            "reduction_per_rule": self.reduction_per_rule,
            "urls": {"seen": self.seen, "forms": self.forms, "unknown": self.unknown},
            "sizes": {"compared": self.sized, "meet": self.same_size},
            "steps": {name: measures.to_dict() for name, measures in self.steps.items()},
            "skipped": self.skipped,
        }


def evaluate(
    book: RuleBook,
    crawl: Crawl | pa.Table | Any,
    *,
    truth: Truth | None = None,
    level: str = "probable",
    host: str | None = None,
    listed: Iterable[str] | None = None,
    aliases: AliasTable | None = None,
) -> Evaluation:
    """Measure a rule book on pages; anything `undust.read` takes will do.

    `listed` are all URLs there are of the sites, for guarded rules, and `aliases` a table of pages seen: what they
    save is told apart from what the rules do by themselves (`steps`).

    What the pages show is taken from `truth` if given, else from their own `cluster` column, else from their
    digests, texts, canonical links and redirects. Measure on pages the rules were not learned from
    (`undust.measures.splits`), or the figures flatter. With `aliases` the table is asked before the rules.

    >>> pages = [{"url": f"http://a.example/p?id={i}&sid={s}{i}", "digest": f"{i}"} for i in range(9) for s in "xy"]
    >>> rule = Rule(do={"query[sid]": None})
    >>> result = evaluate(RuleBook({"a.example": SiteRules("a.example", (), [rule])}), pages)
    >>> result.compression_rate, result.ceiling, result.fpr, result.lost
    (0.5, 0.5, 0.0, 0)
    """
    if not isinstance(crawl, Crawl):
        crawl = read(crawl, host=host, sketcher=sketcher, sketch_kind=sketch_kind())
    site_key: Any = book.site_key
    on = known(crawl.pages, truth, site_key)
    listed = None if listed is None else list(listed)
    canon = Canonicalizer(book, level=level, listed=listed, aliases=aliases)
    urls = list(on.truth.urls)
    canonical = canon.map(urls)
    every = canon.map(page_urls(crawl.pages))
    sized, same_size = _sizes(crawl.pages, every)
    return Evaluation(
        set=spread(on, canonical),
        sites=by_site(on, canonical),
        rules=tuple(_rules(book, level, on, canon, canonical, listed)),
        unknown=on.unknown,
        seen=crawl.n,
        forms=len(set(every)),
        sized=sized,
        same_size=same_size,
        on=on,
        canonical=tuple(canonical),
        steps=dict(_steps(book, level, on, canon, canonical, listed)),
        skipped=len(canon.skipped),
    )


def _steps(
    book: RuleBook,
    level: str,
    on: Known,
    canon: Canonicalizer,
    canonical: Sequence[str],
    listed: list[str] | None,
) -> Iterator[tuple[str, Measures]]:
    """What rules, guarded rules and table save, each on top of the ones before."""
    urls = list(on.truth.urls)
    rows = np.flatnonzero(~on.truth.soft)

    def hard(made: Sequence[str]) -> Measures:
        key, changed = _coded(on, made)
        return measure(key[rows], on.truth.cluster[rows], changed=changed[rows], resemblance=_among(on, rows))

    tabled, guarded = canon.beyond is not None, canon.guarded is not None
    yield "rules", hard(Canonicalizer(book, level=level).map(urls) if tabled or guarded else canonical)
    if guarded:
        made = Canonicalizer(book, level=level, listed=listed).map(urls) if tabled else canonical
        yield "guarded rules", hard(made)
    if tabled:
        yield "table of aliases", hard(canonical)


def _sizes(pages: pa.Table, canonical: Sequence[str]) -> tuple[int, int]:
    """Of the live URLs that share a key with an earlier one: how many have sizes, and how many such that they meet.

    The URL that is the key itself comes first, if it was seen.
    """
    known = alive(integers(pages, "status", 0)) & (integers(pages, "size_min", -1) > 0)
    low, high = integers(pages, "size_min", -1), integers(pages, "size_max", -1)
    urls = page_urls(pages)
    rows = sorted(np.flatnonzero(known).tolist(), key=lambda row: (urls[row] != canonical[row], urls[row]))
    first: dict[str, int] = {}
    compared = meet = 0
    for row in rows:
        other = first.setdefault(canonical[row], row)
        if other != row:
            compared += 1
            meet += bool(low[row] <= high[other] and low[other] <= high[row])
    return compared, meet


def spread(on: Known, canonical: Sequence[str]) -> Spread:
    """Measure canonical URLs, aligned with the known ones."""
    return _spread(on, *_coded(on, canonical), np.arange(len(on.truth)))


def by_site(on: Known, canonical: Sequence[str]) -> dict[str, Spread]:
    """The same for the URLs of each site."""
    key, changed = _coded(on, canonical)
    order = np.argsort(on.site, kind="stable")
    sites, first = np.unique(on.site[order], return_index=True)
    return {
        on.sites[site]: _spread(on, key, changed, rows)
        for site, rows in zip(sites.tolist(), np.split(order, first[1:]), strict=False)
    }


def _coded(on: Known, canonical: Sequence[str]) -> tuple[Ints, Bools]:
    """A number for each canonical URL, and whether it differs from the URL."""
    changed = (a != b for a, b in zip(on.truth.urls, canonical, strict=True))
    return numbered(canonical), np.fromiter(changed, bool, len(canonical))


def _spread(on: Known, key: Ints, changed: Bools, rows: Ints) -> Spread:
    def part(rows: Ints) -> Measures:
        return measure(key[rows], on.truth.cluster[rows], changed=changed[rows], resemblance=_among(on, rows))

    hard = rows[~on.truth.soft[rows]]
    tail = lowest_third(on.importance[hard])
    return Spread(part(hard), part(rows), None if tail.all() else part(hard[tail]))


def lowest_third(importance: Floats) -> Bools:
    """Which URLs are no more important than the one at a third of the ranking (open item F4: the tail).

    Equal importance, equal treatment: so the tail may hold more than a third, and all when all weigh the same.

    >>> lowest_third(np.array([5.0, 1, 2, 9, 7, 8])).tolist()
    [False, True, True, False, False, False]
    """
    if not len(importance):
        return np.ones(0, bool)
    at = max(-(-len(importance) // 3) - 1, 0)
    return np.asarray(importance <= np.partition(importance, at)[at])


def _rules(
    book: RuleBook,
    level: str,
    on: Known,
    canon: Canonicalizer,
    canonical: Sequence[str],
    listed: list[str] | None,
) -> list[RuleMeasures]:
    # Sites may have the same rule: what fired is counted host by host.
    fired: Counter[tuple[str, str]] = Counter()
    by_host: dict[str, list[int]] = {}
    for url, form in zip(on.truth.urls, canonical, strict=True):
        host = _without_port(host_of(normal(url)))
        by_host[host] = []
        if url != form:
            fired.update({(rule.id, host) for rule, _, _ in canon.explain(url).steps if rule})
    hard = np.flatnonzero(~on.truth.soft)
    urls = [normal(on.truth.urls[i]) for i in hard.tolist()]
    # What the normal form merges is merged without any rule: each form counts once.
    first: dict[str, int] = {}
    for row, url in enumerate(urls):
        first.setdefault(url, row)
    content = {url: int(on.truth.cluster[hard[row]]) for url, row in first.items()}
    for url, row in first.items():
        by_host[_without_port(host_of(url))].append(row)
    found = []
    for site in book.sites.values():
        for rule in site.rules:
            if rule.status not in LEVELS[level]:
                continue
            hosts = _hosts(rule, site, book, by_host)
            rows = np.array([row for host in hosts for row in by_host[host]], np.int64)
            forms, cluster = [urls[row] for row in rows.tolist()], on.truth.cluster[hard[rows]]
            alone = RuleBook({site.name: SiteRules(site.name, site.hosts, [rule])}, book.site_key)
            asked = listed if rule.guard is not None else None
            after = Canonicalizer(alone, level=level, listed=asked).map(forms)
            covered = np.array([a != b for a, b in zip(forms, after, strict=True)], bool)
            target = np.array([content.get(url, -1) for url in after], np.int64)[covered]
            true = int((target == cluster[covered]).sum())
            false = int((target >= 0).sum()) - true
            key, alike = numbered(after), _among(on, hard[rows])
            measured = measure(key, cluster, changed=covered, resemblance=alike)
            wrong = sorted(zip(*map(np.ndarray.tolist, astray(key, cluster, alike)), strict=True), key=_plain)
            shown = tuple(Astray(forms[i], after[i], forms[j], near) for i, j, near in wrong[:WRONG_SHOWN])
            changed = sum(fired[rule.id, host] for host in hosts)
            covers = int(covered.sum())
            found.append(RuleMeasures(rule, covers, true, false, changed, measured, site.name, shown))
    return sorted(found, key=lambda r: (-r.alone.true_merges, r.rule.id))


def _plain(wrong: tuple[int, int, bool]) -> bool:
    return wrong[2]


def _among(on: Known, rows: Ints) -> Resemblance:
    """The resemblance of URLs by their position among these rows."""
    return lambda i, j: on.resemblance(rows[i], rows[j])


def _hosts(rule: Rule, site: SiteRules, book: RuleBook, known: Mapping[str, object]) -> list[str]:
    """Those of the hosts that a rule may change URLs of."""
    if site.name == "*":
        return sorted(known)
    named = {_without_port(host) for host in (*site.hosts, *rule.scope.hosts)}
    domain = rule.scope.domain or (site.name if book.site_key == "domain" else None)
    if domain is not None:
        named.update(host for host in known if host_labels(host)[0] == domain)
    return sorted(named & known.keys())


def _without_port(host: str) -> str:
    return host if host.endswith("]") else host.rpartition(":")[0] or host
