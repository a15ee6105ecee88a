"""Phase 2 against the published double loop, and the refinements the papers print."""

from __future__ import annotations

import numpy as np
import plain_dustbuster as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.learners.envelopes import Pairs, Rows
from undust.learners.redundancy import refinements, survivors
from undust.url import SiteTable


def as_pairs(rules: list[plain.Rule]) -> tuple[Rows, Pairs]:
    """Rules made of tokens, as a kernel's pairs: each side is a row of its own."""
    vocab = {token: i for i, token in enumerate(sorted({t for r in rules for t in r[0] + r[1]}))}
    sides = [[vocab[t] for t in side] for r in rules for side in r[:2]]
    rows = Rows(
        np.array([t for side in sides for t in side], dtype=np.int32), np.cumsum([0, *map(len, sides)])
    )
    n = np.arange(len(rules))
    lengths = rows.lengths
    low, high = (np.array([r[k] for r in rules]) for k in (2, 3))
    return rows, Pairs(2 * n, 2 * n + 1, 0 * n, lengths[2 * n], lengths[2 * n + 1], low, high)


def tokens(text: str) -> plain.Tokens:
    return plain.tokens(text)[1:-1]


def refined(fine: tuple[str, str], broad: tuple[str, str]) -> bool:
    rules = [(*map(tokens, fine), 5, 5), (*map(tokens, broad), 5, 5)]
    found = (0, 1) in set(zip(*(x.tolist() for x in refinements(*as_pairs(rules))), strict=True))
    assert found == plain.refines(*rules)
    return found


@pytest.mark.parametrize("broad", [("story?id=", "story_"), ("?id=", "_")])
def test_TV_2_6_the_forum_rule_refines_its_parts(broad):
    assert refined((".co.il/story?id=", ".co.il/story_"), broad)
    assert not refined(broad, (".co.il/story?id=", ".co.il/story_"))


def test_TV_2_7_two_parts_of_one_rule_do_not_refine_each_other():
    fine = ("http://www.cnn.com", "http://cnn.com")
    parts = ("www.cnn", "cnn"), ("http://www.", "http://")
    assert all(refined(fine, part) for part in parts)
    assert not refined(*parts) and not refined(*parts[::-1])
    assert not refined(fine, ("http://www", "http://"))  # as printed: it would give http://.cnn.com


sides = st.lists(st.sampled_from(["a", "b", "/"]), max_size=5).map(tuple)
rule_lists = st.lists(
    st.tuples(sides, sides, st.integers(1, 8)).filter(lambda r: r[0] != r[1]).map(
        lambda r: (*plain.greater_first(r[0], r[1]), r[2], r[2])
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda r: r[:2],
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(rule_lists, st.sampled_from([0.0, 0.05, 0.5]), st.integers(0, 3), st.sampled_from([0, 1, 3, 1100]))
def test_the_lookup_eliminates_what_the_double_loop_eliminates(rules, relative, absolute, window):
    rules.sort(key=lambda r: plain.rank(r, r[3]))
    keep = survivors(*as_pairs(rules), relative=relative, absolute=absolute, window=window)
    kept = [r for r, k in zip(rules, keep, strict=True) if k]
    wanted = plain.eliminate(rules, relative=relative, absolute=absolute, window=window)
    assert sorted(kept, key=lambda r: plain.rank(r, r[2])) == wanted


@given(rule_lists)
def test_the_lookup_finds_every_refinement(rules):
    found = set(zip(*(x.tolist() for x in refinements(*as_pairs(rules))), strict=True))
    n = range(len(rules))
    assert found == {(i, j) for i in n for j in n if i != j and plain.refines(rules[i], rules[j])}


def test_the_rule_with_the_context_survives():
    """Stories hang below one host only: the rule must say so, or it would rewrite the other host as well."""
    urls = [f"http://a.test/{form}{i}" for i in range(5) for form in ("story_", "story?id=")]
    urls += [f"http://b.test/story_{i}" for i in range(5)]
    rules = plain.detect(urls)
    rules.sort(key=lambda r: plain.rank(r, r[3]))
    keep = survivors(*as_pairs(rules))
    kept = {("".join(r[0]), "".join(r[1])) for r, k in zip(rules, keep, strict=True) if k}
    assert ("^http://a.test/story?id=", "^http://a.test/story_") in kept
    assert ("?id=", "_") not in kept


def test_no_rules():
    table = SiteTable.build(["http://a.test/"]).tokens
    none = np.zeros(0, dtype=np.int64)
    assert survivors(Rows(table.ids, table.offsets), Pairs(*[none] * 7)).tolist() == []
