"""Plain search and replace as TSV: pattern, replacement, rule id; the replacement as Python's `re.sub` writes it."""

from __future__ import annotations

from undust.exports.expression import Rewrite
from undust.exports.sequence import settled
from undust.exports.target import Export
from undust.rules import RuleBook

CAVEAT = "URLs are expected in RFC 3986 normal form; apply the lines in their order, once"


def write(book: RuleBook, level: str = "probable") -> Export:
    """One search and replace a line.

    >>> from undust.rules import Rule, SiteRules
    >>> rule = Rule(when={"path": "/old/{n:int}"}, do={"path": "/new/{n}"})
    >>> found = write(RuleBook({"a.example": SiteRules("a.example", rules=[rule])}))
    >>> for field in found.text.splitlines()[-1].split("\\t"):
    ...     print(field)
    ^(https?://a\\.example(?::[0-9]+)?)(?=[/?#]|$)(?:/old/([0-9]+))(?!\\?[^#]*;)((?:[?#].*)?)$
    \\g<1>/new/\\g<2>\\g<3>
    03beb868e600
    """
    found = settled(book, level)
    lines = ["# pattern\treplacement (Python's re.sub)\trule; one after the other, each once"]
    lines += [f"{r.pattern}\t{python(r)}\t{r.rule.id}" for r in found.rewrites]
    return Export("\n".join(lines) + "\n", found.missing)


def python(rewrite: Rewrite) -> str:
    """The replacement for `re.sub`."""
    return "".join(
        f"\\g<{piece}>" if isinstance(piece, int) else piece.replace("\\", "\\\\")
        for piece in rewrite.replacement
    )
