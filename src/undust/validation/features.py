"""What a URL stands for among those a rule can be tried on: hosts, kinds of paths, parameters, ways of writing.

A rule that is wrong is mostly wrong on a kind of URLs, and kinds cross each other: covering each feature takes
few pages, covering each combination would take thousands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from undust.rules import Rule
from undust.url import key_view, parse, value_type

FEW_VALUES = 8
"""Values of a parameter are features of their own when there are no more of them (`start=0`, not session ids)."""

Features = tuple[int, ...]

_NUMBER = re.compile(r"\d+")
_PLAIN = re.compile(r"[^\W_]+")


def features(rule: Rule, urls: Sequence[str]) -> list[Features]:
    """The features of each URL, numbered.

    >>> a, b, c = features(Rule(do={"query[sid]": None}), [f"http://a.test/p?{q}" for q in ("id=1", "id=2", "q=a+b")])
    >>> len(set(a) - set(b)), len(set(c) - set(a)) > 1
    (1, True)
    """
    touched = {*rule.when, *rule.do} - {"names", "substitute", "query", "url", "separator"}
    views = [_told(url, touched) for url in urls]
    values: defaultdict[str, set[str]] = defaultdict(set)
    for view in views:
        for key, value in view.items():
            if len(values[key]) <= FEW_VALUES:
                values[key].add(value)
    number: dict[tuple[str, str], int] = {}
    out = []
    for view in views:
        found = []
        for key, value in view.items():
            shown = value if len(values[key]) <= FEW_VALUES else style(value)
            found.append(number.setdefault((key, shown), len(number)))
        # Absence is a feature where others have it.
        found += [number.setdefault((key, "\0"), len(number)) for key in values if key not in view]
        out.append(tuple(found))
    return out


def style(value: str) -> str:
    """How a value is written: its type, its capitals, its other signs.

    >>> style("Cedar+dawn"), style("Cedar_dawn"), style("x7"), style("1200")
    ('any A+', 'slug A_', 'slug ', 'int ')
    """
    capitals = "A" * (value != value.lower())
    return f"{value_type(value)} {capitals}{''.join(sorted(set(_PLAIN.sub('', value))))}"


def _told(url: str, touched: set[str]) -> dict[str, str]:
    """What is looked at of a URL."""
    parts = parse(url)
    segments = parts.path.split("/")[1:]
    last = segments[-1] if segments else ""
    told = {
        "authority": parts.authority or "",
        "first": _NUMBER.sub("0", segments[0]) if len(segments) > 1 else "",
        "depth": str(len(segments)),
        "ending": _NUMBER.sub("0", last.rpartition(".")[2])[:8] if "." in last else "",
        "signs": "".join(sorted(set(_PLAIN.sub("", parts.path)))),
    }
    view = key_view(url)
    for key, value in view.items():
        if key.startswith(("query[", "matrix[")) or key in touched:
            told[key] = value
    return told
