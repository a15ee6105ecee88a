"""Parquet files: our own page tables, Common Crawl's columnar index, anything with a URL column."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.formats.columns import from_columns
from undust.crawl.formats.records import fields
from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.errors import InputError

MAGIC = b"PAR1"


def sniff(head: Head) -> float:
    """The magic bytes."""
    return 1.0 if head.data.startswith(MAGIC) else 0.0


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The rows as raw records; only columns that are of use are read."""
    import pyarrow.parquet as pq  # here, as it takes long to import and every detection imports this file

    # The index of a Parquet file is at its end: what comes through a pipe has to be kept.
    file: Any = source.path if source.path is not None else io.BytesIO(b"".join(source.blocks()))
    try:
        parquet = pq.ParquetFile(file)
        names = parquet.schema_arrow.names
        found = fields(names, options.url_field)
        if "url" not in found:
            hint = "name it with --url-field"
            raise InputError(source.name, None, f"no URL column among {', '.join(names)}", hint)
        at = 1
        for batch in parquet.iter_batches(batch_size=1 << 16, columns=list(found.values())):
            yield from_columns(batch, options, tally, at)
            at += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: names of columns
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(source.name, None, f"no readable Parquet file: {why}") from None
