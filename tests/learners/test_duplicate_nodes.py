"""Duplicate nodes (Algorithm 2) against equation 6 written down plainly, and the cut of the frequency curve."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undust.learners.build_tree import Node, Tree, build_tree, coded, salient_values
from undust.learners.duplicate_nodes import duplicate_nodes, in_clusters_of_two


def random_tree(seed: int) -> tuple[Tree, np.ndarray]:
    r = random.Random(seed)
    urls = []
    for _ in range(300):
        url = {"a": r.choice("xxyz"), "b": r.choice("pq")}
        if r.random() < 0.5:
            url["c"] = str(r.randrange(50))
        if r.random() < 0.2:
            url["d"] = r.choice("uv")
        urls.append(url)
    cluster = np.array([r.choice([-1, *range(60)]) for _ in urls], np.int32)
    return build_tree(*coded(urls), np.flatnonzero(cluster >= 0), noise=0.0), cluster


def overlap_by_equation_6(tree: Tree, cluster: np.ndarray, s: Node, t: Node) -> float:
    """Over the training set, which is the clusters of two and more."""
    size = Counter(cluster[tree.order].tolist())
    of_s, of_t = (Counter(c for c in cluster[tree.rows(node)].tolist() if size[c] > 1) for node in (s, t))
    if s is t:
        return 1 - len(of_s) / of_s.total() if of_s else 0.0
    common = of_s.keys() & of_t.keys()
    volume = of_s.total() + of_t.total()
    return sum(of_s[c] + of_t[c] for c in common) / volume if volume else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_the_inverted_index_finds_what_all_pairs_would(seed: int) -> None:
    tree, cluster = random_tree(seed)
    assert len(tree.nodes) > 10
    expected = {}
    for s in tree.nodes:
        for t in tree.nodes:
            overlap = overlap_by_equation_6(tree, cluster, s, t)
            if overlap >= 0.5 and not s.above(t) and not t.above(s):
                expected[s.id, t.id] = overlap
    found = {(x.source.id, x.target.id): x.overlap for x in duplicate_nodes(tree, cluster)}
    assert found.keys() == expected.keys()
    for pair, overlap in expected.items():
        assert math.isclose(found[pair], overlap)


@pytest.mark.parametrize("seed", range(3))
def test_one_sided_pairs_cover_their_source(seed: int) -> None:
    tree, cluster = random_tree(seed)
    for twins in duplicate_nodes(tree, cluster, one_sided=True):
        if twins.source is not twins.target:
            clusters = set(cluster[tree.rows(twins.target)].tolist())
            teaching = tree.rows(twins.source)[in_clusters_of_two(cluster)[tree.rows(twins.source)]]
            covered = sum(c in clusters for c in cluster[teaching].tolist())
            assert twins.common == covered
            assert math.isclose(twins.covered, covered / len(teaching))
            assert twins.covered >= 0.5


def test_a_small_node_finds_its_large_twin_only_one_sided() -> None:
    urls = [{"p": "t", "id": str(i)} for i in range(100)]
    urls += [{"p": "t", "id": str(i), "print": "1"} for i in range(10)]
    cluster = np.array([*range(100), *range(10)], np.int32)
    # The large node's URLs lie in clusters of two with others, or the small one would be its equal.
    urls += [{"p": "u", "id": str(i)} for i in range(10, 100)]
    cluster = np.append(cluster, np.arange(10, 100, dtype=np.int32))
    tree = build_tree(*coded(urls))

    def pairs(one_sided: bool) -> set[tuple[str | None, str | None]]:
        found = duplicate_nodes(tree, cluster, one_sided=one_sided)
        return {(tree.values(x.source).get("print"), tree.values(x.target).get("print")) for x in found}

    assert ("1", None) in pairs(True)
    assert ("1", None) not in pairs(False)


def test_a_node_and_the_one_above_it_are_no_pair() -> None:
    urls = [{"p": "a", "q": str(i % 2)} for i in range(20)]
    tree = build_tree(*coded(urls))
    cluster = np.array([i // 2 for i in range(20)], np.int32)
    ids = {(x.source.id, x.target.id) for x in duplicate_nodes(tree, cluster)}
    assert (0, 1) not in ids
    assert (1, 0) not in ids
    assert (1, 2) in ids


def salient_oracle(frequencies: list[int]) -> int:
    """How many of the most frequent values come before the largest drop."""
    curve = [*sorted(frequencies, reverse=True), 1]
    drops = [math.log(curve[i]) - math.log(curve[i + 1]) for i in range(len(curve) - 1)]
    cut = max(range(len(drops)), key=lambda i: (round(drops[i], 9), -i))
    if drops[cut] < math.log(2) - 1e-9:
        return 0
    return cut + 1


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=10))
def test_salient_values_come_before_the_largest_drop(frequencies: list[int]) -> None:
    codes = np.arange(1, len(frequencies) + 1, dtype=np.int32)
    found = salient_values(codes, np.array(frequencies), least=1)
    assert len(found) == salient_oracle(frequencies)
    most = sorted(frequencies, reverse=True)
    assert sorted((frequencies[c - 1] for c in found), reverse=True) == most[: len(found)]


def test_many_values_of_equal_frequency_are_data() -> None:
    def salient(n: int) -> int:
        return len(salient_values(np.arange(1, n + 1, dtype=np.int32), np.full(n, 30)))

    assert salient(3) == 3
    assert salient(40) == 0
