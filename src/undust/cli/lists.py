"""`--list`: all URLs there are of some sites, for rules that ask what else is listed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from undust.cli.console import console
from undust.cli.lines import lines
from undust.errors import InputError, UsageError
from undust.files import reading

if TYPE_CHECKING:
    from undust.rules import Canonicalizer


def listed(path: str) -> Iterator[str]:
    """The URLs of a list: lines up to their first tab, or the column `url` of a Parquet file."""
    if path == "-":
        raise UsageError("--list must be a file: it is read before INPUT")
    if path.endswith(".parquet"):
        yield from _parquet(path)
        return
    with reading(path) as blocks:
        for some in lines(blocks, path):
            for line in some:
                url = line.partition(b"\t")[0].rstrip(b"\r").decode("utf-8", "surrogateescape")
                if "://" in url:
                    yield url


def _parquet(path: str) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            if "url" not in file.schema_arrow.names:
                raise InputError(path, None, "no list of URLs: it has no column `url`")
            for batch in file.iter_batches(columns=["url"]):
                yield from (str(url) for url in batch.column(0).to_pylist() if url)
    except OSError as error:
        raise InputError(path, None, error.strerror or os.strerror(error.errno or 5)) from None
    except pa.ArrowException:
        raise InputError(path, None, "this is no Parquet file") from None


def tell(canon: Canonicalizer) -> dict[str, int]:
    """Say which guarded rules and aliases were not used, and why; figures for the summary, table and rules apart."""
    out: dict[str, int] = {}
    if canon.beyond is not None:
        out["aliases"] = canon.beyond.looked_up
        if canon.beyond.astray:
            console.note(f"{canon.beyond.astray} aliases not followed: they lead to hosts of other sites")
    if canon.skipped:
        n = len(canon.skipped)
        what = "guarded rule" if n == 1 else "guarded rules"
        console.note(f"{n} {what} skipped: what else is listed is not known (give --list)")
        out["skipped"] = n
    if canon.guarded is not None:
        unused = canon.guarded.unused()
        for rule, why in unused:
            console.note(f"guarded rule {rule.id} not used: {why}")
        out["guarded"] = canon.guarded.followed
        if unused:
            out["unused"] = len(unused)
    return out
