"""The extension that writes down the pages of a crawl."""

from __future__ import annotations

import hashlib
import json
from typing import IO, Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from undust.likeness import sketch_kind, sketcher

BATCH = 64
"""Pages whose texts are sketched at once."""


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
        if request.method == "GET" and 300 <= response.status < 400 and where:
            location = response.urljoin(where.decode("utf-8", "replace"))
            self._put({"url": request.url, "status": response.status, "location": location}, None)

    def _received(self, response: Response, request: Request) -> None:
        if request.method != "GET" or "cached" in response.flags:
            return
        if 300 <= response.status < 400 and response.headers.get("Location"):
            return  # written when it was downloaded
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
        waiting, self._waiting = self._waiting, []
        for record, text in waiting:
            if text is not None and (sketch := next(sketches)):
                record |= {"sketch": [f"{n:016x}" for n in sketch], "sketch_kind": sketch_kind()}
            self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        self._written([record for record, _ in waiting])

    def _written(self, records: list[dict[str, Any]]) -> None:
        """These pages are in the file now."""

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
