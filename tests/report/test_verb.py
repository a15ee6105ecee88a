"""`undust report` and `undust learn --report` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from undust.cli import run

from .made_up import DROP_SID, book, pages
from .test_page import Page


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in pages()))
    book(DROP_SID).save(tmp_path / "rules.json")
    return path


def test_a_report_is_written(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = crawl.with_name("report.html")
    assert run(["report", "-r", str(crawl.with_name("rules.json")), str(crawl), "-o", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out == "" and said.err == "in=44 out=20 merged=24 rules=1 bad=0 ceiling=0.684 lost=0\n"
    told = Page(out.read_text()).data
    assert told["all"]["hard"]["true_merges"] == 24 and not told["own"]


def test_learning_writes_it_too(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, rules = crawl.with_name("report.html"), crawl.with_name("learned.json")
    assert run(["learn", str(crawl), "-o", str(rules), "--report", str(out), "-q"]) == 0
    told = Page(out.read_text()).data
    assert told["own"] and told["all"]["in_force"] == len(
        json.loads(rules.read_text())["sites"]["a.example"]["rules"]
    )
    assert "drop sid" in " ".join(rule["text"] for rule in told["details"][0]["rules"])
    assert capsys.readouterr().out == ""


def test_of_urls_alone_the_likely_rules_are_shown(crawl: Path) -> None:
    out = crawl.with_name("report.html")
    crawl.write_text(
        "".join(f"http://a.example/story_{i}\nhttp://a.example/story?id={i}\n" for i in range(40))
    )
    assert run(["learn", str(crawl), "-o", str(crawl.with_name("l.json")), "--report", str(out), "-q"]) == 0
    told = Page(out.read_text()).data
    assert told["level"] == "likely" and told["all"]["in_force"] > 0
    assert "validate" in told["details"][0]["notes"]["advice"]


def test_bad_lines_are_told(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawl.write_text(crawl.read_text() + "{broken\n" * 5)
    out = crawl.with_name("report.html")
    assert run(["report", "-r", str(crawl.with_name("rules.json")), str(crawl), "-o", str(out)]) == 3
    assert "bad=5" in capsys.readouterr().err
    assert Page(out.read_text()).data["read"]["bad"] == 5


def test_what_cannot_be_written_or_read_is_said(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = str(crawl.with_name("rules.json"))
    assert run(["report", "-r", rules, str(crawl), "-o", str(crawl / "no" / "report.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert run(["report", "-r", "missing.json", str(crawl), "-o", "x.html"]) == 1
    assert "missing.json" in capsys.readouterr().err
    assert run(["learn", str(crawl), "-o", rules, "--report", str(crawl / "no" / "report.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_without_the_extra_one_is_told_at_once(
    crawl: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    for verb in (
        ["report", "-r", "missing.json", "-o", "x.html"],
        ["learn", "-o", "l.json", "--report", "x.html"],
    ):
        assert run([*verb, str(crawl)]) == 2
        assert "pip install 'undust[report]'" in capsys.readouterr().err
    assert run(["bench", "papers", str(crawl), "--html", "x.html"]) == 2
