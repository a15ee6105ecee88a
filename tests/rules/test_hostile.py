"""A book from the network is data: nothing in it runs, loops, or takes more than linear time in the URL."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.errors import BookError
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules, compile_rule

HOST = "http://a.example"


def canon_of(*rules: Rule) -> Canonicalizer:
    return Canonicalizer(RuleBook({"a.example": SiteRules("a.example", (), list(rules))}), check=False)


def seconds(canon: Canonicalizer, url: str) -> float:
    best = 9e9
    for _ in range(2):
        start = time.process_time()
        canon.settle(url)
        best = min(best, time.process_time() - start)
        if best < 0.02:
            break
    return best


HOSTILE = {
    "many groups": Rule(when={"path": "/" + "{:rest}a" * 30 + "{:rest}b"}, do={"path": "/x"}),
    "many any": Rule(when={"query": "{}=" * 20 + "{}#"}, do={"query": None}),
    "runs": Rule(when={"path": "/" + "{:word}{:int}" * 15 + "!"}, do={"path": "/x"}),
    "slug": Rule(when={"path[0]": "{:slug}"}, do={"path[0]": "x"}),
    "session": Rule(when={"path[0]": "{:session}"}, do={"path[0]": "x"}),
    "date": Rule(when={"path[0]": "{:date}-{:date}"}, do={"path[0]": "x"}),
    "substitute": Rule(do={"substitute": {"from": "-" * 500 + "a", "to": ""}}),
    "aligned": Rule(do={"substitute": {"from": "aaaaaaaa", "to": "b"}}),
    "self-feeding": Rule(do={"substitute": {"from": "-", "to": "--"}}),
    "doubling": Rule(do={"path": "{path}{path}"}),
    "doubling the url": Rule(when={"path": "/{x:rest}"}, do={"query[q]": "{url}{url}{url}"}),
    "tr": Rule(do={"path": "{path|tr(a," + "b" * 1000 + ")|tr(b," + "a" * 1000 + ")}"}),
    "tr twice": Rule(do={"path": "{path|tr(a,aa)}"}),
    "encode": Rule(do={"query[q]": "{url|encode|tr(%,%25)}"}),
    "dots": Rule(do={"path": "{path|dots|slashes|noslash|slash}"}),
    "fields": Rule(do={"query": "{query|amp|semi|sort|first|last|noempty|noblank}"}),
    "last segment": Rule(when={"path[-1]": "a"}, do={"path[-1]": None}),
    "first segment": Rule(do={"path[0]": None}),
    "growing at the end": Rule(do={"substitute": {"from": "", "to": "x", "end": True}}),
}

PARTS = [
    "a",
    "a-",
    "-",
    "a/",
    "/",
    "../",
    "aaaaaaaaa ",
    "a1",
    "&a=1",
    "a=;",
    "%41",
    "&amp;",
    "a_",
    "2006-01-01-",
    "é",
    "\udc80",
    "{}",
    ";a=1",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear_in_the_url(name):
    canon = canon_of(HOSTILE[name])
    for part in PARTS:
        for mark in ("/", "/?"):
            short, long = (
                HOST + mark + part * (10_000 // len(part)),
                HOST + mark + part * (80_000 // len(part)),
            )
            cost = seconds(canon, long)
            # Eight times the length; generous, as the clock is coarse and the machine may be busy.
            assert cost < 0.02 or cost < 24 * seconds(canon, short) + 0.02, part


@pytest.mark.parametrize("name", HOSTILE)
def test_the_result_keeps_the_order_of_length(name):
    canon = canon_of(HOSTILE[name])
    for part in PARTS:
        url = HOST + "/" + part * (2_000 // len(part))
        assert len(canon(url)) <= 9 * len(url) + 10_000
        assert canon(canon(url)) == canon(url)


def test_many_rules_that_feed_one_another_come_to_an_end():
    rules = [Rule(do={f"query[{n}]": "{path}" + "{query}" * (n % 2)}) for n in range(300)]
    canon = canon_of(*rules)
    start = time.process_time()
    assert len(canon(HOST + "/" + "a" * 1000 + "?x")) < 100_000
    assert time.process_time() - start < 5


def test_rules_that_follow_one_another_come_to_an_end():
    chain = [Rule(when={"path": f"/{n}"}, do={"path": f"/{n + 1}"}, order=-n) for n in range(50)]
    canon = canon_of(*chain)
    # Against the order of application each round makes one step: after ten rounds the URL is left as it was.
    assert canon(HOST + "/0") == HOST + "/0"
    assert canon(HOST + "/45") == HOST + "/50"
    forward = canon_of(*(Rule(when=r.when, do=r.do, order=-r.order) for r in chain))
    assert forward(HOST + "/0") == HOST + "/50"


@pytest.mark.parametrize(
    "do",
    [
        {"path": "{path.__class__}"},
        {"path": "{x!r}"},
        {"path": "{0}"},
        {"path": "%(x)s{"},
        {"path": "{url|exec}"},
        {"path": "{__import__('os')}"},
        {"path": "{path|tr(a,b)|}"},
        {"path": "{path|tr(a,b"},
        {"path": "{" * 3001},
        {"path": "{path}" * 40},
        {"path": "{path" + "|lower" * 20 + "}"},
        {"url": "{url}", "path": "/"},
        {"substitute": {"from": "", "to": "x"}},
        {"substitute": {"from": "a", "to": "b"}, "path": "/"},
        {"host[0]": None},
    ],
)
def test_refused(do):
    with pytest.raises(BookError):
        compile_rule(Rule(do=do))


def test_braces_of_the_book_are_only_text():
    canon = canon_of(Rule(when={"path": "/{x}"}, do={"path": "/{{x}}-{x}-{{0}}-%s-{{x.__class__}}"}))
    assert canon.explain(HOST + "/a").steps[0][2] == HOST + "/{x}-a-{0}-%s-{x.__class__}"


def test_a_host_that_is_none_is_not_written():
    for host in ("a b", "a/b", "a@b", "", "a:80", "[x]"):
        assert canon_of(Rule(do={"host": host}))(HOST + "/") == HOST + "/"
    assert canon_of(Rule(do={"scheme": "java script"}))(HOST + "/") == HOST + "/"
    assert canon_of(Rule(do={"port": "http"}))(HOST + "/") == HOST + "/"


ALL = canon_of(
    *HOSTILE.values(), Rule(do={"query[s]": None}), Rule(when={"path": "/wiki/{t}"}, do={"path": "/"})
)


@given(
    st.one_of(
        st.text(st.characters(exclude_categories=()), max_size=50),
        st.binary(max_size=50).map(lambda b: b.decode("utf-8", "surrogateescape")),
    )
)
@settings(max_examples=100, deadline=None)
def test_no_text_makes_it_fail(tail):
    for head in (
        "",
        HOST,
        HOST + "/",
        HOST + "/?",
        HOST + "/#",
        "http://",
        "//a.example/",
        "http://a.example:",
        "http://@a.example/",
        "http:a.example/",
    ):
        url = head + tail
        out = ALL(url)
        assert ALL(out) == out
        assert str(ALL.explain(url))
        ALL.key(url)


def test_huge_urls():
    for part in PARTS:
        for head in (HOST + "/", HOST + "/?", HOST, "http://", ""):
            ALL(head + part * (100_000 // len(part)))


def test_caches_are_bounded():
    canon = Canonicalizer(RuleBook({"*": SiteRules("*", (), [Rule(do={"query[s]": None})])}))
    from undust.rules import canonicalizer

    for n in range(canonicalizer.CACHE + 10):
        canon._place(f"http://h{n}.example")
    assert len(canon._places) <= canonicalizer.CACHE
    assert len(canon._known) <= canonicalizer.CACHE
    canon("http://" + "x" * 100_000 + ".example/?s")
    assert max(map(len, canon._places)) < 2000
