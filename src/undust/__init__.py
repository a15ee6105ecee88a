"""undust learns which differences between URLs do not matter, and proves it.

    crawl = undust.read("access.log.gz", host="www.example.com")
    book = undust.learn(crawl)
    book = undust.validate(book, crawl, max_fetches=500)
    undust.evaluate(book, crawl).compression_rate
    canon = undust.Canonicalizer(book)
    canon("http://www.example.com/story_7?sid=abc")
    book.save("rules.json")

Names are imported when they are first used: `import undust` is quick and needs no extra.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from undust.crawl import Crawl
    from undust.engines.learn import learn
    from undust.engines.pages import read
    from undust.measures import evaluate
    from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules
    from undust.validation import validate

__all__ = [
    "Canonicalizer",
    "Crawl",
    "Rule",
    "RuleBook",
    "SiteRules",
    "evaluate",
    "learn",
    "learners",
    "read",
    "validate",
]

_WHERE = {
    "Canonicalizer": "undust.rules",
    "Crawl": "undust.crawl",
    "Rule": "undust.rules",
    "RuleBook": "undust.rules",
    "SiteRules": "undust.rules",
    "evaluate": "undust.measures",
    "learn": "undust.engines.learn",
    "read": "undust.engines.pages",
    "validate": "undust.validation",
}


def __getattr__(name: str) -> Any:
    if name == "learners":
        return import_module("undust.learners")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'undust' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
