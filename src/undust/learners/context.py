"""The context a substitution needs and no substring can carry: where the query begins."""

from __future__ import annotations

from undust.rules.condition import Condition
from undust.url import field_name, split_query


def query_context(source: str, target: str) -> dict[str, Condition]:
    """Conditions under which a URL is still one after `source` has become `target`.

    A substitution that brings a `?` wants a URL without query, else there are two of them. One that takes the `?`
    away wants a URL without further fields, else they become part of the path. `^` and `$` mark the ends.

    >>> query_context("story_", "story?id="), query_context("story?id=", "story_")
    ({'query': None}, {'names': ('id',)})
    >>> query_context(".php3?", "?"), query_context("?print=1$", "$")
    ({}, {})
    """
    query = source.partition("?")[2]
    if ("?" in source) == ("?" in target):
        return {}
    if "?" in target:
        return {"query": None}
    fields, _ = split_query(query)
    if (
        query.endswith("$") or not fields or "=" not in fields[-1]
    ):  # nothing follows, or the name is not known
        return {}
    return {"names": tuple(sorted({field_name(field) for field in fields if field}))}
