"""What others do with URLs without learning: each peer as a function on a str, imported when it is asked for.

They come with the `bench` extra. A URL that a peer cannot deal with, or would discard, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

Rewrite = Callable[[str], str]


def _w3lib() -> Rewrite:
    rewrite: Rewrite = import_module("w3lib.url").canonicalize_url
    return rewrite


def _url_normalize() -> Rewrite:
    rewrite: Rewrite = import_module("url_normalize").url_normalize
    return rewrite


def _courlan(strict: bool) -> Rewrite:
    check = import_module("courlan").check_url

    def rewrite(url: str) -> str:
        found = check(url, strict=strict)
        return str(found[0]) if found else url

    return rewrite


def _ural() -> Rewrite:
    rewrite: Rewrite = import_module("ural").normalize_url
    return rewrite


def _urlcanon(ruleset: str) -> Rewrite:
    package = import_module("urlcanon")
    apply = getattr(package, ruleset)
    return lambda url: str(apply(package.parse_url(url)))


def _discarder() -> Rewrite:
    rules = import_module("duplicate_url_discarder_rules").RULE_PATHS
    canonicalizer = import_module("duplicate_url_discarder.url_canonicalizer").UrlCanonicalizer(rules)
    rewrite: Rewrite = canonicalizer.process_url
    return rewrite


PEERS: dict[str, Callable[[], Rewrite]] = {
    "w3lib": _w3lib,
    "url-normalize": _url_normalize,
    "courlan": lambda: _courlan(False),
    "courlan strict": lambda: _courlan(True),
    "ural normalize": _ural,
    "urlcanon semantic": lambda: _urlcanon("semantic"),
    "urlcanon aggressive": lambda: _urlcanon("aggressive"),
    "duplicate-url-discarder": _discarder,
}
"""Name -> what makes the peer's function; ImportError when it is not installed."""


def installed() -> Iterator[tuple[str, Rewrite]]:
    """The peers that are there."""
    for name, make in PEERS.items():
        try:
            yield name, make()
        except ImportError:
            continue


def rewritten(rewrite: Rewrite, urls: Iterable[str]) -> list[str]:
    """URLs as a peer would have them.

    >>> rewritten(lambda url: url[: 1 // len(url)] + "!", ["", "a"])
    ['', 'a!']
    """
    out = []
    for url in urls:
        try:
            out.append(str(rewrite(url)))
        except Exception:  # whatever it is that another library does not like about a URL
            out.append(url)
    return out
