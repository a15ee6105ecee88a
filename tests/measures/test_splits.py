"""The protocols: nothing that is measured on may have been learned from, and seeds fix every draw."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from undust.crawl import read
from undust.likeness.seen import page_urls
from undust.measures import Truth
from undust.measures.cases import Case
from undust.measures.splits import by_cluster, fifth, halves, transferred, two_logs
from undust.rules import Canonicalizer, Rule, RuleBook, Scope, SiteRules

truths = st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=40).map(
    lambda rows: Truth.of([(f"http://a.example/{i}", c, c == 8 and s) for i, (c, s) in enumerate(rows)])
)


def case(n: int = 60, hits: int = 1) -> Case:
    pages = [
        {"url": f"http://a.example/{i}", "status": 200, "digest": str(i // 3)}
        for i in range(n)
        for _ in range(hits)
    ]
    pages += [{"url": f"http://a.example/r{i}", "status": 302, "location": f"/{i}"} for i in range(n)]
    truth = Truth.of([(f"http://a.example/{i}", i // 3, False) for i in range(n)])
    return Case("made up", read(pages).pages, truth)


@given(truths, st.integers(0, 99))
def test_no_cluster_is_on_both_sides(truth: Truth, seed: int) -> None:
    test = by_cluster(truth, seed)
    hard = ~truth.soft
    assert not set(truth.cluster[test & hard]) & set(truth.cluster[~test & hard])


@given(truths, st.integers(0, 99), st.randoms())
def test_the_draw_depends_on_the_seed_and_not_on_the_order(truth: Truth, seed: int, random: object) -> None:
    order = list(range(len(truth)))
    random.shuffle(order)  # type: ignore[attr-defined]
    mixed = truth.take(np.array(order))
    side = dict(zip(truth.urls, by_cluster(truth, seed).tolist(), strict=True))
    assert side == dict(zip(mixed.urls, by_cluster(mixed, seed).tolist(), strict=True))


def test_halves_learns_from_no_test_page_and_from_no_redirect_to_one() -> None:
    split = halves(case())
    test = set(split.urls)
    train = page_urls(split.train)
    assert len(test) == 30
    assert not test & set(train)
    redirects = [url for url in train if "/r" in url]
    assert len(redirects) == 30
    assert not test & {url.replace("/r", "/") for url in redirects}


def test_a_fifth_is_a_fifth_and_all_are_tested() -> None:
    split = fifth(case())
    known = set(split.case.truth.urls)
    assert len(known & set(page_urls(split.train))) == 12
    assert set(split.urls) == known


def test_two_logs_share_what_is_visited_often_and_nothing_else() -> None:
    once, often = two_logs(case()), two_logs(case(hits=30))
    assert not set(once.urls) & set(page_urls(once.train))
    assert set(often.urls) <= set(page_urls(often.train))


def test_rules_go_to_another_site_without_their_host() -> None:
    rule = Rule(Scope(("a.example",), path="/forum/"), do={"query[sid]": None})
    canonical = Rule(when={"host": "www.a.example"}, do={"host": "a.example"})
    book = transferred(
        [RuleBook({"a.example": SiteRules("a.example", (), [rule, canonical])})], ("b.example",)
    )
    canon = Canonicalizer(book)
    assert len(book) == 1
    assert canon("http://b.example/forum/?sid=1") == "http://b.example/forum/"
    assert canon("http://b.example/shop/?sid=1") == "http://b.example/shop/?sid=1"
    assert canon("http://a.example/forum/?sid=1") == "http://a.example/forum/?sid=1"


def test_a_case_without_a_truth_goes_by_its_evidence() -> None:
    made = Case(
        "no truth", pa.table({"url": ["http://a.example/1", "http://a.example/2"], "digest": ["x", "x"]})
    )
    assert made.truth.cluster.tolist() == [0, 0]
