"""The conversions a template may name: small functions from text to text, linear and idempotent.

Each is safe on any text. `tr(a,b)` is the only one with arguments and the only one that can grow its input by
more than a constant factor, therefore it is the only one that is bounded (see `Growth`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import methodcaller

from undust.url import query_separator, remove_dot_segments

Convert = Callable[[str], str]

MAX_GROWTH = 4_000


class Growth(Exception):
    """A rewrite would make the text longer than any real URL needs: the rule does not fire."""


_TRIPLET = re.compile(r"%[0-9a-fA-F]{2}")
_HEX = re.compile(r"%([0-9a-fA-F]{2})")
# What stays unambiguous when decoded in a path segment or a parameter's value: no delimiter of either.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$'()*,:@")
_NOT_UNRESERVED = re.compile(r"%[0-9a-fA-F]{2}|[^A-Za-z0-9\-._~]", re.DOTALL)
_AMP = re.compile(r"(?:^|(?<=&))(?:amp;)+|&(?:amp;)+")
_SLASHES = re.compile(r"//+")


def _upper_triplets(text: str) -> str:
    return _TRIPLET.sub(lambda m: m[0].upper(), text) if "%" in text else text


def lower(text: str) -> str:
    """Lower case; the hexadecimal digits of percent-escapes stay upper case, as RFC 3986 wants them.

    >>> lower("Art%C3%84")
    'art%C3%84'
    """
    return _upper_triplets(text.lower())


def upper(text: str) -> str:
    """Upper case."""
    return text.upper()


def decode(text: str) -> str:
    """Decode the percent-escapes that mean the same when decoded; delimiters and non-ASCII stay escaped.

    >>> decode("%41%2C%20%2F")
    'A,%20%2F'
    """

    def one(found: re.Match[str]) -> str:
        char = chr(int(found[1], 16))
        return char if char in _PLAIN else found[0]

    return _HEX.sub(one, text) if "%" in text else text


def encode(text: str) -> str:
    """Percent-encode everything but unreserved characters; what is escaped already stays.

    >>> encode("a:b c%20")
    'a%3Ab%20c%20'
    """

    def one(found: re.Match[str]) -> str:
        char = found[0]
        if len(char) == 3:
            return char
        try:
            octets = char.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            octets = char.encode("utf-8", "surrogatepass")
        return "".join(f"%{octet:02X}" for octet in octets)

    return _NOT_UNRESERVED.sub(one, text)


def plus(text: str) -> str:
    """`+` -> `%20`."""
    return text.replace("+", "%20")


def unplus(text: str) -> str:
    """`%20` -> `+`."""
    return text.replace("%20", "+")


def amp(text: str) -> str:
    """Undo HTML escaping of the separator in a query.

    >>> amp("t=1&amp;sid=2&amp;amp;x=3"), amp("amp;t=1")
    ('t=1&sid=2&x=3', 't=1')
    """
    return _AMP.sub(lambda m: "&" if m[0].startswith("&") else "", text) if "amp;" in text else text


def semi(text: str) -> str:
    """`;` -> `&`: one kind of separator."""
    return text.replace(";", "&")


def _fields(query: str, change: Callable[[list[str]], list[str]]) -> str:
    by = query_separator(query)
    return by.join(change(query.split(by)))


_by_name = methodcaller("partition", "=")


def sort(query: str) -> str:
    """Sort the fields of a query by name, then value.

    >>> sort("t=2&a=3&t=1&a-b=0")
    'a=3&a-b=0&t=1&t=2'
    """
    return _fields(query, lambda fields: sorted(fields, key=_by_name))


def first(query: str) -> str:
    """Of fields with one name keep the first.

    >>> first("a=1&b=2&a=3")
    'a=1&b=2'
    """

    def change(fields: list[str]) -> list[str]:
        seen: dict[str, str] = {}
        for field in fields:
            seen.setdefault(field.partition("=")[0], field)
        return list(seen.values())

    return _fields(query, change)


def last(query: str) -> str:
    """Of fields with one name keep the last.

    >>> last("a=1&b=2&a=3")
    'b=2&a=3'
    """

    def change(fields: list[str]) -> list[str]:
        seen: dict[str, str] = {}
        for field in reversed(fields):
            seen.setdefault(field.partition("=")[0], field)
        return list(seen.values())[::-1]

    return _fields(query, change)


def noempty(query: str) -> str:
    """Drop empty fields.

    >>> noempty("&a=1&&b=")
    'a=1&b='
    """
    return _fields(query, lambda fields: [f for f in fields if f])


def noblank(query: str) -> str:
    """Drop fields without a value.

    >>> noblank("a=1&b=&c")
    'a=1'
    """
    return _fields(query, lambda fields: [f for f in fields if f.partition("=")[2]])


def slashes(path: str) -> str:
    """Collapse runs of slashes."""
    return _SLASHES.sub("/", path) if "//" in path else path


def slash(path: str) -> str:
    """Add a trailing slash."""
    return path if path.endswith("/") else path + "/"


def noslash(path: str) -> str:
    """Strip trailing slashes; the root stays."""
    return path.rstrip("/") or "/" if path.endswith("/") else path


def dots(path: str) -> str:
    """Resolve `.` and `..` segments (RFC 3986 section 5.2.4).

    >>> dots("/a/./b/../c"), dots("/a/..")
    ('/a/c', '/')
    """
    return remove_dot_segments(path) if path.startswith("/") else path


def translate(old: str, new: str) -> Convert:
    """`tr(old,new)`: replace every `old` by `new`."""
    surplus = len(new) - len(old)

    def convert(text: str) -> str:
        if surplus > 0 and text.count(old) * surplus > len(text) + MAX_GROWTH:
            raise Growth
        return text.replace(old, new)

    return convert


CONVERSIONS: dict[str, Convert] = {
    function.__name__: function
    for function in (
        lower, upper, decode, encode, plus, unplus, amp, semi, sort, first, last,
        noempty, noblank, slashes, slash, noslash, dots,
    )
}  # fmt: skip
