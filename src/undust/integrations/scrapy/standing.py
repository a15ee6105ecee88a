"""Which URL stands for a page, in a crawl whose rules change on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import xxhash

from undust.integrations.scrapy.kind import kind

Canonical = Callable[[str], str]


def drawn(url: str, share: float, seed: int = 0) -> bool:
    """Whether a URL is among the share that is explored: with one seed always the same ones.

    >>> sum(drawn(f"http://a.example/{i}", 0.05) for i in range(10_000))
    477
    """
    if not share:
        return False
    return xxhash.xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"), seed) < share * 2.0**64


class Prepared(NamedTuple):
    """Who stands for what under other rules, as far as `asked` and `begun` URLs are looked at."""

    canonical: Canonical
    stands: dict[str, str]
    started: dict[str, str]
    asked: int
    begun: int


class Standing:
    """For each page the URL that was asked for first: by that one all others of the page are known.

    It is that URL, not the canonical one, so that the URLs that have been asked for keep their fingerprints when the
    rules change, and a URL that no longer counts as one of them is asked for after all.

    >>> bare = lambda url: url.partition("?")[0]
    >>> standing = Standing(bare)
    >>> standing.of("http://a.example/p?sid=1"), standing.of("http://a.example/p?sid=2")
    ('http://a.example/p?sid=1', 'http://a.example/p?sid=1')
    >>> standing.follow(standing.prepare(lambda url: url))
    >>> standing.of("http://a.example/p?sid=2")
    'http://a.example/p?sid=2'
    """

    def __init__(self, canonical: Canonical, share: float = 0.0, seed: int = 0) -> None:
        self.canonical, self.share, self.seed = canonical, share, seed
        self.asked: dict[str, None] = {}
        """URLs that were let through to be fetched, in their order."""
        self.begun: dict[str, None] = {}
        """Those that were sent for."""
        self.explored: set[str] = set()
        """URLs fetched although a rule would have spared them."""
        self.kinds: set[str] = set()
        """Kinds of URLs of which one was explored."""
        self.stands: dict[str, str] = {}
        self.started: dict[str, str] = {}

    def of(self, url: str) -> str:
        """The URL that stands for the page; the URL itself if it is the first, or is to be explored."""
        if url in self.asked:
            return url
        first = self.stands.setdefault(self.canonical(url), url)
        if first != url and not self._explore(url):
            return first
        self.asked[url] = None
        return url

    def _explore(self, url: str) -> bool:
        """Whether a URL is fetched though it would be spared: a share of them, and the first of every kind."""
        if not self.share:
            return False
        one = kind(url)
        if one in self.kinds and not drawn(url, self.share, self.seed):
            return False
        self.kinds.add(one)
        self.explored.add(url)
        return True

    def begin(self, url: str, whatever: bool = False) -> str | None:
        """A URL is about to be sent for: the one that was sent for in its place, or None if it should go.

        It was let through before the rules knew better, and may have waited for long. `whatever`: it goes anyway.
        """
        if url in self.begun:
            return None
        if url in self.explored:  # beside the one that stands for the page, not in its place
            self.begun[url] = None
            return None
        first = self.started.setdefault(self.canonical(url), url)
        if first != url and not whatever and not self._explore(url):
            return first
        self.begun[url] = None
        return None

    def failed(self, url: str) -> None:
        """Under this URL there was no page: another one of it may stand in its place."""
        canonical = self.canonical(url)
        for known in (self.stands, self.started):
            if known.get(canonical) == url:
                del known[canonical]

    def prepare(self, canonical: Canonical) -> Prepared:
        """Who would stand for what under other rules; may run beside the crawl, and leaves all as it is."""
        asked, begun = list(self.asked), list(self.begun)
        stands, started = _first(asked, canonical, {}), _first(begun, canonical, {})
        return Prepared(canonical, stands, started, len(asked), len(begun))

    def follow(self, prepared: Prepared) -> None:
        """Follow other rules from now on; what has come since they were prepared is added."""
        self.canonical = prepared.canonical
        self.stands = _first(_behind(self.asked, prepared.asked), self.canonical, prepared.stands)
        self.started = _first(_behind(self.begun, prepared.begun), self.canonical, prepared.started)


def _first(urls: Iterable[str], canonical: Canonical, known: dict[str, str]) -> dict[str, str]:
    for url in urls:
        known.setdefault(canonical(url), url)
    return known


def _behind(urls: dict[str, None], place: int) -> list[str]:
    return list(urls)[place:]
