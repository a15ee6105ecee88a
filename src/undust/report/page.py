"""A page that is complete in itself: style, scripts, charts and data in one file, and nothing may be fetched."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from undust.crawl import Crawl
from undust.measures import Truth
from undust.report.contents import contents
from undust.report.shown import as_script, shown
from undust.report.vega import NOTICE, library, needed
from undust.rules import AliasTable, RuleBook

WITHOUT_SCRIPTS = (
    "This report needs JavaScript, all of which is in this file. "
    "The same figures as text: undust evaluate -r rules.json INPUT."
)


def report(
    book: RuleBook,
    crawl: Crawl | Any,
    *,
    truth: Truth | None = None,
    level: str = "probable",
    host: str | None = None,
    listed: Collection[str] | None = None,
    aliases: AliasTable | None = None,
    own: bool = False,
) -> str:
    """The report of a rule book on pages, as HTML; anything `undust.read` takes will do.

    What it saves, what it risks, each rule with its evidence and the pages it merges wrongly, what is left. The
    text is the same for the same input. `listed` and `aliases` as in `undust.evaluate`; `own`: the rules were learned
    from these very pages, which is then said. See `docs/report.md`.

    >>> from undust.rules import Rule, SiteRules
    >>> book = RuleBook({"a.example": SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])})
    >>> html = report(book, [{"url": "http://a.example/?sid=1", "digest": "x"}])
    >>> html[:15], "http-equiv" in html, "https://cdn" in html
    ('<!doctype html>', True, False)
    """
    needed("the report")
    told = contents(book, crawl, truth=truth, level=level, host=host, listed=listed, aliases=aliases, own=own)
    return as_html(told)


def as_html(told: dict[str, Any]) -> str:
    """The report of what `contents` has told."""
    names = [site["name"] for site in told["sites"]]
    title = names[0] if len(names) == 1 else f"{len(names) + told['left_out']:,} sites"
    return page(f"undust report: {title}", told, ("charts.js", "report.js"))


def page(title: str, data: Any, scripts: tuple[str, ...]) -> str:
    """Data and the scripts that show it.

    The policy at the top forbids the browser to fetch anything and to run any script but these: should a text
    ever get past the escaping, it still could do nothing.
    """
    ours = "\n".join(_static(name) for name in scripts)
    code = [library(), ours]
    allowed = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in code)
    policy = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n',
            f"<title>{escape(shown(title, 120))}</title>\n<style>\n{_static('report.css')}</style>\n</head>\n<body>\n",
            f'<div id="page"><noscript>{escape(WITHOUT_SCRIPTS)}</noscript></div>\n',
            f'<script type="application/json" id="contents">{as_script(data)}</script>\n',
            f"<!-- {NOTICE} -->\n",
            *(f"<script>{text}</script>\n" for text in code),
            "</body>\n</html>\n",
        )
    )


def _static(name: str) -> str:
    return files("undust.report").joinpath("static", name).read_text(encoding="utf-8")
