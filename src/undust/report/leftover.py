"""What the rules leave: duplicates that none of them explains, and soft pages that none may touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from undust.engines.learn import unexplained
from undust.learners.view import View
from undust.likeness import Site
from undust.measures import Known
from undust.measures.metrics import Ints
from undust.report.shown import shown

GROUPS = 8
EXAMPLES = 3


def duplicates(site: Site, forms: Sequence[str], most: int = GROUPS) -> list[dict[str, Any]]:
    """The largest groups of duplicates that are left when each URL has become its form.

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> pages = pa.table({"url": ["http://a.example/1", "http://a.example/2"], "digest": ["x", "x"]})
    >>> site, = split_sites(pages)
    >>> duplicates(site, site.urls.tolist())
    [{'urls': 1, 'paths': ['/1', '/2'], 'examples': ['http://a.example/1', 'http://a.example/2']}]
    """
    alive = np.flatnonzero(site.alive)
    view = View(site.take(alive), [forms[row] for row in alive.tolist()])
    hard = (view.cluster >= 0) & ~view.soft
    clusters, count = np.unique(view.cluster[hard], return_counts=True)
    return groups(unexplained(view, set(clusters[count > 1].tolist()), most), most)


def groups(notes: object, most: int = GROUPS) -> list[dict[str, Any]]:
    """Groups of duplicates as the notes of a book have them; a book is data, so what is not as expected is left out.

    >>> groups([{"duplicates": 3, "paths": ["/x"], "example": ["http://a.example/x"]}, {"duplicates": "many"}, 7])
    [{'urls': 3, 'paths': ['/x'], 'examples': ['http://a.example/x']}]
    """
    if not isinstance(notes, list):
        return []
    return [
        {
            "urls": note["duplicates"],
            "paths": _texts(note.get("paths")),
            "examples": _texts(note.get("example")),
        }
        for note in notes[:most]
        if isinstance(note, Mapping) and type(note.get("duplicates")) is int
    ]


def _texts(given: object) -> list[str]:
    if not isinstance(given, list):
        return []
    return [shown(text) for text in given[:EXAMPLES] if isinstance(text, str)]


def soft_pages(on: Known, rows: Ints, most: int = GROUPS) -> list[dict[str, Any]]:
    """The contents that stand under most soft URLs (errors, logins, empty results), with some of these."""
    soft = rows[on.truth.soft[rows]]
    clusters, first, count = np.unique(on.truth.cluster[soft], return_index=True, return_counts=True)
    out = []
    for at in np.lexsort((first, -count))[:most].tolist():
        members = soft[on.truth.cluster[soft] == clusters[at]]
        out.append(
            {
                "urls": int(count[at]),
                "examples": [shown(on.truth.urls[row]) for row in members[:EXAMPLES].tolist()],
            }
        )
    return out
