"""The Python interface as it is promised (docs/api/index.md): each line of it, on real files and on every container."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import undust

SITE = "http://www.example.com"


def text(i: int) -> str:
    return f"story {i} " + f"word{i} " * 30


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Forty stories under two addresses each, as an access log has them: paths and sizes."""
    lines = [
        f'192.0.2.1 - - [01/Jan/2026:00:00:{i:02} +0000] "GET /story_{i}{end} HTTP/1.1" 200 {1000 + 37 * i}\n'
        for i in range(40)
        for end in ("", f"?sid={i:032x}")
    ]
    path = tmp_path / "access.log.gz"
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return str(path)


def test_the_lines_of_the_interface(log: str, tmp_path: Path) -> None:
    pytest.importorskip("httpx")
    from undust.validation import Offline

    crawl = undust.read(log, host="www.example.com")
    assert crawl.n == 80
    book = undust.learn(crawl)
    assert [rule.status for rule in book.rules()] == ["likely"]
    by_hand = undust.learn(crawl, learner=undust.learners.DustBuster(min_support=3))
    assert any("sid" in rule.describe() for rule in by_hand.rules())
    web = {f"{SITE}/story_{i}{end}": text(i) for i in range(40) for end in ("", f"?sid={i:032x}")}
    book = undust.validate(book, crawl, max_fetches=500, fetcher=Offline(web))
    assert [rule.status for rule in book.rules()] == ["validated"]
    seen = undust.read([{"url": url, "text": shown} for url, shown in web.items()])
    assert undust.evaluate(book, seen).compression_rate == 0.5
    canon = undust.Canonicalizer(book)
    assert canon(f"{SITE}/story_7?sid=abc") == f"{SITE}/story_7"
    book.save(tmp_path / "rules.json")
    assert undust.RuleBook.load(tmp_path / "rules.json") == book


def frame(kind: str, pages: list[dict[str, Any]]) -> Any:
    if kind == "records":
        return pages
    if kind == "Arrow table":
        return pa.Table.from_pylist(pages)
    library = pytest.importorskip(kind)
    return library.DataFrame(pages)


@pytest.mark.parametrize("kind", ["records", "Arrow table", "pandas", "polars"])
def test_pages_come_in_any_container(kind: str) -> None:
    pages = [
        {"url": f"{SITE}/story?id={i}{end}", "digest": f"d{i}", "status": 200}
        for i in range(40)
        for end in ("", f"&sid={i:032x}")
    ]
    given = frame(kind, pages)
    book = undust.learn(given)
    assert undust.evaluate(book, given).compression_rate == 0.5


def test_a_list_of_urls_is_a_crawl() -> None:
    assert undust.read([f"{SITE}/a", f"{SITE}/a", f"{SITE}/b"]).pages["hits"].to_pylist() == [2, 1]


def test_several_paths_are_one_crawl(log: str, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text(f"{SITE}/elsewhere\n")
    assert undust.read([log, str(tmp_path / "more.txt")], host="www.example.com").n == 81


URLS = [f"{SITE}/a?sid=1", None, f"{SITE}/a?sid=2&t=3"]
WANTED = [f"{SITE}/a", None, f"{SITE}/a?t=3"]


@pytest.fixture
def canon() -> undust.Canonicalizer:
    rule = undust.Rule(do={"query[sid]": None})
    return undust.Canonicalizer(
        undust.RuleBook({"www.example.com": undust.SiteRules("www.example.com", rules=[rule])})
    )


def test_a_column_comes_back_as_the_kind_it_was(canon: undust.Canonicalizer) -> None:
    assert canon.map(URLS) == WANTED
    for arrow in (pa.array(URLS), pa.array(URLS, pa.large_string()), pa.chunked_array([URLS[:1], URLS[1:]])):
        made = canon.map(arrow)
        assert type(made) is type(arrow) and made.type == arrow.type and made.to_pylist() == WANTED
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(URLS, index=[5, 6, 7], name="url")
    made = canon.map(series)
    assert isinstance(made, pandas.Series) and made.name == "url" and list(made.index) == [5, 6, 7]
    assert [None if pandas.isna(url) else url for url in made] == WANTED
    polars = pytest.importorskip("polars")
    made = canon.map(polars.Series("url", URLS))
    assert isinstance(made, polars.Series) and made.name == "url" and made.to_list() == WANTED


def test_keys_of_a_column(canon: undust.Canonicalizer) -> None:
    assert canon.map(URLS, emit="key") == WANTED
