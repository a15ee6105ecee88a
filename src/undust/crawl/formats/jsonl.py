"""Pages as JSON: one object a line, or one array of objects (Scrapy feeds `.jl` and `.json`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.formats.records import Numbered, fields, lookup, to_batches
from undust.crawl.source import Source
from undust.crawl.tally import Tally

_TEXTS = re.compile(rb'\[\s*"(?:[A-Za-z][A-Za-z0-9+.-]*:)?/').match
_ITEM = re.compile(r"[^\s,\]]")
"""Where the next value of an array begins."""


def parse(text: str | bytes) -> Any:
    """A JSON value, None when it is none. Undecodable bytes survive as surrogates."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def item(line: str | bytes) -> dict[str, Any] | None:
    """The object on a line; also one of an array that is written an object a line, as Scrapy does.

    >>> item('{"url": "http://example.com/"},')
    {'url': 'http://example.com/'}
    """
    value = parse(line)
    if value is None:
        if isinstance(line, bytes):
            line = line.decode("utf-8", "surrogateescape")
        value = parse(line.strip().lstrip("[").rstrip(",]"))
    return value if isinstance(value, dict) else None


def sniff(head: Head) -> float:
    """Lines that are JSON objects with a URL among their fields; or an array that begins with an object."""
    start = head.data.lstrip()
    if start[:1] == b"[" and (start[1:].lstrip()[:1] in (b"{", b"]") or _TEXTS(start)):
        return 1.0
    objects = [item(line) for line in head.lines]
    return head.share(sum(o is not None and "url" in fields(o) for o in objects))


def _lines(source: Source, tally: Tally) -> Iterator[tuple[int, bytes, dict[str, Any] | None]]:
    for number, line in source.numbered():
        if line.strip(b"[], \t"):
            tally.lines += 1
            yield number, line, item(line)


def _array(source: Source, tally: Tally) -> Iterator[tuple[int, bytes, dict[str, Any] | None]]:
    """The objects (or URLs) of one array, however it is laid out; in memory, as such files are small."""
    text = b"".join(source.blocks()).decode("utf-8", "surrogateescape")
    decode, at, line, counted = json.JSONDecoder().raw_decode, text.find("[") + 1, 1, 0
    while found := _ITEM.search(text, at):
        at = found.start()
        tally.lines += 1
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = decode(text, at)
        except (ValueError, RecursionError):
            end = text.find("\n", at) + 1 or len(text)
            value = None
        if isinstance(value, str):
            value = {"url": value}
        row = value if isinstance(value, dict) else None
        yield line, text[at:end].encode("utf-8", "surrogateescape"), row
        at = end


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The objects of the input as raw records."""
    start = source.head().lstrip()
    objects = _array if start[:1] == b"[" else _lines

    def records() -> Iterator[Numbered]:
        for number, line, value in objects(source, tally):
            if value is None:
                tally.bad(number, "no JSON object", line)
            else:
                yield number, line, lookup(value, options.url_field)

    return to_batches(records(), options, tally)
