"""Connected components in NumPy: labels fall along edges until nothing moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]

Edges = tuple[Ints, Ints]
"""Pairs of rows (i[k], j[k])."""


def components(n: int, i: Ints, j: Ints) -> Ints:
    """Smallest member of each node's component, for `n` nodes and the edges (i[k], j[k]).

    Each round hooks the larger root of every live edge under the smallest neighbour and then halves all
    paths, so the number of rounds grows with the logarithm of the longest chain, not with its length.

    >>> components(6, np.array([0, 4, 1]), np.array([1, 3, 2])).tolist()
    [0, 0, 0, 3, 3, 5]
    """
    root = np.arange(n, dtype=np.int64)
    a, b = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    while len(a):
        low, high = np.minimum(root[a], root[b]), np.maximum(root[a], root[b])
        live = low != high
        a, b = a[live], b[live]
        np.minimum.at(root, high[live], low[live])
        while True:
            up = root[root]
            if np.array_equal(up, root):
                break
            root = up
    return root


def compact(labels: NDArray[np.integer]) -> NDArray[np.int32]:
    """The same partition as numbers 0, 1, ... in order of first appearance; negative labels stay -1.

    >>> compact(np.array([7, -1, 3, 7])).tolist()
    [0, -1, 1, 0]
    """
    known = labels >= 0
    out = np.full(len(labels), -1, dtype=np.int32)
    _, first, inverse = np.unique(labels[known], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    out[known] = rank[inverse]
    return out


def same(*columns: NDArray[np.generic]) -> Ints:
    """One code per row: rows equal in every column get the same code.

    >>> same(np.array([1, 1, 2, 1]), np.array([5, 6, 5, 5])).tolist()
    [0, 1, 2, 0]
    """
    code = _numbered(columns[0])
    for column in columns[1:]:
        other = _numbered(column)
        code = _numbered(code * (int(other.max(initial=0)) + 1) + other)
    return code


def _numbered(values: NDArray[np.generic]) -> Ints:
    """Equal values, equal numbers, from 0 in order of first occurrence; by hashing, which beats sorting fivefold."""
    encoded: Any = pa.array(values).dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(), dtype=np.int64)


def firsts(code: Ints) -> Ints:
    """Where each of the codes 0, 1, ... stands first.

    >>> firsts(np.array([1, 0, 1, 2])).tolist()
    [1, 0, 3]
    """
    first = np.empty(int(code.max(initial=-1)) + 1, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    return first


def star(rows: Ints, code: Ints) -> Edges:
    """Edges from each of `rows` to the first row with the same `code` (code is aligned with rows).

    >>> [e.tolist() for e in star(np.array([2, 5, 9]), np.array([0, 1, 0]))]
    [[9], [2]]
    """
    number = _numbered(code)
    hub = rows[firsts(number)[number]]
    spoke = hub != rows
    return rows[spoke], hub[spoke]


def medians(values: NDArray[np.number], group: Ints, n: int) -> NDArray[np.float64]:
    """The (lower) median of the values of each of `n` groups, 0 for an empty one.

    >>> medians(np.array([5, 1, 9, 4]), np.array([0, 0, 0, 2]), 3).tolist()
    [5.0, 0.0, 4.0]
    """
    order = np.lexsort((values, group))
    size = np.bincount(group, minlength=n)
    middle = np.cumsum(size) - size + (size - 1) // 2
    out = np.zeros(n)
    out[size > 0] = values[order[middle[size > 0]]]
    return out
