"""`undust learn` over many sites: exit codes, and what is left for the next run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from undust.cli import run
from undust.learners import dustbuster
from undust.rules import RuleBook

from .crawls import pages, write


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write(tmp_path / "pages.jsonl", pages(sites=3, size=12))


def learn(crawl: Path, *more: str) -> int:
    return run(["learn", str(crawl), "-o", str(crawl.parent / "rules.json"), "--reproducible", *more])


def test_a_failed_site_is_told_and_tried_again(crawl: Path, monkeypatch, capsys) -> None:
    proposed = dustbuster.DustBuster.propose

    def odd(self, site):
        if "s1." in site.name:
            raise ZeroDivisionError("odd")
        return proposed(self, site)

    options = ("--learner=dustbuster", "--jobs=1", f"--stats={crawl.parent / 'stats.json'}")
    with monkeypatch.context() as patch:
        patch.setattr(dustbuster.DustBuster, "propose", odd)
        assert learn(crawl, *options) == 3
    said = capsys.readouterr().err
    assert "www.s1.example: 105 pages, failed: ZeroDivisionError: odd (test_command.py:" in said
    assert "failed=1" in said
    assert json.loads((crawl.parent / "stats.json").read_text())["failed"] == 1
    book = RuleBook.load(crawl.parent / "rules.json")
    assert set(book.sites) == {f"www.s{i}.example" for i in range(3)}
    assert learn(crawl, *options) == 0
    assert not (crawl.parent / ".rules.json.state").exists()
    assert "failed" not in RuleBook.load(crawl.parent / "rules.json").sites["www.s1.example"].notes


def test_all_failed(crawl: Path, monkeypatch, capsys) -> None:
    def odd(self, site):
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(dustbuster.DustBuster, "propose", odd)
    assert learn(crawl, "--learner=dustbuster", "--jobs=1") == 1
    assert "no site could be learned" in capsys.readouterr().err
    assert not (crawl.parent / "rules.json").exists()


def test_a_wrong_amount_of_memory_is_found_at_once(crawl: Path, capsys) -> None:
    assert learn(crawl, "--memory=lots") == 2


def test_jobs_and_resume(crawl: Path) -> None:
    assert learn(crawl, "--jobs=1") == 0
    once = (crawl.parent / "rules.json").read_bytes()
    assert learn(crawl, "--jobs=2", f"--resume={crawl.parent / 'kept'}", "--max-urls-per-site=5000") == 0
    assert (crawl.parent / "rules.json").read_bytes() == once
    assert not (crawl.parent / "kept").exists()


def test_a_place_where_nothing_can_be_written_is_found_at_once(crawl: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("undust.crawl.read", None)  # nothing is read
    assert run(["learn", str(crawl), "-o", str(crawl.parent / "nowhere" / "rules.json")]) == 1
    assert "nowhere/rules.json: cannot be written" in capsys.readouterr().err
