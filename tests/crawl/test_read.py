"""What may be given to `read`, and what it reports."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from undust.crawl import PAGE_SCHEMA, read
from undust.errors import InputError, UsageError

URLS = ["http://h/a", "http://h/b"]


def urls(inputs: Any, **options: Any) -> list[str]:
    pages = read(inputs, **options).pages
    assert pages.schema.equals(PAGE_SCHEMA)
    return list(pages.column("url").to_pylist())


@pytest.mark.parametrize(
    "inputs",
    [
        URLS,
        tuple(URLS),
        (u for u in URLS),
        [{"url": u, "size": 1} for u in URLS],
        pa.table({"url": URLS}),
        pa.table({"loc": pa.array(URLS, pa.large_string())}),
        pa.table({"url": pa.array(URLS).dictionary_encode()}),
        pa.table({"url": URLS}).to_reader(),
        pa.array(URLS),
        pa.chunked_array([URLS]),
        pd.DataFrame({"url": URLS, "status": [200, float("nan")]}),
        pd.DataFrame({"url": URLS, "cluster": [1, "x"]}),
        pd.Series(URLS),
        pd.Series(URLS, name="url"),
        pl.DataFrame({"url": URLS, "sketch": [[1, 2], None]}),
        pl.Series("url", URLS),
        pl.Series(URLS),
    ],
    ids=lambda x: f"{type(x).__module__}.{type(x).__name__}",
)
def test_what_names_pages_can_be_read(inputs: Any) -> None:
    assert urls(inputs) == URLS


def test_files_globs_directories_and_lists_of_them(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "1.txt").write_text("http://h/a\n")
    (tmp_path / "sub" / "2.jsonl").write_text('{"url": "http://h/b"}\n')
    (tmp_path / ".hidden").write_text("no URL list at all")
    for inputs in (
        tmp_path,
        str(tmp_path),
        str(tmp_path / "**" / "*.*"),
        [tmp_path / "1.txt", tmp_path / "sub"],
    ):
        crawl = read(inputs)
        assert crawl.pages.column("url").to_pylist() == URLS
        assert sorted(crawl.stats.formats.values()) == ["jsonl", "urls"]
    assert urls([tmp_path / "1.txt", "http://h/c", str(tmp_path / "sub")]) == [*URLS, "http://h/c"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(b"http://h/a\n"))))  # type: ignore[arg-type]
    assert urls("-") == ["http://h/a"]


def test_paths_with_a_host() -> None:
    assert urls(["/a", "/b"], host="h") == URLS
    assert urls("/a/b?c", host="h") == ["http://h/a/b?c"]
    assert urls(pa.table({"url": ["/a", "http://h/b"]}), host="h") == URLS


@pytest.mark.parametrize("inputs", ["missing.log", "missing*.log", ["http://h/a", "missing.log"]])
def test_missing_files_are_named(inputs: Any) -> None:
    with pytest.raises(InputError, match="missing"):
        read(inputs)


def test_an_empty_directory_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no files in this directory"):
        read(tmp_path)


@pytest.mark.parametrize("inputs", [None, 7, [7], object()])
def test_what_cannot_be_read_is_a_usage_error(inputs: Any) -> None:
    with pytest.raises(UsageError, match="cannot read pages from"):
        read(inputs)


def test_a_table_without_a_url_column_names_its_columns() -> None:
    with pytest.raises(InputError, match="no URL column among a, b"):
        read(pa.table({"a": [1], "b": [2]}))


def test_a_stray_file_in_a_directory_is_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("It was a dark and stormy night.\n")
    (tmp_path / "urls").write_text("http://h/a\n")
    crawl = read(tmp_path)
    assert (crawl.n, crawl.stats.inputs, len(crawl.stats.notes)) == (1, 2, 1)
    assert "README" in crawl.stats.notes[0]
    with pytest.raises(InputError, match="README"):
        read(tmp_path / "README")


@pytest.mark.parametrize(
    "options",
    [{"host": "two words"}, {"host": "h/path"}, {"rejects": "no/such/dir/x"}, {"temp_dir": "no/such/dir"}],
    ids=str,
)
def test_options_that_cannot_be_are_usage_errors(options: Any) -> None:
    with pytest.raises(UsageError):
        read(URLS, **options)


def test_rejects_hold_every_bad_line_as_it_stood(tmp_path: Path) -> None:
    bad = [b"caf\xe9 %d" % i for i in range(9)]
    (tmp_path / "in").write_bytes(b"http://h/a\n" * 20 + b"\r\n".join(bad))
    crawl = read(tmp_path / "in", rejects=tmp_path / "rejects")
    assert (tmp_path / "rejects").read_bytes() == b"".join(b + b"\n" for b in bad)
    assert crawl.stats.bad == 9
    assert crawl.stats.bad_ratio == pytest.approx(9 / 29)
    assert crawl.stats.first_bad[0].text == "caf\\xe9 0"


def test_rejects_take_the_place_of_no_input(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"http://h/a\nbad\n")
    (tmp_path / "link").symlink_to(path)
    for inputs, rejects in ((path, path), ([str(path)], tmp_path / "link")):
        with pytest.raises(UsageError, match="is an input"):
            read(inputs, rejects=rejects)
    assert path.read_bytes() == b"http://h/a\nbad\n"


def test_rejects_of_a_run_that_failed_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"http://h/a\nbad\n")
    (tmp_path / "rejects").write_bytes(b"old")
    with pytest.raises(InputError):
        read([tmp_path / "in", tmp_path / "missing"], rejects=tmp_path / "rejects")
    assert (tmp_path / "rejects").read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "rejects"]


def test_statuses_are_counted() -> None:
    crawl = read([{"url": "http://h/a", "status": s} for s in (200, 200, 404, None)])
    assert crawl.stats.statuses == {0: 1, 200: 2, 404: 1}


def test_text_is_sketched_in_batches_and_not_kept() -> None:
    asked: list[str] = []

    def sketcher(texts: list[str]) -> list[list[int]]:
        asked.extend(texts)
        return [[len(t), 2**64 - 1] for t in texts]

    records = [
        {"url": "http://h/a", "text": "three"},
        {"url": "http://h/b", "text": "given", "sketch": ["1"]},
        {"url": "http://h/c"},
    ]
    pages = read(records, sketcher=sketcher, sketch_kind="length").pages.to_pylist()
    assert asked == ["three"]
    assert [(p["sketch"], p["sketch_kind"], p["text_len"]) for p in pages] == [
        ([5, 2**64 - 1], "length", 5),
        ([1], None, 5),
        (None, None, None),
    ]
    assert read(records).pages.column("sketch").to_pylist() == [None, [1], None]
