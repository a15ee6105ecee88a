"""Rules as regular expressions: never more than the rule, and a listed reason where there is none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

from undust.exports.expression import rewrites
from undust.exports.sequence import redirects, settled, translate
from undust.exports.target import Cannot, Placed, placed
from undust.rules import Canonicalizer, Rule, RuleBook, Scope, SiteRules
from undust.url import normal

_spec = importlib.util.spec_from_file_location(
    "rule_strategies", Path(__file__).parents[1] / "rules" / "strategies.py"
)
assert _spec and _spec.loader
made_up = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)

HOSTS = ("a.example", "www.a.example", "b.example")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(made_up.good_rules, made_up.urls())
def test_what_it_makes_of_a_url_is_what_the_rule_makes_of_it(rule: Rule, url: str) -> None:
    book = RuleBook({"a.example": SiteRules("a.example", HOSTS, [rule])})
    canon = Canonicalizer(book, check=False)
    url = normal(url)
    [place] = placed(book)
    try:
        found = rewrites(place)
    except Cannot:
        assume(False)
    assume(not canon.settle(url).endless)
    for rewrite in found:
        after = rewrite.apply(url)
        # a text that is put into a host may end it: then the normal form adds the slash
        assert after is None or normal(canon(after)) == normal(canon(url)), (rule.describe(), rewrite.pattern)


def test_of_a_parameter_given_twice_no_other_is_set_than_the_rule_sets() -> None:
    rule = Rule(do={"query[t]": ""})
    assert all(r.apply("http://h.test/?t=&t=1") is None for r in rewrites(Placed(rule, ("h.test",))))
    assert one("http://h.test/?t=1&u=2", do=rule.do) == "http://h.test/?t=&u=2"
    assert one("http://h.test/?u=2", do=rule.do) == "http://h.test/?u=2&t="


def one(url: str, **rule: object) -> str:
    for rewrite in rewrites(Placed(Rule(**rule), ("h.test",))):  # type: ignore[arg-type]
        url = rewrite.apply(url) or url
    return url


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("?sid=1", ""),
        ("?sid=1&t=2", "?t=2"),
        ("?t=2&sid=1", "?t=2"),
        ("?t=2&sid=1&u=3", "?t=2&u=3"),
        ("?sid=1&sid=2", ""),
        ("?sid", ""),
        ("?sid=1#f", "#f"),
        ("?nosid=1&sidx=2", "?nosid=1&sidx=2"),
        ("?sid=1;t=2", "?sid=1;t=2"),  # another separator: left alone, not cut in half
    ],
)
def test_a_dropped_parameter_takes_its_separator_with_it(before: str, after: str) -> None:
    assert one("http://h.test/p" + before, do={"query[sid]": None}) == "http://h.test/p" + after


def test_a_path_ends_where_it_ends() -> None:
    rule = {"when": {"path": "/story"}, "do": {"path": "/news"}}
    assert one("http://h.test/story?a#f", **rule) == "http://h.test/news?a#f"
    assert one("http://h.test/story3", **rule) == "http://h.test/story3"
    assert one("http://h.test.evil/story", **rule) == "http://h.test.evil/story"


@pytest.mark.parametrize("do", [{"query[sid]": None}, {"path": "/a"}, {"host": "g.test"}, {"path[0]": "x"}])
@pytest.mark.parametrize("host", ["h.test.evil", "h.testing", "h.test@evil", "h.test:80.evil", "h.test:80x"])
def test_a_host_ends_where_it_ends(do: dict[str, str | None], host: str) -> None:
    assert one(f"http://{host}/p?sid=1", do=do) == f"http://{host}/p?sid=1"


def test_a_port_is_not_cut_in_two() -> None:
    assert one("http://h.test:8080", do={"path": "/a"}) == "http://h.test:8080/a"


def test_a_port_stays_where_the_host_changes() -> None:
    assert one("http://h.test:8080/a?b", do={"host": "g.test"}) == "http://g.test:8080/a?b"


def test_of_a_parameter_given_twice_the_first_counts() -> None:
    rule = {"when": {"query[sort]": "1"}, "do": {"query[sort]": None}}
    assert one("http://h.test/?sort=2&sort=1", **rule) == "http://h.test/?sort=2&sort=1"


@pytest.mark.parametrize(
    "tail", ["/wiki/C++", "?title=C++", "?title=..", "?title=a/../b", "?title=A&title=B"]
)
def test_what_means_another_thing_behind_the_question_mark_is_left_alone(tail: str) -> None:
    there: dict[str, object] = {"when": {"path": "/wiki/{t}"}, "do": {"path": "/", "query[title]": "{t}"}}
    back: dict[str, object] = {
        "when": {"query[title]": "{t}"},
        "do": {"path": "/wiki/{t}", "query[title]": None},
    }
    assert one("http://h.test/wiki/A", **there) == "http://h.test/?title=A"
    assert one("http://h.test/?title=A.b", **back) == "http://h.test/wiki/A.b"
    for rule in (there, back):
        assert one("http://h.test/" + tail.lstrip("/"), **rule) == "http://h.test/" + tail.lstrip("/")


@pytest.mark.parametrize(
    "rule",
    [
        Rule(do={"query": "{query|sort}"}),
        Rule(do={"path": "{path|lower}"}),
        Rule(when={"path": "/{s:session}"}, do={"path": "/"}),
        Rule(do={"fragment": None}),
    ],
)
def test_what_regular_expressions_cannot_say_is_refused(rule: Rule) -> None:
    with pytest.raises(Cannot):
        rewrites(Placed(rule, ("h.test",)))


def test_one_pass_is_enough_and_merges_nothing_the_book_does_not(book: RuleBook, urls: list[str]) -> None:
    canon, found = Canonicalizer(book), settled(book)
    once = [found.once(url) for url in urls]
    assert [found.once(url) for url in once] == once
    assert [canon(url) for url in once] == [canon(url) for url in urls]
    # Most of what the book merges: what is missing is sorting, case and replaced characters.
    assert len(set(urls)) - len(set(once)) > 0.8 * (len(set(urls)) - len(set(map(canon, urls))))


def test_every_rule_is_either_there_or_listed(book: RuleBook) -> None:
    for found in (translate(book), settled(book), redirects(book)):
        said = {r.rule.id for r in found.rewrites} | {m.rule.id for m in found.missing}
        assert said == {rule.id for rule in book.rules()}


def test_rules_that_only_an_earlier_one_could_follow_are_written_again() -> None:
    rules = [
        Rule(Scope(("h.test",)), {"path": "/a"}, {"query[s]": None}, order=0),
        Rule(Scope(("h.test",)), {"path": "/b"}, {"path": "/a"}, order=1),
    ]
    found = settled(RuleBook({"h.test": SiteRules("h.test", ("h.test",), rules)}))
    assert found.once("http://h.test/b?s=1") == "http://h.test/a"


def test_redirects_come_to_an_end(book: RuleBook, urls: list[str]) -> None:
    found = redirects(book)
    for url in urls:
        for _ in range(12):
            after = next((v for r in found.rewrites if (v := r.apply(url)) is not None), None)
            if after is None:
                break
            assert after != url
            url = after
        else:
            raise AssertionError(url)
