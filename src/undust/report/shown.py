"""Texts from outside as they can be looked at: nothing hidden in them, none too long, none that ends a script."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

MOST = 300
"""Characters of a URL that are shown."""

# Controls, soft hyphens, and what turns the direction of reading: such characters make one URL look like another.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)


def shown(text: str, most: int = MOST) -> str:
    r"""A text with its hidden characters written out; a long one loses its middle.

    >>> shown("http://a.example/\u202eexe.txt"), shown("a" * 500, 11)
    ('http://a.example/\\u202eexe.txt', 'aaaaa…aaaaa')
    """
    if len(text) > 2 * most:
        text = text[:most] + "…" + text[-most:]
    text = _HIDDEN.sub(_written_out, text)
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def _written_out(hidden: re.Match[str]) -> str:
    code = ord(hidden[0])
    # What could not be decoded stands for a byte.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def as_script(data: Any) -> str:
    """Data as JSON that can stand in a page: no `<` in it, so no text can end the script or begin a tag.

    >>> as_script({"url": "</script><img src=x>"})
    '{"url":"\\\\u003c/script\\\\u003e\\\\u003cimg src=x\\\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def fitting(records: Iterable[Any], room: int) -> tuple[list[Any], int]:
    """The first records that fit into so many characters of JSON, and how many do not.

    >>> fitting(["abc", "def", "g"], 12)
    (['abc', 'def'], 1)
    """
    kept: list[Any] = []
    left = 0
    for record in records:
        room -= len(as_script(record)) + 1
        if left or room < 0:
            left += 1
        else:
            kept.append(record)
    return kept, left
