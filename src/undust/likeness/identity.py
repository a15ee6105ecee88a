"""Which part of its URL names a page, where the text is too much template to tell pages apart.

Hundreds of profile pages of a forum have one sketch, since little but the name differs. Lengths differ,
but not enough: some pages agree by accident. If all pages with `u=7` are equally long, and so for every
`u`, while lengths differ between them, then `u` names the content here, and two pages of the same `u` and
the same length are the same page. A session id fails the test: it goes with all lengths.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterator
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from undust.likeness.components import Edges, firsts, same
from undust.url import field_name, field_value, parse, split_query

MIN_VALUES = 3
"""Values seen on two pages or more that a key must have to be judged."""

MIN_AGREEMENT = 0.5
"""Share of the pairs with equal value that must have equal length, for a key that names the content."""

MAX_ACCIDENT = 0.1
"""Share of these agreements that may be accidents, going by how often any two pages of the family agree."""

WHOLE_PATH = "path"

_WORDS = re.compile(r"[^\W_]+")


def named_alike(urls: list[str], family: NDArray[np.int64], length: NDArray[np.int64]) -> Edges:
    """Edges between pages of one family and length that carry the same naming value.

    >>> urls = [f"http://a.example/?u={u}&s={s}" for u in (1, 2, 3) for s in (7, 8)]
    >>> named_alike(urls, np.zeros(6, int), np.array([50, 50, 51, 51, 51, 51]))
    (array([1, 3, 5]), array([0, 2, 4]))
    """
    cells = Cells(urls)
    shape_code: dict[bytes, int] = {}
    bounds = np.searchsorted(cells.row, np.arange(len(urls) + 1))
    keys = (cells.key[a:b].tobytes() for a, b in itertools.pairwise(bounds.tolist()))
    shapes = np.array([shape_code.setdefault(k, len(shape_code)) for k in keys], dtype=np.int64)
    row, value = cells.row, cells.value
    by_shape = same(value, shapes[row])
    naming = _naming(family[row], cells.key, by_shape, length[row])
    row, value = row[naming], value[naming]
    # The same name may stand in another key: /a/b is ?id=a:b.
    code = same(family[row], length[row], value)
    hub = row[firsts(code)[code]]
    edge = hub != row
    return row[edge], hub[edge]


def _naming(
    family: NDArray[np.int64], key: NDArray[np.int64], value: NDArray[np.int64], length: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For each cell: do pages of its family with equal values at its key have equal lengths?

    Only pages of one shape are compared (`value` is numbered by shape as well): an added parameter may add to
    the text. A family with too few values at a key goes by what the key does in all families.
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


class Cells:
    """The parts of URLs that may name a page, as parallel arrays: `row`, `key`, `value`.

    >>> cells = Cells(["http://a.example/wiki/Main_Page?oldid=7"])
    >>> [(cells.keys[k], cells.values[v]) for k, v in zip(cells.key, cells.value, strict=True)]
    [('path', 'wiki main page'), ('path[0]', 'wiki'), ('path[1]', 'main page'), ('query[oldid]', '7')]
    """

    def __init__(self, urls: list[str]) -> None:
        key_code: dict[str, int] = {}
        value_code: dict[str, int] = {}
        words: dict[str, int] = {}
        rows, keys, values = array("q"), array("q"), array("q")
        for row, url in enumerate(urls):
            for key, raw in _parts(url):
                value = words.get(raw)
                if value is None:
                    text = " ".join(_WORDS.findall(unquote(raw).lower()))
                    value = words[raw] = value_code.setdefault(text, len(value_code)) if text else -1
                if value >= 0:
                    rows.append(row)
                    keys.append(key_code.setdefault(key, len(key_code)))
                    values.append(value)
        self.row, self.key, self.value = (np.array(cells, dtype=np.int64) for cells in (rows, keys, values))
        self.keys, self.values = list(key_code), list(value_code)


def _parts(url: str) -> Iterator[tuple[str, str]]:
    parts = parse(url)
    # `;jsessionid=...` belongs to no name.
    bare, matrix = parts.path, []
    if ";" in bare:
        split = [segment.split(";") for segment in bare.split("/")]
        bare, matrix = (
            "/".join(names[0] for names in split),
            [field for names in split for field in names[1:]],
        )
    segments = [(i, segment) for i, segment in enumerate(bare.split("/")) if segment]
    if len(segments) > 1:
        yield WHOLE_PATH, bare
    for i, segment in segments:
        yield f"path[{i - 1}]", segment
    for field in matrix:
        yield f"matrix[{field_name(field)}]", field_value(field) or ""
    for field in split_query(parts.query)[0] if parts.query else ():
        value = field_value(field)
        if value:
            yield f"query[{field_name(field)}]", value
