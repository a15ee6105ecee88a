"""Manners: one request after another per host, pauses when a host asks for them, and robots.txt."""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from protego import Protego

MAX_PAUSE = 120.0
"""Seconds. A host that wants a longer pause is left alone for the rest of the run."""

Clock = Callable[[], float]


class AskedToLeave(Exception):
    """A host wants no more requests for longer than we stay."""


@dataclass
class Host:
    """When a host may be asked again."""

    gate: asyncio.Semaphore
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    delay: float = 0.0
    not_before: float = 0.0
    closed: str = ""


class Turnstile:
    """Lets requests through: at most `concurrency` at once per host, starts at least `delay` seconds apart.

    >>> async def three() -> int:
    ...     stile = Turnstile(delay=0.0)
    ...     for _ in range(3):
    ...         async with stile.turn("a.test"):
    ...             pass
    ...     return len(stile.hosts)
    >>> asyncio.run(three())
    1
    """

    def __init__(
        self,
        delay: float = 1.0,
        concurrency: int = 1,
        clock: Clock = time.monotonic,
        max_pause: float = MAX_PAUSE,
    ) -> None:
        self.delay, self.concurrency, self.clock, self.max_pause = delay, concurrency, clock, max_pause
        self.hosts: dict[str, Host] = {}

    def host(self, name: str) -> Host:
        if name not in self.hosts:
            self.hosts[name] = Host(asyncio.Semaphore(self.concurrency), delay=self.delay)
        return self.hosts[name]

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[Host]:
        """Wait for one's turn, then hold a place."""
        host = self.host(name)
        async with host.gate:
            async with host.turn:
                while (wait := host.not_before - self.clock()) > 0 and not host.closed:
                    await asyncio.sleep(wait)
                if host.closed:
                    raise AskedToLeave(host.closed)
                host.not_before = self.clock() + host.delay
            yield host

    def slower(self, name: str, delay: float) -> None:
        """robots.txt asks for this delay: at least that."""
        host = self.host(name)
        host.delay = max(host.delay, delay)
        if delay > self.max_pause:
            host.closed = f"robots.txt wants {delay:.0f} s between requests"

    def pause(self, name: str, seconds: float) -> None:
        """The host is busy: nobody asks it for a while; for too long a while, nobody asks it any more."""
        host = self.host(name)
        if seconds > self.max_pause:
            host.closed = f"the host asked to come back in {seconds:.0f} s"
        host.not_before = max(host.not_before, self.clock() + seconds)


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for: a number, or a date.

    >>> retry_after("120"), retry_after("soon"), retry_after(None)
    (120.0, None, None)
    >>> retry_after("Thu, 01 Jan 2026 00:00:30 GMT", datetime(2026, 1, 1, tzinfo=UTC))
    30.0
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        when = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


class Robots:
    """What a robots.txt lets us do. An unreachable one forbids all, a missing one nothing (RFC 9309).

    >>> robots = Robots(200, b"User-agent: *\\nDisallow: /forum/\\nCrawl-delay: 2", "undust")
    >>> robots.allows("http://a.test/forum/x"), robots.allows("http://a.test/"), robots.delay
    (False, True, 2.0)
    >>> Robots(503, b"", "undust").allows("http://a.test/"), Robots(404, b"", "undust").allows("http://a.test/")
    (False, True)
    """

    def __init__(self, status: int, body: bytes, agent: str, trouble: str = "") -> None:
        # Groups are for product names; what else stands in the user agent (a contact's address) is none.
        self.agent, self.unreachable = agent.partition("/")[0], not 200 <= status < 500
        self.why = (
            f"robots.txt cannot be read: {trouble or status}" if self.unreachable else "robots.txt says no"
        )
        text = body.decode("utf-8-sig", "replace") if 200 <= status < 300 else ""
        self._rules = Protego.parse(text)

    def allows(self, url: str) -> bool:
        return not self.unreachable and bool(self._rules.can_fetch(url, self.agent))

    @property
    def delay(self) -> float:
        """Seconds between requests that it asks for."""
        rate = self._rules.request_rate(self.agent)
        return max(self._rules.crawl_delay(self.agent) or 0.0, rate.seconds / rate.requests if rate else 0.0)
