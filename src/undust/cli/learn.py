"""`undust learn`: from logs, crawls or pages to a rule book."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from undust.cli.console import console, max_bad_ratio, rejects, too_many_bad
from undust.errors import UsageError

if TYPE_CHECKING:
    from undust.likeness import Site
    from undust.rules import SiteRules

SHOWN = 10


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
@click.option("--memory", help="How much reading may use before spilling to disk, e.g. 2GB.")
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
    site_key: str,
    risk: float,
    settings: tuple[str, ...],
    memory: str | None,
    stats: str | None,
    reproducible: bool,
    rejects: str | None,
    max_bad_ratio: float,
) -> int:
    """Learn which differences between URLs do not matter, site by site.

    INPUT: access logs, crawl tables, URL lists, archives, feeds. The strongest evidence the pages carry is
    used: contents make rules `probable`, sizes or URLs alone make them `likely`, to be validated by fetching.
    """
    from undust import crawl, likeness
    from undust.engines.learn import learn
    from undust.files import replacing
    from undust.learners import create

    method = create(learner, _settings(settings))
    read = crawl.read(
        list(inputs),
        format=format_,
        host=host,
        memory=memory,
        rejects=rejects,
        sketcher=likeness.sketcher,
        sketch_kind=likeness.sketch_kind(),
    )
    console.bad_lines(read.stats.first_bad, read.stats.bad)
    for note in read.stats.notes:
        console.note(note)
    figures: dict[str, Any] = {"pages": read.n, "sites": 0, "rules": 0, "merged": 0, "forms": 0}
    with console.progress(total=read.n, unit=" pages") as bar:

        def on_site(site: Site, learned: SiteRules) -> None:
            bar.update(site.n)
            figures["sites"] += 1
            figures["rules"] += len(learned.rules)
            merged = sum((r.evidence.pairs or 0) - (r.evidence.false or 0) for r in learned.rules)
            figures["merged"] += merged
            for line in _lines(site, learned):
                console.note(line)

        book = learn(
            read,
            method,
            site_key=site_key,
            risk=risk,
            on_site=on_site,
            dated=not reproducible,
        )
    with replacing(out) as file:
        file.write(book.dumps().encode("ascii"))
    if stats:
        with replacing(stats) as file:
            file.write(
                (json.dumps(figures | {"lines": read.stats.lines, "bad": read.stats.bad}) + "\n").encode()
            )
    if not len(book):
        console.note("nothing to learn: no rule stood up to the evidence")
    console.summary(
        in_=read.stats.lines, out=read.n, merged=figures["merged"], rules=len(book), bad=read.stats.bad
    )
    return 3 if too_many_bad(read.stats.bad, read.stats.lines, max_bad_ratio) else 0


def _settings(given: tuple[str, ...]) -> Mapping[str, str]:
    out = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {text!r}: write it as name=value")
        out[name] = value
    return out


def _lines(site: Site, learned: SiteRules) -> list[str]:
    """What was learned of a site, as a person reads it."""
    out = [f"{site.name}: {site.n:,} pages, {len(learned.rules)} rules ({learned.notes.get('evidence')})"]
    for rule in learned.rules[:SHOWN]:
        e = rule.evidence
        figures = f"{e.pairs or e.support or 0:,} merges" + (f", {e.false} false" if e.false else "")
        bound = f", precision >= {e.precision_low:.2f}" if e.precision_low is not None else ""
        out.append(f"  {rule.describe()}  [{rule.status}: {figures}{bound}]")
    if len(learned.rules) > SHOWN:
        out.append(f"  … and {len(learned.rules) - SHOWN} more")
    if "advice" in learned.notes:
        out.append(f"  {learned.notes['advice']}")
    return out
