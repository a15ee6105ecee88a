"""The sequential validation against the demo site: right verdicts, few fetches, in fair weather and foul."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from undust.errors import UsageError
from undust.rules import Evidence, Rule, RuleBook, SiteRules
from undust.validation import Offline, SequentialTest, run, validate
from undust.validation.answer import Answer
from undust.validation.case import Case
from undust.validation.features import features
from undust.validation.state import State

from .conftest import BAD, GOOD, HOSTS, wrong
from .trouble import Troubled, at, served

MANNERS = {"delay": 0, "concurrency": 4, "allow_private": True, "backoff": 0.01, "timeout": 1.0}


def verdicts(book: RuleBook) -> dict[str, str]:
    found = book.sites[HOSTS[0]]
    return {rule.id: rule.status for rule in (*found.rules, *found.rejected)}


TRUTH = {r.id: "validated" for r in GOOD} | {r.id: "rejected" for r in BAD}


@pytest.mark.parametrize("seen", ["urls", "pages"])
def test_each_planted_rule_gets_its_verdict_for_few_pages(site, book, seen, request) -> None:
    app = Troubled(site)
    with served(app) as port:
        done = run(book, request.getfixturevalue(seen), resolve=at(port), **MANNERS)
    assert verdicts(done.book) == TRUTH
    assert done.per_rule <= 20
    assert done.fetched == done.now == sum(n for url, n in app.asked.items() if "robots" not in url)
    # Once, and a second time for the page's own noise.
    assert max(app.asked.values()) <= 2


def test_what_is_validated_is_right_and_what_is_rejected_says_why(site, book, urls) -> None:
    with served(Troubled(site)) as port:
        done = validate(book, urls, resolve=at(port), **MANNERS)
    rules = done.sites[HOSTS[0]]
    assert not any(wrong(site, rule, urls) for rule in rules.rules)
    for rule in rules.rejected:
        assert rule.evidence.level == "fetched" and (rule.evidence.fetched or 0) <= 20
        _, _, pair = str(rule.why).partition(": ")
        before, _, after = pair.rpartition(" (")[0].partition(" became ")
        assert site.content_id(before) != site.content_id(after)
    assert RuleBook.loads(done.dumps()).dumps() == done.dumps()


@pytest.mark.parametrize("share", [0.05, pytest.param(0.1, marks=pytest.mark.slow)])
def test_troubles_do_not_change_a_verdict(site, book, urls, share) -> None:
    app = Troubled(site, share)
    with served(app) as port:
        done = run(book, urls, resolve=at(port), **MANNERS)
    assert verdicts(done.book) == TRUTH
    assert app.most_at_once <= len(HOSTS) * MANNERS["concurrency"]
    for url, count in app.asked.items():
        assert count <= (
            3 if app.trouble(url) in ("slow", "busy", "busy once", "truncated", "broken gzip") else 2
        )


def test_what_robots_txt_forbids_is_not_tried_and_not_rejected(site, book, urls) -> None:
    app = Troubled(site, robots="User-agent: *\nDisallow: /forum/")
    with served(app) as port:
        found = verdicts(validate(book, urls, resolve=at(port), **MANNERS))
    assert not any("/forum/" in url for url in app.asked)
    for rule in (*GOOD, *BAD):
        only_forum = rule.scope.path == "/forum/"
        assert found[rule.id] == "likely" if only_forum else found[rule.id] in (TRUTH[rule.id], "likely")


@pytest.mark.slow
def test_the_published_procedure_decides_the_same_for_twice_the_pages(site, book, urls) -> None:
    taken = {}
    for method in ("sequential", "published"):
        with served(Troubled(site)) as port:
            done = run(book, urls, method=method, resolve=at(port), **MANNERS)
        taken[method] = done.per_rule
        decided = verdicts(done.book)
        # Of substitutions it tries both directions, and adds those it finds.
        assert {r: decided[r] for r in TRUTH if r in decided} == {r: TRUTH[r] for r in TRUTH if r in decided}
        assert len(set(TRUTH) - set(decided)) <= 1
    assert taken["sequential"] <= taken["published"] / 2


def test_limits_are_kept_and_the_book_is_valid(site, book, urls) -> None:
    app = Troubled(site)
    with served(app) as port:
        done = run(book, urls, max_fetches=60, resolve=at(port), **MANNERS)
    assert done.fetched == 60 == sum(n for url, n in app.asked.items() if "robots" not in url)
    assert done.undecided and done.stopped == "the limit of fetches is reached"
    for rule in done.book.rules():
        assert rule.status == "validated" or "undecided" in str(rule.why)
    assert {k: v for k, v in verdicts(done.book).items() if v != "likely"}.items() <= TRUTH.items()
    with served(Troubled(site)) as port:
        started = time.monotonic()
        done = run(book, urls, max_time=0.5, resolve=at(port), **{**MANNERS, "delay": 0.05})
        assert time.monotonic() - started < 2
    assert done.stopped == "the time is up" and done.undecided


def test_a_run_that_is_continued_fetches_nothing_twice_and_ends_the_same(site, book, urls, tmp_path) -> None:
    with served(Troubled(site)) as port:
        whole = run(book, urls, resolve=at(port), **MANNERS)
    app = Troubled(site)
    with served(app) as port:
        for limit in (30, 100, None):
            done = run(book, urls, resume=tmp_path / "s", max_fetches=limit, resolve=at(port), **MANNERS)
    assert done.book.dumps() == whole.book.dumps() and done.fetched == whole.fetched
    assert max(app.asked.values()) <= 2 and app.asked["http://demo.undust.test/robots.txt"] == 1
    assert sum(n for url, n in app.asked.items() if "robots" not in url) == whole.fetched


def test_a_rule_that_fails_on_a_rare_branch_only_is_found_out() -> None:
    """`ref` does not matter, except where there is a `v=2`: 3 % of the URLs."""
    urls, pages = [], {}
    for i in range(600):
        new = i % 33 == 0
        rest = f"id={i}" + ("&v=2" if new else "")
        urls.append(f"http://a.test/p?{rest}&ref=x{i}")
        pages[urls[-1]] = f"Page {i} of a small example {'by x' + str(i) if new else ''}"
        pages[f"http://a.test/p?{rest}"] = f"Page {i} of a small example"
    book = RuleBook({"a.test": SiteRules("a.test", rules=[Rule(do={"query[ref]": None})])})
    (rule,) = validate(book, urls, fetcher=Offline(pages)).sites["a.test"].rejected
    assert "v=2" in str(rule.why)


def one(pages: dict[str, str | Answer], urls: list[str], **more) -> Rule:
    book = RuleBook({"a.test": SiteRules("a.test", rules=[Rule(do={"query[s]": None})])})
    found = validate(book, urls, fetcher=Offline(pages), **more).sites["a.test"]
    (rule,) = [*found.rules, *found.rejected]
    return rule


URLS = [f"http://a.test/p?id={i}&s={i}" for i in range(40)]


def bare(url: str) -> str:
    return url.partition("&")[0]


def test_one_page_under_all_addresses_proves_nothing() -> None:
    """A login page, or the empty shell of a script: before and after are the same whatever the rule."""
    login = "Please log in first, with your name and your password."
    for text in (login, "", "Loading"):
        rule = one({u: text for url in URLS for u in (url, bare(url))}, URLS)
        assert rule.status == "probable" and "undecided" in str(rule.why)


def test_redirects_to_the_outcome_prove_it_and_cost_no_more() -> None:
    pages = {u: Answer("redirect", 301, location=bare(u)) for u in URLS}
    pages |= {bare(u): f"This is page {u} of some" for u in URLS}
    rule = one(pages, URLS)
    assert rule.status == "validated"
    # Other people's servers are not asked.
    pages = {u: Answer("redirect", 302, location=f"http://else.where/{u[-2:]}") for u in URLS}
    pages |= {bare(u): Answer("redirect", 302, location=f"http://else.where/{u[-2:]}") for u in URLS}
    fetcher = Offline(pages)
    book = RuleBook({"a.test": SiteRules("a.test", rules=[Rule(do={"query[s]": None})])})
    assert next(validate(book, URLS, fetcher=fetcher).rules()).status == "validated"
    assert not any("else.where" in url for url in fetcher.asked)


def test_outcomes_that_are_not_there_reject_and_outcomes_that_fail_do_not() -> None:
    alive = {u: f"This is page {u} of some" for u in URLS}
    assert one(alive, URLS).status == "rejected"
    assert "status 404" in str(one(alive, URLS).why)
    failing = {bare(u): Answer("failed", why="timed out") for u in URLS}
    assert one(alive | failing, URLS).status == "probable"


def test_a_page_that_is_another_at_each_visit_proves_nothing() -> None:
    class Moody(Offline):
        async def fetch(self, url: str) -> Answer:
            self.asked.append(url)
            return Answer("page", 200, digest=str(len(self.asked)), text=f"{len(self.asked)} " * 50)

    book = RuleBook({"a.test": SiteRules("a.test", rules=[Rule(do={"query[s]": None})])})
    (rule,) = validate(book, URLS, fetcher=Moody({})).rules()
    assert rule.status == "probable"


def test_few_pages_decide_only_when_all_agree() -> None:
    alike = {u: f"This is page {bare(u)} of some" for u in URLS} | {
        bare(u): f"This is page {bare(u)} of some" for u in URLS
    }
    assert one(alike, URLS[:5]).status == "validated"
    assert one(alike, URLS[:4]).status == "probable"
    assert one(alike | {bare(URLS[0]): "Something else that is not it"}, URLS[:4]).status == "rejected"


def test_dead_and_soft_pages_are_not_tried() -> None:
    records = [{"url": u, "status": 404 if i % 2 else 200} for i, u in enumerate(URLS)]
    fetcher = Offline({})
    book = RuleBook({"a.test": SiteRules("a.test", rules=[Rule(do={"query[s]": None})])})
    validate(book, records, fetcher=fetcher)
    assert fetcher.asked and not set(fetcher.asked) & set(URLS[1::2])


def test_rules_that_act_on_what_others_have_made_are_tried_there() -> None:
    rules = [Rule(do={"query[s]": None}), Rule(when={"query[t]": "{x}"}, do={"query[t]": None}, order=1)]
    urls = [u + "&T=9" for u in URLS]
    rules.insert(0, Rule(when={"query[T]": "{x}"}, do={"query[T]": None, "query[t]": "{x}"}, order=-1))
    pages = {}
    for u in urls:
        for form in (u, bare(u), bare(u) + "&t=9", bare(u) + "&T=9", u.replace("&T", "&t")):
            pages[form] = f"This is page {bare(u)} of some"
    book = RuleBook({"a.test": SiteRules("a.test", rules=rules)})
    assert {r.status for r in validate(book, urls, fetcher=Offline(pages)).rules()} == {"validated"}


def test_validated_and_disabled_rules_are_left_alone() -> None:
    fetcher = Offline({})
    for status, asks in (("validated", False), ("disabled", False), ("likely", True)):
        rule = Rule(do={"query[s]": None}, status=status)
        book = RuleBook({"a.test": SiteRules("a.test", rules=[rule])})
        validate(book, URLS, fetcher=fetcher)
        assert bool(fetcher.asked) is asks
    book = RuleBook({"a.test": SiteRules("a.test", rules=[Rule(do={"query[s]": None}, status="validated")])})
    before = len(fetcher.asked)
    validate(book, URLS, fetcher=fetcher, again=True)
    assert len(fetcher.asked) > before


def test_a_probable_rule_is_spared_pages_that_the_crawl_has_shown() -> None:
    alike = {u: f"This is page {bare(u)} of some" for u in URLS} | {
        bare(u): f"This is page {bare(u)} of some" for u in URLS
    }
    cost = {}
    for level, false in (("digest", 0), ("digest", 1), ("url", 0)):
        rule = Rule(do={"query[s]": None}, evidence=Evidence(level, pairs=30, false=false))
        book = RuleBook({"a.test": SiteRules("a.test", rules=[rule])})
        (found,) = validate(book, URLS, fetcher=Offline(alike)).rules()
        cost[level, false] = found.evidence.fetched
    assert cost == {("digest", 0): 20, ("digest", 1): 30, ("url", 0): 30}


def test_error_rates_of_the_sequential_test() -> None:
    """Drawn at random, wrong rules are accepted and right ones rejected no more often than was asked for."""
    from random import Random

    rng = Random(1)
    test = SequentialTest()

    def judged(rate: float) -> bool:
        good = bad = 0
        while (verdict := test.verdict(good, bad)) is None:
            failed = rng.random() < rate
            good, bad = good + (not failed), bad + failed
        return verdict

    wrongly = Counter(judged(test.refuted) for _ in range(4000))[True] / 4000
    missed = Counter(judged(test.tolerated) for _ in range(4000))[False] / 4000
    assert wrongly <= test.accept_error + 0.01 and missed <= test.reject_error + 0.01


@pytest.mark.parametrize(
    "wrong", [{"tolerated": 0.3}, {"refuted": 1.2}, {"accept_error": 0.0}, {"credit": -1}]
)
def test_parameters_that_make_no_sense(wrong) -> None:
    with pytest.raises(UsageError):
        SequentialTest(**wrong)


def test_features_tell_ways_of_writing_and_rare_values_apart() -> None:
    urls = [
        f"http://a.test/w?title={'+' if i % 2 else '_'}x{i}&view={'next' if i == 5 else 'all'}"
        for i in range(30)
    ]
    told = features(Rule(do={"query[title]": None}), urls)
    assert set(told[0]) != set(told[1]) and set(told[0]) == set(told[2]) and set(told[5]) != set(told[1])


def test_the_next_url_covers_what_was_not_covered() -> None:
    urls = {
        f"http://a.test/{kind}/p?id={i}&s={i}": None for kind, n in (("a", 90), ("b", 8)) for i in range(n)
    }
    case = Case(Rule(do={"query[s]": None}), urls)
    first = [t.url.split("/")[3] for t in case.next(4, cost=lambda t: 2)]
    assert set(first) == {"a", "b"}


def test_state_keeps_any_text_and_refuses_strangers(tmp_path) -> None:
    with State(tmp_path / "s") as state:
        state["http://a.test/\udcff", 1] = Answer("page", 200, text="lone \ud800 half")
        state.keep_robots("http://a.test", 404, b"")
    with State(tmp_path / "s") as state:
        assert state.get(("http://a.test/\udcff", 1)).text == "lone \ud800 half"
        assert state.robots("http://a.test") == (404, b"") and state.robots("http://b.test") is None
    import sqlite3

    other = sqlite3.connect(tmp_path / "other")
    other.execute("create table mine (x)")
    other.commit()
    (tmp_path / "text").write_text("no database at all, " * 100)
    for name in ("other", "text"):
        with pytest.raises(UsageError):
            State(tmp_path / name)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    import undust.validation as room

    for name in [n for n in sys.modules if n.startswith("undust.validation.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "protego", None)
    with pytest.raises(UsageError, match=r"pip install 'undust\[validate\]'"):
        room.__getattr__("LiveFetcher")
