"""The fetcher: caps, retries, pauses, robots.txt, and a target that is asked for as it is."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Callable

import pytest

from undust.demo import DemoSite
from undust.validation import LiveFetcher
from undust.validation.answer import Answer
from undust.validation.politeness import AskedToLeave

from .trouble import Troubled, at, served


class Always(Troubled):
    """All pages in the same trouble."""

    def __init__(self, what: str, **more) -> None:
        super().__init__(DemoSite(size=0.03), **more)
        self.what = what

    def trouble(self, url: str) -> str:
        return "" if "robots" in url else self.what


def fetch(app: Callable, *urls: str, **manners) -> list[Answer]:
    async def go(port: int) -> list[Answer]:
        how = {
            "delay": 0,
            "backoff": 0.01,
            "timeout": 2,
            "allow_private": True,
            "resolve": at(port),
        } | manners
        async with LiveFetcher(**how) as fetcher:
            return list(await asyncio.gather(*map(fetcher.fetch, urls)))

    with served(app) as port:
        return asyncio.run(go(port))


HOME = "http://demo.undust.test/"


@pytest.mark.parametrize(
    "what, kind, why",
    [
        ("slow", "failed", "timed out"),
        ("busy", "failed", "status 503"),
        ("busy once", "page", ""),
        ("truncated", "failed", "peer closed"),
        ("broken gzip", "failed", "ends too early"),
        ("bomb", "failed", "larger than"),
        ("loop", "redirect", ""),
        ("changing", "page", ""),
    ],
)
def test_each_trouble_has_an_end(what: str, kind: str, why: str) -> None:
    app = Always(what, slow=0.5)
    (answer,) = fetch(app, HOME, timeout=0.1 if what == "slow" else 2)
    assert answer.kind == kind and why in answer.why
    tries = {"failed": 3, "page": 2 if what == "busy once" else 1, "redirect": 1}[kind]
    assert app.asked[HOME] == (1 if what == "bomb" else tries)


def test_a_bomb_does_not_go_off_in_memory() -> None:
    tracemalloc.start()
    try:
        (answer,) = fetch(Always("bomb"), HOME, max_bytes=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.why == "larger than 1,048,576 bytes"
    assert (
        peak < 45 << 20
    )  # the server in this process makes it; unpacked by the client there were 40 MB more


def test_the_target_is_asked_for_byte_for_byte() -> None:
    app = Troubled(DemoSite(size=0.03))
    odd = ["docs//a", "a/./b/../c", "x%2fy%2F", "q?a=b&&c=%zz;d", "?x", "caf\u00e9?\u00e4=1 2"]
    fetch(app, *(HOME + target for target in odd), obey_robots=False)
    assert {url.removeprefix(HOME) for url in app.asked} == {*odd[:-1], "caf%C3%A9?%C3%A4=1%202"}


def test_the_user_agent_names_a_contact() -> None:
    seen = []

    async def app(scope, receive, send) -> None:
        seen.append(dict(scope["headers"])[b"user-agent"].decode())
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    fetch(app, HOME, contact="https://example.org/bot")
    assert len(seen) == 2 and all(
        s.startswith("undust/") and s.endswith("(+https://example.org/bot)") for s in seen
    )


def test_robots_txt_is_read_once_and_obeyed() -> None:
    app = Troubled(DemoSite(size=0.03), robots="User-agent: *\nDisallow: /forum/\n")
    answers = fetch(app, *(f"{HOME}{p}" for p in ("forum/", "forum/viewtopic.php?t=1", "docs/", "wiki/")))
    assert [a.kind == "refused" for a in answers] == [True, True, False, False]
    assert app.asked[HOME + "robots.txt"] == 1 and not any("forum" in url for url in app.asked)
    assert not any(a.kind == "refused" for a in fetch(app, HOME + "forum/", obey_robots=False))


def test_a_robots_txt_that_cannot_be_read_forbids_all() -> None:
    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    (answer,) = fetch(app, HOME)
    assert answer == Answer("refused", why="robots.txt cannot be read: status 503")


def test_requests_to_a_host_keep_their_distance() -> None:
    app = Troubled(DemoSite(size=0.03))
    started = time.monotonic()
    fetch(app, *(f"{HOME}docs/?{i}" for i in range(4)), delay=0.1, concurrency=4)
    assert time.monotonic() - started >= 0.4  # robots.txt and four pages


def test_a_crawl_delay_counts_when_it_is_longer() -> None:
    app = Troubled(DemoSite(size=0.03), robots="User-agent: *\nCrawl-delay: 0.2\n")
    started = time.monotonic()
    fetch(app, *(f"{HOME}docs/?{i}" for i in range(3)), delay=0.0, concurrency=4)
    assert time.monotonic() - started >= 0.4


def test_no_more_than_so_many_at_once() -> None:
    for concurrency in (1, 3):
        app = Always("slow", slow=0.05)
        fetch(app, *(f"{HOME}docs/?{i}" for i in range(9)), concurrency=concurrency)
        assert app.most_at_once == concurrency


def test_retry_after_is_waited_for_and_a_long_one_ends_the_visit() -> None:
    times, after = [], "1"

    async def app(scope, receive, send) -> None:
        if scope["path"] == "/robots.txt":
            status, headers = 404, []
        else:
            times.append(time.monotonic())
            status, headers = 503, [(b"retry-after", after.encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    (answer,) = fetch(app, HOME, retries=1)
    assert answer.kind == "failed" and len(times) == 2 and times[1] - times[0] >= 0.99
    times.clear()
    after = "3600"
    with pytest.raises(AskedToLeave, match="3600"):
        fetch(app, HOME)
    assert len(times) == 1


def test_a_host_that_only_fails_is_left_alone() -> None:
    app = Always("truncated")

    async def go(port: int) -> int:
        left = 0
        async with LiveFetcher(delay=0, backoff=0.001, allow_private=True, resolve=at(port)) as fetcher:
            for i in range(20):
                try:
                    await fetcher.fetch(f"{HOME}?{i}")
                except AskedToLeave:
                    left += 1
        return left

    with served(app) as port:
        assert asyncio.run(go(port)) >= 17
    assert sum(app.asked.values()) - app.asked[HOME + "robots.txt"] == 8


def test_charsets_and_types() -> None:
    bodies = {
        "/latin": ("text/html; charset=ISO-8859-1", "<p>Füße".encode("latin-1")),
        "/meta": ("text/html", "<meta charset=windows-1252><p>„Füße“".encode("cp1252")),
        "/none": ("text/html; charset=nonsense", "<p>Füße".encode()),
        "/image": ("image/png", b"\x89PNG..."),
        "/empty": ("", b""),
    }

    async def app(scope, receive, send) -> None:
        kind, body = bodies.get(scope["path"], ("", b""))
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind.encode())]}
        )
        await send({"type": "http.response.body", "body": body})

    found = fetch(app, *(HOME[:-1] + path for path in bodies), obey_robots=False)
    assert [a.text for a in found[:4]] == ["Füße", "„Füße“", "Füße", None]
    assert found[3].digest and all(a.kind == "page" for a in found)
