"""Apache Nutch and StormCrawler: `regex-normalize.xml` (Java expressions, in order, one pass) and the host file."""

from __future__ import annotations

from xml.sax.saxutils import escape

from undust.exports.expression import Rewrite
from undust.exports.sequence import settled
from undust.exports.target import Export, comment, placed
from undust.rules import RuleBook

CAVEAT = "to run behind urlnormalizer-basic; one pass is enough, so urlnormalizer.loop.count can stay 1"
HOSTS = "host-urlnormalizer.txt"


def write(book: RuleBook, level: str = "probable") -> Export:
    """The XML file; rules that do nothing but rename a host are in the host file too, for who prefers it.

    >>> from undust.rules import Rule, Scope, SiteRules
    >>> rule = Rule(Scope(("www.a.example",)), do={"host": "a.example"})
    >>> found = write(RuleBook({"a.example": SiteRules("a.example", ("a.example", "www.a.example"), [rule])}))
    >>> print(found.text, found.beside[HOSTS], sep="")
    <?xml version="1.0" encoding="UTF-8"?>
    <regex-normalize>
      <!-- ... -->
      <regex>
        <pattern>^(https?://)www\\.a\\.example((?::[0-9]+)?)(?=[/?#]|$)([^?#]*)(?!\\?[^#]*;)((?:[?#].*)?)$</pattern>
        <substitution>$1a.example$2$3$4</substitution>
      </regex>
    </regex-normalize>
    www.a.example a.example
    """
    found = settled(book, level)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<regex-normalize>"]
    told: set[str] = set()
    for rewrite in found.rewrites:
        if rewrite.rule.id not in told:
            told.add(rewrite.rule.id)
            about = f"{rewrite.rule.id} {rewrite.rule.status}: {comment(rewrite.rule.describe())}"
            lines.append(f"  <!-- {escape(about).replace('--', '- -')} -->")
        lines += [
            "  <regex>",
            f"    <pattern>{escape(rewrite.pattern)}</pattern>",
            f"    <substitution>{escape(java(rewrite))}</substitution>",
            "  </regex>",
        ]
    lines.append("</regex-normalize>")
    written = {rewrite.rule.id for rewrite in found.rewrites}
    aliases = [
        f"{host} {place.rule.do['host']}"
        for place in placed(book, level)
        if place.rule.do.keys() == {"host"} and not place.rule.when and not place.rule.scope.path
        for host in place.hosts
        if place.rule.id in written and host != place.rule.do["host"]
    ]
    return Export("\n".join(lines) + "\n", found.missing, {HOSTS: "".join(f"{a}\n" for a in aliases)})


def java(rewrite: Rewrite) -> str:
    """The replacement as `Matcher.replaceAll` reads it: a digit behind a group would belong to its number."""
    out = ""
    for piece in rewrite.replacement:
        if isinstance(piece, int):
            out += f"${piece}"
            continue
        text = piece.replace("\\", "\\\\").replace("$", "\\$")
        out += "\\" + text if out and text[:1].isdigit() else text
    return out
