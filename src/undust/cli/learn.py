"""`undust learn`: from logs, crawls or pages to a rule book."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from undust.cli.console import console, max_bad_ratio, rejects, too_many_bad, url_field
from undust.cli.inputs import sketched
from undust.errors import UndustError, UsageError

if TYPE_CHECKING:
    from undust.crawl import Crawl
    from undust.learners import Learner
    from undust.rules import RuleBook, SiteRules

SHOWN = 10

WORTH_IT = 20_000
"""Pages from which on starting processes pays, unless --jobs says how many."""


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=click.Path(allow_dash=True))
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), help="The rule book (JSON).")
@click.option(
    "--learner",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "dustbuster", "rewrite", "pairwise", "pattern-tree", "alignment"]),
    help="Who proposes the rules; all are judged alike.",
)
@click.option("--format", "format_", help="Force a format; else the first lines decide.")
@click.option("--host", help="Scheme and host of lines that hold paths only, e.g. www.example.com.")
@url_field
@click.option(
    "--site-key",
    type=click.Choice(["host", "domain", "all"]),
    default="host",
    show_default=True,
    help="Which pages are learned together: a host with its proven aliases, a registrable domain, or all.",
)
@click.option(
    "--risk",
    type=click.FloatRange(0, 1),
    default=0.001,
    show_default=True,
    help="Share of a site's distinct contents that its rules may lose, as judged.",
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the learner.")
@click.option(
    "--memory", help="How much reading may use before spilling, and sites that are learned at once, e.g. 2GB."
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Sites learned at once, each in its own process; else as many as there are processors.",
)
@click.option(
    "--max-urls-per-site",
    type=click.IntRange(1),
    help="Of a host with more URLs a sample is looked at; the support of its rules is counted on all. "
    "Default: 1,000,000, or what fits into --memory if that is less.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="This machine, or Spark (pip install 'undust[spark]'): the book is the same.",
)
@click.option(
    "--resume",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Where finished sites are kept until the book is written, so that a killed run can go on; "
    "else beside the book.",
)
@click.option(
    "--aliases",
    metavar="FILE.parquet",
    type=click.Path(dir_okay=False),
    help="Also write a table of the pages seen whose sameness no rule can say, for --aliases of apply, explain "
    "and evaluate. Not written unless asked for.",
)
@click.option(
    "--report",
    "report_path",
    metavar="FILE.html",
    type=click.Path(dir_okay=False),
    help="Also write what the rules save and risk on these pages as one HTML file, as undust report does.",
)
@click.option("--stats", type=click.Path(dir_okay=False), help="Figures of the run as JSON.")
@click.option("--reproducible", is_flag=True, help="No date in the book: equal input, equal bytes.")
@rejects
@max_bad_ratio
def command(
    inputs: tuple[str, ...],
    out: str,
    learner: str,
    format_: str | None,
    host: str | None,
    url_field: str | None,
    site_key: str,
    risk: float,
    settings: tuple[str, ...],
    memory: str | None,
    jobs: int | None,
    max_urls_per_site: int | None,
    engine: str,
    resume: str | None,
    aliases: str | None,
    report_path: str | None,
    stats: str | None,
    reproducible: bool,
    rejects: str | None,
    max_bad_ratio: float,
) -> int:
    """Learn which differences between URLs do not matter, site by site.

    INPUT: access logs, crawl tables, URL lists, archives, feeds. The strongest evidence the pages carry is
    used: contents make rules `probable`, sizes or URLs alone make them `likely`, to be validated by fetching.
    """
    from undust.engines.bound import MAX_URLS
    from undust.engines.local import PER_PAGE, bytes_of
    from undust.engines.state import State
    from undust.files import replacing
    from undust.learners import create

    # What is wrong is found before all the work.
    fitting = int(min(MAX_URLS, max(1.0, bytes_of(memory) / PER_PAGE)))
    if report_path:
        from undust.report.vega import needed

        needed("the report")
    for path in filter(None, (out, aliases, report_path)):
        if _is_file(path) and not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK):
            raise UndustError(f"{path}: cannot be written: no such directory, or not yours")
    method = create(learner, _settings(settings))
    figures: dict[str, Any] = {"sites": 0, "rules": 0, "merged": 0, "guarded": 0, "failed": 0}

    def on_site(learned: SiteRules) -> None:
        figures["sites"] += 1
        figures["rules"] += len(learned.rules)
        # What rules merge only under a guard is no merge for who has no list: it is never added to the others.
        for name, guarded in (("merged", False), ("guarded", True)):
            figures[name] += sum(
                (r.evidence.pairs or 0) - (r.evidence.false or 0)
                for r in learned.rules
                if (r.guard is not None) == guarded
            )
        figures["failed"] += "failed" in learned.notes
        for line in _lines(learned):
            console.note(line)

    options: dict[str, Any] = {
        "site_key": site_key,
        "risk": risk,
        "host": host,
        "max_urls_per_site": max_urls_per_site or fitting,
        "on_site": on_site,
        "dated": not reproducible,
    }
    state = State(resume or _beside(out)) if resume or _is_file(out) else None
    if engine == "spark":
        if url_field:
            raise UsageError("--engine spark reads pages.parquet, whose column of URLs is named url")
        from undust.engines.spark import learn_files

        book, read = learn_files(
            inputs, method, format=format_, rejects=rejects, aliases_path=aliases, **options
        )
        pages = None
    else:
        book, read, pages = _here(
            inputs,
            method,
            format_,
            url_field,
            rejects,
            aliases,
            bool(report_path),
            memory=memory,
            jobs=jobs,
            state=state,
            **options,
        )
    with replacing(out) as file:
        file.write(book.dumps().encode("ascii"))
    figures |= read
    if report_path:
        from undust.cli.report import write_report
        from undust.likeness.seen import page_urls

        seen = pages or sketched(inputs, format=format_, host=host, url_field=url_field, memory=memory)
        urls = page_urls(seen.pages)  # what was read is all there is, as far as the rules know
        write_report(report_path, book, seen, level=_shown_level(book), listed=urls, own=True)
    if stats:
        with replacing(stats) as file:
            file.write((json.dumps(figures) + "\n").encode())
    if state is not None and engine == "local":
        if state.trouble:
            console.note(f"finished sites were not kept for --resume: {state.trouble}")
        if figures["failed"]:
            console.note(
                f"{figures['failed']} sites failed: the same command tries these again, and no others"
            )
        else:
            state.remove()
    if not len(book):
        what = "no rule stood up to the evidence" if figures["pages"] else f"no pages in {', '.join(inputs)}"
        console.note(f"nothing to learn: {what}")
    console.summary(
        in_=figures["lines"],
        out=figures["pages"],
        merged=figures["merged"],
        rules=len(book),
        bad=figures["bad"],
        **{n: figures[n] for n in ("guarded", "aliases", "failed") if figures.get(n) or n in read},
    )
    in_part = (
        figures["failed"]
        or figures.get("cut")
        or too_many_bad(figures["bad"], figures["lines"], max_bad_ratio)
    )
    return 3 if in_part else 0


def _here(
    inputs: tuple[str, ...],
    learner: Learner,
    format_: str | None,
    url_field: str | None,
    rejects: str | None,
    aliases_path: str | None,
    whole: bool,
    *,
    host: str | None,
    memory: str | None,
    jobs: int | None,
    on_site: Callable[[SiteRules], None],
    **options: Any,
) -> tuple[RuleBook, dict[str, int], Crawl | None]:
    """Learn on this machine; what was read is given back if the `whole` of it is needed in memory."""
    from undust.engines.aliases import aliases
    from undust.engines.learn import learn
    from undust.engines.shelves import shelved
    from undust.rules.aliases import write

    given = {"format": format_, "host": host, "url_field": url_field, "rejects": rejects}
    with shelved(list(inputs), options["site_key"], memory=memory, **given) as read:
        console.reading(read.stats)
        with console.progress(total=read.n, unit=" pages") as bar:

            def done(learned: SiteRules) -> None:
                bar.update(learned.notes.get("pages", 0))
                on_site(learned)

            jobs = jobs or (processors() if read.n > WORTH_IT else 1)
            book = learn(read, learner, jobs=jobs, memory=memory, on_site=done, **options)
        figures = {"pages": read.n, "lines": read.stats.lines, "bad": read.stats.bad, "cut": read.stats.cut}
        if aliases_path:
            found = (alias for shelf in read.filled for alias in aliases(shelf, book))
            figures["aliases"] = write(aliases_path, found)
        return book, figures, read.crawl() if whole else None


def _shown_level(book: RuleBook) -> str:
    """The level at which the rules say something: what was learned from URLs or sizes is `likely` at best."""
    return "probable" if any(rule.status == "probable" for rule in book.rules()) else "likely"


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_file(out: str) -> bool:
    return not os.path.exists(out) or os.path.isfile(out)


def _beside(out: str) -> str:
    """The directory for finished sites that belongs to a book.

    >>> _beside("books/rules.json")
    'books/.rules.json.state'
    """
    folder, name = os.path.split(out)
    return os.path.join(folder, f".{name}.state")


def _settings(given: tuple[str, ...]) -> Mapping[str, str]:
    out = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {text!r}: write it as name=value")
        out[name] = value
    return out


def _lines(learned: SiteRules) -> list[str]:
    """What was learned of a site, as a person reads it."""
    pages = f"{learned.name}: {learned.notes.get('pages', 0):,} pages"
    if "failed" in learned.notes:
        return [f"{pages}, failed: {learned.notes['failed']}"]
    out = [f"{pages}, {len(learned.rules)} rules ({learned.notes.get('evidence')})"]
    for rule in learned.rules[:SHOWN]:
        e = rule.evidence
        figures = f"{e.pairs or e.support or 0:,} merges" + (f", {e.false} false" if e.false else "")
        bound = f", precision >= {e.precision_low:.2f}" if e.precision_low is not None else ""
        out.append(f"  {rule.describe()}  [{rule.status}: {figures}{bound}]")
    if len(learned.rules) > SHOWN:
        out.append(f"  … and {len(learned.rules) - SHOWN} more")
    if learned.rules and "advice" in learned.notes:
        out.append(f"  {learned.notes['advice']}")
    return out
