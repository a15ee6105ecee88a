"""The metrics against their definitions, read pair by pair and URL by URL."""

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from undust.measures.metrics import Measures, measure, micro, numbered

urls = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=14)


def numbers(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([k for k, _ in rows]), np.array([c for _, c in rows])


def majority(rows: list[tuple[int, int]], key: int) -> int:
    count = Counter(c for k, c in rows if k == key)
    return min(c for c in count if count[c] == max(count.values()))


@given(urls)
def test_pairs_are_counted_as_if_enumerated(rows: list[tuple[int, int]]) -> None:
    m = measure(*numbers(rows))
    support = [(a, b) for a, b in combinations(rows, 2) if a[0] == b[0]]
    assert m.pairs == len(support)
    assert m.false_pairs == sum(a[1] != b[1] for a, b in support)
    assert m.fpr == (m.false_pairs / len(support) if support else 0.0)


@given(urls)
def test_reduction_ceiling_and_dup_reduction_follow_their_equations(rows: list[tuple[int, int]]) -> None:
    m = measure(*numbers(rows))
    n, keys, contents = len(rows), {k for k, _ in rows}, {c for _, c in rows}
    assert m.reduction == m.compression_rate == (n - len(keys)) / n
    assert m.ceiling == (n - len(contents)) / n
    c_norm = len({majority(rows, k) for k in keys})
    assert m.labels == c_norm
    if len(contents) < n:
        expected = 1 - (1 - c_norm / len(keys)) / (1 - len(contents) / n)
        assert abs(m.dup_reduction - expected) < 1e-12
        left = len(keys) - c_norm
        assert abs(m.coverage - ((n - len(contents)) - left) / (n - len(contents))) < 1e-12


@given(urls)
def test_merges_collisions_and_lost_contents_url_by_url(rows: list[tuple[int, int]]) -> None:
    m = measure(*numbers(rows))
    top = {k: majority(rows, k) for k, _ in rows}
    size = Counter(k for k, _ in rows)
    assert m.true_merges == sum(c == top[k] for k, c in rows) - len(top)
    assert m.wrong_merges == sum(c != top[k] for k, c in rows)
    assert m.true_merges + m.wrong_merges == len(rows) - len(top)
    assert m.colliding == sum(size[k] > 1 for k, _ in rows)
    assert m.agreeing == sum(size[k] > 1 and c == top[k] for k, c in rows)
    lost = {c for _, c in rows if all(top[k] != c for k, d in rows if d == c)}
    assert m.lost == len(lost)


@given(urls, st.integers(0, 2**16))
def test_near_duplicates_are_told_from_wrong_merges(rows: list[tuple[int, int]], seed: int) -> None:
    alike = np.triu(np.random.default_rng(seed).random((7, 7)) < 0.5)
    keys, clusters = numbers(rows)

    def resemblance(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        a, b = clusters[i], clusters[j]
        return np.where(alike[np.minimum(a, b), np.maximum(a, b)], 0.9, np.nan)

    m = measure(keys, clusters, resemblance=resemblance)
    top = {k: majority(rows, k) for k, _ in rows}
    near = [(k, c) for k, c in rows if c != top[k] and alike[min(c, top[k]), max(c, top[k])]]
    assert m.near_merges == len(near)
    assert m.wrong_merges == sum(c != top[k] for k, c in rows) - len(near)
    lost = {c for _, c in rows if all(top[k] != c for k, d in rows if d == c)}
    assert m.lost_near == sum(all((k, c) in near for k, d in rows if d == c) for c in lost)


@given(urls, st.randoms())
def test_order_does_not_matter(rows: list[tuple[int, int]], random: object) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert measure(*numbers(rows)) == measure(*numbers(mixed))


@given(urls, urls)
def test_micro_is_measuring_disjoint_sites_together(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    apart = [(k + 100, c + 100) for k, c in b]
    assert micro([measure(*numbers(a)), measure(*numbers(b))]) == measure(*numbers(a + apart))


def test_perfect_rules_reach_the_ceiling() -> None:
    cluster = np.array([0, 0, 0, 1, 2, 2])
    m = measure(cluster, cluster)
    assert m.reduction == m.ceiling == 0.5
    assert (m.reached, m.coverage, m.dup_reduction, m.fpr, m.lost) == (1.0, 1.0, 1.0, 0.0, 0)


def test_nothing_to_measure() -> None:
    assert measure(np.zeros(0, np.int64), np.zeros(0, np.int64)) == Measures()
    assert (Measures().fpr, Measures().reduction, Measures().collision_precision) == (0.0, 0.0, 1.0)


def test_numbered() -> None:
    assert numbered([]).tolist() == []
