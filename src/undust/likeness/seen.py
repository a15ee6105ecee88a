"""What was seen of each page of a site, as integer columns: the pages' strings are read once, here."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urljoin

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from undust.url import normal

NOTHING = -1
"""Code of an absent string, row number of an absent page, length of an unknown text."""


@dataclass(frozen=True)
class Seen:
    """Columns aligned with the rows of a page table; strings as codes, targets as row numbers (-1: none).

    `location` and `canonical` are rows of the same site; `canonical_code` numbers every canonical URL, also
    those that lead to no page of the site, so that two pages can be asked whether they name the same one.
    """

    alive: NDArray[np.bool_]
    digest: NDArray[np.int64]
    given: NDArray[np.int64]
    given_soft: NDArray[np.bool_]
    sketch: NDArray[np.uint64]
    has_sketch: NDArray[np.bool_]
    kind: NDArray[np.int64]
    text_len: NDArray[np.int64]
    size_min: NDArray[np.int64]
    size_max: NDArray[np.int64]
    location: NDArray[np.int64]
    canonical: NDArray[np.int64]
    canonical_code: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.alive)

    def take(self, rows: NDArray[np.integer]) -> Seen:
        """Some of the pages; links to pages left out are cut."""
        new = np.full(len(self) + 1, NOTHING, dtype=np.int64)
        new[rows] = np.arange(len(rows))
        columns = {f.name: getattr(self, f.name)[rows] for f in fields(self)}
        columns |= {name: new[columns[name]] for name in ("location", "canonical")}
        return Seen(**columns)


def see(pages: pa.Table) -> Seen:
    """The columns of the pages of one site, whose `url` column holds normal forms.

    >>> urls = ["http://a.example/", "http://a.example/x"]
    >>> seen = see(pa.table({"url": urls, "canonical": [None, "/"]}))
    >>> seen.canonical.tolist(), seen.alive.tolist()
    ([-1, 0], [True, True])
    """
    urls = page_urls(pages)
    row_of = {url: row for row, url in enumerate(urls)}
    status = integers(pages, "status", 0)
    sketch, has_sketch = _sketches(pages)
    canonical, canonical_code = _targets(pages, "canonical", urls, row_of)
    location, _ = _targets(pages, "location", urls, row_of)
    empty = integers(pages, "size_max", NOTHING) == 0
    return Seen(
        alive=alive(status),
        # All empty bodies have one digest, and nothing else in common.
        digest=np.where(empty, NOTHING, _codes(pages, "digest")),
        given=_codes(pages, "cluster"),
        given_soft=_flags(pages, "soft"),
        sketch=sketch,
        has_sketch=has_sketch,
        kind=_codes(pages, "sketch_kind"),
        text_len=integers(pages, "text_len", NOTHING),
        size_min=integers(pages, "size_min", NOTHING),
        size_max=integers(pages, "size_max", NOTHING),
        location=np.where((status >= 300) & (status < 400), location, NOTHING),
        canonical=canonical,
        canonical_code=canonical_code,
    )


def alive(status: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Answered with 2xx, or not known (0)."""
    ok: NDArray[np.bool_] = (status == 0) | ((status >= 200) & (status < 300))
    return ok


def page_urls(pages: pa.Table) -> list[str]:
    """The `url` column as strings."""
    urls: list[Any] = pages["url"].to_pylist()
    return urls


def integers(pages: pa.Table, name: str, absent: int) -> NDArray[np.int64]:
    """A column of integers, `absent` where there is none."""
    values = _column(pages, name)
    if values is None:
        return np.full(len(pages), absent, dtype=np.int64)
    return np.asarray(pc.fill_null(values.cast(pa.int64()), absent).to_numpy(zero_copy_only=False))


def floats(pages: pa.Table, name: str) -> NDArray[np.float64]:
    """A column of floats, nan where there is none."""
    values = _column(pages, name)
    if values is None:
        return np.full(len(pages), np.nan)
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False))


def _column(pages: pa.Table, name: str) -> Any:
    """The column as one Arrow array, None when the table has no such column or nothing in it."""
    if name not in pages.column_names or pages[name].null_count == len(pages):
        return None
    chunks = pages[name].combine_chunks()
    return chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)


def _flags(pages: pa.Table, name: str) -> NDArray[np.bool_]:
    values = _column(pages, name)
    if values is None:
        return np.zeros(len(pages), dtype=bool)
    return np.asarray(values.fill_null(False).to_numpy(zero_copy_only=False))


def _codes(pages: pa.Table, name: str) -> NDArray[np.int64]:
    values = _column(pages, name)
    if values is None:
        return np.full(len(pages), NOTHING, dtype=np.int64)
    codes: Any = values.dictionary_encode().indices
    return np.asarray(codes.cast(pa.int64()).fill_null(NOTHING).to_numpy(zero_copy_only=False))


def _sketches(pages: pa.Table) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Sketches as a matrix of the site's most frequent width; rows of any other width count as having none."""
    lists = _column(pages, "sketch")
    if lists is None:
        return np.zeros((len(pages), 0), dtype=np.uint64), np.zeros(len(pages), dtype=bool)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    width = int(np.bincount(lengths[lengths > 0]).argmax()) if lengths.any() else 0
    has = (lengths == width) & (width > 0)
    flat = lists.flatten().cast(pa.uint64()).to_numpy(zero_copy_only=False)
    starts = np.cumsum(lengths) - lengths
    out = np.zeros((len(pages), width), dtype=np.uint64)
    out[has] = flat[starts[has][:, None] + np.arange(width)]
    # All ones is the sketch of a text without words, which resembles nothing.
    has &= ~(out == np.iinfo(np.uint64).max).all(axis=1)
    return out, has


def _targets(
    pages: pa.Table, name: str, urls: list[str], row_of: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row of the page each link leads to and a code of its address; links may be relative or broken."""
    rows = np.full(len(pages), NOTHING, dtype=np.int64)
    codes = np.full(len(pages), NOTHING, dtype=np.int64)
    links = _column(pages, name)
    if links is None:
        return rows, codes
    addresses: dict[str, int] = {}
    # An absolute link means the same on every page, so it is resolved once.
    absolute: dict[str, tuple[int, int]] = {}
    for row, link in enumerate(links.to_pylist()):
        if link is None:
            continue
        found = absolute.get(link)
        if found is None:
            found = _resolve(urls[row], link, row_of, addresses)
            if link.startswith(("http://", "https://")):
                absolute[link] = found
        rows[row], codes[row] = found
    return rows, codes


def _resolve(base: str, link: str, row_of: dict[str, int], addresses: dict[str, int]) -> tuple[int, int]:
    link = link.strip().split("#", 1)[0]
    try:
        address = normal(urljoin(base, link)) if link else ""
    except ValueError:  # urljoin's word for an address it cannot read
        address = ""
    if not address:
        return NOTHING, NOTHING
    return row_of.get(address, NOTHING), addresses.setdefault(address, len(addresses))
