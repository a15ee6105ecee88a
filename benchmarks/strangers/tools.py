"""Calendars, bug trackers, repositories, galleries, portals of ASP.NET and ColdFusion, services, static files."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from .section import Fields, Link, Query, Reply, Section, some


class Calendar(Section):
    """Endless days; `month=5` is `month=05`, a week is shown for each of its days, empty days look much alike."""

    def set_up(self) -> None:
        self.year, self.month, self.day = (
            self.name("free", "year"),
            self.name("free", "month"),
            self.name("free", "day"),
        )
        self.view = self.name("view", "view")
        self.default = self.rng.choice(("month", "week"))
        self.events = self.size // 3
        self.start = date(2010, 1, 1)
        self.days = max(60, self.size)
        self.path = self.rng.random() < 0.5
        self.heads = self.rng.random() < 0.7  # an empty day says its date

    def link(self, rng: Random) -> Link:
        at = self.start + timedelta(self.pick(rng, self.days))
        if self.path:
            two = "" if rng.random() < 0.3 else "0"
            path = f"/{at.year}/{at.month:{two}{'2' if two else ''}d}" + (
                f"/{at.day:02d}" if rng.random() < 0.6 else ""
            )
            return Link(
                path + ("/" if rng.random() < 0.3 else ""),
                some(rng, [(self.view, rng.choice(("month", "week", "day")))], 0.3),
            )
        month = f"{at.month:02d}" if rng.random() < 0.7 else str(at.month)
        fields = [(self.year, str(at.year)), (self.month, month)]
        fields += some(rng, [(self.day, str(at.day)), (self.view, rng.choice(("month", "week", "day")))], 0.5)
        return Link("/calendar.php", fields)

    def answer(self, path: str, q: Query) -> Reply | None:
        parts = path.strip("/").split("/")
        try:
            if self.path:
                numbers = [int(x) for x in parts]
            elif path == "/calendar.php":
                numbers = [q.int(self.year), q.int(self.month)] + ([q.int(self.day)] if self.day in q else [])
            else:
                return None
            at = date(numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1)
        except (ValueError, IndexError):
            return None
        view = q.get(self.view)
        if view not in ("month", "week", "day"):
            view = "day" if len(numbers) > 2 and self.path else self.default
        if view == "month":
            first, count = at.replace(day=1), 31
            where = f"month {first:%Y-%m}"
        elif view == "week":
            first, count = at - timedelta(at.weekday()), 7
            where = f"week {at}"
        else:
            first, count = at, 1
            where = f"day {at}"
        found = [
            f"{self.text(f'event {d}', 8, 30)}"
            for d in ((first + timedelta(i)).toordinal() for i in range(count))
            if self.number(f"has {d}", 0, 9) < 2
        ]
        heading = f"{view} of {first:%d %B %Y}" if self.heads or found else f"{view}"
        return Reply(f"{heading} {' '.join(found) or 'no events'}", where, soft=not found and not self.heads)


class Tracker(Section):
    """`show_bug.cgi?id=7`, `ctype=xml`, lists of bugs, attachments, votes."""

    def set_up(self) -> None:
        self.bugs = max(10, self.size // 2)
        self.id, self.type = self.name("id", "id"), self.name("view", "ctype")
        self.alias = self.rng.random() < 0.4
        self.last = self.rng.random() < 0.5

    def link(self, rng: Random) -> Link:
        bug = self.pick(rng, self.bugs)
        draw = rng.random()
        if draw < 0.55:
            fields = [(self.id, str(bug + 1000))]
            if rng.random() < 0.1:
                fields.append((self.id, str(self.pick(rng, self.bugs) + 1000)))
            return Link(
                "/show_bug.cgi",
                fields
                + some(
                    rng,
                    [(self.type, rng.choice(("html", "xml"))), ("format", "default"), ("mark", "yes")],
                    0.15,
                ),
            )
        if draw < 0.62 and self.alias:
            return Link(f"/{bug + 1000}")
        if draw < 0.75:
            return Link(
                "/attachment.cgi",
                [("id", str(bug)), *some(rng, [("action", rng.choice(("view", "edit", "diff")))], 0.6)],
            )
        if draw < 0.82:
            return Link("/process_bug.cgi", [("id", str(bug))])
        return Link(
            "/buglist.cgi",
            some(
                rng,
                [
                    ("product", self.words.word(f"product {rng.randrange(6)}")),
                    ("status", rng.choice(("open", "closed", "all"))),
                    ("order", rng.choice(("id", "id", "severity"))),
                    ("limit", rng.choice(("0", "100", "10"))),
                    ("query_format", "advanced"),
                ],
                0.45,
            ),
        )

    def answer(self, path: str, q: Query) -> Reply | None:
        if path == "/show_bug.cgi" or (self.alias and path[1:].isdigit() and len(path) < 9):
            numbers = q.all(self.id) if path == "/show_bug.cgi" else [path[1:]]
            bugs = [int(n) - 1000 for n in numbers if n.isdigit() and 1000 <= int(n) < 1000 + self.bugs]
            if not bugs:
                return Reply("no such bug the number is not valid", "no bug", soft=True)
            text = " ".join(self.text(f"bug {b}", 20, 120) for b in bugs)
            where = " ".join(map(str, bugs))
            if q.get(self.type) == "xml":
                return Reply(f"xml bugzilla {text}", f"{where} xml", "xml")
            return Reply(text, where)
        if path == "/attachment.cgi":
            number, action = q.int("id"), q.get("action", "view")
            if action == "edit":
                return Reply(
                    f"attachment {number} details {self.text(f'attachment {number}', 5, 20)}",
                    f"attachment {number} edit",
                )
            if action == "diff":
                return Reply(
                    f"difference {self.text(f'attachment diff {number}', 20, 60)}",
                    f"attachment {number} diff",
                )
            return Reply(self.text(f"attachment {number}", 20, 90), f"attachment {number}", "xml")
        if path == "/process_bug.cgi":
            return Reply("you must log in before changing this bug", "login", soft=True)
        if path == "/buglist.cgi":
            product, status = q.get("product"), q.get("status") or "open"
            order, limit = q.get("order", "id"), q.int("limit", 0) or 60
            mine = [
                b
                for b in range(self.bugs)
                if self.number(f"s {b}", 0, 1) == (status == "open") or status == "all"
            ]
            if product:
                mine = [
                    b for b in mine if self.words.word(f"product {self.number(f'p {b}', 0, 5)}") == product
                ]
            if order == "severity":
                mine.sort(key=lambda b: self.number(f"sev {b}", 0, 99999))
            text = self.listing(f"bugs {product} {status}", mine[:limit], "bug")
            return (
                Reply(text, f"list {product} {status} {order} {limit}")
                if mine
                else Reply("zarro boogs found", "none", soft=True)
            )
        return None


class Repository(Section):
    """cgit's and gitweb's kind: a hash is the content here; `h=` is a default for one value only."""

    def set_up(self) -> None:
        self.commits = max(10, self.size // 4)
        self.files = max(8, self.size // 8)
        self.repos = [self.words.word(f"{self.key} repo {i}") for i in range(self.rng.randint(1, 4))]
        self.web = self.rng.random() < 0.5
        self.branch = self.rng.choice(("master", "main", "trunk"))
        self.id, self.h = self.name("id", "id"), self.name("free", "h")

    def file(self, i: int) -> str:
        return f"{self.words.word(f'{self.key} dir {i % 5}')}/{self.words.word(f'{self.key} file {i}')}{i}.c"

    def link(self, rng: Random) -> Link:
        repo = rng.choice(self.repos)
        commit = self.words.hex(f"{self.key} {repo} {self.pick(rng, self.commits)}", 40)
        file = self.file(self.pick(rng, self.files))
        branch = some(rng, [(self.h, rng.choice((self.branch, self.branch, "devel")))], 0.35)
        if self.web:
            kind = rng.choice(("blob", "commit", "commitdiff", "shortlog", "history"))
            fields: Fields = [("p", repo + ".git"), ("a", kind)]
            if kind in ("blob", "history"):
                fields += [("f", file), ("hb", rng.choice(("HEAD", self.branch, commit)))]
                fields += some(rng, [("h", self.words.hex(f"{file} {repo}", 40))], 0.4)
            elif kind == "shortlog":
                fields += some(rng, [("pg", rng.choice("0012"))], 0.6)
            else:
                fields += [("h", commit)]
            return Link("/", fields, ";")
        kind = rng.choice(("tree", "plain", "log", "commit", "diff", "commit"))
        if kind in ("commit", "diff"):
            return Link(f"/{repo}/{kind}/", [(self.id, commit), *branch] if rng.random() < 0.9 else branch)
        path = f"/{repo}/{kind}/{file}" if rng.random() < 0.8 else f"/{repo}/{kind}/"
        fields = list(branch)
        if kind == "log":
            fields += some(rng, [("ofs", rng.choice(("0", "50", "100"))), ("showmsg", rng.choice("01"))], 0.4)
        elif rng.random() < 0.25:
            fields.append((self.id, commit))
        return Link(path, fields)

    def known(self, repo: str, commit: str) -> int:
        if not hasattr(self, "_commits"):
            self._commits = {
                self.words.hex(f"{self.key} {r} {i}", 40): i for r in self.repos for i in range(self.commits)
            }
        return self._commits.get(commit, -1)

    def answer(self, path: str, q: Query) -> Reply | None:
        if self.web:
            if path != "/":
                return None
            repo, kind = q.get("p").removesuffix(".git"), q.get("a")
            file, base, commit = q.get("f"), q.get("hb", "HEAD"), q.get("h")
            base = "HEAD" if base == self.branch else base
        else:
            repo, kind, *rest = ([*path.split("/"), "", ""])[1:]
            file, commit = "/".join(x for x in rest if x), q.get(self.id)
            base = commit if kind in ("tree", "plain") and commit else q.get(self.h) or self.branch
            base = "HEAD" if base == self.branch else base
        if repo not in self.repos:
            return None
        branch = "devel" if base == "devel" else ""
        if kind in ("commit", "commitdiff", "diff"):
            number = self.known(repo, commit) if commit else self.number(f"tip {branch}", 0, self.commits - 1)
            if number < 0:
                return None
            key = f"{repo} {kind} {number}"
            return Reply(self.text(key, 20, 150), f"{repo} {kind} {commit or branch or 'HEAD'}")
        if kind in ("blob", "tree", "plain"):
            if base not in ("HEAD", "devel"):
                number = self.known(repo, base)
                if number < 0:
                    return None
                version = f"{number * 5 // self.commits}"  # few commits change this file
            else:
                version = "4" if base == "HEAD" else "devel"
            shell = "xml" if kind == "plain" else "page"
            return Reply(
                self.text(f"{repo} {file} {version}", 40, 160), f"{repo} {kind} {file} {base}", shell
            )
        if kind in ("log", "shortlog", "history"):
            start = q.int("ofs") // 50 + q.int("pg")
            shown = range(start * 10, start * 10 + 10)
            full = " with messages" if q.get("showmsg") == "1" else ""
            text = self.listing(
                f"{kind} {repo} {file} {branch}{full}",
                [self.number(f"{file} {branch} {i}", 0, 9999) for i in shown],
                "commit",
            )
            if base not in ("HEAD", "devel"):
                branch = base
                text = f"{text} {base}"
            return Reply(text, f"{repo} {kind} {file} {branch} {start}{full}")
        return None


class Gallery(Section):
    """Pages with hardly any text: a title, a number, a menu."""

    def set_up(self) -> None:
        self.photos = max(20, self.size // 2)
        self.albums = max(3, self.photos // 25)
        self.id, self.page, self.view = (
            self.name("id", "g2_itemId"),
            self.name("page", "g2_page"),
            self.name("view", "size"),
        )
        self.titled = self.rng.random() < 0.6
        self.script = self.rng.choice(("/main.php", "/gallery.php", "/displayimage.php"))
        self.show = self.name("free", "showimage")

    def link(self, rng: Random) -> Link:
        if rng.random() < 0.25:
            album = rng.randrange(self.albums)
            return Link(
                "/album.php", [("album", str(album)), *some(rng, [(self.page, rng.choice("1123"))], 0.5)]
            )
        photo = self.pick(rng, self.photos)
        fields = [(self.id, str(photo))]
        fields += some(
            rng,
            [
                ("album", str(photo % self.albums)),
                ("pos", f"-{photo}"),
                (self.view, rng.choice(("medium", "medium", "large"))),
            ],
            0.3,
        )
        if rng.random() < 0.15:
            fields.append((self.show, str(rng.randrange(40))))
        return Link(self.script, fields)

    def answer(self, path: str, q: Query) -> Reply | None:
        if path == "/album.php":
            album, page = q.int("album", -1), max(1, q.int(self.page, 1))
            mine = [p for p in range(self.photos) if p % self.albums == album][page * 9 - 9 : page * 9]
            names = " ".join(self.caption(p) for p in mine)
            return (
                Reply(f"album {self.title(f'album {album}')} {names}", f"album {album} {page}")
                if mine
                else None
            )
        photo = q.int(self.id, -1)
        if path != self.script or not 0 <= photo < self.photos:
            return None
        size = "large" if q.get(self.view) == "large" else "medium"
        width = 640 if size == "medium" else 1600
        return Reply(f"{self.caption(photo)} {width} pixels", f"photo {photo} {size}")

    def caption(self, photo: int) -> str:
        return self.title(f"photo {photo}") if self.titled else f"dsc {photo:05d} jpg"


class Desk(Section):
    """ASP.NET and ColdFusion: names of parameters in any case, `tabid=`, `fuseaction=`, defaults by language."""

    fold = True

    def set_up(self) -> None:
        self.items = max(10, self.size // 3)
        self.script = self.rng.choice(("/Default.aspx", "/index.cfm", "/Content.asp"))
        self.tab, self.item = self.name("category", "tabid"), self.name("id", "ItemID")
        self.act, self.lang = self.name("free", "fuseaction"), self.name("lang", "language")
        self.print = self.name("view", "printmode")

    def link(self, rng: Random) -> Link:
        item = self.pick(rng, self.items)
        tab = self.number(f"tab {item}", 1, 8)
        cased = str.lower if rng.random() < 0.2 else str
        fields = [(cased(self.tab), str(tab)), (cased(self.item), str(item))]
        if rng.random() < 0.2:
            fields = [(cased(self.tab), str(tab))]
        fields += some(
            rng,
            [
                (self.act, rng.choice(("home.view", "home.view", "home.edit", "home.list"))),
                (self.lang, rng.choice(("en-US", "en-US", "fr-FR"))),
                (self.print, rng.choice(("0", "0", "1"))),
                ("CFID", str(rng.randrange(10**6))),
            ],
            0.25,
        )
        return Link(self.script, fields)

    def answer(self, path: str, q: Query) -> Reply | None:
        if path != self.script:
            return None
        tab, item = q.int(self.tab), q.int(self.item, -1)
        act, lang = q.get(self.act) or "home.view", q.get(self.lang) or "en-US"
        lang = lang if lang == "fr-FR" else "en-US"
        if act == "home.edit":
            return Reply("access denied log in to edit this content", "denied", soft=True)
        mine = [i for i in range(self.items) if self.number(f"tab {i}", 1, 8) == tab]
        if act == "home.list" or not 0 <= item < self.items:
            if not mine:
                return None
            return Reply(
                self.listing(f"{lang} tab {tab}", mine[:30]),
                f"{lang} tab {tab}" if item < 0 or item >= self.items else f"{lang} list {tab}",
            )
        printed = q.get(self.print) == "1"
        return Reply(
            self.text(f"{lang} item {item}"),
            f"{lang} item {item} {printed}",
            "bare" if printed else "page",
            known=not printed,
        )


class Service(Section):
    """Things under hexadecimal or UUID names, with formats, fields and callbacks."""

    def set_up(self) -> None:
        self.things = max(10, self.size // 3)
        self.style = self.rng.choice(("uuid", "hex", "number"))
        self.key_, self.format = self.name("id", "key"), self.name("view", "format")
        self.path = self.rng.random() < 0.6
        self.index = {self.ident(i): i for i in range(self.things)}

    def ident(self, i: int) -> str:
        h = self.words.hex(f"{self.key} thing {i}")
        if self.style == "uuid":
            return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"
        return h if self.style == "hex" else str(int(h[:7], 16))

    def link(self, rng: Random) -> Link:
        ident = self.ident(self.pick(rng, self.things))
        fields = some(
            rng,
            [
                (self.format, rng.choice(("json", "json", "xml"))),
                ("pretty", rng.choice(("true", "false"))),
                ("callback", f"jQuery{rng.randrange(10**8)}"),
                ("fields", rng.choice(("all", "title"))),
                ("v", "2"),
            ],
            0.2,
        )
        if self.path:
            return Link(f"/v2/things/{ident}" + rng.choice(("", "", "", ".json")), fields)
        return Link("/thing", [(self.key_, ident), *fields])

    def answer(self, path: str, q: Query) -> Reply | None:
        form = q.get(self.format) or "json"
        if self.path:
            ident = path.removeprefix("/v2/things/")
            if ident.endswith(".json"):
                ident, form = ident[:-5], "json"
        else:
            ident = q.get(self.key_) if path == "/thing" else ""
        if ident not in self.index:
            return None
        form = form if form == "xml" else "json"
        few = q.get("fields") == "title"
        text = (
            self.title(f"thing {self.index[ident]}")
            if few
            else self.text(f"thing {self.index[ident]}", 20, 100)
        )
        return Reply(f"{form} {ident} {text}", f"{ident} {form} {few}", "xml")


class Files(Section):
    """Static pages: directories and their index, versions of a manual, languages, listings sorted by a click."""

    def set_up(self) -> None:
        self.folders = max(4, self.size // 25)
        self.index = self.rng.choice(("index.html", "index.htm", "default.htm", "index.php", "welcome.html"))
        self.pages = max(10, self.size // 3)
        self.versions = self.rng.choice(([], ["1.0", "2.0"], ["v1", "v2", "v3"]))
        self.latest = self.rng.choice(("latest", "current", "stable"))
        self.bare = self.rng.random() < 0.4  # /page without .html is served too
        self.languages = self.rng.random() < 0.3
        self.user = self.rng.random() < 0.3
        self.redirects = self.rng.random() < 0.5

    def folder(self, i: int) -> str:
        name = self.words.word(f"{self.key} folder {i}") + str(i % 3 or "")
        return f"/~{name}" if self.user and i % 4 == 0 else f"/{name}"

    def link(self, rng: Random) -> Link:
        draw = rng.random()
        i = self.pick(rng, self.folders)
        if draw < 0.35:
            path = self.folder(i) + rng.choice(("/", "/", "", f"/{self.index}"))
            if rng.random() < 0.15:
                return Link(
                    self.folder(i) + "/",
                    [("C", rng.choice("NMS")), ("O", rng.choice("AD"))],
                    rng.choice(("&", ";")),
                )
            return Link(path)
        if self.versions and draw < 0.7:
            version = rng.choice([*self.versions, self.latest])
            return Link(
                f"/docs/{version}/{self.words.word(f'{self.key} doc {self.pick(rng, self.pages // 4)}')}.html"
            )
        page = self.pick(rng, self.pages)
        path = f"{self.folder(page % self.folders)}/{self.words.word(f'{self.key} page {page}')}-{page}"
        ending = ".html" if not self.bare or rng.random() < 0.7 else ""
        if self.languages and rng.random() < 0.3:
            ending += rng.choice((".en", ".en", ".de"))
        return Link(path + ending, some(rng, [("v", str(rng.randrange(9)))], 0.05))

    def answer(self, path: str, q: Query) -> Reply | None:
        parts = path.split("/")[1:]
        if parts[0] == "docs" and len(parts) == 3 and self.versions:
            version = self.versions[-1] if parts[1] == self.latest else parts[1]
            names = {self.words.word(f"{self.key} doc {i}"): i for i in range(max(1, self.pages // 4))}
            if (
                version not in self.versions
                or parts[2].removesuffix(".html") not in names
                or not parts[2].endswith(".html")
            ):
                return None
            doc = names[parts[2].removesuffix(".html")]
            old = self.number(f"changed {doc}", 0, len(self.versions) - 1)  # since when the page is as it is
            words = self.text(f"doc {doc}").split()
            at = self.versions.index(version)
            if at < old:
                words[5:12] = self.words.text(f"{self.key} doc {doc} {version}", 7).split()
            return Reply(f"version {version} " + " ".join(words), f"doc {version} {doc}")
        folders = {self.folder(i): i for i in reversed(range(self.folders))}
        home = "/" + parts[0]
        if home not in folders:
            return None
        number = folders[home]
        if len(parts) == 1:
            return (
                Reply("", f"folder {number}", status=301, location=home + "/")
                if self.redirects
                else Reply(self._folder(number), f"folder {number}")
            )
        if len(parts) == 2 and parts[1] in ("", self.index):
            order = q.get("C") + q.get("O") if parts[1] == "" and number % 2 else ""
            if order in ("", "NA"):
                return Reply(self._folder(number), f"folder {number}")
            files = sorted(
                range(12),
                key=lambda k: self.number(f"{number} {order[0]} {k}", 0, 999),
                reverse=order.endswith("D"),
            )
            return Reply(self.listing("index of", files, f"file {number}"), f"folder {number} {order}")
        name, german = parts[1], False
        if self.languages:
            german = name.endswith(".de")
            name = name.removesuffix(".de").removesuffix(".en")
        if not name.endswith(".html") and not self.bare:
            return None
        tail = name.removesuffix(".html").rpartition("-")[2]
        if not tail.isdigit() or int(tail) >= self.pages:
            return None
        page = int(tail)
        if (
            f"{self.folder(page % self.folders)}/{self.words.word(f'{self.key} page {page}')}-{page}"
            != f"{home}/{name.removesuffix('.html')}"
        ):
            return None
        return Reply(self.text(f"{'de ' if german else ''}page {page}"), f"page {page} {german}")

    def _folder(self, number: int) -> str:
        return self.listing(f"index of {self.folder(number)}", range(12), f"file {number}")
