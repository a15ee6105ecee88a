"""Every learner and the peers on held-out halves: what each saves, what it risks, what it costs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from undust.measures.cases import Case
from undust.measures.evaluation import spread
from undust.measures.maybedont import MaybeDont
from undust.measures.metrics import Measures, macro, micro
from undust.measures.peers import installed, rewritten
from undust.measures.splits import SEED, Split, halves, transferred
from undust.measures.table import percent, table
from undust.rules import Canonicalizer, RuleBook, SiteRules

Learn = Callable[[pa.Table, str], RuleBook]
"""Pages and a learner's name to a rule book."""

LEARNERS = ("auto", "dustbuster", "rewrite", "pairwise", "pattern-tree", "alignment")
LEVEL = "likely"
"""Whatever was learned is applied: pages without content give no better."""
ONLINE = "MaybeDont (online)"
NORMAL = "normal form alone"


@dataclass(frozen=True)
class Result:
    """One method on the held-out half of one site; soft pages apart, and with them."""

    site: str
    method: str
    hard: Measures
    all: Measures
    rules: int | None = None
    learned: float | None = None
    """CPU seconds."""
    applied: float = 0.0
    """CPU seconds for all URLs."""
    book: RuleBook | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "method": self.method,
            "rules": self.rules,
            "cpu_learn": self.learned,
            "cpu_apply": self.applied,
            "hard": self.hard.to_dict(),
            "all": self.all.to_dict(),
        }


def quality(
    case: Case, learn: Learn, *, learners: Sequence[str] = LEARNERS, peers: bool = True, seed: int = SEED
) -> Iterator[Result]:
    """Learn from half of a site's clusters, measure on the other half; then the peers on that half.

    Learners see what the pages show, never the truth.
    """
    split = halves(case, seed)
    if not len(split.test):
        return
    for name in learners:
        began = time.process_time()
        book = learn(split.train, name)
        learned = time.process_time() - began
        yield _measured(
            split, name, Canonicalizer(book, LEVEL).map, rules=len(book), learned=learned, book=book
        )
    yield _measured(split, NORMAL, Canonicalizer(_no_rules(split)).map, rules=0)
    if peers:
        for name, rewrite in installed():
            yield _measured(split, name, partial(rewritten, rewrite))
        yield _measured(split, ONLINE, lambda urls: _online(split, urls, seed))


def transfer(case: Case, books: Sequence[RuleBook], seed: int = SEED) -> Result:
    """Rules of other sites on the held-out half of this one."""
    split = halves(case, seed)
    book = transferred(list(books), _hosts(split))
    return _measured(split, "others' rules", Canonicalizer(book, LEVEL).map, rules=len(book), book=book)


def _measured(split: Split, method: str, canonical: Callable[[list[str]], list[str]], **facts: Any) -> Result:
    urls = split.urls
    began = time.process_time()
    keys = canonical(urls)
    applied = time.process_time() - began
    found = spread(split.case.known.take(split.test), keys)
    return Result(split.case.name, method, found.hard, found.all, applied=applied, **facts)


def _hosts(split: Split) -> tuple[str, ...]:
    return tuple(sorted({url.split("/", 3)[2].lower() for url in split.urls if url.count("/") > 1})) or ("*",)


def _no_rules(split: Split) -> RuleBook:
    hosts = _hosts(split)
    return RuleBook({hosts[0]: SiteRules(hosts[0], hosts)})


def _online(split: Split, urls: list[str], seed: int) -> list[str]:
    """Taught on the one half, then at work on the other: what it does not fetch goes by what it would repeat."""
    model, truth = MaybeDont(), split.case.truth
    held_out = set(split.test.tolist())
    rows = [i for i in range(len(truth)) if i not in held_out]
    draw = random.Random(seed)
    draw.shuffle(rows)
    for i in rows:
        model.update(truth.urls[i], int(truth.cluster[i]))
    model.forget()
    order = list(range(len(urls)))
    draw.shuffle(order)
    out = list(urls)
    for i in order:
        known = model.duplicate_of(urls[i])
        if known is None:
            model.update(urls[i], int(truth.cluster[split.test[i]]))
        else:
            out[i] = known
    return out


HEADER = (
    "",
    "reduction %",
    "reached %",
    "fpr",
    "wrong",
    "near",
    "lost",
    "rules",
    "learn CPU s",
    "apply us/URL",
)


def site_table(results: Sequence[Result]) -> Iterator[str]:
    """The table of one site."""
    m = results[0].hard
    soft = results[0].all.urls - m.urls
    yield (
        f"{results[0].site}: {m.urls:,} held-out URLs, {m.contents:,} contents, "
        f"ceiling {percent(m.ceiling)} %" + (f" ({soft:,} soft pages apart)" if soft else "")
    )
    yield from table(HEADER, (_row(r.method, [r]) for r in results))


def pooled_table(results: Iterable[Result]) -> Iterator[str]:
    """All sites as one whole (micro), and the mean of the sites' shares of the ceiling (macro)."""
    by_method: dict[str, list[Result]] = {}
    for result in results:
        by_method.setdefault(result.method, []).append(result)
    sites = len({r.site for rs in by_method.values() for r in rs})
    m = micro(r.hard for r in next(iter(by_method.values())))
    yield (
        f"All {sites} sites as one: {m.urls:,} held-out URLs, {m.contents:,} contents, "
        f"ceiling {percent(m.ceiling)} %"
    )
    header = (*HEADER[:3], "macro reached %", *HEADER[3:])
    rows = []
    for method, found in by_method.items():
        row = _row(method, found)
        row.insert(3, percent(macro(r.hard for r in found)["reached"]))
        rows.append(row)
    yield from table(header, rows)


def transfer_table(own: Sequence[Result], others: Sequence[Result]) -> Iterator[str]:
    """How far rules learned elsewhere go, next to a site's own."""
    yield "Cross-site transfer: the rules learned on the other sites, next to a site's own"
    rows = [
        [
            mine.site,
            percent(mine.hard.reached),
            f"{mine.hard.fpr:.5f}",
            mine.hard.lost,
            percent(theirs.hard.reached),
            f"{theirs.hard.fpr:.5f}",
            theirs.hard.lost,
            theirs.rules,
        ]
        for mine, theirs in zip(own, others, strict=True)
    ]
    yield from table(
        ("", "own: reached %", "fpr", "lost", "others': reached %", "fpr", "lost", "rules"), rows
    )


def _row(name: str, results: Sequence[Result]) -> list[str | int | None]:
    m = micro(r.hard for r in results)
    rules = [r.rules for r in results if r.rules is not None]
    learned = [r.learned for r in results if r.learned is not None]
    every = sum(r.all.urls for r in results)
    return [
        name,
        percent(m.reduction),
        percent(m.reached),
        f"{m.fpr:.5f}",
        m.wrong_merges,
        m.near_merges,
        m.lost,
        sum(rules) if rules else "-",
        f"{sum(learned):.1f}" if learned else "-",
        f"{1e6 * sum(r.applied for r in results) / max(every, 1):.1f}",
    ]
