"""Real sites and logs, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from undust.crawl import read

DATA = Path(os.environ.get("UNDUST_DATA", Path(__file__).parents[3] / "shared" / "data"))
FILES = sorted(p for end in ("pages.jsonl.gz", "log.gz", "cdxj", "cdx.tsv") for p in DATA.glob(f"*.{end}"))

pytestmark = pytest.mark.skipif(not FILES, reason="no shared data")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_real_files_read_without_a_bad_line(path: Path) -> None:
    crawl = read(path, host="www.example.com")
    assert crawl.n > 0
    assert crawl.stats.bad == 0
    assert crawl.stats.notes == ()
    assert crawl.stats.lines == crawl.stats.records + crawl.stats.skipped
    (found,) = crawl.stats.formats.values()
    assert (
        found
        == {"gz": "log" if ".log." in path.name else "jsonl", "cdxj": "cdx", "tsv": "csv"}[path.suffix[1:]]
    )
