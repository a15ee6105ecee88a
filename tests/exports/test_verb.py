"""`undust export` as a user meets it: the file, what could not be said, one summary line."""

from __future__ import annotations

from pathlib import Path

import pytest

from undust.cli import run
from undust.rules import Rule, RuleBook, Scope, SiteRules


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    some = [
        Rule(do={"query[sid]": None}),
        Rule(do={"query": "{query|sort}"}),
        Rule(Scope(("www.h.test",)), do={"host": "h.test"}),
    ]
    path = tmp_path / "rules.json"
    RuleBook({"h.test": SiteRules("h.test", ("h.test", "www.h.test"), some)}).save(path)
    return path


def test_it_lists_what_could_not_be_expressed(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = rules.with_name("regex-normalize.xml")
    assert run(["export", "-r", str(rules), "--to", "nutch", "-o", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "not expressible: " in said.err and "cannot do |sort" in said.err
    assert said.err.splitlines()[-1] == "in=3 out=2 merged=0 rules=2 bad=0 missing=1 level=probable"
    assert out.read_text().startswith("<?xml")
    assert out.with_name("host-urlnormalizer.txt").read_text() == "www.h.test h.test\n"


def test_data_goes_to_stdout(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "-q", "-r", str(rules), "--to", "clean-param"]) == 0
    said = capsys.readouterr()
    assert said.out == "# h.test\nClean-param: sid\n\n# www.h.test\nClean-param: sid\n"
    assert said.err == ""


def test_an_unknown_target_is_a_usage_error(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "-r", str(rules), "--to", "teapot"]) == 2
    assert "teapot" in capsys.readouterr().err
