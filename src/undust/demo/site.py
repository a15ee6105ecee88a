"""The demo site as a whole: which URL leads where, what is linked from where, and the pages themselves."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from urllib.parse import unquote, urljoin, urlsplit

from undust.demo.prose import number, paragraph
from undust.demo.sections import ALL, Body, Section, Target
from undust.demo.sections.section import NOT_FOUND

HOST = "demo.undust.test"
HOSTS = (HOST, f"www.{HOST}")
START = datetime(2026, 1, 1, tzinfo=UTC)
"""When the site's clock begins; it moves on by one second a request, so a crawl can be repeated exactly."""

TRACKING = ("utm_source", "utm_medium", "utm_campaign", "fbclid")
FAN_OUT = 8
SPELLINGS = (1, 2, 3, 4, 6, 9)
"""How many links lead to a content, each in a spelling of its own …"""
SPELLING_ODDS = (30, 30, 20, 12, 6, 2)
"""… and how often."""

SOFT = {
    "soft/login": Body(
        "Log in", ["You must log in to do that.", "Name and password, please. Have you forgotten them?"]
    ),
    "soft/nothing-found": Body("Nothing found", ["No posts match your search. Try fewer words."]),
    "soft/no-topic": Body("Information", ["The topic or post you asked for does not exist."]),
}
ADVERTISEMENTS = tuple(paragraph(f"advertisement {i}", 6) for i in range(12))


@dataclass(frozen=True)
class Reply:
    """What the server answers."""

    status: int
    body: bytes
    location: str = ""
    content_type: str = "text/html; charset=utf-8"


class DemoSite:
    """A small web site with known DUST.

    `seed` decides spellings, links, advertisements and popularity; `size` how much there is (1: some 1,600
    contents under 3,900 URLs). The texts themselves are always the same.

    >>> site = DemoSite(size=0.1)
    >>> site.content_id("http://www.demo.undust.test/story_7?utm_source=mail")
    'story/7'
    >>> site.content_id("http://demo.undust.test/story?id=7") == site.content_id("http://demo.undust.test/story_7")
    True
    >>> site.content_id("http://demo.undust.test/story_99999") is None
    True
    """

    def __init__(self, seed: int = 1, size: float = 1.0) -> None:
        self.seed, self.size = seed, size
        self.sections: list[Section] = [section(size) for section in ALL]
        self._by_prefix = {prefix: section for section in self.sections for prefix in section.prefixes}
        self._ticks = itertools.count()
        self._static = lru_cache(maxsize=20_000)(self._render)
        self.links: dict[str, list[str]] = {}
        self._link()

    # Where a URL leads

    def route(self, url: str) -> Target:
        """The answer to one request, without its body.

        Reads URLs with the standard library only: it must be able to judge undust's own reading.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return NOT_FOUND
        if parts.scheme not in ("http", "https") or parts.hostname not in HOSTS or port not in (None, 80):
            return NOT_FOUND
        path = unquote(
            urlsplit(urljoin(url, "./" if not parts.path else parts.path)).path if "/." in url else parts.path
        )
        if path in ("", "/", "/index.html"):
            return Target("home")
        first = path.split("/")[1] if path.startswith("/") else ""
        section = (
            self._by_prefix.get(first)
            or self._by_prefix.get(first[:1])
            or self._by_prefix.get(first.split("_")[0])
        )
        return section.route(path, parts.query) if section else NOT_FOUND

    def content_id(self, url: str) -> str | None:
        """The true identity of what stands under a URL, redirects followed; None if it is an error."""
        for _ in range(5):
            target = self.route(url)
            if not target.location:
                return target.content
            url = urljoin(url, target.location)
        return None

    # What is linked

    def contents(self) -> Iterator[tuple[Section, str]]:
        """All contents of all sections that are linked somewhere, the home page aside."""
        for section in self.sections:
            for content in section.contents():
                yield section, content

    def spell(self, section: Section, content: str, rng: Random) -> str:
        """A URL of a content as somebody may have linked it."""
        return self._dress(section.spell(content, rng), rng)

    def stray(self, section: Section, name: str, rng: Random) -> str:
        """A URL that leads to a login page, an empty result, a redirect or nothing."""
        return self._dress(section.stray(name, rng), rng)

    def _dress(self, target: str, rng: Random) -> str:
        if ";" not in target and rng.random() < 0.06:
            tracked = f"{rng.choice(TRACKING)}={rng.choice(['mail', 'feed', 'home', 'partner'])}"
            target += ("&" if "?" in target else "?") + tracked
        return f"http://{HOSTS[rng.random() < 0.2]}{target}"

    def _link(self) -> None:
        """Hand out the links: a tree per section, so that all is reachable, and more spellings at random."""
        rng = Random(f"links {self.seed}")
        for section in self.sections:
            contents = section.contents()
            carriers = contents[:1] if section.leafy else contents
            for i, content in enumerate(contents[1:]):
                wanted = rng.choices(SPELLINGS, SPELLING_ODDS)[0]
                spelled = list(dict.fromkeys(self.spell(section, content, rng) for _ in range(wanted)))
                parent = carriers[0] if section.leafy else contents[i // FAN_OUT]
                for where, url in zip(
                    [parent, *rng.choices(carriers, k=len(spelled))], spelled, strict=False
                ):
                    self.links.setdefault(where, []).append(url)
            for name, count in section.strays():
                for _ in range(count):
                    self.links.setdefault(rng.choice(carriers), []).append(self.stray(section, name, rng))

    # Pages

    def fetch(self, url: str) -> Reply:
        """Answer a request. Two answers to one URL differ in clock and advertisements, as on a real site."""
        target = self.route(url)
        if target.location:
            return Reply(target.status, b"Moved.\n", urljoin(url, target.location), "text/plain")
        if target.content is None:
            return Reply(target.status, b"<!doctype html><title>Not found</title><p>There is nothing here.\n")
        static = self._static(target.content, target.view)
        return Reply(target.status, static % self._noise() if target.view != "file" else static)

    def base_size(self, target: Target) -> int:
        """Bytes of a page without advertisements: a cheap stand-in for fetching it."""
        return len(self._static(target.content, target.view)) if target.content else 64

    def _noise(self) -> bytes:
        tick = next(self._ticks)
        rng = Random(f"noise {self.seed} {tick}")
        now = START + timedelta(seconds=tick)
        return f"{rng.choice(ADVERTISEMENTS)} {now:%H:%M:%S}, {rng.randint(3, 99)} guests.".encode()

    def section_of(self, content: str) -> Section | None:
        """The section a content belongs to; None for the home page and the soft pages."""
        return self._by_prefix.get(content.split("/")[0])

    def body(self, content: str) -> Body:
        """Heading and own text of a content: what two visitors agree on."""
        section = self.section_of(content)
        if section:
            return section.body(content)
        return SOFT.get(content) or Body("The demo site", ["A small web site whose duplicates are known."])

    def canonical(self, content: str) -> str | None:
        """What `<link rel=canonical>` says: often nothing, mostly right, sometimes wrong or broken."""
        section = self.section_of(content)
        dice = number(f"canonical {content}", 1, 100)
        if not section or dice > 40:
            return None
        right = section.canonical(content)
        if dice <= 2:
            return HOST + right  # without the scheme it is a relative link
        return f"http://{HOST}{right if dice > 5 else section.canonical(section.front)}"

    def _render(self, content: str, view: str) -> bytes:
        """The page, with a place for noise unless it is a file; equal for all URLs of a content and view."""
        body = self.body(content)
        own = "".join(f"<p>{html.escape(text)}</p>\n" for text in body.paragraphs)
        section = self.section_of(content)
        canonical = self.canonical(content) if view != "file" else None
        head = f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>{body.title}</title>\n"
        if canonical:
            head += f'<link rel="canonical" href="{html.escape(canonical)}">\n'
        right = section.canonical(content) if section else "/"
        if view == "print" and self.route(f"http://{HOST}{right}").view != "print":
            back = html.escape(right)
            page = f'{head}<h1>{body.title}</h1>\n{own}<p><a href="{back}">Back</a></p>\n<small>%s</small>\n'
        else:
            page = f"{head}{self._menu()}<h1>{body.title}</h1>\n{own}<ul>\n{self._list(content)}</ul>\n"
            page += "<footer>The demo site. Nothing here is real.</footer>\n"
            page += "" if view == "file" else "<aside>%s</aside>\n"
        return page.encode() if view == "file" else page.replace("%", "%%").replace("%%s", "%s").encode()

    def _list(self, content: str) -> str:
        rows = []
        for url in self.links.get(content, ()):
            leads_to = self.content_id(url)
            label = self.body(leads_to).title if leads_to else "More"
            rows.append(f'<li><a href="{html.escape(url)}">{html.escape(label)}</a>\n')
        return "".join(rows)

    def _menu(self) -> str:
        fronts = [section.canonical(section.front) for section in self.sections]
        links = " ".join(f'<a href="{front}">{front.strip("/").capitalize()}</a>' for front in fronts)
        return f'<nav><a href="/">Home</a> {links}</nav>\n'
