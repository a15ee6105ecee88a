"""What a part of a site is: a server that answers URLs, and pages that link to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from urllib.parse import quote, quote_plus

from .words import NAMES, Words, random_name, zipf

Fields = list[tuple[str, str]]


@dataclass(frozen=True)
class Reply:
    """What a URL shows.

    `own`: the text that is the page's own and does not change. `stringy`: the page's name as far as rules of
    strings can know it: equal for two URLs if rules without a table and without the content can make them one.
    `canonical`: the link the page carries, below the section's mount. `known`: False where nobody can say
    whether it is the same page as its twin (a print view without a canonical link): not in the truth.
    """

    own: str
    stringy: str
    shell: str = "page"  # page: with the site's template; bare: without; xml
    soft: bool = False
    status: int = 200
    location: str | None = None
    canonical: str | None = None
    known: bool = True


@dataclass(frozen=True)
class Link:
    """A URL below the section's mount, before the site's habits."""

    path: str
    fields: Fields = field(default_factory=list)
    separator: str = "&"
    frozen: bool = False  # no parameters are added: a file, a path that ends the URL


class Query:
    """The fields as the software reads them."""

    def __init__(self, fields: Iterable[tuple[str, str]], *, last: bool = True, fold: bool = False) -> None:
        self.fields = [(n.lower() if fold else n, v) for n, v in fields]
        self.last, self.fold = last, fold

    def get(self, name: str, default: str = "") -> str:
        found = self.all(name)
        return found[-1 if self.last else 0] if found else default

    def all(self, name: str) -> list[str]:
        name = name.lower() if self.fold else name
        return [v for n, v in self.fields if n == name]

    def int(self, name: str, default: int = 0) -> int:
        text = self.get(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else default

    def __contains__(self, name: str) -> bool:
        return bool(self.all(name))


class Section:
    """A kind of web software at a place of the site."""

    last = True  # which of repeated parameters counts
    fold = False  # names of parameters in any case

    def __init__(self, rng: Random, words: Words, mount: str, size: int) -> None:
        self.rng, self.words, self.mount, self.size = rng, words, mount, max(10, size)
        self.key = f"{type(self).__name__} {mount}"
        self.linked = rng.random() < 0.5  # pages carry canonical links
        self.sloppy = rng.random() < 0.25  # later pages call the first one canonical
        self.taken: set[str] = set()
        self.set_up()

    def set_up(self) -> None:
        """Draw what kind of installation this is."""

    def link(self, rng: Random) -> Link:
        """A link somebody follows."""
        raise NotImplementedError

    def answer(self, path: str, q: Query) -> Reply | None:
        """What this URL shows; None: not found."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ for the servers

    def name(self, role: str, plain: str | None = None) -> str:
        """A parameter's name: the usual one, another of its role, or any."""
        draw = self.rng.random()
        while True:
            name = (
                plain
                if plain and draw < 0.6
                else self.rng.choice(NAMES[role])
                if draw < 0.85
                else random_name(self.rng)
            )
            if name not in self.taken:
                self.taken.add(name)
                return name
            draw = self.rng.random() * (1.0 if draw < 0.6 else 0.4) + 0.6

    def text(self, key: str, low: int = 40, high: int = 160) -> str:
        """An article."""
        key = f"{self.key} {key}"
        return (
            f"{self.words.title(key)} {self.words.text(key, self.words.number(f'{key} length', low, high))}"
        )

    def title(self, key: str) -> str:
        return self.words.title(f"{self.key} {key}")

    def slug(self, key: str, by: str = "-") -> str:
        return self.words.slug(f"{self.key} {key}", by)

    def number(self, key: str, low: int, high: int) -> int:
        return self.words.number(f"{self.key} {key}", low, high)

    def pick(self, rng: Random, n: int) -> int:
        return zipf(rng, n)

    def listing(self, heading: str, items: Iterable[int], what: str = "item") -> str:
        """A list of things: titles with the beginning of each."""
        rows = [
            f"{self.title(f'{what} {i}')} {self.words.text(f'{self.key} teaser {what} {i}', 9)}"
            for i in items
        ]
        return " ".join([heading, *rows]) if rows else f"{heading} nothing here yet"


def one_of(rng: Random, *options: str) -> str:
    return rng.choice(options)


def some(rng: Random, fields: Fields, share: float = 0.4) -> Fields:
    """Each of these fields or not."""
    return [f for f in fields if rng.random() < share]


def shuffled(rng: Random, fields: Fields) -> Fields:
    out = list(fields)
    rng.shuffle(out)
    return out


def written(fields: Fields, separator: str = "&", plus: bool = True) -> str:
    """A query string."""
    encode = quote_plus if plus else quote
    return separator.join(f"{quote(n, safe='[]_.-')}={encode(v, safe=':,/()')}" for n, v in fields)
