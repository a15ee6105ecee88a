"""Static documents: index files, double slashes, home directories, sortable listings. No clock, no ad."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from undust.demo.prose import WORDS, article, number, title
from undust.demo.sections.section import NOT_FOUND, Body, Planted, Section, Target, fields, replace

PEOPLE = (
    "ann",
    "bob",
    "cleo",
    "dan",
    "eva",
    "finn",
    "gus",
    "hal",
    "ida",
    "jon",
    "kay",
    "lee",
    "mia",
    "ned",
    "oda",
)

SORT_KEYS: dict[str, Callable[[str], str | int]] = {
    "N": lambda name: name,
    "M": lambda name: number(f"date {name}", 0, 10**6),
    "S": lambda name: number(f"bytes {name}", 0, 10**6),
}


class Docs(Section):
    """`/docs/`, `/~user/` and `/people/user/`."""

    prefixes = ("docs", "people", "~")
    front = "docs/"
    planted = (
        Planted(
            "docs-index",
            "/docs/…/index.html is /docs/…/",
            True,
            replace(r"^(/docs/(?:.*/)?)index\.html", r"\1"),
        ),
        Planted("docs-slashes", "/docs/: // is /", True, replace(r"^(/docs[^?]*?)//+", r"\1/")),
        Planted(
            "docs-query", "/docs/*.html: any query may go", True, replace(r"^(/docs/[^?]*\.html)\?.*$", r"\1")
        ),
        Planted("docs-redirect", "/docs/guide is /docs/guide/", True, replace(r"^(/docs/guide\d+)$", r"\1/")),
        Planted("docs-people", "/~U/ is /people/U/", True, replace(r"^/(?:~|%7[eE])(\w+)/", r"/people/\1/")),
        Planted(
            "docs-listing",
            "/docs/pub*/: ?C=N;O=A is the listing itself",
            True,
            replace(r"^(/docs/pub\w+/)\?C=N;O=A$", r"\1"),
        ),
        Planted(
            "docs-any-listing",
            "/docs/pub*/: every sorting is the same",
            False,
            replace(r"^(/docs/pub\w+/)\?C=.*$", r"\1"),
        ),
        Planted(
            "docs-guides",
            "/docs/guideN/: N does not matter",
            False,
            replace(r"^/docs/guide\d+/", "/docs/guide1/"),
        ),
    )

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.guides = range(1, self.many(16) + 1)
        self.pages = [f"page{i}.html" for i in range(1, 7)]
        self.people = PEOPLE[: self.many(15)]
        self.listings = [f"pub{word}" for word in WORDS[: self.many(8)]]

    def contents(self) -> list[str]:
        found = ["docs/"]
        for listing in self.listings:
            found += [f"docs/{listing}/{sorting}" for sorting in ("N/A", "N/D", "M/A", "S/A")]
        for g in self.guides:
            found += [f"docs/guide{g}/", *(f"docs/guide{g}/{page}" for page in self.pages)]
        return found + [
            f"people/{user}/{page}" for user in self.people for page in ("", "cv.html", "work.html")
        ]

    def canonical(self, content: str) -> str:
        match content.split("/"):
            case ["docs", listing, "N", "A"]:
                return f"/docs/{listing}/"
            case ["docs", listing, column, order]:
                return f"/docs/{listing}/?C={column};O={order}"
        return "/" + content

    def spell(self, content: str, rng: Random) -> str:
        url = self.canonical(content)
        if content.startswith("docs/pub"):
            return url + "?C=N;O=A" if url.endswith("/") and rng.random() < 0.4 else url
        if content.startswith("people/"):
            home = rng.choice(["/people/", "/~", "/~", "/%7E", "/%7e"])
            url = url.replace("/people/", home, 1)
            return url + ("index.html" if url.endswith("/") and rng.random() < 0.3 else "")
        dice = rng.random()
        if url.endswith("/"):
            if dice < 0.35:
                url += "index.html"
            elif dice < 0.5 and url != "/docs/":
                url = url.removesuffix("/")
        if rng.random() < 0.2:
            url = url.replace("/docs/", "/docs//", 1)
        if url.endswith(".html") and rng.random() < 0.2:
            url += rng.choice(["?print=1", "?from=home", f"?v={rng.randint(1, 9)}", "?"])
        return url

    def route(self, path: str, query: str) -> Target:
        clean = re.sub("//+", "/", path)
        if clean.startswith("/~"):
            clean = "/people/" + clean[2:]
        clean = clean.removesuffix("index.html") if clean.endswith("/index.html") else clean
        match clean.split("/")[1:]:
            case ["docs", ""]:
                return Target("docs/", view="file")
            case ["docs", listing, ""] if listing in self.listings:
                asked = fields(query, "&;")
                column, order = asked.get("C", "N"), asked.get("O", "A")
                known = column in SORT_KEYS and order in ("A", "D")
                return Target(
                    f"docs/{listing}/{column}/{order}" if known else f"docs/{listing}/N/A", view="file"
                )
            case ["docs"]:
                return Target(status=301, location="/docs/")
            case ["docs", guide] if self._guide(guide) or guide in self.listings:
                return Target(status=301, location=clean + "/")
            case ["docs", guide, page] if self._guide(guide) and page in ("", *self.pages):
                return Target(clean[1:], view="file")
            case ["people", user, page] if user in self.people and page in ("", "cv.html", "work.html"):
                return Target(clean[1:], view="file")
        return NOT_FOUND

    def _guide(self, name: str) -> bool:
        return name in {f"guide{g}" for g in self.guides}

    def body(self, content: str) -> Body:
        match content.split("/"):
            case ["docs", listing, column, order]:
                names = [f"{WORDS[number(f'{listing} {i}', 0, 249)]}{i}.txt" for i in range(18)]
                rows = sorted(names, key=SORT_KEYS[column], reverse=order == "D")
                sizes = [f"{name} {number(f'bytes {name}', 0, 10**6)} bytes" for name in rows]
                return Body(f"Index of /docs/{listing}", sizes)
        return Body(title(content), article(content))

    def strays(self) -> list[tuple[str, int]]:
        return [("dead", self.many(12))]

    def stray(self, name: str, rng: Random) -> str:
        return f"/docs/guide{rng.randrange(100, 999)}/"
