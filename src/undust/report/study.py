"""Two views of the same sites: what a rule book says of them, and what pages say of the rule book."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from undust.learners.view import View
from undust.likeness import LEVELS as EVIDENCE
from undust.likeness import Site, Summary, summary
from undust.measures import Evaluation, Known, Measures, RuleMeasures, Spread
from undust.measures.evaluation import spread
from undust.measures.metrics import Ints, numbered
from undust.measures.saving import by_number, interval, precision_at
from undust.report import leftover, rules, tree
from undust.report.shown import as_script, fitting, shown
from undust.rules import Canonicalizer, RuleBook, SiteRules
from undust.rules.canonicalizer import LEVELS
from undust.selection.greedy import noise_of
from undust.url import normal

BRIEFLY = (
    "urls",
    "contents",
    "keys",
    "reduction",
    "ceiling",
    "reached",
    "lost",
    "lost_near",
    "wrong_merges",
    "near_merges",
)
"""The figures of a site in the overview."""


@dataclass(frozen=True)
class Entry:
    """A site of the book, of the crawl, or of both."""

    name: str
    rules: SiteRules | None
    parts: tuple[int, ...]
    """The numbers of the crawl's sites that the book takes for this one."""


@dataclass(frozen=True)
class Study:
    """A book, what it was measured to do, and the sites that both are about."""

    book: RuleBook
    result: Evaluation
    level: str
    canon: Canonicalizer
    listed: Collection[str] | None = None

    @property
    def on(self) -> Known:
        assert self.result.on is not None  # `evaluate` always keeps it
        return self.result.on

    @cached_property
    def entries(self) -> list[Entry]:
        """Sites with most URLs first."""
        owner = {host: name for name, site in self.book.sites.items() for host in site.hosts}
        parts: dict[str, list[int]] = {name: [] for name in self.book.sites}
        for number, part in enumerate(self.on.parts):
            owners = (owner[h] for h in (part.name, *part.hosts) if h in owner)
            known = part.name if part.name in self.book.sites else next(owners, part.name)
            parts.setdefault("*" if "*" in self.book.sites else known, []).append(number)
        entries = [Entry(name, self.book.sites.get(name), tuple(found)) for name, found in parts.items()]
        return sorted(entries, key=lambda e: (-sum(self.on.parts[p].n for p in e.parts), e.name))

    @cached_property
    def of_part(self) -> list[Ints]:
        """The rows of each of the crawl's sites among the URLs whose content is known."""
        order = np.argsort(self.on.site, kind="stable")
        bounds = np.searchsorted(self.on.site[order], np.arange(1, len(self.on.parts)))
        return [rows.astype(np.int64) for rows in np.split(order, bounds)]

    @cached_property
    def measured(self) -> dict[str, list[RuleMeasures]]:
        """What was measured of the rules of each site of the book."""
        found: dict[str, list[RuleMeasures]] = {}
        for rule in self.result.rules:
            found.setdefault(rule.site, []).append(rule)
        return found

    def rows(self, entry: Entry) -> Ints:
        found = [self.of_part[part] for part in entry.parts]
        return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def figures(self, measured: Spread, rows: Ints) -> dict[str, Any]:
        """The figures of some URLs, with what to expect elsewhere."""
        hard = rows[~self.on.truth.soft[rows]]
        key = numbered(self.result.canonical[row] for row in hard.tolist())
        parts = {"hard": measured.hard, "all": measured.all, "tail": measured.tail}
        return {
            **{name: figures_of(part) for name, part in parts.items() if part is not None},
            "expected": rounded(interval(key, self.on.truth.cluster[hard])),
        }

    def counts(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """How many pages, of which evidence, and how many rules."""
        sites = [self.on.parts[part] for entry in entries for part in entry.parts]
        seen = sum(map(summary, sites), Summary(0, 0, 0, 0, 0, 0, dict.fromkeys(EVIDENCE, 0)))
        known = [entry.rules for entry in entries if entry.rules is not None]
        statuses: dict[str, int] = {}
        for site in known:
            for rule in site.rules:
                statuses[rule.status] = statuses.get(rule.status, 0) + 1
        in_force = LEVELS[self.level]
        return {
            "pages": seen.pages,
            "alive": seen.alive,
            "unknown": seen.unknown,
            "soft": seen.soft,
            "evidence": seen.levels,
            "statuses": statuses,
            "in_force": sum(n for status, n in statuses.items() if status in in_force),
            "rejected": sum(len(site.rejected) for site in known),
        }

    def overview(self, entry: Entry) -> dict[str, Any]:
        """A line of the list of sites."""
        measured = self.spread(entry)
        counts = self.counts([entry])
        names = ("pages", "statuses", "in_force", "rejected")
        return {
            "name": shown(entry.name, 120),
            **{name: counts[name] for name in names},
            "hard": figures_of(measured.hard, brief=True),
            "detail": None,  # where its details are, if there was room for them
        }

    def spread(self, entry: Entry) -> Spread:
        if len(entry.parts) == 1:
            known = self.result.sites.get(self.on.parts[entry.parts[0]].name)
            if known is not None:
                return known
        rows = self.rows(entry)
        return spread(self.on.take(rows), [self.result.canonical[row] for row in rows.tolist()])

    def detail(self, entry: Entry, room: int, *, curves: bool = True) -> dict[str, Any] | None:
        """All about one site; of the long lists what fits. None if not even the rest fits."""
        rows = self.rows(entry)
        sites = [self.on.parts[part] for part in entry.parts]
        # Only of rules in force, and where it is known what pages show, there is something to tell.
        measured = {m.rule.id: m for m in self.measured.get(entry.name, ())} if len(rows) else {}
        part = replace(
            self.result,
            on=self.on.take(rows),
            canonical=tuple(self.result.canonical[row] for row in rows.tolist()),
            rules=tuple(measured.values()),
        )
        detail: dict[str, Any] = {
            "name": shown(entry.name, 120),
            "hosts": [shown(h, 120) for h in (entry.rules.hosts if entry.rules else sites[0].hosts)[:20]],
            **self.figures(self.spread(entry), rows),
            **self.counts([entry]),
            "log": self.log(sites) if not len(rows) else None,
            "curve": self.curve(part) if curves else [],
            "precision": rounded(precision_at(list(part.rules))),
            "soft_pages": leftover.soft_pages(self.on, rows),
            "notes": notes(entry.rules),
            "noise": 0.0,
            "tree": [],
            "left": [],
        }
        if sites:
            largest = self.labelled(max(entry.parts, key=lambda part: self.on.parts[part].n))
            forms = self.canon.map(largest.urls.tolist())
            detail["noise"] = round(noise_of(View(largest)), 4)
            detail["tree"] = tree.as_records(tree.pattern_tree(largest, forms, 700 if curves else 120))
            detail["left"] = leftover.duplicates(largest, forms) if len(rows) else []
        if not detail["left"] and entry.rules is not None and not len(rows):
            detail["left"] = leftover.groups(entry.rules.notes.get("unexplained"))
        room -= len(as_script(detail))
        if room < 0:
            return None
        known = entry.rules or SiteRules(entry.name)
        content = self.contents_of(rows)
        urls = [url for site in sites for url in site.urls.tolist()]
        # The order of application, except that what merges most is looked at first.
        ranked = sorted(known.rules, key=lambda rule: rule.rank)
        ranked.sort(key=lambda rule: -measured[rule.id].alone.true_merges if rule.id in measured else 1)
        records = (rules.record(rule, known, measured.get(rule.id), content, urls) for rule in ranked)
        detail["rules"], detail["more_rules"] = fitting(records, room * 3 // 4)
        refused = sorted(known.rejected, key=lambda r: (-(r.evidence.pairs or r.evidence.support or 0), r.id))
        detail["rejected_rules"], detail["more_rejected"] = fitting(map(rules.rejected, refused), room // 4)
        return detail

    def curve(self, result: Evaluation) -> list[dict[str, Any]]:
        """What 0, 1, 2, ... rules do: how many there are, the reduction, lost contents and wrong merges."""
        if not result.rules or result.on is None or not len(result.on.truth):
            return []
        return [
            {
                "rules": count,
                "reduction": round(done.reduction, 5),
                "lost": done.lost - done.lost_near,
                "wrong": done.wrong_merges + done.near_merges,
            }
            for count, done in by_number(self.book, result, self.level, listed=self.listed)
        ]

    def contents_of(self, rows: Ints) -> Mapping[str, int]:
        """What each URL shows, by its normal form."""
        truth = self.on.truth
        return {normal(truth.urls[row]): int(truth.cluster[row]) for row in rows.tolist()}

    def labelled(self, part: int) -> Site:
        """One of the crawl's sites with the contents that are measured by, which may have been given."""
        site, rows = self.on.parts[part], self.of_part[part]
        cluster, soft = np.full(site.n, -1, np.int32), np.zeros(site.n, bool)
        cluster[self.on.page[rows]] = self.on.truth.cluster[rows]
        soft[self.on.page[rows]] = self.on.truth.soft[rows]
        return site.with_labels(replace(site.labels, cluster=cluster, soft=soft))

    def log(self, sites: Sequence[Site]) -> dict[str, int]:
        """Of URLs whose content is not known: how many there are, and how many forms the rules make of them."""
        urls = [url for site in sites for url in site.urls.tolist()]
        return {"seen": len(urls), "forms": len(set(self.canon.map(urls)))}


def notes(site: SiteRules | None) -> dict[str, Any]:
    """What the learner had to say of a site, as far as a reader needs it; a book may say anything there."""
    known = {} if site is None else site.notes
    texts = {
        name: shown(text, 600) for name in ("failed", "advice") if isinstance(text := known.get(name), str)
    }
    counts = {name: n for name in ("learned_from",) if type(n := known.get(name)) is int}
    return texts | counts


def figures_of(measured: Measures, *, brief: bool = False) -> dict[str, Any]:
    """Counts and rates, as exact as they are shown."""
    told = {name: round(f, 6) if isinstance(f, float) else f for name, f in measured.to_dict().items()}
    return {name: told[name] for name in BRIEFLY} if brief else told


def rounded(numbers: Sequence[float]) -> list[float]:
    """Numbers as exact as a chart can show them.

    >>> rounded((1 / 3, 1.0))
    [0.33333, 1.0]
    """
    return [round(number, 5) for number in numbers]
