"""`undust export`: a rule book in the format of another tool."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from undust.cli.console import console, level, rules
from undust.exports import TARGETS


@click.command()
@rules
@click.option("--to", required=True, type=click.Choice(list(TARGETS)), help="The tool.")
@click.option("-o", "--out", default="-", type=click.Path(allow_dash=True), help="Where to; `-` is stdout.")
@level
def command(rules_path: str, to: str, out: str, level: str) -> None:
    """Write the rules for another tool. What it has no words for is listed on stderr, rule by rule."""
    from undust.exports import caveat, export
    from undust.files import replacing
    from undust.rules import RuleBook
    from undust.rules.canonicalizer import LEVELS

    book = RuleBook.load(rules_path)
    in_force = sum(rule.status in LEVELS[level] for rule in book.rules())
    made = export(book, to, level)
    if out == "-":
        sys.stdout.write(made.text)
    else:
        with replacing(out, compress=False) as file:
            file.write(made.text.encode())
        for name, text in made.beside.items():
            if text:
                with replacing(Path(out).with_name(name), compress=False) as file:
                    file.write(text.encode())
                console.note(f"{Path(out).with_name(name)} belongs to it")
    console.note(f"{to}: {caveat(to)}")
    for one in made.wider:
        console.note(f"written, but read more broadly: {one}")
    for one in made.missing:
        console.note(f"not expressible: {one}")
    left = len({one.rule.id for one in made.missing})
    console.summary(
        in_=in_force, out=in_force - left, merged=0, rules=in_force - left, bad=0, missing=left, level=level
    )
