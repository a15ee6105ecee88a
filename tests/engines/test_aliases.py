"""Which pages enter the table of aliases, and by what evidence."""

from __future__ import annotations

import pyarrow as pa

from undust.engines.aliases import aliases
from undust.engines.learn import learn
from undust.rules import AliasTable, Canonicalizer, RuleBook

A = "http://a.example"


def found(rows: list[dict], book: RuleBook | None = None) -> list[tuple[str, str, str]]:
    names = sorted({name for row in rows for name in row})
    return list(aliases(pa.table({n: [row.get(n) for row in rows] for n in names}), book or RuleBook()))


def test_redirects_equal_bytes_and_given_clusters():
    pages = [
        {"url": f"{A}/t1", "status": 200, "digest": "1"},
        {"url": f"{A}/?p=7", "status": 302, "location": "/t1"},
        {"url": f"{A}/t1?print", "status": 200, "digest": "1"},
        {"url": f"{A}/t2", "status": 200, "digest": "2"},
    ]
    assert found(pages) == [(f"{A}/?p=7", f"{A}/t1", "redirect"), (f"{A}/t1?print", f"{A}/t1", "digest")]
    given = [
        {"url": f"{A}/{u}", "status": 200, "cluster": c} for u, c in (("a", "x"), ("ab", "x"), ("b", "y"))
    ]
    assert found(given) == [(f"{A}/ab", f"{A}/a", "given")]


def test_rows_are_what_the_rules_leave():
    pages = [
        {"url": f"{A}/show?t={t}{more}&sid={s}", "digest": f"{t}"}
        for t in range(20)
        for s in ("x", "y")
        for more in ("", f"&p={100 + t}")
    ]
    book = learn(pages)
    table = AliasTable.of(found(pages, book))
    urls = [page["url"] for page in pages]
    rules, both = Canonicalizer(book), Canonicalizer(book, aliases=table)
    assert len(set(both.map(urls))) == 20
    left = set(rules.map(urls))
    assert {url for url, _, _ in table} <= left  # what a rule says needs no row
    assert len(table) == len(left) - 20


def test_soft_pages_and_dead_ones_are_no_aliases():
    pages = [{"url": f"{A}/login?to={i}", "status": 200, "cluster": "login", "soft": True} for i in range(5)]
    pages += [{"url": f"{A}/{i}", "status": 200, "digest": f"{i}"} for i in range(5)]
    pages += [{"url": f"{A}/gone{i}", "status": 404, "digest": "gone"} for i in range(5)]
    assert found(pages) == []


def test_order_does_not_matter():
    pages = [{"url": f"{A}/{i % 4}?v={i}", "status": 200, "digest": f"{i % 4}"} for i in range(20)]
    assert found(pages) == found(pages[::-1])
    assert found(pages)
