"""The visible text of a page and the address it calls canonical, from its bytes. Needs the extra `undust[warc]`."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urljoin

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

MARKUP = frozenset(("text/html", "application/xhtml+xml", "text/xml", "application/xml")) | frozenset(
    ("application/rss+xml", "application/atom+xml")
)
"""Types whose tags are taken away."""

PLAIN = frozenset(("text/plain", "text/markdown", "text/csv"))
"""Types that are text as they stand. All others (images, scripts, archives) have a digest and no text."""

LARGEST = 8 << 20
"""Bytes of a page that are looked at; what follows is the same on no two crawlers anyway."""

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL = re.compile(r";\s*rel\s*=\s*\"?([^\";]*)", re.I)


class PageText(NamedTuple):
    """Visible text (None: not a text) and canonical address (absolute; None: none, or several that disagree)."""

    text: str | None
    canonical: str | None


def page_text(
    body: bytes,
    url: str,
    content_type: str | None = None,
    charset: str | None = None,
    link: Iterable[str] = (),
) -> PageText:
    """What a reader sees of a page, and what it says its address is.

    `charset` is the one of the HTTP header; `link` the values of HTTP `Link` headers.

    >>> html = b'<title>T</title><link rel=canonical href="/a"><script>no()</script><p>Yes, <b>visible</b>'
    >>> page_text(html, "http://a.example/a?sid=1", "text/html")
    PageText(text='Yes, visible', canonical='http://a.example/a')
    """
    kind = _kind(body, content_type)
    canonicals = set(_linked(link, url))
    if kind == "other":
        return PageText(None, _only(canonicals))
    decoded = decode(body[:LARGEST], charset, markup=kind == "markup")
    if kind == "plain":
        return PageText(decoded, _only(canonicals))
    tree = HTMLTree.parse(decoded)
    head = tree.head
    if head is not None:
        base = head.query_selector("base[href]")
        start = (_joined(url, base["href"]) if base is not None else "") or url
        for element in head.query_selector_all("link[rel][href]"):
            if "canonical" in element["rel"].lower().split() and element["href"].strip():
                canonicals.add(_joined(start, element["href"]))
    return PageText(extract_plain_text(tree, preserve_formatting=False), _only(canonicals - {""}))


def decode(body: bytes, charset: str | None, markup: bool = True) -> str:
    """Bytes to text: by byte order mark, HTTP header, the page's own word, and at last by the bytes themselves.

    >>> decode("Füße".encode("latin-1"), "iso-8859-1"), decode(b"\\xef\\xbb\\xbfx", "latin-1")
    ('Füße', 'x')
    """
    encoding = next((name for mark, name in _BOMS if body.startswith(mark)), None) or _known(charset)
    if encoding is None:
        encoding = detect_encoding(body, from_html_meta=markup) or "utf-8"
    try:
        return bytes_to_str(body, encoding, errors="replace")
    except (LookupError, UnicodeError):  # what a server calls a charset may be any codec of Python, or none
        return body.decode("utf-8", "replace")


def _known(charset: str | None) -> str | None:
    try:
        return None if charset is None else codecs.lookup(charset).name
    except (LookupError, UnicodeError, ValueError):
        return None


def _kind(body: bytes, content_type: str | None) -> str:
    media = (content_type or "").partition(";")[0].strip().lower()
    if media in MARKUP:
        return "markup"
    if media in PLAIN:
        # Servers call anything plain text that they do not know.
        return "other" if b"\0" in body[:1024] else "plain"
    start = body[:1024].lstrip().lower()
    return "markup" if not media and start.startswith((b"<!doctype html", b"<html")) else "other"


def _linked(link: Iterable[str], url: str) -> Iterable[str]:
    """Canonical addresses of HTTP `Link` headers."""
    for value in link:
        for target, parameters in _LINK.findall(value):
            rel = _REL.search(parameters)
            if rel and "canonical" in rel[1].lower().split():
                yield _joined(url, target)


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link.strip())
    except ValueError:
        return ""


def _only(canonicals: set[str]) -> str | None:
    return next(iter(canonicals)) if len(canonicals) == 1 else None
