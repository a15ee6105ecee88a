"""From pages to a rule book: one function for a site, one for a crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from undust.crawl import Crawl, read
from undust.errors import UsageError
from undust.learners import Learner, create
from undust.learners.auto import Auto
from undust.learners.view import View
from undust.likeness import Site, sketch_kind, sketcher, split_sites
from undust.likeness.labels import DIGEST
from undust.likeness.sizes import label_by_size
from undust.rules import Rule, RuleBook, SiteRules, prove
from undust.selection.greedy import Selection, confirm, select

RISK = 0.001
"""Share of a site's distinct contents that its rules may lose, as judged."""

DEPLOYABLE = 30
"""Rules a site at most: more than a person reviews are of no use."""

LEARNED_FROM = 15_000
"""Pages from which rules are sought; on a larger site a sample of whole clusters, confirmed on all pages."""

Log = Callable[[str], None]


def learn(
    crawl: Crawl | pa.Table | Any,
    learner: Learner | str = "auto",
    *,
    site_key: str = "host",
    risk: float = RISK,
    params: Mapping[str, Any] | None = None,
    host: str | None = None,
    on_site: Callable[[Site, SiteRules], None] | None = None,
    dated: bool = False,
) -> RuleBook:
    """Learn a rule book from pages; anything `undust.read` takes will do.

    >>> pages = [{"url": f"http://a.example/p?id={i}&sid={s}{i}", "digest": f"{i}"} for i in range(20) for s in "xy"]
    >>> book = learn(pages)
    >>> [r.describe() for r in book.rules()]
    ['*: drop sid']
    """
    if site_key not in ("host", "domain", "all"):
        raise UsageError(f"no site key {site_key!r}; there are host, domain, all")
    if isinstance(learner, str):
        learner = create(learner, params)
    book = RuleBook(site_key=site_key)
    today = datetime.now(UTC).date().isoformat()
    for site in sites(crawl, site_key, host):
        learned = learn_site(site, learner, risk=risk)
        if dated:
            learned.rules = [replace(r, learned_at=today) for r in learned.rules]
        book.add(learned)
        if on_site is not None:
            on_site(site, learned)
    return book


def sites(crawl: Crawl | pa.Table | Any, site_key: str = "host", host: str | None = None) -> Iterator[Site]:
    """The sites of whatever holds pages."""
    if not isinstance(crawl, Crawl):
        crawl = read(crawl, host=host, sketcher=sketcher, sketch_kind=sketch_kind())
    return split_sites(crawl.pages, site_key)  # type: ignore[arg-type]  # checked above, by `learn`


def learn_site(
    site: Site, learner: Learner | None = None, *, risk: float = RISK, log: Log = lambda _: None
) -> SiteRules:
    """The rules of one site, with the strongest evidence its pages carry.

    With content (digests, sketches, labels) rules are `probable`. With sizes alone they are judged by sizes and
    are `likely`. With URLs alone nothing can be judged: what is proposed by the list alone is `likely` too, and
    validation by fetching is advised.
    """
    learner = learner or Auto()
    evidence = evidence_of(site)
    notes: dict[str, Any] = {"evidence": evidence, "learner": learner.name, "pages": site.n}
    if evidence == "url":
        rules = _from_urls_alone(site, learner)
        notes["advice"] = "no page content was seen: validate these rules by fetching (undust validate)"
        proof = prove(rules, list(site.urls), site.hosts)
        return SiteRules(site.name, site.hosts, list(proof.rules), list(proof.removed), notes)
    if evidence == "size":
        site = site.with_labels(label_by_size(site.seen))
    part = sample(site, LEARNED_FROM)
    propose = learner.propose_on if isinstance(learner, Auto) else _once(learner)
    chosen = select(part, propose, risk=risk, max_rules=DEPLOYABLE, log=log)
    if part is not site:
        notes["learned_from"] = part.n
        chosen = confirm(site, chosen, risk=risk)
    rules = chosen.rules
    if evidence == "size":
        rules = [replace(r, status="likely", evidence=replace(r.evidence, level="size")) for r in rules]
        notes["advice"] = "judged by sizes alone: validate these rules by fetching (undust validate)"
    notes.update(_account(chosen))
    proof = prove(rules, list(site.urls), site.hosts)
    rejected = [*proof.removed, *chosen.rejected_rules()]
    return SiteRules(site.name, site.hosts, list(proof.rules), rejected, notes)


def evidence_of(site: Site) -> str:
    """`content`, `size` or `url`: what a rule of this site can be judged by.

    Content counts when some cluster has two pages; otherwise sizes when they are known of most pages.
    """
    labels = site.labels
    known = (labels.cluster >= 0) & ~labels.soft & (labels.level >= DIGEST)
    if known.sum() > len(np.unique(labels.cluster[known])) or known.mean() > 0.5:
        return "content"
    sized = site.alive & (site.size_min > 0)
    return "size" if site.n and sized.mean() > 0.5 else "url"


def sample(site: Site, most: int) -> Site:
    """The site, or about `most` of its pages: whole clusters, so that what is alike stays together.

    Which clusters is decided by a hash of a member's URL, not by their order: equal pages, equal sample.
    """
    if site.n <= most:
        return site
    cluster = site.labels.cluster
    drawn = np.array(
        [xxhash.xxh3_64_intdigest(u.encode("utf-8", "surrogateescape")) for u in site.urls], np.uint64
    )
    known = np.flatnonzero(cluster >= 0)
    lot = np.full(int(cluster.max(initial=-1)) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(lot, cluster[known], drawn[known])
    drawn[known] = lot[cluster[known]]
    return site.take(drawn <= np.sort(drawn)[most - 1])


def _once(learner: Learner) -> Callable[[View], list[Rule]]:
    """A published method proposes once; its proposals are tried again in every round."""
    kept: list[list[Rule]] = []

    def propose(view: View) -> list[Rule]:
        if not kept:
            kept.append(learner.propose(view.site))
        return kept[0]

    return propose


def _from_urls_alone(site: Site, learner: Learner) -> list[Rule]:
    """The list itself is all there is: DustBuster's likely rules, best first."""
    proposing = create("dustbuster") if isinstance(learner, Auto) else learner
    ranked = proposing.propose(site)[:DEPLOYABLE]
    return [replace(r, order=i, status="likely") for i, r in enumerate(ranked)]


def _account(chosen: Selection) -> dict[str, Any]:
    """What the rules leave: how much is merged, what is still duplicated and by which kinds of URLs."""
    view = chosen.view
    if view is None:
        return {}
    known = (view.cluster >= 0) & ~view.soft
    clusters, count = np.unique(view.cluster[known], return_counts=True)
    return {
        "forms": int(known.sum()),
        "contents": len(clusters),
        "lost": round(chosen.lost, 2),
        "noise": round(chosen.noise, 4),
        "unexplained": _unexplained(view, set(clusters[count > 1].tolist())),
    }


def _unexplained(view: View, clusters: set[int], most: int = 5) -> list[dict[str, Any]]:
    """The largest groups of duplicates that no rule explains, by the shapes of their URLs."""
    codes, shapes = view.shapes
    members: dict[int, list[int]] = {}
    for row, cluster in enumerate(view.cluster.tolist()):
        if cluster in clusters and not view.soft[row]:
            members.setdefault(cluster, []).append(row)
    kinds: Counter[tuple[str, ...]] = Counter()
    example: dict[tuple[str, ...], list[str]] = {}
    for rows in members.values():
        kind = tuple(sorted({shapes[codes[r]] for r in rows}))[:3]
        kinds[kind] += len(rows) - 1
        example.setdefault(kind, [view.urls[r] for r in rows[:3]])
    return [
        {"duplicates": n, "paths": list(kind), "example": example[kind]}
        for kind, n in kinds.most_common(most)
    ]
