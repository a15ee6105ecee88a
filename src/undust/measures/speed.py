"""CPU seconds of the kernels and verbs on growing parts of one crawl, and how they grow."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from undust.crawl import Crawl, read
from undust.learners import create
from undust.learners.dustbuster import DustBuster
from undust.learners.pattern_tree import PatternTree
from undust.likeness import Site, sketcher, split_sites
from undust.likeness.seen import page_urls
from undust.measures.cases import Case
from undust.measures.evaluation import evaluate
from undust.measures.metrics import measure, numbered
from undust.measures.table import Cell, table
from undust.rules import Canonicalizer, RuleBook
from undust.url import SiteTable, key_view, normal, parse, tokenize, unparse

SHARES = (0.25, 0.5, 1.0)
ENOUGH = 0.05
"""CPU seconds: what takes less is repeated, and the least of all runs counts."""
WORDS = 300
"""Words of the made-up pages that are sketched."""

Learn = Callable[[pa.Table, str], RuleBook]


@dataclass(frozen=True)
class Timing:
    """CPU seconds at each size; `sizes` count what the work is proportional to."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def growth(self) -> float:
        """The exponent: 1 is linear, 2 quadratic; fitted to all sizes.

        >>> Timing("x", (100, 200, 400), (1.0, 2.0, 4.0)).growth
        1.0
        """
        if len(set(self.sizes)) < 2:
            return float("nan")
        x, y = np.log(self.sizes), np.log(np.maximum(self.seconds, 1e-9))
        return round(float(np.polyfit(x, y, 1)[0]), 2)


def cpu(work: Callable[[], Any], enough: float = ENOUGH) -> float:
    """CPU seconds of this process for one run; the least of several where one is short."""
    best, spent = float("inf"), 0.0
    while spent < enough:
        began = time.process_time()
        work()
        took = time.process_time() - began
        best, spent = min(best, took), spent + max(took, enough / 20)
    return best


def verb_cpu(*arguments: str) -> float:
    """CPU seconds of a command, with the start of the interpreter and all imports."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "undust", *arguments, "-q"], capture_output=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


Work = dict[str, tuple[int, Callable[[], Any]]]


def kernels(pages: pa.Table, book: RuleBook, learn: Learn) -> Work:
    """Name -> how many (URLs, mostly) and the work, on one table of pages."""
    urls = page_urls(pages)
    n = len(urls)
    sites = list(split_sites(pages))
    largest = max(sites, key=lambda site: site.n)
    for ready in ("table", "labels", "seen"):
        getattr(largest, ready)
    canon = Canonicalizer(book, level="likely")
    keys, clusters = numbered(urls), largest.labels.cluster.astype(np.int64)
    pool = [f"word{i}" for i in range(5_000)]
    draw = random.Random(1)
    texts = [" ".join(draw.choices(pool, k=WORDS)) for _ in range(min(n, 2_000))]
    work: Work = {
        "url: parse + unparse": (n, lambda: [unparse(parse(url)) for url in urls]),
        "url: normal form": (n, lambda: [normal(url) for url in urls]),
        "url: tokens": (n, lambda: [tokenize(url) for url in urls]),
        "url: keys": (n, lambda: [key_view(url) for url in urls]),
        "url: site table with tokens": (n, lambda: SiteTable.build(urls).tokens),
        "crawl: read records": (n, lambda: read(urls)),
        f"likeness: sketch of {WORDS} words": (len(texts), lambda: sketcher(texts)),
        "likeness: sites, aliases": (n, lambda: list(split_sites(pages))),
        "likeness: labels": (largest.n, lambda: _fresh(largest).labels),
        "dustbuster: phases 1 and 2": (largest.n, lambda: _dust(largest)),
        "pattern tree: growing it": (largest.n, lambda: list(PatternTree(align="start").grow(largest))),
        "rules: compile": (len(book), lambda: Canonicalizer(book, level="likely")(urls[0])),
        f"rules: apply {len(book)} rules": (n, lambda: canon.map(urls)),
        "rules: explain": (n, lambda: [canon.explain(url) for url in urls]),
        "measures: metrics": (largest.n, lambda: measure(keys[: largest.n] % 997, np.maximum(clusters, 0))),
        "measures: evaluate": (n, lambda: evaluate(book, Crawl(pages), level="likely")),
    }
    for name in ("dustbuster", "rewrite", "pairwise", "pattern-tree", "alignment"):
        work[f"learner: {name}"] = largest.n, partial(_proposed, name, largest)
    work["learn: auto, all sites"] = n, lambda: learn(pages, "auto")
    return work


def _proposed(learner: str, site: Site) -> int:
    return len(create(learner).propose(site))


def _fresh(site: Site) -> Site:
    return Site(site.name, site.hosts, site.pages)


def _dust(site: Site) -> int:
    learner = DustBuster()
    return len(learner.reduced(learner.likely(site)))


def verbs(pages: pa.Table, book: RuleBook, folder: Path) -> dict[str, tuple[int, Callable[[], float]]]:
    """The commands on files of the pages; each gives its own CPU seconds back, start-up included."""
    n = pages.num_rows
    table_file, list_file, book_file = (
        str(folder / name) for name in ("p.parquet", "urls.txt", "rules.json")
    )
    parquet.write_table(pages, table_file)
    with open(list_file, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        file.writelines(url + "\n" for url in page_urls(pages))
    book.save(book_file)
    some = page_urls(pages)[:1]
    return {
        "undust crawl": (n, lambda: verb_cpu("crawl", table_file, "-o", str(folder / "again.parquet"))),
        "undust learn": (n, lambda: verb_cpu("learn", table_file, "-o", str(folder / "learned.json"))),
        "undust apply": (
            n,
            lambda: verb_cpu("apply", "-r", book_file, list_file, "-o", str(folder / "out.txt")),
        ),
        "undust explain (one URL)": (n, lambda: verb_cpu("explain", "-r", book_file, *some)),
        "undust evaluate": (n, lambda: verb_cpu("evaluate", "-r", book_file, table_file)),
    }


def speed(case: Case, learn: Learn, shares: Sequence[float] = SHARES, seed: int = 1) -> Iterator[Timing]:
    """Time the kernels on random parts of the pages, each part within the next, and the verbs on all of them."""
    order = np.random.default_rng(seed).permutation(case.pages.num_rows)
    parts = [np.sort(order[: max(20, int(share * len(order)))]) for share in shares]
    tables = [case.pages.take(part) for part in parts]
    book = learn(case.pages, "dustbuster")
    # A name may count the book's rules or the like; the order is the same for all sizes.
    for row in zip(*(kernels(pages, book, learn).items() for pages in tables), strict=True):
        yield Timing(row[-1][0], tuple(n for _, (n, _) in row), tuple(cpu(work) for _, (_, work) in row))
    with tempfile.TemporaryDirectory() as folder:
        for name, (n, work) in verbs(case.pages, book, Path(folder)).items():
            yield Timing(name, (n,), (work(),))


def speed_table(case: Case, timings: Iterator[Timing]) -> Iterator[str]:
    """The table, after a line on what and where it was measured."""
    python = sys.version.split()[0]
    yield f"{case.name}: CPU seconds of one process on parts of {case.pages.num_rows:,} pages (Python {python})"
    rows: list[list[Cell]] = []
    for t in timings:
        per_item = t.seconds[-1] / max(t.sizes[-1], 1)
        rows.append(
            [
                t.name,
                t.sizes[-1],
                *[None] * (len(SHARES) - len(t.seconds)),
                *(f"{s:.4f}" for s in t.seconds),
                f"{t.growth:.2f}" if len(set(t.sizes)) > 1 else None,
                f"{1e6 * per_item:,.1f}",
                f"{1 / per_item:,.0f}" if per_item else "-",
            ]
        )
    shares = [f"{int(100 * share)} %" for share in SHARES]
    yield from table(["", "n", *shares, "growth", "us each", "n per CPU second"], rows)
    yield "growth: exponent of n, 1 is linear; verbs include the interpreter's start and imports"
