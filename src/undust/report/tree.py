"""The pattern tree of a site as a picture: how its URLs are built, and where among them the duplicates are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from undust.learners.build_tree import build_tree, news
from undust.learners.pattern_tree import key_columns
from undust.likeness import Site
from undust.measures.metrics import numbered
from undust.report.shown import shown

KEYS = 64
LABEL = 90
"""Characters of a node's text."""

SMALLEST = 1 / 1500
"""The share of the site's URLs below which a group of them is too thin to be seen."""


def pattern_tree(
    site: Site, forms: Sequence[str], most: int = 700
) -> list[tuple[int, str, int, int, int, int]]:
    """The largest nodes of a site's pattern tree, each after its parent.

    A node: the number of its parent (-1: none), what its pattern says that its parent's does not, how many URLs
    it holds; of how many of them the content is known, how many contents these have, and how many forms the
    rules make of them (`forms`, aligned with the site's URLs). Soft pages are left out.

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> urls = [f"http://a.example/{p}?id={i}&sid={s}" for p in "pq" for i in range(4) for s in range(3)]
    >>> pages = pa.table({"url": urls, "digest": [u[:23] for u in urls]})
    >>> site, = split_sites(pages)
    >>> forms = [url.partition("&")[0] for url in site.urls]
    >>> for node in pattern_tree(site, forms)[:2]:
    ...     print(node)
    (-1, 'path[0]=* id={int} sid={int}', 24, 24, 8, 8)
    (0, 'path[0]=p', 12, 12, 4, 4)
    """
    rows = np.flatnonzero(site.alive & ~site.labels.soft)
    if not len(rows):
        return []
    least = max(3, round(len(rows) * SMALLEST))
    tree = build_tree(*key_columns(site.table, "start", least, KEYS), rows, min_members=least)
    cluster, form = site.labels.cluster, numbered(forms)
    number: dict[int, int] = {}
    out: list[tuple[int, str, int, int, int, int]] = []
    # A parent is no smaller than its children and comes before them, so it is always there already.
    for node in sorted(tree.nodes, key=lambda node: (-node.size, node.id))[:most]:
        number[node.id] = len(out)
        members = tree.rows(node)
        known = members[cluster[members] >= 0]
        words = news(tree, node)
        if node.parent is None:
            words = [word for word in words if word.partition("=")[2].startswith(("*", "?", "{"))]
        out.append(
            (
                -1 if node.parent is None else number[node.parent.id],
                shown(" ".join(map(_said, words)), LABEL),
                node.size,
                len(known),
                len(np.unique(cluster[known])),
                len(np.unique(form[known])),
            )
        )
    return out


def _said(word: str) -> str:
    """A word of a pattern as rules say it: `id=*` for `query[id]=*`, `no id` where it is absent."""
    key, absent, _ = word.partition(" absent")
    name, bracket, rest = key.partition("]")
    plain = name.removeprefix("query[") + rest if bracket and name.startswith("query[") else key
    return f"no {plain}" if absent else plain


def as_records(nodes: Sequence[tuple[int, str, int, int, int, int]]) -> list[dict[str, Any]]:
    """The nodes with names for their figures."""
    names = ("parent", "text", "urls", "known", "contents", "forms")
    return [dict(zip(names, node, strict=True)) for node in nodes]
