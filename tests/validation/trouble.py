"""The demo site on loopback with troubles of the real web: what a fetcher must bear without a wrong verdict."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread

import uvicorn

from undust.demo import DemoSite
from undust.demo.server import asgi

TROUBLES = ("slow", "busy", "busy once", "truncated", "loop", "bomb", "changing", "broken gzip")


def dice(url: str, sides: int) -> int:
    return zlib.crc32(url.encode()) % sides


@dataclass
class Troubled:
    """An ASGI application in front of the demo site. `share` of the URLs are in trouble, always the same ones."""

    site: DemoSite
    share: float = 0.0
    robots: str = ""
    slow: float = 3.0
    asked: Counter[str] = field(default_factory=Counter)
    targets: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    hook: Callable[[str], object] = lambda url: None
    """Called before each answer. What it has an eye on (something true) is not counted as a visit."""
    visits: Counter[str] = field(default_factory=Counter)

    def trouble(self, url: str) -> str:
        if "robots.txt" in url or dice(url, 1000) >= 1000 * self.share:
            return ""
        return TROUBLES[dice("which " + url, len(TROUBLES))]

    async def __call__(self, scope, receive, send) -> None:
        host = dict(scope["headers"]).get(b"host", b"").decode()
        query = scope["query_string"].decode("latin-1")
        url = f"http://{host}{scope['raw_path'].decode('latin-1').partition('?')[0]}" + (
            f"?{query}" if query else ""
        )
        self.asked[url] += 1
        self.targets.append(url)
        self.visits[url] += not self.hook(url)
        # One that is slow does not notice when it is left.
        late = self.trouble(url) == "slow" and self.slow > 1
        self.at_once += not late
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            await self.answer(url, scope, receive, send)
        finally:
            self.at_once -= not late

    async def answer(self, url, scope, receive, send) -> None:
        async def reply(status: int, body: bytes = b"", **headers: str) -> None:
            sent = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
            await send({"type": "http.response.start", "status": status, "headers": sent})
            await send({"type": "http.response.body", "body": body})

        if url.endswith("/robots.txt"):
            return await reply(200 if self.robots else 404, self.robots.encode(), content_type="text/plain")
        match self.trouble(url):
            case "slow":
                await asyncio.sleep(self.slow)
            case "busy":
                return await reply(503, b"busy", retry_after="0")
            case "busy once" if self.asked[url] == 1:
                return await reply(503, b"busy", retry_after="0")
            case "truncated":
                return await reply(200, b"half a pa", content_length="9000", content_type="text/html")
            case "loop":
                return await reply(302, location=url)
            case "bomb":
                packed = zlib.compressobj(9, zlib.DEFLATED, 31)
                body = b"".join(packed.compress(bytes(1 << 20)) for _ in range(40)) + packed.flush()
                return await reply(200, body, content_encoding="gzip", content_type="text/html")
            case "broken gzip":
                body = gzip.compress(b"words " * 4000)[:-9]
                return await reply(200, body, content_encoding="gzip", content_type="text/html")
            case "changing":
                words = " ".join(f"{self.visits[url]}x{i}" for i in range(200))
                return await reply(200, words.encode(), content_type="text/html")
        # Clock and advertisements of a page depend on the visit alone, not on what else was asked for.
        self.site._ticks = itertools.count(dice(url, 10_000) + 100 * self.visits[url])
        await asgi(self.site)(scope, receive, send)


@contextmanager
def served(app: Callable) -> Iterator[int]:
    """Any ASGI application on 127.0.0.1 while the block runs; gives the port."""
    import socket
    import time

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()


def at(port: int) -> dict[tuple[str, int], tuple[str, int]]:
    """The hosts of the demo site, which DNS does not know."""
    return {(host, 80): ("127.0.0.1", port) for host in ("demo.undust.test", "www.demo.undust.test")}
