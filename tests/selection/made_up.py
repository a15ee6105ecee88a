"""Small sites with known DUST for the tests of judging and selection; no real host is named."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from undust.likeness import Site, split_sites

HOST = "http://www.example.com"


def site(pages: Iterable[tuple[str, str]]) -> Site:
    """A site of pages given as path and content."""
    rows = {HOST + path: content for path, content in pages}
    table = pa.table({"url": list(rows), "digest": list(rows.values())})
    (found,) = split_sites(table)
    return found


def forum(topics: int = 40) -> list[tuple[str, str]]:
    """Topics with session ids, default values, a page number that matters and a print view."""
    pages = []
    for t in range(topics):
        base = f"/viewtopic.php?t={t}"
        pages += [
            (base, f"topic{t}"),
            (f"{base}&sid={t:032x}", f"topic{t}"),
            (f"{base}&start=0", f"topic{t}"),
        ]
        pages += [(f"{base}&start=15", f"topic{t}b"), (f"/print.php?id={t}", f"topic{t}")]
    return pages
