"""Traps: numbered files of one size, sections that only look alike, case that matters here and not there."""

from __future__ import annotations

from random import Random

from undust.demo.prose import WORDS, article, number, paragraph, title
from undust.demo.sections.section import NOT_FOUND, Body, Planted, Section, Target, replace


class Files(Section):
    """`/files/7.html`, `/images/7` and `/thumbnails/7`, `/code/README` and `/code/readme`."""

    prefixes = ("files", "images", "thumbnails", "code")
    front = "files/"
    leafy = True
    planted = (
        Planted(
            "files-number",
            "/files/1.html is /files/2.html",
            False,
            replace(r"^/files/\d+\.html", "/files/1.html"),
        ),
        Planted("files-thumbnails", "/thumbnails/ is /images/", False, replace("^/thumbnails/", "/images/")),
        Planted(
            "code-case",
            "/code/: case does not matter",
            False,
            lambda url: url.lower() if "/code/" in url and url != url.lower() else None,
        ),
    )

    def contents(self) -> list[str]:
        return [
            "files/",
            *(f"files/{i}" for i in range(1, self.many(80) + 1)),
            *(f"images/{i}" for i in range(1, self.many(50) + 1)),
            *(f"thumbnails/{i}" for i in range(1, self.many(50) + 1)),
            *(f"code/{word.upper()}" for word in WORDS[: self.many(14)]),
            *(f"code/{word}" for word in WORDS[: self.many(14)]),
        ]

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.known = set(self.contents())

    def canonical(self, content: str) -> str:
        numbered = content.startswith("files/") and content != "files/"
        return f"/{content}.html" if numbered else f"/{content}"

    def spell(self, content: str, rng: Random) -> str:
        return self.canonical(content)

    def route(self, path: str, query: str) -> Target:
        content = path[1:]
        if content.startswith("files/") and content != "files/":
            content = content.removesuffix(".html") if content.endswith(".html") else ""
        return Target(content, view="file") if content in self.known else NOT_FOUND

    def body(self, content: str) -> Body:
        match content.split("/"):
            case ["files", ""]:
                return Body("Directory", ["Numbered files, pictures, code."])
            case ["files", i]:
                # Rows of fixed width: all these files have one size, give or take a digit.
                rows = [
                    " ".join(f"{number(f'file {i} {r} {c}', 10**5, 10**6 - 1)}" for c in range(8))
                    for r in range(12)
                ]
                return Body("Measurements", rows)
            case ["images" | "thumbnails", _]:
                return Body("Picture", [paragraph(content, 60)])
        return Body(title(content), article(content))


class Help(Section):
    """`/help/Install.aspx`: a server that does not look at case."""

    prefixes = ("help",)
    front = "help/"
    planted = (
        Planted(
            "help-case",
            "/help/: case does not matter",
            True,
            lambda url: url.lower() if "/help/" in url and url != url.lower() else None,
        ),
    )

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.topics = list(dict.fromkeys(title(f"help {i}").replace(" ", "") for i in range(self.many(50))))
        self.known = {topic.lower() for topic in self.topics}

    def contents(self) -> list[str]:
        return ["help/", *(f"help/{topic.lower()}" for topic in self.topics)]

    def canonical(self, content: str) -> str:
        return f"/{content}.aspx" if content != "help/" else "/help/"

    def spell(self, content: str, rng: Random) -> str:
        plain = self.canonical(content)
        name = plain.removeprefix("/help/")
        return plain.removesuffix(name) + rng.choice(
            [name, name.capitalize(), name.capitalize(), name.upper()]
        )

    def route(self, path: str, query: str) -> Target:
        name = path.lower().removeprefix("/help/")
        if name == "":
            return Target("help/")
        known = name.endswith(".aspx") and name.removesuffix(".aspx") in self.known
        return Target(f"help/{name.removesuffix('.aspx')}") if known else NOT_FOUND

    def body(self, content: str) -> Body:
        return Body(title(content), article(content))
