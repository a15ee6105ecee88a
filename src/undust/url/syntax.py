"""Take a URL apart and put it together again, losing nothing.

Every input is a URL here: garbage, spaces, no scheme, bytes that are no UTF-8. What the grammar of RFC 3986
does not know stays where it was found, so a URL that no rule touches comes back byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*").fullmatch
_COMMON_SCHEMES = frozenset({"http", "https"})
_PORT = re.compile(r"[0-9]*").fullmatch


class Parts(NamedTuple):
    """The five components of RFC 3986, raw; `None` is "not there", `""` is "there and empty"."""

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None


def parse(url: str | bytes) -> Parts:
    """Cut `url` into its five components. Never fails; `unparse` is the exact inverse.

    Bytes are read as UTF-8, undecodable ones kept as lone surrogates (`surrogateescape`).

    >>> parse("http://example.com:80/a;s=1?x=1&&y#top")
    Parts(scheme='http', authority='example.com:80', path='/a;s=1', query='x=1&&y', fragment='top')
    >>> parse("www.example.com/a?")
    Parts(scheme=None, authority=None, path='www.example.com/a', query='', fragment=None)
    """
    if isinstance(url, bytes):
        url = url.decode("utf-8", "surrogateescape")
    scheme = authority = query = fragment = None
    rest, mark, tail = url.partition("#")
    if mark:
        fragment = tail
    rest, mark, tail = rest.partition("?")
    if mark:
        query = tail
    head, mark, tail = rest.partition(":")
    if mark and (head in _COMMON_SCHEMES or _SCHEME(head)):
        scheme, rest = head, tail
    if rest.startswith("//"):
        slash = rest.find("/", 2)
        if slash < 0:
            authority, rest = rest[2:], ""
        else:
            authority, rest = rest[2:slash], rest[slash:]
    return Parts(scheme, authority, rest, query, fragment)


def unparse(parts: Parts) -> str:
    """Put the components together again: `unparse(parse(url)) == url` for every string.

    >>> unparse(parse("http://u@[::1]:8080/a//b?;&=#"))
    'http://u@[::1]:8080/a//b?;&=#'
    """
    scheme, authority, url, query, fragment = parts
    if authority is not None:
        url = f"//{authority}{url}"
    if scheme is not None:
        url = f"{scheme}:{url}"
    if query is not None:
        url = f"{url}?{query}"
    if fragment is not None:
        url = f"{url}#{fragment}"
    return url


def split_authority(authority: str) -> tuple[str | None, str, str | None]:
    """(userinfo, host, port); what is no port by RFC 3986 (digits or nothing) stays with the host.

    >>> split_authority("me:pw@[2001:db8::1]:8080")
    ('me:pw', '[2001:db8::1]', '8080')
    >>> split_authority("example.com"), split_authority("example.com:"), split_authority("a:b")
    ((None, 'example.com', None), (None, 'example.com', ''), (None, 'a:b', None))
    """
    before, at, host = authority.rpartition("@")
    userinfo = before if at else None
    name, colon, port = host.rpartition(":")
    # `[::1]` ends in `:1]`, which is no port; a colon-rich host without brackets has none either.
    if colon and _PORT(port) and (":" not in name or name.endswith("]")):
        return userinfo, name, port
    return userinfo, host, None


def join_authority(userinfo: str | None, host: str, port: str | None) -> str:
    """The inverse of `split_authority`.

    >>> join_authority(None, "example.com", "8080")
    'example.com:8080'
    """
    if userinfo is not None:
        host = f"{userinfo}@{host}"
    return host if port is None else f"{host}:{port}"


def split_query(query: str) -> tuple[list[str], list[str]]:
    """(fields, separators between them); empty fields are kept, so `join_query` is the exact inverse.

    The separator is `&`. `;` is one only if the query has no `&` at all and at least two of the pieces it
    would make are `name=value`: so Apache's `?C=N;O=D` is two fields; `?q=a;b` and `?x&y;z` keep their `;`.

    >>> split_query("a=1&&b&amp;c=2")
    (['a=1', '', 'b', 'amp;c=2'], ['&', '&', '&'])
    >>> split_query("C=N;O=D"), split_query("q=a;b")
    ((['C=N', 'O=D'], [';']), (['q=a;b'], []))
    """
    separator = query_separator(query)
    fields = query.split(separator)
    return fields, [separator] * (len(fields) - 1)


def join_query(fields: Sequence[str], separators: Sequence[str]) -> str:
    """The inverse of `split_query`; a missing separator (fields were added) is `&`, or the last one given.

    >>> join_query(["a=1", "b"], ["&"]), join_query(["C=N", "O=D", "x=1"], [";"])
    ('a=1&b', 'C=N;O=D;x=1')
    """
    if not fields:
        return ""
    last = separators[-1] if separators else "&"
    out = [fields[0]]
    for i, field in enumerate(fields[1:]):
        out += (separators[i] if i < len(separators) else last, field)
    return "".join(out)


def query_separator(query: str) -> str:
    """`&` or `;`: see `split_query`.

    >>> query_separator("C=N;O=D"), query_separator("a=1"), query_separator("a=1;b=2&c")
    (';', '&', '&')
    """
    if ";" in query and "&" not in query:
        named = 0
        for piece in query.split(";"):
            named += piece.find("=") > 0
        if named >= 2:
            return ";"
    return "&"


def field_name(field: str) -> str:
    """What stands before the first `=` (all of it, if there is none).

    >>> field_name("a=b=c"), field_name("flag")
    ('a', 'flag')
    """
    return field.partition("=")[0]


def field_value(field: str) -> str | None:
    """What stands after the first `=`; `None` if there is none.

    >>> field_value("a=b=c"), field_value("a="), field_value("flag")
    ('b=c', '', None)
    """
    _, mark, value = field.partition("=")
    return value if mark else None


def split_path(path: str) -> list[str]:
    """The segments of a path; the slash it begins with opens the first one. An empty path has none.

    >>> split_path("/a/b/"), split_path("/"), split_path(""), split_path("www.example.com/a")
    (['a', 'b', ''], [''], [], ['www.example.com', 'a'])
    """
    if not path:
        return []
    return path[path[0] == "/" :].split("/")


def split_segment(segment: str) -> tuple[str, list[str]]:
    """(name, path parameters) of a path segment: `name;a=1;b=2`.

    Parameters begin at the first `;` that is followed by `name=`, and go on to the end of the segment; a `;`
    before that belongs to the name. `";".join([name, *parameters])` is the segment again.

    >>> split_segment("item;jsessionid=0A1B;x")
    ('item', ['jsessionid=0A1B', 'x'])
    >>> split_segment("fish;chips"), split_segment("plain")
    (('fish;chips', []), ('plain', []))
    """
    if ";" in segment:
        pieces = segment.split(";")
        for i in range(1, len(pieces)):
            if pieces[i].find("=") > 0:
                return ";".join(pieces[:i]), pieces[i:]
    return segment, []
