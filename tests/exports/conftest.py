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
