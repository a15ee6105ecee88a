"""`undust demo`: the whole way on a small web site whose duplicates are known."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import click

from undust.cli.console import console
from undust.crawl import Crawl
from undust.demo import (
    HOST,
    HOSTS,
    DemoSite,
    Fetched,
    agreement,
    crawl,
    over_loopback,
    score,
    serve,
    verdicts,
    write_log,
)
from undust.demo.archive import write_record
from undust.demo.truth import is_soft
from undust.files import replacing
from undust.rules import Canonicalizer, RuleBook


@dataclass
class Tour:
    """What the steps hand on to each other."""

    folder: Path
    site: DemoSite
    log_lines: int
    pages: list[Fetched] = field(default_factory=list)
    read: Crawl | None = None
    book: RuleBook = field(default_factory=RuleBook)

    @property
    def urls(self) -> list[str]:
        return [page.url for page in self.pages]


Step = Callable[[Tour], Iterator[str]]


@click.command()
@click.argument("folder", metavar="[DIR]", default="undust-demo", type=click.Path(file_okay=False))
@click.option(
    "--size", type=click.FloatRange(0.03, 100), default=1.0, show_default=True, help="1: some 4,000 URLs."
)
@click.option("--seed", default=1, show_default=True, help="Other spellings, links and visitors.")
@click.option(
    "--log-lines", type=click.IntRange(1), default=30_000, show_default=True, help="Lines of the access log."
)
@click.option("--warc", is_flag=True, help="Write the crawl as a WARC too.")
@click.option("--serve", "stay", is_flag=True, help="Only serve the site, until interrupted.")
@click.option("--port", default=0, help="With --serve: the port on 127.0.0.1; a free one unless told.")
def command(folder: str, size: float, seed: int, log_lines: int, warc: bool, stay: bool, port: int) -> None:
    """Serve a small web site on loopback, crawl it, learn and validate its rules, and compare with the truth.

    The files land in DIR. Nothing leaves this machine, and the server stops by itself.
    """
    site = DemoSite(seed, size)
    if stay:
        with serve(site, port) as chosen:
            click.echo(f"http://127.0.0.1:{chosen}/ (Ctrl-C ends it)")
            while True:
                time.sleep(3600)
    tour = Tour(Path(folder), site, log_lines)
    tour.folder.mkdir(parents=True, exist_ok=True)
    steps: list[tuple[str, Step]] = [
        ("Serve the site on 127.0.0.1 and crawl it", crawl_site),
        *([("Write the crawl as a WARC", write_warc)] if warc else []),
        ("Write an access log of its visitors", write_access_log),
        ("Read both back", read_back),
        ("Learn rules from the crawl", learn_rules),
        ("Validate them by fetching", validate_rules),
        ("Compare with the truth", compare),
        ("Write the report", write_the_report),
    ]
    for number, (what, step) in enumerate(steps, 1):
        click.echo(click.style(f"{number}. {what}", bold=True))
        started = time.perf_counter()
        for line in step(tour):
            click.echo(f"   {line}")
        console.detail(f"   {time.perf_counter() - started:.1f} s")
    left = len(set(map(Canonicalizer(tour.book), tour.urls)))
    console.summary(in_=len(tour.urls), out=left, merged=len(tour.urls) - left, rules=len(tour.book), bad=0)


def crawl_site(tour: Tour) -> Iterator[str]:
    """Crawl over the loopback interface; pages.jsonl.gz and truth.tsv."""
    with serve(tour.site) as port, over_loopback(port) as get, console.progress(unit=" pages") as bar:
        for page in crawl(get):
            tour.pages.append(page)
            bar.update()
    with _text(tour.folder / "pages.jsonl.gz") as file:
        file.writelines(json.dumps(page.record()) + "\n" for page in tour.pages)
    clusters: dict[str, int] = {}
    with _text(tour.folder / "truth.tsv") as file:
        file.write("url\tcluster\tsoft\tevidence\n")
        for url in tour.urls:
            content = tour.site.content_id(url)
            if content is not None:
                number = clusters.setdefault(content, len(clusters))
                file.write(f"{url}\t{number}\t{int(is_soft(content))}\tplanted\n")
    hosts = len({url.split("/")[2] for url in tour.urls})
    yield f"{len(tour.pages):,} pages of {hosts} hosts: {tour.folder}/pages.jsonl.gz, truth.tsv"


def write_warc(tour: Tour) -> Iterator[str]:
    """site.warc.gz"""
    # Each record is compressed by itself, the file as a whole not once more.
    with replacing(tour.folder / "site.warc.gz", compress=False) as file:
        for page in tour.pages:
            write_record(page, file)
    yield f"{len(tour.pages):,} records: {tour.folder}/site.warc.gz"


def write_access_log(tour: Tour) -> Iterator[str]:
    """access.log.gz"""
    with _text(tour.folder / "access.log.gz") as file:
        write_log(tour.site, file, tour.log_lines)
    yield f"{tour.log_lines:,} lines: {tour.folder}/access.log.gz"


def read_back(tour: Tour) -> Iterator[str]:
    """Both files as tables of pages."""
    from undust import likeness
    from undust.cli.overview import overview
    from undust.crawl import read

    kind = likeness.sketch_kind()
    tour.read = read(tour.folder / "pages.jsonl.gz", sketcher=likeness.sketcher, sketch_kind=kind)
    log = read(tour.folder / "access.log.gz", host=HOST)
    yield from overview(tour.read)
    yield from overview(log)


def learn_rules(tour: Tour) -> Iterator[str]:
    """rules.json, from what the pages show: the learner does not know the truth."""
    from undust.engines.learn import learn

    tour.book = learn(tour.read)
    tour.book.save(tour.folder / "rules.json")
    yield f"{len(tour.book)} rules: {tour.folder}/rules.json; the first:"
    for rule in islice(tour.book.rules(), 5):
        yield f"  {rule.describe()}"


def validate_rules(tour: Tour) -> Iterator[str]:
    """validated.json: the rules tried on the site itself. It is at home, so there is no need to be slow."""
    from undust.validation import run

    with serve(tour.site) as port, console.progress(unit=" pages") as bar:
        done = run(
            tour.book,
            tour.read,
            delay=0,
            allow_private=True,
            resolve={(host, 80): ("127.0.0.1", port) for host in HOSTS},
            on_page=bar.update,
        )
    tour.book = done.book
    tour.book.save(tour.folder / "validated.json")
    yield (
        f"{done.validated} rules hold, {done.rejected} do not, {done.undecided} are open: "
        f"{tour.folder}/validated.json"
    )
    yield f"{done.fetched:,} pages fetched, {done.per_rule:.1f} a decided rule"
    tried = (rule for site in done.book.sites.values() for rule in site.rejected)
    for rule in islice((rule for rule in tried if rule.evidence.level == "fetched"), 2):
        yield f"  not so: {rule.describe()}"
        yield f"    {rule.why}"


def compare(tour: Tour) -> Iterator[str]:
    """What there is to find, and what was found."""
    from undust.likeness import split_sites

    hard, all_ = (score(tour.site, lambda url: url, tour.urls, soft=soft) for soft in (False, True))
    yield (
        f"{hard.contents:,} contents under {hard.urls:,} URLs: {100 * hard.ceiling:.1f} % duplicates; "
        f"{all_.urls - hard.urls:,} more URLs are soft pages"
    )
    true_ids, found_ids = [], []
    for number, found in enumerate(split_sites(tour.read.pages) if tour.read else ()):
        for url, cluster, soft in zip(found.urls, found.labels.cluster, found.labels.soft, strict=True):
            content = tour.site.content_id(url)
            if content and not is_soft(content) and cluster >= 0 and not soft:
                true_ids.append(content)
                found_ids.append((number, cluster))
    precision, recall = agreement(true_ids, found_ids)
    yield f"pairs of duplicates seen in the evidence: {precision:.1%} of them true, {recall:.1%} of the true ones"
    canon = Canonicalizer(tour.book)
    made = score(tour.site, canon, tour.urls)
    yield (
        f"with the rules {made.keys:,} URLs remain, a reduction of {made.reduction:.1%}: "
        f"{made.lost:,} contents lost, {made.dead:,} canonical URLs lead elsewhere"
    )
    judged = [verdict for verdict in verdicts(tour.site, tour.urls, canon) if verdict.applies]
    for true in (True, False):
        some = [verdict for verdict in judged if verdict.rule.true == true]
        obeyed = sum(
            v.followed >= 0.8 * v.applies if true else v.followed > v.applies - v.wrong for v in some
        )
        yield f"{len(some)} planted rules {'are true' if true else 'only look so'}, {obeyed} of them are followed, e.g."
        for verdict in sorted(some, key=lambda v: -v.applies)[:4]:
            yield f"  {verdict.followed:5,} of {verdict.applies:5,} URLs  {verdict.rule.says}"


def write_the_report(tour: Tour) -> Iterator[str]:
    """report.html, measured by the truth."""
    from undust.cli.report import write_report
    from undust.measures import Truth

    if tour.read is not None:
        path = tour.folder / "report.html"
        truth = Truth.load(tour.folder / "truth.tsv")
        write_report(str(path), tour.book, tour.read, truth=truth, own=True)
        yield f"{path}: open it in a browser"


@contextmanager
def _text(path: Path) -> Iterator[io.TextIOWrapper]:
    with ExitStack() as stack:
        binary = stack.enter_context(replacing(path))
        text = io.TextIOWrapper(binary, "utf-8", "surrogateescape", newline="\n", write_through=True)
        yield text
        text.flush()
        text.detach()
