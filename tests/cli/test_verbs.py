"""The other verbs and what all verbs share."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import undust.cli
from undust import __version__
from undust.cli import VERBS, Verbs
from undust.rules import RuleBook

Undust = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_version_and_help(undust: Undust) -> None:
    assert undust("--version").stdout.decode().strip() == f"undust {__version__}"
    help_ = undust("--help").stdout.decode()
    assert "apply" in help_
    assert "demo" in help_


def test_listed_verbs_are_those_whose_module_is_there() -> None:
    group = undust.cli.undust
    assert isinstance(group, Verbs)
    folder = Path(undust.cli.__file__).parent
    listed = group.list_commands(None)  # type: ignore[arg-type]  # the context is not looked at
    assert listed == [verb for verb in VERBS if (folder / f"{verb}.py").exists()]
    for verb in listed:
        assert CliRunner().invoke(group, [verb, "--help"]).exit_code == 0


def test_explain_shows_steps_and_evidence(undust: Undust, book: Path) -> None:
    done = undust("explain", "-r", book, "http://www.a.test/story_7?sid=1", "http://other.test/")
    text = done.stdout.decode()
    assert "drop sid" in text
    assert "changes 9 URLs; 12 pairs alike by digest, 0 false" in text
    assert "14 pages fetched to test it; found by dustbuster" in text
    assert "= http://www.a.test/story?id=7" in text
    assert "no rule changes it" in text
    assert done.stderr.decode().strip() == "in=2 out=2 merged=1 rules=2 bad=0"


def test_explain_as_json(undust: Undust, book: Path) -> None:
    done = undust("explain", "--json", "-r", book, "-", stdin=b"http://www.a.test/x?sid=1\n")
    record = json.loads(done.stdout)
    assert record["canonical"] == "http://www.a.test/x"
    assert [step["rule"]["do"] for step in record["steps"]] == [{"query[sid]": None}]


LOG = b"""\
192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET /a HTTP/1.1" 200 120 "-" "x"
192.0.2.1 - - [01/Jan/2026:00:00:01 +0000] "GET /a HTTP/1.1" 200 130 "-" "x"
192.0.2.1 - - [01/Jan/2026:00:00:02 +0000] "GET /gone HTTP/1.1" 404 0 "-" "x"
"""


def test_crawl_writes_a_table_and_says_what_it_holds(undust: Undust, tmp_path: Path) -> None:
    log, out = tmp_path / "access.log.gz", tmp_path / "pages.parquet"
    log.write_bytes(gzip.compress(LOG))
    done = undust("crawl", log, "-o", out, "--host", "www.a.test")
    assert done.returncode == 0, done.stderr
    pages = pq.read_table(out)
    assert pages["url"].to_pylist() == ["http://www.a.test/a", "http://www.a.test/gone"]
    assert pages["hits"].to_pylist() == [2, 1]
    assert b"2 pages on 1 host, read from 3 lines (log)" in done.stderr
    assert done.stderr.decode().splitlines()[-1] == "in=3 out=2 merged=1 rules=0 bad=0"
    assert done.stdout == b""


def test_crawl_with_many_bad_lines_is_done_in_part(undust: Undust, tmp_path: Path) -> None:
    log, out = tmp_path / "access.log", tmp_path / "pages.parquet"
    log.write_bytes(LOG + b"gibberish\n")
    done = undust("crawl", log, "-o", out, "--host", "a.test", "--rejects", tmp_path / "bad")
    assert done.returncode == 3
    assert (tmp_path / "bad").read_bytes() == b"gibberish\n"
    assert f"{log}:4" in done.stderr.decode()
    assert pq.read_table(out).num_rows == 2


def test_a_file_that_is_cut_off_is_done_in_part(undust: Undust, tmp_path: Path) -> None:
    log = tmp_path / "access.log.gz"
    log.write_bytes(gzip.compress(LOG * 9)[:-6])
    for arguments in (["crawl", "-o", tmp_path / "pages.parquet"], ["learn", "-o", tmp_path / "rules.json"]):
        done = undust(*arguments, log, "--host", "a.test")
        assert done.returncode == 3, done.stderr
        assert b"truncated; what was there has been read" in done.stderr


@pytest.mark.parametrize("verb", ["crawl", "learn", "evaluate"])
def test_the_field_of_the_url_can_be_named(undust: Undust, book: Path, tmp_path: Path, verb: str) -> None:
    table = tmp_path / "table.csv"
    table.write_text("link,size\nhttp://www.a.test/x,1\nhttp://www.a.test/y,1\n")
    given = {"evaluate": ["-r", book]}.get(verb, ["-o", tmp_path / "out"])
    done = undust(verb, *given, table)
    assert done.returncode == 1
    assert (
        f"{table}:1: no URL column in this header: link, size (say which: --url-field link)"
        in done.stderr.decode()
    )
    assert undust(verb, *given, table, "--url-field", "link").returncode == 0


def test_explain_takes_bytes_that_are_no_text(undust: Undust, book: Path) -> None:
    done = undust("explain", "-r", book, "-", stdin=b"http://www.a.test/caf\xe9?sid=1\n")
    assert done.returncode == 0
    assert b"= http://www.a.test/caf\xe9\n" in done.stdout
    assert b"caf\xe9" in undust("explain", "-r", book, "http://www.a.test/caf\udce9?sid=1").stdout


def test_crawl_of_a_missing_file_leaves_nothing(undust: Undust, tmp_path: Path) -> None:
    done = undust("crawl", tmp_path / "missing.log", "-o", tmp_path / "pages.parquet")
    assert done.returncode == 1
    assert b"missing.log" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verbose", [False, True])
def test_the_unexpected_is_one_line_and_a_traceback_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], book: Path, verbose: bool
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("undust.rules.RuleBook.load", broken)
    assert undust.cli.run(["apply", "-r", str(book), *(["-v"] if verbose else [])]) == 1
    said = capsys.readouterr().err
    assert "unexpected ZeroDivisionError: oh" in said
    assert ("Traceback" in said) == verbose


def test_demo_runs_through(undust: Undust, tmp_path: Path) -> None:
    done = undust("demo", tmp_path / "demo", "--size", 0.05, "--log-lines", 500, "--warc")
    assert done.returncode == 0, done.stderr
    made = {path.name for path in (tmp_path / "demo").iterdir()}
    assert made >= {"pages.jsonl.gz", "access.log.gz", "truth.tsv", "site.warc.gz", "rules.json"}
    assert b"planted rules are true" in done.stdout
    assert b"0 contents lost" in done.stdout


def test_demo_serves_until_interrupted() -> None:
    command = [sys.executable, "-m", "undust", "demo", "--serve", "--size", "0.03"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as run:
        assert run.stdout
        assert run.stdout.readline().startswith(b"http://127.0.0.1:")
        run.send_signal(2)
        assert run.wait(20) == 130


def test_colour_only_where_it_is_wanted(undust: Undust, book: Path) -> None:
    assert b"\x1b[" not in undust("explain", "-r", book, "http://www.a.test/x?sid=1").stdout


PAGES = [f"http://www.a.test/p?id={i}&sid={s}" for i in range(12) for s in "xy"]


def test_validation_that_reaches_no_server_says_why_and_fails(
    undust: Undust, book: Path, tmp_path: Path
) -> None:
    pytest.importorskip("httpx")
    urls = tmp_path / "urls.txt"
    urls.write_text("\n".join(PAGES) + "\n")
    done = undust(
        *("validate", "-r", book, urls, "-o", tmp_path / "out.json"),
        *("--delay", 0, "--resolve", "www.a.test:80:127.0.0.1:9"),
    )
    said = done.stderr.decode()
    assert done.returncode == 1, said
    assert "of www.a.test: robots.txt cannot be read: www.a.test is at the private address 127.0.0.1" in said
    assert "--allow-private" in said
    statuses = [rule.status for rule in RuleBook.load(tmp_path / "out.json").rules()]
    assert sorted(statuses) == ["likely", "probable", "validated"]  # as they were


def test_evaluate_asks_the_table_of_aliases_too(undust: Undust, book: Path, tmp_path: Path) -> None:
    from undust.rules.aliases import write

    pages = tmp_path / "pages.jsonl"
    same = ["http://www.a.test/?p=7", "http://www.a.test/t-1"]
    pages.write_text("".join(json.dumps({"url": url, "digest": "d", "status": 200}) + "\n" for url in same))
    write(str(tmp_path / "aliases.parquet"), [(same[0], same[1], "digest")])
    without = undust("evaluate", "--json", "-r", book, pages)
    with_ = undust("evaluate", "--json", "-r", book, pages, "--aliases", tmp_path / "aliases.parquet")
    merges = [json.loads(done.stdout)["hard"]["true_merges"] for done in (without, with_)]
    assert merges == [0, 1]


def test_figures_that_nothing_is_known_of_are_not_printed(undust: Undust, book: Path, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(LOG)
    done = undust("evaluate", "-r", book, log, "--host", "www.a.test")
    assert b"what they show is not known" in done.stdout
    assert b"precision" not in done.stdout
    assert b"ceiling" not in done.stderr


def test_a_missing_library_is_named_with_its_extra(undust: Undust, monkeypatch: pytest.MonkeyPatch) -> None:
    from undust.cli import extra_with

    assert extra_with("uvicorn") == "demo"
    assert extra_with("pyspark.sql") == "spark"

    def without(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")

    monkeypatch.setattr("undust.crawl.read", without)
    done = undust("crawl", "x.log", "-o", "x.parquet")
    assert done.returncode == 1
    assert done.stderr.decode().strip() == "undust: this needs uvicorn: pip install 'undust[demo]'"


def test_explain_tree_draws_how_the_urls_of_a_site_are_built(undust: Undust, tmp_path: Path) -> None:
    urls = [f"http://a.test/show.php?id={i}" for i in range(12)]
    urls += [f"http://a.test/day/2026-01-{i:02d}" for i in range(1, 9)]
    (tmp_path / "urls.txt").write_text("\n".join([*urls, "http://b.test/"]) + "\n")
    done = undust("explain", "--tree", tmp_path / "urls.txt")
    assert done.stdout.decode().splitlines() == [
        "a.test",
        "20  scheme=http host[0]=a.test path[0]=* path[1]=? query[id]=?",
        "├── 12  path[0]=show.php query[id]={int}",
        "└── 8  path[0]=day path[1]={date}",
        "b.test",
        "1  scheme=http host[0]=b.test path[0]=",
    ]
    assert done.stderr.decode().strip() == "in=21 out=21 merged=0 rules=0 bad=0 sites=2"


def test_explain_asks_for_rules_where_no_tree_is_wanted(undust: Undust) -> None:
    done = undust("explain", "http://a.test/")
    assert done.returncode == 2
    assert b"-r RULES" in done.stderr
