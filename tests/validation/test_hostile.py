"""A server that means harm, byte for byte: what no framework would send."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest

from undust.errors import UsageError
from undust.validation import LiveFetcher
from undust.validation.answer import Answer
from undust.validation.politeness import AskedToLeave

HOST = "hostile.example"
Says = Callable[[socket.socket, str], object]


def ok(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@contextmanager
def listening(says: Says) -> Iterator[tuple[int, list[str]]]:
    """A server on 127.0.0.1 that answers each request as it is told; gives its port and the paths asked for."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    over, asked = Event(), list[str]()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(5)
            head = b""
            while b"\r\n\r\n" not in head and (part := connection.recv(65536)):
                head += part
            path = head.split(b" ")[1].decode("latin-1")
            asked.append(path)
            says(connection, path)

    def serve() -> None:
        while not over.is_set():
            with suppress(TimeoutError):
                Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], asked
    finally:
        over.set()
        thread.join(5)
        listener.close()


def fetch(says: Says, *paths: str, **manners: object) -> tuple[list[Answer], list[str]]:
    with listening(says) as (port, asked):

        async def go() -> list[Answer]:
            how = {
                "delay": 0,
                "retries": 0,
                "timeout": 0.3,
                "obey_robots": False,
                "max_bytes": 1 << 20,
            } | manners
            resolve = {(HOST, 80): ("127.0.0.1", port)}
            async with LiveFetcher(allow_private=True, resolve=resolve, **how) as fetcher:  # type: ignore[arg-type]
                return [await fetcher.fetch(f"http://{HOST}{path}") for path in paths]

        return asyncio.run(go()), asked


def drop_by_drop(connection: socket.socket, head: bytes) -> None:
    connection.sendall(head)
    for _ in range(100):
        connection.sendall(b"x")
        time.sleep(0.05)


def endless(connection: socket.socket, head: bytes, part: bytes) -> None:
    connection.sendall(head)
    while True:
        connection.sendall(part)


SAYS: dict[str, tuple[Says, str, str]] = {
    "a body byte by byte": (lambda c, p: drop_by_drop(c, b"HTTP/1.1 200 OK\r\n\r\n"), "failed", "timed out"),
    "headers byte by byte": (lambda c, p: drop_by_drop(c, b"HTTP/1.1 200 OK\r\nx: "), "failed", "timed out"),
    "an endless body": (
        lambda c, p: endless(c, b"HTTP/1.1 200 OK\r\n\r\n", b"spam " * 9999),
        "failed",
        "larger",
    ),
    "endless headers": (
        lambda c, p: endless(c, b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 999),
        "failed",
        "too long",
    ),
    "a lie about its length": (lambda c, p: c.sendall(ok(b"half")[:-2]), "failed", "closed"),
    "two lengths": (lambda c, p: c.sendall(ok(b"hello", "content-length: 7")), "failed", "content-length"),
    "no HTTP": (lambda c, p: c.sendall(b"\0\1\2 what?\r\n\r\n"), "failed", "illegal"),
    "nothing": (lambda c, p: c.close(), "failed", "disconnected"),
    "another protocol": (lambda c, p: c.sendall(b"HTTP/1.1 101 S\r\nupgrade: x\r\n\r\n"), "failed", ""),
    "gzip that is none": (
        lambda c, p: c.sendall(ok(b"plain", "content-encoding: gzip")),
        "failed",
        "unpacked",
    ),
    "an unknown encoding": (
        lambda c, p: c.sendall(ok(b"?", "content-encoding: br, gzip")),
        "failed",
        "asked for",
    ),
}


@pytest.mark.parametrize("what", SAYS)
def test_no_answer_hangs_or_ends_the_run(what: str) -> None:
    says, kind, why = SAYS[what]
    started = time.monotonic()
    (answer,), asked = fetch(says, "/a")
    assert answer.kind == kind and why in answer.why, answer
    assert time.monotonic() - started < 5 and asked == ["/a"]


def test_all_members_of_a_gzip_body_are_read() -> None:
    """Who stops after the first would find two pages equal that differ in the second."""
    both = gzip.compress(b"one two three ") + gzip.compress(b"four five") + bytes(7)
    (answer,), _ = fetch(
        lambda c, p: c.sendall(ok(both, "content-encoding: gzip", "content-type: text/plain")), "/"
    )
    assert answer.text == "one two three four five"


@pytest.mark.parametrize(
    "location",
    [
        "javascript:1",
        "https:b",
        "file:///etc/passwd",
        "ftp://a.example/",
        "http://[",
        "data:text/html,hello",
    ],
)
def test_a_redirect_to_what_is_no_web_page_is_a_dead_end_and_not_asked_again(location: str) -> None:
    """`refused` would be asked for again in the next run; this is an answer."""
    (answer,), asked = fetch(lambda c, p: c.sendall(ok(b"", f"location: {location}", status="302 F")), "/a")
    assert (answer.kind, answer.why) == ("gone", "a redirect to nowhere") and asked == ["/a"]


def test_a_strange_address_in_a_redirect_is_kept_as_it_is() -> None:
    for location in ("http://0177.0.0.1/", "http://h.example:abc/", "http://b@h.example/"):
        (answer,), _ = fetch(
            lambda c, p, to=location: c.sendall(ok(b"", f"location: {to}", status="301 M")), "/"
        )
        assert (answer.kind, answer.location) == ("redirect", location)


def robots(says: bytes | Says, *paths: str, **manners: object) -> list[str]:
    """What becomes of the paths under this robots.txt."""

    def site(connection: socket.socket, path: str) -> None:
        if path != "/robots.txt":
            connection.sendall(ok(b"a page of some words"))
        elif isinstance(says, bytes):
            connection.sendall(ok(says))
        else:
            says(connection, path)

    return [a.kind for a in fetch(site, *paths, obey_robots=True, **manners)[0]]


NO_A = b"User-agent: *\nDisallow: /a\n"


def test_a_byte_order_mark_does_not_hide_the_first_line_of_robots_txt() -> None:
    assert robots(b"\xef\xbb\xbf" + NO_A, "/a", "/b") == ["refused", "page"]


def test_of_a_long_robots_txt_the_beginning_counts() -> None:
    assert robots(NO_A + b"# more\n" * 200_000, "/a", "/b") == ["refused", "page"]
    assert robots(lambda c, p: endless(c, b"HTTP/1.1 200 OK\r\n\r\n" + NO_A, b"#\n" * 9999), "/a", "/b") == [
        "refused",
        "page",
    ]


def test_the_address_of_a_contact_is_no_product_name() -> None:
    text = b"User-agent: bot\nDisallow: /\n\nUser-agent: undust\nDisallow: /a\n"
    assert robots(text, "/a", "/b", contact="https://example.org/bot") == ["refused", "page"]


@pytest.mark.parametrize("contact", ["k\u00e4se@example.org", "a\r\nX-Other: 1", "a\0b"])
def test_a_contact_that_no_header_can_hold_is_a_usage_error(contact: str) -> None:
    with pytest.raises(UsageError, match="--contact"):
        LiveFetcher(contact=contact)


@pytest.mark.parametrize("delay", [b"nan", b"inf", b"-5", b"soon", b""])
def test_a_crawl_delay_that_is_none_is_none(delay: bytes) -> None:
    started = time.monotonic()
    assert robots(NO_A + b"Crawl-delay: " + delay + b"\n", "/a", "/b", "/c") == ["refused", "page", "page"]
    assert time.monotonic() - started < 3


def test_a_crawl_delay_of_a_day_closes_the_host() -> None:
    with pytest.raises(AskedToLeave):
        robots(NO_A + b"Crawl-delay: 86400\n", "/b")
