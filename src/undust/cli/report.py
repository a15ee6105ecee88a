"""`undust report`: one HTML file on which a person decides whether to use a rule book."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from undust.cli.console import (
    aliases,
    console,
    in_part,
    level,
    list_,
    max_bad_ratio,
    rejects,
    rules,
    url_field,
)
from undust.cli.inputs import sketched

if TYPE_CHECKING:
    from undust.crawl import Crawl
    from undust.rules import RuleBook


@click.command()
@rules
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=click.Path(allow_dash=True))
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), help="The report (HTML).")
@level
@click.option(
    "--truth",
    "truth_path",
    type=click.Path(exists=True, dir_okay=False),
    help="What each URL shows, as lines of url TAB cluster TAB soft under a header; else the pages tell.",
)
@list_
@aliases
@click.option("--format", "format_", help="Force a format; else the first lines decide.")
@click.option("--host", help="Scheme and host of lines that hold paths only, e.g. www.example.com.")
@url_field
@click.option("--memory", help="How much may be used before spilling to disk, e.g. 2GB.")
@rejects
@max_bad_ratio
def command(
    rules_path: str,
    inputs: tuple[str, ...],
    out: str,
    level: str,
    truth_path: str | None,
    list_path: str | None,
    aliases_path: str | None,
    format_: str | None,
    host: str | None,
    url_field: str | None,
    memory: str | None,
    rejects: str | None,
    max_bad_ratio: float,
) -> int:
    """Show what a rule book saves and risks on pages, best on ones it was not learned from.

    One HTML file that needs nothing else: savings expected, each rule with its evidence and the merges that look
    wrong, what no rule explains, and why rules were rejected. docs/report.md says how to read it.
    """
    from undust.cli.lists import listed
    from undust.measures import Truth
    from undust.report.vega import needed
    from undust.rules import AliasTable, RuleBook

    needed("the report")
    book = RuleBook.load(rules_path)
    truth = Truth.load(truth_path) if truth_path else None
    table = AliasTable.load(aliases_path) if aliases_path else None
    read = sketched(
        inputs,
        format=format_,
        host=host,
        url_field=url_field,
        memory=memory,
        rejects=rejects,
    )
    console.reading(read.stats)
    told = write_report(
        out,
        book,
        read,
        truth=truth,
        level=level,
        listed=list(listed(list_path)) if list_path else None,
        aliases=table,
    )
    if told["skipped"]:
        console.note(
            f"{told['skipped']} guarded rules skipped: what else is listed is not known (give --list)"
        )
    measured, log = told["all"]["hard"], told["log"]
    console.summary(
        in_=log["seen"],
        out=log["forms"],
        merged=log["seen"] - log["forms"],
        rules=told["all"]["in_force"],
        bad=read.stats.bad,
        **({"ceiling": f"{measured['ceiling']:.3f}", "lost": measured["lost"]} if measured["urls"] else {}),
    )
    return 3 if in_part(read.stats, max_bad_ratio) else 0


def write_report(out: str, book: RuleBook, read: Crawl, **options: Any) -> dict[str, Any]:
    """Write the report beside its name, then rename; what it tells. Options as of `undust.report.contents`."""
    from undust.files import replacing
    from undust.report import as_html, contents

    told = contents(book, read, **options)
    with replacing(out) as file:
        file.write(as_html(told).encode())
    return told
