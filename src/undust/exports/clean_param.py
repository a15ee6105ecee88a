"""robots.txt: `Clean-param` lines, one block a host. Yandex reads them; it knows irrelevant parameters only."""

from __future__ import annotations

import re

from undust.exports.company import Company
from undust.exports.target import Cannot, Export, NotExpressible, Paths, as_drop
from undust.rules import RuleBook

CAVEAT = (
    "each block belongs into the robots.txt of its host; a path is a prefix there, "
    "and what becomes of queries with semicolons is not documented"
)
LONGEST = 500  # characters of one line that are read

_NAME = re.compile(r"[A-Za-z0-9_.\-\[\]]+\Z")
_PATH = re.compile(r"/[A-Za-z0-9_.\-/~]*\Z")
_FILE = re.compile(r"\.[a-z]{2,5}[0-9]?\Z")


def write(book: RuleBook, level: str = "probable") -> Export:
    """Names grouped by path, the longest path first.

    >>> from undust.rules import Rule, Scope, SiteRules
    >>> rules = [Rule(do={"query[a]": None, "query[b]": None}), Rule(Scope(path="/f/"), do={"query[c]": None})]
    >>> print(write(RuleBook({"a.example": SiteRules("a.example", rules=rules)})).text)
    # a.example
    Clean-param: c /f/
    Clean-param: a&b
    """
    blocks: dict[str, dict[str, dict[str, None]]] = {}
    missing: list[NotExpressible] = []
    wider: list[NotExpressible] = []
    company = Company.of(book, level)
    paths = Paths(place.rule for place in company.places)
    for place in company.places:
        try:
            place.check()
            if why := company.needed(place.rule):
                raise Cannot(why)
            drop = as_drop(place.rule)
            if not place.hosts:
                raise Cannot("it is for no named host, and a robots.txt belongs to one")
            if drop.value is not None:
                raise Cannot("it has no conditions on values")
            path = "" if drop.prefix == "/" and not drop.exact else drop.prefix
            if drop.exact and (_FILE.search(path) is None or paths.longer(path)):
                raise Cannot(f"{path} would be read as a prefix")
            if not drop.exact and path and not path.endswith("/"):
                path += "/"
            if (path and _PATH.match(path) is None) or not all(map(_NAME.match, drop.names)):
                raise Cannot("a name or path with characters that are not allowed")
            if len(f"{drop.names[0]} {path}") > LONGEST - len("Clean-param: "):
                raise Cannot("it is longer than what is read")
        except Cannot as error:
            missing.append(NotExpressible(place.rule, str(error)))
            continue
        if drop.exact:
            wider.append(NotExpressible(place.rule, f"{path} is read as a prefix"))
        for host in place.hosts:
            blocks.setdefault(host, {}).setdefault(path, {}).update(dict.fromkeys(drop.names))
    return Export(
        "\n".join(_block(host, paths) for host, paths in sorted(blocks.items())), missing, wider=tuple(wider)
    )


def _block(host: str, paths: dict[str, dict[str, None]]) -> str:
    lines = [f"# {host}"]
    for path in sorted(paths, key=lambda path: (-len(path), path)):
        names: list[str] = []
        for name in sorted(paths[path]):
            if names and len(_line([*names, name], path)) > LONGEST:
                lines.append(_line(names, path))
                names = []
            names.append(name)
        lines.append(_line(names, path))
    return "\n".join(lines) + "\n"


def _line(names: list[str], path: str) -> str:
    return f"Clean-param: {'&'.join(names)} {path}".rstrip()
