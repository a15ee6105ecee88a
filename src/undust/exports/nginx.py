"""nginx: a `map` from the request to where it should be redirected; on for validated rules only."""

from __future__ import annotations

from undust.exports.expression import Rewrite
from undust.exports.sequence import redirects
from undust.exports.target import Export, comment
from undust.rules import RuleBook

CAVEAT = "rules not validated by fetching are commented out; validate before you redirect people"

_HEAD = """\
# Redirects to canonical URLs. Include this file in the http block, and put into each server block:
#
#     if ($undust_target) { return 301 $undust_target; }
#
# The request is taken as the client sent it (`rewrite` would see it decoded). Behind a proxy that ends TLS put
# $http_x_forwarded_proto in place of $scheme.
map $request_method $undust_url {
    default "";
    GET "$scheme://$http_host$request_uri";
    HEAD "$scheme://$http_host$request_uri";
}
map $undust_url $undust_target {
    default "";
"""


def write(book: RuleBook, level: str = "probable") -> Export:
    """The configuration.

    >>> from undust.rules import Rule, SiteRules
    >>> rule = Rule(when={"path": "/a"}, do={"path": "/b"}, status="validated")
    >>> print(write(RuleBook({"a.example": SiteRules("a.example", rules=[rule])})).text)
    # Redirects...
        # ... validated: *: when path is /a: set path to /b
        "~^(https?://a\\.example(?::[0-9]+)?)(?=[/?#]|$)(?:/a)(?!\\?[^#]*;)((?:[?#].*)?)$" "$1/b$2";
    }
    """
    found = redirects(book, level)
    lines, told = [], ""
    for rewrite in found.rewrites:
        rule = rewrite.rule
        off = "" if rule.status == "validated" else "# "
        if rule.id != told:
            told = rule.id
            lines.append(f"    # {rule.id} {rule.status}: {comment(rule.describe())}\n")
        lines.append(f'    {off}"~{rewrite.pattern}" "{target(rewrite)}";\n')
    return Export(_HEAD + "".join(lines) + "}\n", found.missing)


def target(rewrite: Rewrite) -> str:
    """The replacement: `$1` is the first group; the texts hold neither `$` nor quotes."""
    return "".join(f"${piece}" if isinstance(piece, int) else piece for piece in rewrite.replacement)
