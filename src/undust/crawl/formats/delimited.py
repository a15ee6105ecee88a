"""CSV and TSV with a header line that names at least the URL."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.formats.records import ABSOLUTE, ALIASES, URL_FIELDS, Numbered, fields, to_batches
from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.errors import InputError

DELIMITERS = "\t,;|"
KNOWN = {name.lower(): name for name in (*URL_FIELDS, *(n for names in ALIASES.values() for n in names))}
"""Our names by how they are compared: `Status Code` is `status_code`, `URL` is `url`."""

Row = tuple[int, str, list[str] | None]
"""First line number, the lines as they stand, the cells (None: not to be read)."""


def _cells(line: str, delimiter: str) -> list[str] | None:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return None


def header(line: str, url_field: str | None = None) -> tuple[str, list[str]] | None:
    """Delimiter and column names of a header line; None when it is none.

    >>> header("URL;Status Code")
    (';', ['url', 'status_code'])
    """
    for delimiter in DELIMITERS:
        names = [name.strip() for name in _cells(line, delimiter) or []]
        names = [n if n == url_field else KNOWN.get(n.lower().replace(" ", "_"), n) for n in names]
        if "url" in fields(names, url_field):
            return delimiter, names
    return None


def column_of_urls(lines: Sequence[str]) -> tuple[list[str], str] | None:
    """The column names of a table whose header names no known column of URLs, and the one that holds them.

    >>> column_of_urls(["link,size", "http://a.example/,7"])
    (['link', 'size'], 'link')
    """
    for delimiter in DELIMITERS:
        table = [_cells(line, delimiter) or [] for line in lines]
        names = table[0] if table else []
        if (
            len(names) < 2
            or any("://" in name for name in names)
            or {len(row) for row in table} != {len(names)}
        ):
            continue
        for at, name in enumerate(names):
            if len(table) > 1 and all(ABSOLUTE.match(row[at]) for row in table[1:]):
                return names, name
    return None


def rows(lines: Iterator[tuple[int, bytes]], delimiter: str) -> Iterator[Row]:
    """Rows of cells; a cell in quotes may go over several lines.

    A quote that is never closed would swallow what follows it: then each of its lines is read for itself.
    """
    taken: list[tuple[int, str]] = []

    def take() -> Iterator[str]:
        for number, line in lines:
            taken.append((number, line.decode("utf-8", "surrogateescape")))
            yield taken[-1][1] + "\n"

    reader = csv.reader(take(), delimiter=delimiter, strict=True)
    while True:
        taken.clear()
        try:
            cells = next(reader, None)
        except csv.Error:
            for number, line in list(taken):
                yield number, line, _cells(line, delimiter)
            continue
        if cells is None:
            return
        yield taken[0][0], "\n".join(line for _, line in taken), cells


def sniff(head: Head) -> float:
    """A header with a URL column, or a column of URLs under another name (which `read` asks the user to say)."""
    if head.lines and header(head.lines[0]):
        return 1.0
    return 1.0 if column_of_urls(head.lines) else 0.0


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The rows as raw records."""
    table = column_of_urls(Head(source.head()).lines)
    lines = source.numbered()
    number, first = next(lines, (0, b""))
    if not first:
        return iter(())
    found = header(first.decode("utf-8", "surrogateescape"), options.url_field)
    if found is None:
        names, column = table or ([first.decode("utf-8", "replace")[:80]], "NAME")
        why = f"no URL column in this header: {', '.join(names)}"
        raise InputError(source.name, number, why, f"say which: --url-field {column}")
    delimiter, names = found
    wanted = {name: raw for raw, name in fields(names, options.url_field).items()}

    def records() -> Iterator[Numbered]:
        for number, text, cells in rows(lines, delimiter):
            tally.lines += 1
            if cells is None:
                tally.bad(number, "a quote that is not closed", text)
            else:
                row = dict(zip(names, cells, strict=False))
                yield number, text, {raw: row[name] for name, raw in wanted.items() if row.get(name)}

    return to_batches(records(), options, tally)
