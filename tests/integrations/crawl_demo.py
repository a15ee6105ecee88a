"""A Scrapy crawl of the demo site, in a process of its own: a reactor can run once only.

Called with the port on loopback and settings as JSON; prints what was fetched and Scrapy's statistics.
"""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import scrapy
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response

from undust.demo import HOST, HOSTS, over_loopback
from undust.demo.prose import paragraph

PORT = 0


class Loopback(BaseDownloadHandler):
    """Fetches from the server on 127.0.0.1, whatever host the URL names: no DNS needed, no request leaves."""

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        self.stack = ExitStack()
        self.get = self.stack.enter_context(over_loopback(PORT))

    async def download_request(self, request: scrapy.Request) -> Response:
        reply = self.get(request.url)
        headers = {"Content-Type": reply.content_type} | (
            {"Location": reply.location} if reply.location else {}
        )
        return HtmlResponse(request.url, reply.status, headers, reply.body, encoding="utf-8")

    async def close(self) -> None:
        self.stack.close()


class MadeUp(BaseDownloadHandler):
    """A site in this process: a text for each path and query, or None where there is nothing."""

    async def download_request(self, request: scrapy.Request) -> Response:
        parts = urlsplit(request.url)
        text = self.text(parts.path, dict(parse_qsl(parts.query)))
        kind = {"Content-Type": "text/html"}
        return HtmlResponse(request.url, 404 if text is None else 200, kind, (text or "").encode())

    def text(self, path: str, query: dict[str, str]) -> str | None:
        raise NotImplementedError

    async def close(self) -> None:
        pass


def linked(links: list[str]) -> str:
    return " ".join(f'<a href="{html.escape(link)}">{n}</a>' for n, link in enumerate(links))


class Turncoat(MadeUp):
    """One rule (`v` does not matter) holds for half of the pages, and some URLs are dead with one of its values."""

    def text(self, path: str, query: dict[str, str]) -> str | None:
        if path == "/":
            links = [f"/p?id={n}&v={v}" for v in "ab" for n in range(TURNCOATS)]
            return linked([*links, *(f"/dead?id={n}&v={v}" for v in "ab" for n in range(10))])
        if path == "/dead":
            return paragraph(f"dead {query['id']}", 60) if query["v"] == "b" else None
        return paragraph(f"{query['id']} {query['v'] * (int(query['id']) >= TURNCOATS // 2)}", 60)


class Sessions(MadeUp):
    """Each page is linked with three session ids; the links of a page are found on its two elders."""

    def text(self, path: str, query: dict[str, str]) -> str | None:
        number = int(query.get("id", 0))
        children = [n for n in (2 * number + 1, 2 * number + 2) if n < SESSIONS]
        links = [f"/page?id={n}&sid={sid * (n % 7 + 3)}" for sid in "abc" for n in children]
        return paragraph(f"session {number}", 60) + linked(links)


SITES = {0: Turncoat, -1: Sessions}
SESSIONS = 200
TURNCOATS = 120


class DemoSpider(scrapy.Spider):
    name = "demo"
    start_urls = (f"http://{HOST}/",)
    fetched: list[str] = []  # noqa: RUF012

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        self.fetched.append(response.url)
        for href in response.css("a::attr(href)").getall():
            url = response.urljoin(href)
            if urlsplit(url).hostname in HOSTS:
                yield scrapy.Request(url)


def main(port: int, settings: dict[str, Any]) -> None:
    global PORT
    PORT = port
    process = CrawlerProcess(
        {
            "ADDONS": {"undust.integrations.scrapy.Addon": 610},
            "DOWNLOAD_HANDLERS": {"http": SITES.get(port, Loopback)},
            "TELNETCONSOLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "DOWNLOAD_DELAY": 0,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "LOG_LEVEL": "WARNING",
            "LOG_STDOUT": False,
        }
        | settings
    )
    crawler = process.create_crawler(DemoSpider)
    process.crawl(crawler)
    process.start()
    stats = {k: v for k, v in crawler.stats.get_stats().items() if isinstance(v, int | float | str)}
    json.dump({"fetched": DemoSpider.fetched, "stats": stats}, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
