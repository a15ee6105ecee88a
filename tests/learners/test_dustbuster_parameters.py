"""Parameter rules: which parameters may go, where, and what is left of the URL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from undust.learners.dustbuster import DustBuster
from undust.likeness import split_sites
from undust.rules import Rule, compile_rule

H = "http://h.test"


def parameter_rules(pages: dict[str, str], **columns) -> list[Rule]:
    (site,) = split_sites(pa.table({"url": list(pages), "digest": list(pages.values()), **columns}), "all")
    return [rule for rule in DustBuster().propose(site) if "substitute" not in rule.do]


def described(pages: dict[str, str]) -> list[str]:
    return [rule.describe() for rule in parameter_rules(pages)]


def test_values_that_do_not_matter():
    pages = {
        f"{H}/p?id={i}&sid={s}": str(i) for i in range(4) for s in range(30)
    }  # a bucket of 30 is no overflow
    assert described(pages) == ["*: drop sid", "*: when sid is {}: set sid to 0"]


def test_the_commonest_value_is_the_default():
    pages = {f"{H}/p?id={i}&sid={s}": str(i) for i in range(4) for s in ("7", "8") if i or s == "8"}
    assert "*: when sid is {}: set sid to 8" in described(pages)


def test_the_url_without_the_parameter_is_a_witness():
    pages = {f"{H}/p?id={i}{more}": str(i) for i in range(4) for more in ("", "&print=1")}
    assert described(pages) == ["*: drop print"]


def test_a_value_may_be_irrelevant_and_yet_not_left_out():
    pages = {f"{H}/p?id={i}&v={v}": str(i) for i in range(4) for v in "ab"}
    pages |= {f"{H}/p?id={i}": "version missing" for i in range(4)}
    assert described(pages) == ["*: when path is /p and v is {}: set v to a"]


def test_a_dead_page_speaks_against_leaving_out():
    pages = {f"{H}/p?id={i}&v={v}": str(i) for i in range(4) for v in "ab"}
    status = [200] * len(pages) + [404] * 4
    pages |= {f"{H}/p?id={i}": "" for i in range(4)}
    rules = parameter_rules(pages, status=pa.array(status, pa.int16()))
    assert [rule.do for rule in rules] == [{"query[v]": "a"}]


@pytest.mark.parametrize(
    "given, left",
    [
        ("?sid=1", ""),
        ("?sid=1&b=2", "?b=2"),
        ("?b=2&sid=1", "?b=2"),
        ("?a=1&sid=1&b=2", "?a=1&b=2"),
        ("?sid=1#x", "#x"),
    ],
)
def test_separators_are_repaired(given, left):
    pages = {f"{H}/p{i}{given.replace('sid=1', f'sid={s}')}": str(i) for i in range(4) for s in "19"}
    pages |= {f"{H}/p{i}{left}": str(i) for i in range(4)}
    (drop,) = [rule for rule in parameter_rules(pages) if None in rule.do.values()]
    assert drop.evidence.pairs == 12 and drop.evidence.false == 0  # the URLs without it were recognised
    assert compile_rule(drop).apply(f"{H}/p0{given}") == f"{H}/p0{left}"


def test_semicolons_separate_where_no_ampersand_does():
    pages = {f"{H}/i?topic={i};sid={s}": str(i) for i in range(4) for s in "ab"}
    assert "*: drop sid" in described(pages)
    pages = {
        f"{H}/i?topic=a;sid{s}&id={i}": str(i) for i in range(4) for s in "ab"
    }  # a value with a semicolon
    assert described(pages) == ["*: drop topic", "*: when topic is {}: set topic to a;sida"]


def test_a_parameter_without_a_value():
    pages = {f"{H}/i?board=1;topic={i}{more}": str(i) for i in range(4) for more in ("", ";seen")}
    (drop,) = parameter_rules(pages)
    assert drop.do == {"query[seen]": None} and drop.evidence.pairs == 4


def test_a_longer_name_is_another_parameter():
    pages = {f"{H}/i?id={i}&s={i}&sort={v}": str(i) for i in range(4) for v in "ab"}
    assert [d for d in described(pages) if "drop" in d] == ["*: drop sort"]


def test_parameters_in_the_path():
    pages = {f"{H}/shop/{i};jsessionid={s}?a=1": str(i) for i in range(4) for s in "ab"}
    pages |= {f"{H}/shop/{i}?a=1": str(i) for i in range(4)}
    rule = parameter_rules(pages)[0]
    assert rule.do == {"matrix[jsessionid]": None} and rule.evidence.false == 0


def test_a_name_that_means_two_things_is_judged_place_by_place():
    pages = {f"{H}/forum/t?t={i}&sid={s}": str(i) for i in range(6) for s in "abcd"}
    pages |= {f"{H}/forum/u?t={i}&sid={s}": f"u{i}" for i in range(6) for s in "abcd"}
    pages |= {f"{H}/print.pl?sid={s}&t={i}": f"{s}{i}" for i in range(6) for s in "abcd"}
    assert [d for d in described(pages) if "drop" in d] == ["*/forum/: drop sid"]


def test_one_path_of_a_directory():
    pages = {f"{H}/x/good?t={i}&sid={s}": str(i) for i in range(6) for s in "abcd"}
    pages |= {f"{H}/x/bad?t={i}&sid={s}": f"{s}{i}" for i in range(6) for s in "abcd"}
    assert [d for d in described(pages) if "drop" in d] == ["*: when path is /x/good: drop sid"]


def test_two_buckets_are_too_few():
    assert described({f"{H}/p?id={i}&sid={s}": str(i) for i in range(2) for s in range(30)}) == []


def test_repeated_parameters_are_not_guessed_at():
    pages = {f"{H}/p?id={i}&k={k}&k=z": str(i) for i in range(4) for k in "ab"}
    assert described(pages) == []


def test_names_of_several_tokens_and_in_the_path_look_alike():
    pages = {f"{H}/a&x_y=1/{i}?x_y={v}": f"{i}" for i in range(4) for v in "ab"}
    assert "*: drop x_y" in described(pages)


def test_without_evidence_there_are_no_parameter_rules():
    urls = [f"{H}/p?id={i}&sid={s}" for i in range(4) for s in "ab"]
    (site,) = split_sites(pa.table({"url": urls}), "all")
    assert all("substitute" in rule.do for rule in DustBuster().propose(site))


def test_sizes_may_vary_with_the_visit():
    """Where sizes are all there is, a third of the pairs may miss; two thirds may not."""
    for wrong, found in ((3, True), (7, False)):
        pages = {
            f"{H}/p?id={i}&sid={s}": 1000 * i + (s == "b") * (i < wrong) for i in range(10) for s in "ab"
        }
        sizes = list(pages.values())
        (site,) = split_sites(pa.table({"url": list(pages), "size_min": sizes, "size_max": sizes}), "all")
        drops = [rule for rule in DustBuster().propose(site) if rule.do == {"query[sid]": None}]
        assert bool(drops) is found
