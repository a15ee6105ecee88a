"""The address guard, where the connection is made: names, literals, redirects, second thoughts of DNS."""

from __future__ import annotations

import asyncio

import httpcore
import pytest

from undust.errors import UsageError
from undust.validation import LiveFetcher
from undust.validation import address as address_module
from undust.validation.address import Forbidden, GuardedNetwork, is_public, parse_resolve
from undust.validation.answer import Answer

from .trouble import served


def fetch(url: str, **manners) -> Answer:
    async def go() -> Answer:
        async with LiveFetcher(delay=0, retries=0, timeout=2, **manners) as fetcher:
            return await fetcher.fetch(url)

    return asyncio.run(go())


async def hello(scope, receive, send) -> None:
    path = scope["path"]
    if path == "/robots.txt":
        status, headers = 404, []
    elif path == "/away":
        status, headers = 302, [(b"location", b"http://10.0.0.7/secret")]
    else:
        status, headers = 200, [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello from inside"})


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.9.9",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        *("::", "::1", "fe80::1", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"),
        *("2002:a00:1::", "2001:db8::1", "not an address"),
        *(
            "192.0.0.8",
            "192.88.99.1",
            "240.0.0.1",
            "198.18.0.1",
            "fec0::1",
            "3fff::1",
            "64:ff9b:1::a00:1",
            "::127.0.0.1",
        ),
    ],
)
def test_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_public_addresses_are() -> None:
    assert is_public("93.184.216.34") and is_public("2606:2800:220:1::1")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://2130706433:{port}/",
        "http://0x7f.1:{port}/",
        "http://127.1:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://user@127.0.0.1:{port}/",
    ],
)
def test_literals_and_local_names_are_refused_however_they_are_written(url: str) -> None:
    asked = []

    async def app(scope, receive, send) -> None:
        asked.append(scope["path"])
        await hello(scope, receive, send)

    with served(app) as port:
        answer = fetch(url.format(port=port))
    # Not even robots.txt was asked for.
    assert not asked
    assert answer.kind == "refused"


def test_a_name_that_resolves_to_a_private_address_is_refused_unless_allowed() -> None:
    with served(hello) as port:
        resolve = parse_resolve([f"inner.example.com:80:127.0.0.1:{port}"])
        refused = fetch("http://inner.example.com/", resolve=resolve)
        allowed = fetch("http://inner.example.com/", resolve=resolve, allow_private=True)
    assert refused.kind == "refused" and "127.0.0.1" in refused.why
    assert allowed.text == "hello from inside"


def test_names_are_checked_by_what_dns_says(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return {"one.test": ["93.184.216.34", "10.0.0.1"], "six.test": ["::1"]}[host]

    monkeypatch.setattr(address_module, "lookup", lookup)
    for name in ("one.test", "six.test"):
        with pytest.raises(Forbidden):
            asyncio.run(GuardedNetwork().addresses(name, 80))


def test_what_was_checked_is_what_is_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is public when checked and private a moment later gets one look-up, and one only."""
    answers = [["93.184.216.34"], ["127.0.0.1"]]
    dialled = []

    async def lookup(host: str, port: int) -> list[str]:
        return answers.pop(0)

    async def connect(self, host: str, *rest) -> None:
        dialled.append(host)
        raise httpcore.ConnectError("no")

    monkeypatch.setattr(address_module, "lookup", lookup)
    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect)
    with pytest.raises(httpcore.ConnectError):
        asyncio.run(GuardedNetwork().connect_tcp("rebinding.test", 80))
    assert dialled == ["93.184.216.34"]


def test_a_redirect_to_a_private_address_is_refused_when_followed() -> None:
    """The demo server itself is let in by name; what it redirects to is not."""

    class OnlyHere(GuardedNetwork):
        async def addresses(self, host: str, port: int) -> list[tuple[str, int]]:
            known = self.resolve.get((host, port))
            return [known] if known else await super().addresses(host, port)

    async def go(port: int) -> list[Answer]:
        async with LiveFetcher(delay=0, retries=0, timeout=2) as fetcher:
            fetcher.client._transport._pool._network_backend = OnlyHere(
                resolve={("a.example.com", 80): ("127.0.0.1", port)}
            )
            first = await fetcher.fetch("http://a.example.com/away")
            return [first, await fetcher.fetch(first.location)]

    with served(hello) as port:
        first, second = asyncio.run(go(port))
    assert first.kind == "redirect" and first.location == "http://10.0.0.7/secret"
    assert second.kind == "refused" and "10.0.0.7" in second.why


@pytest.mark.parametrize(
    "url", ["ftp://a.test/", "file:///etc/passwd", "gopher://a.test/", "javascript:1", "//a.test/"]
)
def test_only_http_is_fetched(url: str) -> None:
    assert fetch(url) == Answer("refused", why="only http and https are fetched")


@pytest.mark.parametrize("entry", ["a.test", "a.test:80", "a.test:x:1.2.3.4", "a.test:80:nowhere"])
def test_a_wrong_resolve_says_what_is_right(entry: str) -> None:
    with pytest.raises(UsageError, match="host:port:address"):
        parse_resolve([entry])


def test_behind_a_proxy_what_resolves_here_is_still_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy may be anywhere, it was chosen by the user; what it is asked for may not."""
    asked = []

    async def proxy(scope, receive, send) -> None:
        asked.append(scope.get("raw_path", b"").decode() or scope["path"])
        await hello({**scope, "path": "/x"}, receive, send)

    with served(proxy) as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "")
        through = fetch("http://only.known.to.the.proxy.test/x", obey_robots=False)
        private = fetch("http://127.0.0.1:9/x", obey_robots=False)
    assert through.text == "hello from inside" and len(asked) == 1
    assert private.kind == "refused"
