"""Sitemaps: the `<loc>` of each `<url>`. An index names files, not pages: these are to be read themselves."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.formats.records import Numbered, to_batches
from undust.crawl.source import Source
from undust.crawl.tally import Tally

# No XML parser: sitemaps in the wild are often not well-formed, and a regular expression cannot be made
# to expand entities. `<image:loc>` and `<video:...>` do not match.
TAG = re.compile(rb"<(/?)loc\s*>")
ROOT = re.compile(rb"<(?:\w+:)?(urlset|sitemapindex)[\s>]")
LONGEST = 1 << 20
"""Bytes of a location that is waited for to end."""


def sniff(head: Head) -> float:
    """The root element."""
    return 1.0 if head.data.lstrip()[:1] == b"<" and ROOT.search(head.data) else 0.0


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The locations as raw records."""
    root = ROOT.search(source.head())
    index = root is not None and root[1] == b"sitemapindex"

    def records() -> Iterator[Numbered]:
        children, rest, number = 0, b"", 1
        for _, block in source.lines():
            text, at = rest + block, 0
            begin: re.Match[bytes] | None = None
            for tag in TAG.finditer(text):
                if not tag[1]:
                    begin = tag
                elif begin is not None:
                    number += text.count(b"\n", at, begin.start())
                    at = begin.start()
                    tally.lines += 1
                    if index:
                        children, tally.skipped = children + 1, tally.skipped + 1
                    else:
                        yield number, text[at : tag.end()], {"url": location(text[begin.end() : tag.start()])}
                    begin = None
            # What may be the beginning of an element waits for the next block.
            end = text.rfind(b"<") if begin is None else begin.start()
            if end < at or len(text) - end > LONGEST:
                if begin is not None:
                    tally.lines += 1
                    tally.bad(number + text.count(b"\n", at, end), "a <loc> that has no end", text[end:])
                end = len(text)
            number += text.count(b"\n", at, end)
            rest = text[end:]
        if index:
            tally.note(f"this is an index of {children} sitemaps: read those files")

    return to_batches(records(), options, tally)


def location(text: bytes) -> str:
    """The URL between the tags.

    >>> location(b" <![CDATA[http://a.example/?b]]>"), location(b"http://a.example/?a&amp;b")
    ('http://a.example/?b', 'http://a.example/?a&b')
    """
    inside = text.strip().removeprefix(b"<![CDATA[").removesuffix(b"]]>").strip()
    return html.unescape(inside.decode("utf-8", "surrogateescape"))
