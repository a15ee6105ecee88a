"""The table of aliases: exact URLs, used first, and a file that may come from anywhere."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.errors import InputError
from undust.rules import AliasTable, Canonicalizer, Rule, RuleBook, SiteRules
from undust.rules.aliases import write

A = "http://a.example"


def book(*rules: Rule, **sites: tuple[str, ...]) -> RuleBook:
    made = {"a.example": SiteRules("a.example", ("a.example", "www.a.example"), list(rules))}
    return RuleBook(made | {name: SiteRules(name, hosts) for name, hosts in sites.items()})


def saved(path, **columns) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_it_is_written_and_read_and_kept_apart_from_rules(tmp_path):
    rows = [(f"{A}/?p={i}", f"{A}/t{i % 3}", "redirect") for i in range(10)]
    assert write(tmp_path / "t.parquet", rows) == 10
    table = AliasTable.load(tmp_path / "t.parquet")
    assert sorted(table) == sorted(rows)
    canon = Canonicalizer(book(), aliases=table)
    assert canon.map([f"{A}/?p=4", f"{A}/?p=11"]) == [f"{A}/t1", f"{A}/?p=11"]
    assert canon.beyond is not None
    assert canon.beyond.looked_up == 1
    assert pickle.loads(pickle.dumps(canon)).map([f"{A}/?p=4"]) == [f"{A}/t1"]


def test_the_table_is_asked_before_the_rules_and_after_them():
    table = AliasTable.of(
        [(f"{A}/x?sid=1", f"{A}/one"), (f"{A}/x", f"{A}/two"), (f"{A}/two", f"{A}/three?sid=4")]
    )
    canon = Canonicalizer(book(Rule(do={"query[sid]": None})), aliases=table)
    assert canon(f"{A}/x?sid=1") == f"{A}/one"
    assert canon(f"{A}/x?sid=2") == f"{A}/three"
    assert [canon.explain(f"{A}/x?sid={i}").url for i in (1, 2)] == [f"{A}/one", f"{A}/three"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(f"{A}/1", f"{A}/2"), (f"{A}/2", f"{A}/1")], "runs in a circle"),
        ([(f"{A}/{i}", f"{A}/{(i + 1) % 50}") for i in range(50)], "runs in a circle"),
        ([(f"{A}/1", f"{A}/2"), (f"{A}/1", f"{A}/3")], "two canonical URLs"),
        ([(f"{A}/1", "nonsense")], "no URL"),
        ([(f"{A}/1", "")], "holds nothing"),
        ([(f"{A}/1", f"{A}/2\n{A}/3")], "no URL"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_with_its_row(tmp_path, rows, said):
    url, canonical = zip(*rows, strict=True)
    path = saved(tmp_path / "t.parquet", url=list(url), canonical=list(canonical))
    with pytest.raises(InputError, match=said) as caught:
        AliasTable.load(path)
    assert "row " in str(caught.value)


def test_what_is_no_table_is_refused(tmp_path):
    (tmp_path / "text").write_text("http://a.example/\n")
    for path, said in (
        (tmp_path / "none.parquet", "No such file"),
        (tmp_path / "text", "no Parquet"),
        (saved(tmp_path / "n.parquet", url=["x"]), "no column `canonical`"),
        (saved(tmp_path / "i.parquet", url=[1], canonical=[2]), "not text"),
    ):
        with pytest.raises(InputError, match=said):
            AliasTable.load(path)


@pytest.mark.parametrize(
    "to",
    ["http://evil.example/1", "https://evil.example:80/", "file://a.example/etc", "javascript://a.example/%0Aalert(1)",
     "http:///x", "://a.example/", "http://a.example.evil.example/1", "http://a.example@evil.example/1"],
)  # fmt: skip
def test_an_alias_never_leaves_its_site(to):
    canon = Canonicalizer(book(), aliases=AliasTable.of([(f"{A}/1", to)]))
    assert canon(f"{A}/1") == f"{A}/1"
    assert canon.explain(f"{A}/1").url == f"{A}/1"
    assert canon.map([f"{A}/1"], emit="key") == [f"{A}/1"]
    assert canon.beyond is not None
    assert canon.beyond.astray >= 1
    assert canon.beyond.looked_up == 0


def test_other_hosts_of_one_site_are_no_other_site():
    table = AliasTable.of(
        [(f"{A}/1", "https://m.a.example:8443/1"), ("http://one.example/1", "http://two.example/1")]
    )
    assert Canonicalizer(book(), aliases=table)(f"{A}/1") == "https://m.a.example:8443/1"
    apart = Canonicalizer(book(), aliases=table)
    joined = Canonicalizer(book(mirrors=("one.example", "two.example")), aliases=table)
    every = Canonicalizer(RuleBook({"*": SiteRules("*")}, "all"), aliases=table)
    found = [canon("http://one.example/1") for canon in (apart, joined, every)]
    assert found == ["http://one.example/1", "http://two.example/1", "http://two.example/1"]


hops = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["", "?sid=1", "?sid=2"]))


@given(st.lists(hops, unique_by=lambda h: (h[0], h[2]), max_size=12), st.booleans())
@settings(max_examples=150, deadline=None)
def test_twice_is_once(rows, with_rule):
    named = [(f"{A}/{a}{sid}", f"{A}/{b}") for a, b, sid in rows]
    try:
        table = AliasTable.of(named)
    except InputError:
        return  # a circle
    canon = Canonicalizer(book(*[Rule(do={"query[sid]": None})] * with_rule), aliases=table)
    urls = [f"{A}/{i}{sid}" for i in range(10) for sid in ("", "?sid=1", "?sid=2", "?sid=3")]
    once = canon.map(urls)
    assert canon.map(once) == once
    assert [canon.explain(url).url for url in urls] == once
