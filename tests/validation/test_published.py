"""The published validation: directions, refinements, small samples, and where its two versions differ."""

from __future__ import annotations

import pytest

from undust.rules import Rule
from undust.validation import MemoryFetcher, NotRecorded, Page, PublishedValidation, RecordedFetcher
from undust.validation.published import shrinking_first


def substitution(a: str, b: str, **more) -> Rule:
    return Rule(do={"substitute": {"from": a, "to": b, **more}}, status="likely", source=("dustbuster",))


def names(rules: list[Rule]) -> list[tuple[str, str]]:
    return [(r.do["substitute"]["from"], r.do["substitute"]["to"]) for r in rules]


@pytest.fixture
def growing() -> MemoryFetcher:
    """Only `story_N` -> `story?id=N` is valid: `story?id=N&new=1` exists, `story_N&new=1` does not."""
    pages = {}
    for n in range(60):
        pages |= {f"http://h.test/story_{n}": f"s{n}", f"http://h.test/story?id={n}": f"s{n}"}
        pages |= {f"http://h.test/story?id={n}&new={k}": f"s{n} new {k}" for k in range(3)}
    return MemoryFetcher(pages)


def test_only_the_growing_direction_is_valid(growing):
    pair = substitution("story?id=", "story_")
    found = PublishedValidation(growing, list(growing.pages)).validate([pair])
    assert names(found.rules) == [("story_", "story?id=")]
    assert found.rules[0].status == "validated" and found.rules[0].evidence.level == "fetched"


def test_the_thesis_adds_the_refuted_direction(growing):
    """Line 13 of its figure 5.4 prints a -> b where b -> a was validated."""
    pair = substitution("story?id=", "story_")
    found = PublishedValidation(growing, list(growing.pages), variant="thesis").validate([pair])
    assert names(found.rules) == [("story?id=", "story_")]


def test_the_order_in_which_a_pair_is_given_does_not_matter(growing):
    for pair in (substitution("story?id=", "story_"), substitution("story_", "story?id=")):
        found = PublishedValidation(growing, list(growing.pages)).validate([pair])
        assert names(found.rules) == [("story_", "story?id=")]


def index_site(n: int) -> MemoryFetcher:
    pages = {f"http://h.test/d{k}/": f"{k}" for k in range(n)}
    return MemoryFetcher(pages | {url + "index.html": page for url, page in pages.items()})


def test_the_shrinking_direction_comes_first_and_spares_the_other():
    site = index_site(20)
    found = PublishedValidation(site, list(site.pages)).validate([substitution("/", "/index.html", end=True)])
    assert names(found.rules) == [("/index.html", "/")]
    assert found.attempted == 1 and found.fetched == 40


def test_refinements_of_an_accepted_rule_cost_nothing():
    site = index_site(20)
    rules = [
        substitution("/index.html", "/", end=True),
        substitution("h.test/d1/index.html", "h.test/d1/", end=True),
    ]
    found = PublishedValidation(site, list(site.pages)).validate(rules)
    assert (len(found.rules), len(found.spared), found.attempted) == (1, 1, 1)


def test_RES_9_a_broader_rule_accepted_later_replaces_its_refinement():
    site = index_site(40)
    rules = [
        substitution("h.test/d1/index.html", "h.test/d1/", end=True),
        substitution("/index.html", "/", end=True),
    ]
    site.pages |= {f"http://h.test/d1/index.html?{k}": "x" for k in range(2)}
    narrow = PublishedValidation(site, ["http://h.test/d1/index.html"] * 30)
    assert len(narrow.validate(rules[:1]).rules) == 1  # many (equal) URLs to try it on
    many = [*site.pages, *["http://h.test/d1/index.html"] * 30]
    found = PublishedValidation(site, many).validate(rules)
    assert names(found.rules) == [("/index.html", "/")] and names(found.spared) == [
        ("h.test/d1/index.html", "h.test/d1/")
    ]
    unpruned = PublishedValidation(site, many, prune=False).validate(rules)
    assert len(unpruned.rules) == 2


def test_a_refuted_rule_says_why():
    pages = {f"http://h.test/{d}{n}": f"{d} {n}" for d in ("a", "b") for n in range(30)}
    pages = {url.replace("a", "a=").replace("b", "b="): page for url, page in pages.items()}
    found = PublishedValidation(MemoryFetcher(pages), list(pages)).validate([substitution("a", "b")])
    assert not found.rules and {r.status for r in found.rejected} == {"rejected"}
    assert found.rejected[0].why == "5 of 5 pages differ"


@pytest.mark.parametrize("n, valid", [(9, False), (10, True), (500, True)])
def test_RES_8_it_ends_and_wants_ten_samples(n, valid):
    site = index_site(n)
    trial = PublishedValidation(site, list(site.pages)).validate_rule(
        substitution("/index.html", "/", end=True)
    )
    assert trial.valid is valid
    assert trial.samples == min(n, 95)  # (1 - epsilon) * N positives are enough


def test_five_counterexamples_of_a_hundred_refute():
    for wrong, valid in ((4, True), (5, False)):
        site = index_site(100)
        site.pages |= {f"http://h.test/d{k}/": "gone" for k in range(wrong)}
        rule = substitution("/index.html", "/", end=True)
        assert PublishedValidation(site, list(site.pages)).validate_rule(rule).valid is valid


def test_an_unfetchable_start_is_no_evidence_an_unfetchable_outcome_is():
    site = index_site(30)
    urls = [u for u in site.pages if u.endswith("l")]
    starts = dict.fromkeys(urls[:15])
    rule = substitution("/index.html", "/", end=True)
    assert (
        PublishedValidation(MemoryFetcher({**site.pages, **starts}), urls).validate_rule(rule).positive == 15
    )
    ends = dict.fromkeys(u.removesuffix("index.html") for u in urls)
    assert PublishedValidation(MemoryFetcher({**site.pages, **ends}), urls).validate_rule(rule).negative == 5


def test_RES_11_a_parameter_that_may_go_needs_no_default():
    pages = {f"http://h.test/p?id={n}&sid={s}": str(n) for n in range(15) for s in "ab"}
    pages |= {f"http://h.test/p?id={n}": str(n) for n in range(15)}
    drop = Rule(do={"query[sid]": None})
    default = Rule(when={"query[sid]": "{}"}, do={"query[sid]": "a"})
    found = PublishedValidation(MemoryFetcher(pages), list(pages)).validate([drop, default])
    assert found.rules[0].do == {"query[sid]": None} and len(found.rules) == 1
    assert found.spared == [default]


def test_first_occurrence_only():
    """`people` -> `users` hits the host, not the path: the outcome there does not exist."""
    pages = {f"http://people.h.test/{d}/{n}": str(n) for d in ("people", "users") for n in range(12)}
    trial = PublishedValidation(MemoryFetcher(pages), list(pages)).validate_rule(
        substitution("people", "users")
    )
    assert not trial.valid and trial.positive == 0


def test_a_rule_that_feeds_itself_is_not_accepted():
    pages = {f"http://h.test/{n}/{'x/' * k}": str(n) for n in range(20) for k in range(1, 9)}
    found = PublishedValidation(MemoryFetcher(pages), list(pages)).validate([substitution("x/", "x/x/")])
    assert names(found.rules) == [("x/x/", "x/")]


def test_shrinking_is_by_tokens_then_text():
    assert names(shrinking_first(substitution("b", "a"))) == [("b", "a"), ("a", "b")]
    assert names(shrinking_first(substitution("verylongword", "a.b"))) == [
        ("a.b", "verylongword"),
        ("verylongword", "a.b"),
    ]


def test_recorded_pages_follow_redirects_and_admit_what_they_do_not_know():
    import pyarrow as pa

    pages = pa.table(
        {
            "url": ["http://h.test/a", "http://h.test/b", "http://h.test/c", "http://h.test/d"],
            "status": [301, 200, 404, 301],
            "location": ["/b", None, None, None],
            "digest": [None, "B", "C", None],
        }
    )
    recorded = RecordedFetcher(pages)
    assert recorded.fetch("http://h.test/a") == Page("B")
    assert recorded.fetch("http://h.test/c") is None
    for unknown in ("http://h.test/x", "http://h.test/d"):
        with pytest.raises(NotRecorded):
            recorded.fetch(unknown)
    rule = substitution("/a", "/x")
    assert PublishedValidation(recorded, ["http://h.test/a"]).validate_rule(rule).samples == 0
