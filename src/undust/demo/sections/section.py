"""What a section of the demo site is, and how a planted rule is written down."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, NamedTuple
from urllib.parse import unquote_plus


class Target(NamedTuple):
    """Where a URL leads: to a content, to another URL, or to an error."""

    content: str | None = None
    status: int = 200
    location: str = ""
    view: str = "page"
    """`page`: with menu, advertisement and clock; `print`: the text alone; `file`: as it lies on disk."""


NOT_FOUND = Target(status=404)
LOGIN = Target("soft/login")
NO_TOPIC = Target("soft/no-topic")


@dataclass(frozen=True)
class Planted:
    """A rule that somebody could believe of the demo site, and whether it is true there.

    `rewrite` maps a URL to the URL the rule makes of it, or to None where it does not apply.
    """

    name: str
    says: str
    true: bool
    rewrite: Callable[[str], str | None] = field(repr=False)


@dataclass(frozen=True)
class Body:
    """Heading and paragraphs of a content."""

    title: str
    paragraphs: list[str]


def fields(query: str, separators: str = "&") -> dict[str, str]:
    """The query as most servers read it: decoded, the last of repeated parameters wins.

    >>> fields("t=1&sid=&t=2")
    {'t': '2', 'sid': ''}
    >>> fields("topic=7.0;all", ";&")
    {'topic': '7.0', 'all': ''}
    """
    found = {}
    for piece in re.split(f"[{separators}]", query):
        if piece:
            name, _, value = piece.partition("=")
            found[unquote_plus(name)] = unquote_plus(value)
    return found


def pairs(*given: tuple[str, object]) -> str:
    """A query string from name and value.

    >>> pairs(("t", 7), ("start", 0))
    't=7&start=0'
    """
    return "&".join(f"{name}={value}" for name, value in given)


def hex_id(rng: Random) -> str:
    """A session id: 32 hex digits."""
    return f"{rng.getrandbits(128):032x}"


class Section:
    """A part of the demo site: what it holds, how its URLs may be spelled, where each URL leads.

    The three methods below are the whole truth about it. Content ids are strings; equal ids, equal content.
    """

    prefixes: ClassVar[tuple[str, ...]] = ()
    """First path segments (up to `_`, `;` or `,`) that this section answers for."""
    front: ClassVar[str]
    """The content of the section's front page."""
    planted: ClassVar[tuple[Planted, ...]] = ()
    leafy: ClassVar[bool] = False
    """Only the first content links to others (a directory of files)."""

    def __init__(self, size: float) -> None:
        self.size = size

    def many(self, count: int) -> int:
        """`count` scaled to the size of the site, at least 3."""
        return max(3, round(count * self.size))

    def contents(self) -> list[str]:
        """Ids of all contents that are linked somewhere; the section's front page first."""
        raise NotImplementedError

    def spell(self, content: str, rng: Random) -> str:
        """One of the spellings (path and query) under which a content is linked."""
        raise NotImplementedError

    def canonical(self, content: str) -> str:
        """The spelling the section itself prefers."""
        raise NotImplementedError

    def route(self, path: str, query: str) -> Target:
        """Where path (percent-decoded) and query lead."""
        raise NotImplementedError

    def body(self, content: str) -> Body:
        """What stands on the page."""
        raise NotImplementedError

    def strays(self) -> list[tuple[str, int]]:
        """Names of links without a content of their own (login pages, dead links), with their count."""
        return []

    def stray(self, name: str, rng: Random) -> str:
        """A spelling of such a link."""
        raise NotImplementedError


# How planted rules rewrite: on the text of the URL, by nothing of undust's own, so that they can judge it.

_TARGET = re.compile(r"(https?://[^/?#]*)([^#]*)(.*)", re.DOTALL)


def replace(pattern: str, by: str) -> Callable[[str], str | None]:
    """Replace once in path and query.

    >>> replace(r"^/story_(\\d+)$", r"/story?id=\\1")("http://a.test/story_7")
    'http://a.test/story?id=7'
    """
    compiled = re.compile(pattern)

    def rewrite(url: str) -> str | None:
        found = _TARGET.fullmatch(url)
        if not found:
            return None
        head, target, tail = found.groups()
        changed, times = compiled.subn(by, target, count=1)
        return head + changed + tail if times and changed != target else None

    return rewrite


def drop(name: str, value: str = "[^&;]*", path: str = "", given: str = "") -> Callable[[str], str | None]:
    """Drop a parameter (a regex) where the path starts so, and where another field is there too.

    >>> drop("sid", path="/forum/")("http://a.test/forum/x?sid=1&t=2")
    'http://a.test/forum/x?t=2'
    >>> drop("sid", path="/forum/")("http://a.test/forum/x?sid=1")
    'http://a.test/forum/x'
    """
    gone = re.compile(f"{name}(=({value}))?")
    start = re.compile(path)

    def rewrite(url: str) -> str | None:
        found = _TARGET.fullmatch(url)
        if not found or not start.match(found[2]):
            return None
        target, mark, query = found[2].partition("?")
        separator = ";" if ";" in query and "&" not in query else "&"
        pieces = query.split(separator)
        kept = [piece for piece in pieces if not gone.fullmatch(piece)]
        if not mark or len(kept) == len(pieces) or (given and given not in kept):
            return None
        return found[1] + target + ("?" if kept else "") + separator.join(kept) + found[3]

    return rewrite
