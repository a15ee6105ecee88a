"""`undust apply`: a filter; one URL in, one line out."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from contextlib import ExitStack
from operator import ne
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from undust.cli.console import (
    SHOWN_BAD_LINES,
    aliases,
    console,
    level,
    list_,
    max_bad_ratio,
    rejects,
    rules,
    too_many_bad,
)
from undust.cli.lines import lines
from undust.errors import UsageError
from undust.files import reading, replacing

if TYPE_CHECKING:
    from undust.rules import Canonicalizer

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]")


@click.command()
@rules
@click.argument("source", metavar="[INPUT]", default="-", type=click.Path(allow_dash=True))
@click.option("-o", "--out", default="-", type=click.Path(allow_dash=True), help="Where to; `-` is stdout.")
@click.option(
    "--emit",
    type=click.Choice(["url", "key", "both", "jsonl"]),
    default="url",
    show_default=True,
    help="The canonical URL; the key, which may hold wildcards; `url TAB canonical`; or records with the "
    "ids of the rules that fired.",
)
@level
@aliases
@list_
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="This machine; or Spark, which reads text or Parquet files and writes a directory of such.",
)
@rejects
@max_bad_ratio
def command(
    rules_path: str,
    source: str,
    out: str,
    emit: str,
    level: str,
    aliases_path: str | None,
    list_path: str | None,
    engine: str,
    rejects: str | None,
    max_bad_ratio: float,
) -> int:
    """Rewrite URLs by the rules of their site: one a line in, one a line out, in the same order.

    URLs of hosts that the book does not know come out as they are, and so do lines that are no URL.
    `.gz`, `.zst` and `.bz2` are read and written.
    """
    from undust.cli.lists import listed, tell
    from undust.rules import AliasTable, Canonicalizer, RuleBook
    from undust.rules.canonicalizer import LEVELS

    if rejects and any(os.path.exists(rejects) and os.path.samefile(rejects, path)
                       for path in (source, out, rules_path) if os.path.exists(path)):  # fmt: skip
        raise UsageError(f"{rejects}: the rejects would take the place of another file of this run")
    book = RuleBook.load(rules_path)
    table = AliasTable.load(aliases_path) if aliases_path else None
    if engine == "spark":
        from undust.cli.apply_spark import apply_there

        if rejects:
            raise UsageError("--engine spark keeps no rejects: they come out unchanged")
        seen = apply_there(
            source, out, book, _URL.pattern, emit=emit, level=level, aliases=table, listed=list_path
        )
        in_force = sum(rule.status in LEVELS[level] for rule in book.rules()) - seen["skipped"]
        console.summary(
            in_=seen["seen"],
            out=seen["seen"],
            merged=seen["merged"],
            rules=in_force,
            bad=seen["bad"],
            **({"skipped": seen["skipped"]} if seen["skipped"] else {}),
        )
        return 3 if too_many_bad(seen["bad"], seen["seen"], max_bad_ratio) else 0
    canon = Canonicalizer(book, level=level, aliases=table, listed=listed(list_path) if list_path else None)
    work = Filter(canon, emit)
    name = "<stdin>" if source == "-" else source
    with ExitStack() as stack:
        blocks = stack.enter_context(reading(source))
        output = cast(BinaryIO, sys.stdout.buffer) if out == "-" else stack.enter_context(replacing(out))
        rejected = stack.enter_context(replacing(rejects)) if rejects else None
        # A bar on the terminal that shows the output would only be in its way.
        bar = stack.enter_context(console.progress(unit=" URLs", hide=out == "-" and sys.stdout.isatty()))
        for some in lines(blocks, name):
            output.write(work.rewrite(some, name, rejected))
            output.flush()
            bar.update(len(some))
    in_force = sum(rule.status in LEVELS[level] for rule in book.rules()) - len(canon.skipped)
    console.bad_lines(work.first_bad, work.bad)
    beyond = tell(canon)
    console.summary(in_=work.seen, out=work.seen, merged=work.merged, rules=in_force, bad=work.bad, **beyond)
    return 3 if too_many_bad(work.bad, work.seen, max_bad_ratio) else 0


class Filter:
    """Rewrites lines and counts.

    >>> from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules
    >>> book = RuleBook({"a.test": SiteRules("a.test", rules=[Rule(do={"query[sid]": None})])})
    >>> work = Filter(Canonicalizer(book), "url")
    >>> work.rewrite([b"http://a.test/x?sid=1", b"nonsense"], "<stdin>", None)
    b'http://a.test/x\\nnonsense\\n'
    >>> work.seen, work.merged, work.bad, work.first_bad
    (2, 1, 1, ['<stdin>:2: no URL: nonsense'])
    """

    def __init__(self, canon: Canonicalizer, emit: str) -> None:
        self.canon, self.emit = canon, emit
        self.seen = self.merged = self.bad = 0
        self.first_bad: list[str] = []

    def rewrite(self, lines: list[bytes], name: str, rejected: BinaryIO | None) -> bytes:
        """The output for these lines."""
        # The mark that some editors put before the first line is no part of its URL, and stays where it is.
        mark = codecs.BOM_UTF8 if self.seen == 0 and lines[0].startswith(codecs.BOM_UTF8) else b""
        if mark:
            lines = [lines[0].removeprefix(mark), *lines[1:]]
        urls = [line.removesuffix(b"\r").decode("utf-8", "surrogateescape") for line in lines]
        bad = [i for i, url in enumerate(urls) if not _URL.match(url)]
        made, written = self._records(urls, set(bad)) if self.emit == "jsonl" else self._mapped(urls, bad)
        self.merged += sum(map(ne, urls, made))
        if any(line.endswith(b"\r") for line in lines):
            written = [text + "\r" * raw.endswith(b"\r") for text, raw in zip(written, lines, strict=True)]
        self._count(lines, bad, name, rejected)
        out = ("\n".join(written) + "\n").encode("utf-8", "surrogateescape")
        return out if self.emit == "jsonl" else mark + out

    def _mapped(self, urls: list[str], bad: list[int]) -> tuple[list[str], list[str]]:
        made: list[str] = self.canon.map(urls, emit="key" if self.emit == "key" else "url")
        for i in bad:
            made[i] = urls[i]
        # A book may come from anywhere; whatever it writes, a line stays one line.
        made = [after if "\n" not in after else before for before, after in zip(urls, made, strict=True)]
        return made, made if self.emit != "both" else list(map("\t".join, zip(urls, made, strict=True)))

    def _records(self, urls: list[str], bad: set[int]) -> tuple[list[str], list[str]]:
        made, written = [], []
        for i, url in enumerate(urls):
            if i in bad:
                record: dict[str, object] = {"url": url, "canonical": url, "bad": True}
                made.append(url)
            else:
                why = self.canon.explain(url)
                fired = list(dict.fromkeys(rule.id for rule, _, _ in why.steps if rule))
                record = {"url": url, "canonical": why.url, "key": why.key, "rules": fired}
                if why.looked_up:
                    record["aliases"] = len(why.looked_up)
                made.append(why.url)
            written.append(json.dumps(record))
        return made, written

    def _count(self, lines: list[bytes], bad: list[int], name: str, rejected: BinaryIO | None) -> None:
        for i in bad[: max(0, SHOWN_BAD_LINES - len(self.first_bad))]:
            shown = lines[i][:80].decode("utf-8", "backslashreplace")
            self.first_bad.append(f"{name}:{self.seen + i + 1}: no URL: {shown}")
        if rejected is not None:
            rejected.writelines(lines[i] + b"\n" for i in bad)
        self.seen += len(lines)
        self.bad += len(bad)
