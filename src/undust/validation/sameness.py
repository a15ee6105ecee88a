"""Are two fetched pages the same page, clocks, counters and advertisements aside?

A page fetched twice shows what changes on it by itself, and where: between which words. What differs there
between two addresses is no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from operator import eq

from undust.validation.answer import Answer

Anchor = tuple[str, str, str]
Span = tuple[int, int, int, int]

TOLERANCE = 0.01
"""Share of words that may differ where nothing was seen to change: the counter that happened to stand still."""

UNSTABLE = 0.3
"""A page of which more than this changes from one visit to the next cannot be compared with another."""

FEWEST_WORDS = 5
"""With fewer words a page says nothing: the shell of a script, a blank."""

JOINED = 3
"""Differences with fewer equal words between them are one: two advertisements share a word by chance."""

RECURS = 2
"""Pages on which a place must have changed before it is believed of others."""

MANY_WORDS = 4_000

_DIGITS = re.compile(r"\d+")


class Sameness:
    """Compares pages of one site, and learns the site's noise on the way.

    >>> first, again = Answer("page", text="A story about one thing. It is 10:31:02 now."), \\
    ...     Answer("page", text="A story about one thing. It is 10:31:07 now.")
    >>> other = Answer("page", text="A story about two thing. It is 10:31:09 now.")
    >>> noise = Sameness()
    >>> noise.same(first, again), noise.same(first, again, again), noise.same(first, other, again)
    (False, True, False)
    """

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        self.tolerance = tolerance
        self._places: dict[Anchor, dict[str, int]] = {}

    def learn(self, url: str, once: Answer, again: Answer) -> None:
        """A page fetched twice shows its noise."""
        if once.text is not None and again.text is not None:
            differing = spans(once.words, again.words)
            if _share(differing, once.words, again.words) <= UNSTABLE:
                for place, words in _places(once.words, again.words, differing).items():
                    self._places.setdefault(place, {})[url] = words

    @property
    def believed(self) -> dict[Anchor, int]:
        """The places that change by themselves on page after page, and how many words do."""
        return {place: max(pages.values()) for place, pages in self._places.items() if len(pages) >= RECURS}

    def same(self, a: Answer, b: Answer, a_again: Answer | None = None) -> bool | None:
        """Whether two pages show the same; None: it cannot be told.

        `a_again` is `a` as it was the second time: what changed of itself may differ in `b`, too.
        """
        if a.kind != "page" or b.kind != "page":
            return None
        if a.text is None or b.text is None:
            if a.digest == b.digest:
                return True
            return None if a_again is not None and a_again.digest != a.digest else False
        if max(len(a.words), len(b.words)) < FEWEST_WORDS:
            return None
        if a.words == b.words:
            return True
        noise = self.believed
        if a_again is not None:
            own = spans(a.words, a_again.words)
            if _share(own, a.words, a_again.words) > UNSTABLE:
                return None
            for place, words in _places(a.words, a_again.words, own).items():
                noise[place] = max(words, noise.get(place, 0))
        left = [span for span in spans(a.words, b.words) if not _excused(a.words, span, noise)]
        return _share(left, a.words, b.words) <= self.tolerance


def spans(a: Sequence[str], b: Sequence[str]) -> list[Span]:
    """Where two texts differ: `a[i1:i2]` stands where `b[j1:j2]` does.

    >>> spans("x 1 y z w v 2".split(), "x 3 y z w v".split())
    [(1, 2, 1, 2), (6, 7, 6, 6)]
    """
    head = sum(takewhile(bool, map(eq, a, b)))
    most = min(len(a), len(b)) - head
    tail = min(most, sum(takewhile(bool, map(eq, reversed(a), reversed(b)))))
    inner_a, inner_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if not inner_a and not inner_b:
        return []
    whole = [(head, head + len(inner_a), head, head + len(inner_b))]
    few = len(set(inner_a) & set(inner_b)) < 0.2 * min(len(set(inner_a)), len(set(inner_b)))
    if few or not inner_a or not inner_b:
        return whole
    out: list[Span] = []
    matcher = SequenceMatcher(None, inner_a, inner_b, autojunk=max(len(inner_a), len(inner_b)) > MANY_WORDS)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        span = (head + i1, head + i2, head + j1, head + j2)
        if out and min(span[0] - out[-1][1], span[2] - out[-1][3]) < JOINED:
            span = (out[-1][0], span[1], out.pop()[2], span[3])
        out.append(span)
    return out


def _places(a: Sequence[str], b: Sequence[str], differing: Iterable[Span]) -> dict[Anchor, int]:
    """Where the differences are, and how many words they have."""
    found: dict[Anchor, int] = {}
    for span in differing:
        for anchor in _anchors(a, span):
            found[anchor] = max(found.get(anchor, 0), _size(span))
    return found


def _size(span: Span) -> int:
    return span[1] - span[0] + span[3] - span[2]


def _anchors(a: Sequence[str], span: Span) -> Iterable[Anchor]:
    """The words around a difference, in three ways: one on either side, two before, two behind."""
    before = [_word(a, span[0] - 2), _word(a, span[0] - 1)]
    behind = [_word(a, span[1]), _word(a, span[1] + 1)]
    yield ("around", before[1], behind[0])
    # Both ends of a page are anchors, but one end and nothing else is none.
    if before[1]:
        yield ("before", before[0], before[1])
    if behind[0]:
        yield ("behind", behind[0], behind[1])


def _word(words: Sequence[str], place: int) -> str:
    return _DIGITS.sub("0", words[place]) if 0 <= place < len(words) else ""


def _excused(a: Sequence[str], span: Span, noise: dict[Anchor, int]) -> bool:
    """Whether noise was seen there, and not much less of it."""
    return any(_size(span) <= 2 * noise[anchor] + JOINED for anchor in _anchors(a, span) if anchor in noise)


def _share(differing: Iterable[Span], a: Sequence[str], b: Sequence[str]) -> float:
    return sum(map(_size, differing)) / max(1, len(a) + len(b))
