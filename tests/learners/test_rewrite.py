"""Rewrite rules (Dasgupta et al.): the seeds' examples by name, induction against a plain oracle."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from undust.learners.key_rule import Literal
from undust.learners.key_table import KeyTable
from undust.learners.pairs import all_pairs
from undust.learners.rewrite import RawRules, Rewrite, generalize, raw_rules
from undust.likeness import Site, split_sites
from undust.url import SiteTable


def site(clusters: list[list[str]]) -> Site:
    rows = [(url, str(i)) for i, urls in enumerate(clusters) for url in urls]
    (found,) = split_sites(pa.table({"url": [r[0] for r in rows], "cluster": [r[1] for r in rows]}))
    return found


def raw_of(urls: list[str]) -> RawRules:
    table = KeyTable(SiteTable.build(urls), deep=False, end_alignment=False)
    cluster = np.zeros(len(urls), np.int64)
    u, v = all_pairs(cluster, np.ones(len(urls), bool))
    return raw_rules(table, cluster, u, v)


def test_TV_3_1_the_context_is_the_source_and_only_the_session_is_set() -> None:
    urls = ["http://www.xyz.com/show.php?sid=71829", "http://www.xyz.com/show.php?sid=17628"]
    table = KeyTable(SiteTable.build(urls), deep=False, end_alignment=False)
    raw = raw_rules(table, np.zeros(2, np.int64), np.array([0]), np.array([1]))
    context = {table.name(k): table.vocab[code] for k, code in enumerate(raw.context[0])}
    assert context == {
        "scheme": "http",
        "host": "www.xyz.com",
        "query[sid]": "71829",
        "path[0]": "show.php",
    }
    (change,) = raw.rule(0).changes
    assert table.name(change.atom(table)) == "query[sid]"
    assert isinstance(change.value, Literal)
    assert table.vocab[change.value.code] == "17628"


# TV-3.2: keys K3 and K5 vary; U1..U4 differ pairwise in both of them.
OTHERS = [("k1", "s1"), ("k2", "s2"), ("k3", "s3"), ("k4", "s4")]
U5, U6, U7, U8 = ("p", "m"), ("q", "m"), ("p", "n"), ("q", "n")


def tv_3_2(cells: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """(K3, K5) of the contexts in which K3 is irrelevant."""
    raw = raw_of([f"http://www.xyz.com/a/b/{k3}/c/{k5}" for k3, k5 in cells])
    table = raw.table
    k3, k5 = (table.columns.index("scheme") + i for i in (table.n_columns + 2, table.n_columns + 4))
    out = []
    for row in generalize(raw, fanout=1):
        if raw.transformation[row, k3] == -1 and (np.delete(raw.transformation[row], k3) == 0).all():
            out.append(tuple("*" if c < 0 else table.vocab[c] for c in raw.context[row, [k3, k5]]))
    return sorted(out)  # type: ignore[arg-type]


def test_TV_3_2_rules_R1_and_R2_generalize_to_R3() -> None:
    assert tv_3_2([*OTHERS, U5, U6, U7, U8]) == [("*", "*")]


def test_TV_3_2_without_U6_there_is_no_R1_and_no_R3() -> None:
    assert tv_3_2([*OTHERS, U5, U7, U8]) == [("*", "n")]  # R2 alone


@pytest.mark.parametrize(
    ("values", "fanout", "open_"), [(8, 5, True), (8, 10, False), (31, 30, True), (30, 30, False)]
)
def test_a_key_is_left_open_above_the_fan_out(values: int, fanout: int, open_: bool) -> None:
    urls = [f"http://www.example.com/show.php?sid={i}" for i in range(values)]
    assert bool(generalize(raw_of(urls), fanout)) == open_


def test_aligning_from_the_start_keeps_one_rule_per_depth() -> None:
    # TV-4.8: the misaligned index.html is four specific rules here, and one for Koppula et al.
    clusters = [
        [f"http://www.example.com/{'d/' * depth}{i}/index.html", f"http://www.example.com/{'d/' * depth}{i}"]
        for depth in range(3)
        for i in range(12)
    ]
    rules = Rewrite(fanout=5, min_coverage=5).propose(site(clusters))
    drops = [rule for rule in rules if None in rule.do.values()]
    assert len(drops) == 3
    assert len({rule.when["path"] for rule in drops}) == 3


def test_a_rule_that_merges_different_pages_is_filtered() -> None:
    same = [[f"http://www.example.com/a?id={i}&x={x}" for x in range(7)] for i in range(7)]
    other = [[f"http://www.example.com/a?id={i}&x={x}"] for i in range(7, 60) for x in range(7)]
    assert Rewrite(fanout=5).propose(site(same))
    assert not Rewrite(fanout=5).propose(site(same + other))
    assert Rewrite(fanout=5, min_precision=0.0).propose(site(same + other))


def test_soft_clusters_teach_nothing() -> None:
    urls = [f"http://www.example.com/a?id={i}&x={x}" for i in range(7) for x in range(7)]
    pages = pa.table({"url": urls, "cluster": [str(i // 7) for i in range(49)], "soft": [True] * 49})
    (found,) = split_sites(pages)
    assert Rewrite(fanout=5).propose(found) == []


def oracle(rows: list[tuple[tuple[int, ...], tuple[int, ...]]], order: list[int], fanout: int) -> set[object]:
    """The same induction on plain tuples, one group at a time."""
    rules = set(rows)
    while True:
        before = set(rules)
        for k in order:
            for sets in (True, False):
                groups = defaultdict(set)
                for context, done in rules:
                    literal = done[k] >= 2 and done[k] % 2 == 0
                    usable = context[k] > 0 and literal if sets else context[k] >= 0 and done[k] == 0
                    if usable:
                        rest = (
                            context[:k],
                            context[k + 1 :],
                            (*done[:k], (), *done[k + 1 :]) if sets else done,
                        )
                        groups[rest].add((context, done))
                for group in groups.values():
                    values = {context[k] for context, _ in group}
                    if len(values) > fanout:
                        star = -2 if 0 in values else -1
                        rules -= group
                        for context, done in group:
                            new = (*done[:k], -1, *done[k + 1 :]) if sets else done
                            rules.add(((*context[:k], star, *context[k + 1 :]), new))
        if rules == before:
            return {rule for rule in rules if min(rule[0]) < 0}


@pytest.mark.parametrize("seed", range(8))
def test_induction_agrees_with_the_plain_one(seed: int) -> None:
    rng = random.Random(seed)
    cells = list(itertools.product("abc", "123", ["", "x", "y"]))
    urls = [f"http://e.com/{a}?i={i}" + (f"&o={o}" if o else "") for a, i, o in rng.sample(cells, 14)]
    raw = raw_of(urls)
    rows = [
        (tuple(c), tuple(t)) for c, t in zip(raw.context.tolist(), raw.transformation.tolist(), strict=True)
    ]
    spread = [len(np.unique(raw.context[:, k])) for k in range(raw.context.shape[1])]
    order = sorted(range(len(spread)), key=lambda k: (-spread[k], k))
    found = {
        (tuple(raw.context[r].tolist()), tuple(raw.transformation[r].tolist())) for r in generalize(raw, 2)
    }
    assert found == oracle(rows, order, 2)
