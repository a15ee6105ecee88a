"""One file per input format: each turns bytes into Arrow batches of raw records in one schema.

A format is a module with `sniff(head) -> float`, the share of the head's lines it recognises, and
`read(source, options, tally) -> Iterator[pa.RecordBatch]`. To add one: write the file, name it in `FORMATS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, cast

import pyarrow as pa

from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.errors import UsageError

_FIELDS: list[pa.Field[Any]] = [
    pa.field("url", pa.string(), nullable=False),  # absolute; undecodable bytes percent-encoded
    pa.field("status", pa.int16()),
    pa.field("location", pa.string()),
    pa.field("size", pa.int64()),
    pa.field("size_max", pa.int64()),  # where the record is a range already
    pa.field("hits", pa.int64()),  # null: 1
    pa.field("content_type", pa.string()),
    pa.field("digest", pa.string()),
    pa.field("sketch", pa.list_(pa.uint64())),
    pa.field("sketch_kind", pa.string()),
    pa.field("text", pa.string()),  # sketched on reading, not kept
    pa.field("canonical", pa.string()),
    pa.field("importance", pa.float64()),
    pa.field("cluster", pa.string()),
    pa.field("soft", pa.bool_()),
    pa.field("text_len", pa.int64()),
    pa.field("fetched_at", pa.timestamp("us")),  # UTC
]
RAW_SCHEMA = pa.schema(_FIELDS)
"""A raw record: one observation of a URL. A batch may leave out any column but `url`."""

FORMATS = {
    "warc": "archive",
    "parquet": "parquet",
    "sitemap": "sitemap",
    "w3c": "w3c",
    "cdx": "cdx",
    "json-log": "json_log",
    "jsonl": "jsonl",
    "log": "access_log",
    "csv": "delimited",
    "urls": "url_list",
}
"""Format name -> module; of two that recognise a head equally well the first one wins."""


@dataclass(frozen=True)
class Options:
    """What the caller knows better than the input.

    >>> Options(host="example.com").base
    'http://example.com'
    >>> Options(host="https://example.com/").absolute("/a?b")
    'https://example.com/a?b'
    """

    host: str | None = None
    url_field: str | None = None

    def __post_init__(self) -> None:
        if self.host and not re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*://)?[^\s/?#]+/?", self.host):
            raise UsageError(f"{self.host!r} is no host: give www.example.com or https://www.example.com")

    @cached_property
    def base(self) -> str | None:
        """Scheme and host to put before a path."""
        if not self.host:
            return None
        return (self.host if "://" in self.host else f"http://{self.host}").rstrip("/")

    def absolute(self, target: str) -> str | None:
        """The absolute URL of a target; None when the host is not known."""
        if not target.startswith("/"):
            return target
        return None if self.base is None else self.base + target


@dataclass(frozen=True)
class Head:
    """The first bytes of an input, and its first lines as text (blank ones left out, the cut one too)."""

    data: bytes
    name: str = ""

    @cached_property
    def lines(self) -> list[str]:
        """Up to 100 lines."""
        whole = self.data if len(self.data) < 1 << 16 else self.data[: self.data.rfind(b"\n") + 1]
        text = whole.decode("utf-8", "surrogateescape")
        return [line for line in (raw.strip("\r\0") for raw in text.split("\n")) if line.strip()][:100]

    def share(self, recognised: int) -> float:
        """A number of lines as share of the head.

        >>> Head(b"a\\nb\\n").share(1)
        0.5
        """
        return recognised / len(self.lines) if self.lines else 0.0


class Format(Protocol):
    """What a module of this package offers."""

    def sniff(self, head: Head) -> float:
        """Share of the head's lines that are of this format."""

    def read(self, source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
        """The raw records, in batches."""


def load(name: str) -> Format:
    """The format of this name.

    >>> load("docx")
    Traceback (most recent call last):
    ...
    undust.errors.UsageError: no format 'docx'; there are: cdx, csv, ...
    """
    if name not in FORMATS:
        raise UsageError(f"no format {name!r}; there are: {', '.join(sorted(FORMATS))}")
    return cast(Format, import_module(f"undust.crawl.formats.{FORMATS[name]}"))
