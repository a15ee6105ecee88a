"""Cut many URLs at once: the bytes of a site as one buffer, its pieces as dictionary codes.

The pieces of a URL (tokens, or fields and what separates them) lie side by side, so their boundaries *are*
the offsets of an Arrow array over the buffer, and Arrow numbers the distinct pieces without a string being
made in Python. What the structure of a URL is says `syntax`; here it is only found for all URLs together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .syntax import parse

Bool = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint8]
Urls: TypeAlias = "Sequence[str] | pa.Array[Any] | pa.ChunkedArray[Any]"

# What a piece is, told by what stands before it.
HEAD, SEGMENT, PARAMETER, FIELD, VALUE, FRAGMENT = range(6)
EMPTY = 0  # number of the empty piece: the first URL begins with an empty separator

_CHUNK = 1 << 21  # bytes of URLs whose work arrays are alive at a time; 2**20 to 2**23 are equally fast


def _table(chars: bytes) -> Bool:
    table = np.zeros(256, np.bool_)
    table[np.frombuffer(chars, np.uint8)] = True
    return table


_ALNUM = _table(bytes(c for c in range(256) if c >= 0x80 or chr(c).isalnum()))
_STRUCTURE = _table(b"/?#;&=")
_HEAD_END = _table(b"/?#")


class Buffer(NamedTuple):
    """The bytes of all URLs and where each begins; `errors` is how pieces become `str` again."""

    data: Bytes
    bounds: Int64
    errors: str

    @classmethod
    def of(cls, urls: Urls) -> Buffer:
        """Bytes of `urls`. A lone surrogate of a `str` gets bytes of its own: no two URLs become one."""
        array: Any
        if isinstance(urls, pa.Array | pa.ChunkedArray):
            array, errors = urls.cast(pa.large_binary()), "surrogateescape"
            if isinstance(array, pa.ChunkedArray):
                array = array.combine_chunks()
        else:
            errors = "surrogatepass"
            try:
                array = pa.array(urls, pa.large_string())
            except UnicodeEncodeError:
                array = pa.array([url.encode("utf-8", errors) for url in urls], pa.large_binary())
        if array.null_count:
            raise ValueError("a URL is missing (null)")
        _, offsets, values = array.buffers()
        bounds = np.zeros(1, np.int64)
        if len(array):
            bounds = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
        data = np.zeros(0, np.uint8) if values is None else np.frombuffer(values, np.uint8)
        return cls(data[bounds[0] : bounds[-1]], bounds - bounds[0], errors)

    def chunks(self) -> Iterator[tuple[int, int, Bytes, Int64]]:
        """(first row, row after the last, bytes, bounds in them) of parts small enough for the caches."""
        first, n = 0, len(self.bounds) - 1
        while first < n:
            start = self.bounds[first]
            last = int(np.searchsorted(self.bounds, start + _CHUNK))
            last = min(max(last, first + 1), n)
            yield first, last, self.data[start : self.bounds[last]], self.bounds[first : last + 1] - start
            first = last

    def urls(self) -> list[str]:
        """The URLs again."""
        return self.strings(_arrow(pa.large_binary(), self.data, self.bounds))

    def strings(self, pieces: Any) -> list[str]:
        """Pieces as `str`."""
        try:
            return cast("list[str]", pieces.cast(pa.large_string()).to_pylist())
        except pa.ArrowInvalid:
            return [piece.decode("utf-8", self.errors) for piece in pieces.to_pylist()]


def _arrow(kind: Any, data: Bytes, offsets: Int64 | Int32) -> Any:
    """Side by side pieces of `data` as an Arrow array; nothing is copied."""
    buffers = [None, *(pa.py_buffer(cast("Any", part)) for part in (offsets, data))]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)


def _numbered(spans: list[Any]) -> tuple[list[Int32], Any]:
    """Numbers of the pieces of every part, in order of first occurrence over all, and the distinct pieces."""
    coded: Any = pc.dictionary_encode(pa.chunked_array(spans, pa.binary()))
    spans.clear()  # tens of offsets per URL
    pieces = coded.chunks[-1].dictionary if coded.num_chunks else pa.array([], pa.binary())
    return [chunk.indices.to_numpy() for chunk in coded.chunks], pieces


class Cut(NamedTuple):
    """Pieces of all URLs, in order: in which URL, what they are, their number in `pieces` (0 is empty)."""

    rows: Int32
    kinds: Kinds
    ids: Int32
    pieces: Any


def cut_tokens(buffer: Buffer) -> tuple[Int32, Int64, Any]:
    """(token numbers, bounds of the URLs among them, distinct tokens), the latter from number 2 on.

    Every URL begins with 0 and ends with 1, the marks `^` and `$`.
    """
    spans, counts, parts = [], [], []
    for first, last, data, bounds in buffer.chunks():
        alnum = _ALNUM[data]
        begins = ~alnum
        begins[1:] |= begins[:-1].copy()
        begins[bounds[:-1][bounds[:-1] < len(data)]] = True
        starts = np.flatnonzero(begins)
        counts.append(np.diff(np.searchsorted(starts, bounds)) + 2)
        if len(starts):
            spans.append(_arrow(pa.binary(), data, np.append(starts, len(data)).astype(np.int32)))
            parts.append((first, last))
    offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *counts]))
    ids = np.empty(offsets[-1], np.int32)
    numbers, pieces = _numbered(spans)
    for (first, last), numbers_of_part in zip(parts, numbers, strict=True):
        begin, end = offsets[first], offsets[last]
        unmarked = np.ones(end - begin, np.bool_)
        unmarked[offsets[first:last] - begin] = False
        unmarked[offsets[first + 1 : last + 1] - 1 - begin] = False
        ids[begin:end][unmarked] = numbers_of_part + np.int32(2)
    ids[offsets[:-1]], ids[offsets[1:] - 1] = 0, 1
    return ids, offsets, pieces


def cut_fields(buffer: Buffer) -> Cut:
    """Cut every URL into head (scheme and authority), segments, parameters, fields, values and fragment."""
    spans, rows, kinds = [], [], []
    for first, _, data, bounds in buffer.chunks():
        row, kind, offsets = _cut_chunk(data, bounds)
        rows.append(row + np.int32(first))
        kinds.append(kind)
        spans.append(_arrow(pa.binary(), data, offsets.astype(np.int32)))
    if not spans:
        empty = np.zeros(0, np.int32)
        return Cut(empty, np.zeros(0, np.uint8), empty, pa.array([], pa.binary()))
    ids, pieces = _numbered(spans)
    # Every second piece is a separator.
    return Cut(np.concatenate(rows), np.concatenate(kinds), np.concatenate([i[1::2] for i in ids]), pieces)


def _cut_chunk(data: Bytes, bounds: Int64) -> tuple[Int32, Kinds, Int64]:
    """(row, kind, offsets): piece i is `data[offsets[2i+1]:offsets[2i+2]]`, its separator stands before."""
    starts, ends = bounds[:-1], bounds[1:]
    n = len(starts)
    at = np.flatnonzero(_STRUCTURE[data])
    char = data[at]
    row = np.repeat(np.arange(n, dtype=np.int32), np.diff(np.searchsorted(at, bounds)))
    paths = _path_starts(data, bounds, at[_HEAD_END[char]])
    kind = _kinds(at, char, row, paths, ends)
    kept = kind != HEAD
    at, row, kind = at[kept], row[kept], kind[kept]

    # Every URL also has a head, and a path that begins without a slash a first segment without a separator.
    bare = (paths < ends) & ~_HEAD_END[np.append(data, np.uint8(0))[paths]]
    bare_until = np.cumsum(bare)
    all_rows = np.arange(n, dtype=np.int32)
    place = np.arange(len(at)) + row + 1 + bare_until[row]
    head_place = np.searchsorted(row, all_rows) + all_rows + bare_until - bare
    bare_place = head_place[bare] + 1

    count = len(at) + n + len(bare_place)
    out_row, out_kind, offsets = (
        np.empty(count, np.int32),
        np.empty(count, np.uint8),
        np.empty((count, 2), np.int64),
    )
    for where, rows, kinds, separators, pieces in (
        (place, row, kind, at, at + 1),
        (head_place, all_rows, HEAD, starts, starts),
        (bare_place, all_rows[bare], SEGMENT, paths[bare], paths[bare]),
    ):
        out_row[where], out_kind[where] = rows, kinds
        offsets[where, 0], offsets[where, 1] = separators, pieces
    return out_row, out_kind, np.append(offsets.ravel(), len(data))


def _path_starts(data: Bytes, bounds: Int64, head_ends: Int64) -> Int64:
    """Where the path of every URL begins, as `parse` has it."""
    starts, ends = bounds[:-1], bounds[1:]
    begin = np.append(data, np.zeros(8, np.uint8))[starts[:, None] + np.arange(8)]
    http = (begin[:, :7] == np.frombuffer(b"http://", np.uint8)).all(1) & (ends - starts >= 7)
    https = (begin == np.frombuffer(b"https://", np.uint8)).all(1) & (ends - starts >= 8)
    absolute = (begin[:, 0] == ord("/")) & (begin[:, 1] != ord("/"))
    after_slashes = starts + 7 + https
    head_end = np.append(head_ends, len(data))[np.searchsorted(head_ends, after_slashes)]
    out = np.where(http | https, np.minimum(head_end, ends), starts)
    for row in np.flatnonzero(~(http | https | absolute) & (starts < ends)):
        scheme, authority, *_ = parse(data[starts[row] : ends[row]].tobytes().decode("latin-1"))
        out[row] += (0 if scheme is None else len(scheme) + 1) + (
            0 if authority is None else len(authority) + 2
        )
    return out


def _kinds(at: Int64, char: Bytes, row: Int32, paths: Int64, ends: Int64) -> Kinds:
    """What each structural character begins; HEAD: nothing, it is part of a piece."""
    slash, mark, number, semicolon, ampersand, equals = (char == ord(c) for c in "/?#;&=")
    fragments = _first(at, row, number, ends)
    queries = _first(at, row, mark & (at < fragments[row]), fragments)
    in_path = (at >= paths[row]) & (at < queries[row])
    in_query = (at > queries[row]) & (at < fragments[row])

    kind = np.full(len(at), HEAD, np.uint8)
    kind[slash & in_path] = SEGMENT
    first_field = mark & (at == queries[row])
    kind[first_field | (ampersand & in_query)] = FIELD
    kind[at == fragments[row]] = FRAGMENT
    if semicolon.any():
        kind[_parameters(at, row, in_path & slash, in_path & semicolon, in_path & equals)] = PARAMETER
        with_ampersand = np.zeros(len(ends), np.bool_)
        with_ampersand[row[ampersand & in_query]] = True
        in_query &= ~with_ampersand[row]
        kind[_semicolon_fields(at, row, first_field, in_query & semicolon, in_query & equals)] = FIELD
    kind[_values(kind, row, equals)] = VALUE
    return kind


def _first(at: Int64, row: Int32 | Int64, which: Bool, default: Int64) -> Int64:
    """Per row the first of the positions asked for, else the default."""
    out = default.copy()
    found = np.flatnonzero(which)[::-1]  # of several assignments to a row the last one stays
    out[row[found]] = at[found]
    return out


def _named(at: Int64, row: Int32, begins: Bool, equals: Bool) -> Bool:
    """Which of the beginnings are followed by a name that is not empty, and `=`."""
    out = begins[:-1] & equals[1:] & (row[:-1] == row[1:]) & (at[:-1] + 1 < at[1:])
    return np.append(out, np.zeros(len(begins) - len(out), np.bool_))


def _parameters(at: Int64, row: Int32, slash: Bool, semicolon: Bool, equals: Bool) -> Int64:
    """The `;` from the first one on in its segment that is followed by `name=`."""
    some = np.flatnonzero(slash | semicolon | equals)
    at, row, slash, semicolon, equals = at[some], row[some], slash[some], semicolon[some], equals[some]
    segment: Int64 = np.cumsum(slash | (np.diff(row, prepend=-1) > 0))
    none = np.full(len(some) + 1, np.iinfo(np.int64).max)
    begin = _first(at, segment, _named(at, row, semicolon, equals), none)
    return some[semicolon & (at >= begin[segment])]


def _semicolon_fields(at: Int64, row: Int32, first_field: Bool, semicolon: Bool, equals: Bool) -> Int64:
    """The `;` of queries in which two or more of the pieces between them are `name=value`."""
    some = np.flatnonzero(first_field | semicolon | equals)
    at, row, semicolon, equals = at[some], row[some], semicolon[some], equals[some]
    named = np.bincount(row[_named(at, row, semicolon | first_field[some], equals)], minlength=1)
    return some[semicolon & (np.append(named, np.zeros(row.max(initial=0) + 1, int))[row] >= 2)]


def _values(kind: Kinds, row: Int32, equals: Bool) -> Int64:
    """The first `=` of every field and parameter."""
    some = np.flatnonzero((kind != HEAD) | equals)
    before = np.append(np.uint8(HEAD), kind[some[:-1]])
    same_url = np.append(np.int32(-1), row[some[:-1]]) == row[some]
    first: Bool = equals[some] & same_url & ((before == FIELD) | (before == PARAMETER))
    return some[first]
