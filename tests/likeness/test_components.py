import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from undust.likeness.components import compact, components, medians, same, star

edges = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=80)
    )
)


def union_find(n: int, pairs: list[tuple[int, int]]) -> list[int]:
    """The oracle: parents one by one, the smallest member as root."""
    parent = list(range(n))

    def find(x: int) -> int:
        while parent[x] != x:
            x = parent[x]
        return x

    for a, b in pairs:
        low, high = sorted((find(a), find(b)))
        parent[high] = low
    return [find(x) for x in range(n)]


@given(edges)
def test_components_are_those_of_union_find(drawn):
    n, pairs = drawn
    i, j = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    assert components(n, i, j).tolist() == union_find(n, pairs)


def test_a_long_chain_takes_few_rounds():
    n = 200_000
    order = np.random.default_rng(1).permutation(n)
    assert (components(n, order[:-1], order[1:]) == 0).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_same_is_equality_of_rows(rows):
    code = same(*np.array(rows).T)
    for a, row in enumerate(rows):
        for b, other in enumerate(rows):
            assert (code[a] == code[b]) == (row == other)


@given(st.lists(st.integers(-1, 5)))
def test_compact_keeps_the_partition(labels):
    out = compact(np.array(labels, dtype=np.int64))
    assert [x < 0 for x in out] == [x < 0 for x in labels]
    assert len(set(zip(labels, out.tolist(), strict=True))) == len(set(labels))
    new = [x for x in dict.fromkeys(out.tolist()) if x >= 0]
    assert new == list(range(len(new)))


def test_star_joins_what_has_one_code():
    i, j = star(np.array([4, 7, 8, 9]), np.array([1, 0, 1, 1]))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(8, 4), (9, 4)]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 4))))
def test_medians_by_group(pairs):
    values, group = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    for g, got in enumerate(medians(values, group, 5)):
        mine = sorted(v for v, h in pairs if h == g)
        assert got == (mine[(len(mine) - 1) // 2] if mine else 0)
