"""What a report shows, as data: the figures of all sites together, an overview of the sites, and each by itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from undust import __version__
from undust.crawl import Crawl, read
from undust.likeness import sketch_kind, sketcher
from undust.likeness.seen import page_urls
from undust.likeness.site import host_of
from undust.measures import Truth, evaluate
from undust.measures.saving import precision_at
from undust.report.shown import as_script, fitting, shown
from undust.report.study import Study, figures_of, rounded
from undust.rules import AliasTable, Canonicalizer, RuleBook

ROOM = 3_500_000
"""Characters that the sites' details may take, so that the file stays below 5 MB with its charts."""

LISTED = 3_000
"""Sites in the overview at most, those with most URLs."""

CURVES = 20
"""Sites, those with most URLs, for which the reduction is computed for fewer rules too."""


def contents(
    book: RuleBook,
    crawl: Crawl | Any,
    *,
    truth: Truth | None = None,
    level: str = "probable",
    host: str | None = None,
    listed: Collection[str] | None = None,
    aliases: AliasTable | None = None,
    own: bool = False,
    room: int = ROOM,
) -> dict[str, Any]:
    """All that a report shows of a rule book and the pages it is measured on; anything `undust.read` takes will do.

    `listed`: all URLs there are, for guarded rules; `aliases`: a table that is asked before the rules. `own`: the
    rules were learned from these pages. `room`: characters the sites' details may take.

    >>> from undust.rules import Rule, SiteRules
    >>> pages = [{"url": f"http://a.example/p?id={i}&sid={s}", "digest": f"{i}"} for i in range(9) for s in "xy"]
    >>> book = RuleBook({"a.example": SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])})
    >>> told = contents(book, pages)
    >>> told["all"]["hard"]["reduction"], told["all"]["expected"]
    (0.5, [0.5, 0.5])
    >>> [rule["text"] for rule in told["details"][0]["rules"]]
    ['drop sid']
    """
    if not isinstance(crawl, Crawl):
        crawl = read(crawl, host=host, sketcher=sketcher, sketch_kind=sketch_kind())
    result = evaluate(book, crawl, truth=truth, level=level, listed=listed, aliases=aliases)
    study = Study(
        book, result, level, Canonicalizer(book, level=level, listed=listed, aliases=aliases), listed
    )
    overview, _ = fitting((study.overview(entry) for entry in study.entries[:LISTED]), room // 3)
    room -= len(as_script(overview))
    details: list[dict[str, Any]] = []
    for place, entry in enumerate(study.entries[: len(overview)]):
        detail = study.detail(entry, room, curves=place < CURVES)
        if detail is None:
            break  # to look for a smaller one that fits would be work for nothing
        room -= len(as_script(detail))
        overview[place]["detail"] = len(details)
        details.append(detail)
    every = {**study.figures(result.set, np.arange(len(study.on.truth))), **study.counts(study.entries)}
    if len(study.entries) > 1:
        every["macro"] = {name: round(rate, 6) for name, rate in result.macro.items()}
        every["curve"] = study.curve(result)
        every["precision"] = rounded(precision_at(list(result.rules)))
    return {
        "version": __version__,
        "level": level,
        "own": own,
        "truth": truth is not None,
        "site_key": book.site_key,
        "read": reading(crawl),
        "log": {"seen": result.seen, "forms": result.forms, "sized": result.sized, "same": result.same_size},
        "all": every,
        "steps": {name: figures_of(step, brief=True) for name, step in result.steps.items()},
        "skipped": result.skipped,
        "sites": overview,
        "left_out": len(study.entries) - len(overview),
        "details": details,
    }


def reading(crawl: Crawl) -> dict[str, Any]:
    """What was read, and what was not."""
    stats = crawl.stats
    formats: dict[str, int] = {}
    for name in stats.formats.values():
        formats[name] = formats.get(name, 0) + 1
    dates = [d for d in crawl.pages["fetched_at"].to_pylist() if d] if crawl.n else []
    return {
        "pages": crawl.n,
        "hosts": len({host_of(url) for url in page_urls(crawl.pages)}),
        "lines": stats.lines,
        "bad": stats.bad,
        "skipped": stats.skipped,
        "inputs": [shown(name, 120) for name in list(stats.formats)[:20]],
        "more_inputs": max(0, len(stats.formats) - 20),
        "formats": formats,
        "statuses": [(int(status), n) for status, n in sorted(stats.statuses.items())],
        "first_bad": [shown(str(line)) for line in stats.first_bad],
        "notes": [shown(note) for note in stats.notes[:20]],
        "dates": [shown(min(dates)[:10]), shown(max(dates)[:10])] if dates else [],
    }
