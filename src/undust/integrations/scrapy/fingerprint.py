"""The request fingerprinter: requests for one page have one fingerprint."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter as ScrapyFingerprinter
from scrapy.utils.request import RequestFingerprinterProtocol

from undust.integrations.scrapy.in_use import REMEMBERED, in_use, left_alone
from undust.integrations.scrapy.standing import drawn
from undust.rules import Rule
from undust.rules.canonicalizer import LEVELS

logger = logging.getLogger(__name__)

FALLBACK = "UNDUST_FALLBACK_REQUEST_FINGERPRINTER_CLASS"

FLUSH = 256
"""Requests after which the statistics are brought up to date."""

EXPLAINED = 1 << 12
"""URLs of which it is kept which rules fire."""


class _Plain:
    """A request without a body, as far as Scrapy's own fingerprint looks at one.

    A real one would check and quote the URL anew, which takes as long as all the rest.
    """

    __slots__ = ("__weakref__", "method", "url")
    body = b""
    meta: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, url: str, method: str) -> None:
        self.url, self.method = url, method


class RequestFingerprinter:
    """Fingerprints of canonical URLs; the fingerprint itself is made by the fingerprinter that was configured.

    The URL that is fetched stays as it is. `request.meta["undust"] = False` leaves a request alone, and so do
    Scrapy's own `verbatim_url` and any method but GET and HEAD: the rules were learned of pages, not of what a form
    does. `UNDUST_LEVEL` is the weakest status of rules that are followed (`probable`). `UNDUST_EXPLORE = 0.05` fetches
    that share of the URLs that would be merged all the same, with one `UNDUST_SEED` always the same ones: then the
    pages tell whether the rules still hold.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None
        self.stats = crawler.stats
        self.rules = in_use(crawler)
        self.rules.changed.append(self.forget)
        self.fallback: RequestFingerprinterProtocol = build_from_crawler(
            load_object(crawler.settings.get(FALLBACK) or ScrapyFingerprinter), crawler
        )
        self._plain = type(self.fallback) is ScrapyFingerprinter
        # The pages that rules merge are asked for again and again.
        self._elsewhere = lru_cache(maxsize=REMEMBERED)(self._of_another)
        self._known: WeakKeyDictionary[Request, bytes] = WeakKeyDictionary()
        self._processed = self._modified = self._explored = self._skipped = 0
        self._first: dict[bytes, str] | None = {} if crawler.settings.getbool("DUPEFILTER_DEBUG") else None
        self._fired = lru_cache(maxsize=EXPLAINED)(self._explained)
        used = sum(rule.status in LEVELS[self.rules.level] for rule in self.rules.book.rules())
        logger.info("undust: loaded %d rules of %d sites", used, len(self.rules.book.sites))
        crawler.signals.connect(self._dropped, signals.request_dropped)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RequestFingerprinter:
        return cls(crawler)

    def fingerprint(self, request: Request) -> bytes:
        """The fingerprint of the page a request is for."""
        found = self._known.get(request)
        if found is None:
            found = self._known[request] = self._make(request)
        return found

    def forget(self) -> None:
        """The rules have changed: requests are looked at anew."""
        self._known.clear()
        self._fired.cache_clear()

    def _make(self, request: Request) -> bytes:
        if left_alone(request):
            self._skipped += 1
            return self.fallback.fingerprint(request)
        url = request.url
        self._processed += 1
        if not self._processed % FLUSH:
            self._count()
        rules = self.rules
        if rules.standing is not None:
            there = rules.standing.of(url)
        else:
            there = rules.canonical(url)
            if rules.share and there != url and drawn(url, rules.share, rules.seed):
                self._explored += 1
                there = url
        if there == url:
            made = self.fallback.fingerprint(request)
        else:
            self._modified += 1
            if self._plain and not request.body:
                made = self._elsewhere(there, request.method)
            else:
                made = self.fallback.fingerprint(request.replace(url=there))
        if self._first is not None:
            self._first.setdefault(made, url)
        return made

    def _of_another(self, url: str, method: str) -> bytes:
        return self.fallback.fingerprint(cast(Request, _Plain(url, method)))

    def _count(self) -> None:
        """Bring the statistics up to date; each time would take as long as a rule does."""
        if self.rules.standing is not None:
            self._explored = len(self.rules.standing.explored)
        for name in ("processed", "url_modified", "explored", "skipped"):
            count = getattr(self, f"_{name.removeprefix('url_')}")
            if count:
                self.stats.set_value(f"undust/request/{name}", count)

    # -- what became of it ----------------------------------------------------

    def _explained(self, url: str) -> tuple[Rule, ...]:
        steps = self.rules.canonicalizer.explain(url).steps
        return tuple(dict.fromkeys(rule for rule, _, _ in steps if rule is not None))

    def _dropped(self, request: Request, spider: Any) -> None:
        """A request was filtered out: which rules made it equal to an earlier one?"""
        if left_alone(request):
            return
        url, rules = request.url, self.rules
        if rules.standing is not None:
            again = url in rules.standing.asked
        else:
            again = rules.canonical(url) == url or (bool(rules.share) and drawn(url, rules.share, rules.seed))
        fired = {} if again else dict.fromkeys(self._fired(url))
        for rule in fired:
            self.stats.inc_value(f"undust/rule/{rule.id}")
        if self._first is not None:
            # An add-on around this one may have asked for another request.
            first = self._first.get(self._known.get(request, b""), url)
            if first != url:
                fired |= dict.fromkeys(self._fired(first))
            by = "; ".join(f"{rule.id} ({rule.describe()})" for rule in fired) or "no rule, they are equal"
            logger.debug("undust: %s is %s by %s", url, first, by, extra={"spider": spider})

    def _closed(self, spider: Any) -> None:
        self._count()
        get = self.stats.get_value
        logger.info(
            "undust: %d requests, %d of them under another URL; %d filtered in all",
            get("undust/request/processed", 0),
            get("undust/request/url_modified", 0),
            get("dupefilter/filtered", 0),
        )
