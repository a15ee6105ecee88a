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
LOC = re.compile(rb"<loc\s*>\s*(?:<!\[CDATA\[)?(.*?)(?:\]\]>)?\s*</loc\s*>", re.S)
ROOT = re.compile(rb"<(?:\w+:)?(urlset|sitemapindex)[\s>]")


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
            # What follows the last whole element waits for the next block.
            text, at = rest + block, 0
            for match in LOC.finditer(text):
                number += text.count(b"\n", at, match.start())
                at = match.start()
                tally.lines += 1
                if index:
                    children, tally.skipped = children + 1, tally.skipped + 1
                else:
                    url = html.unescape(match[1].decode("utf-8", "surrogateescape"))
                    yield number, match[0], {"url": url}
            end = text.rfind(b"</loc") + 1
            number += text.count(b"\n", at, end)
            rest = text[end:]
        if index:
            tally.note(f"this is an index of {children} sitemaps: read those files")

    return to_batches(records(), options, tally)
