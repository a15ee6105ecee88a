"""The kernels of the pairwise learner, each against a plain oracle."""

from __future__ import annotations

import importlib.util
import math
import random
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.learners.context_tree import conditional_entropies, contexts
from undust.learners.explain import DROP, INSERT, LITERAL, REFERENCE, SET, VARIES, differences, explain
from undust.learners.key_table import KeyTable
from undust.learners.pairs import nearest_pairs, select_pairs, target_rank
from undust.learners.pairwise import Pairwise
from undust.likeness import Site, split_sites
from undust.rules import compile_rule
from undust.url import SiteTable, key_view

segments = st.lists(
    st.sampled_from(["a", "b", "dp", "index.html", "7", "topic,7.html", ""]), min_size=1, max_size=4
)
fields = st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "22", "ab", "7", ""]), max_size=3)
urls = st.builds(
    lambda path, query: (
        "http://www.example.com/"
        + "/".join(path)
        + ("?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else "")
    ),
    segments,
    fields,
)


def benchmark() -> ModuleType:
    """The made-up sites of the benchmark."""
    path = Path(__file__).parents[2] / "benchmarks" / "pairwise.py"
    spec = importlib.util.spec_from_file_location("pairwise_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made_up() -> Site:
    (found,) = split_sites(benchmark().pages(1500, 3), "domain")
    return found


# -------------------------------------------------------------------------------------------------- keys


@settings(max_examples=60, deadline=None)
@given(st.lists(urls, min_size=1, max_size=12, unique=True))
def test_atoms_are_the_keys_of_the_url(found: list[str]) -> None:
    table = KeyTable(SiteTable.build(found))
    for atom in range(table.roots):
        codes = table.of_atom(atom).tolist()
        said = [table.vocab[c] if c else None for c in codes]
        assert said == [key_view(u).get(table.name(atom)) for u in found]


def test_gaps_are_atoms_too(made_up: Site) -> None:
    table = KeyTable(made_up.table)
    assert table.atoms > table.roots
    for atom in range(table.roots, table.atoms, 7):
        codes = table.of_atom(atom)
        rows = np.flatnonzero(codes)[:50]
        assert len(rows)
        for row in rows.tolist():
            assert table.vocab[codes[row]] in key_view(made_up.urls[row])[table.name(atom)]
        assert table.of_atom(atom, rows).tolist() == codes[rows].tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(urls, min_size=2, max_size=12, unique=True))
def test_identity_is_equality_of_keys(found: list[str]) -> None:
    identity = KeyTable(SiteTable.build(found)).identity.tolist()
    views = [{k: v for k, v in key_view(u).items() if k != "query"} for u in found]
    for a in range(len(found)):
        for b in range(len(found)):
            assert (identity[a] == identity[b]) == (views[a] == views[b])


# ---------------------------------------------------------------------------------------- pairwise rules


def plain_cost(a: list[str], b: list[str]) -> int:
    """Fewest changed keys: aligned from the start, from the end, or around the first difference."""
    least = min(len(a), len(b))
    prefix = next((i for i in range(least) if a[i] != b[i]), least)
    costs = []
    for gap in (least, 0, prefix):
        front = sum(a[i] != b[i] for i in range(gap))
        back = sum(a[-i] != b[-i] for i in range(1, least - gap + 1))
        costs.append(front + back)
    return (sum(x != y for x, y in zip(a, b, strict=True)) if len(a) == len(b) else min(costs)) + abs(
        len(a) - len(b)
    )


@settings(max_examples=150, deadline=None)
@given(segments, segments)
def test_paths_are_aligned_where_they_differ_least(a: list[str], b: list[str]) -> None:
    table = KeyTable(SiteTable.build(["http://e.com/" + "/".join(p) for p in (a, b)]))
    edits = differences(table, np.array([0]), np.array([1]))
    assert len(edits) == plain_cost(a, b)
    # carried out, the edits give the target
    out: list[list[str]] = [[x] for x in a] + [[]]
    for i in range(len(edits)):
        at, text = int(edits.at[i]), table.vocab[edits.code[i]]
        assert int(edits.back[i]) == len(a) - at
        if edits.kind[i] == INSERT:
            out[at] = [*out[at][: int(edits.order[i])], text, *out[at][int(edits.order[i]) :]]
        elif edits.kind[i] == SET:
            out[at][-1] = text
        else:
            out[at] = out[at][:-1]
    assert [x for xs in out for x in xs] == b


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(urls, urls), min_size=1, max_size=6))
def test_explanations_hold(pairs: list[tuple[str, str]]) -> None:
    table = KeyTable(SiteTable.build([u for pair in pairs for u in pair]))
    u, v = np.arange(0, 2 * len(pairs), 2), np.arange(1, 2 * len(pairs), 2)
    cluster = np.arange(len(pairs))
    edits = differences(table, u, v)
    explain(table, edits, u, cluster, conversions=("upper", "lower"))
    for i in range(len(edits)):
        said, code = edits.explained[i], int(edits.code[i])
        if edits.kind[i] == DROP:
            assert code == 0
        elif said == REFERENCE:
            source = u[edits.pair[i] : edits.pair[i] + 1]
            value = table.of_atom(int(edits.what[i]), source)[0]
            text = table.vocab[value]
            convert = (str, str.upper, str.lower)[int(edits.convert[i])]
            assert value and convert(text) == table.vocab[code]
        elif said == LITERAL:
            assert edits.what[i] == code
        else:
            assert said == VARIES and edits.old[i] > 0


def test_a_reference_goes_before_a_conversion_before_a_literal() -> None:
    found = ["http://e.com/wiki/AB?t=cd", "http://e.com/p?x=AB&y=ab&z=q7"]
    table = KeyTable(SiteTable.build(found))
    u, v = np.array([0]), np.array([1])
    edits = differences(table, u, v)
    explain(table, edits, u, np.array([0]), conversions=("lower",))
    said = {
        table.columns[a]: (e, c)
        for a, e, c in zip(edits.atom, edits.explained, edits.convert, strict=True)
        if a >= 0
    }
    assert said["query[x]"] == (REFERENCE, 0)
    assert said["query[y]"] == (REFERENCE, 1)
    assert said["query[z]"] == (LITERAL, 0)
    explain(table, edits, u, np.array([0]), conversions=(), references=False)
    assert set(edits.explained[edits.kind != DROP].tolist()) <= {LITERAL, VARIES}


# ------------------------------------------------------------------------------------------ decision tree


def plain_contexts(columns: list[list[int]], classes: list[int], threshold: int) -> set[frozenset[int]]:
    """Algorithm 5 node by node."""
    rows = range(len(classes))

    def entropy(members: list[int]) -> float:
        n = len(members)
        return -sum(c / n * math.log2(c / n) for c in Counter(classes[i] for i in members).values())

    def conditional(column: list[int]) -> float:
        by = defaultdict(list)
        for i in rows:
            by[column[i]].append(i)
        return sum(len(m) / len(classes) * entropy(m) for m in by.values())

    order = sorted(
        range(len(columns)), key=lambda j: (round(conditional(columns[j]) * 1e6), -len(set(columns[j])), j)
    )
    nodes = [[i for i in rows if classes[i] == c] for c in sorted(set(classes))]
    for j in order:
        new = []
        for node in nodes:
            count = Counter(columns[j][i] for i in node)
            if len(count) > threshold or 2 * max(count.values()) <= len(node):
                new.append(node)
            else:
                new += [[i for i in node if columns[j][i] == v] for v in count]
        nodes = new
    return {frozenset(node) for node in nodes}


@pytest.mark.parametrize("seed", range(20))
def test_contexts_agree_with_the_plain_tree(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(1, 60)
    columns = [[rng.choice([0, 1, 1, 1, rng.randint(0, k)]) for _ in range(n)] for k in (1, 2, 6, 30)]
    classes = [rng.randint(0, 3) for _ in range(n)]
    nodes = contexts([np.array(c) for c in columns], np.array(classes), threshold=3)
    groups = defaultdict(set)
    for i, node in enumerate(nodes.tolist()):
        groups[node].add(i)
    assert {frozenset(g) for g in groups.values()} == plain_contexts(columns, classes, 3)


def test_the_key_that_tells_the_transformation_has_no_entropy_left() -> None:
    rng = random.Random(5)
    classes = np.array([rng.randint(0, 2) for _ in range(90)])
    noise = np.array([rng.randint(0, 2) for _ in range(90)])
    told, untold, constant = conditional_entropies([classes * 7, noise, np.zeros(90, np.int64)], classes)
    assert told == 0
    assert 1.4 < untold <= constant


def test_a_key_without_a_majority_is_left_open_and_one_with_is_split() -> None:
    classes = np.zeros(10, np.int64)
    half = np.array([1] * 5 + [2] * 5)
    most = np.array([1] * 6 + [2] * 4)
    many = np.array([1] * 6 + [2, 3, 4, 5])
    assert len(set(contexts([half], classes).tolist())) == 1
    assert len(set(contexts([most], classes).tolist())) == 2
    assert len(set(contexts([many], classes, threshold=4).tolist())) == 1
    assert len(set(contexts([many], classes, threshold=5).tolist())) == 5


# ---------------------------------------------------------------------------------------------- pairs


clusters = st.lists(st.integers(-1, 4), min_size=1, max_size=60)


@settings(max_examples=100, deadline=None)
@given(clusters, st.integers(1, 3), st.integers(5, 12), st.randoms())
def test_selected_pairs_keep_their_promises(
    found: list[int], k: int, sources: int, rng: random.Random
) -> None:
    cluster = np.array(found)
    rank = np.array(rng.sample(range(len(found)), len(found)))
    alive = np.array([rng.random() < 0.8 for _ in found])
    importance = np.array([rng.choice([1.0, 5.0, 100.0]) for _ in found])
    u, v = select_pairs(cluster, rank, importance, alive, targets=k, sources=sources)
    assert (cluster[u] == cluster[v]).all() and (cluster[u] >= 0).all() and alive[v].all()
    assert len(set(zip(u.tolist(), v.tolist(), strict=True))) == len(u)
    for c in set(found) - {-1}:
        members = [i for i in range(len(found)) if found[i] == c]
        good = sorted((i for i in members if alive[i]), key=lambda i: rank[i])
        targets = set(v[cluster[v] == c].tolist())
        if len(members) > 1 and good:
            assert targets == set(good[: min(k, len(members) - 1)])
            assert 1 <= len(set(u[cluster[u] == c].tolist())) <= sources
            assert not targets & set(u[cluster[u] == c].tolist())
        else:
            assert not targets


def test_important_sources_are_preferred_and_the_tail_is_not_forgotten() -> None:
    importance = np.concatenate((np.full(10, 1000.0), np.ones(90), [0.0]))
    rank = np.arange(101)[::-1].copy()
    u, _ = select_pairs(np.zeros(101, np.int64), rank, importance, np.ones(101, bool), sources=20)
    assert set(range(10)) <= set(u.tolist())
    assert len(set((u // 20).tolist())) == 5


@settings(max_examples=40, deadline=None)
@given(st.lists(urls, min_size=2, max_size=10, unique=True))
def test_nearest_pairs_agree_with_trying_all(found: list[str]) -> None:
    table = KeyTable(SiteTable.build(found))
    n = len(found)
    rank = target_rank(table, np.ones(n, bool), np.ones(n))
    u, v = nearest_pairs(table, np.zeros(n, np.int64), rank, np.ones(n, bool), np.arange(n))

    def cost(a: int, b: int) -> int:
        keys = int((table.codes[a] != table.codes[b]).sum())
        front = int((table.path[a] != table.path[b]).sum())
        return keys + min(front, int((table.path_back[a] != table.path_back[b]).sum()))

    expected = {}
    for a in range(n):
        better = [b for b in range(n) if rank[b] < rank[a]]
        if better:
            expected[a] = min(better, key=lambda b: (cost(a, b), rank[b]))
    assert dict(zip(u.tolist(), v.tolist(), strict=True)) == expected


# --------------------------------------------------------------------------------------------- scores


def test_scores_agree_with_rewriting_the_urls(made_up: Site) -> None:
    cluster = made_up.labels.cluster.astype(np.int64)
    scored = Pairwise(min_coverage=2).scored(made_up)
    assert len(scored) >= 5
    plain = [frozenset(key_view(url).items()) for url in made_up.urls]
    for rule, score in scored:
        compiled = compile_rule(rule)
        after = [compiled.apply(url) or url for url in made_up.urls]
        keys = [
            plain[i] if a == made_up.urls[i] else frozenset(key_view(a).items()) for i, a in enumerate(after)
        ]
        changed = [i for i in range(made_up.n) if keys[i] != plain[i]]
        assert changed == score.rows.tolist(), rule.describe()
        groups = defaultdict(list)
        for i, key in enumerate(keys):
            groups[key].append(i)
        touched = {keys[i] for i in changed}
        met = [Counter(cluster[g].tolist()) for k, g in groups.items() if k in touched and len(g) > 1]
        assert score.true == sum(max(c.values()) - 1 for c in met)
        assert score.wrong == sum(sum(c.values()) - max(c.values()) for c in met)
        assert score.pairs == sum(math.comb(sum(c.values()), 2) for c in met)
        assert score.false_pairs == score.pairs - sum(math.comb(n, 2) for c in met for n in c.values())
        majority = [max(c.values()) / sum(c.values()) for c in met]
        if majority:
            assert score.precision == pytest.approx(
                sum(max(c.values()) for c in met) / sum(sum(c.values()) for c in met)
            )
        known = {key: cluster[i] for i, key in reversed(list(enumerate(plain)))}
        wrong = sum(keys[i] in known and known[keys[i]] != cluster[i] for i in changed)
        assert score.literal == pytest.approx((len(changed) - wrong) / len(changed))


@pytest.mark.parametrize(
    "options", [{}, {"relax": False}, {"deep": False}, {"end_alignment": False}, {"pairs": "all"}]
)
def test_every_proposal_merges_what_belongs_together(options: dict[str, object], made_up: Site) -> None:
    rules = Pairwise(min_coverage=5, **options).propose(made_up)  # type: ignore[arg-type]
    assert rules
    cluster = dict(zip(made_up.urls.tolist(), made_up.labels.cluster.tolist(), strict=True))
    for rule in rules:
        assert rule.examples
        for before, after in rule.examples:
            assert compile_rule(rule).apply(before) == after
            if after in cluster:
                assert cluster[after] == cluster[before]


def test_a_site_of_nothing() -> None:
    for table in (
        pa.table({"url": ["http://www.example.com/"], "cluster": ["1"]}),
        pa.table({"url": ["mailto:x", "http://www.example.com"], "cluster": ["1", "1"]}),
    ):
        for found in split_sites(table):
            assert Pairwise().propose(found) == []
