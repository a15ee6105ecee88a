"""The envelope kernel against the dictionaries of `plain_dustbuster`, and the papers' worked examples."""

from __future__ import annotations

from itertools import product

import numpy as np
import plain_dustbuster as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.learners import envelopes
from undust.learners.envelopes import Pairs, Rows, likely_pairs, radix_argsort
from undust.url import SiteTable, tokenize


def mined(urls: list[str], similar=None, **settings_) -> list[plain.Rule]:
    """The kernel's pairs as the oracle writes them."""
    table = SiteTable.build(urls).tokens
    rows = Rows(table.ids, table.offsets)
    pairs = likely_pairs(rows, similar, **settings_)
    split = [plain.tokens(url) for url in urls]
    rules = []
    for i in range(len(pairs)):
        start = pairs.start[i]
        a = split[pairs.row_a[i]][start : start + pairs.len_a[i]]
        b = split[pairs.row_b[i]][start : start + pairs.len_b[i]]
        rules.append((*plain.greater_first(a, b), int(pairs.low[i]), int(pairs.high[i])))
    return sorted(rules, key=lambda r: plain.rank(r, r[2]))


few_tokens = st.lists(st.sampled_from(["a", "b", ".", "/", "ab"]), max_size=9).map("".join)
url_lists = st.lists(few_tokens, min_size=1, max_size=24, unique=True)


@settings(max_examples=120, deadline=None)
@given(url_lists, st.integers(0, 12), st.integers(2, 6), st.integers(0, 6), st.integers(1, 3), st.booleans())
def test_the_kernel_finds_what_dictionaries_find(urls, width, low, more, support, literal):
    parameters = dict(
        max_substring=width, bucket_low=low, bucket_high=low + more, min_support=support, literal=literal
    )
    assert mined(urls, **parameters) == plain.detect(urls, **parameters)


@settings(max_examples=50, deadline=None)
@given(url_lists, st.data())
def test_the_kernel_asks_for_likeness_like_the_dictionaries(urls, data):
    lo = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(urls), max_size=len(urls))))
    hi = lo + 1
    crowd = data.draw(st.sampled_from([0, 12, 30]))
    parameters = dict(bucket_low=2, bucket_high=4, crowd=crowd, min_support=1)

    def similar(u, v):
        return (lo[u] <= hi[v]) & (lo[v] <= hi[u])

    assert mined(urls, similar, **parameters) == plain.detect(
        urls, lambda u, v: bool(similar(u, v)), **parameters
    )


@settings(max_examples=80, deadline=None)
@given(url_lists)
def test_theorem_2_support_is_the_number_of_common_envelopes(urls):
    """|support(a -> b)| = |E(a) & E(b)| for non-empty, non-semiperiodic a, b; with RES-2 for all."""
    everything = dict(bucket_low=10**6, bucket_high=10**6, min_support=1, max_substring=10**3)
    split = {plain.tokens(url) for url in urls}
    exact = {r[:2]: r[2] for r in mined(urls, **everything)}
    envelopes_in_common = {r[:2]: r[2] for r in mined(urls, **everything, literal=True)}
    assert exact.keys() == envelopes_in_common.keys()
    for (a, b), n in exact.items():
        instances = {
            (u, u[:i] + b + u[i + len(a) :])
            for u in split
            for i in range(len(u) - len(a) + 1)
            if u[i : i + len(a)] == a and u[:i] + b + u[i + len(a) :] in split
        }
        assert n == len(instances)
        if b and not plain.semiperiodic(a) and not plain.semiperiodic(b):
            assert n == envelopes_in_common[a, b]
        else:
            assert n <= envelopes_in_common[a, b]


def test_TV_2_1_tokens_of_a_url():
    assert "".join(tokenize("http://www.site.com/index.html")) == "^http://www.site.com/index.html$"
    assert len(tokenize("http://www.site.com/index.html")) == 15


def test_TV_2_2_a_pair_that_ends_with_the_url():
    (rule,) = [
        r
        for r in mined(["http://www.site.com/index.html", "http://www.site.com"], min_support=1)
        if "".join(r[0]) == "/index.html$"
    ]
    assert rule == (("/", "index", ".", "html", "$"), ("$",), 1, 1)


def test_TV_2_3_the_envelope_of_an_occurrence():
    """`index` and `start` are exchangeable exactly within (^http://www.site.com/, .html$)."""
    rules = mined(["http://www.site.com/index.html", "http://www.site.com/start.html"], min_support=1)
    assert (("start",), ("index",), 1, 1) in rules
    whole = tokenize("http://www.site.com/index.html")
    assert (whole[:11], whole[12:]) == (tokenize("http://www.site.com/")[:-1], tokenize(".html")[1:])


@pytest.mark.parametrize(
    "text, periodic",
    [("a.a.a", True), ("////", True), ("/////", True), ("a.a", True),
     ("a.a.b", False), ("%/////", False), ("%////", False), ("a", False)],
)  # fmt: skip
def test_TV_2_4_semiperiodic_strings(text, periodic):
    assert plain.semiperiodic(plain.tokens(text)[1:-1]) is periodic


def test_TV_2_5_periodic_strings_are_counted_once():
    urls = ["http://a.a.a/", "http://a.a/"]
    pairs = [(("a", ".", "a"), ("a",)), (("a", "."), ())]
    counted = {r[:2]: r[2] for r in mined(urls, min_support=1)}
    envelopes_ = {r[:2]: r[2] for r in mined(urls, min_support=1, literal=True)}
    assert [envelopes_[p] for p in pairs] == [2, 2]
    assert [counted[p] for p in pairs] == [1, 1]


def test_a_list_in_parts_gives_the_same(monkeypatch):
    urls = ["".join(p) for p in product("abc", repeat=3)] + ["".join(p) for p in product("ab", repeat=4)]
    urls = [".".join(u) for u in urls]
    whole = mined(urls, min_support=1)
    parts = []
    counted = envelopes._counted
    monkeypatch.setattr(envelopes, "_counted", lambda *args: parts.append(1) or counted(*args))
    monkeypatch.setattr(envelopes, "_INSTANCES", 1500)
    monkeypatch.setattr(envelopes, "_BATCH", 100)
    assert mined(urls, min_support=1) == whole
    assert len(parts) > 1


def test_the_order_of_the_rows_does_not_matter():
    urls = [f"http://h.test/{a}{i}" for i in range(9) for a in ("story_", "story?id=", "x/")]
    assert mined(urls) == mined(urls[::-1])


def test_no_rows_and_one_row():
    assert len(likely_pairs(Rows(np.zeros(0, np.int32), np.zeros(1, np.int64)))) == 0
    assert mined(["http://h.test/"]) == []


@given(st.lists(st.integers(0, 1 << 40)))
def test_radix_argsort_is_a_stable_argsort(keys):
    keys = np.array(keys, dtype=np.int64)
    assert radix_argsort(keys).tolist() == np.argsort(keys, kind="stable").tolist()


def test_pairs_can_be_taken():
    pairs = Pairs(*(np.arange(3) for _ in range(7)))
    assert pairs.take(np.array([2, 0])).row_a.tolist() == [2, 0]
