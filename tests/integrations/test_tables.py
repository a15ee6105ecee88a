"""DataFrames and SQL: the same answers as the canonicalizer's own, whatever holds the URLs."""

from __future__ import annotations

import doctest
import json
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


def test_a_batch_is_one_call_whatever_holds_the_urls(
    canon: Canonicalizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pl, pd, duckdb = (pytest.importorskip(name) for name in ("polars", "pandas", "duckdb"))
    from types import SimpleNamespace

    import undust.integrations.polars  # noqa: F401
    from undust.integrations.datatrove import CanonicalUrls
    from undust.integrations.duckdb import register

    many = [f"http://h.test/{i}?sid=1" for i in range(5000)]
    calls: list[int] = []
    inner = Canonicalizer._canonical

    def counted(self: Canonicalizer, urls: list[str]) -> list[str | None]:
        calls.append(len(list(urls)))
        return inner(self, urls)

    monkeypatch.setattr(Canonicalizer, "_canonical", counted)
    canon.map(pa.array(many))
    canon.map(pd.Series(many))
    pl.DataFrame({"url": many}).select(pl.col("url").undust.canonical(canon))
    connection = duckdb.connect()
    register(connection, canon)
    connection.register("log", pa.table({"url": many}))
    connection.sql("select count(undust_url(url)) from log").fetchall()
    list(CanonicalUrls(canon)([SimpleNamespace(metadata={"url": url}) for url in many]))
    assert sum(calls) >= 5 * len(many) and len(calls) < 20


def test_datatrove_keeps_one_document_a_page(canon: Canonicalizer, tmp_path: Path) -> None:
    exact = pytest.importorskip("datatrove.pipeline.dedup.exact_dedup")
    from datatrove.data import Document
    from datatrove.executor.local import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    from undust.integrations.datatrove import CanonicalUrls, UrlOf

    canon.book.save(tmp_path / "rules.json")
    urls = [
        "http://h.test/a?sid=1",
        "http://h.test/a?sid=2",
        "http://h.test/b",
        "http://other.test/?sid=1",
        None,
        None,
    ]
    (tmp_path / "in").mkdir()
    with (tmp_path / "in" / "docs.jsonl").open("w") as file:
        for number, url in enumerate(urls):
            line = {"text": f"text {number}", "id": str(number)} | ({"url": url} if url else {})
            file.write(json.dumps(line) + "\n")
    assert Document(text="", id="1").metadata == {}
    config = exact.ExactDedupConfig(content_getter=UrlOf())
    found = [str(tmp_path / name) for name in ("signatures", "duplicates", "out")]
    read = [JsonlReader(str(tmp_path / "in")), CanonicalUrls(tmp_path / "rules.json")]
    for number, steps in enumerate((
        [*read, exact.ExactDedupSignature(found[0], config)],
        [exact.ExactFindDedups(found[0], found[1], config)],
        [*read, exact.ExactDedupFilter(found[1], config), JsonlWriter(found[2], compression=None)],
    )):  # fmt: skip
        LocalPipelineExecutor(steps, tasks=1, logging_dir=str(tmp_path / f"log{number}")).run()
    kept = [json.loads(line) for file in (tmp_path / "out").iterdir() for line in file.open()]
    assert [document["id"] for document in kept] == ["0", "2", "3", "4", "5"]
    assert kept[0]["metadata"]["canonical_url"] == "http://h.test/a"


def test_the_examples_of_the_documentation() -> None:
    for library in ("polars", "pandas", "duckdb"):
        pytest.importorskip(library)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testfile(str(DOCS), module_relative=False, optionflags=flags)
    assert found.attempted > 5 and found.failed == 0
