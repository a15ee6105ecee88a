"""A guarded rule is tried on the URLs that its guard lets it change, and on no others."""

from __future__ import annotations

from undust.rules import Guard, Rule, RuleBook, SiteRules
from undust.validation import Offline, validate
from undust.validation.book import Validation

A = "http://a.test"
GUARD = Guard(({"path": "/t{t:int}", "query[page]": "{page:int}"},))
RULE = Rule(when={"path": "/t{t:int}", "query[page]": None}, do={"query[post]": None}, guard=GUARD)
BOOK = RuleBook({"a.test": SiteRules("a.test", rules=[RULE])})


def site(topics: int, right: bool = True) -> dict[str, str]:
    """Every second topic has two pages, the posts of which are on the second."""
    pages = {}
    for t in range(topics):
        first, second = (f"What was said on page {n} of topic {t} of a small forum" for n in (1, 2))
        pages[f"{A}/t{t}"] = first
        if t % 2:
            pages[f"{A}/t{t}?page=2"] = second
        for post in range(3):
            pages[f"{A}/t{t}?post={post}"] = (
                second if t % 2 else first if right else f"{first}, post {post}: else"
            )
    return pages


def test_it_is_tried_where_its_guard_allows_it() -> None:
    pages = site(60)
    validation = Validation(BOOK, list(pages))
    (case,) = validation.cases
    assert set(case.trials) == {f"{A}/t{t}?post={p}" for t in range(0, 60, 2) for p in range(3)}
    (rule,) = validate(BOOK, list(pages), fetcher=Offline(pages)).rules()
    assert rule.status == "validated"
    assert rule.guard == GUARD
    assert rule.id == RULE.id


def test_it_is_rejected_where_it_is_wrong_under_its_guard() -> None:
    pages = site(60, right=False)
    book = validate(BOOK, list(pages), fetcher=Offline(pages))
    assert [r.status for r in book.sites["a.test"].rejected] == ["rejected"]


def test_the_published_procedure_knows_no_guards_and_leaves_it() -> None:
    pages = site(20)
    (rule,) = validate(BOOK, list(pages), fetcher=Offline(pages), method="published").rules()
    assert rule == RULE
