"""A Scrapy crawl of the demo site, in a process of its own: a reactor can run once only.

Called with the port on loopback and settings as JSON; prints what was fetched and Scrapy's statistics.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response

from undust.demo import HOST, HOSTS, over_loopback

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
            "DOWNLOAD_HANDLERS": {"http": Loopback},
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
