"""WARC and WARC.gz: responses, revisits, redirects. Needs the extra `undust[warc]`."""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from undust.crawl.formats.records import to_batch
from undust.crawl.text import page_text

ROWS = 1024
"""Records a batch at most."""

TEXT = 1 << 26
"""Characters of text a batch at most, give or take a page."""

WANTED = (
    WarcRecordType.response | WarcRecordType.revisit | WarcRecordType.resource | WarcRecordType.conversion
)


def read_warc(path: str | Path) -> Iterator[pa.RecordBatch]:
    """The pages of an archive as raw records, with their texts.

    HTTP and content encodings are undone. Equal bodies get equal digests; a revisit gets that of the response it
    repeats. Of a record that was cut off neither digest nor size nor text is used: they are not the page's. What
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
    arrived = _open(record)
    when = record.record_date
    row: dict[str, Any] = {"url": url, "fetched_at": when.astimezone(UTC) if when is not None else None}
    http = record.http_headers
    if http is None:
        # A resource is a file without HTTP; a response without it was cut off before it began.
        if record.record_type not in (WarcRecordType.resource, WarcRecordType.conversion):
            return None
        row.update(status=200, content_type=headers.get("Content-Type"))
        charset, links = None, []
    else:
        row.update(
            status=http.status_code, content_type=http.get("Content-Type"), location=http.get("Location")
        )
        charset, links = record.http_charset, [v for k, v in http.astuples() if k.lower() == "link"]
    named = headers.get("WARC-Payload-Digest")
    if record.record_type == WarcRecordType.revisit:
        # "Not modified" is the archive's word, not the page's: it is alive and as it was.
        row.update(
            status=200 if row["status"] in (None, 304) else row["status"],
            digest=bodies.get(named or "", named),
        )
        return row
    try:
        body = record.reader.read()
    except (OSError, ValueError, RuntimeError, EOFError):  # a broken content encoding
        return row
    if headers.get("WARC-Truncated") is not None or not arrived or not _whole(record, body):
        return row
    digest = "sha1:" + b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
    if named:
        bodies[named] = digest
    found = page_text(body, url, row["content_type"], charset, links)
    row.update(size=len(body), digest=digest, text=found.text, canonical=found.canonical)
    return row


def _open(record: WarcRecord) -> bool:
    """Parse the HTTP headers; False when the archive ends before the record does."""
    announced = record.content_length
    try:
        record.freeze()
        arrived = len(record.reader.read())
        record.reader.seek(0)
        record.parse_http(auto_decode="all")
    except (OSError, ValueError, RuntimeError, EOFError):
        return False
    return arrived >= announced


def _whole(record: WarcRecord, body: bytes) -> bool:
    """False when fewer bytes came than the server had announced."""
    http = record.http_headers
    if http is None:
        return True
    announced = http.get("Content-Length") or ""
    if not announced.strip().isdigit() or http.get("Content-Encoding") or http.get("Transfer-Encoding"):
        return True
    return len(body) >= int(announced)
