"""The truth is true: what the router says of two URLs is what their pages show."""

from __future__ import annotations

import re
from collections import defaultdict
from random import Random

import pytest

from undust.demo import DemoSite, crawl, planted, score, verdicts
from undust.demo.truth import is_soft

TEXT = re.compile(rb"<h1>.*?(?=<ul>|<p><a href)", re.DOTALL)


@pytest.fixture(scope="module")
def site() -> DemoSite:
    return DemoSite(size=0.4)


@pytest.fixture(scope="module")
def urls(site: DemoSite) -> list[str]:
    return [page.url for page in crawl(site.fetch)]


def test_everything_is_linked_from_the_home_page(site: DemoSite, urls: list[str]) -> None:
    reached = {site.content_id(url) for url in urls}
    assert [content for _, content in site.contents() if content not in reached] == []


def test_equal_content_means_equal_text_and_nothing_else_does(site: DemoSite, urls: list[str]) -> None:
    contents, texts = defaultdict(set), defaultdict(set)
    for url in urls:
        content = site.content_id(url)
        found = TEXT.search(site.fetch(url).body)
        if content and found:
            contents[content].add(found[0])
            texts[found[0]].add(content)
    assert {content: len(shown) for content, shown in contents.items() if len(shown) > 1} == {}
    assert [same for same in texts.values() if len(same) > 1] == []
    assert len(contents) > 500


@pytest.mark.parametrize("name", [rule.name for rule in planted(DemoSite(size=0.03))])
def test_planted_rule(name: str, judged: dict[str, tuple[bool, int, int]]) -> None:
    true, applies, wrong = judged[name]
    assert applies >= 3, "too rare for anybody to learn or to fall for"
    assert (wrong == 0) == true


@pytest.fixture(scope="module")
def judged() -> dict[str, tuple[bool, int, int]]:
    site = DemoSite()
    urls = [page.url for page in crawl(site.fetch)]
    return {v.rule.name: (v.rule.true, v.applies, v.wrong) for v in verdicts(site, urls)}


def test_default_site_has_the_promised_size_and_duplicates(judged: object) -> None:
    site = DemoSite()
    urls = [page.url for page in crawl(site.fetch)]
    result = score(site, lambda url: url, urls, soft=True)
    assert 3000 <= len(urls) <= 5000
    assert 0.4 <= result.ceiling <= 0.6


def test_any_spelling_leads_to_its_content(site: DemoSite) -> None:
    rng = Random(7)
    for section, content in site.contents():
        for _ in range(5):
            assert site.content_id(site.spell(section, content, rng)) == content
        assert site.content_id("http://demo.undust.test" + section.canonical(content)) == content


def test_strays_have_no_content_of_their_own(site: DemoSite) -> None:
    rng = Random(7)
    for section in site.sections:
        for name, _ in section.strays():
            content = site.content_id(site.stray(section, name, rng))
            assert content is None or is_soft(content)


def test_score_counts_what_a_reckless_canonicalizer_loses(site: DemoSite, urls: list[str]) -> None:
    bare = score(site, lambda url: url.partition("?")[0], urls)
    assert bare.lost > 50
    assert bare.dead > 50
    kept = score(site, lambda url: url, urls)
    assert (kept.lost, kept.dead) == (0, 0)
    assert kept.reduction == 0 < kept.ceiling


def test_follows_tells_a_learned_rule_from_one_that_was_missed(site: DemoSite, urls: list[str]) -> None:
    by_name = {v.rule.name: v for v in verdicts(site, urls, lambda url: url.replace("//www.", "//"))}
    assert by_name["www"].followed == by_name["www"].applies > 0
    assert by_name["shop-slug"].followed == 0 < by_name["shop-slug"].applies


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "http://",
        "http://[::1",
        "http://elsewhere.test/story_7",
        "http://demo.undust.test:8080/story_7",
        "http://demo.undust.test/\x00\udcff",
        "http://demo.undust.test/story_²",
        "http://demo.undust.test/forum/viewtopic.php?t=²&p=٣",
        "http://demo.undust.test/talk/topic,x.msgy.html",
        "http://demo.undust.test/talk/topic,1.0/prev_next,next.html/prev_next,next.html",
        "mailto:a@demo.undust.test",
    ],
)
def test_odd_urls_are_errors_not_crashes(site: DemoSite, url: str) -> None:
    assert site.fetch(url).status in (200, 404)
    assert site.content_id(url) is None or is_soft(site.content_id(url))
