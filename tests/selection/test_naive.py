"""The naive selection: cases (a) to (c) of the paper's Figure 7."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from undust.likeness import Site, split_sites
from undust.rules import Rule
from undust.selection.links import Groups, Link, rule_links
from undust.selection.naive import naive


def link(
    name: str, source: list[int], target: list[int], fpr: float = 0.0, support: int | None = None
) -> Link:
    rule = Rule(do={f"query[{name}]": None})
    return Link(rule, np.array(source), np.array(target), fpr, len(source) if support is None else support)


def names(rules: list[Rule]) -> set[str]:
    return {rule.describe().removeprefix("*: drop ") for rule in rules}


def test_a_of_two_rules_with_one_source_the_one_with_fewer_false_pairs_stays() -> None:
    assert names(naive([link("a", [0, 1], [2], 0.02), link("b", [0, 1], [3], 0.01)])) == {"b"}


def test_b_a_rule_on_a_descendant_goes_where_its_ancestor_has_one() -> None:
    assert names(naive([link("a", [0, 1, 2], [5]), link("b", [0, 1], [6])])) == {"a"}
    assert names(naive([link("a", [0, 1, 2], [5]), link("b", [3], [6])])) == {"a", "b"}


def test_c_a_circle_is_broken_at_the_rule_with_least_support() -> None:
    circle = [link("a", [0], [1], support=9), link("b", [1], [2], support=3), link("c", [2], [0], support=7)]
    assert names(naive(circle)) == {"a", "c"}


def test_a_circle_by_way_of_a_larger_group_is_one_too() -> None:
    # b leads to [0], which lies within the source of a.
    pair = [link("a", [0, 1], [2], support=9), link("b", [2], [0], support=3)]
    assert names(naive(pair)) == {"a"}


def test_self_rules_are_no_circles_and_formats_come_along() -> None:
    own = Link(Rule(do={"query[own]": None}), np.array([4, 5]), np.array([4, 5]), 0.0, 2)
    form = Rule(do={"query[form]": None})
    led = Link(Rule(do={"query[led]": None}), np.array([0]), np.array([6]), 0.0, 1, form)
    assert names(naive([own, led])) == {"own", "led", "form"}


def test_no_rules_are_no_rules() -> None:
    assert naive([]) == []
    assert len(Groups([])) == 0


def site() -> Site:
    urls = [f"http://example.com/?id={i}{sid}" for i in range(4) for sid in ("", "&sid=7")]
    cluster = ["0", "0", "1", "1", "2", "2", "3", "9"]
    (found,) = split_sites(pa.table({"url": urls, "cluster": cluster}))
    return found


def test_rules_of_any_learner_become_links_by_running_them() -> None:
    drop, everything = Rule(do={"query[sid]": None}), Rule(do={"query": None})
    sid, all_of_it = rule_links([drop, everything, Rule(do={"query[none]": None})], site())
    assert [site().urls[row][-6:] for row in sid.source] == ["&sid=7"] * 4
    assert len(sid.target) == 4
    assert (sid.support, sid.fpr) == (4, 0.25)
    # No URL without its query was seen: the rule leads nowhere but to itself.
    assert all_of_it.source is all_of_it.target
    assert all_of_it.fpr == 1 - 3 / 28
