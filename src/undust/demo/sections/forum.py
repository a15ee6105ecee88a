"""A forum in the manner of phpBB: session ids, sort parameters with defaults, posts on pages, print views."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from random import Random

from undust.demo.prose import WORDS, number, paragraph, title
from undust.demo.sections.section import (
    LOGIN,
    NO_TOPIC,
    NOT_FOUND,
    Body,
    Planted,
    Section,
    Target,
    drop,
    fields,
    hex_id,
    pairs,
    replace,
)

PER_PAGE = 15
SORTS = ("lastpost", "title", "replies")


class Forum(Section):
    """`/forum/`: viewforum, viewtopic, printview, search, posting."""

    prefixes = ("forum",)
    front = "forum/index"
    planted = (
        Planted("forum-sid", "/forum/: drop sid", True, drop("sid", path="/forum/")),
        Planted("forum-start-0", "/forum/view*: drop start=0", True, drop("start", "0", "/forum/view")),
        Planted(
            "forum-default-order",
            "/forum/viewtopic.php: drop postorder=asc",
            True,
            drop("postorder", "asc", "/forum/viewtopic"),
        ),
        Planted(
            "forum-default-days",
            "/forum/viewtopic.php: drop postdays=0",
            True,
            drop("postdays", "0", "/forum/viewtopic"),
        ),
        Planted(
            "forum-highlight",
            "/forum/viewtopic.php: drop highlight",
            True,
            drop("highlight", path="/forum/viewtopic"),
        ),
        Planted(
            "forum-list-sort",
            "/forum/viewforum.php: drop sort=lastpost",
            True,
            drop("sort", "lastpost", "/forum/viewforum"),
        ),
        Planted(
            "forum-list-order",
            "/forum/viewforum.php: drop order=d",
            True,
            drop("order", "d", "/forum/viewforum"),
        ),
        Planted(
            "forum-any-start", "/forum/: drop start whatever it is", False, drop("start", path="/forum/")
        ),
        Planted(
            "forum-any-order",
            "/forum/viewtopic.php: drop postorder whatever it is",
            False,
            drop("postorder", path="/forum/viewtopic"),
        ),
        Planted(
            "forum-any-sort",
            "/forum/viewforum.php: drop sort whatever it is",
            False,
            drop("sort", path="/forum/viewforum"),
        ),
        Planted(
            "forum-view-next",
            "/forum/viewtopic.php: drop view=next (it is the next topic)",
            False,
            drop("view", "next", "/forum/viewtopic"),
        ),
        Planted(
            "forum-print",
            "/forum/printview.php is viewtopic.php (only while the topic has one page)",
            False,
            replace(r"^/forum/printview\.php", "/forum/viewtopic.php"),
        ),
        Planted(
            "forum-search",
            "/forum/search.php: drop q (true of empty results only)",
            False,
            drop("q", path="/forum/search"),
        ),
    )

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.topics = range(1, self.many(130) + 1)
        self.boards = range(1, self.many(10) + 1)
        # Post ids run through all topics; the id of a post does not tell its topic.
        self.first_post = [1001]
        for t in self.topics:
            self.first_post.append(self.first_post[-1] + self.posts(t))
        # Short boards may look the same in two orders; then they are one content, under the first name.
        self.same_list: dict[tuple[str, str, str], str] = {}
        for f in self.boards:
            seen: dict[tuple[str, ...], str] = {}
            for order in ("d", "a"):
                for sort in SORTS:
                    rows = tuple(self._rows(f, sort, order))
                    self.same_list[str(f), sort, order] = seen.setdefault(
                        rows, f"forum/list/{f}/{sort}/{order}"
                    )

    def posts(self, t: int) -> int:
        few = number(f"forum {t}", 1, 10) <= 7
        return (
            number(f"forum posts {t}", 2, PER_PAGE) if few else number(f"forum posts {t}", PER_PAGE + 1, 44)
        )

    def board_topics(self, f: int) -> list[int]:
        return [t for t in self.topics if t % len(self.boards) == f % len(self.boards)]

    def contents(self) -> list[str]:
        found = ["forum/index"]
        for f in self.boards:
            lists = [("lastpost", "d"), ("title", "a"), ("replies", "d")]
            found += dict.fromkeys(self.same_list[str(f), *how] for how in lists)
        for t in self.topics:
            found += [f"forum/topic/{t}/{start}/asc/0" for start in range(0, self.posts(t), PER_PAGE)]
            if number(f"forum other order {t}", 1, 4) == 1:
                found.append(f"forum/topic/{t}/0/desc/0")
            if number(f"forum other days {t}", 1, 8) == 1:
                found.append(f"forum/topic/{t}/0/asc/7")
            if self.posts(t) > PER_PAGE and number(f"forum printed {t}", 1, 2) == 1:
                found.append(f"forum/topic/{t}/all")
        return found + [f"forum/search/{word}" for word in WORDS[: self.many(10)]]

    def canonical(self, content: str) -> str:
        match content.split("/")[1:]:
            case ["index"]:
                return "/forum/"
            case ["list", f, "lastpost", "d"]:
                return f"/forum/viewforum.php?f={f}"
            case ["list", f, sort, order]:
                return f"/forum/viewforum.php?f={f}&sort={sort}&order={order}"
            case ["topic", t, "all"]:
                return f"/forum/printview.php?t={t}"
            case ["topic", t, start, order, days]:
                given: list[tuple[str, object]] = [("t", t)]
                given += [("start", start)] if start != "0" else []
                given += [("postdays", days)] if days != "0" else []
                given += [("postorder", order)] if order != "asc" else []
                return f"/forum/viewtopic.php?{pairs(*given)}"
            case ["search", word]:
                return f"/forum/search.php?q={word}"
        raise ValueError(content)

    def spell(self, content: str, rng: Random) -> str:
        path, _, query = self.canonical(content).partition("?")
        given: list[tuple[str, object]] = []
        for piece in query.split("&") if query else []:
            name, _, value = piece.partition("=")
            given.append((name, value))
        names = {name for name, _ in given}
        match content.split("/")[1:]:
            case ["list", *_]:
                given += [("start", "0")] if rng.random() < 0.3 else []
                if "sort" not in names and rng.random() < 0.4:
                    given += [("sort", "lastpost"), ("order", "d")]
            case ["topic", t, start, "asc", "0"]:
                one_page = self.posts(int(t)) <= PER_PAGE
                dice = rng.random()
                if dice < 0.08:
                    shown = range(int(start), min(int(start) + PER_PAGE, self.posts(int(t))))
                    given = [("p", str(self.first_post[int(t) - 1] + rng.choice(shown)))]
                elif dice < 0.14 and one_page:
                    path = "/forum/printview.php"
                else:
                    given += [("start", "0")] if "start" not in names and rng.random() < 0.35 else []
                    given += [("postdays", "0"), ("postorder", "asc")] if rng.random() < 0.35 else []
                    given += [("highlight", rng.choice(WORDS))] if rng.random() < 0.12 else []
                if int(t) > 1 and start == "0" and dice > 0.96:
                    path, given = "/forum/viewtopic.php", [("t", str(int(t) - 1)), ("view", "next")]
        if rng.random() < 0.3:
            given.append(("sid", hex_id(rng)))
        if rng.random() < 0.1:
            rng.shuffle(given)
        return path + ("?" if given else "") + pairs(*given)

    def route(self, path: str, query: str) -> Target:
        asked = fields(query)
        match path.removeprefix("/forum/"):
            case "" | "index.php":
                return Target("forum/index")
            case "viewforum.php":
                return self._list(asked)
            case "viewtopic.php":
                return self._topic(asked)
            case "printview.php":
                t = self._known(asked.get("t", ""))
                if t is None:
                    return NO_TOPIC
                one_page = self.posts(t) <= PER_PAGE
                return Target(
                    f"forum/topic/{t}/0/asc/0" if one_page else f"forum/topic/{t}/all", view="print"
                )
            case "search.php":
                word = asked.get("q", "")
                return Target(
                    f"forum/search/{word}" if word in WORDS[: self.many(10)] else "soft/nothing-found"
                )
            case "posting.php" | "profile.php" | "privmsg.php":
                return LOGIN
        return NOT_FOUND

    def _known(self, t: str) -> int | None:
        return int(t) if t.isascii() and t.isdigit() and t == str(int(t)) and int(t) in self.topics else None

    def _list(self, asked: dict[str, str]) -> Target:
        f, sort, order = asked.get("f", ""), asked.get("sort", "lastpost"), asked.get("order", "d")
        content = self.same_list.get((f, sort, order))
        return Target(content) if content and asked.get("start", "0") == "0" else NO_TOPIC

    def _topic(self, asked: dict[str, str]) -> Target:
        start = asked.get("start", "0")
        p = asked.get("p", "")
        if p.isascii() and p.isdigit() and self.first_post[0] <= int(p) < self.first_post[-1]:
            found = bisect_right(self.first_post, int(p))
            start = str((int(p) - self.first_post[found - 1]) // PER_PAGE * PER_PAGE)
            t: int | None = found
        else:
            t = self._known(asked.get("t", ""))
            if t is not None and asked.get("view") in ("next", "previous"):
                t = self._known(str(t + (1 if asked["view"] == "next" else -1)))
                start = "0"
        if t is None or not start.isdigit() or start != str(int(start)) or int(start) >= self.posts(t):
            return NO_TOPIC
        order, days = asked.get("postorder", "asc"), asked.get("postdays", "0")
        if order not in ("asc", "desc") or days not in ("0", "7"):
            return NO_TOPIC
        if int(start) == self.posts(t) - 1:  # a single post has no order and is always shown
            order, days = "asc", "0"
        return Target(f"forum/topic/{t}/{start}/{order}/{days}")

    def body(self, content: str) -> Body:
        match content.split("/")[1:]:
            case ["index"]:
                return Body("The forum", [f"Board {f}: {title(f'board {f}')}" for f in self.boards])
            case ["list", f, sort, order]:
                return Body(f"Board {f}", self._rows(int(f), sort, order))
            case ["search", word]:
                return Body(f"Posts with {word}", [paragraph(f"search {word} {i}", 30) for i in range(4)])
            case ["topic", t, "all"]:
                return Body(title(f"topic {t}"), self._posts(int(t), 0, self.posts(int(t)), "0"))
            case ["topic", t, start, order, days]:
                end = min(int(start) + PER_PAGE, self.posts(int(t)))
                shown = self._posts(int(t), int(start), end, days)
                return Body(title(f"topic {t}"), shown if order == "asc" else shown[::-1])
        raise ValueError(content)

    def _rows(self, f: int, sort: str, order: str) -> list[str]:
        keys: dict[str, Callable[[int], tuple[object, ...]]] = {
            "lastpost": lambda t: (number(f"last post {t}", 0, 10**6),),
            "title": lambda t: (title(f"topic {t}"),),
            "replies": lambda t: (self.posts(t), number(f"last post {t}", 0, 10**6)),
        }
        ordered = sorted(self.board_topics(f), key=keys[sort], reverse=order == "d")
        return [
            f"{title(f'topic {t}')}, {self.posts(t)} posts, the last by {WORDS[t % len(WORDS)]}"
            for t in ordered
        ]

    def _posts(self, t: int, start: int, end: int, days: str) -> list[str]:
        def recent(k: int) -> bool:
            return k == start or (k < end - 1 and number(f"recent {t} {k}", 1, 3) == 1)

        shown = [k for k in range(start, end) if days == "0" or recent(k)]
        return [
            f"{WORDS[number(f'author {t} {k}', 0, 99)]} wrote: "
            + paragraph(f"post {t} {k}", number(f"post length {t} {k}", 12, 45))
            for k in shown
        ]

    def strays(self) -> list[tuple[str, int]]:
        return [
            ("login", self.many(160)),
            ("nothing", self.many(40)),
            ("no-topic", self.many(20)),
            ("dead", self.many(6)),
        ]

    def stray(self, name: str, rng: Random) -> str:
        t = rng.choice(self.topics)
        match name:
            case "login":
                spellings = (
                    f"/forum/posting.php?mode=reply&t={t}",
                    f"/forum/posting.php?mode=quote&p={rng.randrange(1001, self.first_post[-1])}",
                    f"/forum/profile.php?mode=viewprofile&u={rng.randrange(2, 500)}",
                    f"/forum/privmsg.php?mode=post&u={rng.randrange(2, 500)}",
                )
                return rng.choice(spellings)
            case "nothing":
                return f"/forum/search.php?q={rng.choice(WORDS[40:])}+{rng.choice(WORDS[40:])}"
            case "no-topic":
                return f"/forum/viewtopic.php?t={rng.randrange(9000, 9999)}"
        return f"/forum/old/{rng.randrange(10**5)}.php"
