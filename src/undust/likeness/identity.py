"""Which part of its URL names a page, where the text is too much template to tell pages apart.

Hundreds of profile pages of a forum have one sketch, since little but the name differs. Lengths differ, but not enough:
some pages agree by accident. If all pages with `u=7` are equally long, and so for every `u`, while lengths differ
between them, then `u` names the content here, and two pages of the same `u` and the same length are the same page. A
session id fails the test: it goes with all lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from undust.likeness.components import same
from undust.url import field_name, field_value, parse, split_query

MIN_VALUES = 3
"""Values seen on two pages or more that a key must have to be judged."""

MIN_AGREEMENT = 0.5
"""Share of the pairs with equal value that must have equal length, for a key that names the content."""

MAX_ACCIDENT = 0.1
"""Share of these agreements that may be accidents, going by how often any two pages of the family agree."""

_WORDS = re.compile(r"[^\W_]+")


def named_alike(
    urls: list[str], family: NDArray[np.int64], length: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Edges between pages of one family and length that carry the same naming value.

    >>> urls = [f"http://a.example/?u={u}&s={s}" for u in (1, 2, 3) for s in (7, 8)]
    >>> named_alike(urls, np.zeros(6, int), np.array([50, 50, 51, 51, 51, 51]))
    (array([1, 3, 5]), array([0, 2, 4]))
    """
    rows, keys, values, shapes = [], [], [], []
    key_code: dict[str, int] = {}
    value_code: dict[str, int] = {}
    shape_code: dict[tuple[str, ...], int] = {}
    for row, url in enumerate(urls):
        parts = list(url_parts(url))
        shape = shape_code.setdefault(tuple(sorted(key for key, _ in parts)), len(shape_code))
        for key, value in parts:
            rows.append(row)
            keys.append(key_code.setdefault(key, len(key_code)))
            values.append(value_code.setdefault(value, len(value_code)))
            shapes.append(shape)
    row, key, value, shape_ = (np.array(column, dtype=np.int64) for column in (rows, keys, values, shapes))
    naming = _naming(family[row], key, same(value, shape_), length[row])
    row, value = row[naming], value[naming]
    # The same name may stand in another key: /a/b is ?id=a:b.
    code = same(family[row], length[row], value)
    _, first = np.unique(code, return_index=True)
    hub = row[first[code]]
    edge = hub != row
    return row[edge], hub[edge]


def _naming(
    family: NDArray[np.int64], key: NDArray[np.int64], value: NDArray[np.int64], length: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For each cell: do pages of its family with equal values at its key have equal lengths?

    Only pages of one shape are compared (`value` is numbered by shape as well): an added parameter may add to the text.
    A family with too few values at a key goes by what the key does in all families.
    """
    slot = same(family, key)
    group = same(slot, value)
    alike = same(group, length)
    slot_of, key_of = _of(group, slot), _of(slot, key)
    size = np.bincount(group)
    equal = np.bincount(_of(alike, group), weights=_pairs(np.bincount(alike)))
    chance = _chance(family, length)[_of(slot, family)]
    local = np.stack([np.bincount(slot_of, weights=c) for c in (_pairs(size), equal, size > 1)])
    local = np.concatenate([local, [local[0] * chance]])
    overall = np.stack([np.bincount(key_of, weights=c) for c in local])[:, key_of]
    pairs, agree, values, accident = np.where(local[2] >= MIN_VALUES, local, overall)
    # Of the pairs that differ in content the share `chance` agrees all the same.
    accident = (pairs - agree) / np.maximum(pairs - accident, 1e-9) * accident
    names = (values >= MIN_VALUES) & (agree >= MIN_AGREEMENT * pairs) & (accident <= MAX_ACCIDENT * agree)
    found: NDArray[np.bool_] = names[slot]
    return found


def _chance(family: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each family, the share of its pairs of pages that are equally long."""
    alike = same(family, length)
    equal = np.bincount(_of(alike, family), weights=_pairs(np.bincount(alike)))
    share: NDArray[np.float64] = equal / np.maximum(_pairs(np.bincount(family)), 1)
    return share


def _of(fine: NDArray[np.int64], coarse: NDArray[np.int64]) -> NDArray[np.int64]:
    """The coarse code of each fine code."""
    out = np.zeros(int(fine.max(initial=-1)) + 1, dtype=np.int64)
    out[fine] = coarse
    return out


def _pairs(n: NDArray[np.int64]) -> NDArray[np.float64]:
    return n * (n - 1) / 2.0


def url_parts(url: str) -> Iterator[tuple[str, str]]:
    """Keys and values of a URL that may name its page, values as their words in lower case.

    >>> list(url_parts("http://a.example/wiki/Main_Page?oldid=7"))
    [('path', 'wiki main page'), ('path[1]', 'wiki'), ('path[2]', 'main page'), ('query[oldid]', '7')]
    """
    parts = parse(url)
    path = _words(parts.path)
    if path:
        yield "path", path
    for i, segment in enumerate(parts.path.split("/")):
        words = _words(segment)
        if words and words != path:
            yield f"path[{i}]", words
    for field in split_query(parts.query)[0] if parts.query else ():
        words = _words(field_value(field) or "")
        if words:
            yield f"query[{field_name(field)}]", words


def _words(text: str) -> str:
    return " ".join(_WORDS.findall(unquote(text).lower()))
