"""datatrove: a `url_normalizer` for its URL deduplication. Nothing of datatrove is imported: it takes any callable."""

from __future__ import annotations

import os

from undust.rules import Canonicalizer, RuleBook


def url_normalizer(book: RuleBook | str | os.PathLike[str], level: str = "probable") -> Canonicalizer:
    """The canonicalizer of a book, as `UrlDedupConfig(url_normalizer=...)` takes it; it can be sent to workers.

    >>> import pickle
    >>> from undust.rules import Rule, SiteRules
    >>> book = RuleBook({"a.example": SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])})
    >>> normalize = pickle.loads(pickle.dumps(url_normalizer(book)))
    >>> normalize("http://a.example/?sid=1")
    'http://a.example/'
    """
    return Canonicalizer(book if isinstance(book, RuleBook) else RuleBook.load(book), level)
