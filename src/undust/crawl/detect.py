"""Which format an input is in: by its first lines, never by its name."""

from __future__ import annotations

from undust.crawl.formats import FORMATS, Head, load
from undust.crawl.source import Source
from undust.errors import InputError

ENOUGH = 0.5
"""Share of the lines that must be of a format."""


def detect(source: Source) -> str | None:
    """Name of the format, None for an input without content.

    >>> detect(Source.of(b"http://example.com/\\n", "test"))
    'urls'
    """
    head = Head(source.head(), source.name)
    if not head.data.strip(b"\0\r\n \t"):
        return None
    best, share = "", 0.0
    for name in FORMATS:
        if (recognised := load(name).sniff(head)) > share:
            best, share = name, recognised
    if share < ENOUGH:
        hint = f"force one with --format {'|'.join(FORMATS)}"
        raise InputError(source.name, None, "the first lines are of no known format", hint)
    return best
