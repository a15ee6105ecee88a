"""DataFrames and SQL: the same answers as the canonicalizer's own, whatever holds the URLs."""

from __future__ import annotations

import doctest
from pathlib import Path

import pyarrow as pa
import pytest

from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules

DOCS = Path(__file__).parents[2] / "docs" / "integrations.md"
URLS = ["http://h.test/a?sid=1", None, "http://h.test/a?v=9", "http://other.test/?sid=1", "nonsense"]


@pytest.fixture(scope="module")
def canon() -> Canonicalizer:
    rules = [Rule(do={"query[sid]": None}), Rule(do={"query[v]": {"ignore": "0"}})]
    return Canonicalizer(RuleBook({"h.test": SiteRules("h.test", rules=rules)}))


@pytest.fixture(params=["url", "key"])
def emit(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def expected(canon: Canonicalizer, emit: str) -> list[str | None]:
    one = canon if emit == "url" else canon.key
    return [None if url is None else one(url) for url in URLS]


def test_polars(canon: Canonicalizer, emit: str) -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("undust.integrations.polars")
    column = getattr(pl.col("url").undust, "canonical" if emit == "url" else "key")(canon)
    frame = pl.DataFrame({"url": URLS})
    assert frame.select(column)["url"].to_list() == expected(canon, emit)
    assert frame.lazy().with_columns(column).collect()["url"].to_list() == expected(canon, emit)


def test_duckdb(canon: Canonicalizer, emit: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    from undust.integrations.duckdb import register

    connection = duckdb.connect()
    register(connection, canon.book)
    log = pa.table({"place": range(len(URLS)), "url": URLS})
    connection.register("log", log)
    rows = connection.sql(f"select undust_{emit}(url) from log order by place").fetchall()
    assert [row[0] for row in rows] == expected(canon, emit)


def test_arrow_and_pandas(canon: Canonicalizer, emit: str) -> None:
    assert canon.map(pa.array(URLS), emit=emit).to_pylist() == expected(canon, emit)
    pd = pytest.importorskip("pandas")
    found = canon.map(pd.Series(URLS, index=list("abcde")), emit=emit)
    assert list(found.index) == list("abcde")
    assert [None if pd.isna(url) else url for url in found] == expected(canon, emit)


def test_the_examples_of_the_documentation() -> None:
    for library in ("polars", "pandas", "duckdb"):
        pytest.importorskip(library)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testfile(str(DOCS), module_relative=False, optionflags=flags)
    assert found.attempted > 5 and found.failed == 0
