"""What a URL is made of: lossless syntax, the safe normal form, tokens, keys, value types, a site's columns.

Pure functions of strings and arrays; nothing here knows of rules, crawls or learners.
"""

from .keys import Key, host_labels, key_view, named_key, split_key
from .normal import lower_host, normal, normal_escapes, remove_dot_segments
from .syntax import (
    Parts,
    field_name,
    field_value,
    join_authority,
    join_query,
    parse,
    query_separator,
    split_authority,
    split_path,
    split_query,
    split_segment,
    unparse,
)
from .table import Column, SiteTable, Tokens
from .tokens import tokenize
from .typed import TYPES, common_type, matches_type, value_type

__all__ = [
    "TYPES",
    "Column",
    "Key",
    "Parts",
    "SiteTable",
    "Tokens",
    "common_type",
    "field_name",
    "field_value",
    "host_labels",
    "join_authority",
    "join_query",
    "key_view",
    "lower_host",
    "matches_type",
    "named_key",
    "normal",
    "normal_escapes",
    "parse",
    "query_separator",
    "remove_dot_segments",
    "split_authority",
    "split_key",
    "split_path",
    "split_query",
    "split_segment",
    "tokenize",
    "unparse",
    "value_type",
]
