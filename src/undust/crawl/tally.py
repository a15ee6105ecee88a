"""Counting while reading: lines, records, bad lines, and the file that keeps the bad ones."""

from __future__ import annotations

from collections import Counter
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from undust.crawl.pages import BadLine, ReadStats
from undust.errors import InputError

KEPT = 5
"""Bad lines that are kept for the message."""


class Tally:
    """Counts of one reading; readers report to it, one input after the other.

    >>> tally = Tally()
    >>> tally.start("a.log", "log")
    >>> tally.lines += 1
    >>> tally.bad(1, "no request in this line", b"hello")
    >>> tally.stats().bad_ratio
    1.0
    """

    def __init__(self, rejects: BinaryIO | None = None) -> None:
        self.lines = 0
        self.skipped = 0
        self._bad = 0
        self._records = 0
        self._first: list[BadLine] = []
        self._statuses: Counter[int] = Counter()
        self._inputs = 0
        self._formats: dict[str, str] = {}
        self._notes: list[str] = []
        self._cut = 0
        self._rejects = rejects
        self._input = ""
        self._input_records = 0
        self._hostless: int | None = None

    def start(self, name: str, format: str = "none") -> None:
        """A new input begins."""
        self._input, self._input_records, self._hostless = name, 0, None
        self._inputs += 1
        self._formats[name] = format

    def recognised(self, format: str) -> None:
        """The format of the present input has been found."""
        self._formats[self._input] = format

    def bad(self, line: int | None, why: str, text: str | bytes) -> None:
        """A line that could not be read: counted, kept when among the first, and written to the rejects."""
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        raw = raw.rstrip(b"\r\n")
        self._bad += 1
        if len(self._first) < KEPT:
            shown = raw[:200].decode("utf-8", "backslashreplace").replace("\0", "\\0")
            self._first.append(BadLine(self._input, line, why, shown))
        if self._rejects is not None:
            self._rejects.write(raw + b"\n")

    def hostless(self, line: int | None, text: str | bytes) -> None:
        """A path where the host is not known."""
        if self._hostless is None:
            self._hostless = line or 1
        self.bad(line, "a path without a host", text)

    def note(self, what: str) -> None:
        """Something about the present input that the user should know."""
        self._notes.append(f"{self._input}: {what}")

    def damage(self, what: str) -> None:
        """The present input is cut off or damaged: what follows is not in the figures."""
        self._cut += 1
        self.note(what)

    def done(self, lines_before: int, empty: bool) -> None:
        """An input has been read: one that holds something, and gave nothing, is not passed over in silence."""
        if not empty and self.lines == lines_before:
            self.note(f"nothing in it could be read as {self._formats[self._input]}")

    def batch(self, batch: pa.RecordBatch) -> None:
        """A batch of records is done.

        When all lines so far were paths without a host, no later line will mend it: the user forgot `--host`.
        """
        self._records += batch.num_rows
        self._input_records += batch.num_rows
        if self._hostless is not None and not self._input_records:
            why = "the lines hold paths but no host"
            raise InputError(self._input, self._hostless, why, "name the site: --host www.example.com")
        if "status" in batch.schema.names:
            values = batch.column("status").fill_null(0).to_numpy(zero_copy_only=False)
            for status, count in zip(*np.unique(values, return_counts=True), strict=True):
                self._statuses[int(status)] += int(count)
        else:
            self._statuses[0] += batch.num_rows

    def stats(self) -> ReadStats:
        """The counts so far."""
        return ReadStats(
            inputs=self._inputs,
            lines=self.lines,
            records=self._records,
            bad=self._bad,
            skipped=self.skipped,
            first_bad=tuple(self._first),
            statuses={s: c for s, c in sorted(self._statuses.items()) if c},
            formats=dict(self._formats),
            notes=tuple(self._notes),
            cut=self._cut,
        )
