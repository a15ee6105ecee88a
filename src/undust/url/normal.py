"""The normal form of RFC 3986 that every server must take for the same URL, and not one step further.

Done, for `http`, `https` and `ftp` URLs with a host: scheme and host in lower case; default or empty port
dropped; dot segments removed (RFC 3986 5.2.4; `%2e` is a dot); `%XX` of an unreserved character (letter,
digit, `-._~`) decoded, the hex digits of every other one in upper case; an empty path becomes `/`.
Not done, because a server may tell them apart, so it has to be learned: case of the path, double or missing
slashes, order of the query, blank fields, `www.`, `+` against `%20`. User info and fragment are kept as they
are. A URL of any other kind (no scheme, no host, another scheme) comes back unchanged.
"""

from __future__ import annotations

import re
import string

from .syntax import Parts, join_authority, parse, split_authority, unparse

DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}

_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# The second form is an escape right behind a stray `%` or `%X`: decoded, it could make a new one (`%%37E`).
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})|%[0-9A-Fa-f]?(?:%[0-9A-Fa-f]{2})+")
_HEX_DIGITS = re.compile(r"%[0-9A-Fa-f]{2}")
_ODD_ESCAPE = re.compile(r"%(?!2[0-9ABCF]|3[A-F]|40|5[BCDE]|60|7[BCDF]|[0189A-F][0-9A-F])").search
_PLAIN_HEAD = re.compile(r"https?://[a-z0-9_.\-]+/").match


def normal(url: str) -> str:
    """The normal form of `url` (see the module's text); `normal(normal(url)) == normal(url)`.

    >>> normal("HTTP://Example.COM:80/%7euser/./x/../a%2fb?q=%c3%a9&Q#Top")
    'http://example.com/~user/a%2Fb?q=%C3%A9&Q#Top'
    >>> normal("http://example.com"), normal("www.Example.com/./a"), normal("mailto:A@B")
    ('http://example.com/', 'www.Example.com/./a', 'mailto:A@B')
    """
    # Most URLs of a crawl are normal already, and three looks at the string prove it.
    if _PLAIN_HEAD(url) and "/." not in url and ("%" not in url or not _ODD_ESCAPE(url)):
        return url
    scheme, authority, path, query, fragment = parse(url)
    if scheme is None or authority is None:
        return url
    scheme = scheme.lower()
    default_port = DEFAULT_PORTS.get(scheme)
    if default_port is None:
        return url
    userinfo, host, port = split_authority(authority)
    if not host:
        return url
    host = lower_host(host)
    if port in ("", default_port):
        port = None
    path = remove_dot_segments(normal_escapes(path)) or "/"
    if query is not None:
        query = normal_escapes(query)
    return unparse(Parts(scheme, join_authority(userinfo, host, port), path, query, fragment))


def normal_escapes(text: str) -> str:
    """Percent-escapes in normal form: unreserved characters decoded, hex digits in upper case.

    A malformed escape is left alone, and so are its neighbours, lest a new escape come into being.

    >>> normal_escapes("%7Eme%2fyou%zz"), normal_escapes("%%37E")
    ('~me%2Fyou%zz', '%%37E')
    """
    return _ESCAPE.sub(_normal_escape, text) if "%" in text else text


def _normal_escape(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return _HEX_DIGITS.sub(lambda m: m[0].upper(), match[0])
    char = chr(int(digits, 16))
    return char if char in _UNRESERVED else "%" + digits.upper()


def lower_host(host: str) -> str:
    """Host in lower case, its escapes in normal form. ASCII letters only: the rest is IDNA's business.

    >>> lower_host("WWW.%45xample.COM"), lower_host("A%c3%a9")
    ('www.example.com', 'a%C3%A9')
    """
    if "%" not in host:
        return host.translate(_LOWER) if not host.isascii() else host.lower()
    host = normal_escapes(host)
    out: list[str] = []
    start = 0
    for escape in _HEX_DIGITS.finditer(host):
        out += (host[start : escape.start()].translate(_LOWER), escape[0])
        start = escape.end()
    return "".join(out) + host[start:].translate(_LOWER)


def remove_dot_segments(path: str) -> str:
    """RFC 3986 5.2.4, for the path of a URL that has a host.

    >>> remove_dot_segments("/a/b/c/./../../g"), remove_dot_segments("/a/.."), remove_dot_segments("/../x/.")
    ('/a/g', '/', '/x/')
    >>> remove_dot_segments("/a//../b"), remove_dot_segments("/.a/..b/...")
    ('/a/b', '/.a/..b/...')
    """
    if "/." not in path:
        return path
    out: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del out[-1:]
        elif segment != ".":
            out.append(segment)
    if segments[-1] in (".", ".."):
        out.append("")
    return "/" + "/".join(out)
