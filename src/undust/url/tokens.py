"""The tokens DustBuster cuts URLs into."""

from __future__ import annotations

import re

START, END = "^", "$"

_TOKEN = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+|[\x00-\x7f]")


def tokenize(url: str) -> list[str]:
    """Maximal runs of alphanumeric characters, and single other characters, between `^` and `$`.

    A character outside ASCII counts as alphanumeric, whatever it is: so the tokens of a URL and of its
    UTF-8 bytes are the same. `^` and `$` within a URL are tokens spelled like the two marks; `SiteTable`
    gives them other numbers, since the marks are not in the alphabet.

    >>> tokenize("http://www.site.com/index.html")
    ['^', 'http', ':', '/', '/', 'www', '.', 'site', '.', 'com', '/', 'index', '.', 'html', '$']
    """
    return [START, *_TOKEN.findall(url), END]
