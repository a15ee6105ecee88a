"""`undust validate`: rules put to the test by fetching pages."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING

import click

from undust.cli.console import console, in_part, max_bad_ratio, rejects, rules, url_field
from undust.cli.inputs import sketched
from undust.cli.overview import counted
from undust.errors import UsageError

if TYPE_CHECKING:
    from undust.rules import RuleBook
    from undust.validation import Outcome, SequentialTest

SHOWN = 10
"""Rules of a site whose verdict is shown."""


@click.command()
@rules
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=click.Path(allow_dash=True))
@click.option("-o", "--out", type=click.Path(dir_okay=False), help="The rule book with its verdicts.")
@click.option("--max-fetches", type=click.IntRange(1), help="Pages fetched at most, all sites together.")
@click.option("--max-time", type=click.FloatRange(0, min_open=True), help="Seconds after which to stop.")
@click.option(
    "--delay",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="Seconds between two requests to a host; a longer Crawl-delay of its robots.txt counts.",
)
@click.option("--concurrency", type=click.IntRange(1, 16), default=1, show_default=True, help="Per host.")
@click.option(
    "--resume",
    metavar="STATE",
    type=click.Path(dir_okay=False),
    help="A file that keeps what was fetched; a run that was stopped goes on from it.",
)
@click.option(
    "--method",
    type=click.Choice(["sequential", "published"]),
    default="sequential",
    show_default=True,
    help="Stop as soon as the decision is clear; or as the papers have it: N samples, a share epsilon.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the method: tolerated, refuted, accept_error, reject_error; or count, epsilon.",
)
@click.option("--again", is_flag=True, help="Also rules that were validated before.")
@click.option("--probe", is_flag=True, help="Also ask the site about parameters that no rule is about.")
@click.option("--contact", help="An address or page in the user agent, for hosts that have questions.")
@click.option("--timeout", type=click.FloatRange(0.1), default=20.0, show_default=True, help="Seconds.")
@click.option("--max-bytes", type=click.IntRange(1), default=8 << 20, show_default=True, help="Of a page.")
@click.option("--ignore-robots", is_flag=True, help="For your own site: do not heed robots.txt.")
@click.option("--allow-private", is_flag=True, help="Fetch from private, loopback, link-local addresses too.")
@click.option(
    "--resolve",
    multiple=True,
    metavar="HOST:PORT:ADDRESS[:PORT]",
    help="Where a host is that DNS does not know, as in curl.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be tried and fetch nothing.")
@click.option("--format", "format_", help="Force a format of the inputs; else the first lines decide.")
@click.option("--host", help="Scheme and host of lines that hold paths only, e.g. www.example.com.")
@url_field
@click.option("--stats", type=click.Path(dir_okay=False), help="Figures of the run as JSON.")
@rejects
@max_bad_ratio
def command(
    rules_path: str,
    inputs: tuple[str, ...],
    out: str | None,
    max_fetches: int | None,
    max_time: float | None,
    delay: float,
    concurrency: int,
    resume: str | None,
    method: str,
    settings: tuple[str, ...],
    again: bool,
    probe: bool,
    contact: str | None,
    timeout: float,
    max_bytes: int,
    ignore_robots: bool,
    allow_private: bool,
    resolve: tuple[str, ...],
    dry_run: bool,
    format_: str | None,
    host: str | None,
    url_field: str | None,
    stats: str | None,
    rejects: str | None,
    max_bad_ratio: float,
) -> int:
    """Try the rules of a book on pages of their site: fetch URLs before and after, and compare.

    Rules that hold become `validated`, the others go to `rejected` with the two URLs that say why; what is
    not decided stays as it was. INPUT: the pages the rules were learned from, or others of the same sites.
    """
    from undust.files import replacing
    from undust.rules import RuleBook
    from undust.validation import Validation, run

    if out is None and not dry_run:
        raise UsageError("where to? give -o FILE (or --dry-run)")
    book = RuleBook.load(rules_path)
    read = sketched(
        inputs,
        format=format_,
        host=host,
        url_field=url_field,
        rejects=rejects,
    )
    console.reading(read.stats)
    parameters = _settings(settings)
    if dry_run:
        for line in Validation(book, read, again=again, test=_test(method, parameters)).plan():
            click.echo(line)
        known = len(book)
        console.summary(in_=known, out=known, merged=0, rules=0, bad=read.stats.bad, fetched=0)
        return 0
    assert out is not None
    from undust.validation.address import parse_resolve

    with terminated_as_interrupted(), console.progress(total=max_fetches, unit=" pages") as bar:
        done = run(
            book,
            read,
            resume=resume,
            max_fetches=max_fetches,
            max_time=max_time,
            method=method,  # type: ignore[arg-type]  # click has checked it
            again=again,
            probe=probe,
            on_page=bar.update,
            log=console.detail,
            delay=delay,
            concurrency=concurrency,
            obey_robots=not ignore_robots,
            allow_private=allow_private,
            resolve=parse_resolve(resolve),
            contact=contact,
            timeout=timeout,
            max_bytes=max_bytes,
            test=_test(method, parameters),
            published=_published(method, parameters),
        )
    done.book.save(out)
    for line in verdicts(book, done):
        console.note(line)
    figures = {
        "rules": done.validated + done.rejected + done.undecided,
        "validated": done.validated,
        "rejected": done.rejected,
        "undecided": done.undecided,
        "fetched": done.fetched,
        "fetched_now": done.now,
        "fetches_per_rule": round(done.per_rule, 2),
        "stopped": done.stopped,
    }
    if stats:
        with replacing(stats) as file:
            file.write((json.dumps(figures, indent=2) + "\n").encode())
    if done.stopped or done.interrupted:
        hint = f": go on with --resume {resume}" if resume else ""
        console.note(
            f"{'interrupted' if done.interrupted else done.stopped}; {out} has what is decided{hint}"
        )
    console.summary(
        in_=figures["rules"],
        out=len(done.book),
        merged=0,
        rules=done.validated,
        bad=read.stats.bad,
        rejected=done.rejected,
        undecided=done.undecided,
        fetched=done.now,
        **({"per_rule": f"{done.per_rule:.1f}"} if done.validated + done.rejected else {}),
    )
    if done.interrupted:
        return 130
    if done.trouble and not done.answers and done.undecided == figures["rules"]:
        return 1  # nothing was found out, and it is not because of the rules
    return 3 if in_part(read.stats, max_bad_ratio) else 0


def verdicts(before: RuleBook, done: Outcome) -> Iterator[str]:
    """What became of the rules, and what could not be fetched, as a person reads it.

    >>> from undust.rules import Rule, RuleBook, SiteRules
    >>> from undust.validation import Outcome
    >>> from dataclasses import replace
    >>> rule = Rule(do={"query[id]": None})
    >>> wrong = replace(rule, status="rejected", why="2 of 2 pages differ: /?id=1 became / (another page)")
    >>> before, after = (RuleBook({"a.test": SiteRules("a.test", **{kept: [r]})})
    ...                  for kept, r in (("rules", rule), ("rejected", wrong)))
    >>> print("\\n".join(verdicts(before, Outcome(after, validated=0, rejected=1, undecided=0, fetched=4, now=4))))
    a.test: 0 rules hold, 1 do not, 0 are open
      not so: *: drop id
        2 of 2 pages differ: /?id=1 became / (another page)
    """
    for name, site in done.book.sites.items():
        was = before.sites[name]
        refused = {rule.id for rule in was.rejected}
        new = [rule for rule in site.rejected if rule.id not in refused]
        held = [
            rule for rule in site.rules if rule.status == "validated" and rule.evidence.level == "fetched"
        ]
        open_ = [rule for rule in site.rules if (rule.why or "").startswith("undecided")]
        if not (new or held or open_):
            continue
        yield f"{name}: {len(held)} rules hold, {len(new)} do not, {len(open_)} are open"
        shown = [("not so", rule) for rule in new] + [("open", rule) for rule in open_]
        if done.trouble and not done.answers:
            continue  # they are all open for one reason, which follows
        for word, rule in shown[:SHOWN]:
            yield f"  {word}: {rule.describe()}"
            yield f"    {rule.why}"
        if len(shown) > SHOWN:
            yield f"  … and {len(shown) - SHOWN} more; they stand in the book, each with its `why`"
    for host, why, pages in done.trouble[:SHOWN]:
        yield f"not fetched: {counted(pages, 'page')} of {host}: {why}"
    if any("private" in why or "loopback" in why for _, why, _ in done.trouble):
        yield "  if it is your own machine: --allow-private"


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends the run as Ctrl-C does: what is decided is written."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    except ValueError:  # not the main thread, which alone gets signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _settings(given: tuple[str, ...]) -> dict[str, float]:
    out = {}
    for setting in given:
        name, _, value = setting.partition("=")
        try:
            out[name] = float(value)
        except ValueError:
            raise UsageError(f"--set {setting}: give NAME=NUMBER") from None
    return out


def _test(method: str, parameters: dict[str, float]) -> SequentialTest | None:
    from undust.validation.sequential import SequentialTest

    if method != "sequential":
        return None
    _known(method, parameters, [f.name for f in fields(SequentialTest)])
    return SequentialTest(**parameters)  # type: ignore[arg-type]  # a whole number of credit may come as a float


def _published(method: str, parameters: dict[str, float]) -> dict[str, float] | None:
    if method != "published":
        return None
    _known(method, parameters, ["count", "epsilon"])
    return parameters


def _known(method: str, parameters: dict[str, float], names: list[str]) -> None:
    if unknown := set(parameters) - set(names):
        raise UsageError(f"--set {min(unknown)}: the method {method} has {', '.join(names)}")
