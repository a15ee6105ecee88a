"""The pages of a crawl on disk, domain by domain: none of the engines' processes holds more than a site needs.

A registrable domain lies on one shelf as a whole, since the aliases of a host are sought in its domain only; which
shelf is decided by a hash of its name. So each shelf can be split into sites by itself, and all of them together
give the sites that the whole table would.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from undust.crawl import PAGE_SCHEMA, Crawl, ReadStats, streamed
from undust.errors import UndustError
from undust.likeness import sketch_kind, sketcher
from undust.likeness.site import host_of, registrable
from undust.url import normal

PER_SHELF = 50_000
"""Pages that lie on one shelf, if no domain has more: what is split into sites at once."""

MOST = 256
"""Shelves: each is an open file while they are filled."""

BATCH = 1 << 16


@dataclass(frozen=True)
class Shelves:
    """A crawl that has been dealt out, and how it was read.

    >>> with shelved([f"http://{h}.example/{i}" for h in "ab" for i in range(3)]) as shelves:
    ...     shelves.n, [len(shelf) for shelf in shelves.filled]
    (6, [6])
    """

    filled: tuple[pa.Table, ...]
    """Whole domains each; mapped from files, so that only what is looked at is in memory."""
    n: int
    stats: ReadStats = field(default_factory=ReadStats)

    @classmethod
    def of(cls, crawl: Crawl) -> Shelves:
        """A crawl that is in memory anyway, on one shelf."""
        return cls((crawl.pages,), crawl.n, crawl.stats)

    def crawl(self) -> Crawl:
        """All pages as one table in memory, as `read` gives it."""
        given = [pa.table(shelf) for shelf in self.filled] or [PAGE_SCHEMA.empty_table()]
        table = pa.concat_tables(given)
        columns = [
            table[f.name] if f.name in table.column_names else pa.nulls(len(table), f.type)
            for f in PAGE_SCHEMA
        ]
        return Crawl(pa.Table.from_arrays(columns, schema=PAGE_SCHEMA).sort_by("url"), self.stats)

    def batches(self) -> Iterator[pa.Table]:
        """All pages, some at a time."""
        for shelf in self.filled:
            for start in range(0, len(shelf), BATCH):
                yield shelf.slice(start, BATCH)


@contextmanager
def shelved(
    inputs: Any, site_key: str = "host", *, memory: str | int | None = None, **options: Any
) -> Iterator[Shelves]:
    """Read inputs, as `undust.read` takes them, onto shelves in a temporary directory."""
    with ExitStack() as stack:
        try:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="undust-")))
        except OSError as error:
            raise UndustError(f"no temporary directory can be made: {error.strerror}") from None
        given = {"sketcher": sketcher, "sketch_kind": sketch_kind()} | options
        with streamed(inputs, memory=memory, **given) as stream:
            wanted = 1 if site_key == "all" else -(-stream.most // PER_SHELF)
            paths, n = _deal(stream.batches, folder, max(1, min(wanted, MOST)))
        shelves = []
        for path in paths:
            mapped = stack.enter_context(pa.memory_map(str(path)))
            shelves.append(pa.ipc.open_file(mapped).read_all())
            path.unlink()  # the map keeps it; whatever ends the run, nothing is left behind
        yield Shelves(tuple(shelves), n, stream.stats)


def _deal(batches: Iterable[pa.RecordBatch], folder: Path, shelves: int) -> tuple[list[Path], int]:
    """Write the pages of each shelf into a file; the files that have any, and the number of all pages."""
    writers: dict[int, Any] = {}
    paths: list[Path] = []
    shelf_of: dict[str, int] = {}
    n = 0
    try:
        with ExitStack() as stack:
            for batch in batches:
                n += batch.num_rows
                for number, part in _parted(batch, shelves, shelf_of):
                    if number not in writers:
                        paths.append(folder / f"{number}.arrow")
                        file = stack.enter_context(pa.OSFile(str(paths[-1]), "wb"))
                        writers[number] = stack.enter_context(pa.ipc.new_file(file, batch.schema))
                    writers[number].write_batch(part)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise UndustError(f"cannot write to {folder}: {why} (TMPDIR says where there is more room)") from None
    return sorted(paths, key=lambda path: int(path.stem)), n


def _parted(
    batch: pa.RecordBatch, shelves: int, shelf_of: dict[str, int]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    if shelves == 1:
        yield 0, batch
        return
    if len(shelf_of) > 1 << 20:  # a web has more hosts than need to be remembered
        shelf_of.clear()
    to = np.empty(batch.num_rows, np.int64)
    urls: list[Any] = batch.column("url").to_pylist()
    for i, url in enumerate(urls):
        host = host_of(normal(url))
        number = shelf_of.get(host)
        if number is None:
            name = registrable(host).encode("utf-8", "surrogateescape")
            number = shelf_of[host] = xxhash.xxh3_64_intdigest(name) % shelves
        to[i] = number
    order = np.argsort(to, kind="stable")
    bounds = np.searchsorted(to[order], np.arange(shelves + 1))
    turned = batch.take(order)
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        yield number, turned.slice(int(bounds[number]), int(bounds[number + 1] - bounds[number]))
