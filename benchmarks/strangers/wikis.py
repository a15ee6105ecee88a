"""Wikis: two styles of one address, actions, old revisions, special pages."""

from __future__ import annotations

from random import Random

from .section import Fields, Link, Query, Reply, Section, some


class Wiki(Section):
    """`/wiki/Some_Title` = `/index.php?title=Some_Title`; `action=`, `oldid=`, `diff=`, `printable=`."""

    def set_up(self) -> None:
        self.pages = max(10, self.size // 4)
        self.short = self.rng.random() < 0.8
        self.prefix = self.rng.choice(("/wiki", "/w", "/view", ""))
        self.script = self.rng.choice(("/index.php", "/w/index.php", "/wiki.php", "/wiki.cgi"))
        if self.prefix == "/w" and self.script.startswith("/w/"):
            self.script = "/index.php"
        self.fold = False
        self.first_case = self.rng.random() < 0.5
        self.title_, self.action, self.old = (
            self.name("slug", "title"),
            self.name("free", "action"),
            self.name("id", "oldid"),
        )
        self.limit = self.name("limit", "limit")
        self.names = {
            self.title(f"page {i}").replace(" ", "_").capitalize() + f"_{i}": i for i in range(self.pages)
        }
        self.list = list(self.names)

    def link(self, rng: Random) -> Link:
        page = self.pick(rng, self.pages)
        title = self.list[page]
        fields: Fields = []
        draw = rng.random()
        if draw < 0.15:
            title = "Special:" + rng.choice(("Recent", "All", "Links"))
            fields = some(
                rng,
                [
                    (self.limit, rng.choice(("50", "50", "20", "100"))),
                    ("days", rng.choice("73")),
                    ("hide", "0"),
                ],
                0.4,
            )
        elif draw < 0.45:
            action = rng.choice(("view", "view", "show", "edit", "history", "raw", "purge", "info"))
            fields = [(self.action, action)]
            if action == "history":
                fields += some(rng, [(self.limit, rng.choice(("50", "20", "50")))], 0.4)
        elif draw < 0.6:
            fields = [(self.old, str(page * 7 + rng.randrange(7)))]
            if rng.random() < 0.3:
                fields.append(("diff", rng.choice(("prev", "cur"))))
        elif draw < 0.68:
            fields = [
                rng.choice(
                    [
                        ("printable", "yes"),
                        ("redirect", "no"),
                        ("useskin", "plain"),
                        ("uselang", "en"),
                        ("uselang", "de"),
                    ]
                )
            ]
        if rng.random() < 0.1:
            title = title.replace("_", " ")
        if rng.random() < 0.06:
            title = title[0].lower() + title[1:]
        if self.short and rng.random() < (0.7 if not fields else 0.3):
            return Link(f"{self.prefix}/{title}", fields)
        return Link(self.script, [(self.title_, title), *fields])

    def answer(self, path: str, q: Query) -> Reply | None:
        if path == self.script:
            title = q.get(self.title_)
        elif self.short and path.startswith(f"{self.prefix}/"):
            title = path[len(self.prefix) + 1 :]
        else:
            return None
        title = title.replace(" ", "_")
        if self.first_case:
            title = title[:1].upper() + title[1:]
        if title.startswith("Special:") and title[8:] in ("Recent", "All", "Links"):
            limit, days = q.int(self.limit, 50) or 50, q.get("days", "7")
            shown = sorted(range(self.pages), key=lambda i: self.number(f"{title} {days} {i}", 0, 1 << 30))[
                : limit // 4
            ]
            return Reply(self.listing(title, shown, "page"), f"{title} {limit} {days}")
        if title not in self.names:
            if not title:
                return None
            return Reply("there is no text on this page yet you may search for it", "none", soft=True)
        page = self.names[title]
        action = q.get(self.action, "view")
        old = q.get(self.old)
        text = self.text(f"page {page}")
        where = f"page {page}"
        revisions = self.number(f"revisions {page}", 1, 6)
        if old.isdigit() and page * 7 <= int(old) < page * 7 + 7:
            revision = int(old) - page * 7
            if "diff" in q:
                return Reply(
                    f"difference {self.text(f'diff {page} {revision} ' + q.get('diff'), 10, 60)}",
                    f"diff {page} {revision} {q.get('diff')}",
                )
            if revision < revisions:
                text = self.revised(page, revision)
            where = f"old {page} {revision}"
        link = f"{self.prefix}/{title}" if self.linked and self.short else None
        match action:
            case "edit":
                return Reply(
                    f"editing {title} source {text} save preview",
                    f"{where} edit",
                    canonical=link if self.sloppy else None,
                )
            case "history":
                limit = q.int(self.limit, 50) or 50
                entries = [
                    self.words.text(f"{self.key} {page} r {r}", 6) for r in range(min(limit // 10, 30))
                ]
                return Reply(f"history of {title} {' '.join(entries)}", f"page {page} history {limit}")
            case "raw":
                return Reply(text, f"{where} raw", "xml", known=False)
            case "info":
                return Reply(
                    f"information {title} {self.words.text(f'info {page}', 12)}", f"page {page} info"
                )
            case "purge":
                return Reply("clear the cache of this page ok", "purge", soft=True)
        if q.get("printable") == "yes":
            return Reply(text, f"{where} print", "bare", canonical=link, known=False)
        if q.get("uselang") == "de":
            return Reply(text, f"{where} de", shell="de", known=False)
        if q.get("useskin") == "plain":
            return Reply(text, f"{where} plain", "bare", known=False)
        return Reply(text, where, canonical=link)

    def revised(self, page: int, revision: int) -> str:
        """An older text: some sentences were others."""
        words = self.text(f"page {page}").split()
        rng = self.words.rng(f"revision {page} {revision}")
        for _ in range(1 + len(words) // 60):
            at = rng.randrange(len(words))
            words[at : at + 8] = self.words.text(f"{self.key} {page} {revision} {at}", 8).split()
        return " ".join(words)


class Farm(Section):
    """Confluence's and DokuWiki's kind: names with colons or slashes, `do=`, `pageId=` beside the title."""

    def set_up(self) -> None:
        self.spaces = [self.words.word(f"{self.key} space {i}") for i in range(self.rng.randint(2, 6))]
        self.pages = max(10, self.size // 3)
        self.do = self.name("free", "do")
        self.id = self.name("id", "id")
        self.lower = self.rng.random() < 0.4
        self.script = self.rng.choice(("/doku.php", "/pages/view.action", "/wiki.pl"))
        self.ids = self.rng.random() < 0.5

    def place(self, page: int) -> list[str]:
        return [self.spaces[page % len(self.spaces)], self.slug(f"page {page}", "_") + f"_{page}"]

    def link(self, rng: Random) -> Link:
        page = self.pick(rng, self.pages)
        place = self.place(page)
        if self.lower and rng.random() < 0.08:
            place = [x.capitalize() for x in place]
        fields: Fields = []
        if rng.random() < 0.4:
            fields = [(self.do, rng.choice(("show", "show", "edit", "backlink", "recent", "export_html")))]
        if rng.random() < 0.1:
            fields.append(("rev", rng.choice(("", "", str(1_300_000_000 + page)))))
        draw = rng.random()
        if draw < 0.4:
            return Link("/" + "/".join(place), fields)
        if draw < 0.6:
            return Link("/" + ":".join(place), fields)
        if self.ids and draw < 0.75:
            return Link(self.script, [("pageId", str(page + 3000)), *fields])
        return Link(self.script, [(self.id, rng.choice((":", ":", "/")).join(place)), *fields])

    def answer(self, path: str, q: Query) -> Reply | None:
        where = ""
        if path == self.script:
            name = q.get(self.id)
            if "pageId" in q and self.ids:
                if not 3000 <= q.int("pageId") < 3000 + self.pages:
                    return None
                where = f"id {q.int('pageId')}"
                name = ":".join(self.place(q.int("pageId") - 3000))
        else:
            name = path[1:]
        name = name.replace("/", ":").lower() if self.lower else name.replace("/", ":")
        tail = name.rpartition("_")[2]
        if not tail.isdigit() or int(tail) >= self.pages or ":".join(self.place(int(tail))) != name:
            return None
        page = int(tail)
        where = where or f"page {page}"
        text = self.text(f"page {page}")
        if q.get("rev"):
            text = self.text(f"page {page} rev {q.get('rev')}")
            where += f" rev {q.get('rev')}"
        match q.get(self.do, "show"):
            case "edit":
                return Reply("you are not allowed to edit this page log in", "denied", soft=True)
            case "backlink":
                links = [i for i in range(self.pages) if self.number(f"link {i}", 0, self.pages) == page]
                return Reply(self.listing(f"backlinks of {name}", links, "page"), f"{where} backlink")
            case "recent":
                return Reply(
                    self.listing(f"recent changes {name.partition(':')[0]}", range(20), "page"),
                    f"recent {where}",
                )
            case "export_html":
                return Reply(text, f"{where} export", "bare", known=False)
        return Reply(text, where, canonical="/" + "/".join(self.place(page)) if self.linked else None)
