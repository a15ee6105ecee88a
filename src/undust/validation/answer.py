"""What a server said to one request, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Kind = Literal["page", "redirect", "gone", "failed", "refused"]
"""A page; a redirect; no page there; no usable answer (a timeout, 503); never asked (robots.txt, address)."""

TRANSIENT = frozenset({408, 425, 429})


@dataclass(frozen=True)
class Answer:
    """One answer. `digest` is of the body; `text` is what a reader sees, None where the body is no text."""

    kind: Kind
    status: int = 0
    location: str = ""
    digest: str = ""
    text: str | None = None
    why: str = ""

    @cached_property
    def words(self) -> list[str]:
        return (self.text or "").split()

    def __str__(self) -> str:
        return self.why or str(self.status)


def kind_of(status: int) -> Kind:
    """What a status means for a test: only a definite answer is one.

    >>> [kind_of(s) for s in (200, 301, 304, 404, 403, 429, 503)]
    ['page', 'redirect', 'failed', 'gone', 'gone', 'failed', 'failed']
    """
    if 200 <= status < 300:
        return "page"
    if status in (301, 302, 303, 307, 308):
        return "redirect"
    return "gone" if 400 <= status < 500 and status not in TRANSIENT else "failed"
