"""`undust explain`: which rules fire on a URL, in order, and what they rest on; or how a site's URLs are built."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from undust.cli.console import aliases, console, level, list_
from undust.errors import UsageError

if TYPE_CHECKING:
    from undust.rules import Explanation, Rule


@click.command()
@click.option("-r", "--rules", "rules_path", type=click.Path(), metavar="RULES", help="A rule book (JSON).")
@click.argument("urls", nargs=-1, required=True, metavar="URL... | --tree INPUT...")
@level
@aliases
@list_
@click.option("--json", "as_json", is_flag=True, help="One JSON record a URL.")
@click.option("--tree", is_flag=True, help="Draw the pattern tree of each site in INPUT, files of pages.")
@click.option("--host", help="With --tree: scheme and host of lines that hold paths only.")
def command(
    rules_path: str | None,
    urls: tuple[str, ...],
    level: str,
    aliases_path: str | None,
    list_path: str | None,
    as_json: bool,
    tree: bool,
    host: str | None,
) -> None:
    """Show, step by step, which rules rewrite a URL and the evidence for each. `-` reads URLs from stdin.

    With --tree: how the URLs of a site are built, as the pattern-tree learner sees them. A line is a group of
    URLs, with how many they are and what they have in common; `{int}` stands for any value of a type, `*` for any
    value, `?` for any or none.
    """
    if tree:
        print_trees(urls, host)
        return
    if rules_path is None:
        raise UsageError("which rules? -r RULES (or --tree INPUT for a picture of a site)")
    from undust.cli.lists import listed, tell
    from undust.rules import AliasTable, Canonicalizer, RuleBook

    aliases = AliasTable.load(aliases_path) if aliases_path else None
    every = listed(list_path) if list_path else None
    canon = Canonicalizer(RuleBook.load(rules_path), level=level, aliases=aliases, listed=every)
    seen = merged = 0
    fired: set[str] = set()
    for url in _urls(urls):
        why = canon.explain(url)
        click.echo(json.dumps(record(url, why)) if as_json else "\n".join(readable(url, why)))
        seen += 1
        merged += why.url != url
        fired |= {rule.id for rule, _, _ in why.steps if rule}
    console.summary(in_=seen, out=seen, merged=merged, rules=len(fired), bad=0, **tell(canon))


def print_trees(inputs: tuple[str, ...], host: str | None) -> None:
    """The pattern tree of each site's live URLs, the largest site first."""
    import numpy as np

    from undust import crawl
    from undust.learners.pattern_tree import PatternTree, render
    from undust.likeness import split_sites

    read = crawl.read(list(inputs), host=host)
    learner = PatternTree()
    sites = sorted(split_sites(read.pages), key=lambda site: (-len(site.urls), site.name))
    for site in sites:
        live = np.flatnonzero(site.alive)
        if len(live):
            click.echo(click.style(site.name, bold=True))
            click.echo(render(learner.tree(site, "start", live), least=max(1, len(live) // 500)))
    console.summary(in_=read.stats.lines, out=read.n, merged=0, rules=0, bad=read.stats.bad, sites=len(sites))


def _urls(given: tuple[str, ...]) -> Iterator[str]:
    for url in given:
        if url == "-":
            yield from (line.rstrip("\r\n") for line in sys.stdin)
        else:
            yield url


def record(url: str, why: Explanation) -> dict[str, Any]:
    """An explanation as JSON."""
    steps: list[dict[str, Any]] = [
        {"rule": rule.to_dict() if rule else None, "before": before, "after": after}
        for rule, before, after in why.steps
    ]
    for place, via in why.looked_up.items():
        steps[place]["alias"] = via
    held = {"held": list(why.held)} if why.held else {}
    return {"url": url, "canonical": why.url, "key": why.key, "steps": steps, **held}


def readable(url: str, why: Explanation) -> Iterator[str]:
    """An explanation for people."""
    yield click.style(url, bold=True)
    if not why.steps:
        yield "  no rule changes it"
    for place, (rule, _, after) in enumerate(why.steps):
        if rule is None:
            yield f"  {why.named(place)}"
        else:
            yield f"  {rule.id} {click.style(rule.status, fg='green')}  {rule.describe()}"
            yield f"    {evidence(rule)}"
        yield f"  = {after}"
    for said in why.held:
        yield f"  {said}"
    if why.key != why.url:
        yield f"  key {why.key}"


def evidence(rule: Rule) -> str:
    """What a rule rests on, in words.

    >>> from undust.rules import Evidence, Rule
    >>> seen = Evidence("digest", support=360, pairs=120, false=0, precision_low=0.98)
    >>> evidence(Rule(do={"query[sid]": None}, evidence=seen, source=("dustbuster",)))
    'changes 360 URLs; 120 pairs alike by digest, 0 false; precision at least 0.980; found by dustbuster'
    """
    known = rule.evidence
    said = []
    if known.support is not None:
        said.append(f"changes {known.support:,} URLs")
    if known.pairs is not None:
        false = f", {known.false:,} false" if known.false is not None else ""
        # A rule that was tried by fetching keeps the count of the pairs that it was learned from.
        by = "in the crawl" if known.level == "fetched" else f"by {known.level}"
        said.append(f"{known.pairs:,} pairs alike {by}{false}")
    else:
        said.append(f"evidence: {known.level}")
    if known.lost:
        said.append(f"{known.lost:,} pages lost")
    if known.precision_low is not None:
        said.append(f"precision at least {known.precision_low:.3f}")
    if known.fetched:
        said.append(f"{known.fetched:,} pages fetched to test it")
    if rule.source:
        said.append(f"found by {', '.join(rule.source)}")
    return "; ".join(said)
