"""A whole site: sections behind one front, the front's habits, a crawl of it, and what the crawl wrote down."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import md5
from random import Random
from urllib.parse import quote, unquote, unquote_plus

from .forums import PathForum, QueryForum, SlugForum
from .publishing import Blog, Component, News, Portal
from .section import Fields, Link, Query, Reply, Section, written
from .shops import Shop
from .tools import Calendar, Desk, Files, Gallery, Repository, Service, Tracker
from .traps import Endpoint
from .wikis import Farm, Wiki
from .words import NAMES, Words, random_name

KINDS: tuple[type[Section], ...] = (
    QueryForum, QueryForum, PathForum, SlugForum, Blog, Blog, Portal, Component, News, Wiki, Farm, Shop, Shop,
    Calendar, Tracker, Repository, Gallery, Desk, Service, Files, Files, Endpoint, Endpoint,
)  # fmt: skip

CASELESS = (Endpoint, Files, News, Shop, Blog, Calendar)
"""Sections whose paths are all lower case, so that a server may fold them."""


@dataclass(frozen=True)
class Page:
    """One line of a crawl, with what is true of it."""

    url: str
    reply: Reply
    section: int
    cluster: str | None  # None: not in the truth
    stringy: str
    text: str
    record: dict[str, object]


class Site:
    """The site of a seed; `pages` is how many URLs its crawl holds."""

    def __init__(self, seed: int, pages: int | None = None) -> None:
        self.seed = seed
        rng = self.rng = Random(f"stranger {seed}")
        self.words = Words(str(seed))
        self.host = f"{self.words.word('host')}{seed}.example"
        self.pages = pages or int(200 * 100 ** rng.random())
        self._habits(rng)
        count = rng.choice((1, 2, 2, 3, 3, 4))
        kinds = [rng.choice(KINDS) for _ in range(count)]
        if Endpoint not in kinds and rng.random() < 0.5:
            kinds.append(Endpoint)
        weights = [rng.uniform(0.4, 2) for _ in kinds]
        self.sections = []
        for i, kind in enumerate(kinds):
            mount = "" if i == 0 and rng.random() < 0.6 else f"/{self.words.word(f'mount {i}')}{i}"
            size = int(self.pages * weights[i] / sum(weights) * rng.choice((0.3, 0.6, 1.0)))
            self.sections.append(kind(Random(f"{seed} {i}"), self.words, mount, size))
        if self.evidence == "canonical":
            for section in self.sections:
                section.linked = True
        self.weights = weights
        self.by_mount = sorted(enumerate(self.sections), key=lambda s: -len(s[1].mount))
        # A name that is noise everywhere, but for one section where it chooses what is shown.
        if self.tracks and rng.random() < 0.25:
            self.exception = (rng.randrange(len(self.sections)), rng.choice(self.tracks))

    def _habits(self, rng: Random) -> None:
        """What the front does with a URL, and how links to the site are written."""
        names = [n for r in ("track", "noise") for n in NAMES[r]]
        self.tracks = (
            rng.sample(names, rng.choice((0, 0, 1, 2, 3))) if rng.random() < 0.7 else [random_name(rng)]
        )
        self.track_share = rng.choice((0.03, 0.1, 0.25))
        self.session = rng.choice(("", "", "query", "query", "matrix", "dotnet"))
        self.session_name = rng.choice(NAMES["session"]) if rng.random() < 0.8 else random_name(rng)
        self.session_share = rng.choice((0.05, 0.2, 0.5))
        self.exception: tuple[int, str] = (-1, "")
        self.hosts = rng.choice(([""], [""], ["", "www."], ["www.", ""], ["", "www.", "www2."]))
        self.host_share = rng.choice((0.05, 0.3))
        self.foreign = "de." if rng.random() < 0.12 else ""  # the same paths, other texts
        self.schemes = rng.choice((["http"], ["http"], ["https"], ["http", "https"]))
        self.port = rng.choice(("", "", "", ":80", ":8080"))
        self.tolerates = rng.random() < 0.5  # &amp; is read as &
        self.amp = rng.choice((0.0, 0.0, 0.05))
        self.semicolons = rng.random() < 0.3
        self.folds = rng.random() < 0.2
        self.slashes = rng.random() < 0.6
        self.slash_share = rng.choice((0.0, 0.0, 0.03))
        self.shuffle = rng.choice((0.0, 0.0, 0.1, 0.4))
        self.blank = rng.choice((0.0, 0.0, 0.04))
        self.percent = rng.choice((0.0, 0.3))
        self.languages = rng.random() < 0.12
        self.evidence = rng.choices(("sketch", "text", "digest", "canonical", "sizes"), (50, 20, 15, 9, 6))[0]
        self.noise = rng.choices((0, 1, 2, 3), (35, 25, 20, 20))[
            0
        ]  # none, clock, clock and advertisements, token
        self.edits = rng.choice((0.0, 0.0, 0.02, 0.05))
        self.shell = self.words.text("shell", rng.choice((20, 60, 150, 300)))
        self.footer = self.words.text("footer", rng.choice((5, 30)))
        self.honest = rng.choice(("yes", "yes", "yes", "no", "home"))  # what canonical links are worth

    # ------------------------------------------------------------------------------------------ the server

    def fetch(self, url: str) -> tuple[Reply, int, str] | None:
        """What a URL shows, by which section, and its name as far as strings can know it."""
        _scheme, _, rest = url.partition("://")
        authority, slash, rest = rest.partition("/")
        host = authority.lower().partition(":")[0]
        prefix = host.removesuffix(self.host)
        foreign = bool(self.foreign) and prefix == self.foreign
        if not host.endswith(self.host) or not (foreign or prefix in self.hosts) or not slash:
            return None
        path, _, query = ("/" + rest).partition("#")[0].partition("?")
        path = unquote(path)
        if self.session == "dotnet" and path.startswith("/(S("):
            path = "/" + path.partition("))/")[2]
        if self.session == "matrix":
            path = path.partition(";")[0]
        if self.slashes:
            while "//" in path:
                path = path.replace("//", "/")
        german = ""
        if self.languages and path.startswith("/de/"):
            path, german = path[3:], "de "
        elif self.languages and path.startswith("/en/"):
            path = path[3:]
        for number, section in self.by_mount:
            if path.startswith(section.mount + "/"):
                below = path[len(section.mount) :]
                if self.folds and isinstance(section, CASELESS):
                    below = below.lower()
                q = Query(self.read(query, section), last=section.last, fold=section.fold)
                reply = section.answer(below, q)
                if reply is not None:
                    return self._told(reply, number, section, q, f"{prefix if foreign else ''}{german}")
        return None

    def _told(
        self, reply: Reply, number: int, section: Section, q: Query, other: str
    ) -> tuple[Reply, int, str]:
        stringy = f"{number} {other}{reply.stringy}"
        if number == self.exception[0] and q.get(self.exception[1]):
            other += f"{self.exception[1]} {q.get(self.exception[1])}"
            stringy += f" {other}"
        if other and reply.own and not reply.soft:
            own = self.words.text(f"{other} {reply.own}", max(12, reply.own.count(" ")))
            canonical = None
            reply = Reply(
                own, stringy, reply.shell, reply.soft, reply.status, reply.location, canonical, reply.known
            )
        return reply, number, stringy

    def read(self, query: str, section: Section) -> Fields:
        """The fields of a query as the front hands them on."""
        if isinstance(section, (QueryForum, Wiki)) and not self.semicolons:
            pieces = query.split("&")
        elif self.semicolons or type(section).__name__ in ("PathForum", "Repository", "Files"):
            pieces = query.replace("&amp;", "&" if self.tolerates else "&amp;").replace(";", "&").split("&")
        else:
            pieces = query.split("&")
        fields = []
        for piece in pieces:
            name, _, value = piece.partition("=")
            name = unquote_plus(name)
            if self.tolerates:
                name = name.removeprefix("amp;")
            if name:
                fields.append((name, unquote_plus(value)))
        return fields

    # ------------------------------------------------------------------------------------------ links and a crawl

    def spelled(self, section: Section, link: Link, rng: Random) -> str:
        """The URL under which somebody links to a page."""
        fields, path = list(link.fields), section.mount + link.path
        if len(fields) > 1 and rng.random() < self.shuffle:
            rng.shuffle(fields)
        if not link.frozen:
            for name in self.tracks:
                if rng.random() < self.track_share:
                    value = rng.choice(
                        (
                            self.words.word(f"campaign {rng.randrange(6)}"),
                            str(rng.randrange(10**9)),
                            self.words.hex(str(rng.random()), 8),
                        )
                    )
                    fields.insert(
                        rng.randint(0, len(fields)) if rng.random() < 0.1 else len(fields), (name, value)
                    )
            if self.blank and rng.random() < self.blank:
                fields.append((rng.choice([n for n, _ in fields] or ["x"]) + rng.choice(("", "2")), ""))
        token = self.words.hex(f"session {rng.randrange(self.pages // 10 + 2)}")
        has_session = self.session and rng.random() < self.session_share
        if has_session and self.session == "query":
            fields.insert(rng.choice((0, len(fields))), (self.session_name, token))
        if rng.random() < self.slash_share:
            at = rng.choice([i for i, c in enumerate(path) if c == "/"])
            path = path[:at] + "/" + path[at:]
        if rng.random() < (0.12 if self.folds else 0.01):
            path = rng.choice((path.title(), path.upper()))
        if self.languages and rng.random() < 0.3:
            path = rng.choice(("/en", "/de")) + path
        path = quote(path, safe="/~:,.;()!$'*-_")
        if rng.random() < self.percent:
            path = path.replace("~", "%7E")
        if has_session and self.session == "matrix":
            path += f";jsessionid={token.upper()}"
        if has_session and self.session == "dotnet":
            path = f"/(S({token[:24]})){path}"
        separator = link.separator
        if separator == "&" and rng.random() < self.amp:
            separator = "&amp;"
        elif separator == "&" and self.semicolons and rng.random() < 0.05:
            separator = ";"
        query = written(fields, separator, plus=rng.random() >= self.percent)
        host = self.hosts[0] if rng.random() >= self.host_share else rng.choice(self.hosts)
        if self.foreign and rng.random() < 0.2:
            host = self.foreign
        name = host + self.host
        if rng.random() < 0.01:
            name = name.upper()
        if self.port and rng.random() < 0.1:
            name += self.port
        scheme = rng.choice(self.schemes)
        if self.port == ":80" and name.endswith(":80"):
            scheme = "http"
        return f"{scheme}://{name}{path}" + (f"?{query}" if query else "")

    def crawl(self) -> list[Page]:
        """Links followed until there are enough URLs; popular pages come under many."""
        rng = Random(f"crawl {self.seed}")
        found: dict[str, Page | None] = {}
        pages: list[Page] = []
        tries = 0
        while len(pages) < self.pages and tries < 8 * self.pages:
            tries += 1
            section = rng.choices(self.sections, self.weights)[0]
            urls = [self.spelled(section, section.link(rng), rng)]
            while urls:
                url = urls.pop()
                if url in found:
                    continue
                answer = self.fetch(url)
                found[url] = None
                if answer is None:
                    if rng.random() < 0.2:
                        pages.append(self._missing(url))
                    continue
                page = self._page(url, *answer)
                pages.append(page)
                if "location" in page.record and rng.random() < 0.9:
                    urls.append(str(page.record["location"]))
        return pages

    def _missing(self, url: str) -> Page:
        reply = Reply("the page was not found", "404", status=404)
        record: dict[str, object] = {"url": url, "status": 404, "size": 512, "content_type": "text/html"}
        return Page(url, reply, -1, None, "404", reply.own, record)

    def absolute(self, url: str, section: int, link: str) -> str:
        """A link below a section's mount, on the host of the page it stands on."""
        authority = url.partition("://")[2].partition("/")[0].lower()
        path, mark, query = link.partition("?")
        path = quote(self.sections[section].mount + path, safe="/~:,.;()!$'*-_")
        query = "&".join(quote(p, safe="=[]_.-:,") for p in query.split("&"))
        return f"{url.partition('://')[0]}://{authority}{path}{mark}{query if mark else ''}"

    def _page(self, url: str, reply: Reply, section: int, stringy: str) -> Page:
        rng = Random(f"{self.seed} fetch {url}")
        record: dict[str, object] = {"url": url, "status": reply.status}
        if reply.location is not None:
            record |= {"location": self.absolute(url, section, reply.location), "size": 0}
            return Page(url, reply, section, None, stringy, "", record)
        stable = self._rendered(reply, section, [], [])
        own = reply.own
        if self.edits and not reply.soft and rng.random() < self.edits:
            words = own.split()
            words[rng.randrange(len(words))] = self.words.word(str(rng.random()))
            own = " ".join(words)
        head, foot = [], []
        if self.noise in (1, 2):
            foot.append(
                f"it is {rng.randrange(24):02d}:{rng.randrange(60):02d}"
                f" page made in 0.{rng.randrange(10**4):04d} seconds"
            )
        if self.noise == 2:
            head.append(self.words.text(f"advertisement {rng.randrange(25)}", 9))
            foot.append(
                f"{rng.randrange(90)} guests online {self.words.text(f'advertisement {rng.randrange(25)}', 6)}"
            )
        shown = Reply(own, reply.stringy, reply.shell)
        text = self._rendered(shown, section, head, foot)
        cluster = md5(stable.encode()).hexdigest() if reply.known else None
        token = str(rng.random()) if self.noise == 3 else ""
        record["content_type"] = "text/xml" if reply.shell == "xml" else "text/html"
        record["size"] = (
            int(len(text.encode()) * 1.3)
            + {"page": 5200, "de": 5200, "bare": 700, "xml": 150}[reply.shell]
            + (rng.randrange(3) if token else 0)
        )
        record |= self._evidence(url, section, reply, text, token)
        if rng.random() < 0.5:
            record["hits"] = rng.randint(1, 30)
        return Page(url, reply, section, cluster, stringy, text, record)

    def _rendered(self, reply: Reply, section: int, head: list[str], foot: list[str]) -> str:
        if reply.shell == "xml":
            return reply.own
        if reply.shell == "bare":
            return " ".join([*head[:0], reply.own, *foot[:1]])
        shell = (
            self.shell
            if reply.shell == "page"
            else self.words.text(f"shell {reply.shell}", self.shell.count(" ") + 1)
        )
        menu = self.words.text(f"menu {section}", 12)
        return " ".join([shell, *head, menu, reply.own, *foot, self.footer])

    def _evidence(self, url: str, section: int, reply: Reply, text: str, token: str) -> dict[str, object]:
        out: dict[str, object] = {}
        if self.evidence in ("sketch", "text", "digest"):
            out["digest"] = md5(f"{text}{token}".encode()).hexdigest()
        if self.evidence == "text":
            out["text"] = text
        if self.evidence == "sketch":
            out["text_len"] = len(text)
        if self.evidence != "sizes" and reply.canonical is not None and reply.shell != "xml":
            link = reply.canonical
            if self.honest == "home":
                out["canonical"] = self.absolute(url, section, "/")
            elif self.honest == "no":
                out["canonical"] = url
            else:
                out["canonical"] = self.absolute(url, section, link)
        return out
