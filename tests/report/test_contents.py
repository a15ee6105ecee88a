"""What a report shows, as data: the figures are those of `evaluate`, sites of book and crawl are told apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from undust.crawl import read
from undust.measures import Truth, evaluate
from undust.report import contents
from undust.report.leftover import groups
from undust.report.shown import as_script, fitting, shown
from undust.rules import Guard, Rule, RuleBook, SiteRules

from .made_up import DROP_ID, DROP_SID, REFUSED, book, hostile, pages, two_sites


def by_text(detail: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {rule["text"]: rule for rule in detail["rules"]}


def test_figures_are_those_of_evaluate() -> None:
    told = contents(book(DROP_SID), pages())
    result = evaluate(book(DROP_SID), pages())
    for part in ("hard", "all"):
        measured = getattr(result.set, part).to_dict()
        assert told["all"][part] == told["details"][0][part] == pytest.approx(measured, abs=1e-6)
    low, high = told["all"]["expected"]
    assert low <= result.reduction <= high and low < high
    assert told["read"]["pages"] == 44 and told["read"]["statuses"] == [(200, 43), (404, 1)]
    assert told["all"]["evidence"]["label"] == 38 and told["all"]["soft"] == 5


def test_a_rule_has_its_urls_evidence_and_wrong_merges() -> None:
    (detail,) = contents(book(), pages())["details"]
    rules = by_text(detail)
    right, wrong = rules["drop sid"], rules["drop id"]
    assert right["examples"] == [("http://a.example/show?id=1&sid=x1", "http://a.example/show?id=1", "")]
    assert right["evidence"]["precision_low"] == 0.9 and right["measured"]["merges"] == 24
    assert right["astray"] == [] and right["measured"]["valid"]
    assert wrong["measured"]["merges"] == 0  # by itself it makes no two URLs one: their sid differs
    # Without examples of its own a rule shows what it does here.
    assert wrong["examples"][0][:2] == ("http://a.example/show?id=0&sid=x0", "http://a.example/show?sid=x0")
    waiting = next(rule for rule in detail["rules"] if rule["status"] == "likely")
    assert "measured" not in waiting and waiting["examples"][0][0] == "http://a.example/print/0"
    assert rules["drop p"]["status"] == "disabled" and rules["drop p"]["examples"] == []
    assert [rule["why"] for rule in detail["rejected_rules"]] == [REFUSED.why]


def test_wrong_merges_are_shown_as_pairs() -> None:
    rows = [{"url": f"http://a.example/show?id={i}", "digest": f"{i}"} for i in range(4)]
    (detail,) = contents(book(DROP_ID), rows)["details"]
    (rule,) = detail["rules"]
    assert rule["measured"]["wrong"] == 3 and rule["measured"]["lost"] == 3
    url, kept, canonical, near = rule["astray"][0]
    assert (kept, canonical, near) == ("http://a.example/show?id=0", "http://a.example/show", False)
    assert url in {row["url"] for row in rows[1:]}


def test_what_is_left_is_told() -> None:
    (detail,) = contents(book(DROP_SID), pages())["details"]
    assert sum(group["urls"] for group in detail["left"]) == 2
    assert "http://a.example/print/0" in {url for group in detail["left"] for url in group["examples"]}
    (soft,) = detail["soft_pages"]
    assert soft["urls"] == 5 and soft["examples"][0] == "http://a.example/reply?p=0"
    assert [point["rules"] for point in detail["curve"]] == [0, 1]
    assert detail["curve"][1]["reduction"] == pytest.approx(24 / 38, abs=1e-4)
    assert detail["precision"] == [1.0]
    root, *others = detail["tree"]
    assert root["urls"] == 38 and root["contents"] == 12 and root["forms"] == 14
    assert all(0 <= node["parent"] < place for place, node in enumerate(others, 1))


def test_a_given_truth_decides() -> None:
    rows = pages()
    truth = Truth.of((row["url"], place, False) for place, row in enumerate(rows[:36]))
    told = contents(book(DROP_SID), rows, truth=truth)
    assert told["truth"] and told["all"]["hard"]["ceiling"] == 0 and told["all"]["hard"]["lost"] == 24
    assert told["details"][0]["tree"][0]["contents"] == 36
    assert told["details"][0]["left"] == []


def test_several_sites_have_an_overview_and_each_its_details() -> None:
    told = contents(*two_sites())
    assert [site["name"] for site in told["sites"]] == ["b.example", "a.example"]
    assert [detail["name"] for detail in told["details"]] == ["b.example", "a.example"]
    assert told["all"]["hard"]["urls"] == sum(site["hard"]["urls"] for site in told["sites"])
    assert told["all"]["curve"][-1]["rules"] == 3 and told["all"]["macro"]["reduction"] > 0
    assert by_text(told["details"][0])["drop sid"]["measured"]["merges"] == 60


def test_sites_of_the_book_alone_and_of_the_crawl_alone() -> None:
    told = contents(book(DROP_SID, name="c.example"), pages())
    assert [site["name"] for site in told["sites"]] == ["a.example", "c.example"]
    crawled, written = told["details"]
    assert crawled["rules"] == [] and crawled["hard"]["urls"] == 38 and crawled["left"]
    assert written["hard"]["urls"] == 0 and written["tree"] == [] and len(written["rules"]) == 1


def test_hosts_that_the_book_calls_one_site_are_one() -> None:
    rules = RuleBook({"a.example": SiteRules("a.example", ("a.example", "b.example"), [DROP_SID])})
    told = contents(rules, [*pages(), *pages("b.example")])
    (site,) = told["sites"]
    assert site["hard"]["urls"] == 76 and told["details"][0]["rules"][0]["measured"]["merges"] == 48


@pytest.mark.parametrize("key", ["all", "domain"])
def test_other_site_keys(key: str) -> None:
    name = "*" if key == "all" else "a.example"
    rules = RuleBook({name: SiteRules(name, rules=[DROP_SID])}, key)
    told = contents(rules, pages("www.a.example"))
    (site,) = told["sites"]
    assert site["name"] == name and site["hard"]["reduction"] == pytest.approx(24 / 38, abs=1e-4)


def test_guarded_rules_are_told_apart() -> None:
    guard = Guard(({"path": "/view", "query[t]": "{t}", "query[start]": "{page:int}"},))
    first = Rule(
        when={"path": "/view", "query[p]": "{t}"}, do={"query[p]": None, "query[t]": "{t}"}, guard=guard
    )
    rows = [{"url": f"http://a.example/view?{key}={i}", "digest": f"{i}"} for i in range(6) for key in "pt"]
    without = contents(book(first), rows)
    assert without["skipped"] == 1 and without["all"]["hard"]["true_merges"] == 0
    assert without["details"][0]["rules"][0]["guarded"]
    told = contents(book(first), rows, listed=[row["url"] for row in rows])
    assert told["skipped"] == 0 and told["all"]["hard"]["true_merges"] == 6
    assert {name: step["reduction"] for name, step in told["steps"].items()} == {
        "rules": 0,
        "guarded rules": 0.5,
    }
    assert told["details"][0]["rules"][0]["measured"]["merges"] == 6
    assert told["details"][0]["curve"][-1]["reduction"] == 0.5


def test_of_a_log_nothing_is_claimed() -> None:
    rows = [{"url": row["url"], "status": 200, "size": row.get("size")} for row in pages()[:36]]
    told = contents(book(), rows, level="likely")
    assert told["all"]["hard"]["urls"] == 0 and told["log"] == {
        "seen": 36,
        "forms": 1,
        "sized": 35,
        "same": 2,
    }
    assert told["details"][0]["log"] == {"seen": 36, "forms": 1}
    assert told["details"][0]["tree"][0]["known"] == 0
    rule = next(rule for rule in told["details"][0]["rules"] if rule["text"] == "drop sid")
    assert "measured" not in rule and len(rule["examples"][0]) == 2


def test_nothing_read_nothing_shown() -> None:
    told = contents(RuleBook(), [])
    assert told["sites"] == told["details"] == [] and told["all"]["hard"]["urls"] == 0


def test_the_order_of_pages_does_not_matter() -> None:
    rules, rows = two_sites()
    assert as_script(contents(rules, rows)) == as_script(contents(rules, rows[::-1]))


def test_what_does_not_fit_is_counted() -> None:
    rules, rows = two_sites()
    assert as_script(contents(rules, rows, room=10_000_000)) == as_script(contents(rules, rows))
    told = contents(rules, rows, room=3_500)
    (detail,) = told["details"]
    assert len(as_script(detail)) <= 3_500
    assert [site["detail"] for site in told["sites"]] == [0, None]
    rules = book(*(Rule(do={f"query[x{i}]": None}) for i in range(80)))
    (small,) = contents(rules, pages(), room=12_000)["details"]
    assert small["more_rules"] > 0 and len(small["rules"]) + small["more_rules"] == 80


def test_the_overview_counts_too() -> None:
    rows = [{"url": f"http://s{i}.example/{j}", "digest": "x"} for i in range(60) for j in range(2)]
    told = contents(RuleBook(), rows, room=30_000)
    shown, left = len(told["sites"]), told["left_out"]
    assert 10 < shown < 60 and shown + left == 60 and told["all"]["hard"]["urls"] == 120
    assert len(as_script([told["sites"], told["details"]])) < 30_000


def test_notes_of_a_book_are_data() -> None:
    rules, rows = hostile()
    detail = next(d for d in contents(rules, rows)["details"] if d["name"] == "a.example")
    assert set(detail["notes"]) == {"advice", "failed"}
    assert groups("nonsense") == groups([1, {"duplicates": True}, {"duplicates": "3"}]) == []
    assert groups([{"duplicates": 1, "paths": [3, "/x"], "example": "y"}]) == [
        {"urls": 1, "paths": ["/x"], "examples": []}
    ]


def test_numbers_that_are_none_do_not_break_the_page() -> None:
    text = book(DROP_SID).dumps().replace('"precision_low": 0.9', '"precision_low": NaN')
    told = contents(RuleBook.loads(text), pages())
    assert "precision_low" not in told["details"][0]["rules"][0]["evidence"]
    json.loads(as_script(told))


def test_what_is_hidden_in_a_text_is_written_out() -> None:
    assert shown("a\u202eb\x00\udce9") == "a\\u202eb\\u0000\\xe9"
    assert len(shown("x" * 10_000_000)) <= 300
    assert shown("täst/日本") == "täst/日本"
    assert not set("<>&") & set(as_script(["<>&", {"<": "&"}]))
    assert fitting([], 0) == ([], 0)


def test_pages_read_from_files_are_described(tmp_path: Any) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in pages()) + "{broken\n")
    told = contents(book(), read(file))
    assert told["read"]["inputs"] == [str(file)] and told["read"]["formats"] == {"jsonl": 1}
    assert told["read"]["bad"] == 1 and "broken" in told["read"]["first_bad"][0]
