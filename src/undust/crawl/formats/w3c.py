"""W3C extended logs, as written by IIS and CloudFront: the `#Fields:` line names the columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.formats.records import Numbered, to_batches
from undust.crawl.source import Source
from undust.crawl.tally import Tally

FIELDS = "#Fields:"


def _first(row: dict[str, str], *names: str) -> str | None:
    """The first of these columns that has a value; `-` stands for none."""
    return next((row[n] for n in names if row.get(n, "-") != "-"), None)


def record(row: dict[str, str], options: Options) -> dict[str, Any]:
    """A row under its column names as a raw record; empty when it is no page view.

    >>> row = {"cs-method": "GET", "cs-uri-stem": "/a", "cs-uri-query": "b=1", "cs-host": "h.org"}
    >>> record(row, Options())["url"]
    'http://h.org/a?b=1'
    """
    if row.get("cs-method", "GET") not in ("GET", "HEAD"):
        return {}
    url = _first(row, "cs-uri-stem", "cs-uri")
    if url is None:
        return {}
    if (query := _first(row, "cs-uri-query")) and "?" not in url:
        url += "?" + query
    host = _first(row, "x-host-header", "cs-host", "cs(Host)", "s-computername" if not options.host else "")
    if url.startswith("/") and host and "." in host:
        port = _first(row, "s-port")
        scheme = _first(row, "cs-protocol") or ("https" if port == "443" else "http")
        # The Host header brings its own port where there is one.
        url = f"{scheme.lower()}://{host}{url}"
    sized = row.get("cs-method") != "HEAD"
    return {
        "url": url,
        "status": _first(row, "sc-status"),
        "size": _first(row, "sc-bytes") if sized else None,
        "content_type": _first(row, "sc-content-type"),
        "fetched_at": f"{row['date']}T{row['time']}" if "date" in row and "time" in row else None,
    }


def sniff(head: Head) -> float:
    """A `#Fields:` line with a URI among the first lines."""
    named = any(line.startswith(FIELDS) and "cs-uri" in line for line in head.lines)
    return 1.0 if named else 0.0


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The rows as raw records; a further `#Fields:` line within the file renames the columns."""

    def records() -> Iterator[Numbered]:
        names: list[str] = []
        for number, raw in source.numbered():
            line = raw.decode("utf-8", "surrogateescape")
            if line.startswith("#"):
                if line.startswith(FIELDS):
                    names = line[len(FIELDS) :].split()
                continue
            if not line.strip():
                continue
            tally.lines += 1
            cells = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
            if len(cells) != len(names):
                tally.bad(number, f"{len(cells)} columns where {len(names)} are announced", raw)
            elif row := record(dict(zip(names, cells, strict=True)), options):
                yield number, raw, row
            else:
                tally.skipped += 1

    return to_batches(records(), options, tally)
