"""The URLs of a site as integers: one column of codes per key, one array of token numbers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .keys import WHOLE_KEYS, key_view
from .tokens import tokenize

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


class Column(NamedTuple):
    """`values[codes[i]]` is the value of URL i; code 0 is "absent", `values[0]` is None."""

    codes: Int32
    values: list[str | None]


class Tokens(NamedTuple):
    """`vocab[t] for t in ids[offsets[i]:offsets[i+1]]` are the tokens of URL i; 0 is `^`, 1 is `$`."""

    ids: Int32
    offsets: Int64
    vocab: list[str]


class SiteTable:
    """The dictionary-coded URLs of one site.

    >>> table = SiteTable.build(["http://example.com/a?x=1", "http://example.com/b", "http://example.com/a?x=2"])
    >>> table.column("query[x]")
    Column(codes=array([1, 0, 2], dtype=int32), values=[None, '1', '2'])
    >>> table.columns(["path[0]", "query[x]"]).tolist()
    [[1, 1], [2, 0], [1, 2]]
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self.n = len(urls)
        self.urls: npt.NDArray[np.object_] = np.empty(self.n, dtype=object)
        self.urls[:] = urls
        self._columns: dict[str, tuple[Int32, dict[str | None, int]]] = {}
        for row, url in enumerate(urls):
            for key, value in key_view(url).items():
                if key not in self._columns:
                    self._columns[key] = np.zeros(self.n, np.int32), {None: 0}
                codes, numbers = self._columns[key]
                codes[row] = numbers.setdefault(value, len(numbers))

    @classmethod
    def build(cls, urls: Sequence[str] | pa.Array[Any] | pa.ChunkedArray[Any]) -> SiteTable:
        """Table of `urls` as they are given: bring them into normal form before."""
        if isinstance(urls, pa.Array | pa.ChunkedArray):
            urls = cast("list[str]", urls.to_pylist())
        return cls(urls)

    @property
    def keys(self) -> list[str]:
        """Keys that occur, whole components aside."""
        return [key for key in self._columns if key not in WHOLE_KEYS]

    def column(self, key: str) -> Column:
        """Codes and values of a key; of one that does not occur, zeros."""
        codes, numbers = self._columns.get(key) or (np.zeros(self.n, np.int32), {None: 0})
        return Column(codes, list(numbers))

    def columns(self, keys: Sequence[str]) -> Int32:
        """Codes of several keys, one row per URL."""
        out = np.zeros((self.n, len(keys)), np.int32)
        for j, key in enumerate(keys):
            out[:, j] = self.column(key).codes
        return out

    @functools.cached_property
    def tokens(self) -> Tokens:
        """Tokens of all URLs, numbered."""
        numbers: dict[str, int] = {}
        ids: list[int] = []
        offsets = [0]
        for url in self.urls:
            ids.append(0)
            ids += (2 + numbers.setdefault(token, len(numbers)) for token in tokenize(url)[1:-1])
            ids.append(1)
            offsets.append(len(ids))
        return Tokens(np.array(ids, np.int32), np.array(offsets, np.int64), ["^", "$", *numbers])
