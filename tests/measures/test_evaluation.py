"""A rule book measured on a crawl: what is counted, by whose word, and agreement with an independent evaluator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from undust.crawl import read
from undust.measures import Truth, evaluate, known
from undust.measures.saving import valid
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules

HOST = "a.example"


def book(*rules: Rule, hosts: tuple[str, ...] = (HOST,)) -> RuleBook:
    return RuleBook({hosts[0]: SiteRules(hosts[0], hosts, list(rules))})


DROP_SID = Rule(do={"query[sid]": None})
DROP_ID = Rule(do={"query[id]": None})


def pages(cluster: str = "digest") -> list[dict[str, object]]:
    return [
        {"url": f"http://{HOST}/p?id={i}&sid={sid}", cluster: f"{i}", "status": 200}
        for i in range(6)
        for sid in "xyz"
    ]


def test_figures_of_a_true_and_a_false_rule() -> None:
    result = evaluate(book(DROP_SID, DROP_ID), pages())
    assert (result.urls, result.contents, result.keys) == (18, 6, 1)
    assert (result.lost, result.true_merges, result.wrong_merges) == (5, 2, 15)
    by_rule = {r.rule.id: r for r in result.rules}
    good, bad = by_rule[DROP_SID.id], by_rule[DROP_ID.id]
    assert (good.alone.lost, good.alone.true_merges, good.alone.reached) == (0, 12, 1.0)
    assert (bad.alone.lost, bad.alone.true_merges) == (5, 0)
    assert good.fired == bad.fired == good.covers == 18
    assert good.precision == bad.precision == 1.0  # neither leads to a URL that was seen


def test_precision_counts_what_leads_to_another_content() -> None:
    seen = [{"url": f"http://{HOST}/p", "digest": "0"}, *pages()]
    (rule,) = evaluate(book(Rule(do={"query": None})), seen).rules
    assert (rule.covers, rule.true, rule.false, rule.precision) == (18, 3, 15, 3 / 18)


def test_dead_pages_and_redirects_are_not_counted_and_unknown_ones_are_reported() -> None:
    seen = [
        *pages(),
        {"url": f"http://{HOST}/gone", "status": 404, "digest": "x"},
        {"url": f"http://{HOST}/moved", "status": 301, "location": "/p?id=1&sid=x"},
        {"url": f"http://{HOST}/unknown", "status": 200},
    ]
    result = evaluate(book(), seen)
    assert (result.urls, result.unknown, result.seen) == (18, 1, 21)


def test_soft_pages_are_apart() -> None:
    soft = [
        {"url": f"http://{HOST}/post?t={i}", "cluster": "login", "soft": True, "status": 200}
        for i in range(5)
    ]
    result = evaluate(book(DROP_SID), [*pages("cluster"), *soft])
    assert (result.set.hard.urls, result.set.all.urls) == (18, 23)
    assert (result.set.hard.contents, result.set.all.contents) == (6, 7)
    assert (result.ceiling, result.reached, result.set.all.reached) == (12 / 18, 1.0, 12 / 16)


def test_the_tail_is_measured_by_itself() -> None:
    seen = pages()
    for i, page in enumerate(seen):
        page["importance"] = float(i)
    tail = evaluate(book(DROP_SID), seen).set.tail
    assert tail is not None and (tail.urls, tail.contents, tail.keys) == (6, 2, 2)
    assert evaluate(book(DROP_SID), pages()).set.tail is None


def test_given_clusters_override_what_pages_show() -> None:
    seen = [{"url": f"http://{HOST}/{i}", "digest": "same", "cluster": str(i // 2)} for i in range(6)]
    assert evaluate(book(), seen).contents == 3
    truth = Truth.of([(f"http://{HOST}/{i}", 7, False) for i in range(4)])
    result = evaluate(book(), seen, truth=truth)
    assert (result.urls, result.contents, result.unknown) == (4, 1, 2)


def test_urls_are_counted_as_written() -> None:
    seen = [{"url": f"http://{HOST}/x", "digest": "1"}, {"url": f"http://{HOST.upper()}:80/x", "digest": "1"}]
    assert evaluate(book(), seen).urls == 2
    assert evaluate(book(), seen).reached == 1.0  # the normal form merges them


def test_what_the_normal_form_merges_is_no_merit_of_a_rule() -> None:
    # Each URL under a second spelling, and a rule that is wrong in all it does.
    seen = [
        {"url": f"http://{host}/p?id={i}", "digest": f"{i}"}
        for i in range(12)
        for host in (HOST, HOST.upper())
    ]
    (rule,) = evaluate(book(Rule(when={"query[id]": ["3", "4"]}, do={"query[id]": "5"})), seen).rules
    assert (rule.covers, rule.alone.urls) == (2, 12)
    assert (rule.alone.true_merges, rule.alone.wrong_merges) == (0, 2)
    assert valid(rule) is False


def test_sites_add_up_to_the_whole_and_macro_is_their_mean() -> None:
    other = [{"url": f"http://b.test/{i}", "digest": f"b{i}", "status": 200} for i in range(6)]
    result = evaluate(book(DROP_SID), [*pages(), *other])
    assert set(result.sites) == {HOST, "b.test"}
    assert result.reduction == 12 / 24
    assert result.macro["reduction"] == (12 / 18 + 0) / 2


def test_of_a_log_sizes_are_compared() -> None:
    seen = [
        {"url": f"http://{HOST}/p?id={i}{sid}", "status": 200, "size": 100 + i + (i == 5 and sid == "&sid=1")}
        for i in range(6)
        for sid in ("", "&sid=1")
    ]
    result = evaluate(book(DROP_SID), seen)
    assert (result.set.all.urls, result.seen, result.forms) == (0, 12, 6)
    assert (result.sized, result.same_size) == (6, 5)


def test_a_truth_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "truth.tsv"
    path.write_text("url\tcluster\tsoft\tevidence\nhttp://a.example/\t3\t1\ttext\n")
    truth = Truth.load(path)
    assert (truth.urls, truth.cluster.tolist(), truth.soft.tolist()) == (("http://a.example/",), [3], [True])


def test_order_of_pages_does_not_matter() -> None:
    forward = evaluate(book(DROP_SID, DROP_ID), pages()).to_dict()
    assert evaluate(book(DROP_SID, DROP_ID), pages()[::-1]).to_dict() == forward
    assert json.loads(json.dumps(forward)) == forward


DATA = Path(os.environ.get("UNDUST_DATA", Path(__file__).parents[3] / "shared" / "data"))
EVALUATE = DATA.parent / "eval" / "evaluate.py"
SITES = [path.name.removesuffix(".truth.tsv") for path in sorted(DATA.glob("*.truth.tsv"))]


def crude_rules(truth: Truth) -> RuleBook:
    """Rules that merge much, rightly and wrongly, on any site."""
    hosts = tuple(sorted({url.split("/")[2].lower() for url in truth.urls}))
    rules = [
        Rule(do={"query[sid]": None}),
        Rule(do={"query": "{query|sort}"}),
        Rule(when={"query[start]": "0"}, do={"query[start]": None}),
        Rule(do={"query[f]": None, "query[mode]": None, "query[order]": None}),
        Rule(when={"path[-1]": "index.html"}, do={"path[-1]": ""}),
    ]
    return book(*rules, hosts=hosts)


@pytest.mark.skipif(not SITES, reason="no shared data")
@pytest.mark.parametrize("site", SITES or ["none"])
def test_an_evaluator_that_shares_no_code_agrees_to_the_last_digit(site: str, tmp_path: Path) -> None:
    truth_file = DATA / f"{site}.truth.tsv"
    truth = Truth.load(truth_file)
    rules = crude_rules(truth)
    canon = Canonicalizer(rules)
    mapping = tmp_path / "crude.tsv"
    with mapping.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as out:
        out.writelines(f"{url}\t{canon(url)}\n" for url in truth.urls)
    theirs_file = tmp_path / "theirs.json"
    subprocess.run(
        [sys.executable, EVALUATE, truth_file, mapping, "--json", theirs_file],
        check=True,
        capture_output=True,
    )
    theirs = json.loads(theirs_file.read_text())
    result = evaluate(rules, read(list(truth.urls)), truth=truth)
    for part, ours in (("all", result.set.all), ("hard", result.set.hard)):
        said = theirs[part]
        assert said["N"] == ours.urls and said["C"] == ours.contents and said["keys"] == ours.keys
        assert said["true_merges"] == ours.true_merges and said["lost"] == ours.lost
        assert said["supp_pairs"] == ours.pairs and said["fp_pairs"] == ours.false_pairs
        assert said["changed"] == ours.changed
        assert said["wrong_urls"] + said["near_urls"] == ours.wrong_merges + ours.near_merges
        for rate in ("reduction", "ceiling", "reached", "dup_reduction", "fpr", "collision_precision"):
            assert said[rate] == round(getattr(ours, rate), 5), (part, rate)
        assert said["lost_rate"] == round(ours.lost_rate, 5)


def test_without_evidence_nothing_is_known() -> None:
    on = known(read([f"http://{HOST}/1", f"http://{HOST}/2"]).pages)
    assert (len(on.truth), on.unknown) == (0, 2)
