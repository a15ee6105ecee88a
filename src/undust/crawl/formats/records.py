"""Loose records (dicts, rows) to Arrow batches: field names, lenient types, valid text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa

from undust.crawl.formats import RAW_SCHEMA, Options
from undust.crawl.tally import Tally

ROWS = 8192
BYTES = 1 << 25
"""Lines per batch, or bytes of them if they hold long texts."""

URL_FIELDS = ("url", "request_url", "uri", "loc", "canonicalUrl")
"""Where a URL may stand when `--url-field` does not say."""

ALIASES: dict[str, tuple[str, ...]] = {
    "status": ("status", "fetch_status", "statuscode", "status_code"),
    "location": ("location", "fetch_redirect", "redirect"),
    "size": ("size", "size_min", "length", "bytes", "body_bytes_sent"),
    "size_max": ("size_max",),
    "hits": ("hits",),
    "content_type": ("content_type", "mime", "mimetype", "content_mime_type"),
    "digest": ("digest", "content_digest"),
    "sketch": ("sketch",),
    "sketch_kind": ("sketch_kind",),
    "text": ("text",),
    "canonical": ("canonical",),
    "importance": ("importance",),
    "cluster": ("cluster",),
    "soft": ("soft",),
    "text_len": ("text_len",),
    "fetched_at": ("fetched_at", "fetch_time", "timestamp"),
}
"""Names under which other tools write our fields, the best first."""

_ALONE = re.compile("[\ud800-\udfff]")
ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def valid(text: str) -> str:
    """Text that Arrow can hold: bytes that were no UTF-8, and NULs, are percent-encoded.

    In a URL that is what the server sees anyway: a raw Latin-1 byte and its percent-encoding name one page.

    >>> valid(b"/caf\\xe9".decode("utf-8", "surrogateescape"))
    '/caf%E9'
    """
    if "\0" in text:
        text = text.replace("\0", "%00")
    try:
        text.encode()
    except UnicodeEncodeError:
        return _ALONE.sub(
            lambda m: f"%{ord(m[0]) - 0xDC00:02X}" if "\udc80" <= m[0] <= "\udcff" else "\ufffd", text
        )
    return text


def _integer(value: Any) -> int | None:
    if isinstance(value, str):
        value = value.strip()
        if not re.fullmatch(r"\d{1,18}", value, re.ASCII):
            return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < 1 << 62 else None


def _status(value: Any) -> int | None:
    number = _integer(value)
    return number if number is not None and 100 <= number <= 999 else None


def text_or_none(value: Any) -> str | None:
    """A value as text that Arrow can hold; None where there is nothing."""
    if type(value) is str and value.isascii() and "\0" not in value:
        return value or None  # nearly always
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, list) and value:  # Scrapy wraps values into lists
        value = value[0]
    if value is None or isinstance(value, dict | list | bool):
        return None
    return valid(value if isinstance(value, str) else str(value)) or None


def _float(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _truth(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
            value.lower()
        )
    return None if value is None else bool(value)


def _sketch(value: Any) -> list[int] | None:
    """Min-hashes: integers, or hexadecimal strings; in a CSV cell separated by blanks or commas."""
    if isinstance(value, str):
        value = value.strip("[] ").replace(",", " ").split()
    if value is None or isinstance(value, bytes | dict):
        return None
    try:
        hashes = [int(v.strip("'\""), 16) if isinstance(v, str) else int(v) for v in value]
    except (TypeError, ValueError, OverflowError):
        return None
    return hashes if hashes and all(0 <= h < 1 << 64 for h in hashes) else None


def moment(value: Any) -> datetime | None:
    """A time in UTC, without zone: from ISO text, a 14-digit timestamp, seconds since 1970, or a datetime.

    >>> moment("2024-02-29T12:00:00+02:00"), moment("20140126200624")
    (datetime.datetime(2024, 2, 29, 10, 0), datetime.datetime(2014, 1, 26, 20, 6, 24))
    """
    try:
        if isinstance(value, str):
            value = value.strip()
            if value.isdigit() and len(value) == 14:
                return datetime.strptime(value, "%Y%m%d%H%M%S")
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC).replace(tzinfo=None)
        if isinstance(value, datetime):
            return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        pass
    return None


CONVERT: dict[str, Callable[[Any], Any]] = {
    "status": _status,
    "size": _integer,
    "size_max": _integer,
    "hits": _integer,
    "text_len": _integer,
    "importance": _float,
    "soft": _truth,
    "sketch": _sketch,
    "fetched_at": moment,
}
"""How a loose value becomes one of the raw type; what cannot is None. All others are strings."""


def why_no_url(url: str) -> str:
    """Why a text is no URL; empty when it may be one.

    >>> why_no_url("www.example.com/a"), why_no_url("http://example.com/a")
    ('no scheme: not an absolute URL', '')
    """
    if not url:
        return "no URL"
    if url.startswith("/"):
        return ""
    if not ABSOLUTE.match(url):
        return "no scheme: not an absolute URL"
    return ""


@lru_cache(256)
def _fields(names: tuple[str, ...], url_field: str | None) -> dict[str, str]:
    wanted = {"url": (url_field,) if url_field else URL_FIELDS, **ALIASES}
    found = {raw: next((c for c in candidates if c in names), None) for raw, candidates in wanted.items()}
    return {raw: name for raw, name in found.items() if name is not None}


def fields(names: Iterable[str], url_field: str | None = None) -> dict[str, str]:
    """Raw field -> name in the input, for those that occur.

    >>> fields(["timestamp", "url", "mime", "other"])
    {'url': 'url', 'content_type': 'mime', 'fetched_at': 'timestamp'}
    """
    return _fields(tuple(names), url_field)


def lookup(record: Mapping[str, Any], url_field: str | None = None) -> dict[str, Any]:
    """A record under our field names."""
    return {raw: record[name] for raw, name in fields(record, url_field).items()}


def to_batch(records: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Records with raw field names as a batch; values that do not fit are left out."""
    present: set[str] = {"url"}.union(*records)
    columns: dict[str, Any] = {}
    for field in RAW_SCHEMA:
        if (name := field.name) in present:
            convert: Callable[[Any], Any] = CONVERT.get(name, text_or_none)
            values = [None if (v := r.get(name)) is None else convert(v) for r in records]
            columns[name] = pa.array(values, field.type)
    return pa.RecordBatch.from_pydict(columns)


Numbered = tuple[int | None, str | bytes, Mapping[str, Any]]
"""Line number, the line as it stands, and its fields under our names."""


def to_batches(records: Iterable[Numbered], options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """Records as batches; those without a usable URL are reported as bad lines."""
    rows: list[Mapping[str, Any]] = []
    size = 0
    for line, text, record in records:
        given = text_or_none(record.get("url"))
        url = given.strip() if given else ""
        if why := why_no_url(url):
            tally.bad(line, why, text)
        elif (absolute := options.absolute(url)) is None:
            tally.hostless(line, text)
        else:
            rows.append({**record, "url": absolute})
            size += len(text)
        if size >= BYTES or tally.lines % ROWS == 0:
            yield to_batch(rows)
            rows, size = [], 0
    yield to_batch(rows)
