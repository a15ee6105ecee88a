"""The add-on in real crawls of the demo site: fewer pages fetched, no content lost; and its manners among others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scrapy")

from scrapy import Request, signals
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.settings import Settings
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter as ScrapyFingerprinter
from scrapy.utils.test import get_crawler

from undust.crawl import read
from undust.demo import HOST, DemoSite, serve
from undust.demo.truth import is_soft
from undust.engines.learn import learn
from undust.integrations.scrapy import FALLBACK, Addon, RequestFingerprinter, Rewriter
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules

CRAWL = Path(__file__).with_name("crawl_demo.py")
EXAMPLE = Path(__file__).parents[2] / "examples" / "demo-rules.json"


class Fallback(ScrapyFingerprinter):
    """A project's own fingerprinter; it is handed real requests."""

    def fingerprint(self, request: Request) -> bytes:
        assert isinstance(request, Request)
        return super().fingerprint(request)


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.json"
    RuleBook({"h.test": SiteRules("h.test", rules=[Rule(do={"query[sid]": None})])}).save(path)
    return str(path)


def fingerprinter(rules: str, **settings: Any) -> RequestFingerprinter:
    return RequestFingerprinter.from_crawler(
        get_crawler(settings_dict={"UNDUST_RULES": rules} | settings, prevent_warnings=True)
    )


def test_it_needs_rules_or_a_file_for_pages() -> None:
    with pytest.raises(NotConfigured):
        Addon().update_settings(Settings())


def test_it_wraps_what_the_project_has_chosen_and_leaves_a_chosen_fallback() -> None:
    settings = Settings({"UNDUST_RULES": "x.json"})
    settings.set("REQUEST_FINGERPRINTER_CLASS", Fallback, "project")
    Addon().update_settings(settings)
    assert settings["REQUEST_FINGERPRINTER_CLASS"] is RequestFingerprinter
    assert settings[FALLBACK] is Fallback
    Addon().update_settings(settings)  # twice is once
    assert settings[FALLBACK] is Fallback
    settings = Settings({"UNDUST_RULES": "x.json", FALLBACK: Fallback})
    Addon().update_settings(settings)
    assert settings[FALLBACK] is Fallback


@pytest.mark.parametrize("ours_first", [True, False])
def test_it_stacks_with_duplicate_url_discarder(
    rules: str, ours_first: bool, tmp_path: Path, no_network: None
) -> None:
    """Whichever is placed around the other, and though both keep to what was there before."""
    dud = pytest.importorskip("duplicate_url_discarder")
    theirs = tmp_path / "dud.json"
    pattern = {"include": ["h.test/"]}
    theirs.write_text(
        json.dumps([{"order": 0, "processor": "queryRemoval", "args": ["utm"], "urlPattern": pattern}])
    )
    settings = Settings(
        {"UNDUST_RULES": rules, "DUD_LOAD_RULE_PATHS": [str(theirs)], "DUPEFILTER_DEBUG": True}
    )
    settings.set("REQUEST_FINGERPRINTER_CLASS", Fallback, "project")
    for addon in (Addon(), dud.Addon()) if ours_first else (dud.Addon(), Addon()):
        addon.update_settings(settings)
    outer = load_object(settings["REQUEST_FINGERPRINTER_CLASS"])
    assert (outer is RequestFingerprinter) is not ours_first
    names = [name for name in settings if "FALLBACK" in name or name.startswith(("UNDUST", "DUD", "DUPE"))]
    crawler = get_crawler(settings_dict={name: settings[name] for name in names}, prevent_warnings=True)
    found = build_from_crawler(outer, crawler)
    bare = ScrapyFingerprinter().fingerprint(Request("http://h.test/a?t=2"))
    first = Request("http://h.test/a?sid=1&t=2&utm=3")
    assert found.fingerprint(first) == found.fingerprint(Request("http://h.test/a?t=2&sid=2")) == bare
    assert found.fingerprint(Request("http://h.test/a?t=3&sid=2")) != bare
    crawler.signals.send_catch_log(signals.request_dropped, request=first, spider=None)
    [counted] = [name for name in crawler.stats.get_stats() if name.startswith("undust/rule/")]
    assert crawler.stats.get_value(counted) == 1


def test_links_can_be_rewritten_as_they_are_extracted(rules: str) -> None:
    page = HtmlResponse("http://h.test/", body=b'<a href="/a?sid=1&amp;t=2">x</a>', encoding="utf-8")
    extractor = LinkExtractor(process_value=Canonicalizer(RuleBook.load(rules)))
    assert [link.url for link in extractor.extract_links(page)] == ["http://h.test/a?t=2"]


@pytest.mark.parametrize("fallback", [ScrapyFingerprinter, Fallback])
def test_the_fingerprint_is_that_of_the_canonical_url(rules: str, fallback: type) -> None:
    found, plain = fingerprinter(rules, **{FALLBACK: fallback}), ScrapyFingerprinter()
    for request in (
        Request("http://h.test/a?sid=1&t=2"),
        Request("http://h.test/a?sid=1&t=2", method="HEAD"),
    ):
        bare = request.replace(url="http://h.test/a?t=2")
        assert found.fingerprint(request) == found.fingerprint(bare) == plain.fingerprint(bare)
        assert request.url.endswith("sid=1&t=2")
    form = Request("http://h.test/a?sid=1", method="POST", body=b"x")  # learned of pages, not of what it does
    assert found.fingerprint(form) == plain.fingerprint(form)
    other = Request("http://other.test/a?sid=1")
    assert found.fingerprint(other) == plain.fingerprint(other)


def test_requests_that_are_left_alone(rules: str) -> None:
    found, plain = fingerprinter(rules), ScrapyFingerprinter()
    for meta in ({"undust": False}, {"verbatim_url": True}):
        request = Request("http://h.test/a?sid=1", meta=meta)
        assert found.fingerprint(request) == plain.fingerprint(request)
    found.fingerprint(Request("http://h.test/a?sid=1"))
    found._count()
    assert found.stats.get_value("undust/request/skipped") == 2
    assert found.stats.get_value("undust/request/processed") == 1
    assert found.stats.get_value("undust/request/url_modified") == 1


def test_a_share_is_explored_and_always_the_same(rules: str) -> None:
    found, plain = fingerprinter(rules, UNDUST_EXPLORE=0.05), ScrapyFingerprinter()
    requests = [Request(f"http://h.test/{i}?sid=1") for i in range(2000)]
    kept = [r.url for r in requests if found.fingerprint(r) == plain.fingerprint(r)]
    assert 60 < len(kept) < 140
    assert kept == [r.url for r in requests if found.fingerprint(r.copy()) == plain.fingerprint(r)]


def test_rewriting_keeps_the_url_that_was_found(rules: str) -> None:
    rewriter = Rewriter.from_crawler(get_crawler(settings_dict={"UNDUST_RULES": rules}))
    request = rewriter.get_processed_request(Request("http://h.test/a?sid=1", meta={"x": 1}), None)
    assert request is not None and request.url == "http://h.test/a"
    assert request.meta == {"x": 1, "undust_url": "http://h.test/a?sid=1"}
    left = Request("http://h.test/a?sid=1", meta={"undust": False})
    assert rewriter.get_processed_request(left, None) is left


def test_a_rewritten_url_that_is_dead_is_asked_for_as_it_was_found(tmp_path: Path) -> None:
    rule = Rule(when={"path": "/p", "query[v]": "b"}, do={"path": "/dead", "query[v]": "a"})
    RuleBook({HOST: SiteRules(HOST, rules=[rule])}).save(tmp_path / "rules.json")
    fetched, _, stats, _ = crawl(0, UNDUST_RULES=str(tmp_path / "rules.json"), UNDUST_REWRITE=True)
    found = {url for url in fetched if "/p?" in url and url.endswith("v=b")}
    assert len(found) == stats["undust/rewrite/failed"] > 100


SITE = DemoSite(size=0.2)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    pytest.importorskip("uvicorn")
    with serve(SITE) as port:
        yield port


def crawl(port: int, **settings: Any) -> tuple[list[str], set[str], dict[str, Any], str]:
    """What a crawl fetched, the contents behind it, its statistics and its log."""
    command = [sys.executable, str(CRAWL), str(port), json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    contents = {c for url in found["fetched"] if (c := SITE.content_id(url)) and not is_soft(c)}
    return found["fetched"], contents, found["stats"], done.stderr


@pytest.fixture(scope="module")
def without(port: int, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], set[str], Path]:
    pages = tmp_path_factory.mktemp("crawl") / "pages.jsonl"
    urls, contents, _, _ = crawl(port, UNDUST_PAGES=str(pages))
    return urls, contents, pages


def test_what_is_harvested_is_what_was_fetched(without: tuple[list[str], set[str], Path]) -> None:
    urls, _, path = without
    pages = [json.loads(line) for line in path.open()]
    assert set(urls) <= {page["url"] for page in pages}
    assert any(page["status"] == 301 and "location" in page for page in pages)
    alive = [page for page in pages if page["status"] == 200]
    assert all(page["size"] > 0 and len(page["sketch"]) == 4 for page in alive)
    assert any("canonical" in page for page in alive)
    table = read([str(path)])
    assert table.stats.bad == 0 and table.n == len({page["url"] for page in pages})


def test_with_the_learned_book_fewer_pages_are_fetched_and_no_content_is_lost(
    port: int, without: tuple[list[str], set[str], Path], tmp_path: Path
) -> None:
    urls, contents, pages = without
    learn(read([str(pages)])).save(tmp_path / "rules.json")
    after, still, stats, _ = crawl(port, UNDUST_RULES=str(tmp_path / "rules.json"), UNDUST_REWRITE=True)
    assert contents <= still
    assert len(after) < 0.95 * len(urls)
    assert stats["undust/request/processed"] > 0


def test_with_the_true_rules_the_crawl_is_nearly_halved(
    port: int, without: tuple[list[str], set[str], Path]
) -> None:
    urls, contents, _ = without
    after, still, _, _ = crawl(port, UNDUST_RULES=str(EXAMPLE), UNDUST_REWRITE=True)
    assert contents <= still
    assert len(after) < 0.6 * len(urls)


def test_the_filter_says_which_rule_it_was(port: int) -> None:
    settings = {"DUPEFILTER_DEBUG": True, "LOG_LEVEL": "DEBUG", "CLOSESPIDER_PAGECOUNT": 60}
    _, _, stats, log = crawl(port, UNDUST_RULES=str(EXAMPLE), **settings)
    fired = [name for name in stats if name.startswith("undust/rule/")]
    assert fired
    assert any(name.removeprefix("undust/rule/") + " (" in log for name in fired)
    assert "Loaded" in log or "loaded 47 rules" in log
