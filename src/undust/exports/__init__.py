"""Rule books in the formats of other tools; what a target cannot say is listed, never silently dropped.

`export(book, "nutch")` gives the text of the file and the list. `docs/exports.md` tells how each file is used.
"""

from __future__ import annotations

from importlib import import_module

from undust.errors import UsageError
from undust.exports.target import Export, NotExpressible
from undust.rules import RuleBook

# name -> module; each has `write(book, level) -> Export` and a CAVEAT: what holds for all of its rules.
TARGETS = {
    "dud": "dud",
    "clearurls": "clearurls",
    "nutch": "nutch",
    "clean-param": "clean_param",
    "nginx": "nginx",
    "apache": "apache",
    "regex": "regex",
}


def export(book: RuleBook, to: str, level: str = "probable") -> Export:
    """A rule book in the format of a target.

    >>> from undust.rules import Rule, SiteRules
    >>> book = RuleBook({"a.example": SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])})
    >>> print(export(book, "clean-param").text)
    # a.example
    Clean-param: sid
    """
    if to not in TARGETS:
        raise UsageError(f"unknown target {to!r}; known are {', '.join(TARGETS)}")
    out: Export = import_module(f"undust.exports.{TARGETS[to]}").write(book, level)
    return out


def caveat(to: str) -> str:
    """What a person should know of a target before using the file."""
    text: str = import_module(f"undust.exports.{TARGETS[to]}").CAVEAT
    return text


__all__ = ["TARGETS", "Export", "NotExpressible", "caveat", "export"]
