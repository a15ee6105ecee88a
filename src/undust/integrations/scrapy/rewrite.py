"""The spider middleware that asks for canonical URLs."""

from __future__ import annotations

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from undust.integrations.scrapy.in_use import in_use, left_alone


class Rewriter(BaseSpiderMiddleware):
    """Requests for the canonical URL, with the one that was found in `request.meta["undust_url"]`.

    Two pages of one content need not have the same links: a print view has few. Who fetches it because it was seen
    first, and filters the page it belongs to, misses what is linked there. Off unless `UNDUST_REWRITE` is set, as
    then the site must answer under URLs that nobody linked; where it does not (status 400 and above), the URL that was
    found is asked for after all.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.rules = in_use(crawler)
        crawler.signals.connect(self._received, signals.response_received)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        if left_alone(request) or request.method != "GET":
            return request
        canonical = self.rules.canonical(request.url)
        if canonical == request.url:
            return request
        return request.replace(url=canonical, meta=request.meta | {"undust_url": request.url})

    def _received(self, response: Response, request: Request) -> None:
        found = request.meta.get("undust_url")
        if response.status < 400 or found is None or found == request.url:
            return
        meta = {key: value for key, value in request.meta.items() if key != "undust_url"}
        assert self.crawler.engine is not None and self.crawler.stats is not None
        self.crawler.stats.inc_value("undust/rewrite/failed")
        # Its fingerprint by the rules is that of the page that is not there.
        self.crawler.engine.crawl(request.replace(url=found, meta=meta | {"undust": False}))
