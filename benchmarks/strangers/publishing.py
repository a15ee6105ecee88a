"""Blogs, portals and newspapers: WordPress's, Drupal's, Joomla's and a news site's kind."""

from __future__ import annotations

from random import Random

from .section import Fields, Link, Query, Reply, Section, some


class Blog(Section):
    """`/?p=7`, `/2014/05/some-title/`, archives by month, category and tag, feeds, `replytocom`, AMP."""

    def set_up(self) -> None:
        self.posts = max(10, self.size // 4)
        self.pretty = self.rng.random() < 0.75
        self.redirects = self.rng.random() < 0.5
        self.slash = self.rng.choice(("same", "redirect"))
        self.categories = self.rng.randint(3, 9)
        self.tags = max(5, self.posts // 3)
        self.full = self.rng.random() < 0.5  # archives show whole posts
        self.months = [(y, m) for y in range(2009, 2009 + self.rng.randint(1, 5)) for m in range(1, 13)]

    def month_of(self, post: int) -> tuple[int, int]:
        return self.months[self.number(f"month of {post}", 0, len(self.months) - 1)]

    def permalink(self, post: int) -> str:
        year, month = self.month_of(post)
        return f"/{year}/{month:02d}/{self.slug(f'post {post}')}-{post}/"

    def link(self, rng: Random) -> Link:
        post = self.pick(rng, self.posts)
        draw = rng.random()
        if draw < 0.6:
            fields: Fields = [("p", str(post + 1))]
            path = "/"
            if self.pretty and rng.random() < 0.75:
                path, fields = self.permalink(post), []
                if rng.random() < 0.12:
                    path = path[:-1]
                if rng.random() < 0.1:
                    return Link(
                        self.permalink(post) + rng.choice(("feed/", "amp/", "comment-page-1/", "attachment/"))
                    )
            if rng.random() < 0.3:
                fields.append(
                    rng.choice(
                        [
                            ("replytocom", str(rng.randrange(500))),
                            ("share", rng.choice(("twitter", "facebook", "email"))),
                            ("preview", "true"),
                            ("cpage", "1"),
                            ("amp", "1"),
                        ]
                    )
                )
            return Link(path, fields)
        page = rng.choice((1, 1, 1, 2, 2, 3))
        kind = rng.random()
        year, month = rng.choice(self.months)
        category, tag = rng.randrange(self.categories), self.pick(rng, self.tags)
        if self.pretty and rng.random() < 0.7:
            path = (
                f"/{year}/{month:02d}/"
                if kind < 0.35
                else f"/category/{self.slug(f'category {category}')}/"
                if kind < 0.6
                else f"/tag/{self.words.word(f'{self.key} tag {tag}')}-{tag}/"
                if kind < 0.85
                else "/"
            )
            if page > 1 or rng.random() < 0.15:
                path += f"page/{page}/"
            elif kind >= 0.35 and rng.random() < 0.15:
                path += "feed/"
            return Link(path, some(rng, [("order", rng.choice(("desc", "asc")))], 0.1))
        fields = (
            [("m", f"{year}{month:02d}")]
            if kind < 0.4
            else [("cat", str(category + 1))]
            if kind < 0.65
            else [("tag", f"{self.words.word(f'{self.key} tag {tag}')}-{tag}")]
            if kind < 0.85
            else [("s", self.words.word(f"search {rng.randrange(30)}"))]
        )
        return Link("/", fields + ([("paged", str(page))] if page > 1 or rng.random() < 0.2 else []))

    def answer(self, path: str, q: Query) -> Reply | None:
        parts = [x for x in path.split("/") if x]
        page = max(1, q.int("paged", 1))
        feed = "feed" in q
        if parts[-1:] == ["feed"]:
            feed, parts = True, parts[:-1]
        if len(parts) >= 2 and parts[-2] == "page" and parts[-1].isdigit():
            page, parts = max(1, int(parts[-1])), parts[:-2]
        amp = "amp" in q
        if parts[-1:] == ["amp"]:
            amp, parts = True, parts[:-1]
        if parts[-1:] == ["comment-page-1"]:
            parts = parts[:-1]
        post, where = -1, ""
        if q.int("p"):
            post, where = q.int("p") - 1, f"p {q.int('p')}"
            if self.pretty and self.redirects and 0 <= post < self.posts and not feed:
                return Reply("", where, status=301, location=self.permalink(post))
        elif len(parts) == 3 and self.pretty:
            tail = parts[2].rpartition("-")[2]
            post = int(tail) if tail.isdigit() and len(tail) < 9 else -1
            if not 0 <= post < self.posts or self.permalink(post).strip("/") != "/".join(parts):
                return None
            where = f"permalink {post}"
            if self.slash == "redirect" and not path.endswith("/"):
                return Reply("", where, status=301, location=self.permalink(post))
        if post >= 0:
            if post >= self.posts:
                return None
            share = q.get("share")
            if share:
                return Reply(
                    "", where, status=302, location=self.permalink(post) if self.pretty else f"/?p={post + 1}"
                )
            text = self.text(f"post {post}")
            link = (self.permalink(post) if self.pretty else f"/?p={post + 1}") if self.linked else None
            if feed:
                return Reply(f"comments on {self.title(f'post {post}')}", f"{where} feed", "xml")
            if amp:
                return Reply(text, f"{where} amp", "bare", canonical=link, known=False)
            return Reply(text, where, canonical=link)
        return self._archive(parts, q, page, feed)

    def _archive(self, parts: list[str], q: Query, page: int, feed: bool) -> Reply | None:
        posts = list(range(self.posts))
        heading = where = "home"
        month = q.get("m")
        if len(parts) == 2 and parts[0].isdigit() and parts[1].isdigit() and self.pretty:
            month = parts[0] + parts[1]
        if month:
            mine = [i for i in posts if "{}{:02d}".format(*self.month_of(i)) == month]
            heading = where = f"month {month}"
        elif (parts[:1] == ["category"] and len(parts) == 2) or q.int("cat"):
            number = q.int("cat") - 1
            for c in range(self.categories):
                if parts[1:] == [self.slug(f"category {c}")]:
                    number = c
            if not 0 <= number < self.categories:
                return None
            mine = [i for i in posts if self.number(f"cat of {i}", 0, self.categories - 1) == number]
            heading, where = f"category {self.title(f'category {number}')}", f"cat {number} {bool(parts)}"
        elif (parts[:1] == ["tag"] and len(parts) == 2) or q.get("tag"):
            tag = parts[1] if len(parts) == 2 else q.get("tag")
            tail = tag.rpartition("-")[2]
            if not tail.isdigit() or f"{self.words.word(f'{self.key} tag {int(tail)}')}-{tail}" != tag:
                return None
            number = int(tail)
            mine = [
                i
                for i in posts
                if number in (self.number(f"tag {k} {i}", 0, self.tags - 1) for k in range(3))
            ]
            heading = where = f"tag {tag}"
        elif q.get("s"):
            return Reply("sorry nothing was found try another search", "no result", soft=True)
        elif parts:
            return None
        else:
            mine = posts
        if q.get("order") == "asc":
            mine, where = mine[::-1], f"{where} asc"
        if feed:
            return Reply(self.listing(f"feed {heading}", mine[:10], "post"), f"{where} feed", "xml")
        mine = mine[(page - 1) * 8 : page * 8]
        if page > 1 and not mine:
            return None
        text = (
            f"{heading} " + " ".join(self.text(f"post {i}") for i in mine)
            if self.full
            else self.listing(heading, mine, "post")
        )
        link = None
        if self.linked and where.startswith("month") and self.pretty and self.sloppy:
            link = f"/{month[:4]}/{month[4:]}/"
        return Reply(text, f"{where} {page}", canonical=link)


class Portal(Section):
    """`/node/7`, `?q=node/7`, aliases, `/print/7`, comments, table sorts, `destination=` before a login."""

    def set_up(self) -> None:
        self.nodes = max(10, self.size // 3)
        self.dirty = self.rng.random() < 0.5
        self.english = self.rng.random() < 0.3
        self.comments = self.nodes * 2

    def alias(self, node: int) -> str:
        return f"/{('articles', 'blog', 'content')[node % 3]}/{self.slug(f'node {node}')}-{node}"

    def link(self, rng: Random) -> Link:
        node = self.pick(rng, self.nodes)
        draw = rng.random()
        fields: Fields = []
        if draw < 0.5:
            path = rng.choice((f"/node/{node}", self.alias(node), self.alias(node)))
        elif draw < 0.58:
            path = f"/comment/{self.pick(rng, self.comments)}"
        elif draw < 0.63:
            path = f"/print/{node}"
        elif draw < 0.75:
            path, fields = "/user/login", [("destination", f"node/{node}")]
        elif draw < 0.95:
            path = f"/list/{rng.choice(('recent', 'popular', 'projects', 'people'))}"
            fields = some(
                rng,
                [
                    ("order", rng.choice(("Title", "Last reply", "Author"))),
                    ("sort", rng.choice(("asc", "desc"))),
                    ("page", rng.choice(("0", "0", "1", "2"))),
                ],
                0.6,
            )
        else:
            path = f"/taxonomy/term/{rng.randrange(20)}"
            fields = some(rng, [("page", rng.choice("001"))], 0.4)
        if self.dirty and rng.random() < 0.25:
            return Link(rng.choice(("/", "/index.php")), [("q", path[1:]), *fields])
        if self.english and rng.random() < 0.3:
            path = rng.choice(("/en", "/en", "/de")) + path
        return Link(path, fields)

    def answer(self, path: str, q: Query) -> Reply | None:
        if self.dirty and path in ("/", "/index.php"):
            if "q" not in q:
                return None
            path = "/" + q.get("q")
        german = ""
        if self.english and path.startswith("/de/"):
            path, german = path[3:], "de "
        elif self.english and path.startswith("/en/"):
            path = path[3:]
        parts = path.rstrip("/").split("/")[1:]
        node, where = -1, ""
        if not parts or not parts[-1]:
            return None
        if parts[0] in ("node", "print") and len(parts) == 2 and parts[1].isdigit() and len(parts[1]) < 9:
            node, where = int(parts[1]), f"node {parts[1]}"
        elif (
            parts[0] == "comment" and len(parts) == 2 and parts[1].isdigit() and int(parts[1]) < self.comments
        ):
            node, where = self.number(f"comment {parts[1]}", 0, self.nodes - 1), f"comment {parts[1]}"
        elif parts[0] in ("articles", "blog", "content"):
            tail = parts[-1].rpartition("-")[2]
            if tail.isdigit() and int(tail) < self.nodes and self.alias(int(tail)) == path.rstrip("/"):
                node, where = int(tail), f"alias {tail}"
        if 0 <= node < self.nodes:
            link = self.alias(node) if self.linked and not german else None
            text = self.text(f"{german}node {node}")
            if parts[0] == "print":
                return Reply(text, f"{german}print {node}", "bare", canonical=link, known=False)
            return Reply(text, german + where, canonical=link)
        if path == "/user/login":
            return Reply("log in user name password enter your user name", "login", soft=True)
        page = q.int("page")
        if parts[0] == "list" and len(parts) == 2:
            order, way = q.get("order", "Last reply"), q.get("sort", "desc")
            ranked = sorted(
                range(self.nodes), key=lambda i: self.number(f"{parts[1]} {order} {i}", 0, 1 << 30)
            )
            ranked = (ranked if way == "asc" else ranked[::-1])[page * 20 : page * 20 + 20]
            return (
                Reply(
                    self.listing(f"{german}list {parts[1]}", ranked, "node"),
                    f"{german}{parts[1]} {order} {way} {page}",
                )
                if ranked or not page
                else None
            )
        if parts[:2] == ["taxonomy", "term"] and len(parts) == 3 and parts[2].isdigit():
            mine = [i for i in range(self.nodes) if self.number(f"term {i}", 0, 24) == int(parts[2])][
                page * 10 : page * 10 + 10
            ]
            return (
                Reply(
                    self.listing(f"{german}term {parts[2]}", mine, "node"), f"{german}term {parts[2]} {page}"
                )
                if mine or not page
                else None
            )
        return None


class Component(Section):
    """`index.php?option=com_content&view=article&id=7:slug&catid=2&Itemid=5`, and `/2-category/7-slug` for it."""

    def set_up(self) -> None:
        self.items = max(10, self.size // 3)
        self.pretty = self.rng.random() < 0.5
        self.menu = self.rng.random() < 0.3  # the menu item decides what stands in the side column

    def category(self, item: int) -> int:
        return self.number(f"cat {item}", 1, 6)

    def link(self, rng: Random) -> Link:
        item = self.pick(rng, self.items)
        cat = self.category(item)
        if self.pretty and rng.random() < 0.5:
            slug = self.slug(f"item {item}") if rng.random() < 0.8 else self.slug(f"old {item}")
            return Link(
                f"/{cat}-{self.slug(f'cat {cat}')}/{item}-{slug}",
                some(rng, [("start", "0"), ("limitstart", "0")], 0.1),
            )
        if rng.random() < 0.7:
            ident = f"{item}:{self.slug(f'item {item}')}" if rng.random() < 0.5 else str(item)
            fields = [("option", "com_content"), ("view", "article"), ("id", ident)]
            fields += some(
                rng,
                [
                    ("catid", str(cat)),
                    ("Itemid", str(rng.randint(50, 70))),
                    ("limitstart", "0"),
                    ("lang", "en"),
                ],
                0.35,
            )
            if rng.random() < 0.1:
                fields += (
                    [("tmpl", "component"), ("print", "1")] if rng.random() < 0.7 else [("tmpl", "component")]
                )
            return Link("/index.php", fields)
        fields = [("option", "com_content"), ("view", "category"), ("id", str(rng.randint(1, 6)))]
        fields += some(
            rng,
            [
                ("layout", rng.choice(("blog", "blog", "default"))),
                ("Itemid", str(rng.randint(50, 70))),
                ("limitstart", rng.choice(("0", "10", "20"))),
                ("format", "feed"),
            ],
            0.3,
        )
        return Link("/index.php", fields)

    def answer(self, path: str, q: Query) -> Reply | None:
        side = f"menu {self.text('menu ' + str(q.int('Itemid') % 3), 5, 9)} " if self.menu else ""
        label = f"menu {q.int('Itemid') % 3} " if self.menu else ""
        parts = path.split("/")[1:]
        if len(parts) == 2 and self.pretty:
            number = parts[1].partition("-")[0]
            view, ident = "article", number
            label = side = ""
        elif path == "/index.php" and q.get("option") == "com_content":
            view, ident = q.get("view"), q.get("id").partition(":")[0]
        else:
            return None
        if not ident.isdigit() or len(ident) > 8:
            return None
        number_ = int(ident)
        if view == "article" and number_ < self.items:
            text = side + self.text(f"item {number_}")
            link = f"/index.php?option=com_content&view=article&id={number_}" if self.linked else None
            if q.get("tmpl") == "component":
                return Reply(text, f"{label}item {number_} bare", "bare", canonical=link, known=False)
            return Reply(text, f"{label}item {number_}", canonical=link)
        if view == "category":
            start, layout = q.int("limitstart"), q.get("layout", "default")
            mine = [i for i in range(self.items) if self.category(i) == number_][start : start + 10]
            if not mine:
                return None
            if q.get("format") == "feed":
                return Reply(self.listing("feed", mine), f"cat {number_} {start} feed", "xml")
            text = (
                " ".join(self.text(f"item {i}", 40, 160)[:200] for i in mine)
                if layout == "blog"
                else self.listing("list", mine)
            )
            return Reply(f"{side}category {number_} {text}", f"{label}cat {number_} {start} {layout}")
        return None


class News(Section):
    """`/politics/some-title-7.html`: section and title are free on one site, and checked on another."""

    def set_up(self) -> None:
        self.articles = max(10, self.size // 3)
        self.free = self.rng.random() < 0.6
        self.slugged = (
            self.rng.random() < 0.25
        )  # no number at all: the title names the article, the year is free
        self.pages = self.rng.random() < 0.5
        self.print = self.name("view", "print")
        self.page = self.name("page", "page")
        self.sections = [self.words.word(f"{self.key} section {i}") for i in range(5)]

    def link(self, rng: Random) -> Link:
        a = self.pick(rng, self.articles)
        section = self.sections[self.number(f"sec {a}", 0, 4)]
        if rng.random() < 0.2:
            return Link(
                f"/{rng.choice(self.sections)}/",
                some(rng, [(self.page, rng.choice(("0", "1", "1", "2")))], 0.6),
            )
        slug = self.slug(f"article {a}")
        if self.slugged:
            year = rng.choice((self.number(f"year {a}", 2010, 2014), 2012))
            return Link(f"/{year}/{slug}-{self.words.word(f'{self.key} {a}')}")
        draw = rng.random()
        if draw < 0.25 and self.free:
            section = rng.choice(self.sections)
        if draw > 0.75 and self.free:
            slug = rng.choice((self.slug(f"older {a}"), "x", slug.split("-")[0]))
        fields: Fields = []
        if rng.random() < 0.3:
            fields.append((self.page, rng.choice(("1", "1", "2", "3", "all"))))
        if rng.random() < 0.1:
            fields.append((self.print, "1"))
        return Link(f"/{section}/{slug}-{a}.html", fields)

    def answer(self, path: str, q: Query) -> Reply | None:
        parts = path.split("/")[1:]
        if len(parts) != 2:
            return None
        if self.slugged and parts[0].isdigit():
            found = [
                a
                for a in self._by_word().get(parts[1].rpartition("-")[2], ())
                if parts[1].startswith(self.slug(f"article {a}"))
            ]
            if not found:
                return None
            return Reply(self.text(f"article {found[0]}"), parts[1])
        if parts[0] in self.sections and not parts[1]:
            page = max(1, q.int(self.page, 1))
            mine = [
                a
                for a in range(self.articles)
                if self.number(f"sec {a}", 0, 4) == self.sections.index(parts[0])
            ][page * 12 - 12 : page * 12]
            return (
                Reply(self.listing(f"section {parts[0]}", mine, "article"), f"{parts[0]} {page}")
                if mine
                else None
            )
        slug, _, tail = parts[1].rpartition("-")
        number = tail.removesuffix(".html")
        if (
            not tail.endswith(".html")
            or not number.isdigit()
            or int(number) >= self.articles
            or parts[0] not in self.sections
        ):
            return None
        a = int(number)
        section = self.sections[self.number(f"sec {a}", 0, 4)]
        if not self.free and (parts[0], slug) != (section, self.slug(f"article {a}")):
            return None
        page = q.get(self.page, "1") if self.pages else "1"
        text = (
            self.text(f"article {a}")
            if page in ("0", "1", "")
            else self.text(f"article {a} page {page}")
            if page == "2"
            else None
        )
        if page == "all":
            text = self.text(f"article {a}") + " " + self.text(f"article {a} page 2")
        if text is None:
            return None
        page = "1" if page in ("0", "") else page
        link = (
            f"/{section}/{self.slug(f'article {a}')}-{a}.html"
            if self.linked and (page == "1" or self.sloppy)
            else None
        )
        if q.get(self.print) == "1":
            return Reply(text, f"{a} {page} print", "bare", canonical=link, known=False)
        return Reply(text, f"{a} {page}", canonical=link)

    def _by_word(self) -> dict[str, list[int]]:
        if not hasattr(self, "_index"):
            index: dict[str, list[int]] = {}
            for a in range(self.articles):
                index.setdefault(self.words.word(f"{self.key} {a}"), []).append(a)
            self._index = index
        return self._index
