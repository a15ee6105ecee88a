"""Which format an input is in: by its first lines, never by its name."""

from __future__ import annotations

import re

from undust.crawl.formats import FORMATS, Head, load
from undust.crawl.source import Source
from undust.errors import InputError

ENOUGH = 0.5
"""Share of the lines that must be of a format."""
BLANK = b"\0\r\n \t"
"""Bytes that are no content."""


def detect(source: Source) -> str | None:
    """Name of the format, None for an input without content.

    >>> detect(Source.of(b"http://example.com/\\n", "test"))
    'urls'
    """
    head = Head(source.head(), source.name)
    if not head.data.strip(BLANK):
        return None
    best, share = "", 0.0
    for name in FORMATS:
        if (recognised := load(name).sniff(head)) > share:
            best, share = name, recognised
    if share < ENOUGH:
        raise InputError(source.name, None, *_unknown(head))
    return best


def _unknown(head: Head) -> tuple[str, str]:
    """What to say of an input that is of no known format, and what to do.

    >>> _unknown(Head(b"www.example.com/a"))
    ('the first lines are of no known format; the first one is: www.example.com/a',
     'URLs need a scheme: http://www.example.com/a')
    """
    force = f"force one with --format {'|'.join(FORMATS)}"
    first = head.lines[0].strip() if head.lines else ""
    if b"\0" in head.data or not first or not first.replace("\t", " ").isprintable():
        return "this is no text, and no Parquet or WARC file", force
    shown = first if len(first) <= 80 else first[:80] + "…"
    why = f"the first lines are of no known format; the first one is: {shown}"
    if re.fullmatch(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::\d+)?(?:[/?]\S*)?", first):
        return why, f"URLs need a scheme: http://{shown}"
    if any(mark in first for mark in "\t,;|"):
        return why, f"a table needs a column of URLs, named by --url-field NAME --format csv; else {force}"
    return why, force
