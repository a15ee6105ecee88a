"""Apache httpd: RewriteCond and RewriteRule that redirect; on for validated rules only."""

from __future__ import annotations

from undust.exports.expression import Rewrite
from undust.exports.sequence import redirects
from undust.exports.target import Export, comment
from undust.rules import RuleBook

CAVEAT = "rules not validated by fetching are commented out; validate before you redirect people"

_HEAD = """\
# Redirects to canonical URLs. For the server or a virtual host; needs mod_rewrite.
# The request is taken as the client sent it (RewriteRule's own pattern would see it decoded).
RewriteEngine On
RewriteCond "%{REQUEST_SCHEME}://%{HTTP_HOST} %{THE_REQUEST}" "^(\\S+) (?:GET|HEAD) (/\\S*) HTTP/"
RewriteRule ^ - [E=UNDUST_URL:%1%2]
"""


def write(book: RuleBook, level: str = "probable") -> Export:
    """The configuration.

    >>> from undust.rules import Rule, SiteRules
    >>> rule = Rule(when={"path": "/a"}, do={"path": "/b"}, status="validated")
    >>> print(write(RuleBook({"a.example": SiteRules("a.example", rules=[rule])})).text)
    # Redirects...
    # ... validated: *: when path is /a: set path to /b
    RewriteCond "%{ENV:UNDUST_URL}" "^(https?://a\\.example(?::[0-9]+)?)(?=[/?#]|$)(?:/a)(?!\\?[^#]*;)((?:[?#].*)?)$"
    RewriteRule ^ "%1/b%2?%9" [R=301,NE,QSD,QSL,L]
    """
    found = redirects(book, level)
    # The query is among the groups, and a substitution without a question mark of its own may not bring one. So it
    # ends with one, which QSL takes for where the query begins; and with %9, which is always empty, as a question mark
    # at the very end would be taken away when the configuration is read.
    lines, told = [], ""
    for rewrite in found.rewrites:
        rule = rewrite.rule
        off = "" if rule.status == "validated" else "# "
        if rule.id != told:
            told = rule.id
            lines.append(f"# {rule.id} {rule.status}: {comment(rule.describe())}\n")
        lines.append(f'{off}RewriteCond "%{{ENV:UNDUST_URL}}" "{rewrite.pattern}"\n')
        lines.append(f'{off}RewriteRule ^ "{target(rewrite)}?%9" [R=301,NE,QSD,QSL,L]\n')
    return Export(_HEAD + "".join(lines), found.missing)


def target(rewrite: Rewrite) -> str:
    """The substitution: `%1` is the first group of the condition; the texts hold neither `%` nor quotes."""
    return "".join(f"%{piece}" if isinstance(piece, int) else piece for piece in rewrite.replacement)
