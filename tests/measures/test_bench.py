"""The benches from end to end on a small site: they end, and what they print is right."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from undust.crawl import read
from undust.measures import Truth
from undust.measures.cases import Case, cases, truth_beside
from undust.measures.papers import reprint
from undust.measures.quality import pooled_table, quality, site_table, transfer, transfer_table
from undust.measures.speed import Timing, cpu
from undust.measures.table import table
from undust.report import curves_page
from undust.rules import Rule, RuleBook, SiteRules

HOST = "a.example"


def pages(host: str = HOST) -> list[dict[str, Any]]:
    found = []
    for i in range(40):
        forms = [f"/topic.php?t={i}", f"/topic.php?t={i}&sid={i * 7919 % 1000}", f"/topic.php?t={i}&start=0"]
        found += [
            {"url": f"http://{host}{form}", "status": 200, "size": 1000 + i, "digest": f"{i}"}
            for form in forms
        ]
    return found


def case(host: str = HOST) -> Case:
    rows = pages(host)
    return Case(host, read(rows).pages, Truth.of([(row["url"], int(row["digest"]), False) for row in rows]))


def learn(table: pa.Table, learner: str) -> RuleBook:
    """Knows the answer; a learner called `nothing` learns nothing."""
    hosts = sorted({url.split("/")[2] for url in table["url"].to_pylist()})
    rules = [Rule(do={"query[sid]": None}), Rule(when={"query[start]": "0"}, do={"query[start]": None})]
    return RuleBook({h: SiteRules(h, (h,), [] if learner == "nothing" else rules) for h in hosts})


def test_quality_measures_on_the_other_half() -> None:
    results = {r.method: r for r in quality(case(), learn, learners=("auto", "nothing"))}
    auto, nothing = results["auto"], results["nothing"]
    assert (auto.hard.urls, auto.hard.contents, auto.hard.reached, auto.hard.fpr, auto.rules) == (
        60,
        20,
        1,
        0,
        2,
    )
    assert (nothing.hard.reached, nothing.rules) == (0, 0)
    assert "MaybeDont (online)" in results
    lines = list(site_table(list(results.values())))
    assert lines[0] == "a.example: 60 held-out URLs, 20 contents, ceiling 66.7 %"
    assert lines[2].split()[:4] == ["auto", "66.7", "100.0", "0.00000"]


def test_pooled_and_transfer_tables() -> None:
    data = [case(), case("b.example")]
    results = [r for c in data for r in quality(c, learn, learners=("auto",), peers=False)]
    own = [r for r in results if r.method == "auto"]
    others = [transfer(c, [m.book for m in own if m.site != c.name and m.book]) for c in data]
    assert [r.hard.reached for r in others] == [1, 1]
    assert next(pooled_table(results)).startswith("All 2 sites as one: 120 held-out URLs, 40 contents")
    assert len(list(transfer_table(own, others))) == 4


def test_papers_print_every_table_and_figure() -> None:
    parts = list(reprint([case()], learn))
    text = "\n".join(part for part in parts if isinstance(part, str))
    for part in (
        *(f"W Table {n}" for n in (1, 2, 3, 4)),
        *(f"W Figure {n}" for n in (5, 6, 8)),
        *("K Table 1", "K Table 2", "K Tables 3 and 5", "K Tables 4 and 6", "K Figure 1", "K Figure 3"),
        *("L Table 1", "L Table 2", "L Tables 3 and 4", *(f"L Figure {n}" for n in (9, 10, 11, 12))),
    ):
        assert f"\n{part}" in f"\n{text}", part
    assert max(map(len, text.splitlines())) <= 140
    deployed = next(line for line in text.splitlines() if line.startswith("undust auto"))
    assert deployed.split() == ["undust", "auto", "2", "66.7", "0.0000", "0"]
    html = curves_page(parts)
    assert html.count(',"axis":"') == 9 and '"title":"L Figure 12' in html


def test_speed_grows_as_it_does() -> None:
    assert Timing("square", (10, 20, 40), (1.0, 4.0, 16.0)).growth == 2.0
    assert 0 < cpu(lambda: sum(range(1000)), enough=0.001) < 1


def test_cases_are_found_with_their_truth(tmp_path: Path) -> None:
    rows = pages()
    with gzip.open(tmp_path / "x.pages.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "x.truth.tsv").write_text("url\tcluster\tsoft\n" + f"{rows[0]['url']}\t5\t0\n")
    (tmp_path / "notes.txt").write_text("nothing")
    (found,) = cases([str(tmp_path)])
    assert (found.name, found.truth.urls, found.truth.cluster.tolist()) == ("x", (rows[0]["url"],), [5])
    assert truth_beside(tmp_path / "notes.txt") is None


def test_tables_are_aligned() -> None:
    lines = list(table(["a", "b"], [["long name", 1], ["x", 12_345]]))
    assert len({len(line) for line in lines}) == 1


def test_the_command_prints_what_was_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from undust.cli import run

    rows = [{**row, "cluster": row["digest"]} for row in pages()]
    file = tmp_path / "x.pages.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["bench", "quality", str(file), "--learner", "dustbuster", "--no-peers"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("x: 60 held-out URLs, 20 contents, ceiling 66.7 %")
    assert err.endswith("in=120 out=120 merged=0 rules=0 bad=0 sites=1\n")
    assert run(["bench", "quality", str(file), "--learner", "dustbuster", "--no-peers", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["method"] for r in records] == ["dustbuster", "normal form alone"]


def test_bench_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from undust.cli import run

    file = tmp_path / "urls.txt"
    file.write_text("http://a.example/1\n")
    assert run(["bench", "quality", str(file)]) == 2
    assert "nothing is known" in capsys.readouterr().err


def test_evaluate_prints_measures_next_to_the_ceiling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from undust.cli import run

    file, book = tmp_path / "pages.jsonl", tmp_path / "rules.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in pages()))
    learn(read(pages()).pages, "auto").save(book)
    assert run(["evaluate", "-r", str(book), str(file)]) == 0
    out, err = capsys.readouterr()
    figures = {line[:30].strip(): line[30:].split() for line in out.splitlines()}
    assert figures["ceiling % (perfect rules)"] == ["66.7", "66.7"]
    assert figures["reached % of the ceiling"] == ["100.0", "100.0"]
    assert err == "in=120 out=40 merged=80 rules=2 bad=0 ceiling=0.667 lost=0\n"
    assert run(["evaluate", "-r", str(book), str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hard"]["compression_rate"] == pytest.approx(2 / 3)
