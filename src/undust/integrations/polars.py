"""Polars: `pl.col("url").undust.canonical(book)`. Importing this module registers the namespace."""

from __future__ import annotations

import os
from functools import partial

import polars as pl

from undust.rules import Canonicalizer, RuleBook

Book = RuleBook | Canonicalizer | str | os.PathLike[str]


@pl.api.register_expr_namespace("undust")
class UndustExpressions:
    """Canonical URLs and keys as expressions, a batch at a time; nulls stay nulls.

    >>> from undust.rules import Rule, SiteRules
    >>> book = RuleBook({"a.example": SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])})
    >>> frame = pl.DataFrame({"url": ["http://a.example/?sid=1", "http://a.example/?t=2", None]})
    >>> frame.lazy().select(pl.col("url").undust.canonical(book)).collect()["url"].to_list()
    ['http://a.example/', 'http://a.example/?t=2', None]
    """

    def __init__(self, expression: pl.Expr) -> None:
        self._expression = expression

    def canonical(self, book: Book, level: str = "probable") -> pl.Expr:
        """The canonical URL."""
        return self._map(book, level, "url")

    def key(self, book: Book, level: str = "probable") -> pl.Expr:
        """What identifies the page; may hold wildcards."""
        return self._map(book, level, "key")

    def _map(self, book: Book, level: str, emit: str) -> pl.Expr:
        if not isinstance(book, Canonicalizer):
            book = Canonicalizer(book if isinstance(book, RuleBook) else RuleBook.load(book), level)
        # Each URL by itself, so the optimiser may cut the column where it likes.
        return self._expression.map_batches(
            partial(book.map, emit=emit), return_dtype=pl.String, is_elementwise=True
        )
