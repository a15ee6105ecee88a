"""Generalization of contexts: the bottom-up decision tree of Koppula et al., Algorithm 5.

The paper's text and its listing disagree on when a key becomes a wildcard (no majority; more than a
threshold of values); we take either (RES-15). Its nodes are rules of one transformation each: merging nodes
of different transformations, as the listing does, would mix their contexts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from undust.learners.key_table import Ints

Column = npt.NDArray[np.integer]


def conditional_entropies(columns: Sequence[Column], classes: Ints) -> npt.NDArray[np.float64]:
    """H(class | key) of each key, in bits: the key of least conditional entropy gains most.

    >>> conditional_entropies([np.array([1, 1, 2, 2]), np.array([1, 2, 1, 2])], np.array([0, 0, 1, 1]))
    array([0., 1.])
    """
    out = np.zeros(len(columns))
    n = len(classes)
    for j, column in enumerate(columns):
        low, high = int(column.min(initial=0)), int(column.max(initial=0))
        if low == high:
            out[j] = _entropy(np.bincount(classes), n)
            continue
        size = int(classes.max()) + 1
        joint = np.unique(column.astype(np.int64) * size + classes, return_counts=True)
        of = joint[0] // size
        starts = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
        out[j] = _entropy(joint[1], n) - _entropy(np.add.reduceat(joint[1], starts), n)
    return np.maximum(out, 0)


def _entropy(counts: Column, n: int) -> float:
    share = counts[counts > 0] / n
    return float(-(share * np.log2(share)).sum())


def contexts(columns: Sequence[Column], classes: Ints, threshold: int = 5) -> Ints:
    """The node each rule ends in: rules of one transformation whose contexts are one generalized context.

    Keys are taken in the order of information gain (ties: more distinct values first, then as given). In a
    node a key is left open when it has more than `threshold` values there or none holds a majority;
    otherwise the node gets one child per value.

    TV-4.9: the title's number differs, so it is left open and the two rules are one.

    >>> number, page = np.array([810900, 53198]), np.array([7, 7])
    >>> contexts([number, page], np.array([0, 0]))
    array([0, 0])
    """
    nodes = _compact(classes)
    distinct = [len(np.unique(column)) for column in columns]
    # in units of a millionth of a bit: equal up to rounding is equal
    entropy = np.round(conditional_entropies(columns, nodes) * 1e6)
    perm, starts = _sorted(nodes)
    for j in sorted(range(len(columns)), key=lambda j: (entropy[j], -distinct[j], j)):
        if distinct[j] == 1:
            continue
        values = columns[j][perm]
        mixed = np.minimum.reduceat(values, starts) != np.maximum.reduceat(values, starts)
        if not mixed.any():
            continue
        rows = np.flatnonzero(mixed[nodes])
        child, split = _split(nodes[rows], columns[j][rows].astype(np.int64), threshold)
        if split.any():
            nodes = nodes.copy()
            nodes[rows[split]] = int(nodes.max()) + 1 + child[split]
            nodes = _compact(nodes)
            perm, starts = _sorted(nodes)
    return nodes


def _split(nodes: Ints, values: Ints, threshold: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Child of each row by value, and whether its node splits at all."""
    size = int(values.max()) + 1
    pair, child, count = np.unique(nodes * size + values, return_inverse=True, return_counts=True)
    of = pair // size
    starts = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
    total = np.add.reduceat(count, starts)
    open_ = (np.diff(np.append(starts, len(pair))) > threshold) | (
        2 * np.maximum.reduceat(count, starts) <= total
    )
    run = np.cumsum(np.append(True, of[1:] != of[:-1])) - 1
    return child.astype(np.int64), ~open_[run[child]]


def _compact(nodes: Ints) -> Ints:
    return np.unique(nodes, return_inverse=True)[1].astype(np.int64)


def _sorted(nodes: Ints) -> tuple[Ints, Ints]:
    perm = np.argsort(nodes, kind="stable")
    ordered = nodes[perm]
    return perm, np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
