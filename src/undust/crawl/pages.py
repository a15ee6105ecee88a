"""The page table: its columns, and what a reading of inputs brings back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

_FIELDS: list[pa.Field[Any]] = [
    pa.field("url", pa.string(), nullable=False),
    pa.field("status", pa.int16()),
    pa.field("location", pa.string()),
    pa.field("size_min", pa.int64()),
    pa.field("size_max", pa.int64()),
    pa.field("hits", pa.int64(), nullable=False),
    pa.field("content_type", pa.string()),
    pa.field("digest", pa.string()),
    pa.field("sketch", pa.list_(pa.uint64())),
    pa.field("sketch_kind", pa.string()),
    pa.field("canonical", pa.string()),
    pa.field("importance", pa.float64()),
    pa.field("cluster", pa.string()),
    pa.field("soft", pa.bool_()),
    pa.field("text_len", pa.int64()),
    pa.field("fetched_at", pa.string()),
]
PAGE_SCHEMA = pa.schema(_FIELDS)
"""One row per distinct URL, sorted by URL (code points)."""


@dataclass(frozen=True)
class BadLine:
    """A line that could not be read: where it stands, why, and how it begins.

    >>> str(BadLine("a.log", 7, "no request in this line", "hello"))
    'a.log:7: no request in this line: hello'
    """

    file: str
    line: int | None
    why: str
    text: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.why}: {self.text}"


@dataclass(frozen=True)
class ReadStats:
    """What was read, and what was not.

    `lines` counts the non-empty lines (or rows); each is a record, bad (could not be read) or skipped (could
    be read, but says nothing about a page: a POST, a comment, an aborted request).

    >>> ReadStats(lines=100, records=97, bad=3).bad_ratio
    0.03
    """

    inputs: int = 0
    lines: int = 0
    records: int = 0
    bad: int = 0
    skipped: int = 0
    first_bad: tuple[BadLine, ...] = ()
    statuses: Mapping[int, int] = field(default_factory=dict)
    """Records per HTTP status; 0 stands for no status given."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """Format by input name."""
    notes: tuple[str, ...] = ()
    """What else the user should know: truncated files, indexes that name other files."""
    cut: int = 0
    """Inputs that are cut off or damaged: what precedes that has been read."""

    @property
    def bad_ratio(self) -> float:
        """Share of the lines that could not be read."""
        return self.bad / self.lines if self.lines else 0.0


@dataclass(frozen=True)
class Crawl:
    """A table of pages and how it was read.

    >>> Crawl(PAGE_SCHEMA.empty_table()).n
    0
    """

    pages: pa.Table
    stats: ReadStats = field(default_factory=ReadStats)

    @property
    def n(self) -> int:
        """Number of pages (distinct URLs)."""
        return int(self.pages.num_rows)
