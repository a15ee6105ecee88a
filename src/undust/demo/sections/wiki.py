"""A wiki in the manner of MediaWiki: two URL forms, aliases and redirects, histories and old revisions."""

from __future__ import annotations

from random import Random
from urllib.parse import quote, unquote

from undust.demo.prose import WORDS, article, number, title
from undust.demo.sections.section import (
    LOGIN,
    NOT_FOUND,
    Body,
    Planted,
    Section,
    Target,
    drop,
    fields,
    pairs,
    replace,
)


class Wiki(Section):
    """`/wiki/X` is `/index.php?title=X`."""

    prefixes = ("wiki", "index.php")
    front = "wiki/Main_page"
    planted = (
        Planted(
            "wiki-title",
            "/index.php?title=X is /wiki/X",
            True,
            replace(r"^/index\.php\?title=([^&;:+]+)$", r"/wiki/\1"),
        ),
        Planted("wiki-view", "/index.php: drop action=view", True, drop("action", "view", "/index.php")),
        Planted(
            "wiki-printable", "/index.php: drop printable=yes", True, drop("printable", "yes", "/index.php")
        ),
        Planted("wiki-limit", "/index.php: drop limit=50", True, drop("limit", "50", "/index.php")),
        Planted("wiki-space", "/wiki/: %20 is _", True, replace(r"^(/wiki/[^?]*?)%20", r"\1_")),
        Planted(
            "wiki-plus", "/index.php?title=: + is _", True, replace(r"^(/index\.php\?title=[^&]*?)\+", r"\1_")
        ),
        Planted("wiki-any-action", "/index.php: drop action", False, drop("action", path="/index.php")),
        Planted("wiki-revision", "/index.php: drop oldid", False, drop("oldid", path="/index.php")),
        Planted("wiki-any-limit", "/index.php: drop limit", False, drop("limit", path="/index.php")),
        Planted(
            "wiki-slash", "/wiki/X is /wiki/X/ (not there)", False, replace(r"^(/wiki/[^?]*[^/?])$", r"\1/")
        ),
        Planted(
            "wiki-case",
            "/wiki/: case does not matter (beyond the first letter it does)",
            False,
            lambda url: url.lower() if "/wiki/" in url and url != url.lower() else None,
        ),
    )

    def __init__(self, size: float) -> None:
        super().__init__(size)
        names = [title(f"article {i}").replace(" ", "_") for i in range(self.many(120))]
        # Every twelfth article has a namesake that differs in the case of a later letter only.
        names += [f"{a}_{b.capitalize()}_{c}" for a, b, c in (n.split("_") for n in names[::12])]
        self.articles = list(dict.fromkeys(names))
        self.known = set(self.articles)
        # An alias is two words of the title. One half answers with the article, the other redirects to it.
        self.alias: dict[str, str] = {}
        for name in self.articles[::3]:
            self.alias.setdefault("_".join(name.split("_")[:2]), name)
        self.moved = set(list(self.alias)[::2])

    def contents(self) -> list[str]:
        found = ["wiki/Main_page"]
        for name in self.articles:
            found.append(f"wiki/{name}")
            if number(f"revisions {name}", 1, 3) == 1:
                found += [f"wiki/{name}/history", f"wiki/{name}/oldid/{number(f'old {name}', 100, 9999)}"]
            if number(f"short history {name}", 1, 10) == 1:
                found.append(f"wiki/{name}/history/20")
        return found

    def canonical(self, content: str) -> str:
        match content.split("/")[1:]:
            case [name]:
                return f"/wiki/{name}"
            case [name, "history"]:
                return f"/index.php?title={name}&action=history"
            case [name, "history", limit]:
                return f"/index.php?title={name}&action=history&limit={limit}"
            case [name, "oldid", which]:
                return f"/index.php?title={name}&oldid={which}"
        raise ValueError(content)

    def spell(self, content: str, rng: Random) -> str:
        name, *rest = content.split("/")[1:]
        aliases = [alias for alias, article_ in self.alias.items() if article_ == name]
        if not rest and aliases and rng.random() < 0.3:
            name = aliases[0]
        if rng.random() < 0.05:
            name = name[0].lower() + name[1:]
        if not rest and rng.random() < 0.55:
            return "/wiki/" + (name if rng.random() < 0.75 else quote(name.replace("_", " ")))
        given: list[tuple[str, object]] = [("title", name.replace("_", "+") if rng.random() < 0.2 else name)]
        if rest[:1] == ["history"]:
            given.append(("action", "history"))
            given += [("limit", rest[1])] if rest[1:] else [("limit", 50)] if rng.random() < 0.4 else []
        elif rest:
            given.append(("oldid", rest[1]))
        else:
            given += [("action", "view")] if rng.random() < 0.4 else []
            given += [("printable", "yes")] if rng.random() < 0.15 else []
        if rng.random() < 0.1:
            rng.shuffle(given)
        return f"/index.php?{pairs(*given)}"

    def route(self, path: str, query: str) -> Target:
        asked = fields(query)
        if path == "/index.php":
            return self._page(asked.get("title", "Main_page"), asked)
        if path in ("/wiki", "/wiki/"):
            return Target(status=301, location="/wiki/Main_page")
        return self._page(unquote(path.removeprefix("/wiki/")), asked)

    def _page(self, asked_name: str, asked: dict[str, str]) -> Target:
        name = asked_name.replace(" ", "_")
        name = name[:1].upper() + name[1:]
        if name in self.moved and not {"action", "oldid"} & asked.keys():
            return Target(status=301, location=f"/wiki/{self.alias[name]}")
        name = self.alias.get(name, name)
        if name not in self.known and name != "Main_page":
            return NOT_FOUND
        action, old = asked.get("action", "view"), asked.get("oldid", "")
        if action == "history":
            limit = asked.get("limit", "50")
            return Target(f"wiki/{name}/history" + ("" if limit != "20" else "/20"))
        if action in ("edit", "delete", "protect"):
            return LOGIN
        if old.isascii() and old.isdigit():
            return Target(f"wiki/{name}/oldid/{old}")
        return Target(f"wiki/{name}", view="print" if asked.get("printable") == "yes" else "page")

    def body(self, content: str) -> Body:
        name, *rest = content.split("/")[1:]
        heading = name.replace("_", " ")
        if name == "Main_page" and not rest:
            return Body("Main page", [f"Read about {n.replace('_', ' ')}." for n in self.articles[:40]])
        if rest[:1] == ["history"]:
            rows = int(rest[1]) if rest[1:] else 50
            edits = [
                f"{number(f'{name} edit {i}', 10, 28)} May, {WORDS[number(f'{name} editor {i}', 0, 99)]}: "
                + WORDS[number(f"{name} comment {i}", 0, 249)]
                for i in range(rows)
            ]
            return Body(f"History of {heading}", edits)
        return Body(heading, article(content))

    def strays(self) -> list[tuple[str, int]]:
        return [("edit", self.many(60)), ("dead", self.many(20))]

    def stray(self, name: str, rng: Random) -> str:
        article_ = rng.choice(self.articles)
        if name == "edit":
            return f"/index.php?title={article_}&action=edit"
        return rng.choice([f"/wiki/{article_}/", f"/wiki/{article_.lower()}x"])
