"""Endpoints of no known software: parameters whose roles are drawn, with the traps that cost learners most."""

from __future__ import annotations

from random import Random

from .section import Fields, Link, Query, Reply, Section

ROLES = (
    "ignored",
    "ignored",
    "default",
    "default",
    "default",
    "mostly",
    "elsewhere",
    "beside",
    "redundant",
    "pair",
    "display",
    "sessionlike",
    "wins",
    "folded",
    "padded",
    "repeated",
    "flag",
    "blankmatters",
)
"""What a further parameter does to the page that `id` names.

ignored: nothing. default: one value is the same as none, others differ. mostly: nothing, but for one value.
elsewhere: nothing on this path, the content on another. beside: matters only with another one there.
redundant: follows from the id. pair: with the id it names the page. display: two values, two pages.
sessionlike: looks like a session id and names the content. wins: if it is there the id does not matter.
folded: upper and lower case are one. padded: 07 is 7. repeated: all values count, in their order.
flag: its presence matters, not its value. blankmatters: empty is not absent.
"""


class Endpoint(Section):
    """Two or three paths, an id, and three to six parameters with roles."""

    def set_up(self) -> None:
        rng = self.rng
        self.things = max(10, self.size // rng.choice((3, 6, 12)))
        ending = rng.choice(("", ".php", ".do", ".aspx", ".jsp"))
        self.paths = [f"/{self.words.word(f'{self.key} path {i}')}{ending}" for i in range(rng.randint(1, 3))]
        self.in_path = rng.random() < 0.3
        self.id = self.name("id")
        self.long = rng.choice((15, 60, 120))
        kinds = (
            "track",
            "sort",
            "view",
            "lang",
            "limit",
            "free",
            "free",
            "category",
            "slug",
            "noise",
            "page",
        )
        self.roles: dict[str, str] = {}
        for _ in range(rng.randint(3, 6)):
            role = rng.choice(ROLES)
            kind = {"sessionlike": "session", "redundant": "slug"}.get(role) or rng.choice(kinds)
            if role == "ignored" and rng.random() < 0.3:
                kind = "session"
            self.roles[self.name(kind)] = role
        self.share = {n: rng.choice((0.08, 0.2, 0.4)) for n in self.roles}
        self.defaults = {n: self.words.word(f"{self.key} default {n}") for n in self.roles}
        self.values = {n: rng.choice((3, 6, 25)) for n in self.roles}
        self.other = next(iter(self.roles))

    def value(self, name: str, i: int) -> str:
        return self.words.word(f"{self.key} {name} {i}")

    def link(self, rng: Random) -> Link:
        thing = self.pick(rng, self.things)
        at = rng.choice(self.paths)
        fields: Fields = [] if self.in_path else [(self.id, str(thing))]
        for name, role in self.roles.items():
            if rng.random() > self.share[name]:
                continue
            i = rng.randrange(self.values[name])
            v = self.value(name, i)
            match role:
                case "ignored":
                    v = rng.choice((v, str(rng.randrange(10**7)), self.words.hex(f"{rng.random()}")))
                case "default":
                    v = self.defaults[name] if rng.random() < 0.6 else v
                case "mostly":
                    v = "print" if rng.random() < 0.05 else v
                case "redundant":
                    v = self.slug(f"thing {thing}") if rng.random() < 0.8 else v
                case "display":
                    v = rng.choice(("0", "1"))
                case "sessionlike":
                    v = self.words.hex(f"{self.key} {name} {i}")
                case "wins":
                    v = str(rng.randrange(self.things))
                case "folded":
                    v = rng.choice((v, v, v.capitalize(), v.upper()))
                case "padded":
                    v = rng.choice((str(i), f"{i:02d}", f"{i:03d}"))
                case "repeated":
                    if rng.random() < 0.4:
                        fields.append((name, self.value(name, rng.randrange(self.values[name]))))
                case "flag":
                    v = rng.choice(("1", "yes", "on"))
                case "blankmatters":
                    v = "" if rng.random() < 0.4 else v
            fields.append((name, v))
        return Link(f"{at}/{thing}" if self.in_path else at, fields)

    def answer(self, path: str, q: Query) -> Reply | None:
        if self.in_path:
            path, _, tail = path.rpartition("/")
            thing = int(tail) if tail.isdigit() and len(tail) < 9 else -1
        else:
            thing = q.int(self.id, -1)
        if path not in self.paths or not 0 <= thing < self.things:
            return None
        key = [path]
        ident = str(thing)
        for name, role in self.roles.items():
            v = q.get(name)
            match role:
                case "default" if name in q and v not in (self.defaults[name], ""):
                    key.append(f"{name} {v}")
                case "mostly" if v == "print":
                    key.append(f"{name} print")
                case "elsewhere" if v and path == self.paths[-1]:
                    key.append(f"{name} {v}")
                case "beside" if v and self.other in q and self.other != name:
                    key.append(f"{name} {v}")
                case "pair" if name in q:
                    key.append(f"{name} {v}")
                case "display" if v == "1":
                    key.append(f"{name} 1")
                case "sessionlike" if v:
                    key.append(f"{name} {v}")
                case "wins" if v.isdigit() and len(v) < 9:
                    ident = f"won {v}"
                case "folded" if v:
                    key.append(f"{name} {v.lower()}")
                case "padded" if v.isdigit() and len(v) < 9:
                    key.append(f"{name} {int(v)}")
                case "repeated" if name in q:
                    key.append(f"{name} {q.all(name)}")
                case "flag" if name in q:
                    key.append(name)
                case "blankmatters" if name in q and not v:
                    key.append(f"{name} blank")
        where = " ".join([*key, ident])
        return Reply(self.text(where, self.long // 2, self.long), where)
