"""Which pairs of duplicates teach: targets near the normalized URL, sources by importance.

Koppula et al., section 3.2.1 and Algorithm 4. All pairs of a cluster are too many (clusters follow a power
law) and mostly noise: a rule should lead to the URL a web master would call the page's own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from undust.learners.key_table import Bools, Ints, KeyTable, ranges

BUCKETS = 5


def target_rank(
    table: KeyTable, alive: Bools, hits: npt.NDArray[np.number], named: npt.NDArray[np.number] | None = None
) -> Ints:
    """Every URL's place in the order of target selection, 0 the best.

    Alive before redirected; `named` by others (as the target of a redirect, as their canonical URL) before not;
    static before dynamic, few hops from the root before many, short before long, much linked (here: seen)
    before little; the text decides the rest, so that input order does not matter.

    >>> from undust.url import SiteTable
    >>> urls = ["http://a.example/watch?v=1&feature=x", "http://a.example/watch?v=1", "http://a.example/v/1"]
    >>> target_rank(KeyTable(SiteTable.build(urls)), np.ones(3, bool), np.ones(3)).tolist()
    [2, 1, 0]
    """
    urls = table.site.urls
    fields = np.count_nonzero(table.codes, axis=1) - np.count_nonzero(table.codes[:, : _heads(table)], axis=1)
    length = np.fromiter((len(u) for u in urls), np.int64, table.n)
    dynamic = np.fromiter(("?" in u for u in urls), np.bool_, table.n)
    ported = (
        table.codes[:, table.columns.index("port")] > 0
        if "port" in table.columns
        else np.zeros(table.n, bool)
    )
    # lower case before upper
    by_text = np.argsort(np.argsort([u.swapcase() for u in urls], kind="stable"), kind="stable")
    named = np.zeros(table.n) if named is None else named
    order = np.lexsort(
        (by_text, -np.asarray(hits), length, table.length, fields, ported, dynamic, named == 0, ~alive)
    )
    rank = np.empty(table.n, np.int64)
    rank[order] = np.arange(table.n)
    return rank


def _heads(table: KeyTable) -> int:
    return sum(k in ("scheme", "host", "port", "fragment") for k in table.columns)


def select_pairs(
    cluster: Ints,
    rank: Ints,
    importance: npt.NDArray[np.float64],
    can_be_target: Bools,
    *,
    targets: int = 1,
    sources: int = 20,
) -> tuple[Ints, Ints]:
    """(source, target) rows: the `targets` best-ranked of each cluster, and up to `sources` of the others.

    Sources are sampled by strata: ordered by importance, cut into five buckets of equal size, from each
    bucket in proportion to its share of the importance, the most important first.

    >>> u, v = select_pairs(np.array([0, 0, 0, -1]), np.array([2, 0, 1, 3]), np.ones(4), np.ones(4, bool))
    >>> u.tolist(), v.tolist()
    ([2, 0], [1, 1])
    """
    teaching = np.flatnonzero(cluster >= 0)
    order = teaching[np.lexsort((rank[teaching], ~can_be_target[teaching], cluster[teaching]))]
    of, first, size = _runs(cluster[order])
    place = np.arange(len(order)) - first[of]
    is_target = (place < np.minimum(targets, np.maximum(size - 1, 0))[of]) & can_be_target[order]
    n_targets = np.bincount(of[is_target], minlength=len(size))
    rest = np.flatnonzero(~is_target & (n_targets[of] > 0))
    chosen = rest[_stratified(of[rest], importance[order[rest]], rank[order[rest]], sources)]
    # every chosen source with every target of its cluster: targets lead their run
    at, who = ranges(first[of[chosen]], first[of[chosen]] + n_targets[of[chosen]])
    return order[chosen][who], order[at]


def all_pairs(cluster: Ints, can_be_target: Bools, *, limit: int = 50) -> tuple[Ints, Ints]:
    """All ordered pairs of all clusters; of a cluster larger than `limit`, of its first `limit` rows.

    >>> u, v = all_pairs(np.array([0, 0, 1]), np.ones(3, bool))
    >>> u.tolist(), v.tolist()
    ([0, 1], [1, 0])
    """
    teaching = np.flatnonzero(cluster >= 0)
    order = teaching[np.argsort(cluster[teaching], kind="stable")]
    of, first, _ = _runs(cluster[order])
    order = order[np.arange(len(order)) - first[of] < limit]
    of, first, size = _runs(cluster[order])
    at, who = ranges(first[of], first[of] + size[of])
    u, v = order[who], order[at]
    keep = (u != v) & can_be_target[v]
    return u[keep], v[keep]


def nearest_pairs(
    table: KeyTable, cluster: Ints, rank: Ints, can_be_target: Bools, u: Ints, *, limit: int = 20
) -> tuple[Ints, Ints]:
    """Each source with the better-ranked URL of its cluster, of the `limit` best, that differs least.

    Ours: one target for a whole cluster makes the transformation of most of its members a sum of several; the
    nearest better URL shows them one by one, and rules are applied one after the other anyway.
    """
    teaching = np.flatnonzero((cluster >= 0) & can_be_target)
    order = teaching[np.lexsort((rank[teaching], cluster[teaching]))]
    _, first, size = _runs(cluster[order])
    run = {int(cluster[order[f]]): i for i, f in enumerate(first)}
    u = np.unique(u)
    mine = np.fromiter((run.get(int(c), -1) for c in cluster[u]), np.int64, len(u))
    u, mine = u[mine >= 0], mine[mine >= 0]
    at, who = ranges(first[mine], first[mine] + np.minimum(size[mine], limit))
    source, target = u[who], order[at]
    better = rank[target] < rank[source]
    source, target = source[better], target[better]
    cost = np.zeros(len(source), np.int64)
    step = 200_000
    for lo in range(0, len(source), step):
        a, b = source[lo : lo + step], target[lo : lo + step]
        changed = (table.codes[a] != table.codes[b]).sum(axis=1)
        same_front = (table.path[a] != table.path[b]).sum(axis=1)
        same_back = (table.path_back[a] != table.path_back[b]).sum(axis=1)
        cost[lo : lo + step] = changed + np.minimum(same_front, same_back)
    best = np.lexsort((rank[target], cost, source))
    source, target = source[best], target[best]
    keep = np.ones(len(source), bool)
    keep[1:] = source[1:] != source[:-1]
    return source[keep], target[keep]


def _runs(values: Ints) -> tuple[Ints, Ints, Ints]:
    """Of sorted values: the run each is in, where runs begin, how long they are."""
    starts = np.ones(len(values), bool)
    starts[1:] = values[1:] != values[:-1]
    first = np.flatnonzero(starts)
    return np.cumsum(starts) - 1, first, np.diff(np.append(first, len(values)))


def _stratified(of: Ints, importance: npt.NDArray[np.float64], rank: Ints, sources: int) -> Ints:
    """Indices of up to `sources` members of each group, by strata of importance."""
    order = np.lexsort((rank, -importance, of))
    run, first, size = _runs(of[order])
    place = np.arange(len(order)) - first[run]
    small = size[run] <= sources
    bucket = place * BUCKETS // np.maximum(size[run], 1)
    weight = np.maximum(importance[order], 0) + 1e-9
    key = run * BUCKETS + bucket
    share = np.bincount(key, weights=weight, minlength=len(size) * BUCKETS).reshape(-1, BUCKETS)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-12)
    # at least one from each bucket: the tail teaches contexts the head does not have
    quota = np.maximum(np.floor(share * (sources - BUCKETS) + 1), 1).astype(np.int64)
    _, start, _ = _runs(key)
    within = (
        np.arange(len(order)) - start[np.cumsum(np.append(True, key[1:] != key[:-1])) - 1]
        if len(key)
        else key
    )
    return np.sort(order[small | (within < quota.ravel()[key])])
