"""For `mkdocs build`: pages that the menu in mkdocs.yml does not name come last, under "More", instead of nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def named(nav: Any) -> set[str]:
    """All pages that a menu names.

    >>> sorted(named([{"Home": "index.md"}, {"How": ["a.md", {"B": "b.md"}]}]))
    ['a.md', 'b.md', 'index.md']
    """
    if isinstance(nav, str):
        return {nav}
    inner = nav.values() if isinstance(nav, dict) else nav
    return set().union(*map(named, inner))


def on_config(config: Any) -> Any:
    """Called by mkdocs before it reads the pages."""
    folder = Path(config.docs_dir)
    every = {str(page.relative_to(folder)) for page in folder.rglob("*.md")}
    if left := sorted(every - named(config.nav)):
        config.nav.append({"More": left})
    return config
