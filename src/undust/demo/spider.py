"""A small crawler for the demo site: breadth first, one request at a time, every byte of a link kept."""

from __future__ import annotations

import hashlib
import html
import http.client
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit

from undust.demo.site import HOST, HOSTS, START, Reply

Get = Callable[[str], Reply]

_LINK = re.compile(rb'<a href="([^"]*)"')
_CANONICAL = re.compile(rb'<link rel="canonical" href="([^"]*)"')
_INVISIBLE = re.compile(r"<head.*?</head>|<title>.*?</title>|<[^>]*>", re.DOTALL)


@dataclass(frozen=True)
class Fetched:
    """One page as the crawler saw it."""

    url: str
    reply: Reply
    when: datetime

    def record(self) -> dict[str, Any]:
        """The page as a line of `pages.jsonl`."""
        found = {
            "url": self.url,
            "status": self.reply.status,
            "size": len(self.reply.body),
            "content_type": self.reply.content_type,
            "fetched_at": self.when.isoformat(),
        }
        if self.reply.location:
            return found | {"location": self.reply.location}
        canonical = _CANONICAL.search(self.reply.body)
        if canonical:
            found["canonical"] = html.unescape(canonical[1].decode())
        return found | {"digest": hashlib.sha1(self.reply.body).hexdigest(), "text": visible(self.reply.body)}


def visible(body: bytes) -> str:
    """The text of a page of the demo site.

    >>> visible(b"<!doctype html><title>Story</title><p>Once &amp; again.</p>")
    'Once & again.'
    """
    return " ".join(html.unescape(_INVISIBLE.sub(" ", body.decode("utf-8", "replace"))).split())


def crawl(get: Get, limit: int | None = None, start: str = f"http://{HOST}/") -> Iterator[Fetched]:
    """Follow all links of the site from its home page.

    >>> from undust.demo.site import DemoSite
    >>> pages = list(crawl(DemoSite(size=0.05).fetch, limit=20))
    >>> pages[0].url, len(pages)
    ('http://demo.undust.test/', 20)
    """
    queue, seen = deque([start]), {start}
    fetched = 0
    while queue and (limit is None or fetched < limit):
        url = queue.popleft()
        reply = get(url)
        yield Fetched(url, reply, START + timedelta(seconds=fetched))
        fetched += 1
        found = [html.unescape(link.decode()) for link in _LINK.findall(reply.body)]
        for link in [reply.location] if reply.location else found:
            absolute = urljoin(url, link).partition("#")[0]
            if absolute not in seen and urlsplit(absolute).hostname in HOSTS:
                seen.add(absolute)
                queue.append(absolute)


@contextmanager
def over_loopback(port: int) -> Iterator[Get]:
    """Fetch from the server on 127.0.0.1, whatever host the URL names: no DNS needed.

    The standard library's client sends the request target as it is; others normalise it first, and then `//`
    and `/./` could not be asked for.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def get(url: str) -> Reply:
        parts = urlsplit(url)
        target = url.partition(parts.netloc)[2] or "/"
        connection.putrequest("GET", target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", parts.netloc)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read()
        return Reply(
            response.status,
            body,
            response.getheader("Location") or "",
            response.getheader("Content-Type") or "",
        )

    try:
        yield get
    finally:
        connection.close()
