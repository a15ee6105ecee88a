"""Spark on two threads of this machine: the same book as the local engine, the same URLs, the same figures."""

from __future__ import annotations

import os
import sys

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq
from pyspark import cloudpickle

from undust.crawl import read
from undust.engines import spark
from undust.engines.learn import learn
from undust.errors import UndustError, UsageError
from undust.likeness import sketch_kind, sketcher
from undust.measures import evaluate
from undust.rules import Canonicalizer, Guard, Rule, RuleBook, SiteRules

from . import crawls
from .crawls import Failing, pages

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    cloudpickle.register_pickle_by_value(crawls)  # the workers cannot import the learner of these tests
    from pyspark.sql import SparkSession

    built = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    built.sparkContext.setLogLevel("ERROR")
    yield built
    built.stop()


@pytest.fixture(scope="module")
def table():
    """As `undust crawl` would write it; one site has texts, that is sketches, instead of digests."""
    rows = pages(sites=4, size=16)
    for row in rows:
        if "s2." in row["url"]:
            seed = int(row.pop("digest").split("-")[1])
            row["text"] = " ".join(f"w{(seed * 7919 + i * 104729) % 9973}" for i in range(300))
    return read(rows, sketcher=sketcher, sketch_kind=sketch_kind()).pages


@pytest.fixture(scope="module")
def frame(session, table, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("pages") / "pages.parquet")
    pq.write_table(table, path)
    return session.read.parquet(path).repartition(2)


@pytest.fixture(scope="module")
def book(table) -> RuleBook:
    return learn(table)


def test_the_same_book(frame, table, book: RuleBook) -> None:
    assert len(book) >= 4
    assert spark.learn(frame).dumps() == learn(table, jobs=2).dumps() == book.dumps()


@pytest.mark.parametrize("site_key", ["host", "all"])
def test_the_same_sample(frame, table, site_key: str) -> None:
    here = learn(table, Failing(), site_key=site_key, max_urls_per_site=60)
    assert any("sampled_from" in site.notes for site in here.sites.values())
    assert spark.learn(frame, Failing(), site_key=site_key, max_urls_per_site=60).dumps() == here.dumps()


def test_failures(frame, table) -> None:
    assert spark.learn(frame, Failing(raises="s1.")).dumps() == learn(table, Failing(raises="s1.")).dumps()
    with pytest.raises(UndustError, match="no site could be learned"):
        spark.learn(frame, Failing(raises="s"))
    with pytest.raises(UsageError, match="no such parameter"):
        spark.learn(frame, Failing(refuses="s"))


def test_apply(frame, book: RuleBook) -> None:
    canon = Canonicalizer(book)
    out = spark.apply(frame.select("url", "hits"), book, partitions=4)
    assert out.columns == ["url", "hits", "canonical"]
    made = {row["url"]: row["canonical"] for row in out.collect()}
    assert made == {url: canon(url) for url in made}
    assert any(url != canonical for url, canonical in made.items())


def test_apply_with_a_list(session) -> None:
    guard = Guard(({"path": "/topic,{t:int}.{page:int}.html"},))
    rule = Rule(when={"path": "/topic,{t:int}.msg{:int}.html"}, do={"path": "/topic,{t}.0.html"}, guard=guard)
    drop = Rule(do={"query[sid]": None})
    book = RuleBook(
        {
            "a.example": SiteRules("a.example", ("a.example", "www.a.example"), [rule, drop]),
            "b.example": SiteRules("b.example", ("b.example",), [drop]),
        }
    )
    listed = [f"http://a.example/topic,{t}.0.html" for t in range(20)]
    listed += [f"http://www.a.example/topic,{t}.15.html?sid=1" for t in range(0, 20, 2)]
    urls = [
        f"http://{host}.example/topic,{t}.msg{t}.html?sid=2" for t in range(25) for host in ("a", "b", "c")
    ]
    frame = session.createDataFrame([(url, i) for i, url in enumerate([*urls, None])], "url string, n int")
    every = session.createDataFrame([(url,) for url in [*listed, *urls, None]], "url string")
    done = spark.apply(frame, book, listed=every)
    assert done.columns == ["url", "n", "canonical"]
    rows = sorted(done.collect(), key=lambda row: row["n"])
    canon = Canonicalizer(book, listed=[*listed, *urls])
    assert [row["canonical"] for row in rows] == [*canon.map(urls), None]
    assert sum(row["canonical"] in listed for row in rows) == 10
    skipped = {row["url"]: row["canonical"] for row in spark.apply(frame, book).collect()}
    assert [skipped[url] for url in urls] == Canonicalizer(book).map(urls)


def test_evaluate(frame, table, book: RuleBook) -> None:
    here, there = evaluate(book, table), spark.evaluate(frame, book)
    assert there.sites == {name: type(s)(s.hard, s.all, None) for name, s in here.sites.items()}
    assert there.set.hard == here.set.hard and there.set.all == here.set.all
    assert (there.seen, there.forms, there.unknown) == (here.seen, here.forms, here.unknown)


def test_the_command(session, frame, table, book: RuleBook, tmp_path) -> None:
    from undust.cli import run

    pq.write_table(table, tmp_path / "pages.parquet")
    given = ["learn", str(tmp_path / "pages.parquet"), "-o", str(tmp_path / "rules.json"), "--reproducible"]
    assert run([*given, "--engine=spark"]) == 0
    assert (tmp_path / "rules.json").read_text() == book.dumps()


def test_apply_on_the_command_line(session, book: RuleBook, table, tmp_path, capsys) -> None:
    """The same lines in the same order as on this machine; Parquet gets a column more."""
    from undust.cli import run

    book.save(tmp_path / "rules.json")
    urls = [*table["url"].to_pylist(), "no URL"]
    (tmp_path / "urls.txt").write_text("\n".join(urls) + "\n")
    given = ["apply", "-r", str(tmp_path / "rules.json"), str(tmp_path / "urls.txt"), "--emit=both"]
    assert run([*given, "-o", str(tmp_path / "here.txt")]) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert run([*given, "-o", str(tmp_path / "there"), "--engine=spark"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == told
    parts = sorted((tmp_path / "there").glob("part-*"))
    assert "".join(part.read_text() for part in parts) == (tmp_path / "here.txt").read_text()
    pq.write_table(table.select(["url"]), tmp_path / "urls.parquet")
    columns = ["apply", "-r", str(tmp_path / "rules.json"), str(tmp_path / "urls.parquet"), "--engine=spark"]
    assert run([*columns, "-o", str(tmp_path / "columns")]) == 0
    made = pq.read_table(tmp_path / "columns")
    assert made["canonical"].to_pylist() == [
        line.split("\t")[1] for line in (tmp_path / "here.txt").read_text().splitlines()[:-1]
    ]
    assert run([*columns, "-o", str(tmp_path / "columns")]) == 1  # nothing is written over
    assert "ALREADY_EXISTS" in capsys.readouterr().err
    assert run([*columns]) == 2
