"""Learning while crawling: who stands for a page when the rules change, and rules that turn out wrong on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scrapy")

from crawl_demo import SESSIONS, TURNCOATS
from scrapy.settings import Settings

from undust.demo import HOST
from undust.integrations.scrapy import Addon, LateFilter, OnlineLearner, PageWriter
from undust.integrations.scrapy.lesson import combined
from undust.integrations.scrapy.standing import Standing
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules

CRAWL = Path(__file__).with_name("crawl_demo.py")


def bare(url: str) -> str:
    return url.partition("?")[0]


def same(url: str) -> str:
    return url


def test_under_no_rules_can_a_url_be_taken_for_one_that_was_not_asked_for() -> None:
    """What the filter knows is the URL that was asked for, so other rules cannot make it know another one."""
    standing = Standing(bare)
    assert standing.of("/a?1") == "/a?1" == standing.of("/a?2")
    standing.follow(standing.prepare(same))
    assert standing.of("/a") == "/a"  # the canonical URL of before, which nobody has asked for
    assert standing.of("/a?2") == "/a?2"
    assert standing.of("/a?1") == "/a?1"


def test_urls_that_come_while_rules_are_prepared_are_not_forgotten() -> None:
    standing = Standing(same)
    standing.of("/a?1")
    prepared = standing.prepare(bare)
    standing.of("/b?1")
    standing.begin("/b?1")
    standing.follow(prepared)
    assert standing.of("/a?2") == "/a?1" and standing.of("/b?2") == "/b?1"
    assert standing.begin("/b?3") == "/b?1"


def test_what_waits_is_spared_when_its_page_has_been_sent_for() -> None:
    standing = Standing(same)
    for url in ("/a?1", "/a?2"):
        assert standing.of(url) == url
    standing.begin("/a?2")
    standing.follow(standing.prepare(bare))
    assert standing.begin("/a?1") == "/a?2"
    assert standing.begin("/a?1", whatever=True) is None
    assert standing.begin("/a?2") is None  # again: a retry


def test_what_failed_stands_for_nothing() -> None:
    standing = Standing(bare)
    standing.of("/a?1")
    standing.begin("/a?1")
    standing.failed("/a?1")
    assert standing.of("/a?2") == "/a?2" and standing.begin("/a?2") is None


def test_a_share_of_what_would_be_spared_is_explored_beside_what_stands_for_the_page() -> None:
    standing = Standing(bare, share=0.05)
    found = [standing.of(f"/{i}?{v}") for v in "ab" for i in range(2000)]
    assert 60 < len(standing.explored) < 140
    assert all(url.endswith("?b") for url in standing.explored)
    some = next(iter(standing.explored))
    standing.begin(some)  # though it is sent for first
    assert standing.begin(bare(some) + "?a") is None
    again = Standing(bare, share=0.05)
    assert found == [again.of(f"/{i}?{v}") for v in "ab" for i in range(2000)]
    other = Standing(bare, share=0.05, seed=1)
    assert found != [other.of(f"/{i}?{v}") for v in "ab" for i in range(2000)]


def test_rules_given_and_learned_go_together_or_the_weaker_goes() -> None:
    given = Rule(when={"path": "/a"}, do={"path": "/b"}, status="validated")
    back, new = Rule(when={"path": "/b"}, do={"path": "/a"}), Rule(do={"query[sid]": None})
    book = combined(
        RuleBook({"h.test": SiteRules("h.test", rules=[given])}),
        RuleBook({"h.test": SiteRules("h.test", rules=[back, new]), "g.test": SiteRules("g.test")}),
        ["http://h.test/a", "http://h.test/b?sid=1", "http://g.test/"],
    )
    assert {rule.id for rule in book.rules()} == {given.id, new.id}
    assert Canonicalizer(book)("http://h.test/a?sid=1") == "http://h.test/b"


def test_the_add_on_places_what_learning_needs_and_leaves_what_a_project_placed() -> None:
    settings = Settings({"UNDUST_ONLINE": True, "UNDUST_PAGES": "pages.jsonl"})
    Addon().update_settings(settings)
    assert dict(settings["EXTENSIONS"]) == {OnlineLearner: 500}
    assert dict(settings["DOWNLOADER_MIDDLEWARES"]) == {LateFilter: 540}
    path = "undust.integrations.scrapy.PageWriter"
    settings = Settings({"UNDUST_PAGES": "pages.jsonl", "EXTENSIONS": {path: None}})
    Addon().update_settings(settings)
    assert dict(settings["EXTENSIONS"]) == {path: None} and PageWriter.__name__ in path


def crawl(port: int, **settings: Any) -> tuple[list[str], dict[str, Any], str]:
    command = [sys.executable, str(CRAWL), str(port), json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["fetched"], found["stats"], done.stderr


def test_a_rule_that_exploring_contradicts_is_switched_off_and_what_it_hid_is_fetched(tmp_path: Path) -> None:
    rule = Rule(do={"query[v]": None})
    RuleBook({HOST: SiteRules(HOST, rules=[rule])}).save(tmp_path / "rules.json")
    settings = {"UNDUST_RULES": str(tmp_path / "rules.json")}
    blind, _, _ = crawl(0, **settings)
    assert len(blind) == 1 + TURNCOATS  # half of the pages are lost, and those behind dead links
    after = tmp_path / "after.json"
    online = {"UNDUST_ONLINE": True, "UNDUST_EXPLORE": 0.1, "UNDUST_ONLINE_BOOK": str(after)}
    fetched, stats, log = crawl(0, **settings, **online)
    asked = {url.partition(HOST)[2] for url in fetched}
    assert {f"/p?id={n}&v={v}" for n in range(TURNCOATS // 2, TURNCOATS) for v in "ab"} <= asked
    assert {f"/dead?id={n}&v=b" for n in range(10)} <= asked
    assert stats[f"undust/rule/{rule.id}/switched_off"] in log and rule.describe() in log
    assert stats["undust/explored/different"] >= 2
    [left] = RuleBook.load(after).rules()
    assert left.status == "disabled" and "differ" in str(left.why)


def test_one_failed_page_is_no_lost_page(tmp_path: Path) -> None:
    """A rule that holds; but the URL that was to stand for the page is dead."""
    RuleBook({HOST: SiteRules(HOST, rules=[Rule(when={"path": "/dead"}, do={"query[v]": None})])}).save(
        tmp_path / "rules.json"
    )
    fetched, stats, _ = crawl(
        0, UNDUST_RULES=str(tmp_path / "rules.json"), UNDUST_ONLINE=True, UNDUST_EXPLORE=0
    )
    assert {f"http://{HOST}/dead?id={n}&v=b" for n in range(10)} <= set(fetched)
    assert stats["undust/online/revived"] == 10


def test_what_is_learned_on_the_way_spares_pages_and_loses_none(tmp_path: Path) -> None:
    plain, _, _ = crawl(-1)
    assert len(plain) > 2.5 * SESSIONS
    after = str(tmp_path / "after.json")
    fetched, stats, log = crawl(
        -1, UNDUST_ONLINE=True, UNDUST_ONLINE_PAUSE=True, UNDUST_ONLINE_FIRST=200, UNDUST_ONLINE_BOOK=after
    )
    assert stats["undust/online/lessons"] == 1 and "undust/online/lessons_failed" not in stats, log
    assert [rule.describe() for rule in RuleBook.load(after).rules()] == ["*: when path is /page: drop sid"]
    assert {url.partition("&")[0] for url in fetched} == {url.partition("&")[0] for url in plain}
    assert len(fetched) < 0.75 * len(plain)
    assert stats["undust/explored/same"] > 0 and "undust/explored/different" not in stats
    assert not any(name.endswith("switched_off") for name in stats)
