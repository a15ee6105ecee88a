"""Guarded rules are found where the list tells right from wrong, and only there."""

from __future__ import annotations

import random

import pytest

from undust.engines.learn import learn_site
from undust.rules import Canonicalizer, Rule, RuleBook

from .made_up import HOST, site

PER_PAGE = 15


def in_path(topic: int, page: int) -> str:
    return f"/topic,{topic}.{PER_PAGE * page}.html"


def message_in_path(topic: int, message: int) -> str:
    return f"/topic,{topic}.msg{message}.html"


def in_query(topic: int, page: int) -> str:
    return f"/viewtopic.php?f={topic % 7}&t={topic}" + (f"&start={PER_PAGE * page}" if page else "")


def message_in_query(topic: int, message: int) -> str:
    return f"/viewtopic.php?f={topic % 7}&t={topic}&p={message}"


def by_slug(topic: int, page: int) -> str:
    return f"/t/thread-{topic * 7919 % 1000}-{topic}" + (f"/page-{page + 1}" if page else "")


def message_by_slug(topic: int, message: int) -> str:
    return f"/t/thread-{topic * 7919 % 1000}-{topic}?post={message}"


def by_word(topic: int, page: int) -> str:
    return f"/threads/{word(topic)}.{topic}/" + (f"page-{page + 1}" if page else "")


def message_by_word(topic: int, message: int) -> str:
    return f"/threads/{word(topic)}.{topic}/post-{message}"


def in_value(topic: int, page: int) -> str:
    return f"/index.php?topic={topic}.{PER_PAGE * page}"


def message_in_value(topic: int, message: int) -> str:
    return f"/index.php?topic={topic}.msg{message}"


def word(topic: int) -> str:
    return "".join(random.Random(topic).choices("abcdefghijklmnopqrstuvwxyz", k=8))


STYLES = {
    "path": (in_path, message_in_path),
    "query": (in_query, message_in_query),
    "slug": (by_slug, message_by_slug),
    "word": (by_word, message_by_word),
    "value": (in_value, message_in_value),
}


def forum(style: str, topics: int = 120, long_every: int = 4, seed: int = 1) -> list[tuple[str, str]]:
    """Topics of one page and, each so many, of two to four; every message has a link that shows the page it is on."""
    page_url, message_url = STYLES[style]
    draw = random.Random(seed)
    pages = []
    message = 1000
    for t in range(1, topics + 1):
        last = draw.randint(2, 4) if t % long_every == 0 else 1
        for page in range(last):
            pages.append((page_url(t, page), f"{t} page {page}"))
            for _ in range(4):
                message += draw.randint(1, 5)
                pages.append((message_url(t, message), f"{t} page {page}"))
    return pages


def guarded(pages: list[tuple[str, str]]) -> list[Rule]:
    return [rule for rule in learn_site(site(pages)).rules if rule.guard is not None]


@pytest.mark.parametrize("style", STYLES)
def test_found_where_short_and_long_topics_are_mixed(style):
    pages = forum(style)
    learned = learn_site(site(pages))
    (rule,) = [r for r in learned.rules if r.guard is not None]
    assert rule.status == "probable"
    assert rule.evidence.false == 0
    assert (rule.evidence.precision_low or 0) >= 0.95
    assert rule.guard is not None
    assert (rule.guard.entities, rule.guard.between) == (5, 0.98)
    # what it does to another forum of the same build
    others = forum(style, topics=80, seed=2)
    urls = [HOST + path for path, _ in others]
    book = RuleBook({learned.name: learned})
    after = Canonicalizer(book, listed=urls).map(urls)
    content: dict[str, set[str]] = {}
    for (_, shown), form in zip(others, after, strict=True):
        content.setdefault(form, set()).add(shown)
    assert all(len(shown) == 1 for shown in content.values())
    assert (
        sum(a != b for a, b in zip(urls, after, strict=True)) == 60 * 4
    )  # all messages of the 60 short topics
    assert Canonicalizer(book).map(urls) == urls


@pytest.mark.parametrize(("style", "lost"), [("path", 0.3), ("query", 0.6), ("slug", 0.15), ("word", 0.2)])
def test_not_found_when_the_list_is_patchy(style, lost):
    draw = random.Random(3)
    assert guarded([page for page in forum(style, topics=200) if draw.random() > lost]) == []


def test_not_found_when_nothing_is_there_to_be_kept_apart():
    """Long topics whose further pages were never listed: nothing shows that a guard would tell."""
    pages = [(url, shown) for url, shown in forum("path") if shown.endswith("page 0") or ".msg" in url]
    assert guarded(pages) == []


def test_not_found_when_few_things_speak_for_it():
    assert guarded(forum("path", topics=24)) == []


def test_not_found_when_the_other_pages_do_not_tell():
    """Every second message shows something of its own, whether the topic is long or short."""
    pages = [
        (u, f"{shown} {i}" if i % 2 and "msg" in u else shown) for i, (u, shown) in enumerate(forum("path"))
    ]
    assert guarded(pages) == []


def test_an_unguarded_rule_is_left_as_it_is():
    """Where every topic has one page no guard is needed: the plain rule is found, as before."""
    learned = learn_site(site(forum("path", long_every=10_000)))
    assert [r.guard for r in learned.rules] == [None]


def test_order_of_the_pages_does_not_matter():
    pages = forum("query")
    one = guarded(pages)
    random.Random(5).shuffle(pages)
    assert [r.id for r in guarded(pages)] == [r.id for r in one]
    assert one[0].describe().startswith("*: when path is /viewtopic.php")


def test_what_guarded_rules_merge_is_not_counted_among_what_the_rules_leave():
    learned = learn_site(site(forum("path")))
    assert any(r.guard for r in learned.rules)
    assert learned.notes["forms"] == len(forum("path"))
