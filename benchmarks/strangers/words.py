"""Words, titles and identifiers that a seed makes up: the same for the same key, whatever is asked before."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from random import Random

_ONSETS = [
    "b",
    "bl",
    "br",
    "c",
    "ch",
    "cl",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "pr",
    "qu",
    "r",
    "s",
    "sh",
    "sl",
    "st",
    "t",
    "th",
    "tr",
    "v",
    "w",
    "y",
    "z",
]
_NUCLEI = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "oo", "ou"]
_CODAS = ["", "", "", "l", "m", "n", "r", "s", "t", "nd", "rt", "ck", "st"]

NAMES: dict[str, tuple[str, ...]] = {
    "session": ("sid", "PHPSESSID", "s", "osCsid", "zenid", "sessid", "SESSION", "token", "ssn", "jsid"),
    "track": (
        "utm_source",
        "utm_medium",
        "ref",
        "from",
        "src",
        "gclid",
        "fbclid",
        "cmp",
        "origin",
        "via",
        "rf",
    ),
    "id": ("id", "p", "t", "art", "item", "nr", "no", "pid", "doc", "key", "oid", "ID"),
    "sort": ("sort", "order", "orderby", "sortby", "by", "s", "ob"),
    "dir": ("dir", "direction", "asc", "sd", "way"),
    "page": ("page", "p", "pg", "start", "offset", "pagina", "seite"),
    "limit": ("limit", "per_page", "n", "count", "show", "rows"),
    "view": ("view", "mode", "display", "layout", "tpl", "skin", "style", "format"),
    "lang": ("lang", "language", "hl", "l", "sprache", "locale"),
    "category": ("cat", "c", "category", "section", "cPath", "gid", "rubrik"),
    "slug": ("title", "name", "slug", "titel", "text", "subject"),
    "noise": ("_", "ts", "rand", "nocache", "r", "t", "cb", "v"),
    "query": ("q", "s", "query", "search", "keywords", "suche"),
    "free": (
        "a",
        "b",
        "x",
        "do",
        "op",
        "cmd",
        "act",
        "m",
        "e",
        "z",
        "type",
        "opt",
        "tab",
        "box",
        "f",
        "g",
        "u",
    ),
}
"""Names of parameters by role; several stand in more than one role, as they do on the web."""


class Words:
    """A site's vocabulary."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        rng = Random(f"vocabulary {seed}")
        made: dict[str, None] = {}
        while len(made) < 1500:
            syllables = rng.choice((1, 2, 2, 2, 3, 3))
            parts = (rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_CODAS) for _ in range(syllables))
            made["".join(parts)] = None
        self.vocabulary = list(made)
        self._weights = list(accumulate(1 / (i + 8) for i in range(len(self.vocabulary))))
        self.text = lru_cache(maxsize=1 << 16)(self._text)

    def rng(self, key: str) -> Random:
        """A generator of its own for a key."""
        return Random(f"{self.seed}|{key}")

    def _text(self, key: str, words: int) -> str:
        """So many words.

        >>> Words("x").text("a", 5) == Words("x").text("a", 5)
        True
        """
        return " ".join(self.rng(key).choices(self.vocabulary, cum_weights=self._weights, k=words))

    def title(self, key: str) -> str:
        """Three to five words."""
        return self.text(f"title {key}", 3 + self.number(key, 0, 2))

    def slug(self, key: str, by: str = "-") -> str:
        """A title as it stands in a URL."""
        return self.title(key).replace(" ", by)

    def word(self, key: str) -> str:
        """One of the rarer words."""
        return self.vocabulary[self.number(f"word {key}", 100, len(self.vocabulary) - 1)]

    def number(self, key: str, low: int, high: int) -> int:
        """A number between low and high."""
        digest = blake2b(f"{self.seed}|{key}".encode(), digest_size=8).digest()
        return low + int.from_bytes(digest, "big") % (high - low + 1)

    def hex(self, key: str, digits: int = 32) -> str:
        """Hexadecimal digits."""
        return blake2b(f"{self.seed}|{key}".encode(), digest_size=32).hexdigest()[:digits]


def random_name(rng: Random) -> str:
    """A parameter's name that says nothing."""
    shape = rng.random()
    if shape < 0.5:
        return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(1, 4)))
    if shape < 0.8:
        return rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(("x", "n", "Id", "_id", "Key", "2"))
    return rng.choice(("ctl00", "g2_", "tx_", "_p", "cx")) + rng.choice(_NUCLEI) + str(rng.randint(1, 9))


def zipf(rng: Random, n: int) -> int:
    """One of 0..n-1, the small ones more often."""
    return rng.randrange(n) if rng.random() < 0.4 else int(n ** rng.random()) - 1 if n > 1 else 0
