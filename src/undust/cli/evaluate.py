"""`undust evaluate`: what a rule book saves and what it risks, next to what perfect rules would save."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    from undust.measures import Evaluation

SITES_SHOWN = 20


@click.command()
@rules
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=click.Path(allow_dash=True))
@level
@aliases
@list_
@click.option(
    "--truth",
    type=click.Path(exists=True, dir_okay=False),
    help="What each URL shows, as lines of url TAB cluster TAB soft under a header; else the pages tell.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object with everything.")
@click.option("--format", "format_", help="Force a format; else the first lines decide.")
@click.option("--host", help="Scheme and host of lines that hold paths only, e.g. www.example.com.")
@url_field
@click.option("--memory", help="How much may be used before spilling to disk, e.g. 2GB.")
@rejects
@max_bad_ratio
def command(
    rules_path: str,
    inputs: tuple[str, ...],
    level: str,
    aliases_path: str | None,
    list_path: str | None,
    truth: str | None,
    as_json: bool,
    format_: str | None,
    host: str | None,
    url_field: str | None,
    memory: str | None,
    rejects: str | None,
    max_bad_ratio: float,
) -> int:
    """Measure a rule book on pages, best on ones it was not learned from.

    What the pages show is taken from their cluster column, else from digests, texts, canonical links and
    redirects. Soft pages (errors, logins, empty results) are set apart.
    """
    from undust.cli.lists import listed
    from undust.measures import Truth, evaluate
    from undust.rules import AliasTable, RuleBook

    book = RuleBook.load(rules_path)
    table = AliasTable.load(aliases_path) if aliases_path else None
    read = sketched(
        inputs,
        format=format_,
        host=host,
        url_field=url_field,
        memory=memory,
        rejects=rejects,
    )
    result = evaluate(
        book,
        read,
        truth=Truth.load(truth) if truth else None,
        level=level,
        listed=listed(list_path) if list_path else None,
        aliases=table,
    )
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
    else:
        for line in readable(result):
            click.echo(line)
    console.reading(read.stats)
    if result.skipped:
        console.note(
            f"{result.skipped} guarded rules skipped: what else is listed is not known (give --list)"
        )
    console.summary(
        in_=read.n,
        out=result.forms,
        merged=result.seen - result.forms,
        rules=result.fired,
        bad=read.stats.bad,
        **(
            {"ceiling": f"{result.set.hard.ceiling:.3f}", "lost": result.set.hard.lost}
            if result.set.all.urls
            else {}
        ),
        **({"skipped": result.skipped} if result.skipped else {}),
    )
    return 3 if in_part(read.stats, max_bad_ratio) else 0


def readable(result: Evaluation) -> Iterator[str]:
    """An evaluation for people."""
    from undust.measures.table import percent, table

    if result.set.all.urls:
        yield from _figures(result)
    else:
        yield f"{result.seen:,} URLs, {result.forms:,} canonical URLs: what they show is not known"
        yield "(logs have sizes alone; a crawl has contents, and --truth may say)"
    if result.unknown and result.set.all.urls:
        yield f"{result.unknown:,} more live URLs: what they show is not known"
    if result.sized and not result.set.all.urls:
        share = percent(result.same_size / result.sized)
        yield f"sizes: {share} % of {result.sized:,} merged URLs have the size of what they are merged with"
    if result.rules and result.set.all.urls:
        yield ""
        yield (
            f"{len(result.rules)} rules, {result.fired} fired, "
            f"{result.reduction_per_rule:.1f} URLs saved a rule. Each by itself:"
        )
        yield from table(
            ["rule", "covers", "fired", "precision", "merges", "wrong", "lost", "what it does"],
            [
                [
                    r.rule.id,
                    r.covers,
                    r.fired,
                    f"{r.precision:.4f}" if r.covers else None,
                    r.alone.true_merges,
                    r.alone.wrong_merges + r.alone.near_merges,
                    r.alone.lost,
                    r.rule.describe(),
                ]
                for r in result.rules
            ],
            words_last=True,
        )
    if len(result.sites) > 1:
        yield ""
        sites = sorted(result.sites.items(), key=lambda s: (-s[1].hard.urls, s[0]))
        rows: list[list[Any]] = [
            [
                name,
                m.urls,
                percent(m.reduction),
                percent(m.ceiling),
                percent(m.reached),
                f"{m.fpr:.5f}",
                m.lost,
            ]
            for name, m in ((name, spread.hard) for name, spread in sites[:SITES_SHOWN])
        ]
        mean = result.macro
        micro = result.set.hard
        for name, rates, urls, lost in (
            ("micro (all URLs as one)", micro.to_dict(), micro.urls, micro.lost),
            (f"macro (mean of {len(sites)} sites)", mean, None, None),
        ):
            shares = [percent(rates[rate]) for rate in ("reduction", "ceiling", "reached")]
            rows.append([name, urls, *shares, f"{rates['fpr']:.5f}", lost])
        yield from table(["site", "URLs", "reduction %", "ceiling %", "reached %", "fpr", "lost"], rows)
        if len(sites) > SITES_SHOWN:
            yield f"({len(sites) - SITES_SHOWN} smaller sites not shown; --json has them)"


def _figures(result: Evaluation) -> Iterator[str]:
    from undust.measures.table import percent, table

    parts = {"soft apart": result.set.hard, "all": result.set.all}
    if result.set.tail is not None:
        parts["tail third"] = result.set.tail
    measured = parts.values()

    def row(name: str, *cells: Any) -> list[Any]:
        return [name, *cells]

    yield from table(
        ["", *parts],
        [
            row("URLs whose content is known", *(m.urls for m in measured)),
            row("contents", *(m.contents for m in measured)),
            row("canonical URLs", *(m.keys for m in measured)),
            row("reduction %", *(percent(m.reduction) for m in measured)),
            row("  ceiling % (perfect rules)", *(percent(m.ceiling) for m in measured)),
            row("  reached % of the ceiling", *(percent(m.reached) for m in measured)),
            row("coverage of duplicates %", *(percent(m.coverage) for m in measured)),
            row("dup-reduction rate %", *(percent(m.dup_reduction) for m in measured)),
            row("false-positive rate (pairs)", *(f"{m.fpr:.5f}" for m in measured)),
            row("collision precision", *(f"{m.collision_precision:.5f}" for m in measured)),
            row("true merges", *(m.true_merges for m in measured)),
            row("wrong merges", *(m.wrong_merges for m in measured)),
            row("  of near-duplicates", *(m.near_merges for m in measured)),
            row("lost contents", *(m.lost for m in measured)),
            row("  a near-duplicate kept", *(m.lost_near for m in measured)),
            row("changed URLs", *(m.changed for m in measured)),
        ],
    )
    if len(result.steps) > 1:
        yield ""
        yield "What saves it, soft pages apart (each line on top of the one before):"
        before = 0
        rows: list[list[Any]] = []
        for name, m in result.steps.items():
            saved = m.urls - m.keys
            more = saved - before
            rows.append(
                [name, more, percent(more / m.urls) if m.urls else "-", m.true_merges, m.wrong_merges, m.lost]
            )
            before = saved
        yield from table(["", "URLs saved", "reduction %", "true merges", "wrong merges", "lost"], rows)
