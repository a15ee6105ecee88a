"""Forums: phpBB's kind, SMF's kind with parameters in the path, Discourse's kind, vBulletin's kind."""

from __future__ import annotations

from itertools import accumulate
from random import Random

from .section import Fields, Link, Query, Reply, Section, some


class Board(Section):
    """Topics with posts, boards with topics."""

    per_page = 15

    def set_up(self) -> None:
        n = max(8, self.size // 5)
        self.topics = n
        self.per_page = self.rng.choice((10, 15, 20))
        self.boards = self.rng.randint(3, 12)
        self.posts = [min(80, int(1 + self.rng.expovariate(1 / 9))) for _ in range(n)]
        self.first = [0, *accumulate(self.posts)]
        self.total = self.first[-1]
        self.of_post = [t for t in range(n) for _ in range(self.posts[t])]
        self.bar = self.rng.choice((30, 60, 120))
        self.make()

    def make(self) -> None:
        """Draw the names."""

    def board_of(self, topic: int) -> int:
        return self.number(f"board of {topic}", 1, self.boards)

    def post(self, number: int) -> str:
        author = self.words.word(f"{self.key} author {self.number(f'author of {number}', 0, 60)}")
        return f"{author} {self.words.text(f'{self.key} post {number}', self.number(f'len {number}', 8, self.bar))}"

    def shown(self, topic: int, start: int, reverse: bool = False, count: int = 0) -> str:
        numbers = list(range(self.first[topic], self.first[topic + 1]))
        if reverse:
            numbers.reverse()
        numbers = numbers[start : start + (count or self.per_page)]
        return " ".join([self.title(f"topic {topic}"), *map(self.post, numbers)])

    def topic_list(self, board: int, start: int, order: str = "") -> str | None:
        mine = [t for t in range(self.topics) if self.board_of(t) == board]
        if order == "title":
            mine.sort(key=lambda t: self.title(f"topic {t}"))
        elif order:
            mine.sort(key=lambda t: self.number(f"{order} {t}", 0, 1 << 30))
        mine = mine[start : start + 25]
        if start and not mine:
            return None
        return self.listing(f"board {self.title(f'board {board}')}", mine, "topic")


LOGIN = "please log in to do this you must be registered and logged in to view this page user name password"


class QueryForum(Board):
    """`viewtopic.php?f=&t=&start=`, and `?p=` that shows the page on which the post is."""

    def make(self) -> None:
        rng = self.rng
        ending = rng.choice((".php", ".php", ".asp", ".cgi", ""))
        self.topic_at, self.board_at = rng.choice(
            (("/viewtopic", "/viewforum"), ("/showthread", "/forumdisplay"), ("/thread", "/board"))
        )
        self.topic_at, self.board_at, self.post_at = (
            x + ending for x in (self.topic_at, self.board_at, "/posting")
        )
        self.profile_at, self.members_at, self.search_at = (
            x + ending for x in ("/profile", "/memberlist", "/search")
        )
        self.f, self.t, self.p = self.name("category", "f"), self.name("id", "t"), self.name("id", "p")
        self.start, self.light = self.name("page", "start"), self.name("free", "highlight")
        self.days, self.order = self.name("free", "postdays"), self.name("sort", "postorder")
        self.view = self.name("view", "view")
        self.by_number = rng.random() < 0.3  # pages are counted, not posts
        self.mark = rng.random() < 0.2  # search words are listed on the page: the parameter matters
        self.private = rng.random() < 0.6

    def link(self, rng: Random) -> Link:
        topic = self.pick(rng, self.topics)
        draw = rng.random()
        if draw < 0.62:
            f: Fields = [(self.f, str(self.board_of(topic)))] if rng.random() < 0.4 else []
            post = rng.randrange(self.first[topic], self.first[topic + 1])
            if rng.random() < 0.25:
                t = [(self.t, str(topic + 1))] if rng.random() < 0.3 else []
                fields = [*f, *t, (self.p, str(post + 100))]
            else:
                fields = [*f, (self.t, str(topic + 1))]
                last = (self.posts[topic] - 1) // self.per_page
                if last and rng.random() < 0.4:
                    page = rng.randint(0, last)
                    fields.append((self.start, str(page + 1 if self.by_number else page * self.per_page)))
                elif rng.random() < 0.25:
                    fields.append((self.start, "1" if self.by_number else "0"))
            if rng.random() < 0.15:
                fields += [(self.days, "0"), (self.order, rng.choice(("asc", "asc", "asc", "desc")))]
            if rng.random() < 0.12:
                fields.append((self.light, rng.choice(["", self.words.word(f"light {rng.randrange(20)}")])))
            if rng.random() < 0.08:
                fields.append((self.view, rng.choice(("next", "previous", "print", "newest"))))
            return Link(self.topic_at, fields)
        if draw < 0.8:
            fields = [(self.f, str(rng.randint(1, self.boards)))]
            if rng.random() < 0.4:
                fields.append((self.start, str(rng.choice((0, 0, 25, 50)))))
            return Link(
                self.board_at, fields + some(rng, [(self.order, rng.choice(("asc", "title", "views")))], 0.3)
            )
        if draw < 0.88:
            mode = rng.choice(("reply", "quote"))
            name = self.p if mode == "quote" else self.t
            return Link(self.post_at, [("mode", mode), (name, str(self.pick(rng, self.topics) + 1))])
        if draw < 0.95:
            return Link(self.profile_at, [("mode", "viewprofile"), ("u", str(self.pick(rng, 60) + 1))])
        return Link(
            self.members_at,
            some(
                rng,
                [("sk", rng.choice("acd")), ("sd", rng.choice("aad")), (self.start, rng.choice(("0", "30")))],
                0.6,
            ),
        )

    def answer(self, path: str, q: Query) -> Reply | None:
        if path == self.topic_at:
            return self._topic(q)
        if path == self.board_at:
            board, start = q.int(self.f), q.int(self.start)
            if not 1 <= board <= self.boards:
                return None
            order = q.get(self.order)
            order = order if order in ("title", "views") else ""
            text = self.topic_list(board, start, order)
            return (text and Reply(text, f"board {board} {start} {order}")) or None  # type: ignore[return-value]
        if path == self.post_at:
            return Reply(LOGIN, "login", soft=True)
        if path == self.profile_at:
            user = q.int("u")
            if self.private:
                return Reply(LOGIN, "login", soft=True)
            return Reply(
                f"profile of {self.words.word(f'{self.key} author {user}')} {self.text(f'user {user}', 4, 15)}",
                f"user {user}",
            )
        if path == self.members_at:
            key, way, start = q.get("sk", "a"), q.get("sd", "a"), q.int(self.start)
            names = sorted(range(60), key=lambda i: self.number(f"{key} {i}", 0, 999))
            names = (names[::-1] if way == "d" else names)[start : start + 30]
            text = "members " + " ".join(self.words.word(f"{self.key} author {i}") for i in names)
            return Reply(text, f"members {key} {way} {start}")
        return None

    def _topic(self, q: Query) -> Reply | None:
        reverse = q.get(self.order) == "desc"
        known = ""
        if q.get(self.p):
            post = q.int(self.p) - 100
            if not 0 <= post < self.total:
                return None
            topic = self.of_post[post]
            start = (post - self.first[topic]) // self.per_page * self.per_page
            known = f"post {post}"
        else:
            topic = q.int(self.t) - 1
            if not 0 <= topic < self.topics:
                return None
            start = q.int(self.start)
            start = max(0, start - 1) * self.per_page if self.by_number else start
        view = q.get(self.view)
        if view in ("next", "previous"):
            to = topic + (1 if view == "next" else -1)
            if not 0 <= to < self.topics:
                return Reply("there are no newer topics in this board", "no topic", soft=True)
            return Reply(self.shown(to, 0), f"{view} {topic} {known}")
        if start and start >= self.posts[topic]:
            return None
        text = self.shown(topic, start, reverse)
        where = known or f"topic {topic} {start}"
        if self.mark and q.get(self.light):
            text = f"you searched for {q.get(self.light)} {text}"
            where += f" light {q.get(self.light)}"
        link = f"{self.topic_at}?{self.t}={topic + 1}"
        if start and not self.sloppy:
            link += f"&{self.start}={start // self.per_page + 1 if self.by_number else start}"
        canonical = link if self.linked and not reverse else None
        if view == "print":
            return Reply(text, f"{where} {reverse} print", shell="bare", canonical=canonical, known=False)
        return Reply(text, f"{where} {reverse}", canonical=canonical)


class PathForum(Board):
    """`/topic,7.15.html`, `/topic,7.msg99.html` and the same behind `?topic=7.15`, with `;` between the fields."""

    def make(self) -> None:
        self.script = self.rng.choice(("/index.php", "/forum.php", ""))
        self.mark = self.rng.choice((",", "-", "/"))
        self.ending = self.rng.choice((".html", "", ".htm"))

    def link(self, rng: Random) -> Link:
        topic = self.pick(rng, self.topics)
        if rng.random() < 0.25:
            board = rng.randint(1, self.boards)
            start = rng.choice((0, 0, 25))
            fields = [("sort", rng.choice(("subject", "starter", "last")))] if rng.random() < 0.4 else []
            fields += [("desc", "")] if fields and rng.random() < 0.4 else []
            if rng.random() < 0.6:
                return Link(f"{self.script}/board{self.mark}{board}.{start}{self.ending}", fields, ";")
            return Link(self.script or "/", [("board", f"{board}.{start}"), *fields], ";")
        last = (self.posts[topic] - 1) // self.per_page
        draw = rng.random()
        page = str(rng.randint(0, last) * self.per_page)
        if draw < 0.3:
            page = f"msg{rng.randrange(self.first[topic], self.first[topic + 1])}"
        elif draw < 0.36:
            page = "new"
        fields = []
        if rng.random() < 0.15:
            fields.append(
                rng.choice(
                    [("prev_next", "next"), ("prev_next", "prev"), ("action", "printpage"), ("wap2", "")]
                )
            )
        if rng.random() < 0.6:
            return Link(f"{self.script}/topic{self.mark}{topic + 1}.{page}{self.ending}", fields, ";")
        return Link(self.script or "/", [("topic", f"{topic + 1}.{page}"), *fields], ";")

    def answer(self, path: str, q: Query) -> Reply | None:
        where = ""
        if path == (self.script or "/"):
            where = f"topic {q.get('topic')}" if "topic" in q else f"board {q.get('board')}"
        for kind in ("topic", "board"):
            head = f"{self.script}/{kind}{self.mark}"
            if path.startswith(head) and path.endswith(self.ending):
                where = f"{kind} {path[len(head) : len(path) - len(self.ending)]}"
        kind, _, rest = where.partition(" ")
        number, _, page = rest.partition(".")
        if not number.isdigit() or len(number) > 8:
            return None
        if kind == "board":
            order = q.get("sort")
            order = order if order in ("subject", "starter") else ""
            down = "desc" in q
            text = self.topic_list(
                int(number), int(page) if page.isdigit() else 0, f"{order}{down}" if order or down else ""
            )
            return (text and Reply(text, f"{where} {order} {down}")) or None  # type: ignore[return-value]
        topic = int(number) - 1
        if not 0 <= topic < self.topics:
            return None
        to = q.get("prev_next")
        if to in ("next", "prev"):
            other = topic + (1 if to == "next" else -1)
            return Reply(self.shown(other, 0), f"{to} {topic}") if 0 <= other < self.topics else None
        start = 0
        if page.startswith("msg") and page[3:].isdigit():
            start = (int(page[3:]) - self.first[topic]) // self.per_page * self.per_page
            if not self.first[topic] <= int(page[3:]) < self.first[topic + 1]:
                return None
        elif page == "new":
            start = (self.posts[topic] - 1) // self.per_page * self.per_page
        elif page.isdigit():
            start = int(page) // self.per_page * self.per_page
            where = f"topic {number}.{start}"
        if start and start >= self.posts[topic]:
            return None
        canonical = f"{self.script}/topic{self.mark}{topic + 1}.{start}{self.ending}" if self.linked else None
        if q.get("action") == "printpage" or "wap2" in q:
            return Reply(
                self.shown(topic, 0, count=99), f"{where} print", "bare", canonical=canonical, known=False
            )
        return Reply(self.shown(topic, start), where, canonical=canonical)


class SlugForum(Board):
    """`/t/some-title/7/31`: the title is free, the number after the id scrolls to a post of the same page."""

    per_page = 20

    def make(self) -> None:
        self.letter = self.rng.choice(("t", "thread", "topics", "d"))
        self.redirects = self.rng.random() < 0.4
        self.style = self.rng.choice(("slash", "dash", "dot"))  # /t/title/7, /t/7-title, /t/title.7/

    def place(self, topic: int, slug: str) -> str:
        if self.style == "dash":
            return f"/{self.letter}/{topic + 1}-{slug}" if slug else f"/{self.letter}/{topic + 1}"
        if self.style == "dot":
            return f"/{self.letter}/{slug}.{topic + 1}/" if slug else f"/{self.letter}/{topic + 1}/"
        return f"/{self.letter}/{slug}/{topic + 1}" if slug else f"/{self.letter}/{topic + 1}"

    def link(self, rng: Random) -> Link:
        if rng.random() < 0.15:
            board = rng.randint(1, self.boards)
            return Link(
                f"/c/{self.slug(f'board {board}')}/{board}",
                some(rng, [("order", rng.choice(("default", "title", "views")))], 0.5),
            )
        topic = self.pick(rng, self.topics)
        slug = self.slug(f"topic {topic}")
        draw = rng.random()
        if draw < 0.15:
            slug = ""
        elif draw < 0.3:
            slug = self.slug(f"old topic {topic}")
        elif draw < 0.35:
            slug = slug.rsplit("-", 1)[0]
        path = self.place(topic, slug)
        fields: Fields = []
        last = (self.posts[topic] - 1) // self.per_page
        if self.style == "dot":
            if last and rng.random() < 0.4:
                path += f"page-{rng.randint(1, last + 1)}"
            return Link(path, fields)
        if rng.random() < 0.3:
            if self.style == "slash":
                path += f"/{rng.randint(1, self.posts[topic])}"
            else:
                fields.append(("post", str(rng.randint(1, self.posts[topic]))))
        elif rng.random() < 0.3:
            fields.append(("page", str(rng.randint(1, last + 1))))
        return Link(path, fields)

    def answer(self, path: str, q: Query) -> Reply | None:
        parts = path.split("/")[1:]
        if parts[0] == "c" and len(parts) == 3 and parts[2].isdigit():
            board = int(parts[2])
            order = q.get("order")
            order = order if order in ("title", "views") else ""
            text = self.topic_list(board, 0, order) if 1 <= board <= self.boards else None
            return (text and Reply(text, f"board {board} {order}")) or None  # type: ignore[return-value]
        if parts[0] != self.letter or len(parts) < 2:
            return None
        post, number, page = 0, "", 1
        if self.style == "slash":
            rest = parts[1:]
            if not rest[0].isdigit():
                rest = rest[1:]
            number = rest[0] if rest else ""
            if len(rest) > 1 and rest[1].isdigit():
                post = int(rest[1])
            page = q.int("page", 1)
        elif self.style == "dash":
            number = parts[1].partition("-")[0]
            post, page = q.int("post"), q.int("page", 1)
        else:
            number = parts[1].rpartition(".")[2]
            if len(parts) > 2 and parts[2].startswith("page-") and parts[2][5:].isdigit():
                page = int(parts[2][5:])
        if not number.isdigit() or not 0 < int(number) <= self.topics:
            return None
        topic = int(number) - 1
        where = f"topic {topic} {max(1, page)}"
        if post:
            page = min(post - 1, self.posts[topic] - 1) // self.per_page + 1
            where = f"topic {topic} post {post}"
        page = max(1, page)
        if (page - 1) * self.per_page >= self.posts[topic]:
            return None
        slug = self.slug(f"topic {topic}")
        canonical = self.place(topic, slug) + (
            (f"page-{page}" if self.style == "dot" else f"?page={page}") if page > 1 else ""
        )
        if self.redirects and slug not in path:
            return Reply("", where, status=301, location=canonical)
        return Reply(
            self.shown(topic, (page - 1) * self.per_page), where, canonical=canonical if self.linked else None
        )
