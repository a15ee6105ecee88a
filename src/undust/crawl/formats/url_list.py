"""Plain lists: `url` or `url<TAB>size<TAB>digest` a line; lines that start with `#` are comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.formats.records import Numbered, to_batches
from undust.crawl.source import Source
from undust.crawl.tally import Tally

_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|/)[^\t]*(?:\t(?:\d*|-)(?:\t[^\t]*)?)?")


def sniff(head: Head) -> float:
    """Lines that begin with a scheme or a slash and have at most the two further columns."""
    return head.share(sum(line[0] == "#" or bool(_URL.fullmatch(line.rstrip())) for line in head.lines))


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The lines as raw records."""

    def records() -> Iterator[Numbered]:
        for number, line in source.numbered():
            if not line.strip():
                continue
            tally.lines += 1
            if line[:1] == b"#":
                tally.skipped += 1
                continue
            url, size, digest = [*line.decode("utf-8", "surrogateescape").split("\t"), "", ""][:3]
            yield number, line, {"url": url, "size": size, "digest": digest.strip()}

    return to_batches(records(), options, tally)
