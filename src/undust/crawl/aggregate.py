"""From raw records to one row per URL, out of core.

Every record is first taken as a page of its own, in parts; parts of one URL then combine, first within a
chunk of records as it arrives, at the end over all chunks. Combining is associative, so only distinct URLs
are kept and chunks may come in any order. Each part that may change over time carries the rank of the record
it is from, and the greatest pair (rank, value) wins: ties too are broken the same way every time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, cast

import duckdb
import numpy as np
import pyarrow as pa

from undust.crawl.pages import PAGE_SCHEMA
from undust.errors import UndustError, UsageError

CHUNK_ROWS = 1 << 20
CHUNK_BYTES = 1 << 27
"""Records are combined whenever there are so many."""

MEMORY = "2GB"
"""DuckDB's share by default; blocks, a chunk and the resulting table come on top."""

TIMED = "1::BIGINT << 50"
"""Set in the middle bits of a rank that are a time (ms since 1970), not a position."""

RANK = f"""(
    (CASE WHEN status IS NULL THEN 0 WHEN status BETWEEN 200 AND 299 THEN 2 ELSE 1 END)::BIGINT << 61
) | ((CASE WHEN fetched_at IS NULL THEN position
           ELSE ({TIMED}) | greatest(0, epoch_ms(fetched_at)) END) << 10
) | coalesce(status, 0)"""
"""A good answer (2xx) before others, and these before none; a known time before an unknown one; later before
earlier, by position in the input where there is no time. The status itself is in the lowest bits."""

SEEN = "(status IS NULL OR status BETWEEN 200 AND 399)"
BODY = "(status IS NULL OR status BETWEEN 200 AND 299 AND status <> 206)"
"""Only a whole body tells a size: 206 is a part, 304 none, an error page is another page."""

EMPTY = """('-', '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ', 'da39a3ee5e6b4b0d3255bfef95601890afd80709',
            'd41d8cd98f00b204e9800998ecf8427e')"""
"""Digests (SHA-1, MD5) of nothing at all: equal for pages that have nothing in common."""

RANKED = {
    "location": ("VARCHAR", SEEN),
    "content_type": ("VARCHAR", SEEN),
    "digest": ("VARCHAR", f"{SEEN} AND digest NOT IN {EMPTY}"),
    "sketch": ("STRUCT(hashes UBIGINT[], kind VARCHAR)", SEEN),
    "canonical": ("VARCHAR", SEEN),
    "text_len": ("BIGINT", SEEN),
    "cluster": ("VARCHAR", "true"),
    "soft": ("BOOLEAN", "true"),
}
"""Taken from the last record that has them: raw column -> type, and which records count."""

# A part of a page: its type, what it is in a raw record, how it combines.
PARTS = {
    "rank": ("BIGINT", RANK, "max"),
    "hits": ("HUGEINT", "coalesce(hits, 1)", "sum"),
    "size_min": ("BIGINT", f"CASE WHEN {BODY} THEN size END", "min"),
    "size_max": ("BIGINT", f"CASE WHEN {BODY} THEN coalesce(size_max, size) END", "max"),
    "importance": ("DOUBLE", "importance", "max"),
} | {
    name: (
        f"STRUCT(rank BIGINT, value {type})",
        f"CASE WHEN {name} IS NOT NULL AND {counts} THEN {{'rank': {RANK}, 'value': {name}}} END",
        "max",
    )
    for name, (type, counts) in RANKED.items()
}
NEEDS = {"rank": "url", "hits": "url", "size_min": "size", "size_max": "size"}
"""The raw column without which a part is not there, where it is not of the same name."""

RAW = {
    "status": "SMALLINT",
    "size": "BIGINT",
    "size_max": "BIGINT",
    "hits": "BIGINT",
    "sketch_kind": "VARCHAR",
    "fetched_at": "TIMESTAMP",
}
"""Raw columns that the expressions read even where a batch has none."""

# A column of the page table: the part it is from, and how it is read from that.
PAGE = {name: (name, f"{name}.value") for name in RANKED} | {
    "hits": ("hits", f"least(hits, {2**63 - 1})::BIGINT"),
    "status": ("rank", "nullif(rank & 1023, 0)"),
    "sketch": ("sketch", "sketch.value.hashes"),
    "sketch_kind": ("sketch", "sketch.value.kind"),
    "fetched_at": (
        "rank",
        f"""CASE WHEN (rank >> 10) & ({TIMED}) <> 0 THEN strftime(
            make_timestamp_ms((rank >> 10) & (({TIMED}) - 1)), '%Y-%m-%dT%H:%M:%SZ') END""",
    ),
}


def _combine(parts: Iterable[str]) -> str:
    return ", ".join(f"{PARTS[p][2]}({p}) AS {p}" for p in sorted(parts))


class Aggregator:
    """Takes raw batches, gives the page table.

    >>> with Aggregator() as pages:
    ...     pages.add(pa.RecordBatch.from_pydict({"url": ["http://a/", "http://a/"], "size": [7, 9]}))
    ...     pages.finish().select(["url", "size_min", "size_max", "hits"]).to_pylist()
    [{'url': 'http://a/', 'size_min': 7, 'size_max': 9, 'hits': 2}]
    """

    def __init__(
        self, memory: str | int | None = None, temp_dir: str | None = None, threads: int | None = None
    ) -> None:
        self._limit = MEMORY if memory is None else f"{memory}B" if isinstance(memory, int) else memory
        try:
            self._temp = tempfile.TemporaryDirectory(prefix="undust-", dir=temp_dir)
        except OSError as error:
            raise UsageError(f"cannot write to {temp_dir}: {error.strerror}") from None
        try:
            self._db = duckdb.connect(
                f"{self._temp.name}/parts.db",
                config={"temp_directory": self._temp.name, "memory_limit": self._limit},
            )
        except duckdb.IOException as error:
            self._temp.cleanup()
            raise UndustError(f"cannot write to {self._temp.name}: {str(error).splitlines()[0]}") from None
        except duckdb.Error:
            self._temp.cleanup()
            raise UsageError(f"{self._limit!r} is no amount of memory such as 4GB") from None
        if threads:
            self._db.execute(f"SET threads = {int(threads)}")
        self._db.execute("SET preserve_insertion_order = false")
        columns = ", ".join(f"{name} {type}" for name, (type, _, _) in PARTS.items())
        with self._explained():
            self._db.execute(f"CREATE TABLE parts (url VARCHAR, {columns})")
        self._parts: set[str] = {"rank", "hits"}
        self._chunk: list[pa.Table] = []
        self._rows = self._bytes = self._position = 0

    def __enter__(self) -> Aggregator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._db.close()
        self._temp.cleanup()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take a batch of raw records (columns of the raw schema, any but `url` may be missing)."""
        if batch.num_rows:
            self._chunk.append(pa.table(batch))
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            if self._rows >= CHUNK_ROWS or self._bytes >= CHUNK_BYTES:
                self._flush()

    def _flush(self) -> None:
        """Combine the records of the chunk."""
        if not self._chunk:
            return
        chunk: Any = pa.concat_tables(self._chunk, promote_options="default")
        given = set(chunk.column_names)
        parts = [p for p in PARTS if NEEDS.get(p, p) in given]
        self._parts.update(parts)
        position = np.arange(self._position, self._position + chunk.num_rows)
        self._position += chunk.num_rows
        self._chunk, self._rows, self._bytes = [], 0, 0
        columns = [f"NULL::{type} AS {name}" for name, type in RAW.items() if name not in given]
        columns += [*sorted(given - {"sketch", "digest"}), "position"]
        if "digest" in given:  # archives write it with and without its kind
            columns.append("CASE WHEN starts_with(digest, 'sha1:') THEN digest[6:] ELSE digest END AS digest")
        if "sketch" in given:
            kind = "sketch_kind" if "sketch_kind" in given else "NULL"
            columns.append(
                f"CASE WHEN sketch IS NOT NULL THEN {{'hashes': sketch, 'kind': {kind}}} END AS sketch"
            )
        self._db.register("chunk", chunk.append_column("position", pa.array(position)))
        with self._explained():
            self._db.execute(f"""
                INSERT INTO parts BY NAME
                SELECT url, {_combine(parts)}
                FROM (SELECT url, {", ".join(f"{PARTS[p][1]} AS {p}" for p in parts)}
                      FROM (SELECT {", ".join(columns)} FROM chunk))
                GROUP BY url""")
        self._db.unregister("chunk")

    def finish(self) -> pa.Table:
        """The pages, sorted by URL."""
        self._flush()
        with self._explained():
            pages = self._db.sql(f"{self._query(PAGE_SCHEMA.names)} ORDER BY url")
            return cast(pa.Table, pages.to_arrow_table().cast(PAGE_SCHEMA))

    def most(self) -> int:
        """There are no more pages than this."""
        self._flush()
        return int(self._db.execute("SELECT count(*) FROM parts").fetchall()[0][0])

    def batches(self, rows: int = 1 << 16) -> Iterator[pa.RecordBatch]:
        """The pages in no order, so that no table of them is needed; columns that no record had are left out."""
        self._flush()
        names = [name for name in PAGE_SCHEMA.names if PAGE.get(name, (name,))[0] in {*self._parts, "url"}]
        schema = pa.schema([PAGE_SCHEMA.field(name) for name in names])
        with self._explained():
            pages: Any = self._db.sql(self._query(names))
            # DuckDB 2 has renamed it.
            reader = pages.to_arrow_reader if hasattr(pages, "to_arrow_reader") else pages.fetch_record_batch
            for batch in reader(rows):
                yield batch.cast(schema)

    def _query(self, names: Iterable[str]) -> str:
        """The parts of each URL combined, as columns of the page table."""
        columns = []
        for name in names:
            part, value = PAGE.get(name, (name, name))
            columns.append(f"{value if part in {*self._parts, 'url'} else 'NULL'} AS {name}")
        return f"""
            SELECT {", ".join(columns)}
            FROM (SELECT url, {_combine(self._parts)} FROM parts GROUP BY url)"""

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What may go wrong on a machine, said in terms of what to do."""
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            full = "max_temp_directory_size" in str(error)
            hint = f"more room in {self._temp.name}" if full else f"more memory than {self._limit}"
            raise UndustError(f"the pages do not fit: allow {hint}") from None
        except duckdb.Error as error:  # a full disk comes as one of several, whatever was being done
            why = str(error).splitlines()[0]
            raise UndustError(f"the pages cannot be combined in {self._temp.name}: {why}") from None
