"""Pages from the web: one polite, guarded request at a time per host. Needs the extra `undust[validate]`."""

from __future__ import annotations

import asyncio
import hashlib
import re
import urllib.request
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import quote, urljoin

import httpcore
import httpx

from undust import __version__
from undust.crawl.text import page_text
from undust.errors import UsageError
from undust.url import parse, split_authority, unparse
from undust.validation.address import Forbidden, GuardedNetwork
from undust.validation.answer import Answer, kind_of
from undust.validation.politeness import MAX_PAUSE, AskedToLeave, Robots, Turnstile, retry_after

MAX_BYTES = 8 << 20
"""A page may be as large as this, unpacked."""
ROBOTS_BYTES = 500 << 10
"""As much of a robots.txt is read (RFC 9309)."""
MAX_REDIRECTS = 5
UNREACHABLE = 503
FAILURES_IN_A_ROW = 8
"""A host that fails so often in a row is left alone."""

_CHARSET = re.compile(r"charset\s*=\s*\"?([^\s\";]+)", re.I)
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class TooLarge(Exception):
    """A body beyond the cap, as sent or unpacked."""


class Truncated(Exception):
    """A body that ends before it should."""


class RobotsMemory(Protocol):
    """Keeps robots.txt files from one run to the next."""

    def robots(self, origin: str) -> tuple[int, bytes] | None: ...

    def keep_robots(self, origin: str, status: int, body: bytes) -> None: ...


class GuardedTransport(httpx.AsyncBaseTransport):
    """httpx over a pool whose connections go to permitted addresses only, and that leaves targets as they are.

    httpx tidies a URL before it asks for it; then `//` and `/./` could not be asked for.
    """

    def __init__(self, network: GuardedNetwork, proxy: str | None = None) -> None:
        self.network, self.proxied = network, proxy is not None
        context = httpx.create_ssl_context()
        self._pool: httpcore.AsyncConnectionPool
        if proxy is None:
            self._pool = httpcore.AsyncConnectionPool(
                ssl_context=context, max_connections=100, keepalive_expiry=15.0, network_backend=network
            )
        else:
            # The proxy itself may be anywhere: the user has chosen it.
            at = httpx.URL(proxy)
            self._pool = httpcore.AsyncHTTPProxy(
                proxy_url=str(at.copy_with(username=None, password=None)),
                proxy_auth=(at.username, at.password) if at.username else None,
                ssl_context=context,
            )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if self.proxied:
            # The proxy dials. What resolves here is checked here; other names are its own business.
            with suppress(httpcore.ConnectError):
                await self.network.addresses(url.host, url.port or (443 if url.scheme == "https" else 80))
        asked = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=url.raw_scheme,
                host=url.raw_host,
                port=url.port,
                target=request.extensions.get("as_it_is", url.raw_path),
            ),
            headers=request.headers.raw,
            extensions=request.extensions,
        )
        reply = await self._pool.handle_async_request(asked)
        # httpx would work out where a redirect leads, and fails on what is no URL; we look at it ourselves.
        headers = [(name, value) for name, value in reply.headers if name.lower() != b"location"]
        led = [(name, value) for name, value in reply.headers if name.lower() == b"location"]
        return httpx.Response(
            reply.status, headers=headers, stream=_Body(reply), extensions={"location": led[:1]}
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, reply: httpcore.Response) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._reply.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._reply.aclose()


class LiveFetcher:
    """Fetches URLs as a guest should.

    Parameters
    ----------
    delay: seconds between the starts of two requests to a host; a longer one of its robots.txt counts
    concurrency: requests to a host at once
    obey_robots: honour robots.txt
    allow_private: talk to private, loopback and link-local addresses too
    resolve: addresses of names that DNS does not have, see `parse_resolve`
    contact: an address or page that hosts can turn to; part of the user agent
    timeout: seconds without a byte; a whole request may take three times as long
    max_bytes: cap on a page, unpacked
    retries: how often a failed request is tried again; `backoff` seconds later, then twice as much
    max_pause: a host that asks for a longer pause is left alone
    memory: what is known of robots.txt files from an earlier run
    """

    def __init__(
        self,
        *,
        delay: float = 1.0,
        concurrency: int = 1,
        obey_robots: bool = True,
        allow_private: bool = False,
        resolve: Mapping[tuple[str, int], tuple[str, int]] | None = None,
        contact: str | None = None,
        timeout: float = 20.0,
        max_bytes: int = MAX_BYTES,
        retries: int = 2,
        backoff: float = 2.0,
        max_pause: float = MAX_PAUSE,
        memory: RobotsMemory | None = None,
    ) -> None:
        self.obey_robots, self.timeout, self.max_bytes = obey_robots, timeout, max_bytes
        self.retries, self.backoff = retries, backoff
        if contact and not (contact.isascii() and contact.isprintable()):
            raise UsageError(f"--contact {contact!r}: a header holds printable ASCII only")
        self.agent = f"undust/{__version__}" + (f" (+{contact})" if contact else "")
        self.stile = Turnstile(delay, concurrency, max_pause=max_pause)
        proxies = urllib.request.getproxies()
        self.network = GuardedNetwork(allow_private, resolve)
        self.client = httpx.AsyncClient(
            transport=GuardedTransport(self.network),
            mounts=self._mounts(proxies),
            timeout=httpx.Timeout(timeout, pool=None),
            headers={
                "User-Agent": self.agent,
                "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
                "Accept-Encoding": "gzip, deflate",
            },
        )
        self.memory = memory
        self.robots: dict[str, Robots] = {}
        self.requests = 0
        self._asking: dict[str, asyncio.Lock] = {}
        self._failures: dict[str, int] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()

    async def fetch(self, url: str) -> Answer:
        """One URL, redirects not followed. AskedToLeave where its host wants no more requests."""
        origin, host, target = split_origin(url)
        if not origin:
            return Answer("refused", why="only http and https are fetched")
        if self.obey_robots:
            robots = await self._robots_of(origin, host)
            if not robots.allows(origin + target):
                return Answer("refused", why=robots.why)
        return self._read(url, *await self._patiently(origin, host, target, self.max_bytes))

    async def _patiently(
        self, origin: str, host: str, target: str, most: int, cut: bool = False
    ) -> tuple[Answer, httpx.Headers, bytes]:
        """A request, tried again when the host is busy or the line breaks."""
        for attempt in range(self.retries + 1):
            async with self.stile.turn(host) as place:
                answer, headers, body = await self._once(origin, target, most, cut)
                if answer.kind != "failed":
                    self._failures[host] = 0
                    break
                self._failures[host] = self._failures.get(host, 0) + 1
                if self._failures[host] >= FAILURES_IN_A_ROW:
                    place.closed = f"{FAILURES_IN_A_ROW} requests in a row failed, the last: {answer.why}"
                    raise AskedToLeave(place.closed)
                if answer.why.startswith("larger"):
                    break
                wanted = retry_after(headers.get("retry-after"))
                self.stile.pause(host, self.backoff * 2**attempt if wanted is None else wanted)
        return answer, headers, body

    async def _once(
        self, origin: str, target: str, most: int, cut: bool = False
    ) -> tuple[Answer, httpx.Headers, bytes]:
        self.requests += 1
        headers, nothing = httpx.Headers(), b""
        try:
            async with asyncio.timeout(3 * self.timeout):
                request = self.client.build_request(
                    "GET", origin + "/", extensions={"as_it_is": target.encode("ascii")}
                )
                reply = await self.client.send(request, stream=True)
                headers = httpx.Headers([*reply.headers.raw, *reply.extensions["location"]])
                try:
                    kind = kind_of(reply.status_code)
                    # What an error page says is of no use, and it need not be waited for.
                    body = await unpacked(reply, most, cut) if kind == "page" else nothing
                finally:
                    await reply.aclose()
        except Forbidden as error:
            return Answer("refused", why=str(error)), headers, nothing
        except TooLarge:
            return Answer("failed", reply.status_code, why=f"larger than {most:,} bytes"), headers, nothing
        except (TimeoutError, httpcore.TimeoutException):
            return Answer("failed", why="timed out"), headers, nothing
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, Truncated) as error:
            why = str(error) or type(error).__name__
            return Answer("failed", why=why.lower().rstrip(".")), headers, nothing
        except (httpx.InvalidURL, httpx.HTTPError, ValueError) as error:
            return Answer("refused", why=f"cannot be asked for: {error}"), headers, nothing
        why = "" if kind in ("page", "redirect") else f"status {reply.status_code}"
        return Answer(kind, reply.status_code, why=why), headers, body

    def _read(self, url: str, answer: Answer, headers: httpx.Headers, body: bytes) -> Answer:
        """What is kept of an answer."""
        if answer.kind == "redirect":
            try:
                to = urljoin(url, headers.get("location", "")).partition("#")[0]
            except ValueError:
                to = ""
            if not split_origin(to)[0] or "location" not in headers:
                return Answer("gone", answer.status, why="a redirect to nowhere")
            return Answer("redirect", answer.status, location=to)
        if answer.kind != "page":
            return answer
        kind = headers.get("content-type")
        charset = _CHARSET.search(kind or "")
        text = page_text(body, url, kind, charset[1] if charset else None).text
        return Answer("page", answer.status, digest=hashlib.sha256(body).hexdigest()[:32], text=text)

    async def _robots_of(self, origin: str, host: str) -> Robots:
        async with self._asking.setdefault(origin, asyncio.Lock()):
            if origin not in self.robots:
                known = self.memory.robots(origin) if self.memory is not None else None
                status, body, why = (*known, "") if known else await self._ask_robots(origin, host)
                if self.memory is not None and not known and status != UNREACHABLE:
                    self.memory.keep_robots(origin, status, body)
                self.robots[origin] = Robots(status, body, self.agent, why)
                self.stile.slower(host, self.robots[origin].delay)
            return self.robots[origin]

    async def _ask_robots(self, origin: str, host: str) -> tuple[int, bytes, str]:
        target = "/robots.txt"
        for _ in range(MAX_REDIRECTS + 1):
            # What stands beyond the cap is not read, and what stands before it counts (RFC 9309, 2.5).
            answer, headers, body = await self._patiently(origin, host, target, ROBOTS_BYTES, cut=True)
            if answer.kind != "redirect":
                found = answer.kind in ("page", "gone")
                return answer.status if found else UNREACHABLE, body, "" if found else answer.why
            origin_, host, target = split_origin(urljoin(origin + target, headers.get("location", "")))
            if not origin_:
                return 404, b"", ""
            origin = origin_
        return 404, b"", ""

    def _mounts(self, proxies: Mapping[str, str]) -> dict[str, httpx.AsyncBaseTransport | None]:
        """Proxies of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), as httpx wants them."""
        found: dict[str, httpx.AsyncBaseTransport | None] = {}
        for scheme, proxy in proxies.items():
            if scheme in ("http", "https", "all"):
                address = proxy if "://" in proxy else f"http://{proxy}"
                found[f"{scheme}://"] = GuardedTransport(self.network, address)
        for name in proxies.get("no", "").split(","):
            bare = name.strip().lstrip(".")
            if bare == "*":
                return {}
            if bare:
                found[f"all://*{bare}" if not bare[0].isdigit() else f"all://{bare}"] = None
        return found


def split_origin(url: str) -> tuple[str, str, str]:
    """Origin, host with port, and request target: as it is, only what no target may hold is escaped.

    Empty strings for what is not http(s). A name and password in the URL are not sent.

    >>> split_origin("http://User:pw@A.test:81//x/./y?q=\u00e4 b#f")
    ('http://a.test:81', 'a.test:81', '//x/./y?q=%C3%A4%20b')
    >>> split_origin("ftp://a.test/")
    ('', '', '')
    """
    parts = parse(url)
    scheme = (parts.scheme or "").lower()
    if scheme not in ("http", "https") or not parts.authority:
        return "", "", ""
    _, name, port = split_authority(parts.authority)
    default = "443" if scheme == "https" else "80"
    host = name.lower() + (f":{port}" if port and port != default else "")
    target = unparse(parts._replace(scheme=None, authority=None, fragment=None))
    target = quote(target.encode("utf-8", "surrogateescape"), safe=_PRINTABLE)
    return f"{scheme}://{host}", host, target if target.startswith("/") else "/" + target


async def unpacked(reply: httpx.Response, most: int, cut: bool = False) -> bytes:
    """The body, unpacked piece by piece: a bomb is noticed when it passes the cap, not when it has gone off.

    With `cut` the beginning of a longer body is taken; else it is `TooLarge`.
    """
    coding = reply.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise Truncated(f"an encoding that was not asked for: {coding}")
    out, size, packed = [], 0, 0
    unpack = Unpacker(coding) if coding not in ("", "identity") else None
    async for part in reply.aiter_raw():
        packed += len(part)
        if unpack is not None:
            part = unpack(part, most - size + 1)
        size += len(part)
        out.append(part)
        if size > most or packed > most:
            if cut:
                return b"".join(out)[:most]
            raise TooLarge
    if unpack is not None and packed and not unpack.done:
        raise Truncated("a packed body that ends too early")
    return b"".join(out)


class Unpacker:
    """gzip (one member after another, as it may come) and deflate (some servers send it without its header)."""

    def __init__(self, coding: str) -> None:
        self._raw_allowed = coding == "deflate"
        self._stream = zlib.decompressobj(47)
        self._began = False

    @property
    def done(self) -> bool:
        return self._stream.eof

    def __call__(self, part: bytes, most: int) -> bytes:
        out = b""
        while part and len(out) < most:
            if self._stream.eof:
                if not part.strip(b"\0"):
                    break  # padding
                self._stream = zlib.decompressobj(47)
            try:
                out += self._stream.decompress(part, most - len(out))
            except zlib.error:
                if not self._raw_allowed or self._began:
                    raise Truncated("a body that cannot be unpacked") from None
                self._stream = zlib.decompressobj(-15)
                self._began = True
                continue
            self._began = True
            part = self._stream.unused_data
        return out
