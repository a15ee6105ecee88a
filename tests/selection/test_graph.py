"""The graph selection: destinations, chains, and what must hold for any rules."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from undust.learners.pattern_tree import PatternTree
from undust.likeness import Site, split_sites
from undust.rules import Rule, compile_rule
from undust.rules.canonicalizer import MAX_ROUNDS
from undust.selection.chain import concatenate
from undust.selection.deployment import outcome, sweep
from undust.selection.graph import energy, graph
from undust.selection.links import Groups, Link, tree_links
from undust.selection.naive import naive


def link(rule: Rule, source: list[int], target: list[int], fpr: float = 0.0) -> Link:
    return Link(rule, np.array(source), np.array(target), fpr, len(source))


OLD = Rule(
    when={"path": "/old.php", "query[no]": "{:int}"},
    do={"path": "/show.php", "query[id]": "{query[no]}", "query[no]": None},
)
SHOW = Rule(
    when={"path": "/show.php", "query[id]": "{:int}"}, do={"path": "/item/{query[id]}", "query[id]": None}
)
ITEM = Rule(when={"path": "/item/{:int}"}, do={"path": "/i/{path[1]}.html"})
BACK = Rule(when={"path": "/i/{}"}, do={"path": "/item/{path[1]}"})


def figure_8() -> list[Link]:
    """Four formats of growing popularity, a chain of rules along them, and one rule back."""
    a, b, c, d = [0], [1, 2], [3, 4, 5], [6, 7, 8, 9]
    return [link(OLD, a, b), link(SHOW, b, c), link(ITEM, c, d), link(BACK, d, c)]


def test_TV_5_4_no_rule_starts_at_a_destination() -> None:
    rules = graph(figure_8())
    assert len(rules) == 3
    at_destination = "http://example.com/i/7.html"
    assert all(compile_rule(rule).apply(at_destination) is None for rule in rules)


def test_TV_5_4_a_chain_becomes_one_rule_with_the_same_output() -> None:
    url = "http://example.com/old.php?no=7"
    step = url
    for rule in (OLD, SHOW, ITEM):
        step = compile_rule(rule).apply(step) or step
    assert step == "http://example.com/i/7.html"
    direct = {compile_rule(rule).apply(url) for rule in graph(figure_8())}
    assert step in direct
    assert direct == {step, None}


def test_the_most_popular_of_two_targets_is_kept_although_it_is_less_pure() -> None:
    to_small = link(Rule(do={"query[a]": None}), [0, 1], [2], fpr=0.0)
    to_large = link(Rule(do={"query[b]": None}), [0, 1], [3, 4, 5, 6], fpr=0.04)
    assert graph([to_small, to_large]) == [to_large.rule]
    assert naive([to_small, to_large]) == [to_small.rule]


def test_energy_is_kept_and_gathers_where_no_edge_leads_away() -> None:
    links = figure_8()[:3]
    groups = Groups(links)
    flow = energy(links, groups)
    assert np.isclose(flow.sum(), 1)
    assert flow.argmax() == groups.target[2]
    assert np.isclose(flow.max(), 1, atol=1e-6)


def test_a_group_within_another_one_gives_it_its_energy() -> None:
    inner = link(Rule(do={"query[a]": None}), [0, 1], [9])
    outer = link(Rule(do={"query[b]": None}), [0, 1, 2, 3], [8])
    groups = Groups([inner, outer])
    flow = dict(zip(map(len, groups.rows), energy([inner, outer], groups).round(6), strict=True))
    assert flow[2] == flow[4] == 0
    into = {g: f for g, f in enumerate(energy([inner, outer], groups))}
    assert into[groups.target[1]] > into[groups.target[0]] > 0


def test_a_format_is_deployed_with_the_rule_that_needs_it() -> None:
    form = Rule(do={"query[sid]": None})
    led = Link(Rule(do={"query[a]": None}), np.array([0]), np.array([1, 2]), 0.0, 1, form)
    assert set(graph([led])) == {led.rule, form}


def test_a_self_rule_goes_where_a_larger_group_does_as_much() -> None:
    wide = link(Rule(do={"query[a]": None, "query[b]": None}), [0, 1, 2], [0, 1, 2])
    narrow = link(Rule(when={"path": "/x"}, do={"query[a]": None}), [0, 1], [0, 1])
    other = link(Rule(when={"path": "/x"}, do={"query[c]": None}), [0, 2], [0, 2])
    assert set(graph([wide, narrow, other])) == {wide.rule, other.rule}


def test_what_a_self_rule_of_a_larger_group_drops_tells_no_groups_apart() -> None:
    wide = link(Rule(do={"host[1]": None, "query[sid]": None}), [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    across = Rule(when={"host[1]": None}, do={"host[1]": "www"})
    form = Rule(when={"path": "/x"}, do={"query[sid]": {"ignore": "7"}})
    within = Link(across, np.array([0, 1]), np.array([2, 3, 4]), 0.0, 2)
    assert graph([wide, within]) == [wide.rule]
    beyond = Link(across, np.array([0, 1]), np.array([2, 3, 5, 6]), 0.0, 2)
    assert set(graph([wide, beyond])) == {wide.rule, across}
    # ... and a target in that group needs no rule of its own to the same end
    into = Link(Rule(do={"query[b]": "1"}), np.array([7]), np.array([2, 3]), 0.0, 1, form)
    assert set(graph([wide, into])) == {wide.rule, into.rule}


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_rules_they_never_form_a_circle(seed: int) -> None:
    r = random.Random(seed)
    groups = [sorted(r.sample(range(30), r.randrange(1, 8))) for _ in range(10)]
    links = [
        link(Rule(do={f"query[r{i}]": None}), *r.sample(groups, 2), fpr=r.random() / 20) for i in range(25)
    ]
    number = {rule.rule.id: rule for rule in links}
    for select in (graph, naive):
        kept = [number[rule.id] for rule in select(links) if rule.id in number]
        follows = {k: [o for o in kept if set(k.target.tolist()) == set(o.source.tolist())] for k in kept}
        for start in kept:
            seen, todo = set(), list(follows[start])
            while todo:
                at = todo.pop()
                assert at is not start
                if at not in seen:
                    seen.add(at)
                    todo += follows[at]


# -- chains -----------------------------------------------------------------------------------------------------

CHAINS = [
    (OLD, SHOW, "http://example.com/old.php?no=7&x=1"),
    (SHOW, ITEM, "http://example.com/show.php?id=7"),
    (Rule(do={"query[a]": None}), Rule(do={"query[b]": {"ignore": "1"}}), "http://example.com/?a=2&b=3&c=4"),
    (
        Rule(when={"path": "/a/{}"}, do={"path": "/b/{path[1]}/c"}),
        Rule(when={"path": "/b/{}/c"}, do={"path[2]": "d", "query[x]": "{path[1]}"}),
        "http://example.com/a/7",
    ),
    (
        Rule(when={"path": "/p"}, do={"query": "x={query[y]}&z=1"}),
        Rule(when={"path": "/p"}, do={"query[z]": None, "host[1]": "www"}),
        "http://example.com/p?y=3",
    ),
]


@pytest.mark.parametrize(("first", "second", "url"), CHAINS)
def test_a_chain_does_what_its_rules_do_one_after_the_other(first: Rule, second: Rule, url: str) -> None:
    direct = concatenate(first, second)
    assert direct is not None
    middle = compile_rule(first).apply(url)
    assert middle is not None
    assert compile_rule(direct).apply(url) == compile_rule(second).apply(middle)


def test_what_cannot_be_said_as_one_rule_stays_two() -> None:
    swap = Rule(do={"substitute": {"from": "a", "to": "b"}})
    assert concatenate(swap, SHOW) is None
    elsewhere = Rule(when={"query[z]": "{}"}, do={"query[z]": None})
    assert concatenate(OLD, elsewhere) is not None  # both are about the query
    assert concatenate(ITEM, elsewhere) is None
    dropped = Rule(do={"path[0]": None})
    assert concatenate(dropped, Rule(do={"path[1]": "x"})) is None


# -- on sites ---------------------------------------------------------------------------------------------------


def shop(seed: int, n: int = 600) -> Site:
    r = random.Random(seed)
    pages = {}
    for _ in range(n):
        item, kind = r.randrange(60), r.random()
        sid = r.choice(["", f"&sid={r.randrange(10**6)}"])
        mirror = f"http://{r.choice(['', 'www.'])}example.com"
        if kind < 0.4:
            pages[f"{mirror}/show.php?id={item}{sid}"] = f"i{item}"
        elif kind < 0.7:
            pages[f"{mirror}/item/{item}/view"] = f"i{item}"
        else:
            pages[f"{mirror}/list.php?page={item}{sid}"] = f"l{item}"
    (found,) = split_sites(pa.table({"url": list(pages), "cluster": list(pages.values())}), "all")
    return found


@pytest.mark.parametrize("strategy", ["naive", "graph"])
def test_selected_rules_are_idempotent_and_keep_contents_apart(strategy: str) -> None:
    train, test = shop(1), shop(2)
    (row,) = sweep(PatternTree(align="start"), strategy, train, test)
    assert 0 < row.deployed <= row.qualified <= row.raw
    assert row.outcome.fpr == 0
    assert row.outcome.labels == row.outcome.clusters
    if strategy == "graph":
        assert row.outcome.compression > 0.9 * row.outcome.ceiling


def test_the_graph_removes_more_than_the_naive_selection() -> None:
    train, test = shop(3), shop(4)
    learner = PatternTree(align="start")
    (naive_row,), (graph_row,) = (sweep(learner, s, train, test) for s in ("naive", "graph"))
    assert graph_row.outcome.compression > naive_row.outcome.compression


def test_a_graph_of_rules_comes_to_rest() -> None:
    train = shop(5)
    learner = PatternTree(align="start")
    (grown,) = learner.grow(train)
    links = list(tree_links(grown, learner.qualified(learner.raw(grown)), learner.rate))
    rules = [compile_rule(rule).apply for rule in graph(links, train.urls.tolist())]
    for url in train.urls.tolist():
        for _ in range(MAX_ROUNDS):
            before = url
            for apply in rules:
                url = apply(url) or url
            if url == before:
                break
        else:
            pytest.fail(f"{url} does not come to rest")


def test_without_rules_nothing_is_compressed() -> None:
    done = outcome([], shop(6))
    assert done.compression == done.reduction == 0
    assert done.ceiling > 0.5
