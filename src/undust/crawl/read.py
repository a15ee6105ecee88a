"""From anything that names pages to the page table."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from undust.crawl.aggregate import Aggregator
from undust.crawl.detect import BLANK, detect
from undust.crawl.formats import Options, load
from undust.crawl.formats.columns import from_table
from undust.crawl.formats.records import ABSOLUTE, Numbered, lookup, to_batches
from undust.crawl.pages import Crawl, ReadStats
from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.errors import InputError, UsageError
from undust.files import replacing

Sketcher = Callable[[list[str]], list[list[int]]]
"""Texts to min-hashes."""


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
        A path, a glob, a directory, `-` (standard input), URLs, records (dicts), a list of any of these, a
        pandas or Polars DataFrame, an Arrow table, or another `Crawl`.
    format
        Force a format; by default each input's first lines decide.
    host
        Scheme and host of lines that hold paths only, e.g. `www.example.com` or `https://www.example.com`.
    url_field
        The field that holds the URL, in formats with named fields.
    memory
        How much DuckDB may use before it spills to disk, e.g. `"2GB"` (default 2GB).
    temp_dir
        Where it spills to.
    rejects
        A file that gets every line that could not be read, as it stood.
    sketcher, sketch_kind
        What turns visible texts into sketches, and the name of that algorithm. Without it text is unused.

    Examples
    --------
    >>> crawl = read(["http://example.com/a", "http://example.com/a", "http://example.com/b"])
    >>> crawl.pages.select(["url", "hits"]).to_pylist()
    [{'url': 'http://example.com/a', 'hits': 2}, {'url': 'http://example.com/b', 'hits': 1}]
    """
    given: dict[str, Any] = {"format": format, "host": host, "url_field": url_field, "memory": memory}
    given |= {"temp_dir": temp_dir, "threads": threads, "rejects": rejects}
    given |= {"sketcher": sketcher, "sketch_kind": sketch_kind}
    with _combined(inputs, **given) as (pages, stats):
        return Crawl(pages.finish(), stats)


@dataclass(frozen=True)
class Stream:
    """The pages of inputs that were read, to be gone through once."""

    batches: Iterator[pa.RecordBatch]
    """Rows of the page table in no order, each URL once; columns of which nothing is known are left out."""
    most: int
    """There are no more pages than this."""
    stats: ReadStats


@contextmanager
def streamed(inputs: Any, **options: Any) -> Iterator[Stream]:
    """What `read` reads, with the same options, without the table of all pages in memory.

    >>> with streamed(["http://example.com/a", "http://example.com/b"]) as pages:
    ...     sum(batch.num_rows for batch in pages.batches), pages.stats.lines
    (2, 2)
    """
    with _combined(inputs, **options) as (pages, stats):
        yield Stream(pages.batches(), pages.most(), stats)


@contextmanager
def _combined(
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
) -> Iterator[tuple[Aggregator, ReadStats]]:
    """The inputs read to their end, their records in the hands of an aggregator."""
    options = Options(host=host, url_field=url_field)
    with ExitStack() as stack:
        tally = Tally(None if rejects is None else stack.enter_context(_rejects(rejects, inputs)))
        pages = stack.enter_context(Aggregator(memory, temp_dir, threads))
        for batch in _batches(inputs, format, options, tally):
            tally.batch(batch)
            if "text" in batch.schema.names:
                batch = _sketched(batch, sketcher, sketch_kind)
            pages.add(batch)
        yield pages, tally.stats()


def _rejects(path: str | Path, inputs: Any) -> AbstractContextManager[BinaryIO]:
    """The file for bad lines, beside its target until all is read."""
    for one in inputs if isinstance(inputs, list | tuple) else [inputs]:
        if (
            isinstance(one, str | Path)
            and Path(path).exists()
            and Path(one).exists()
            and Path(one).samefile(path)
        ):
            raise UsageError(f"{path} is an input: the rejects would take its place")
    if not Path(path).absolute().parent.is_dir():
        raise UsageError(f"cannot write the rejects to {path}: no such directory")
    return replacing(path, compress=False)


class _Listed(str):
    """A file that was found in a directory, not named by the user: it need not be an input."""


def _batches(inputs: Any, format: str | None, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    for item in _items(inputs, options):
        if isinstance(item, str):
            source = Source.open(item)
            try:
                tally.start(source.name)
                source.note = tally.damage
                name = format or _detect(source, tally, lenient=isinstance(item, _Listed))
                if name is not None:
                    tally.recognised(name)
                    before, empty = tally.lines, not source.head().strip(BLANK)
                    yield from load(name).read(source, options, tally)
                    tally.done(before, empty)
            finally:
                source.close()
        elif isinstance(item, list):
            tally.start("<records>", "records")
            yield from to_batches(_counted(item, tally), options, tally)
        else:
            tally.start("<table>", "table")
            yield from from_table(item, options, tally)


def _detect(source: Source, tally: Tally, lenient: bool) -> str | None:
    try:
        return detect(source)
    except InputError as error:
        if not lenient:
            raise
        tally.note(f"not read: {error}")
        return None


def _items(inputs: Any, options: Options) -> Iterator[str | list[Any] | Any]:
    """The inputs one by one: names of files, lists of URLs or records, tables.

    What the user named comes as named, the files of a directory or glob by name.
    """
    if isinstance(inputs, Crawl):
        yield inputs.pages
    elif isinstance(inputs, str | Path):
        if isinstance(inputs, str) and _is_url(inputs, options):
            yield [inputs]
        else:
            yield from _files(str(inputs))
    elif (table := _table(inputs)) is not None:
        yield table
    else:
        try:
            given = inputs.to_pylist() if hasattr(inputs, "to_pylist") else list(inputs)
        except TypeError:
            raise UsageError(f"cannot read pages from a {type(inputs).__name__}") from None
        for records, run in groupby(given, lambda i: isinstance(i, Mapping) or _is_url(i, options)):
            if records:
                yield list(run)
            else:
                for item in run:
                    if item is inputs:
                        raise UsageError(f"cannot read pages from {item!r}")
                    yield from _items(item, options)


def _is_url(item: Any, options: Options) -> bool:
    if not isinstance(item, str):
        return False
    return bool(ABSOLUTE.match(item)) or (bool(options.host) and item[:1] == "/" and not Path(item).exists())


def _table(inputs: Any) -> Any:
    """A DataFrame or Arrow table as Arrow; None when it is none, records when Arrow cannot hold it."""
    if isinstance(inputs, pa.Table | pa.RecordBatchReader):
        return inputs
    if not (hasattr(inputs, "__arrow_c_stream__") or hasattr(inputs, "columns")) or hasattr(inputs, "name"):
        return None  # a Series has a name, and is a list
    try:
        return pa.table(inputs)
    except (pa.ArrowException, TypeError, ValueError):
        # Columns of mixed types, as pandas has them.
        return inputs.to_dict("records") if hasattr(inputs, "iloc") else None


def _counted(records: list[Any], tally: Tally) -> Iterator[Numbered]:
    for i, record in enumerate(records, 1):
        tally.lines += 1
        yield i, str(record), lookup(record) if isinstance(record, Mapping) else {"url": record}


def _files(name: str) -> Iterator[str]:
    if name == "-":
        yield name
    elif Path(name).is_dir():
        # Hidden files (among them what `learn` has finished so far) and the `_SUCCESS` of data sets are no inputs.
        files = sorted(p for p in Path(name).rglob("*") if p.is_file() and not _hidden(p.relative_to(name)))
        if not files:
            raise InputError(name, None, "no files in this directory")
        yield from map(_Listed, files)
    elif not Path(name).exists() and glob.has_magic(name):
        names = sorted(glob.glob(name, recursive=True))
        if not names:
            raise InputError(name, None, "no file matches")
        for found in names:
            yield from _files(found)
    else:
        yield name


def _hidden(path: Path) -> bool:
    return any(part[0] in "._" for part in path.parts)


def _sketched(batch: pa.RecordBatch, sketcher: Sketcher | None, kind: str | None) -> pa.RecordBatch:
    """The batch without its text: sketched where no sketch was given."""
    columns = {name: batch.column(name) for name in batch.schema.names if name != "text"}
    text = batch.column("text")
    if "text_len" not in columns:
        columns["text_len"] = pa.array(pc.utf8_length(text)).cast(pa.int64())  # type: ignore[call-overload]  # stubs lack it
    if sketcher is not None:
        n = batch.num_rows
        sketches: list[Any] = columns["sketch"].to_pylist() if "sketch" in columns else [None] * n
        kinds: list[Any] = columns["sketch_kind"].to_pylist() if "sketch_kind" in columns else [None] * n
        which = [i for i, known in enumerate(text.is_valid().to_pylist()) if known and sketches[i] is None]
        for i, sketch in zip(which, sketcher([text[i].as_py() for i in which]), strict=True):
            sketches[i], kinds[i] = list(map(int, sketch)) or None, kind
        columns["sketch"] = pa.array(sketches, pa.list_(pa.uint64()))
        columns["sketch_kind"] = pa.array(kinds, pa.string())
    return pa.RecordBatch.from_pydict(columns)
