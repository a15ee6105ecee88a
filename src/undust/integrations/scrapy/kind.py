"""What kind of URL it is: a rule that is wrong is mostly wrong on one kind of them."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"[0-9]+")
_FILE = re.compile(r"[\w-]{1,40}\.[A-Za-z][A-Za-z0-9]{0,4}\Z")


def kind(url: str) -> str:
    """The first segment, how many there are, how the path ends, and the names of the parameters.

    >>> kind("http://a.example/print.pl?sid=7&t=1"), kind("http://a.example/wiki/Some_title")
    ('|1|print.pl|sid&t', 'wiki|2||')
    >>> kind("http://a.example/forum/topic12.html") == kind("http://a.example/forum/topic7.html")
    True
    """
    rest = url.partition("://")[2].partition("#")[0]
    path, _, query = rest.partition("?")
    segments = path.split("/")[1:]
    last = segments[-1] if segments else ""
    ending = ""
    if _FILE.match(last):
        ending = _DIGITS.sub("0", last) if len(segments) == 1 else "." + last.rpartition(".")[2]
    first = _DIGITS.sub("0", segments[0]) if len(segments) > 1 else ""
    names = "&".join(sorted({field.partition("=")[0] for field in query.split("&") if field}))
    return f"{first}|{len(segments)}|{ending}|{names}"
