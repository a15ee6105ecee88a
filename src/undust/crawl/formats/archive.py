"""WARC files, through `formats/warc.py`, which needs the `warc` extra and is imported only for a WARC."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.errors import InputError


def sniff(head: Head) -> float:
    """The version line of the first record."""
    return 1.0 if head.data.startswith(b"WARC/") else 0.0


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The responses, revisits and redirects of an archive as raw records."""
    try:
        read_warc = import_module("undust.crawl.formats.warc").read_warc
    except ImportError:
        raise InputError(
            source.name, None, "reading WARC needs a library", "pip install undust[warc]"
        ) from None
    with tempfile.TemporaryDirectory(prefix="undust-") as directory:
        path = source.path
        if path is None:  # a pipe: the reader wants to seek
            path = Path(directory) / "input.warc"
            with path.open("wb") as file:
                file.writelines(source.blocks())
        try:
            for batch in read_warc(path):
                tally.lines += batch.num_rows
                yield batch
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(source.name, None, f"no readable WARC file: {error}") from None
