"""`--list`: guarded rules are used where a list is at hand, else skipped and counted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from undust.rules import Guard, Rule, RuleBook, SiteRules

Undust = Callable[..., "CompletedProcess[bytes]"]

A = "http://a.test"
LISTED = [f"{A}/topic,{t}.0.html" for t in range(9)] + [f"{A}/topic,{t}.15.html" for t in range(3)]
MESSAGES = [f"{A}/topic,{t}.msg{t}.html?sid=1" for t in range(9)]
LED = [f"{A}/topic,{t}.msg{t}.html" if t < 3 else f"{A}/topic,{t}.0.html" for t in range(9)]
LEFT = [f"{A}/topic,{t}.msg{t}.html" for t in range(9)]


def rule(**complete: float) -> Rule:
    guard = Guard(({"path": "/topic,{t:int}.{page:int}.html"},), **complete)  # type: ignore[arg-type]
    return Rule(when={"path": "/topic,{t:int}.msg{:int}.html"}, do={"path": "/topic,{t}.0.html"}, guard=guard)


@pytest.fixture
def asking(tmp_path: Path) -> Path:
    path = tmp_path / "asking.json"
    RuleBook({"a.test": SiteRules("a.test", rules=[rule(), Rule(do={"query[sid]": None})])}).save(path)
    return path


@pytest.fixture
def every(tmp_path: Path) -> Path:
    path = tmp_path / "list.txt"
    path.write_text("\n".join([*LISTED, *MESSAGES, "no URL", ""]))
    return path


def test_with_a_list_they_are_used(undust: Undust, asking: Path, every: Path) -> None:
    done = undust("apply", "-r", asking, "--list", every, stdin="\n".join(MESSAGES).encode())
    assert done.stdout.decode().splitlines() == LED
    assert done.stderr.decode().splitlines() == ["in=9 out=9 merged=9 rules=2 bad=0 guarded=6"]
    both = undust("apply", "-r", asking, "--list", every, every)
    assert both.stdout.decode().splitlines()[len(LISTED) : -1] == LED


@pytest.mark.parametrize("kind", ["txt.gz", "parquet", "tsv"])
def test_a_list_may_be_packed(undust: Undust, asking: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"list.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"url": [*LISTED, *MESSAGES, None]}), path)
    elif kind == "tsv":
        path.write_text("".join(f"{url}\t200\tabc\r\n" for url in LISTED))
    else:
        path.write_bytes(gzip.compress("\n".join(LISTED).encode()))
    done = undust("apply", "-r", asking, "--list", path, stdin="\n".join(MESSAGES).encode())
    assert done.stdout.decode().splitlines() == LED


def test_without_a_list_they_are_skipped_and_counted(undust: Undust, asking: Path) -> None:
    done = undust("apply", "-r", asking, stdin="\n".join(MESSAGES).encode())
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == LEFT
    assert done.stderr.decode().splitlines() == [
        "1 guarded rule skipped: what else is listed is not known (give --list)",
        "in=9 out=9 merged=9 rules=1 bad=0 skipped=1",
    ]


def test_a_list_that_is_not_complete_is_told(undust: Undust, tmp_path: Path, every: Path) -> None:
    path = tmp_path / "needy.json"
    rules = [rule(entities=5, between=0.95), Rule(do={"query[sid]": None})]
    RuleBook({"a.test": SiteRules("a.test", rules=rules)}).save(path)
    done = undust("apply", "-r", path, "--list", every, stdin=MESSAGES[5].encode())
    assert done.stdout.decode().splitlines() == [LEFT[5]]
    assert "not taken for complete: it has other pages of 3 things, not of 5" in done.stderr.decode()
    assert done.stderr.decode().splitlines()[-1].endswith("guarded=0 unused=1")


@pytest.mark.parametrize("name", ["-", "nowhere.txt", "nowhere.parquet", "text.parquet", "other.parquet"])
def test_a_list_that_cannot_be_read(undust: Undust, asking: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "text.parquet").write_text("http://a.test/\n")
    pq.write_table(pa.table({"address": LISTED}), tmp_path / "other.parquet")
    done = undust("apply", "-r", asking, "--list", name, stdin=b"http://a.test/\n", cwd=tmp_path)
    assert done.returncode == (2 if name == "-" else 1)
    assert done.stdout == b""
    assert name in done.stderr.decode() or name == "-"


def test_records_and_explanations_name_the_guarded_rule_and_what_held_it(
    undust: Undust, asking: Path, every: Path
) -> None:
    lines = "\n".join([MESSAGES[1], MESSAGES[7]]).encode()
    made = undust("apply", "-r", asking, "--list", every, "--emit", "jsonl", stdin=lines).stdout.splitlines()
    fired = [json.loads(line)["rules"] for line in made]
    assert [rule().id in some for some in fired] == [False, True]
    told = undust("explain", "-r", asking, "--list", every, MESSAGES[1], MESSAGES[7]).stdout.decode()
    assert "is not followed: the list has /topic,1.15.html, another page of t 1" in told
    assert f"= {A}/topic,7.0.html" in told
    held = json.loads(undust("explain", "--json", "-r", asking, "--list", every, MESSAGES[1]).stdout)["held"]
    assert len(held) == 1


def test_an_evaluation_tells_rules_guarded_rules_and_table_apart(
    undust: Undust, asking: Path, every: Path, tmp_path: Path
) -> None:
    from undust.rules.aliases import write

    pages = tmp_path / "pages.jsonl"
    rows = [{"url": u, "digest": u.partition("?")[0]} for u in LISTED]
    shown = [f"{A}/topic,{t}.15.html" if t < 3 else f"{A}/topic,{t}.0.html" for t in range(9)]
    rows += [
        {"url": u.replace("sid=1", f"sid={s}"), "digest": d}
        for u, d in zip(MESSAGES, shown, strict=True)
        for s in (1, 2)
    ]
    pages.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = tmp_path / "aliases.parquet"
    write(table, [(LEFT[t], shown[t], "digest") for t in range(2)])
    done = undust("evaluate", "--json", "-r", asking, pages, "--list", every, "--aliases", table)
    steps = json.loads(done.stdout)["steps"]
    assert list(steps) == ["rules", "guarded rules", "table of aliases"]
    saved = [step["urls"] - step["keys"] for step in steps.values()]
    assert saved == [9, 9 + 6, 9 + 6 + 2]
    assert all(step["wrong_merges"] == step["lost"] == 0 for step in steps.values())
    text = undust("evaluate", "-r", asking, pages, "--list", every, "--aliases", table).stdout.decode()
    assert "What saves it" in text
    without = undust("evaluate", "-r", asking, pages)
    assert "What saves it" not in without.stdout.decode()
    assert without.stderr.decode().splitlines()[-1].endswith("skipped=1")


@pytest.mark.parametrize("target", ["dud", "clearurls", "nutch", "clean-param", "nginx", "apache", "regex"])
def test_no_other_tool_has_a_list_at_hand(undust: Undust, tmp_path: Path, target: str) -> None:
    guard = Guard(({"path": "/view", "query[t]": "{t}", "query[start]": "{page:int}"},))
    asks = Rule(when={"path": "/view", "query[t]": "{t}"}, do={"query[p]": None}, guard=guard)
    path = tmp_path / "rules.json"
    RuleBook({"a.test": SiteRules("a.test", rules=[asks])}).save(path)
    done = undust("export", "-r", path, "--to", target)
    assert f"not expressible: {asks.id}" in done.stderr.decode()
    assert "it asks the list of URLs" in done.stderr.decode()
    assert b"query" not in done.stdout.replace(b"queryRemovalExcept", b"") and b"view" not in done.stdout
