"""Scrapy: requests whose URLs the rule book calls one page are fetched once; pages are written down for `undust learn`.

    ADDONS = {"undust.integrations.scrapy.Addon": 610}
    UNDUST_RULES = "rules.json"     # whose URLs mean the same page; the URL that is fetched stays as it is
    UNDUST_PAGES = "pages.jsonl"    # write what is crawled, to learn from it
    UNDUST_REWRITE = True           # fetch the canonical URL in place of the first one that was seen

Needs the extra `undust[scrapy]`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import zlib
from functools import lru_cache
from typing import IO, Any, cast
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter as ScrapyFingerprinter
from scrapy.utils.request import RequestFingerprinterProtocol

from undust.likeness import sketch_kind, sketcher
from undust.rules import Canonicalizer, RuleBook
from undust.rules.canonicalizer import LEVELS

logger = logging.getLogger(__name__)

FALLBACK = "UNDUST_FALLBACK_REQUEST_FINGERPRINTER_CLASS"
BATCH = 64
"""Pages whose texts are sketched at once."""

REMEMBERED = 1 << 14
"""URLs whose canonical form is kept."""

FLUSH = 256
"""Requests after which the statistics are brought up to date."""


class Addon:
    """Puts the fingerprinter around the configured one, and the page writer among the extensions.

    >>> from scrapy.settings import Settings
    >>> settings = Settings({"UNDUST_RULES": "rules.json"})
    >>> Addon().update_settings(settings)
    >>> settings["REQUEST_FINGERPRINTER_CLASS"].__name__, settings[FALLBACK]
    ('RequestFingerprinter', 'scrapy.utils.request.RequestFingerprinter')
    """

    def update_settings(self, settings: BaseSettings) -> None:
        if not settings.get("UNDUST_RULES") and not settings.get("UNDUST_PAGES"):
            raise NotConfigured(
                "set UNDUST_RULES to a rule book, or UNDUST_PAGES to a file for pages, or both"
            )
        if settings.get("UNDUST_RULES"):
            self._wrap(settings)
        if settings.get("UNDUST_RULES") and settings.getbool("UNDUST_REWRITE"):
            settings.setdefault("SPIDER_MIDDLEWARES", {}, "addon")
            # Next to the spider: what stands between sees the URL that will be fetched.
            settings["SPIDER_MIDDLEWARES"].setdefault(Rewriter, 990)
        if settings.get("UNDUST_PAGES"):
            settings.setdefault("EXTENSIONS", {}, "addon")
            settings["EXTENSIONS"].setdefault(PageWriter, 500)

    def _wrap(self, settings: BaseSettings) -> None:
        name = "REQUEST_FINGERPRINTER_CLASS"
        current = settings.get(name)
        if load_object(current) is RequestFingerprinter:
            return
        if not settings.get(FALLBACK):
            settings.set(FALLBACK, current, "addon")
        # What a project has chosen is wrapped too, hence at its own priority.
        priority = max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES["addon"])
        settings.set(name, RequestFingerprinter, priority)


class _Elsewhere:
    """A request as if it were for another URL: all that Scrapy's own fingerprint looks at.

    `Request.replace` would check and quote the URL anew, which takes as long as all the rest.
    """

    __slots__ = ("__weakref__", "body", "headers", "meta", "method", "url")

    def __init__(self, request: Request, url: str) -> None:
        self.url, self.method, self.body = url, request.method, request.body
        self.headers, self.meta = request.headers, request.meta


class RequestFingerprinter:
    """Fingerprints of canonical URLs; the fingerprint itself is made by the fingerprinter that was configured.

    The URL that is fetched stays as it is. `request.meta["undust"] = False` leaves a request alone, and so does
    Scrapy's own `verbatim_url`. `UNDUST_LEVEL` is the weakest status of rules that are followed (`probable`).
    `UNDUST_EXPLORE = 0.05` fetches that share of the URLs that would be merged all the same, always the same ones:
    then the pages tell whether the rules still hold.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        assert crawler.stats is not None
        self.stats = crawler.stats
        book = RuleBook.load(settings["UNDUST_RULES"])
        level = settings.get("UNDUST_LEVEL", "probable")
        self.canonicalizer = Canonicalizer(book, level)
        self.fallback: RequestFingerprinterProtocol = build_from_crawler(
            load_object(settings.get(FALLBACK) or ScrapyFingerprinter), crawler
        )
        self._plain = type(self.fallback) is ScrapyFingerprinter
        self._known: WeakKeyDictionary[Request, bytes] = WeakKeyDictionary()
        # A site's pages have many links in common.
        self._canonical = lru_cache(maxsize=REMEMBERED)(self.canonicalizer)
        self._processed = self._modified = self._explored = self._skipped = 0
        self._explore = int(settings.getfloat("UNDUST_EXPLORE", 0.0) * (1 << 32))
        self._first: dict[bytes, str] | None = {} if settings.getbool("DUPEFILTER_DEBUG") else None
        used = sum(rule.status in LEVELS[level] for rule in book.rules())
        logger.info("undust: loaded %d rules of %d sites", used, len(book.sites))
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

    def _make(self, request: Request) -> bytes:
        url = request.url
        meta = request.meta
        if meta.get("undust", True) is False or meta.get("verbatim_url"):
            self._skipped += 1
            return self.fallback.fingerprint(request)
        self._processed += 1
        if not self._processed % FLUSH:
            self._count()
        canonical = self._canonical(url)
        if canonical == url:
            made = self.fallback.fingerprint(request)
        elif self._explore and zlib.crc32(url.encode("utf-8", "surrogateescape")) < self._explore:
            self._explored += 1
            made = self.fallback.fingerprint(request)
        else:
            self._modified += 1
            if self._plain:
                made = self.fallback.fingerprint(cast(Request, _Elsewhere(request, canonical)))
            else:
                made = self.fallback.fingerprint(request.replace(url=canonical))
        if self._first is not None:
            self._first.setdefault(made, url)
        return made

    def _count(self) -> None:
        """Bring the statistics up to date; each time would take as long as a rule does."""
        for name in ("processed", "url_modified", "explored", "skipped"):
            count = getattr(self, f"_{name.removeprefix('url_')}")
            if count:
                self.stats.set_value(f"undust/request/{name}", count)

    # -- what became of it ----------------------------------------------------

    def _dropped(self, request: Request, spider: Any) -> None:
        """A request was filtered out: which rules made it equal to an earlier one?"""
        if request.meta.get("undust", True) is False or request.meta.get("verbatim_url"):
            return
        steps = self.canonicalizer.explain(request.url).steps
        fired = dict.fromkeys(rule for rule, _, _ in steps if rule is not None)
        for rule in fired:
            self.stats.inc_value(f"undust/rule/{rule.id}")
        if self._first is not None:
            first = self._first.get(self.fingerprint(request), request.url)
            fired |= dict.fromkeys(r for r, _, _ in self.canonicalizer.explain(first).steps if r is not None)
            by = "; ".join(f"{rule.id} ({rule.describe()})" for rule in fired) or "no rule, they are equal"
            logger.debug("undust: %s is %s by %s", request.url, first, by, extra={"spider": spider})

    def _closed(self, spider: Any) -> None:
        self._count()
        get = self.stats.get_value
        logger.info(
            "undust: %d requests, %d of them under another URL; %d filtered in all",
            get("undust/request/processed", 0),
            get("undust/request/url_modified", 0),
            get("dupefilter/filtered", 0),
        )


class Rewriter(BaseSpiderMiddleware):
    """Requests for the canonical URL, with the one that was found in `request.meta["undust_url"]`.

    Two pages of one content need not have the same links: a print view has few. Who fetches it because it was seen
    first, and filters the page it belongs to, misses what is linked there. Off unless `UNDUST_REWRITE` is set, as
    then the site must answer under URLs that nobody linked.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        book = RuleBook.load(settings["UNDUST_RULES"])
        self.canonicalizer = Canonicalizer(book, settings.get("UNDUST_LEVEL", "probable"))

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        if (
            request.meta.get("undust", True) is False
            or request.meta.get("verbatim_url")
            or request.method != "GET"
        ):
            return request
        canonical = self.canonicalizer(request.url)
        if canonical == request.url:
            return request
        return request.replace(url=canonical, meta=request.meta | {"undust_url": request.url})


class PageWriter:
    """Writes each page that is crawled as a line of JSON for `undust learn`; a later crawl adds to the file."""

    def __init__(self, path: str, crawler: Crawler) -> None:
        self.path = path
        self._file: IO[str] | None = None
        self._waiting: list[tuple[dict[str, Any], str | None]] = []
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._downloaded, signals.response_downloaded)
        crawler.signals.connect(self._received, signals.response_received)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PageWriter:
        path = crawler.settings.get("UNDUST_PAGES")
        if not path:
            raise NotConfigured("UNDUST_PAGES is not set")
        return cls(path, crawler)

    def _opened(self) -> None:
        self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 (closed with the spider)

    def _downloaded(self, response: Response, request: Request) -> None:
        # Redirects are seen here only: the middleware makes new requests of them.
        where = response.headers.get("Location")
        if 300 <= response.status < 400 and where:
            location = response.urljoin(where.decode("utf-8", "replace"))
            self._put({"url": request.url, "status": response.status, "location": location}, None)

    def _received(self, response: Response, request: Request) -> None:
        if request.method != "GET" or "cached" in response.flags:
            return
        kind = (response.headers.get("Content-Type") or b"").decode("latin-1")
        record: dict[str, Any] = {
            "url": response.url,
            "status": response.status,
            "size": len(response.body),
            "content_type": kind,
        }
        text = None
        if 200 <= response.status < 300:
            record["digest"] = hashlib.sha1(response.body).hexdigest()
            text, canonical = _text(response, kind)
            if canonical:
                record["canonical"] = canonical
        self._put(record, text)

    def _put(self, record: dict[str, Any], text: str | None) -> None:
        self._waiting.append((record, text))
        if len(self._waiting) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        texts = [text for _, text in self._waiting if text is not None]
        sketches = iter(sketcher(texts) if texts else ())
        assert self._file is not None
        for record, text in self._waiting:
            if text is not None and (sketch := next(sketches)):
                record |= {"sketch": [f"{n:016x}" for n in sketch], "sketch_kind": sketch_kind()}
            self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        self._waiting.clear()

    def _closed(self) -> None:
        self._flush()
        if self._file is not None:
            self._file.close()


def _text(response: Response, kind: str) -> tuple[str | None, str | None]:
    """Visible text and canonical address; neither where the extractor is not installed."""
    try:
        from undust.crawl.text import page_text
    except ImportError:
        return None, None
    found = page_text(response.body, response.url, kind.partition(";")[0].strip() or None)
    return found.text, found.canonical
