"""`examples/demo-rules.json`: what a person who knows the demo site would write, in the one rule language."""

from __future__ import annotations

from pathlib import Path

import pytest

from undust.demo import DemoSite, crawl, score, verdicts
from undust.rules import Canonicalizer, RuleBook

BOOK = Path(__file__).parents[2] / "examples" / "demo-rules.json"


@pytest.fixture(scope="module")
def canon() -> Canonicalizer:
    return Canonicalizer(RuleBook.load(BOOK))


@pytest.fixture(scope="module")
def site() -> DemoSite:
    return DemoSite()


@pytest.fixture(scope="module")
def urls(site: DemoSite) -> list[str]:
    return [page.url for page in crawl(site.fetch)]


def test_it_loses_nothing_and_reaches_nine_tenths_of_the_ceiling(
    site: DemoSite, urls: list[str], canon: Canonicalizer
) -> None:
    result = score(site, canon, urls)
    assert (result.lost, result.dead) == (0, 0)
    assert result.reduction > 0.9 * result.ceiling


def test_it_follows_the_true_rules_and_none_of_the_false(
    site: DemoSite, urls: list[str], canon: Canonicalizer
) -> None:
    for verdict in verdicts(site, urls, canon):
        if verdict.rule.true:
            assert verdict.followed >= 0.8 * verdict.applies, verdict.rule.name
        else:
            assert verdict.followed <= verdict.applies - verdict.wrong, verdict.rule.name


def test_canonical_forms_stay_as_they_are(urls: list[str], canon: Canonicalizer) -> None:
    assert [url for url in urls if canon(canon(url)) != canon(url)] == []
