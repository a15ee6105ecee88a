"""`undust bench`: the papers' tables and figures, every learner next to the peers, and the speed of it all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from undust.cli.console import console
from undust.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from undust.measures.cases import Case
    from undust.measures.quality import Result
    from undust.rules import RuleBook

KINDS = ("quality", "papers", "speed")


@click.command()
@click.argument("arguments", nargs=-1, metavar="[papers|speed|quality] DATA...")
@click.option("--host", help="Scheme and host of lines that hold paths only, e.g. www.example.com.")
@click.option("--learner", "learners", multiple=True, help="quality: only these learners (repeatable).")
@click.option("--no-peers", is_flag=True, help="quality: undust's learners only.")
@click.option("--seed", default=1, show_default=True, help="Of every random draw.")
@click.option("--html", type=click.Path(dir_okay=False), help="papers: also as one page with charts.")
@click.option("--json", "as_json", is_flag=True, help="quality: a JSON record a line instead of tables.")
def command(
    arguments: tuple[str, ...],
    host: str | None,
    learners: tuple[str, ...],
    no_peers: bool,
    seed: int,
    html: str | None,
    as_json: bool,
) -> None:
    """Print the papers' tables and figures and ours, on labelled pages.

    DATA: files of pages with NAME.truth.tsv beside NAME.pages.jsonl.gz, or with given clusters, or directories
    of such; the demo site by default. Without a kind all three are printed. Seconds are CPU seconds.
    """
    from undust.measures.cases import cases

    if html:
        from undust.report.vega import needed

        needed("the page of figures")
    kinds = [a for a in arguments[:1] if a in KINDS] or list(KINDS)
    paths = arguments[1:] if arguments[:1] and arguments[0] in KINDS else arguments
    data = list(cases(paths, host)) if paths else [demo_case(seed)]
    for case in data:
        if not len(case.truth):
            raise UsageError(
                f"{case.name}: nothing is known of what its URLs show; give clusters or a truth file"
            )
    for kind in kinds:
        if kind == "quality":
            print_quality(data, learners, not no_peers, seed, as_json)
        elif kind == "papers":
            print_papers(data, seed, html)
        else:
            from undust.measures.speed import speed, speed_table

            for case in data:
                _print(speed_table(case, speed(case, _learn, seed=seed)), False, ())
    urls = sum(len(case.truth) for case in data)
    console.summary(in_=urls, out=urls, merged=0, rules=0, bad=0, sites=len(data))


def demo_case(seed: int = 1) -> Case:
    """The demo site, crawled in this process, with its truth."""
    from undust.crawl import read
    from undust.demo import DemoSite, crawl
    from undust.demo.truth import is_soft
    from undust.likeness import sketch_kind, sketcher
    from undust.measures import Truth
    from undust.measures.cases import Case

    site = DemoSite(seed)
    records = [page.record() for page in crawl(site.fetch)]
    number: dict[str, int] = {}
    contents = [(str(r["url"]), site.content_id(str(r["url"]))) for r in records]
    truth = Truth.of(
        (url, number.setdefault(content, len(number)), is_soft(content))
        for url, content in contents
        if content
    )
    return Case("demo site", read(records, sketcher=sketcher, sketch_kind=sketch_kind()).pages, truth)


def _learn(pages: pa.Table, learner: str) -> RuleBook:
    from undust.engines.learn import learn

    return learn(pages, learner)


def print_quality(data: list[Case], learners: Iterable[str], peers: bool, seed: int, as_json: bool) -> None:
    """A table a site, then all sites together, then what goes across sites."""
    from undust.measures import quality

    chosen = tuple(learners) or quality.LEARNERS
    found: list[Result] = []
    own: list[Result] = []
    for case in data:
        here = list(quality.quality(case, _learn, learners=chosen, peers=peers, seed=seed))
        found += here
        own += [r for r in here if r.method == chosen[0]]
        _print(quality.site_table(here), as_json, (r.to_dict() for r in here))
    if len(own) > 1:
        books = [r.book for r in own if r.book]
        others = [
            quality.transfer(case, [b for b in books if b is not mine.book], seed)
            for case, mine in zip(data, own, strict=True)
        ]
        _print(quality.pooled_table(found), as_json, ())
        _print(quality.transfer_table(own, others), as_json, (r.to_dict() for r in others))


def print_papers(data: list[Case], seed: int, html: str | None) -> None:
    """Tables and figures as text; with a file as a page too, in which the figures are drawn."""
    from undust.files import replacing
    from undust.measures.papers import reprint

    parts = []
    for part in reprint(data, _learn, seed):
        parts.append(part)
        if isinstance(part, str):
            click.echo(part)
    if html:
        from undust.report import curves_page

        with replacing(html) as file:
            file.write(curves_page(parts).encode("utf-8", "replace"))


def _print(lines: Iterator[str], as_json: bool, records: Iterable[dict[str, Any]]) -> None:
    say: Callable[[str], None] = click.echo
    if as_json:
        for record in records:
            say(json.dumps(record))
        return
    for line in lines:
        say(line)
    say("")
