"""WARC and WARC.gz: responses, revisits, redirects. Needs the extra `undust[warc]`."""

from __future__ import annotations

import hashlib
import io
import re
from base64 import b32encode
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from undust.crawl.formats.records import to_batch
from undust.crawl.text import LARGEST, page_text

ROWS = 1024
"""Records a batch at most."""

TEXT = 1 << 26
"""Characters of text a batch at most, give or take a page."""

LARGEST_RECORD = 1 << 27
"""Bytes of a record that is looked into; of a larger one only the headers are."""

LARGEST_BODY = 1 << 28
"""Bytes of a body that come out of an encoding: a megabyte of gzip may hold a gigabyte."""

WANTED = (
    WarcRecordType.response | WarcRecordType.revisit | WarcRecordType.resource | WarcRecordType.conversion
)


def read_warc(path: str | Path) -> Iterator[pa.RecordBatch]:
    """The pages of an archive as raw records, with their texts.

    HTTP and content encodings are undone. Equal bodies get equal digests; a revisit gets that of the response it
    repeats. Of a record that was cut off, or is too large, neither digest nor size nor text is used. What
    precedes a damaged end of the file is read.
    """
    rows: list[dict[str, Any]] = []
    text = 0
    bodies: dict[str, str] = {}
    with open(path, "rb") as file:
        for record in _records(ArchiveIterator(file, record_types=WANTED, parse_http=False)):
            row = _page(record, bodies)
            if row is not None:
                rows.append(row)
                text += len(row.get("text") or "")
            if len(rows) >= ROWS or text >= TEXT:
                yield to_batch(rows)
                rows, text = [], 0
    if rows:
        yield to_batch(rows)


def _records(archive: ArchiveIterator) -> Iterator[WarcRecord]:
    """Records up to the first that cannot be read."""
    records = iter(archive)
    some = False
    while True:
        try:
            record = next(records)
        except StopIteration:
            return
        except (OSError, ValueError, RuntimeError, EOFError):
            if some:
                return
            raise
        some = True
        yield record


def _page(record: WarcRecord, bodies: dict[str, str]) -> dict[str, Any] | None:
    """The fields of one record; None for what is no page (a DNS lookup, a record without an address)."""
    headers = record.headers
    url = (headers.get("WARC-Target-URI") or "").strip("<> ")
    if not url.lower().startswith(("http://", "https://")):
        return None
    when, type_ = record.record_date, record.record_type
    record, arrived = _opened(record)
    row: dict[str, Any] = {"url": url, "fetched_at": when.astimezone(UTC) if when is not None else None}
    http = record.http_headers
    if http is None:
        # A resource is a file without HTTP; a response without it was cut off before it began.
        if type_ not in (WarcRecordType.resource, WarcRecordType.conversion):
            return None
        row.update(status=200, content_type=headers.get("Content-Type"))
        charset, links = None, []
    else:
        row.update(
            status=http.status_code, content_type=http.get("Content-Type"), location=http.get("Location")
        )
        charset, links = record.http_charset, [v for k, v in http.astuples() if k.lower() == "link"]
    named = headers.get("WARC-Payload-Digest")
    if type_ == WarcRecordType.revisit:
        # "Not modified" is the archive's word, not the page's: it is alive and as it was.
        row.update(
            status=200 if row["status"] in (None, 304) else row["status"],
            digest=bodies.get(named or "", named),
        )
        return row
    if not arrived or headers.get("WARC-Truncated") is not None:
        return row
    try:
        body = _body(record)
    except (OSError, ValueError, RuntimeError, EOFError):  # a broken content encoding
        return row
    if body is None or not _whole(record, body.size):
        return row
    if named:
        bodies[named] = body.digest
    found = page_text(body.start, url, row["content_type"], charset, links)
    row.update(size=body.size, digest=body.digest, text=found.text, canonical=found.canonical)
    return row


class _Body(NamedTuple):
    start: bytes
    size: int
    digest: str


def _body(record: WarcRecord) -> _Body | None:
    """What of a body is looked at, and size and digest of all of it; None when there is far too much."""
    start = record.reader.read(LARGEST)
    known, size = hashlib.sha1(start, usedforsecurity=False), len(start)
    while piece := record.reader.read(1 << 20):
        known.update(piece)
        size += len(piece)
        if size > LARGEST_BODY:
            return None
    return _Body(start, size, "sha1:" + b32encode(known.digest()).decode())


def _opened(record: WarcRecord) -> tuple[WarcRecord, bool]:
    """The record with its HTTP headers parsed; False when the archive ends before it does, or it is too large."""
    announced = record.content_length
    try:
        if announced > LARGEST_RECORD:
            record.parse_http(auto_decode="none")
            return record, False
        block = record.reader.read()
        # Read once more from memory: `freeze` would undo the encoding of the whole body at once, however large.
        kind = {name: record.headers.get(name) or "" for name in ("WARC-Type", "Content-Type")}
        head = "".join(f"{name}: {value}\r\n" for name, value in kind.items())
        start = f"WARC/1.0\r\n{head}Content-Length: {len(block)}\r\n\r\n".encode("utf-8", "replace")
        record = WarcRecord.from_reader(io.BytesIO(start + block))
        record.parse_http(auto_decode="all")
    except (OSError, ValueError, RuntimeError, EOFError):
        return record, False
    return record, len(block) >= announced


def _whole(record: WarcRecord, size: int) -> bool:
    """False when fewer bytes came than the server had announced."""
    http = record.http_headers
    if http is None:
        return True
    announced = re.fullmatch("[0-9]{1,18}", (http.get("Content-Length") or "").strip())
    if announced is None or http.get("Content-Encoding") or http.get("Transfer-Encoding"):
        return True
    return size >= int(announced[0])
