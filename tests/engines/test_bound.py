"""Sites too large to be learned whole: the sample, and the support that is counted on all pages."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from undust.crawl import read
from undust.engines.bound import ONE, bounded, shares
from undust.engines.learn import learn

from .crawls import Failing, pages


def plain_shares(strata: dict[int, int], most: int) -> dict[int, float]:
    """One page each in turn, as long as there are any: what `shares` computes."""
    taken = dict.fromkeys(strata, 0)
    for _ in range(min(most, sum(strata.values()))):
        taken[min((s for s in strata if taken[s] < strata[s]), key=lambda s: taken[s])] += 1
    return {s: taken[s] / strata[s] for s in strata}


@given(st.dictionaries(st.integers(-1, 9), st.integers(1, 60), min_size=1), st.integers(1, 200))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_shares_are_those_of_dealing_in_turn(strata, most) -> None:
    expected = plain_shares(strata, most)
    for stratum, bound in shares(strata, most).items():
        assert (
            abs(bound / ONE - expected[stratum]) * strata[stratum] < 1 + 1e-9
        )  # who gets the odd one is free


def crawl(n: int, per_content: int, seed: int = 3) -> pa.Table:
    rng = random.Random(seed)
    rows = [
        {
            "url": f"http://a.example/{i}?s={i % per_content}",
            "digest": str(i // per_content),
            "importance": 2.0 ** min(rng.expovariate(0.7), 12),
        }
        for i in range(n)
    ]
    rows += [{"url": f"http://b.example/{i}", "digest": f"b{i}"} for i in range(9)]
    return read(rows).pages


def test_the_important_are_taken_whole_and_small_sites_left_alone() -> None:
    table = crawl(3000, 3)
    part, over = bounded(table, "host", 600)
    assert over == {"a.example": 3000}
    kept = part["url"].to_pylist()
    assert sum("//b." in url for url in kept) == 9
    assert 400 < len(kept) < 800

    def strata(t: pa.Table) -> Counter[int]:
        return Counter(len(bin(int(v))) for v in t["importance"].to_pylist() if v is not None)

    every, taken = strata(table), strata(part)
    rare = [s for s in every if every[s] < 40]
    assert rare and all(taken[s] == every[s] for s in rare)


def test_contents_stay_together() -> None:
    """Each third URL of the sample has all its duplicates with it; of single URLs drawn at 1 in 5, 1 in 25 would."""
    part, _ = bounded(crawl(3000, 3).drop(["importance"]), "host", 600)
    whole = Counter(d for d in part["digest"].to_pylist() if d[0] != "b")
    assert set(whole.values()) == {3}


def test_one_content_larger_than_the_room_is_cut() -> None:
    """Otherwise a site could fill the memory by showing one page under a million URLs."""
    for per_content in (3000, 1500, 700):
        part, _ = bounded(crawl(3000, per_content).drop(["importance"]), "host", 600)
        assert len(part) < 1.3 * 600 + 9


def test_the_sample_does_not_depend_on_order() -> None:
    table = crawl(2000, 2)
    part = bounded(table, "host", 500)[0]
    turned = bounded(table.take(pa.array(range(len(table))[::-1])), "host", 500)[0]
    assert sorted(part["url"].to_pylist()) == sorted(turned["url"].to_pylist())


def test_support_is_counted_on_all_pages() -> None:
    rows = pages(sites=2, size=60)
    whole, sampled = learn(rows, Failing()), learn(rows, Failing(), max_urls_per_site=120)
    name = "www.s0.example"
    assert sampled.sites[name].notes["sampled_from"] == whole.sites[name].notes["pages"] == 240
    assert sampled.sites[name].notes["pages"] < 200

    def support(book) -> dict[str, int | None]:
        return {r.describe(): r.evidence.support for r in book.sites[name].rules}

    assert support(sampled) == support(whole) == {"*: when path is /item: drop sid": 120}
    assert learn(rows, Failing(), max_urls_per_site=120, jobs=2).dumps() == sampled.dumps()


def test_bounds_by_domain_and_for_all() -> None:
    rows = pages(sites=2, size=30)
    assert set(bounded(read(rows).pages, "domain", 100)[1]) == {"s0.example", "s1.example"}
    assert set(bounded(read(rows).pages, "all", 100)[1]) == {"*"}
    book = learn(rows, site_key="all", max_urls_per_site=200)
    assert book.sites["*"].notes["sampled_from"] == len(rows)


def test_a_sampled_site_without_rules() -> None:
    book = learn(
        [{"url": f"http://a.example/{i}", "digest": str(i)} for i in range(300)], max_urls_per_site=50
    )
    assert book.sites["a.example"].notes["sampled_from"] == 300 and not book.sites["a.example"].rules
