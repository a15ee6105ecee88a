"""Rules that are right one by one, run together."""

from __future__ import annotations

import pyarrow as pa
import pytest

from undust.learners.build_tree import ANY
from undust.learners.pattern_tree import PatternTree
from undust.likeness import Site, split_sites
from undust.rules import Rule
from undust.selection.deployment import outcome
from undust.selection.links import tree_links
from undust.selection.together import holding


def forum() -> Site:
    """Topics whose order is content; no URL has `desc` without a session."""
    pages = {}
    for i in range(20):
        for n, form in enumerate(("", f"&sid=a{i}", f"&sid=b{i}")):
            pages[f"http://example.com/t?id={i}{form}"] = f"{i}"
            pages[f"http://example.com/t?id={i}&desc=1&sid=c{i}{n}"] = f"{i} descending"
    (found,) = split_sites(pa.table({"url": list(pages), "cluster": list(pages.values())}))
    return found


SESSION = Rule(do={"query[sid]": None})
ORDER = Rule(when={"query[sid]": None}, do={"query[desc]": None})


def test_the_rule_goes_that_is_wrong_only_behind_another_one() -> None:
    assert outcome([SESSION], forum()).fpr == 0
    assert outcome([ORDER], forum()).fpr == 0
    assert outcome([SESSION, ORDER], forum()).fpr > 0.3
    assert holding([SESSION, ORDER], forum(), 0.05) == [SESSION]


@pytest.mark.parametrize("threshold", [0.0, 0.05, 1.0])
def test_what_is_left_keeps_to_the_threshold(threshold: float) -> None:
    every = Rule(do={"query": None})
    left = holding([every, ORDER, SESSION], forum(), threshold)
    assert outcome(left, forum()).fpr <= threshold
    assert (every in left) == (threshold == 1.0)
    assert holding([], forum(), threshold) == []


def test_a_widened_rule_leads_to_all_urls_of_the_form_it_writes() -> None:
    """Not to the one node it was learned for: that one would seem a rare format."""
    pages = {}
    for i in range(120):
        path = f"http://example.com/{'abcd'[i % 4]}/{i}"
        pages[path] = f"{i}"
        if i % 3:
            pages[f"{path}?s=1"] = f"{i}"
    (site,) = split_sites(pa.table({"url": list(pages), "cluster": list(pages.values())}))
    learner = PatternTree(align="start")
    (grown,) = learner.grow(site)
    for candidate in learner.qualified(learner.raw(grown)):
        for link in tree_links(grown, [candidate], learner.rate):
            if candidate.source is candidate.target:
                continue
            for key, code in candidate.when.items():
                codes = grown.tree.columns[key].codes[link.target]
                if key not in candidate.ops:
                    assert (codes > 0).all() if code == ANY else (codes == code).all()
