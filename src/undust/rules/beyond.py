"""What the string of a URL does not tell: how a table of aliases joins in with the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from undust.rules.aliases import AliasTable, Found

Rewrite = Callable[[Sequence[Any]], "list[str | None]"]
Akin = Callable[[str, str], bool]


class Leap(NamedTuple):
    """A step that no rule by itself can make: where it leads, and what the table says it rests on."""

    url: str
    via: str


class Beyond:
    """Rules and a table of aliases as one function on URLs.

    A URL that is in the table becomes its alias, else it stays; the rules rewrite it; and what they made of it is
    looked up again, until neither has anything to say. Should the two run in a circle, the smallest URL of the
    circle is taken. So doing it twice never changes anything. An alias that leads to a host which is not `akin` is not
    followed: a table may come from anywhere.

    >>> table = AliasTable.of([("http://a.test/?p=7", "http://a.test/t-1")])
    >>> both = Beyond(lambda urls: [u.removesuffix("&sid=1") for u in urls], table)
    >>> both.many(["http://a.test/?p=7&sid=1", "http://a.test/?p=8&sid=1"])
    ['http://a.test/t-1', 'http://a.test/?p=8']
    >>> both.looked_up
    1
    """

    def __init__(self, rewrite: Rewrite, aliases: AliasTable, akin: Akin = lambda url, to: True) -> None:
        self.rewrite = rewrite
        self.aliases = aliases
        self.akin = akin
        self.looked_up = 0
        """URLs so far that the table led elsewhere."""
        self.astray = 0
        """Times so far that it would have led to a host of another site."""

    def look(self, urls: Sequence[str]) -> list[str | None]:
        """What the table says of URLs, as far as it is to be followed."""
        found = self.aliases.look(urls)
        for i, (url, to) in enumerate(zip(urls, found, strict=True)):
            if to is not None and not self.akin(url, to):
                found[i] = None
                self.astray += 1
        return found

    def find(self, url: str) -> Found | None:
        """The same for one URL, and by what the table knows it."""
        found = self.aliases.find(url)
        return found if found is None or self.akin(url, found.url) else None

    def many(self, urls: Iterable[Any]) -> list[str | None]:
        """Canonical URLs; None for what is no text."""
        given = list(urls)
        texts = [i for i, url in enumerate(given) if isinstance(url, str)]
        first = self.look([given[i] for i in texts])
        led = {i for i, found in zip(texts, first, strict=True) if found is not None}
        start = list(given)
        for i, found in zip(texts, first, strict=True):
            if found is not None:
                start[i] = found
        now = self.rewrite(start)
        # Where neither table nor rules changed anything, the table has been asked already.
        self._settle(now, [i for i in texts if now[i] != given[i]], led)
        self.looked_up += len(led)
        return now

    def _settle(self, now: list[str | None], open_: list[int], led: set[int]) -> None:
        trails: dict[int, list[str]] = {}
        while open_:
            found = self.leaps([now[i] or "" for i in open_])
            hits = [(i, leap) for i, leap in zip(open_, found, strict=True) if leap is not None]
            made = self.rewrite([leap.url for _, leap in hits])
            open_ = []
            for (i, _), url in zip(hits, made, strict=True):
                before = now[i] or ""
                trail = trails.setdefault(i, [before])
                led.add(i)
                now[i], ended = followed(trail, url or "")
                if not ended:
                    open_.append(i)

    def leaps(self, urls: Sequence[str]) -> list[Leap | None]:
        """Where URLs that the rules leave alone are led; None where they stay."""
        found = self.look(urls)
        return [
            None if to is None or to == url else Leap(to, "") for url, to in zip(urls, found, strict=True)
        ]


def followed(trail: list[str], url: str) -> tuple[str, bool]:
    """Go on to `url`; where it has been seen already, the smallest of the circle, and True: the end.

    >>> followed(["a", "c", "b"], "c")
    ('b', True)
    """
    if url in trail:
        return min(trail[trail.index(url) :], key=lambda u: (len(u), u)), True
    trail.append(url)
    return url, False
