"""For `mkdocs build`: the examples in docstrings, which are doctests, become blocks of code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*(?:\n+>>> .*(?:\n(?!\s*$).*)*)*", re.M)


def fenced(text: str) -> str:
    """A docstring with its doctests in fences.

    >>> print(fenced("What it does.\\n\\n>>> 1 + 1\\n2\\n\\n>>> 3\\n3\\n\\nMore."))
    What it does.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    <BLANKLINE>
    >>> 3
    3
    ```
    <BLANKLINE>
    More.
    """
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


class Doctests(Extension):
    """Called by griffe for each object it has read."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if not obj.is_alias and obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
