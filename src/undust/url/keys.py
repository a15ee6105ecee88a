"""A URL as a mapping from keys to values: the view all learners but DustBuster have of it.

Keys are strings, and the same ones as in the rule language:

=====================  ==================================================================================
`scheme`               in lower case
`host`                 the whole host in lower case, without port
`host[0]`              its registrable domain by the public suffix list (private suffixes too: on
                       `me.github.io` it is all of it); the host if it has none (an address, `localhost`)
`host[1]`, ...         the labels before it, leftwards
`port`                 as written
`path`                 whole
`path[0]`, ...         its segments from the start, without their `;name=value` parameters;
                       `/a/b/` has `a`, `b` and an empty one, `/` has one empty one, an empty path none
`path[-1]`, ...        the same from the end
`matrix[name]`         path parameter `;name=value`, in whichever segment
`query`                whole
`query[name]`          value of the first field of that name; `query[name#2]` of the second one, ...
`fragment`             whole
=====================  ==================================================================================

A field without `=` has the value `""` as a field with nothing behind its `=`: the two are one key here, and
only the raw `query` tells them apart. Empty fields have no key.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

from publicsuffixlist import PublicSuffixList

from .normal import lower_host
from .syntax import parse, split_authority, split_path, split_query, split_segment

WHOLE_KEYS = frozenset({"url", "host", "path", "query", "fragment"})

_ADDRESS = re.compile(r"\[.*\]|[0-9]+(?:\.[0-9]+){3}|.*:.*", re.DOTALL).fullmatch
_KEY = re.compile(r"(host|path)\[(-?[0-9]+)\]|(matrix|query)\[(.*?)(?:#([0-9]+))?\]", re.DOTALL).fullmatch
# `separator` is what stands between the query's fields, `&` or `;`: a condition only, no part of the view.
_SIMPLE_KEYS = WHOLE_KEYS | {"scheme", "port", "separator"}


class Key(NamedTuple):
    """A key name taken apart: `path[-1]` has a position, `query[a#2]` a name and an occurrence."""

    kind: str
    position: int | None = None
    name: str | None = None
    occurrence: int = 1


def split_key(key: str) -> Key:
    """Take a key name apart; ValueError if it is none.

    >>> split_key("path[-1]"), split_key("query[a[]#2]"), split_key("host")
    (Key(kind='path', position=-1, name=None, occurrence=1),
     Key(kind='query', position=None, name='a[]', occurrence=2),
     Key(kind='host', position=None, name=None, occurrence=1))
    """
    if key in _SIMPLE_KEYS:
        return Key(key)
    match = _KEY(key)
    if match is None or (match[1] == "host" and match[2].startswith("-")) or match[5] in ("0", "1"):
        raise ValueError(f"{key!r} is no key of a URL")
    if match[1]:
        return Key(match[1], position=int(match[2]))
    return Key(match[3], name=match[4], occurrence=int(match[5] or 1))


def named_key(kind: str, name: str, occurrence: int = 1) -> str:
    """The key of a query field or path parameter.

    >>> named_key("query", "a"), named_key("query", "a", 2)
    ('query[a]', 'query[a#2]')
    """
    return f"{kind}[{name}]" if occurrence == 1 else f"{kind}[{name}#{occurrence}]"


@functools.lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    # The list comes with the package: no network. Private suffixes are in, as the key of a hosted site needs.
    return PublicSuffixList()


@functools.lru_cache(maxsize=65_536)
def host_labels(host: str) -> tuple[str, ...]:
    """Registrable domain, then the labels before it leftwards.

    >>> host_labels("www.forum.example.co.uk"), host_labels("me.github.io")
    (('example.co.uk', 'forum', 'www'), ('me.github.io',))
    >>> host_labels("192.0.2.1"), host_labels("localhost"), host_labels("com")
    (('192.0.2.1',), ('localhost',), ('com',))
    """
    if _ADDRESS(host):
        return (host,)
    bare = host.rstrip(".")
    try:
        domain = _suffixes().privatesuffix(bare)
    except (ValueError, UnicodeError):  # no host name by IDNA
        domain = None
    if not domain or not bare.endswith(domain):
        return (host,)
    before = bare[: -len(domain)].rstrip(".")
    return (domain + host[len(bare) :], *(reversed(before.split(".")) if before else ()))


@functools.lru_cache(maxsize=65_536)
def head_keys(scheme: str | None, authority: str | None) -> tuple[tuple[str, str], ...]:
    """Keys of what stands before the path. A site has few of these, so they are kept.

    >>> head_keys("HTTP", "www.Example.com:8080")
    (('scheme', 'http'), ('host', 'www.example.com'), ('host[0]', 'example.com'), ('host[1]', 'www'),
     ('port', '8080'))
    """
    out = [] if scheme is None else [("scheme", scheme.lower())]
    if authority is not None:
        _, host, port = split_authority(authority)
        host = lower_host(host)
        out.append(("host", host))
        out += ((f"host[{i}]", label) for i, label in enumerate(host_labels(host)))
        if port is not None:
            out.append(("port", port))
    return tuple(out)


def key_view(url: str) -> dict[str, str]:
    """All keys `url` has, with their values.

    >>> key_view("http://www.example.com/a/b.php;s=7?x=1&y&x=2")
    {'scheme': 'http', 'host': 'www.example.com', 'host[0]': 'example.com', 'host[1]': 'www',
     'path': '/a/b.php;s=7', 'path[0]': 'a', 'path[1]': 'b.php', 'path[-1]': 'b.php', 'path[-2]': 'a',
     'matrix[s]': '7', 'query': 'x=1&y&x=2', 'query[x]': '1', 'query[y]': '', 'query[x#2]': '2'}
    """
    scheme, authority, path, query, fragment = parse(url)
    view = dict(head_keys(scheme, authority))
    view["path"] = path
    segments = split_path(path)
    parameters: list[str] = []
    if ";" in path:
        for i, segment in enumerate(segments):
            segments[i], found = split_segment(segment)
            parameters += found
    depth = len(segments)
    from_start, from_end = (
        _SHORT_PATHS[depth]
        if depth < len(_SHORT_PATHS)
        else (path_keys(depth, False), path_keys(depth, True))
    )
    view.update(zip(from_start, segments, strict=True))
    view.update(zip(from_end, reversed(segments), strict=True))
    if parameters:
        _add_fields(view, "matrix", parameters)
    if query is not None:
        view["query"] = query
        _add_fields(view, "query", split_query(query)[0])
    if fragment is not None:
        view["fragment"] = fragment
    return view


def path_keys(depth: int, from_end: bool) -> tuple[str, ...]:
    """The keys of a path of that many segments, counted from its start or its end.

    >>> path_keys(2, from_end=False), path_keys(2, from_end=True)
    (('path[0]', 'path[1]'), ('path[-1]', 'path[-2]'))
    """
    return tuple(f"path[{-1 - i if from_end else i}]" for i in range(depth))


_SHORT_PATHS = [(path_keys(depth, False), path_keys(depth, True)) for depth in range(32)]


def _add_fields(view: dict[str, str], kind: str, fields: Iterable[str]) -> None:
    seen: dict[str, int] = {}
    for field in fields:
        if field:
            name, _, value = field.partition("=")
            if name not in seen:
                seen[name] = 1
                view[f"{kind}[{name}]"] = value
            else:
                seen[name] += 1
                view[named_key(kind, name, seen[name])] = value
