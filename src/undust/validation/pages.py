"""Pages as a test asks for them: redirects followed, nothing asked for twice, never more than was allowed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from undust.url import host_labels
from undust.validation.answer import Answer
from undust.validation.live import MAX_REDIRECTS, split_origin
from undust.validation.politeness import AskedToLeave
from undust.validation.state import Ask, State

AT_ONCE = 32
"""Requests in flight, all hosts together."""


class AsyncFetcher(Protocol):
    """Fetches one URL, redirects not followed."""

    def fetch(self, url: str) -> Awaitable[Answer]: ...


class Shown(NamedTuple):
    """What stands under a URL in the end, and under which URL."""

    answer: Answer
    url: str


class Pages:
    """What was fetched, by URL and turn.

    `max_fetches` counts each page once, also those that an earlier run has fetched: so a run that was killed
    and resumed ends where it would have ended. Redirects leave the `domains` of the run never.
    """

    def __init__(
        self,
        fetcher: AsyncFetcher,
        state: State,
        domains: Iterable[str] = (),
        *,
        max_fetches: int | None = None,
        max_time: float | None = None,
        on_page: Callable[[], object] = lambda: None,
    ) -> None:
        self.fetcher, self.state, self.domains = fetcher, state, frozenset(domains)
        self.max_fetches, self.on_page = max_fetches, on_page
        self.deadline = None if max_time is None else time.monotonic() + max_time
        self.used: dict[Ask, None] = {}
        self.now = 0
        """Pages fetched by this run, not by one before it."""
        self.stopped = ""
        """Why nothing more is fetched."""
        self.answers = 0
        """Pages of which the server said anything, be it that they are gone."""
        self.trouble: Counter[tuple[str, str]] = Counter()
        """Pages that could not be had, by host and reason."""
        self._passing: dict[Ask, Answer] = {}
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        close = getattr(self.fetcher, "__aexit__", None)
        try:
            if close is not None:
                self._runner.run(close(None, None, None))
        finally:
            self._runner.close()

    @property
    def fetched(self) -> int:
        """Pages asked for, those of earlier runs included."""
        return len(self.used)

    def fetch(self, asks: Iterable[Ask]) -> None:
        """Fetch what is not known, wave by wave: first these, then where they redirect to."""
        asks = wave = list(dict.fromkeys(asks))
        for _ in range(MAX_REDIRECTS + 1):
            if wave := [ask for ask in wave if not self._known(ask)]:
                self._spend(wave)
            following: dict[Ask, None] = {}
            for ask in asks:
                step = self._last(ask)
                if step is not None and not self._known(step):
                    following[step] = None
            wave = list(following)
            if not wave or self.stopped:
                return

    def shown(self, ask: Ask) -> Shown | None:
        """What a URL shows after redirects; None when it was not fetched."""
        url, turn = ask
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._get((url, turn))
            if answer is None:
                return None
            if answer.kind != "redirect":
                return Shown(answer, url)
            url = answer.location
            if not self._inside(url):
                # Other people's servers are left alone; that it leads there is known.
                return Shown(Answer("page", digest=f"elsewhere: {url}"), url)
        return Shown(Answer("failed", why="redirects without end"), url)

    def __contains__(self, url: str) -> bool:
        """Whether a page has been asked for before, so that it costs nothing."""
        return (url, 1) in self.used

    def _last(self, ask: Ask) -> Ask | None:
        """The URL that a chain of redirects has come to and that is to be fetched next."""
        url, turn = ask
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._get((url, turn))
            if answer is None:
                return (url, turn)
            if answer.kind != "redirect" or not self._inside(answer.location):
                return None
            url = answer.location
        return None

    def _known(self, ask: Ask) -> bool:
        return self._get(ask) is not None

    def _get(self, ask: Ask) -> Answer | None:
        # What an earlier run has stored counts from the moment it is asked for.
        return (self.state.get(ask) or self._passing.get(ask)) if ask in self.used else None

    def _spend(self, wave: list[Ask]) -> None:
        if self.max_fetches is not None and len(self.used) + len(wave) > self.max_fetches:
            wave = wave[: max(0, self.max_fetches - len(self.used))]
            self.stopped = "the limit of fetches is reached"
        asked = [ask for ask in wave if ask not in self.state]
        if asked:
            self._runner.run(self._all(asked))
        for ask in wave:
            if ask in self.state or ask in self._passing:
                self.used[ask] = None

    async def _all(self, asks: list[Ask]) -> None:
        places = asyncio.Semaphore(AT_ONCE)

        async def one(ask: Ask) -> None:
            async with places:
                if self.deadline is not None and time.monotonic() >= self.deadline:
                    self.stopped = "the time is up"
                    return
                try:
                    answer = await self.fetcher.fetch(ask[0])
                except AskedToLeave as why:
                    answer = Answer("refused", why=str(why))
                if answer.kind in ("refused", "failed"):
                    self.trouble[split_origin(ask[0])[1] or ask[0], answer.why] += 1
                else:
                    self.answers += 1
                if answer.kind == "refused":
                    # Whatever forbids it may be otherwise in the next run; it costs no request to ask again.
                    self._passing[ask] = answer
                    return
                self.state[ask] = answer
                self.now += 1
                self.on_page()

        async with asyncio.timeout(
            None if self.deadline is None else self.deadline - time.monotonic()
        ) as end:
            try:
                async with asyncio.TaskGroup() as group:
                    for ask in asks:
                        group.create_task(one(ask))
            except asyncio.CancelledError:
                if not end.expired():
                    raise
                self.stopped = "the time is up"

    def _inside(self, url: str) -> bool:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        return not self.domains or domain_of(host) in self.domains


def domain_of(host: str) -> str:
    """The registrable domain of a host; the host itself where it has none.

    >>> domain_of("www.demo.undust.test"), domain_of("127.0.0.1")
    ('undust.test', '127.0.0.1')
    """
    bare = host if host.endswith("]") else host.partition(":")[0]
    return host_labels(bare)[0] if bare else host
