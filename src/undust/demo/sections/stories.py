"""A news site: two styles of story URLs, print views, a parameter that may go only beside another."""

from __future__ import annotations

from random import Random

from undust.demo.prose import article, number, title
from undust.demo.sections.section import (
    NOT_FOUND,
    Body,
    Planted,
    Section,
    Target,
    drop,
    fields,
    hex_id,
    replace,
)


class Stories(Section):
    """`/story_7`, `/story?id=7`, `/thread_7`, `/newsvac/06/06/27/2.shtml`."""

    prefixes = ("story", "story.php3", "thread", "stories", "newsvac", "print.pl")
    front = "stories"
    planted = (
        Planted("story-style", "/story_N is /story?id=N", True, replace(r"^/story_(\d+)$", r"/story?id=\1")),
        Planted("story-php", "/story.php3?… is /story?…", True, replace(r"^/story\.php3\?", "/story?")),
        Planted(
            "story-empty",
            "/story: &LastView=&Close= may go",
            True,
            replace(r"^(/story.*)&LastView=&Close=", r"\1"),
        ),
        Planted(
            "story-tvqz",
            "/story: drop tvqz where NewOnly=1 is there too",
            True,
            drop("tvqz", path="/story", given="NewOnly=1"),
        ),
        Planted("story-session", "/story: drop PHPSESSID", True, drop("PHPSESSID", path="/story")),
        Planted(
            "story-print", "/story/print/N is /story_N", True, replace(r"^/story/print/(\d+)$", r"/story_\1")
        ),
        Planted(
            "thread-style", "/thread_N is /thread?rep=N", True, replace(r"^/thread_(\d+)$", r"/thread?rep=\1")
        ),
        Planted(
            "newsvac",
            "/print.pl?sid=YY/MM/DD/N is /newsvac/YY/MM/DD/N.shtml (two places at once)",
            True,
            replace(r"^/print\.pl\?sid=(\d\d/\d\d/\d\d/\d+)$", r"/newsvac/\1.shtml"),
        ),
        Planted(
            "newsvac-sid",
            "/print.pl: drop sid (a session elsewhere, here the content)",
            False,
            drop("sid", path="/print.pl"),
        ),
        Planted(
            "story-tvqz-alone",
            "/story: drop tvqz (alone it chooses the teaser)",
            False,
            drop("tvqz", path="/story"),
        ),
        Planted("story-new", "/story: drop NewOnly", False, drop("NewOnly", path="/story")),
        Planted("story-thread", "/story_N is /thread_N", False, replace(r"^/story_", "/thread_")),
    )

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.stories = range(1, self.many(180) + 1)
        self.threads = range(1, self.many(60) + 1)
        dates = [(number(f"month {i}", 1, 12), number(f"day {i}", 1, 28)) for i in range(self.many(60))]
        numbered = [f"06/{month:02d}/{day:02d}/{1 + i % 4}" for i, (month, day) in enumerate(dates)]
        self.vac = list(dict.fromkeys(numbered))

    def contents(self) -> list[str]:
        found = ["stories"]
        for n in self.stories:
            found.append(f"story/{n}")
            if n % 6 == 0:
                found.append(f"story/{n}/new")
            if n % 12 == 1:
                found += [f"story/{n}/teaser1", f"story/{n}/teaser2"]
        return found + [f"thread/{n}" for n in self.threads] + [f"newsvac/{v}" for v in self.vac]

    def canonical(self, content: str) -> str:
        match content.split("/"):
            case ["stories"]:
                return "/stories/"
            case ["story", n]:
                return f"/story_{n}"
            case ["story", n, "new"]:
                return f"/story?id={n}&NewOnly=1"
            case ["story", n, teaser]:
                return f"/story?id={n}&tvqz={teaser[-1]}"
            case ["thread", n]:
                return f"/thread_{n}"
            case ["newsvac", *which]:
                return f"/newsvac/{'/'.join(which)}.shtml"
        raise ValueError(content)

    def spell(self, content: str, rng: Random) -> str:
        match content.split("/"):
            case ["thread", n]:
                return f"/thread_{n}" if rng.random() < 0.5 else f"/thread?rep={n}"
            case ["newsvac", *which] if rng.random() < 0.5:
                return f"/print.pl?sid={'/'.join(which)}"
            case ["story", n, *extra]:
                dice = rng.random()
                if not extra and dice < 0.12:
                    return f"/story/print/{n}"
                query = self.canonical(content).partition("?")[2]
                if not extra and dice < 0.5:
                    query = ""
                path = f"/story_{n}" if not query else rng.choice(["/story", "/story", "/story.php3"])
                if not extra and not query and dice > 0.3:
                    path, query = rng.choice(["/story", "/story", "/story.php3"]), f"id={n}"
                if extra == ["new"] and rng.random() < 0.5:
                    query += f"&tvqz={rng.randint(1, 2)}"
                if query and rng.random() < 0.3:
                    query += "&LastView=&Close="
                if rng.random() < 0.2:
                    query += ("&" if query else "") + f"PHPSESSID={hex_id(rng)}"
                return path + ("?" if query else "") + query
        return self.canonical(content)

    def route(self, path: str, query: str) -> Target:
        asked = fields(query)
        match path.split("/")[1:]:
            case ["stories", ""]:
                return Target("stories")
            case ["print.pl"] if asked.get("sid") in self.vac:
                return Target(f"newsvac/{asked['sid']}", view="print")
            case ["newsvac", *which] if path.endswith(".shtml"):
                dated = "/".join(which).removesuffix(".shtml")
                return Target(f"newsvac/{dated}") if dated in self.vac else NOT_FOUND
            case ["story", "print", n] if self._known(n, self.stories):
                return Target(f"story/{n}", view="print")
            case ["story" | "story.php3"]:
                return self._story(asked.get("id", ""), asked)
            case ["thread"] if self._known(asked.get("rep", ""), self.threads):
                return Target(f"thread/{asked['rep']}")
            case [one] if one.startswith("story_"):
                return self._story(one.removeprefix("story_"), asked)
            case [one] if one.startswith("thread_") and self._known(
                one.removeprefix("thread_"), self.threads
            ):
                return Target(f"thread/{one.removeprefix('thread_')}")
        return NOT_FOUND

    def _story(self, n: str, asked: dict[str, str]) -> Target:
        if not self._known(n, self.stories):
            return NOT_FOUND
        if asked.get("NewOnly") == "1":
            return Target(f"story/{n}/new")
        if asked.get("tvqz") in ("1", "2"):
            return Target(f"story/{n}/teaser{asked['tvqz']}")
        return Target(f"story/{n}")

    @staticmethod
    def _known(n: str, among: range) -> bool:
        return n.isascii() and n.isdigit() and n == str(int(n)) and int(n) in among

    def body(self, content: str) -> Body:
        if content == "stories":
            return Body("All stories", [title(f"story/{n}") for n in self.stories])
        return Body(title(content), article(content))

    def strays(self) -> list[tuple[str, int]]:
        return [("dead", self.many(15))]

    def stray(self, name: str, rng: Random) -> str:
        return f"/story_{rng.randrange(50_000, 60_000)}"
