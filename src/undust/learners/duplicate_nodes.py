"""Which nodes of a pattern tree hold the same pages: the paper's Algorithm 2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from undust.learners.build_tree import Node, Tree

__all__ = ["Twins", "duplicate_nodes", "in_clusters_of_two"]

Ints = NDArray[np.int64]


class Twins(NamedTuple):
    """Two nodes, and the share of their URLs that lies in clusters they have in common."""

    source: Node
    target: Node
    overlap: float  # equation 6
    covered: float  # of the source's URLs alone, the share in common clusters
    common: int  # how many URLs of the source these are


def in_clusters_of_two(cluster: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Rows whose cluster has at least two of the rows: the paper's training set. -1 is no cluster.

    >>> in_clusters_of_two(np.array([0, 1, 0, -1, -1], np.int32)).tolist()
    [True, False, True, False, False]
    """
    sizes = np.bincount(cluster[cluster >= 0], minlength=1)
    several: NDArray[np.bool_] = (cluster >= 0) & (sizes[cluster] > 1)
    return several


def duplicate_nodes(
    tree: Tree,
    cluster: NDArray[np.int32],
    *,
    min_overlap: float = 0.5,
    one_sided: bool = False,
    max_nodes: int = 200,
    max_sets: int = 3000,
) -> list[Twins]:
    """Pairs of nodes that share enough duplicates, in both directions, and nodes full of duplicates.

    The inverted index leads from a cluster to the nodes it meets. Clusters that meet the same leaves are one
    entry of it: sites have few such sets. Two nodes of which one is above the other share all there is and
    say nothing, so they are no pair. A node alone is measured by its duplicate rate, 1 - clusters / URLs.

    `one_sided`: ask only that enough of the source is covered, however large the target is; of nodes within one
    another that have the same URLs in common with a third one, the smallest counts. `max_nodes`: of a set of
    leaves with more nodes above it, the largest ones are paired. `max_sets`: of more sets of leaves, those of most
    clusters stand for all.

    >>> from undust.learners.build_tree import build_tree, coded
    >>> urls = [{"p": "a", "id": str(i)} for i in range(4)] + [{"p": "b", "no": str(i)} for i in range(4)]
    >>> tree = build_tree(*coded(urls))
    >>> twins = duplicate_nodes(tree, np.array([0, 1, 2, 3, 0, 1, 2, 9], np.int32))
    >>> [(tree.values(t.source), tree.values(t.target), t.overlap) for t in twins if t.source is not t.target]
    [({'p': 'a', 'id': '*'}, {'p': 'b', 'no': '*'}, 1.0), ({'p': 'b', 'no': '*'}, {'p': 'a', 'id': '*'}, 1.0)]
    """
    m = len(tree.nodes)
    hi = np.array([node.hi for node in tree.nodes])
    volume, clusters = np.zeros(m, np.int64), np.zeros(m, np.int64)
    pairs, urls_of_pairs = [np.empty(0, np.int64)], [np.empty((0, 2), np.int64)]
    for met, urls, alike in _index(tree, cluster, max_sets):
        volume[met] += urls
        clusters[met] += alike
        largest = np.sort(np.argsort(-urls, kind="stable")[:max_nodes])
        met, urls = met[largest], urls[largest]
        i, j = np.triu_indices(len(met), 1)
        s, t = met[i], met[j]  # in preorder, so s may be above t, never below it
        apart = hi[t] > hi[s]
        pairs.append((s * m + t)[apart])
        urls_of_pairs.append(np.stack([urls[i], urls[j]], axis=1)[apart])
    pair, at = np.unique(np.concatenate(pairs), return_inverse=True)
    shared = np.zeros((len(pair), 2), np.int64)
    np.add.at(shared, at, np.concatenate(urls_of_pairs))

    # Both directions, and each node with itself.
    own = np.flatnonzero(clusters)
    s = np.concatenate([pair // m, pair % m, own])
    t = np.concatenate([pair % m, pair // m, own])
    common = np.concatenate(
        [*shared.T, volume[own] - clusters[own]]
    )  # URLs of s, or duplicates too many in it
    covered = common / volume[s]
    overlap = np.tile(shared.sum(axis=1) / (volume[pair // m] + volume[pair % m]), 2)
    overlap = np.concatenate([overlap, covered[len(overlap) :]])
    kept = np.flatnonzero((covered if one_sided else overlap) >= min_overlap)
    if one_sided:
        parent = np.array([0 if node.parent is None else node.parent.id for node in tree.nodes])
        for target in (True, False):
            a, b = s[kept], t[kept]
            above = np.where(target & (a != b), a, parent[a]) * m + np.where(target | (a == b), parent[b], b)
            kept = kept[_smallest(a * m + b, above, common[kept])]
    return [
        Twins(tree.nodes[s[i]], tree.nodes[t[i]], float(overlap[i]), float(covered[i]), int(common[i]))
        for i in kept[np.lexsort((t[kept], s[kept]))].tolist()
    ]


def _smallest(pair: Ints, above: Ints, common: Ints) -> NDArray[np.bool_]:
    """Pairs without another one, to which `above` leads from it, that has nearly as many URLs in common."""
    order = np.argsort(pair)
    at = order[np.minimum(np.searchsorted(pair[order], above), len(pair) - 1)]
    redundant = at[(pair[at] == above) & (pair != above) & (common >= 0.95 * common[at])]
    kept = np.ones(len(pair), bool)
    kept[redundant] = False
    return kept


def _index(tree: Tree, cluster: NDArray[np.int32], max_sets: int) -> Iterator[tuple[Ints, Ints, int]]:
    """The inverted index: nodes met, ascending, how many URLs of each, and of how many clusters."""
    leaf = np.full(len(cluster), -1, np.int64)
    for node in tree.leaves:
        leaf[tree.rows(node)] = node.id
    rows = tree.order[in_clusters_of_two(np.where(leaf < 0, -1, cluster).astype(np.int32))[tree.order]]
    if not len(rows):
        return
    m = len(tree.nodes)
    cell, counts = np.unique(cluster[rows].astype(np.int64) * m + leaf[rows], return_counts=True)
    of_cluster, of_leaf = np.divmod(cell, m)
    start = np.flatnonzero(np.concatenate([[True], of_cluster[1:] != of_cluster[:-1]]))
    # A cluster's set of leaves as one number: the sum of random numbers, one for each leaf.
    token = np.random.default_rng(0).integers(1, 2**62, m)
    _, kind = np.unique(np.add.reduceat(token[of_leaf], start), return_inverse=True)
    sizes = np.bincount(kind)
    frequent = np.sort(np.argsort(-sizes, kind="stable")[:max_sets])
    kind_of_cell = np.repeat(kind, np.diff(np.append(start, len(cell))))
    order = np.lexsort((of_leaf, kind_of_cell))
    bounds = np.searchsorted(kind_of_cell[order], np.stack([frequent, frequent + 1]))
    for common, first, last in zip(sizes[frequent].tolist(), *bounds.tolist(), strict=True):
        cells = order[first:last]
        met: dict[int, int] = {}
        for at, urls in zip(of_leaf[cells].tolist(), counts[cells].tolist(), strict=True):
            above: Node | None = tree.nodes[at]
            while above is not None:
                met[above.id] = met.get(above.id, 0) + urls
                above = above.parent
        ids = sorted(met)
        yield np.array(ids), np.array([met[i] for i in ids]), common
