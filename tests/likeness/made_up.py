"""A made-up site: pages with a template, own words, and what makes labelling hard, written as a page table."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa

from undust.likeness import sketch_kind, sketcher

TEMPLATE = " ".join(f"menu{i}" for i in range(120))


def words(seed: int, n: int = 400) -> str:
    """Text of its own for each seed."""
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(5000)}" for _ in range(n))


def page(url: str, text: str | None = None, **columns: object) -> dict[str, object]:
    """A row of the page table; the digest is that of the text unless given."""
    row: dict[str, object] = {"url": url, "status": 200, **columns}
    if text is not None:
        row.setdefault("digest", str(hash(text)))
        row["text"] = text
    return row


def table(rows: Sequence[dict[str, object]]) -> pa.Table:
    """The rows as the reader would give them, texts sketched."""
    types = {
        "url": pa.string(),
        "status": pa.int16(),
        "location": pa.string(),
        "canonical": pa.string(),
        "digest": pa.string(),
        "cluster": pa.string(),
        "soft": pa.bool_(),
        "size_min": pa.int64(),
        "size_max": pa.int64(),
        "hits": pa.int64(),
    }
    columns = {name: pa.array([row.get(name) for row in rows], type) for name, type in types.items()}
    texts = [row.get("text") for row in rows]
    sketches = sketcher([str(t or "") for t in texts])
    columns["sketch"] = pa.array([s or None for s in sketches], pa.list_(pa.uint64()))
    columns["sketch_kind"] = pa.array([sketch_kind() if s else None for s in sketches], pa.string())
    columns["text_len"] = pa.array([None if t is None else len(str(t)) for t in texts], pa.int64())
    return pa.table(columns)
