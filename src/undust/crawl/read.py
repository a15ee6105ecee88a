"""From anything that names pages to the page table."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from undust.crawl.aggregate import Aggregator
from undust.crawl.detect import detect
from undust.crawl.formats import Options, load
from undust.crawl.pages import Crawl
from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.errors import InputError, UsageError

Sketcher = Callable[[list[str]], list[list[int]]]
"""Texts to min-hashes."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def read(
    inputs: Any,
    *,
    format: str | None = None,
    host: str | None = None,
    url_field: str | None = None,
    memory: str | int | None = None,
    temp_dir: str | None = None,
    threads: int | None = None,
    rejects: str | Path | None = None,
    sketcher: Sketcher | None = None,
    sketch_kind: str | None = None,
) -> Crawl:
    """Read inputs of any known format into one table of pages.

    Parameters
    ----------
    inputs
        A path, a glob, a directory, `-` (standard input), a list of these or of URLs, a pandas or Polars DataFrame,
        an Arrow table, or another `Crawl`.
    format
        Force a format; by default each input's first lines decide.
    host
        Scheme and host of lines that hold paths only, e.g. `www.example.com` or `https://www.example.com`.
    url_field
        The field that holds the URL, in formats with named fields.
    memory
        How much DuckDB may use before it spills to disk, e.g. `"2GB"` (default 3GB).
    temp_dir
        Where it spills to.
    rejects
        A file that gets every line that could not be read, as it stood.
    sketcher, sketch_kind
        What turns visible texts into sketches, and the name of that algorithm. Without it text is left unused.

    Examples
    --------
    >>> crawl = read(["http://example.com/a", "http://example.com/a", "http://example.com/b"])
    >>> crawl.pages.select(["url", "hits"]).to_pylist()
    [{'url': 'http://example.com/a', 'hits': 2}, {'url': 'http://example.com/b', 'hits': 1}]
    """
    options = Options(host=host, url_field=url_field)
    with ExitStack() as stack:
        file = stack.enter_context(Path(rejects).open("wb")) if rejects is not None else None
        tally = Tally(file)
        pages = stack.enter_context(Aggregator(memory, temp_dir, threads))
        for batch in _batches(inputs, format, options, tally):
            tally.batch(batch)
            if "text" in batch.schema.names:
                batch = _sketched(batch, sketcher, sketch_kind)
            pages.add(batch)
        return Crawl(pages.finish(), tally.stats())


def _batches(inputs: Any, format: str | None, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    for item in _items(inputs):
        with _closing(item) as source:
            name = format or detect(source)
            tally.start(source.name, name or "empty")
            source.note = tally.note
            if name is not None:
                yield from load(name).read(source, options, tally)


class _closing:
    def __init__(self, item: Source | str | Path) -> None:
        self.source = item if isinstance(item, Source) else Source.open(item)

    def __enter__(self) -> Source:
        return self.source

    def __exit__(self, *_: object) -> None:
        self.source.close()


def _items(inputs: Any) -> Iterator[Source | Path | str]:
    """The inputs one by one, in a fixed order: what the user named as named, files of a directory by name."""
    if isinstance(inputs, str | Path):
        yield from _files(str(inputs))
        return
    given = list(inputs)
    urls = [i for i in given if isinstance(i, str) and _URL.match(i)]
    if urls:
        data = "\n".join(urls).encode("utf-8", "surrogateescape")
        yield Source.of(data, "<urls>")
    for i in given:
        if not (isinstance(i, str) and _URL.match(i)):
            yield from _items(i)


def _files(name: str) -> Iterator[str]:
    if name == "-":
        yield name
    elif Path(name).is_dir():
        files = sorted(p for p in Path(name).rglob("*") if p.is_file() and not p.name.startswith((".", "_")))
        if not files:
            raise InputError(name, None, "no files in this directory")
        yield from map(str, files)
    elif not Path(name).exists() and glob.has_magic(name):
        files_ = sorted(glob.glob(name, recursive=True))
        if not files_:
            raise InputError(name, None, "no file matches")
        for file in files_:
            yield from _files(file)
    else:
        yield name


def _sketched(batch: pa.RecordBatch, sketcher: Sketcher | None, kind: str | None) -> pa.RecordBatch:
    """The batch without its text: sketched where no sketch was given."""
    columns = {name: batch.column(name) for name in batch.schema.names if name != "text"}
    text = batch.column("text")
    if "text_len" not in columns:
        columns["text_len"] = pc.utf8_length(text).cast(pa.int64())
    if sketcher is not None:
        n = batch.num_rows
        sketches = columns["sketch"].to_pylist() if "sketch" in columns else [None] * n
        kinds = columns["sketch_kind"].to_pylist() if "sketch_kind" in columns else [None] * n
        which = [i for i, known in enumerate(text.is_valid().to_pylist()) if known and sketches[i] is None]
        for i, sketch in zip(which, sketcher([text[i].as_py() for i in which]), strict=True):
            sketches[i], kinds[i] = list(map(int, sketch)) or None, kind
        columns["sketch"] = pa.array(sketches, pa.list_(pa.uint64()))
        columns["sketch_kind"] = pa.array(kinds, pa.string())
    return pa.RecordBatch.from_pydict(columns)
