"""The package as a person imports it: the names of the interface are there, and importing it is quick."""

from __future__ import annotations

import subprocess
import sys

import pytest

import undust


@pytest.mark.parametrize("name", undust.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(undust, name) is not None
    assert name in dir(undust)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = undust.nothing


def test_import_loads_none_of_the_heavy_libraries() -> None:
    code = "import undust, sys; print(sorted({'numpy', 'pyarrow', 'duckdb', 'httpx'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_the_tour_of_the_interface(tmp_path) -> None:
    pages = [
        {"url": f"http://www.example.com/story?id={i}{end}", "text": f"story {i} " + f"word{i} " * 30}
        for i in range(40)
        for end in ("", f"&sid={i:032x}")
    ]
    crawl = undust.read(pages)
    book = undust.learn(crawl)
    canon = undust.Canonicalizer(book)
    assert canon("http://www.example.com/story?id=77&sid=abc") == "http://www.example.com/story?id=77"
    assert canon.map(["http://www.example.com/story?id=7&sid=abc"]) == ["http://www.example.com/story?id=7"]
    assert undust.evaluate(book, crawl).compression_rate == 0.5
    book.save(tmp_path / "rules.json")
    assert undust.RuleBook.load(tmp_path / "rules.json") == book
    assert undust.learners.DustBuster(min_support=5).min_support == 5
