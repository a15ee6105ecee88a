"""The rules a crawl follows at the moment: loaded once, and the same for all that ask."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler

from undust.integrations.scrapy.kind import kind
from undust.integrations.scrapy.standing import Standing
from undust.rules import Canonicalizer, RuleBook
from undust.rules.aliases import AliasTable

if TYPE_CHECKING:
    from undust.integrations.scrapy.online import OnlineLearner

REMEMBERED = 1 << 14
"""URLs whose canonical form is kept."""

EXPLORE_ONLINE = 0.05
"""Share of the URLs that rules would drop which is fetched all the same when the rules are learned on the way."""


class InUse:
    """The canonicalizer of a crawl.

    In a crawl that learns (`UNDUST_ONLINE`) it is another one after each lesson; then `standing` knows under which URL
    a page was asked for first.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self.level: str = settings.get("UNDUST_LEVEL", "probable")
        path = settings.get("UNDUST_RULES")
        self.book = RuleBook.load(path) if path else RuleBook()
        table = settings.get("UNDUST_ALIASES")
        self.aliases = AliasTable.load(table) if table else None
        online = settings.getbool("UNDUST_ONLINE")
        self.share = settings.getfloat("UNDUST_EXPLORE", EXPLORE_ONLINE if online else 0.0)
        self.seed = settings.getint("UNDUST_SEED", 0)
        self.changed: list[Callable[[], None]] = []
        """Called when other rules are followed."""
        self.exempt: set[str] = set()
        """Kinds of URLs that rules were wrong about: they are left as they are."""
        self.canonicalizer: Canonicalizer
        self.canonical: Callable[[str], str]
        self.follow(self.ready(self.book))
        self.standing: Standing | None = None
        if online:
            self.standing = Standing(self.canonical, self.share, self.seed)
        self.learner: OnlineLearner | None = None

    def ready(self, book: RuleBook) -> Canonicalizer:
        """A canonicalizer of a book, at the level of the crawl."""
        return Canonicalizer(book, self.level, aliases=self.aliases)

    def with_exemptions(self, canonicalizer: Canonicalizer) -> Callable[[str], str]:
        """The canonical URL, but for kinds of URLs that are exempt."""
        exempt = frozenset(self.exempt)
        if not exempt:
            return canonicalizer
        return lambda url: url if kind(url) in exempt else canonicalizer(url)

    def follow(self, canonicalizer: Canonicalizer) -> None:
        """From now on these rules."""
        self.canonicalizer = canonicalizer
        self.book = canonicalizer.book
        # A site's pages have many links in common.
        self.canonical = lru_cache(maxsize=REMEMBERED)(self.with_exemptions(canonicalizer))
        for tell in self.changed:
            tell()


_known: WeakKeyDictionary[Crawler, InUse] = WeakKeyDictionary()


def in_use(crawler: Crawler) -> InUse:
    """The rules of a crawl, loaded when they are asked for first."""
    found = _known.get(crawler)
    if found is None:
        found = _known[crawler] = InUse(crawler)
    return found


def left_alone(request: Request) -> bool:
    """Whether a request is none of our business: it says so, or does more than ask for a page.

    >>> left_alone(Request("http://a.example/", meta={"undust": False})), left_alone(Request("http://a.example/"))
    (True, False)
    """
    meta = request.meta
    return (
        meta.get("undust", True) is False or bool(meta.get("verbatim_url")) or request.method not in _READING
    )


_READING = ("GET", "HEAD")
