"""DuckDB: the functions `undust_url(url)` and `undust_key(url)` in SQL, over Arrow batches."""

from __future__ import annotations

import os
from typing import Any

import duckdb

from undust.rules import Canonicalizer, RuleBook


def register(
    connection: duckdb.DuckDBPyConnection,
    book: RuleBook | Canonicalizer | str | os.PathLike[str],
    level: str = "probable",
) -> None:
    """Make `undust_url` and `undust_key` known to a connection; a batch is one call.

    >>> from undust.rules import Rule, SiteRules
    >>> book = RuleBook({"a.example": SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])})
    >>> connection = duckdb.connect()
    >>> register(connection, book)
    >>> connection.sql('''
    ...     select undust_url(url) as page, count(*) as n
    ...     from (values ('http://a.example/?sid=1'), ('http://a.example/'), (null)) as log(url)
    ...     group by page order by n desc
    ... ''').fetchall()
    [('http://a.example/', 2), (None, 1)]
    """
    if not isinstance(book, Canonicalizer):
        book = Canonicalizer(book if isinstance(book, RuleBook) else RuleBook.load(book), level)
    canonicalizer = book
    # Any: its stubs differ from version to version; lambdas, as it would evaluate annotations.
    create: Any = connection.create_function
    create("undust_url", lambda urls: canonicalizer.map(urls), ["VARCHAR"], "VARCHAR", type="arrow")
    create("undust_key", lambda urls: canonicalizer.map(urls, "key"), ["VARCHAR"], "VARCHAR", type="arrow")
