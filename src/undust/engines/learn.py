"""From pages to a rule book: one function for a site, one for a crawl."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from undust.crawl import Crawl, read
from undust.engines.bound import MAX_URLS, bounded, owned, owners, recounted, supports
from undust.engines.shelves import Shelves, shelved
from undust.engines.state import State
from undust.errors import UndustError, UsageError
from undust.learners import Learner, create
from undust.learners.auto import Auto
from undust.learners.view import View
from undust.likeness import Site, sketch_kind, sketcher, split_sites
from undust.likeness.labels import DIGEST
from undust.likeness.seen import page_urls
from undust.likeness.sizes import label_by_size
from undust.rules import Rule, RuleBook, SiteRules, prove
from undust.selection.greedy import Selection, confirm, select
from undust.selection.guarded import add_guarded

RISK = 0.001
"""Share of a site's distinct contents that its rules may lose, as judged."""

DEPLOYABLE = 30
"""Rules a site at most: more than a person reviews are of no use."""

LEARNED_FROM = 15_000
"""Pages from which rules are sought; on a larger site a sample of whole clusters, confirmed on all pages."""

LONGEST, DEEPEST, WIDEST = 4000, 50, 100
"""Characters, slashes and separators of parameters of the URLs that are learned from."""

LONGEST_HOST = 300
"""Characters of a host in a book (its schema has the same); DNS has 253, a port may follow."""

PROPOSED = 300
"""Likely rules of a published learner that are handed on to be validated."""

Log = Callable[[str], None]


def learn(
    crawl: Shelves | Crawl | pa.Table | Any,
    learner: Learner | str = "auto",
    *,
    site_key: str = "host",
    risk: float = RISK,
    params: Mapping[str, Any] | None = None,
    host: str | None = None,
    on_site: Callable[[SiteRules], None] | None = None,
    dated: bool = False,
    jobs: int = 1,
    memory: str | int | None = None,
    max_urls_per_site: int = MAX_URLS,
    state: State | None = None,
) -> RuleBook:
    """Learn a rule book from pages; anything `undust.read` takes will do, files of any size too.

    The book is the same for any order of the pages and any number of `jobs` (processes). `memory` bounds what
    reading takes and how many sites are learned at once. A host of more than `max_urls_per_site` URLs is sampled,
    the support of its rules counted on all. A site that fails has no rules and says why in its notes (`failed`);
    only if all fail is it an error. `on_site` is called with each site that is done; `state` keeps those, so that
    a killed run can go on.

    >>> pages = [{"url": f"http://a.example/p?id={i}&sid={s}{i}", "digest": f"{i}"} for i in range(20) for s in "xy"]
    >>> book = learn(pages)
    >>> [r.describe() for r in book.rules()]
    ['*: when path is /p: drop sid']
    """
    from undust.engines.local import learn_sites

    if site_key not in ("host", "domain", "all"):
        raise UsageError(f"no site key {site_key!r}; there are host, domain, all")
    if isinstance(learner, str):
        learner = create(learner, params)
    book = RuleBook(site_key=site_key)
    over: dict[str, int] = {}

    def found(shelves: Shelves) -> Iterator[Site]:
        for shelf in shelves.filled:
            part, sampled = bounded(shelf, site_key, max_urls_per_site)
            over.update(sampled)
            yield from nameable(split_sites(part, site_key))  # type: ignore[arg-type]  # checked above

    with _shelves(crawl, site_key, host, memory) as shelves:
        for learned in learn_sites(found(shelves), learner, risk, jobs=jobs, memory=memory, state=state):
            book.add(learned)
            if on_site is not None:
                on_site(learned)
        if over:
            _recount(book, shelves, over)
    return finished(book, dated)


def nameable(sites: Iterable[Site]) -> Iterator[Site]:
    """The sites that a book can hold: URLs without a host, or with one longer than DNS allows, have none.

    >>> [s.name for s in nameable(split_sites(pa.table({"url": ["file:///a", f"http://{'a' * 400}/", "http://b/"]})))]
    ['b']
    """
    for site in sites:
        hosts = tuple(host for host in site.hosts if 0 < len(host) <= LONGEST_HOST)
        if site.name in hosts or (hosts and site.name not in site.hosts):
            yield site if hosts == site.hosts else replace(site, hosts=hosts)


@contextmanager
def _shelves(
    crawl: Shelves | Crawl | Any, site_key: str, host: str | None, memory: str | int | None
) -> Iterator[Shelves]:
    """The pages as they are, or read."""
    if isinstance(crawl, Shelves):
        yield crawl
    elif isinstance(crawl, Crawl):
        yield Shelves.of(crawl)
    else:
        with shelved(crawl, site_key, memory=memory, host=host) as shelves:
            yield shelves


def finished(book: RuleBook, dated: bool = False) -> RuleBook:
    """The book with its sites in order, and dated if it is to be; an error if no site could be learned."""
    book.sites = dict(sorted(book.sites.items()))
    lame = [f"{name}: {site.notes['failed']}" for name, site in book.sites.items() if "failed" in site.notes]
    if lame and len(lame) == len(book.sites):
        raise UndustError(f"no site could be learned: {lame[0]}")
    if dated:
        today = datetime.now(UTC).date().isoformat()
        for site in book.sites.values():
            site.rules = [replace(r, learned_at=today) for r in site.rules]
    return book


def _recount(book: RuleBook, shelves: Shelves, over: Mapping[str, int]) -> None:
    """Count the support of rules that were found on a sample on all pages, batch by batch."""
    owner = owners(book.sites.values(), over)
    support = {site.name: np.zeros(len(site.rules), np.int64) for site in owner.values()}
    total: Counter[str] = Counter()
    for batch in shelves.batches():
        for name, urls in owned(page_urls(batch), owner, book.site_key).items():
            support[name] += np.array(supports(book.sites[name], book.site_key, urls), np.int64)
            total[name] += len(urls)
    for name, counts in support.items():
        book.add(recounted(book.sites[name], counts.tolist(), total[name]))


def sites(crawl: Crawl | pa.Table | Any, site_key: str = "host", host: str | None = None) -> Iterator[Site]:
    """The sites of whatever holds pages."""
    return split_sites(_pages(crawl, host), site_key)  # type: ignore[arg-type]  # a name that is none fails there


def _pages(crawl: Crawl | pa.Table | Any, host: str | None) -> pa.Table:
    if not isinstance(crawl, Crawl):
        crawl = read(crawl, host=host, sketcher=sketcher, sketch_kind=sketch_kind())
    return crawl.pages


def attempt(site: Site, learner: Learner, risk: float = RISK) -> SiteRules:
    """The rules of a site; what goes wrong with one site is no reason to give up the others.

    A wrong call (a parameter out of range) is wrong for all, and is an error.
    """
    try:
        return learn_site(site, learner, risk=risk)
    except UsageError:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return failed(site.name, site.hosts, site.n, f"{why} ({Path(at.filename).name}:{at.lineno})")


def failed(name: str, hosts: tuple[str, ...], pages: int, why: str) -> SiteRules:
    """A site without rules, and why it has none."""
    return SiteRules(name, hosts, notes={"failed": why, "pages": pages})


def learn_site(
    site: Site, learner: Learner | None = None, *, risk: float = RISK, log: Log = lambda _: None
) -> SiteRules:
    """The rules of one site, with the strongest evidence its pages carry.

    With content (digests, sketches, labels) rules are `probable`. With sizes alone they are judged by sizes and
    are `likely`. With URLs alone nothing can be judged: what is proposed by the list alone is `likely` too, and
    validation by fetching is advised. A published learner's proposals from URLs and sizes are given as its paper
    gives them, ranked and to be validated.
    """
    learner = learner or Auto()
    evidence = evidence_of(site)
    notes: dict[str, Any] = {"evidence": evidence, "learner": learner.name, "pages": site.n}
    if not _sane(site).n:
        return SiteRules(site.name, site.hosts, notes=notes)
    if evidence == "url" or (evidence == "size" and not isinstance(learner, Auto)):
        rules = _from_urls_alone(_sane(site), learner)
        notes["advice"] = "no page content was seen: validate these rules by fetching (undust validate)"
        proof = prove(rules, list(site.urls), site.hosts)
        return SiteRules(site.name, site.hosts, list(proof.rules), list(proof.removed), notes)
    if evidence == "size":
        site = site.with_labels(label_by_size(site.seen))
    part = sample(_sane(site), LEARNED_FROM)
    if isinstance(learner, Auto):
        chosen = select(
            part, learner.propose_on, learner.propose_more, risk=risk, max_rules=DEPLOYABLE, log=log
        )
    else:
        chosen = select(part, _once(learner), risk=risk, max_rules=DEPLOYABLE, log=log)
    if part is not site:
        notes["learned_from"] = part.n
        chosen = confirm(site, chosen, risk=risk)
    rules = chosen.rules
    if evidence == "size":
        rules = [replace(r, status="likely", evidence=replace(r.evidence, level="size")) for r in rules]
        notes["advice"] = "judged by sizes alone: validate these rules by fetching (undust validate)"
    notes.update(_account(chosen))
    if evidence == "content" and isinstance(learner, Auto):
        rules = [*rules, *add_guarded(site, chosen, risk=risk, max_rules=DEPLOYABLE)]
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


def _sane(site: Site) -> Site:
    """The site without URLs beyond all reason: they teach nothing, and rules are still judged on them.

    What the learners do grows faster than linearly in the parts of a URL; a site that means harm could have
    thousands of directories or parameters in one.
    """
    odd = [
        len(url) > LONGEST or url.count("/") > DEEPEST or url.count("&") + url.count(";") > WIDEST
        for url in site.urls.tolist()
    ]
    return site.take(~np.array(odd, bool)) if any(odd) else site


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
    ranked = proposing.propose(site)[: DEPLOYABLE if isinstance(learner, Auto) else PROPOSED]
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
        "unexplained": unexplained(view, set(clusters[count > 1].tolist())),
    }


def unexplained(view: View, clusters: set[int], most: int = 5) -> list[dict[str, Any]]:
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
