"""The table of aliases: URLs that were seen, each with the canonical URL of the page it showed.

What no rule can say (`?p=1234` is the topic that holds message 1234) a table can, for the pages that were seen. It is
kept beside the book as Parquet and used before the rules. Ten million aliases take 320 MB of memory: hashes, and
where the texts stand in a file that is mapped, not read.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, BinaryIO, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from undust.errors import InputError, UsageError
from undust.files import replacing

BATCH: Final = 1 << 16
UNSAID: Final = ""

Alias = tuple[str, str, str]
"""URL, canonical URL, and by what it is known (`redirect`, `canonical`, `digest`, `given`; empty: not said)."""

SCHEMA: Final = pa.schema([("url", pa.string()), ("canonical", pa.string()), ("via", pa.string())])


class Found(NamedTuple):
    """What the table says of a URL."""

    url: str
    via: str


class AliasTable:
    """Canonical URLs of URLs that were seen.

    >>> table = AliasTable.of([("http://a.test/?p=7", "http://a.test/t-1", "redirect")])
    >>> table.look(["http://a.test/?p=7", "http://a.test/?p=8"])
    ['http://a.test/t-1', None]
    >>> len(table), table.find("http://a.test/?p=7")
    (1, Found(url='http://a.test/t-1', via='redirect'))
    """

    def __init__(self, batches: Iterable[pa.RecordBatch], name: str = "aliases") -> None:
        self.name = name
        self._texts, columns, self._vias = _spooled(batches, name)
        order = np.argsort(columns[0], kind="stable")
        self._hash, self._at, self._size, self._to, self._to_size, self._via, row = (
            c[order] for c in columns
        )
        self._row = row
        self._settle()
        del self._row

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> AliasTable:
        """From a Parquet file with the columns `url` and `canonical`; InputError says what is wrong with it."""
        import pyarrow.parquet as pq  # only who has a table waits for it

        name = os.fspath(path)
        try:
            file = pq.ParquetFile(name)
        except OSError as error:
            raise InputError(name, None, error.strerror or "cannot be opened") from None
        except pa.ArrowException:
            raise InputError(name, None, "this is no Parquet file", _HINT) from None
        with file:
            _check(file.schema_arrow, name)
            columns = [c for c in SCHEMA.names if c in file.schema_arrow.names]
            try:
                table = cls(file.iter_batches(BATCH, columns=columns), name)
            except (pa.ArrowException, OSError) as error:
                raise InputError(name, None, f"damaged or cut off: {error}") from None
        table._path = os.path.abspath(name)
        return table

    @classmethod
    def of(cls, aliases: Iterable[Alias | tuple[str, str]], name: str = "aliases") -> AliasTable:
        """From rows of URL, canonical URL and, if it is known, by what they are known to be the same."""
        return cls([_batch([(a[0], a[1], a[2] if len(a) > 2 else UNSAID) for a in aliases])], name)

    _path: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is not None:
            return _loaded, (self._path, os.stat(self._path).st_mtime_ns)
        return AliasTable.of, (list(self), self.name)

    def __len__(self) -> int:
        return len(self._hash)

    def __iter__(self) -> Iterator[Alias]:
        """The aliases, in no order that means anything."""
        for row in range(len(self)):
            yield self._url(row), self._canonical(row), self._vias[self._via[row]]

    def look(self, urls: Sequence[str]) -> list[str | None]:
        """The canonical URL of each, None for those that are not in the table."""
        out: list[str | None] = [None] * len(urls)
        for number, row in self._rows(urls):
            out[number] = self._canonical(row)
        return out

    def find(self, url: str) -> Found | None:
        """What the table says of one URL."""
        for _, row in self._rows([url]):
            return Found(self._canonical(row), self._vias[self._via[row]])
        return None

    def _rows(self, urls: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Which of the URLs are in the table, and where: the hash leads there, the text decides."""
        raw = [url.encode("utf-8", "surrogatepass") for url in urls]
        wanted = np.fromiter(map(xxhash.xxh3_64_intdigest, raw), np.uint64, len(raw))
        at = np.searchsorted(self._hash, wanted)
        near = np.flatnonzero(at < len(self))
        for number in near[self._hash[at[near]] == wanted[near]].tolist():
            row = int(at[number])
            while row < len(self) and self._hash[row] == wanted[number]:
                if self._bytes(self._at[row], self._size[row]) == raw[number]:
                    yield number, row
                    break
                row += 1

    def _bytes(self, at: int, size: int) -> bytes:
        return self._texts[at : at + size]

    def _url(self, row: int) -> str:
        return self._bytes(self._at[row], self._size[row]).decode("utf-8", "surrogatepass")

    def _canonical(self, row: int) -> str:
        return self._bytes(self._to[row], self._to_size[row]).decode("utf-8", "surrogatepass")

    def _settle(self) -> None:
        """Each URL once, none that is its own alias, and every alias at the end of its chain."""
        kept = self._once()
        for name in ("_hash", "_at", "_size", "_to", "_to_size", "_via", "_row"):
            setattr(self, name, getattr(self, name)[kept])
        step = np.full(len(self), -1, np.int64)
        for start in range(0, len(self), BATCH):
            stop = min(start + BATCH, len(self))
            for number, row in self._rows([self._canonical(row) for row in range(start, stop)]):
                step[start + number] = row
        if not (step >= 0).any():
            return
        # Doubling the stride reaches the end of any chain in as many rounds as its length has bits.
        end = np.where(step >= 0, step, np.arange(len(self)))
        for _ in range(len(self).bit_length()):
            end = end[end]
        if (circle := np.flatnonzero(step[end] >= 0)).size:
            first = int(circle[np.argmin(self._row[circle])])
            why = f"the alias of {_shown(self._url(first))} runs in a circle"
            raise InputError(self.name, None, f"row {self._row[first] + 1}: {why}", _HINT)
        self._to, self._to_size = self._to[end], self._to_size[end]

    def _once(self) -> NDArray[np.bool_]:
        """All but repetitions and URLs that stand for themselves; two canonical URLs for one are an error."""
        kept = np.ones(len(self), bool)
        for row in np.flatnonzero(self._size == self._to_size).tolist():
            kept[row] = self._url(row) != self._canonical(row)
        for row in np.flatnonzero(self._hash[1:] == self._hash[:-1]).tolist():
            # Rows of one hash are nearly always one URL; different ones stay side by side.
            for other in range(row, -1, -1):
                if self._hash[other] != self._hash[row + 1]:
                    break
                if self._url(other) == self._url(row + 1):
                    if self._canonical(other) != self._canonical(row + 1):
                        why = f"{_shown(self._url(other))} has two canonical URLs"
                        raise InputError(self.name, None, f"row {self._row[row + 1] + 1}: {why}", _HINT)
                    kept[row + 1] = False
                    break
        return kept


@lru_cache(maxsize=4)
def _loaded(path: str, changed: int) -> AliasTable:
    """Once a process, however many tasks of it ask."""
    return AliasTable.load(path)


_HINT = "undust learn ... --aliases FILE writes such a table"


def write(path: str | os.PathLike[str], aliases: Iterable[Alias]) -> int:
    """Write a table, sorted by URL, beside `path` and rename it; gives the number of aliases."""
    import pyarrow.parquet as pq

    rows = sorted(aliases)
    with replacing(path, compress=False) as file, pq.ParquetWriter(file, SCHEMA, compression="zstd") as out:
        for start in range(0, len(rows), BATCH):
            out.write_batch(_batch(rows[start : start + BATCH]))
    return len(rows)


def _batch(rows: Sequence[Alias]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    try:
        arrays = [pa.array(column, pa.string()) for column in columns]
    except UnicodeEncodeError:
        raise UsageError("an alias must be text that can be written as UTF-8") from None
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _check(schema: pa.Schema, name: str) -> None:
    for column in ("url", "canonical"):
        if column not in schema.names:
            raise InputError(name, None, f"no table of aliases: it has no column `{column}`", _HINT)
    for column in SCHEMA.names:
        if column in schema.names:
            type_ = schema.field(column).type
            type_ = type_.value_type if pa.types.is_dictionary(type_) else type_
            if not (pa.types.is_string(type_) or pa.types.is_large_string(type_)):
                raise InputError(name, None, f"no table of aliases: `{column}` is {type_}, not text", _HINT)


def _spooled(batches: Iterable[pa.RecordBatch], name: str) -> tuple[bytes, list[NDArray[Any]], list[str]]:
    """The texts one after the other in a file without a name, and per alias its hash and where its texts stand."""
    vias: dict[str, int] = {}
    parts: list[list[NDArray[Any]]] = []
    at = row = 0
    with tempfile.TemporaryFile(prefix="undust-") as file:
        for batch in batches:
            texts = [_texts(batch, column, name, row) for column in ("url", "canonical")]
            n = len(batch)
            said = batch.column("via").to_pylist() if "via" in batch.schema.names else [UNSAID] * n
            codes = [vias.setdefault(via or UNSAID, len(vias)) for via in said]
            if len(vias) > 256:
                raise InputError(name, None, "no table of aliases: `via` has more than 256 values", _HINT)
            size, to_size = (np.fromiter(map(len, t), np.uint32, n) for t in texts)
            start = at + np.cumsum(np.r_[0, size[:-1].astype(np.int64) + to_size[:-1]])[:n]
            file.write(b"".join(text for pair in zip(*texts, strict=True) for text in pair))
            hashed = np.fromiter(map(xxhash.xxh3_64_intdigest, texts[0]), np.uint64, n)
            rows = np.arange(row, row + n)
            parts.append([hashed, start, size, start + size, to_size, np.array(codes, np.uint8), rows])
            at += int(size.sum()) + int(to_size.sum())
            row += n
        file.flush()
        kinds = (np.uint64, np.int64, np.uint32, np.int64, np.uint32, np.uint8, np.int64)
        columns = [
            np.concatenate([np.zeros(0, kind), *(part[i] for part in parts)]) for i, kind in enumerate(kinds)
        ]
        return _mapped(cast(BinaryIO, file)) if at else b"", columns, list(vias)


def _mapped(file: BinaryIO) -> bytes:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with suppress(AttributeError, OSError):
        mapped.madvise(mmap.MADV_RANDOM)
    return cast(bytes, mapped)  # slices of it are bytes


def _texts(batch: pa.RecordBatch, column: str, name: str, row: int) -> list[bytes]:
    try:
        values = batch.column(column).to_pylist()
    except UnicodeDecodeError:
        raise InputError(
            name, None, f"after row {row}: `{column}` holds bytes that are not UTF-8", _HINT
        ) from None
    out = []
    for number, value in enumerate(values):
        if not value or "\n" in value or "\r" in value or "://" not in value:
            what = "nothing" if not value else f"{_shown(value)}, which is no URL"
            raise InputError(name, None, f"row {row + number + 1}: `{column}` holds {what}", _HINT)
        out.append(value.encode("utf-8", "surrogatepass"))
    return out


def _shown(url: str) -> str:
    return ascii(url)[1:-1] if len(url) <= 100 else ascii(url[:97])[1:-1] + "..."
