"""The demo site's URLs, and the book a person wrote for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from undust.demo import DemoSite, crawl
from undust.rules import RuleBook

BOOK = Path(__file__).parents[2] / "examples" / "demo-rules.json"


@pytest.fixture(scope="session")
def book() -> RuleBook:
    return RuleBook.load(BOOK)


@pytest.fixture(scope="session")
def urls() -> list[str]:
    return [page.url for page in crawl(DemoSite(size=0.4).fetch)]


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """url-matcher asks tldextract, which would fetch the list of suffixes on first use: take the one it ships."""
    tldextract = pytest.importorskip("tldextract.tldextract")
    offline = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    monkeypatch.setattr("url_matcher.util.tldextract.extract", offline)
