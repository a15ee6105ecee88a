"""A second forum, in the manner of SMF: parameters in the path, `;` between fields, a topic on one page."""

from __future__ import annotations

from bisect import bisect_right
from random import Random

from undust.demo.prose import WORDS, number, paragraph, title
from undust.demo.sections.section import (
    NO_TOPIC,
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


class Talk(Section):
    """`/talk/topic,12.msg34.html` and `/talk/index.php?topic=12.0`."""

    prefixes = ("talk",)
    front = "talk/index"
    planted = (
        Planted(
            "talk-message",
            "/talk/topic,T.msgM.html is /talk/topic,T.0.html (a topic is shown on one page)",
            True,
            replace(r"^/talk/topic,(\d+)\.msg\d+\.html", r"/talk/topic,\1.0.html"),
        ),
        Planted(
            "talk-query",
            "/talk/index.php?topic=T.0 is /talk/topic,T.0.html",
            True,
            replace(r"^/talk/index\.php\?topic=(\d+)\.0$", r"/talk/topic,\1.0.html"),
        ),
        Planted(
            "talk-query-message",
            "/talk/index.php?topic=T.msgM is ?topic=T.0",
            True,
            replace(r"^(/talk/index\.php\?.*?topic=\d+)\.msg\d+", r"\1.0"),
        ),
        Planted(
            "talk-print",
            "/talk/index.php?action=printpage;topic=T.0 is /talk/topic,T.0.html",
            True,
            replace(r"^/talk/index\.php\?action=printpage;topic=(\d+)\.0$", r"/talk/topic,\1.0.html"),
        ),
        Planted("talk-seen", "/talk/: drop topicseen", True, drop("topicseen", path="/talk/")),
        Planted("talk-session", "/talk/: drop PHPSESSID", True, drop("PHPSESSID", path="/talk/")),
        Planted(
            "talk-board",
            "/talk/index.php?board=B.0 is /talk/board,B.0.html",
            True,
            replace(r"^/talk/index\.php\?board=(\d+)\.0$", r"/talk/board,\1.0.html"),
        ),
        Planted(
            "talk-next",
            "/talk/topic,T.0/prev_next,next.html is the topic itself (it is the next one)",
            False,
            replace(r"^(/talk/topic,\d+\.0)/prev_next,next\.html", r"\1.html"),
        ),
        Planted(
            "talk-number",
            "/talk/topic,T.0.html: the number does not matter",
            False,
            replace(r"^/talk/topic,\d+\.", r"/talk/topic,1."),
        ),
    )

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.topics = range(1, self.many(120) + 1)
        self.boards = range(1, self.many(6) + 1)
        self.first_message = [101]
        for t in self.topics:
            self.first_message.append(self.first_message[-1] + number(f"talk messages {t}", 1, 9))

    def contents(self) -> list[str]:
        return [
            "talk/index",
            *(f"talk/board/{b}" for b in self.boards),
            *(f"talk/topic/{t}" for t in self.topics),
        ]

    def canonical(self, content: str) -> str:
        match content.split("/")[1:]:
            case ["index"]:
                return "/talk/"
            case ["board", b]:
                return f"/talk/board,{b}.0.html"
            case ["topic", t]:
                return f"/talk/topic,{t}.0.html"
        raise ValueError(content)

    def spell(self, content: str, rng: Random) -> str:
        kind, *number_ = content.split("/")[1:]
        if kind == "index":
            return "/talk/" if rng.random() < 0.7 else "/talk/index.php"
        n = int(number_[0])
        session = f"PHPSESSID={hex_id(rng)}&" if rng.random() < 0.2 else ""
        if kind == "board":
            return self.canonical(content) if rng.random() < 0.5 else f"/talk/index.php?{session}board={n}.0"
        message = rng.randrange(self.first_message[n - 1], self.first_message[n])
        place = f"msg{message}" if rng.random() < 0.5 else "0"
        dice = rng.random()
        if dice < 0.1:
            return f"/talk/index.php?action=printpage;topic={n}.0"
        if dice < 0.15 and n > 1:
            return f"/talk/topic,{n - 1}.0/prev_next,next.html"
        if dice < 0.45:
            seen = ";topicseen" if not session and rng.random() < 0.3 else ""
            return f"/talk/index.php?{session}topic={n}.{place}{seen}"
        return f"/talk/topic,{n}.{place}.html"

    def route(self, path: str, query: str) -> Target:
        name = path.removeprefix("/talk/")
        if name in ("", "index.php"):
            asked = fields(query, "&;")
            if "board" in asked:
                return self._board(asked["board"])
            if "topic" in asked:
                view = "print" if asked.get("action") == "printpage" else "page"
                return self._topic(asked["topic"], view)
            return Target("talk/index")
        if name.endswith("/prev_next,next.html"):
            here = self._topic(name.removeprefix("topic,").removesuffix("/prev_next,next.html")).content
            following = int(here.rpartition("/")[2]) + 1 if here and here.startswith("talk/") else 0
            return Target(f"talk/topic/{following}") if following in self.topics else NO_TOPIC
        kind, _, rest = name.removesuffix(".html").partition(",")
        if not name.endswith(".html") or kind not in ("topic", "board"):
            return NOT_FOUND
        return self._topic(rest) if kind == "topic" else self._board(rest)

    def _topic(self, asked: str, view: str = "page") -> Target:
        t, _, place = asked.partition(".")
        if not _plain(t) or int(t) not in self.topics:
            return NO_TOPIC
        message = place.removeprefix("msg")
        if place != "0" and not (
            place.startswith("msg") and _plain(message) and self._topic_of(int(message)) == int(t)
        ):
            return NO_TOPIC
        return Target(f"talk/topic/{t}", view=view)

    def _topic_of(self, message: int) -> int:
        return bisect_right(self.first_message, message)

    def _board(self, asked: str) -> Target:
        b, _, start = asked.partition(".")
        return Target(f"talk/board/{b}") if _plain(b) and int(b) in self.boards and start == "0" else NO_TOPIC

    def body(self, content: str) -> Body:
        match content.split("/")[1:]:
            case ["index"]:
                return Body("Talk", [f"Board {b}: {title(f'talk board {b}')}" for b in self.boards])
            case ["board", b]:
                topics = [t for t in self.topics if t % len(self.boards) == int(b) % len(self.boards)]
                return Body(f"Talk board {b}", [title(f"talk {t}") for t in topics])
            case ["topic", t]:
                messages = range(self.first_message[int(t) - 1], self.first_message[int(t)])
                return Body(title(f"talk {t}"), [self._message(m) for m in messages])
        raise ValueError(content)

    def _message(self, m: int) -> str:
        said = paragraph(f"message {m}", number(f"message {m}", 20, 60))
        return f"{WORDS[number(f'speaker {m}', 0, 99)]}: {said}"

    def strays(self) -> list[tuple[str, int]]:
        return [("no-topic", self.many(20))]

    def stray(self, name: str, rng: Random) -> str:
        return f"/talk/topic,{rng.randrange(7000, 7999)}.0.html"


def _plain(digits: str) -> bool:
    return digits.isascii() and digits.isdigit() and digits == str(int(digits))
