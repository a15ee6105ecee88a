"""Pages from memory instead of the web, for trials and tests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from undust.validation.answer import Answer


class Offline:
    """Answers from a dictionary of URLs to texts; what is not there is not found.

    >>> import asyncio
    >>> asyncio.run(Offline({}).fetch("http://a.test/")).kind
    'gone'
    """

    def __init__(self, pages: Mapping[str, str | Answer]) -> None:
        self.pages = pages
        self.asked: list[str] = []

    async def fetch(self, url: str) -> Answer:
        self.asked.append(url)
        page = self.pages.get(url)
        if isinstance(page, Answer):
            return page
        if page is None:
            return Answer("gone", 404, why="status 404")
        return Answer("page", 200, digest=hashlib.sha256(page.encode()).hexdigest()[:32], text=page)
