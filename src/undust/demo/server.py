"""The demo site on a real socket: an ASGI application under uvicorn, on loopback only."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from undust.demo.site import HOST, HOSTS, DemoSite

Message = MutableMapping[str, Any]

_ABSOLUTE = re.compile(r"(?i)^http://[^/?]*")


def asgi(site: DemoSite) -> Callable[..., Awaitable[None]]:
    """The site as an ASGI application. The request target is taken as it came, byte for byte."""

    async def app(
        scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").partition(":")[0].lower()
        query = scope["query_string"].decode("latin-1")
        target = scope["raw_path"].decode("latin-1").partition("?")[0] + (f"?{query}" if query else "")
        # Asked as a proxy it gets the whole URL (RFC 9112, 3.2.2): so its names are reached without any DNS.
        target = _ABSOLUTE.sub("", target)
        target = target if target.startswith("/") else f"/{target}"
        # A browser pointed at 127.0.0.1 sees the site too.
        reply = site.fetch(f"http://{host if host in HOSTS else HOST}{target}")
        sent = [
            (b"content-type", reply.content_type.encode()),
            (b"content-length", str(len(reply.body)).encode()),
        ]
        if reply.location:
            sent.append((b"location", reply.location.encode()))
        await send({"type": "http.response.start", "status": reply.status, "headers": sent})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})

    return app


@contextmanager
def serve(site: DemoSite, port: int = 0) -> Iterator[int]:
    """Serve on 127.0.0.1 while the block runs; gives the port (a free one unless told)."""
    import uvicorn

    # With the protocol named, asyncio turns Nagle's algorithm off; else each page waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    settings = uvicorn.Config(
        asgi(site), log_level="error", access_log=False, lifespan="off", server_header=False
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()
