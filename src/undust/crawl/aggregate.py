"""From raw records to one row per URL, out of core.

Every record is first written as a page of its own; `COMBINE` then merges pages of one URL, first within a chunk of
records as it arrives, at the end over all chunks: the merge is associative, so the order of chunks does not matter
and only distinct URLs are stored. Each value that may change over time carries the rank of the record it is from;
the greatest pair (rank, value) wins, so that ties too are broken the same way every time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from types import TracebackType

import duckdb
import numpy as np
import pyarrow as pa

from undust.crawl.pages import PAGE_SCHEMA
from undust.errors import UsageError

CHUNK_ROWS = 1 << 20
CHUNK_BYTES = 1 << 27

MEMORY = "3GB"
"""DuckDB's share by default; blocks, chunks and the resulting table come on top."""

TIME_BIT = 50
"""Set in the middle part of a rank when that part is a time (ms since 1970), not a position."""

# The rank of a record: a good answer (2xx) before others, and these before none; a known time before an unknown
# one, later before earlier (position in the input where there is no time); the status itself in the lowest bits.
RANK = f"""(
    (CASE WHEN status IS NULL THEN 0 WHEN status BETWEEN 200 AND 299 THEN 2 ELSE 1 END)::BIGINT << 61
) | ((CASE WHEN fetched_at IS NULL THEN position
           ELSE (1::BIGINT << {TIME_BIT}) | greatest(0, epoch_ms(fetched_at)) END) << 10
) | coalesce(status, 0)"""

ALIVE = "(status IS NULL OR status BETWEEN 200 AND 399)"
BODY = "(status IS NULL OR status BETWEEN 200 AND 299 AND status <> 206)"
"""Only a whole body tells a size: 206 is a part, 304 none, an error page is another page."""

RANKED = {
    "location": ("VARCHAR", ALIVE),
    "content_type": ("VARCHAR", ALIVE),
    "digest": ("VARCHAR", ALIVE),
    "sketch": ("STRUCT(hashes UBIGINT[], kind VARCHAR)", ALIVE),
    "canonical": ("VARCHAR", ALIVE),
    "text_len": ("BIGINT", ALIVE),
    "cluster": ("VARCHAR", "true"),
    "soft": ("BOOLEAN", "true"),
}
"""Taken from the last record that has them: column -> type, which records count."""

# One part of a page -> (type, from a raw record, how parts of one URL combine).
PARTS = {
    "rank": ("BIGINT", "rank", "max"),
    "hits": ("HUGEINT", "coalesce(hits, 1)", "sum"),
    "size_min": ("BIGINT", f"CASE WHEN {BODY} THEN size END", "min"),
    "size_max": ("BIGINT", f"CASE WHEN {BODY} THEN coalesce(size_max, size) END", "max"),
    "importance": ("DOUBLE", "importance", "max"),
} | {
    name: (
        f"STRUCT(rank BIGINT, value {type})",
        f"CASE WHEN {name} IS NOT NULL AND {when} THEN {{'rank': rank, 'value': {name}}} END",
        "max",
    )
    for name, (type, when) in RANKED.items()
}
SIZED = {"size_min": "size", "size_max": "size"}
ALWAYS = frozenset(("rank", "hits"))


def _combine(parts: Iterable[str]) -> str:
    return ", ".join(f"{PARTS[p][2]}({p}) AS {p}" for p in parts)


RAW_TYPES = {
    "status": "SMALLINT",
    "size": "BIGINT",
    "size_max": "BIGINT",
    "hits": "BIGINT",
    "sketch_kind": "VARCHAR",
    "fetched_at": "TIMESTAMP",
}
"""Columns the expressions above read even where a batch has none."""
SKETCH = "CASE WHEN sketch IS NOT NULL THEN {'hashes': sketch, 'kind': sketch_kind} END AS sketch"


class Aggregator:
    """Takes raw batches, gives the page table.

    >>> with Aggregator() as pages:
    ...     pages.add(pa.RecordBatch.from_pydict({"url": ["http://a/", "http://a/"], "size": [7, 9]}))
    ...     pages.finish().select(["url", "size_min", "size_max", "hits"]).to_pylist()
    [{'url': 'http://a/', 'size_min': 7, 'size_max': 9, 'hits': 2}]
    """

    def __init__(
        self, memory: str | int | None = None, temp_dir: str | None = None, threads: int | None = None
    ):
        self._temp = tempfile.TemporaryDirectory(prefix="undust-", dir=temp_dir)
        limit = MEMORY if memory is None else f"{memory}B" if isinstance(memory, int) else memory
        try:
            self._db = duckdb.connect(config={"temp_directory": self._temp.name, "memory_limit": limit})
        except duckdb.Error:
            self._temp.cleanup()
            raise UsageError(f"{limit!r} is no amount of memory such as 4GB") from None
        if threads:
            self._db.execute(f"SET threads = {int(threads)}")
        self._db.execute("SET preserve_insertion_order = false")
        columns = ", ".join(f"{name} {type}" for name, (type, _, _) in PARTS.items())
        self._db.execute(f"CREATE TABLE parts (url VARCHAR, {columns})")
        self._seen: set[str] = set(ALWAYS)
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
        if not batch.num_rows:
            return
        self._chunk.append(pa.table(batch))
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= CHUNK_ROWS or self._bytes >= CHUNK_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Write the chunk as parts, combined per URL."""
        if not self._chunk:
            return
        chunk = pa.concat_tables(self._chunk, promote_options="default")
        position = np.arange(self._position, self._position + chunk.num_rows)
        self._position += chunk.num_rows
        self._chunk, self._rows, self._bytes = [], 0, 0
        given = set(chunk.column_names)
        present = [p for p in PARTS if p in ALWAYS or SIZED.get(p, p) in given]
        self._seen.update(present)
        absent = ", ".join(f"NULL::{type} AS {name}" for name, type in RAW_TYPES.items() if name not in given)
        self._db.register("chunk", chunk.append_column("position", pa.array(position)))
        self._db.execute(f"""
            INSERT INTO parts BY NAME
            SELECT url, {_combine(present)} FROM (
                SELECT url, {", ".join(f"{PARTS[p][1]} AS {p}" for p in present)} FROM (
                    SELECT * {"REPLACE (%s)" % SKETCH if "sketch" in given else ""}, {RANK} AS rank
                    FROM (SELECT *{", " + absent if absent else ""} FROM chunk)))
            GROUP BY url""")
        self._db.unregister("chunk")

    def finish(self) -> pa.Table:
        """The pages, sorted by URL."""
        self._flush()
        value = {name: f"{name}.value" for name in RANKED} | {
            "status": "nullif(rank & 1023, 0)",
            "sketch": "sketch.value.hashes",
            "sketch_kind": "sketch.value.kind",
            "fetched_at": f"""CASE WHEN (rank >> 10) & (1::BIGINT << {TIME_BIT}) <> 0 THEN
                strftime(make_timestamp_ms((rank >> 10) & ((1::BIGINT << {TIME_BIT}) - 1)), '%Y-%m-%dT%H:%M:%SZ') END""",
        }
        source = {"status": "rank", "sketch_kind": "sketch", "fetched_at": "rank", "url": "url"}
        columns = [
            f"{value.get(f.name, f.name) if source.get(f.name, f.name) in self._seen | {'url'} else 'NULL'} AS {f.name}"
            for f in PAGE_SCHEMA
        ]
        pages = self._db.sql(f"""
            SELECT {", ".join(columns)}
            FROM (SELECT url, {_combine(sorted(self._seen))} FROM parts GROUP BY url) ORDER BY url""")
        return pages.to_arrow_table().cast(PAGE_SCHEMA)
