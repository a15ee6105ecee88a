"""Indexes of web archives: CDX (by its legend, or headerless with 7, 9, 10 or 11 columns) and CDXJ.

The length in an index is that of the compressed record, not of the body: fit for ranges, not for equality.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.formats.jsonl import parse
from undust.crawl.formats.records import Numbered, lookup, to_batches
from undust.crawl.source import Source
from undust.crawl.tally import Tally

LEGEND = re.compile(r"[^\w{]?CDX((?: \w)+)\s*$")
LETTERS = {
    "a": "url",
    "b": "fetched_at",
    "m": "content_type",
    "s": "status",
    "k": "digest",
    "r": "location",
    "S": "size",
}
HEADERLESS = {11: "NbamskrMSVg", 10: "NbamskrMVg", 9: "NbamskrVg", 7: "NbamskS"}
"""Columns of CDX files without a legend; seven are what the index servers of archives answer."""
CDXJ = re.compile(r"(\S+) (\d{4,17}) (\{.*)")
PAGE = re.compile("https?:", re.I)


def _columns(line: str, letters: str | None) -> dict[str, Any] | None:
    cells = line.split(" ")
    letters = letters or HEADERLESS.get(len(cells))
    if letters is None or len(cells) != len(letters):
        return None
    record = {LETTERS[k]: v for k, v in zip(letters, cells, strict=True) if k in LETTERS and v != "-"}
    return record if re.match(r"\d{4,17}$", record.get("fetched_at", "")) and "url" in record else None


def parse_line(line: str, letters: str | None = None) -> dict[str, Any] | None:
    """One line as a raw record; None when it is none, empty when it is no page (DNS answers, POST requests).

    >>> parse_line("com,example)/ 20140126200624 http://example.com/ text/html 200 ABC 512")["digest"]
    'ABC'
    >>> parse_line('com,example)/ 20140126200624 {"url": "http://example.com/", "status": "200"}')["status"]
    '200'
    """
    match = CDXJ.match(line)
    if match:
        value = parse(match[3])
        if not isinstance(value, dict):
            return None
        if str(value.get("method", "GET")).upper() not in ("GET", "HEAD"):
            return {}
        record = lookup(value) | {"fetched_at": match[2]}
        if record.get("status") == "-":
            del record["status"]
    else:
        columns = _columns(line, letters)
        if columns is None:
            return None
        record = columns
    url = record.get("url")
    if isinstance(url, str) and ":" in url and not PAGE.match(url):
        return {}
    if record.get("content_type") == "warc/revisit":
        # The page is as it was: the digest says so, but type and length are those of the short record itself.
        del record["content_type"]
        record.pop("size", None)
    return record


def sniff(head: Head) -> float:
    """A legend in the first line, or lines of the right shape."""
    if head.lines and LEGEND.match(head.lines[0]):
        return 1.0
    return head.share(sum(parse_line(line) is not None for line in head.lines))


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The lines of an index as raw records."""

    def records() -> Iterator[Numbered]:
        letters: str | None = None
        for number, raw in source.numbered():
            line = raw.decode("utf-8", "surrogateescape")
            if legend := LEGEND.match(line):
                letters = legend[1].replace(" ", "")
                continue
            if not line.strip() or line[0] == "!":  # the meta lines of CDXJ
                continue
            tally.lines += 1
            record = parse_line(line, letters)
            if record is None:
                tally.bad(number, "no index line", raw)
            elif not record:
                tally.skipped += 1
            else:
                yield number, raw, record

    return to_batches(records(), options, tally)
