"""Guarded rules: what the list keeps apart stays apart, and nothing depends on its order."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.errors import BookError
from undust.rules import (
    AliasTable,
    Canonicalizer,
    Guard,
    Rule,
    RuleBook,
    Scope,
    SiteRules,
    conflicts,
    prove,
    refines,
)
from undust.rules.listed import between

HOST = "http://a.example"
FIRST = Rule(
    when={"path": "/topic,{t:int}.msg{:int}.html"},
    do={"path": "/topic,{t}.0.html"},
    guard=Guard(({"path": "/topic,{t:int}.{page:int}.html"},)),
)
BY_NAME = Rule(
    when={"path": "/view", "query[t]": "{t}"},
    do={"query[p]": None},
    guard=Guard(({"path": "/view", "query[t]": "{t}", "query[start]": "{page:int}"},)),
)


def book_of(*rules: Rule, hosts: tuple[str, ...] = ("a.example", "www.a.example")) -> RuleBook:
    return RuleBook({"a.example": SiteRules("a.example", hosts, list(rules))})


def canon_of(listed, *rules: Rule, **options) -> Canonicalizer:
    return Canonicalizer(book_of(*rules), listed=[HOST + u if u[0] == "/" else u for u in listed], **options)


def test_a_message_is_the_first_page_of_a_topic_with_one_page():
    canon = canon_of(["/topic,1.0.html", "/topic,1.msg5.html"], FIRST)
    assert canon(f"{HOST}/topic,1.msg5.html") == f"{HOST}/topic,1.0.html"
    assert canon(f"{HOST}/topic,1.msg6.html") == f"{HOST}/topic,1.0.html"  # need not be listed itself
    assert canon.guarded is not None
    assert canon.guarded.followed == 2


@pytest.mark.parametrize(
    "other",
    [
        "/topic,1.15.html",
        "http://www.a.example/topic,1.15.html",
        "https://a.example:8080/topic,1.15.html",
        "/topic,1.15.html?sid=3",
        "/x/../topic,1.15.html",
        "/topic,1.015.html",
        "/topic,01.15.html",
        "/topic%2C1%2E15.html",
        "/topic,1.15.html/",
        "/topic,1.15.html;jsessionid=AB12?x=1",
    ],
)
def test_another_page_of_the_topic_blocks_the_merge(other):
    sid = Rule(do={"query[sid]": None})
    url = f"{HOST}/topic,1.msg5.html"
    canon = canon_of(["/topic,1.0.html", other], FIRST, sid)
    assert canon(url) == url
    assert "another page of t 1" in str(canon.explain(url))
    without = canon_of(["/topic,1.0.html", "/topic,2.15.html"], FIRST, sid)
    assert without(url) == f"{HOST}/topic,1.0.html"


def test_a_list_copied_from_html_blocks_all_the_same():
    url = f"{HOST}/view?t=1&p=7"
    canon = canon_of(["/view?t=1", "/view?t=1&amp;start=15"], BY_NAME)
    assert canon(url) == url
    # but the page itself, spelled in other ways, is no other page
    assert canon_of(["/view?t=1", "/view?t=%31", "/view/?t=1"], BY_NAME)(url) == f"{HOST}/view?t=1"


def test_nothing_is_led_to_a_page_that_is_not_listed():
    url = f"{HOST}/topic,1.msg5.html"
    canon = canon_of(["/topic,1.msg5.html", "/topic,1.msg6.html"], FIRST)
    assert canon(url) == url
    assert "is not in the list" in canon.explain(url).held[0]


def test_pages_the_rule_itself_rewrites_are_no_other_pages():
    listed = [
        "/view?t=1",
        "/view?t=1&start=15",
        "/view?t=2",
        "/view?t=2&p=7",
        "/view?t=3&start=15&p=1",
        "/view?t=3",
    ]
    canon = canon_of(listed, BY_NAME)
    assert canon(f"{HOST}/view?t=2&p=7") == f"{HOST}/view?t=2"
    assert canon(f"{HOST}/view?t=1&p=7") == f"{HOST}/view?t=1&p=7"
    # a message link of the second page is the second page, which blocks
    assert canon(f"{HOST}/view?t=3&p=7") == f"{HOST}/view?t=3&p=7"


def test_without_a_list_guarded_rules_are_skipped_and_counted():
    canon = Canonicalizer(book_of(FIRST))
    assert canon(f"{HOST}/topic,1.msg5.html") == f"{HOST}/topic,1.msg5.html"
    assert [rule.id for rule in canon.skipped] == [FIRST.id]
    assert canon_of(["/"], FIRST).skipped == ()


def test_other_rules_and_the_table_come_first():
    sid = Rule(do={"query[sid]": None})
    table = AliasTable.of([(f"{HOST}/?p=9", f"{HOST}/topic,1.msg9.html")])
    listed = [HOST + u for u in ("/topic,1.0.html?sid=1", "/topic,2.0.html", "/topic,2.msg1.html?sid=7")]
    canon = Canonicalizer(book_of(FIRST, sid), listed=listed, aliases=table)
    assert canon(f"{HOST}/?p=9&sid=4") == f"{HOST}/topic,1.0.html"
    told = canon.explain(f"{HOST}/?p=9&sid=4")
    assert told.url == f"{HOST}/topic,1.0.html"
    assert [rule.id if rule else "table" for rule, _, _ in told.steps] == [sid.id, "table", FIRST.id]
    # what the table says of listed URLs counts too: the page is another topic's
    moved = AliasTable.of([(f"{HOST}/topic,1.15.html", f"{HOST}/topic,2.0.html")])
    canon = Canonicalizer(
        book_of(FIRST), listed=[*listed, f"{HOST}/topic,1.15.html", f"{HOST}/topic,1.0.html"]
    )
    assert canon(f"{HOST}/topic,1.msg9.html") == f"{HOST}/topic,1.msg9.html"
    canon = Canonicalizer(
        book_of(FIRST), listed=[f"{HOST}/topic,1.15.html", f"{HOST}/topic,1.0.html"], aliases=moved
    )
    assert canon(f"{HOST}/topic,1.msg9.html") == f"{HOST}/topic,1.0.html"


def forum(topics: int, pages: int = 3, holes: int = 0) -> list[str]:
    """Topics of one and of several pages, with links to messages; every `holes`-th page is lost."""
    urls = []
    for t in range(topics):
        last = 1 + t % pages
        urls += [f"{HOST}/topic,{t}.{15 * page}.html" for page in range(last)]
        urls += [f"{HOST}/topic,{t}.msg{100 * t + m}.html" for m in range(4 * last)]
    return [u for i, u in enumerate(urls) if not holes or i % holes]


NEEDY = Rule(when=FIRST.when, do=FIRST.do, guard=Guard(FIRST.guard.absent, entities=5, between=0.95))


def test_a_list_with_gaps_is_not_taken_for_complete():
    whole, patchy = forum(60), forum(60, holes=3)
    assert (
        Canonicalizer(book_of(NEEDY), listed=whole)(f"{HOST}/topic,0.msg1.html") == f"{HOST}/topic,0.0.html"
    )
    canon = Canonicalizer(book_of(NEEDY), listed=patchy)
    assert canon.map(patchy) == patchy
    ((rule, why),) = canon.guarded.unused()
    assert rule == NEEDY
    assert "of the pages before the last ones" in why


def test_a_list_that_shows_no_further_pages_is_not_taken_for_complete():
    listed = forum(60, pages=1)
    canon = Canonicalizer(book_of(NEEDY), listed=listed)
    assert canon.map(listed) == listed
    assert "other pages of 0 things, not of 5" in canon.explain(f"{HOST}/topic,0.msg1.html").held[0]


def test_the_numbers_of_pages_tell_their_step_and_their_first():
    def share(*things: set[int]) -> float | None:
        return between([(numbers, None) for numbers in things])

    assert share() is None
    assert share({0}, {0}) is None
    assert share(*[{0, 15, 30}] * 9, {0, 15, 7}) > 0.9
    assert share({1, 2}, {2, 3}, {2}, {2}, {2, 3, 4}) == 1.0
    assert share({999_999_999}, {0, 15}, {0, 15}) < 0.7
    assert share({30}, {45, 15}, {60, 0}, {15}) < 0.5
    assert (
        between([({15, 30}, False), ({15}, False), ({15}, True)]) == 0.5
    )  # where the rule leads counts, too


def test_things_of_different_sites_and_domains_are_different_things():
    sites = {h: SiteRules(h, (h,), [FIRST]) for h in ("a.example", "b.example")}
    listed = [
        "http://a.example/topic,1.0.html",
        "http://b.example/topic,1.0.html",
        "http://b.example/topic,1.15.html",
    ]
    canon = Canonicalizer(RuleBook(sites), listed=listed)
    assert canon("http://a.example/topic,1.msg1.html") == listed[0]
    assert canon("http://b.example/topic,1.msg1.html") == "http://b.example/topic,1.msg1.html"
    anywhere = Canonicalizer(RuleBook({"*": SiteRules("*", (), [FIRST])}, "all"), listed=listed)
    assert anywhere.map(["http://a.example/topic,1.msg1.html", "http://b.example/topic,1.msg1.html"]) == [
        listed[0], "http://b.example/topic,1.msg1.html"
    ]  # fmt: skip


def test_pages_on_hosts_the_rule_is_not_for_count():
    narrow = Rule(Scope(("a.example",)), FIRST.when, FIRST.do, guard=FIRST.guard)
    canon = canon_of(["/topic,1.0.html", "http://www.a.example/topic,1.15.html"], narrow)
    assert canon(f"{HOST}/topic,1.msg1.html") == f"{HOST}/topic,1.msg1.html"


def test_rules_that_run_in_a_circle_or_on_and_on_lead_nowhere():
    def step(a: str, b: str) -> Rule:
        return Rule(
            when={"path": f"/{a}/{{t}}"}, do={"path": f"/{b}/{{t}}"}, guard=Guard(({"path": "/none/{t}"},))
        )

    ring = [step("a", "b"), step("b", "c"), step("c", "a")]
    listed = [f"/{x}/1" for x in "abc"]
    canon = canon_of(listed, *ring)
    for x in "abc":
        assert canon(f"{HOST}/{x}/1") == f"{HOST}/{x}/1"
        assert "in a circle" in canon.explain(f"{HOST}/{x}/1").held[-1]
    names = [f"n{i:02}" for i in range(16)]
    chain = [step(a, b) for a, b in itertools.pairwise(names)]
    urls = [f"{HOST}/{n}/1" for n in names]
    canon = canon_of(urls, *chain)
    once = canon.map(urls)
    assert canon.map(once) == once
    assert once[-11:] == [urls[-1]] * 11
    assert once[:5] == urls[:5]
    assert [canon.explain(u).url for u in urls] == once


def test_the_book_keeps_the_guard_and_the_id_depends_on_it():
    book = book_of(NEEDY)
    (loaded,) = RuleBook.loads(book.dumps()).rules()
    assert loaded == NEEDY
    assert len({NEEDY.id, FIRST.id, Rule(when=FIRST.when, do=FIRST.do).id}) == 3
    assert "if the list has no other URL of the same t where" in loaded.describe()


@pytest.mark.parametrize(
    ("guard", "field"),
    [
        ({"absent": []}, "guard.absent"),
        ({"absent": [{}]}, "guard.absent"),
        ({"absent": [{"path": "/x"}]}, "guard.absent"),  # nothing in common: another page would be any page
        ({"absent": [{"path": "/{t"}]}, "guard.absent"),
        ({"absent": [{"nonsense": "{t}"}]}, "nonsense"),
        ({"absent": [{"path": "/{t}", "query[t]": "{t}"}]}, "guard.absent"),
        ({"absent": [{"path": 7}]}, "guard.absent"),
        ({"absent": [{"path": "/{t}"}] * 9}, "guard.absent"),
        ({"absent": [{"path": "/{t}"}], "complete": {"between": 2}}, "guard.complete.between"),
        ({"absent": [{"path": "/{t}"}], "more": 1}, "guard"),
        ({}, "guard"),
    ],
)
def test_a_guard_that_cannot_be_asked_is_refused_by_name(guard, field):
    rule = {"when": {"path": "/{t}/m"}, "do": {"path": "/{t}"}, "guard": guard}
    data = {"undust": 1, "sites": {"a.example": {"rules": [rule]}}}
    with pytest.raises(BookError) as caught:
        RuleBook.from_dict(data)
    assert (caught.value.field or "").startswith(field)


def test_guarded_rules_clash_only_with_each_other():
    plain = Rule(when=FIRST.when, do={"path": "/other/{t}"})
    assert not list(conflicts([FIRST, plain]))
    twin = Rule(when=FIRST.when, do={"path": "/topic,{t}.html"}, guard=FIRST.guard)
    assert list(conflicts([FIRST, twin]))
    kept = prove([FIRST, plain], [f"{HOST}/topic,1.msg1.html"], ("a.example",)).rules
    assert {r.id for r in kept} == {FIRST.id, plain.id}


def test_refinement_minds_the_guard():
    free = Rule(when=FIRST.when, do=FIRST.do)
    assert refines(FIRST, free)
    assert not refines(free, FIRST)
    assert refines(FIRST, FIRST)
    assert not refines(FIRST, NEEDY)


def test_it_travels_to_other_processes():
    canon = canon_of(["/topic,1.0.html", "/topic,2.0.html", "/topic,2.15.html"], FIRST)
    urls = [f"{HOST}/topic,{t}.msg1.html" for t in (1, 2, 3)]
    assert pickle.loads(pickle.dumps(canon)).map(urls) == canon.map(urls)


def test_a_hostile_list_is_no_trouble():
    long = f"{HOST}/topic,{'9' * 5000}.{'9' * 5000}.html"
    listed = [
        " ",
        "x",
        "http://",
        "http://a.example",
        long,
        "\ud800",
        f"{HOST}/\ud800",
        "://",
        "http:///topic,1.0.html",
    ]
    some = ["http://a.example/topic,1.msg1.html", "", "\ud800", "http:///topic,1.msg1.html"]
    assert canon_of(listed, FIRST).map(some) == some


# -- laws ----------------------------------------------------------------

pages = st.builds("/topic,{}.{}.html".format, st.integers(0, 3), st.sampled_from([0, 15, 30]))
messages = st.builds("/topic,{}.msg{}.html".format, st.integers(0, 3), st.integers(0, 3))
views = st.builds(
    lambda t, more: f"/view?t={t}" + "".join(f"&{m}" for m in more),
    st.integers(0, 2),
    st.lists(st.sampled_from(["p=1", "p=2", "start=0", "start=15", "sid=1"]), max_size=3, unique=True),
)
hosts = st.sampled_from(
    ["http://a.example", "http://www.a.example", "https://a.example:8443", "http://other.example"]
)
urls = st.builds(str.__add__, hosts, st.one_of(pages, messages, views))
SOME = [
    FIRST,
    BY_NAME,
    Rule(do={"query[sid]": None}),
    Rule(when={"host": "www.a.example"}, do={"host": "a.example"}),
    Rule(when={"path": "/view", "query[start]": "0"}, do={"query[start]": None}),
    Rule(
        when={"path": "/view", "query[t]": "{t}"},
        do={"path": "/topic,{t}.0.html", "query": None},
        guard=Guard(
            (
                {"path": "/topic,{t}.{page:int}.html"},
                {"path": "/view", "query[t]": "{t}", "query[start]": "{}"},
            )
        ),
        order=5,
    ),
]
sets = st.lists(st.sampled_from(SOME), unique_by=lambda r: r.id, max_size=len(SOME))


@given(sets, st.lists(urls, max_size=25), st.lists(urls, max_size=10), st.randoms())
@settings(max_examples=150, deadline=None)
def test_twice_is_once_and_order_does_not_matter(rules, listed, some, random):
    canon = Canonicalizer(book_of(*rules), listed=listed)
    every = [*some, *listed]
    once = canon.map(every)
    assert canon.map(once) == once
    assert [canon(u) for u in every] == once
    assert [canon.explain(u).url for u in every] == once
    shuffled, mixed = list(listed), list(rules)
    random.shuffle(shuffled)
    random.shuffle(mixed)
    assert Canonicalizer(book_of(*mixed), listed=shuffled).map(every) == once
    assert Canonicalizer(book_of(*rules), listed=[*listed, *listed]).map(every) == once


@given(st.lists(urls, max_size=30), st.lists(urls, max_size=10))
@settings(max_examples=200, deadline=None)
def test_what_the_guard_excludes_is_never_merged(listed, some):
    """By the definition, written down plainly: twenty lines without an index."""
    sid = Rule(do={"query[sid]": None})
    free = Canonicalizer(book_of(sid))
    canon = Canonicalizer(book_of(FIRST, sid), listed=listed)
    forms = {free(u) for u in listed}
    for url in [*some, *listed]:
        form, end = free(url), canon(url)
        host, _, name = form.rpartition("/")
        if "other.example" in form or ".msg" not in name:
            assert end == form
            continue
        topic = name.removeprefix("topic,").partition(".")[0]
        first = f"{host}/topic,{topic}.0.html"
        further = [
            f for f in forms
            if "other.example" not in f and f.rpartition("/")[2] in {f"topic,{topic}.{n}.html" for n in (15, 30)}
        ]  # fmt: skip
        assert end == (first if first in forms and not further else form)


def test_whether_a_url_is_listed_is_told_exactly_in_a_long_list():
    listed = [f"{HOST}/topic,{t}.0.html" for t in range(5000)]
    canon = Canonicalizer(book_of(FIRST), listed=listed)
    assert canon.guarded is not None
    assert all(map(canon.guarded.listed.holds, listed))
    assert not any(canon.guarded.listed.holds(f"{HOST}/topic,{t}.15.html") for t in range(5000))
