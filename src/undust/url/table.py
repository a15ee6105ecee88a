"""The URLs of a site as integers: one column of codes per key, one array of token numbers.

Learners compare, count and group these codes; a string is made only for what is asked for by name.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .cut import EMPTY, FIELD, HEAD, PARAMETER, SEGMENT, VALUE, Buffer, Cut, Urls, cut_fields, cut_tokens
from .keys import WHOLE_KEYS, head_keys, named_key, path_keys
from .syntax import parse
from .tokens import END, START

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


_HEAD_KEYS = ("scheme", "host", "port")


class Column(NamedTuple):
    """`values[codes[i]]` is the value of URL i; code 0 is "absent", `values[0]` is None.

    Codes are given in the order in which the values occur first.
    """

    codes: Int32
    values: list[str | None]


class Tokens(NamedTuple):
    """`vocab[t] for t in ids[offsets[i]:offsets[i+1]]` are the tokens of URL i; 0 is `^`, 1 is `$`.

    A `^` or `$` written in a URL has another number than the mark.
    """

    ids: Int32
    offsets: Int64
    vocab: list[str]


class _Cells(NamedTuple):
    """The non-empty cells of some columns, column after column, and the distinct values of each."""

    keys: dict[str, int]
    bounds: Int64
    rows: Int32
    codes: Int32
    value_bounds: Int64
    values: Int32

    @classmethod
    def of(cls, keys: Sequence[str], columns: Int32, rows: Int32, values: Int32) -> _Cells:
        """Cells given in order of rows, `values` numbered over all columns, are numbered column by column."""
        step = int(values.max(initial=0)) + 1
        cells, pairs = _numbered(columns.astype(np.int64) * step + values)
        pair_columns = (pairs // step).astype(np.int32)
        by_column = _stable_order(pair_columns, len(keys))
        value_bounds = np.searchsorted(pair_columns[by_column], np.arange(len(keys) + 1))
        code = np.empty(len(pairs), np.int32)
        code[by_column] = np.arange(1, len(pairs) + 1) - value_bounds[pair_columns[by_column]]
        order = _stable_order(columns, len(keys))
        bounds = np.cumsum(np.append(0, np.bincount(columns, minlength=len(keys))))
        numbers = {key: i for i, key in enumerate(keys)}
        in_order = (pairs % step).astype(np.int32)[by_column]
        return cls(numbers, bounds, rows[order], code[cells][order], value_bounds, in_order)


class SiteTable:
    """The dictionary-coded URLs of one site.

    `n` URLs, `urls` as they were given; `keys` that occur, whole components aside: scheme, host labels, port,
    path positions from both ends, path parameters, query fields. The cells of the table are kept sparse, so
    a site with ten thousand parameter names costs no more than one with ten. A dense column is made anew
    whenever it is asked for: keep it while you need it.

    >>> table = SiteTable.build(["http://example.com/a?x=1", "http://example.com/b", "http://example.com/a?x=2"])
    >>> table.keys
    ['scheme', 'host[0]', 'path[0]', 'path[-1]', 'query[x]']
    >>> table.column("query[x]")
    Column(codes=array([1, 0, 2], dtype=int32), values=[None, '1', '2'])
    >>> table.columns(["path[0]", "query[x]"]).tolist()
    [[1, 1], [2, 0], [1, 2]]
    >>> [table.tokens.vocab[i] for i in table.tokens.ids[-4:]]
    ['x', '=', '2', '$']
    """

    def __init__(self, urls: Urls) -> None:
        self.n = len(urls)
        self._given = urls
        self._buffer = Buffer.of(urls)
        cut = cut_fields(self._buffer)
        self._pieces = cut.pieces
        self._heads, distinct = _numbered(cut.ids[cut.kinds == HEAD])
        heads = (parse(head) for head in self._strings(distinct))
        self._head_keys = [dict(head_keys(scheme, authority)) for scheme, authority, *_ in heads]
        segments = cut.kinds == SEGMENT
        self._segments = cut.rows[segments], cut.ids[segments]
        self._depth: Int64 = np.bincount(self._segments[0], minlength=self.n)
        self._fields = {
            kind: self._named(cut, mark, kind) for kind, mark in (("matrix", PARAMETER), ("query", FIELD))
        }

    @classmethod
    def build(cls, urls: Urls) -> SiteTable:
        """Table of `urls` as they are given: bring them into normal form before."""
        return cls(urls)

    @functools.cached_property
    def urls(self) -> npt.NDArray[np.object_]:
        """The URLs as an array of `str`."""
        out: npt.NDArray[np.object_] = np.empty(self.n, dtype=object)
        out[:] = self._given if isinstance(self._given, list) else self._buffer.urls()
        return out

    @functools.cached_property
    def keys(self) -> list[str]:
        """Keys that occur, in an order that does not depend on that of the URLs."""
        heads = {key for view in self._head_keys for key in view} - WHOLE_KEYS
        deepest = int(self._depth.max(initial=0))
        return [
            *sorted(heads, key=_head_order),
            *path_keys(deepest, from_end=False),
            *path_keys(deepest, from_end=True),
            *(key for cells in self._fields.values() for key in sorted(cells.keys)),
        ]

    def column(self, key: str) -> Column:
        """Codes and values of a key, of whole components too; zeros if no URL has it.

        >>> SiteTable.build(["http://example.com/a?", "http://example.com/a"]).column("query")
        Column(codes=array([1, 0], dtype=int32), values=[None, ''])
        """
        if key.startswith(_HEAD_KEYS):
            return self._head_column(key)
        if key in WHOLE_KEYS:
            return self._whole(key)
        cells = self._cells(key)
        number = cells.keys.get(key)
        if number is None:
            return Column(np.zeros(self.n, np.int32), [None])
        distinct = cells.values[slice(*cells.value_bounds[number : number + 2])]
        return Column(self._dense(cells, number), [None, *self._strings(distinct)])

    def codes(self, key: str) -> Int32:
        """The codes of `column`, without making strings of the values.

        >>> SiteTable.build(["/?x=1", "/", "/?x=2"]).codes("query[x]").tolist()
        [1, 0, 2]
        """
        if key.startswith(_HEAD_KEYS) or key in WHOLE_KEYS:
            return self.column(key).codes
        cells = self._cells(key)
        number = cells.keys.get(key)
        return np.zeros(self.n, np.int32) if number is None else self._dense(cells, number)

    def count(self, key: str) -> int:
        """How many URLs have the key; cheap, to choose columns by before they are made.

        >>> SiteTable.build(["/?x=1", "/", "/?x=2"]).count("query[x]")
        2
        """
        if key.startswith(_HEAD_KEYS) or key in WHOLE_KEYS:
            return int(np.count_nonzero(self.codes(key)))
        cells = self._cells(key)
        number = cells.keys.get(key)
        return 0 if number is None else int(cells.bounds[number + 1] - cells.bounds[number])

    def columns(self, keys: Sequence[str]) -> Int32:
        """Codes of several keys, one row per URL, one column per key."""
        out = np.zeros((self.n, len(keys)), np.int32)
        for j, key in enumerate(keys):
            out[:, j] = self.codes(key)
        return out

    @functools.cached_property
    def tokens(self) -> Tokens:
        """Tokens of all URLs, numbered. Cut when first asked for."""
        ids, offsets, pieces = cut_tokens(self._buffer)
        return Tokens(ids, offsets, [START, END, *self._buffer.strings(pieces)])

    def _strings(self, ids: Int32 | Int64) -> list[str]:
        return self._buffer.strings(self._pieces.take(ids))

    def _head_column(self, key: str) -> Column:
        numbers: dict[str | None, int] = {None: 0}
        of_head = [numbers.setdefault(view.get(key), len(numbers)) for view in self._head_keys]
        return Column(np.array(of_head, np.int32)[self._heads], list(numbers))

    def _whole(self, key: str) -> Column:
        numbers: dict[str | None, int] = {None: 0}
        found = self.urls if key == "url" else (getattr(parse(url), key, None) for url in self.urls)
        codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in found), np.int32, self.n)
        return Column(codes, list(numbers))

    def _cells(self, key: str) -> _Cells:
        if key.startswith("path["):
            return self._path_from_end if key.startswith("path[-") else self._path_from_start
        return self._fields["matrix" if key.startswith("matrix[") else "query"]

    def _dense(self, cells: _Cells, number: int) -> Int32:
        out = np.zeros(self.n, np.int32)
        some = slice(*cells.bounds[number : number + 2])
        out[cells.rows[some]] = cells.codes[some]
        return out

    @functools.cached_property
    def _path_from_start(self) -> _Cells:
        rows, ids = self._segments
        position = np.arange(len(rows)) - (np.cumsum(self._depth) - self._depth)[rows]
        keys = path_keys(int(self._depth.max(initial=0)), from_end=False)
        return _Cells.of(keys, position.astype(np.int32), rows, ids)

    @functools.cached_property
    def _path_from_end(self) -> _Cells:
        rows, ids = self._segments
        position = np.cumsum(self._depth)[rows] - np.arange(len(rows)) - 1
        keys = path_keys(int(self._depth.max(initial=0)), from_end=True)
        return _Cells.of(keys, position.astype(np.int32), rows, ids)

    def _named(self, cut: Cut, mark: int, kind: str) -> _Cells:
        """Fields or path parameters: name, occurrence within the URL, and value, which is the next piece."""
        fields = np.flatnonzero(cut.kinds == mark)
        next_one = np.minimum(fields + 1, len(cut.kinds) - 1)
        has_value = cut.kinds[next_one] == VALUE
        filled = has_value | (cut.ids[fields] != EMPTY)
        fields = fields[filled]
        values = np.where(has_value, cut.ids[next_one], EMPTY)[filled].astype(np.int32)
        rows = cut.rows[fields]
        names, distinct_names = _numbered(cut.ids[fields])
        occurrence = _occurrences(names, rows, len(distinct_names))
        step = int(occurrence.max(initial=0)) + 1
        columns, distinct = _numbered(names.astype(np.int64) * step + occurrence)
        spelled = self._strings(distinct_names)
        keys = [named_key(kind, spelled[pair // step], pair % step + 1) for pair in distinct.tolist()]
        return _Cells.of(keys, columns, rows, values)


def _numbered(values: Int32 | Int64) -> tuple[Int32, Int64]:
    """(numbers from 0 in order of first occurrence, distinct values)."""
    coded: Any = pc.dictionary_encode(pa.array(values))
    return coded.indices.to_numpy(), coded.dictionary.to_numpy()


def _stable_order(numbers: Int32, below: int) -> Int64:
    # NumPy sorts 16-bit integers by radix, which is ten times as fast.
    return np.argsort(numbers.astype(np.uint16) if below <= 1 << 16 else numbers, kind="stable")


def _occurrences(names: Int32, rows: Int32, n_names: int) -> Int32:
    """How often the name occurred before within its row; rows ascend."""
    order = _stable_order(names, n_names)
    names, rows = names[order], rows[order]
    anew = np.append(True, (names[1:] != names[:-1]) | (rows[1:] != rows[:-1]))[: len(names)]
    place = np.arange(len(names), dtype=np.int32)
    out = np.empty_like(place)
    out[order] = place - np.maximum.accumulate(np.where(anew, place, 0))
    return out


def _head_order(key: str) -> tuple[int, int, str]:
    """scheme, host[0], host[1], ..., port"""
    return _HEAD_KEYS.index(key.partition("[")[0]), len(key), key
