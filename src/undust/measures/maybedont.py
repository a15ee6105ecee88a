"""MaybeDont (TeamHG-Memex, 2016), re-implemented from its description: the online way to avoid duplicates.

It writes no rules. While crawling it counts, for simple hypotheses on parameters, how often they were right, and
does not fetch a URL that the surest of them calls a duplicate of one already fetched.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from urllib.parse import parse_qsl

from undust.url import parse, unparse

Query = frozenset[tuple[str, str]]


@dataclass
class _Group:
    """URLs already fetched that differ in one thing only: how many show what, and the first of them."""

    first: str
    shows: Counter[int] = field(default_factory=Counter)


class MaybeDont:
    """Predicts whether a URL repeats one that was seen.

    Hypotheses, of URLs with one path: it alone decides; parameter p does not matter, anywhere, on this path, or
    on this path with this rest of the query; adding p=v does not matter, anywhere or on this path. Each is
    right with a probability of which the lower edge of the 95 % interval counts (add-one smoothing, from five
    trials on), and the best bound counts for a URL. Repeated parameters are not told apart. Unlike the
    original, which compares sketches of texts, this is told what pages show; and it explores nothing.

    >>> model = MaybeDont()
    >>> for i in range(300):
    ...     for sid in "ab":
    ...         model.update(f"http://a.example/p?id={i}&sid={sid}", content=i)
    >>> model.update("http://a.example/p?id=1000&sid=a", content=1000)
    >>> model.duplicate_of("http://a.example/p?id=1000&sid=b")
    'http://a.example/p?id=1000&sid=a'
    """

    def __init__(self, *, threshold: float = 0.98, min_trials: int = 5) -> None:
        self.threshold = threshold
        self.min_trials = min_trials
        self._right: Counter[Hashable] = Counter()
        self._trials: Counter[Hashable] = Counter()
        self.forget()

    def forget(self) -> None:
        """Forget the URLs seen, not what was learned from them."""
        self._groups: dict[Hashable, _Group] = {}
        self._exact: dict[tuple[str, Query], tuple[str, int]] = {}
        self._with_more: defaultdict[tuple[str, Query], list[tuple[str, str, int]]] = defaultdict(list)

    def update(self, url: str, content: int) -> None:
        """A fetched page: test the hypotheses on the pages seen before, and remember it."""
        path, query = _split(url)
        if (path, query) in self._exact:
            return
        for group, hypotheses in _variants(path, query):
            seen = self._groups.setdefault(group, _Group(url))
            for hypothesis in hypotheses:
                self._right[hypothesis] += seen.shows[content]
                self._trials[hypothesis] += seen.shows.total()
            seen.shows[content] += 1
        for name, value, rest in _each(query):
            if (path, rest) in self._exact:
                self._adding(path, name, value, self._exact[path, rest][1] == content)
            self._with_more[path, rest].append((name, value, content))
        for name, value, shown in self._with_more.get((path, query), ()):
            self._adding(path, name, value, shown == content)
        self._exact[path, query] = url, content

    def duplicate_of(self, url: str) -> str | None:
        """The URL it would repeat with a probability above the threshold; None: fetch it."""
        path, query = _split(url)
        if (path, query) in self._exact:
            return self._exact[path, query][0]
        best, found = self.threshold, None
        for group, hypotheses in _variants(path, query):
            if group in self._groups:
                bound = max(map(self._bound, hypotheses))
                if bound > best:
                    best, found = bound, self._groups[group].first
        for name, value, rest in _each(query):
            if (path, rest) in self._exact:
                bound = max(map(self._bound, _additions(path, name, value)))
                if bound > best:
                    best, found = bound, self._exact[path, rest][0]
        return found

    def _adding(self, path: str, name: str, value: str, same: bool) -> None:
        for hypothesis in _additions(path, name, value):
            self._right[hypothesis] += same
            self._trials[hypothesis] += 1

    def _bound(self, hypothesis: Hashable) -> float:
        n = self._trials[hypothesis]
        if n < self.min_trials:
            return 0.0
        p = (self._right[hypothesis] + 1) / (n + 2)
        return p - 1.96 * sqrt(p * (1 - p) / (n + 2))


def _split(url: str) -> tuple[str, Query]:
    parts = parse(url)
    path = unparse(parts._replace(query=None, fragment=None))
    return path, frozenset(dict(parse_qsl(parts.query or "", keep_blank_values=True)).items())


def _each(query: Query) -> Iterator[tuple[str, str, Query]]:
    for name, value in query:
        yield name, value, query - {(name, value)}


def _variants(path: str, query: Query) -> Iterator[tuple[Hashable, list[Hashable]]]:
    """What the URL has in common with those that differ in one thing, and what is assumed of that thing."""
    yield ("path", path), [("path", path)]
    for name, _, rest in sorted(_each(query)):
        here = ("parameter", path, name, rest)
        yield here, [("parameter", name), ("parameter", path, name), here]


def _additions(path: str, name: str, value: str) -> list[Hashable]:
    return [("adding", name, value), ("adding", path, name, value)]
