"""`undust apply --engine spark`: the same URLs, rewritten where they lie; a directory comes out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from undust.cli.console import console
from undust.errors import UndustError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from undust.rules import AliasTable, RuleBook


def apply_there(
    source: str,
    out: str,
    book: RuleBook,
    url: str,
    *,
    emit: str,
    level: str,
    aliases: AliasTable | None,
    listed: str | None,
) -> dict[str, int]:
    """Rewrite the lines of text files, or the column `url` of Parquet files.

    Text becomes text, Parquet becomes Parquet with a column `canonical` (or `key`) more. `url` is an expression
    for what counts as a URL. Gives how many lines were `seen`, `merged`, `bad`, and the guarded rules `skipped`.
    """
    from undust.engines import spark

    if "-" in (source, out):
        raise UsageError("--engine spark reads and writes files: name INPUT, and with -o a new directory")
    if emit == "jsonl":
        raise UsageError("--engine spark writes url, key or both; jsonl is for this machine")
    from undust.rules.canonicalizer import LEVELS

    session = spark.session()
    from pyspark.errors import AnalysisException
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    column = "key" if emit == "key" else "canonical"
    counts = Observation()
    try:
        given, text = _urls(session, source)
        every = _urls(session, listed)[0].select("url") if listed else None
        made = spark.apply(
            given,
            book,
            out=column,
            emit="key" if emit == "key" else "url",
            level=level,
            aliases=aliases,
            listed=every,
        ).observe(
            counts,
            f.count(f.lit(1)).alias("seen"),
            f.sum((f.col("url") != f.col(column)).cast("long")).alias("merged"),
            f.sum((~f.col("url").rlike(url)).cast("long")).alias("bad"),
        )
        if text:
            line = f.concat_ws("\t", "url", column) if emit == "both" else f.col(column)
            made.select(line.alias("value")).write.text(out)
        else:
            made.write.parquet(out)
    except AnalysisException as error:
        raise UndustError(str(error).splitlines()[0]) from None
    used = (rule for rule in book.rules() if rule.status in LEVELS[level])
    skipped = 0 if listed else sum(rule.guard is not None for rule in used)
    if skipped:
        console.note(f"{skipped} guarded rules skipped: what else is listed is not known (give --list)")
    return {"skipped": skipped} | {name: counts.get[name] or 0 for name in ("seen", "merged", "bad")}


def _urls(session: SparkSession, path: str) -> tuple[DataFrame, bool]:
    """The URLs, and whether they are lines of text."""
    name = path.rstrip("/")
    inside = os.listdir(path) if os.path.isdir(path) else []
    if name.endswith(".parquet") or any(part.endswith(".parquet") for part in inside):
        return session.read.parquet(path), False
    return session.read.text(path).withColumnRenamed("value", "url"), True
