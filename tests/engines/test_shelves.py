"""A crawl dealt to disk by domain: the same sites, the same book, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from undust.crawl import read
from undust.engines import shelves
from undust.engines.aliases import aliases
from undust.engines.learn import learn
from undust.engines.shelves import shelved
from undust.errors import UndustError
from undust.likeness.site import host_of, registrable
from undust.rules import RuleBook

from .crawls import pages, write


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(shelves, "PER_SHELF", 40)
    rows = pages(sites=5, size=16)
    rows[0] |= {"canonical": "/item?id=0", "importance": 3.5, "status": 200, "content_type": "text/html"}
    return rows


def test_a_domain_lies_on_one_shelf_as_a_whole(rows) -> None:
    table = read(rows).pages
    with shelved(rows) as dealt:
        assert len(dealt.filled) > 2 and dealt.n == len(table) == sum(map(len, dealt.filled))
        on = [{registrable(host_of(url)) for url in shelf["url"].to_pylist()} for shelf in dealt.filled]
        assert sum(map(len, on)) == len(set.union(*on)) == 5
        found = [row for shelf in dealt.filled for row in shelf.to_pylist()]
        assert dealt.crawl().pages.equals(table)
    known = {name for name in table.column_names if table[name].null_count < len(table)}
    assert known <= set(found[0])  # what nothing is known of may be left out
    key = lambda row: row["url"]  # noqa: E731
    whole = [{name: row[name] for name in found[0]} for row in table.to_pylist()]
    assert sorted(found, key=key) == sorted(whole, key=key)


@pytest.mark.parametrize("site_key", ["host", "domain", "all"])
def test_the_same_book_as_from_memory(rows, site_key: str, tmp_path: Path) -> None:
    crawl = read(rows)
    book = learn(crawl, site_key=site_key)
    path = write(tmp_path / "pages.jsonl", rows)
    assert learn(str(path), site_key=site_key, memory="200MB").dumps() == book.dumps()
    with shelved(str(path), site_key) as dealt:
        none = RuleBook(site_key=site_key)
        found = [alias for shelf in dealt.filled for alias in aliases(shelf, none)]
    assert sorted(found) == sorted(aliases(crawl, none)) != []


def test_the_same_sample_as_from_memory(rows) -> None:
    book = learn(read(rows), max_urls_per_site=50)
    assert any("sampled_from" in site.notes for site in book.sites.values())
    assert learn(rows, max_urls_per_site=50).dumps() == book.dumps()


def test_nothing_is_left_behind(rows, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with shelved(rows) as dealt:
        assert dealt.n
        # Shelves are files without names by then: a killed run leaves none either.
        assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    assert not list(tmp_path.iterdir())


def test_where_shelves_cannot_be_written_is_told(rows, tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shelves.pa.ipc, "new_file", full)
    with pytest.raises(UndustError, match=r"cannot write to .*No space left on device"), shelved(rows):
        pass


def test_no_pages_at_all(tmp_path: Path) -> None:
    with shelved([]) as dealt:
        assert dealt.n == 0 and not dealt.filled
    assert len(learn([])) == 0
