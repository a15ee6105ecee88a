"""A crawl as a WARC file, written by hand: the reader is to be tested on another's writing."""

from __future__ import annotations

import gzip
import uuid
from typing import BinaryIO

from undust.demo.spider import Fetched

REASONS = {200: "OK", 301: "Moved Permanently", 404: "Not Found"}


def http_response(page: Fetched) -> bytes:
    """The response as it went over the wire."""
    reply = page.reply
    head = [
        f"HTTP/1.1 {reply.status} {REASONS[reply.status]}",
        f"Content-Type: {reply.content_type}",
        f"Content-Length: {len(reply.body)}",
    ]
    if reply.location:
        head.append(f"Location: {reply.location}")
    return "\r\n".join([*head, "", ""]).encode() + reply.body


def write_record(page: Fetched, out: BinaryIO) -> None:
    """One gzipped `response` record (WARC 1.1).

    >>> import io
    >>> from undust.demo.site import DemoSite
    >>> from undust.demo.spider import crawl
    >>> file = io.BytesIO()
    >>> for page in crawl(DemoSite(size=0.05).fetch, limit=1):
    ...     write_record(page, file)
    >>> gzip.decompress(file.getvalue()).split(b"\\r\\n")[:3]
    [b'WARC/1.1', b'WARC-Type: response', b'WARC-Target-URI: http://demo.undust.test/']
    """
    block = http_response(page)
    fields = [
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Target-URI: {page.url}",
        f"WARC-Date: {page.when:%Y-%m-%dT%H:%M:%SZ}",
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, page.url)}>",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(block)}",
    ]
    record = "\r\n".join([*fields, "", ""]).encode() + block + b"\r\n\r\n"
    out.write(gzip.compress(record, mtime=0))
