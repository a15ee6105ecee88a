"""What a list of URLs says to guarded rules, so that each question is one look-up; in memory linear in the list."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import gcd
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

Values = tuple[str, ...]

ENOUGH = 2
"""Pages of a thing that are remembered: with two different ones there is another page, whichever is asked about."""

FIRST_TRIED = 8
"""Numbers, from the smallest, that may be the first page's."""

OFTEN = 0.5
"""Share of the things that go on after a number of which this number must be a page to be the first one."""


@dataclass(slots=True)
class Thing:
    """One thing (a topic, a gallery): what the list holds of it."""

    pages: list[str] = field(default_factory=list)  # path and query of its first different pages
    numbers: set[int] = field(default_factory=set)

    def add(self, page: str, number: int | None) -> None:
        if len(self.pages) < ENOUGH and page not in self.pages:
            self.pages.append(page)
        if number is not None:
            self.numbers.add(number)

    def other(self, page: str) -> str | None:
        """A page that is not this one."""
        return next((one for one in self.pages if one != page), None)


@dataclass(slots=True)
class Told:
    """What the list says to one guarded rule on one site."""

    things: dict[Values, Thing] = field(default_factory=dict)
    several: int = 0
    """Things the rule is about that show another page: it is kept from those."""
    between: float | None = None
    """Mean share of the numbered pages up to the last one that is listed; None: nothing to tell it by."""

    def finish(self, leads: Mapping[Values, tuple[str, bool]]) -> None:
        """Count, when all URLs were seen; `leads`: where the rule would lead a thing's URLs, and if that is listed."""
        shown = []
        for values, thing in self.things.items():
            first: bool | None = None
            if values in leads and thing.other(leads[values][0]) is not None:
                self.several += 1
                first = leads[values][1]
            shown.append((thing.numbers, first))
        self.between = between(shown)
        for thing in self.things.values():
            thing.numbers.clear()


class Listed(NamedTuple):
    """A list of URLs as the guarded rules of one book see it; `Canonicalizer(book, listed=urls)` makes it."""

    rules: dict[tuple[str, str], Told]  # by site and id of the rule
    forms: NDArray[np.uint64]  # hashes of the canonical URLs
    urls: int

    def holds(self, url: str) -> bool:
        """Whether a canonical URL is in the list."""
        wanted = np.uint64(hashed(url))  # a plain int would turn all hashes into floats, again and again
        at = self.forms.searchsorted(wanted)
        return bool(at < len(self.forms) and self.forms[at] == wanted)


def hashed(url: str) -> int:
    return xxhash.xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"))


def gathered(forms: Iterable[int]) -> NDArray[np.uint64]:
    """Hashes in order, each once."""
    return np.unique(np.fromiter(forms, np.uint64))


def between(things: Sequence[tuple[set[int], bool | None]]) -> float | None:
    """Of things that show further pages, the mean share of the pages before each one's last that are listed.

    Of each thing: the numbers of its pages, and whether the page that the rule leads to is listed (None: it shows no
    other). What the first number is and what lies between two pages is told by the numbers themselves. A complete
    list has all of them; one with gaps has lost other pages as well. None where nothing tells.

    >>> between([({0, 15, 30}, True), ({0, 15}, True), ({0}, None)])
    1.0
    >>> between([({0, 30}, None), ({15}, None), ({0, 15, 30, 45}, None), ({0, 15}, None)])
    0.625
    >>> between([({2, 3, 4}, True), ({2, 3}, False), ({1, 2}, True)])
    0.8333333333333334
    >>> between([({15}, None), ({15}, None)]) is None
    True
    """
    numbered = [numbers for numbers, _ in things if numbers]
    often = Counter(number for numbers in numbered for number in numbers)
    known = [number for number, n in often.items() if number and n > 1] or list(often)
    step = gcd(*known) or 1
    ends = list(map(max, numbered))
    after = sorted(ends)
    first = min(often, default=0)
    for number in nsmallest(FIRST_TRIED, (n for n in often if n % step == 0)):
        going_on = len(after) - bisect_right(after, number)
        there = sum(number in numbers and end > number for numbers, end in zip(numbered, ends, strict=True))
        if going_on and there >= OFTEN * going_on:
            first = number
            break
    shares = []
    for numbers, base in things:
        end = max(numbers, default=first)
        wanted = max(0, -((first - end) // step)) + (base is not None)
        if wanted:
            there = sum(first <= n < end and (n - first) % step == 0 for n in numbers)
            shares.append((there + bool(base)) / wanted)
    return sum(shares) / len(shares) if shares else None
