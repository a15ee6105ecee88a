"""Where pages come from when a rule is tested: an abstract fetcher, one in memory, one of recorded pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urljoin

import pyarrow as pa

from undust.crawl import Crawl
from undust.url import normal

MAX_REDIRECTS = 5


@dataclass(frozen=True)
class Page:
    """What is compared of a fetched page: equal digests are equal pages, else the min-hashes decide.

    `same_as` names pages known to be one (a given cluster): it overrides both.
    """

    digest: str | None = None
    sketch: tuple[int, ...] = ()
    same_as: str | None = None

    def similar(self, other: Page, matches: int = 4) -> bool:
        """Whether at least `matches` min-hashes agree.

        >>> Page("a", (1, 2, 3, 4)).similar(Page("b", (1, 2, 3, 5))), Page("a").similar(Page("a"))
        (False, True)
        """
        if self.same_as is not None and other.same_as is not None:
            return self.same_as == other.same_as
        if self.digest is not None and self.digest == other.digest:
            return True
        agree = sum(a == b for a, b in zip(self.sketch, other.sketch, strict=False))
        return bool(self.sketch) and agree >= matches


class NotRecorded(LookupError):
    """Nobody knows what the page looked like: neither a success nor a failure."""


class Fetcher(Protocol):
    """Anything that can fetch a URL."""

    def fetch(self, url: str) -> Page | None:
        """The page, after redirects; None when the fetch failed. May raise NotRecorded."""
        ...


class MemoryFetcher:
    """Pages in a dictionary; a URL that is not there fails, like one that a server does not know.

    >>> site = MemoryFetcher({"http://h.test/": "welcome"})
    >>> site.fetch("http://h.test/"), site.fetch("http://h.test/x"), site.fetched
    (Page(digest='welcome', sketch=(), same_as=None), None, 2)
    """

    def __init__(self, pages: Mapping[str, Page | str | None]) -> None:
        self.pages = pages
        self.fetched = 0

    def fetch(self, url: str) -> Page | None:
        self.fetched += 1
        page = self.pages.get(url)
        return Page(page) if isinstance(page, str) else page


class RecordedFetcher:
    """The pages of a crawl, played back: redirects are followed, errors fail; the rest is NotRecorded.

    `clusters` (URL -> cluster) decides what is the same page where it is given.

    >>> pages = pa.table({"url": ["http://h.test/a", "http://h.test/b"], "digest": ["1", None],
    ...     "status": [200, 404]})
    >>> recorded = RecordedFetcher(pages)
    >>> recorded.fetch("http://H.test/a"), recorded.fetch("http://h.test/b")
    (Page(digest='1', sketch=(), same_as=None), None)
    """

    def __init__(self, pages: pa.Table | Crawl, clusters: Mapping[str, str] | None = None) -> None:
        table = pages.pages if isinstance(pages, Crawl) else pages
        names = [n for n in ("url", "status", "location", "digest", "sketch") if n in table.column_names]
        columns: dict[str, list[Any]] = {name: table[name].to_pylist() for name in names}
        self._row = {normal(url): row for row, url in enumerate(columns["url"])}
        self._columns = columns
        self._clusters = None if clusters is None else {normal(u): c for u, c in clusters.items()}
        self.fetched = 0

    def fetch(self, url: str) -> Page | None:
        self.fetched += 1
        url = normal(url)
        for _ in range(MAX_REDIRECTS):
            row = self._row.get(url)
            if row is None:
                raise NotRecorded(url)
            status = self._get("status", row) or 200
            if not 300 <= status < 400:
                break
            target = self._get("location", row)
            if target is None:
                raise NotRecorded(url)
            url = normal(urljoin(url, target))
        if row is None or status >= 300:
            return None
        same_as = None if self._clusters is None else self._clusters.get(url)
        sketch = tuple(self._get("sketch", row) or ())
        return Page(self._get("digest", row), sketch, same_as)

    def _get(self, name: str, row: int) -> Any:
        values = self._columns.get(name)
        return None if values is None else values[row]
