"""Value types."""

from __future__ import annotations

import hashlib
import random
import string
import time
import uuid

import pytest

from undust.url import TYPES, common_type, matches_type, value_type

OF_TYPE = {
    "int": ["0", "42", "00017", "20061301", "1143072000"],
    "date": ["2006-03-01", "20060301", "2006_03_01", "2006-03", "1999.12.31"],
    "hex": ["9f86d081884c7d65", "DEADBEEF01", "d41d8cd98f00b204e9800998ecf8427e"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"],
    "session": ["8KpX2dQv0ZrT7yLm", "u9bv2a1l2q3s0c8d7fkq5ogt34", "A1b2C3d4E5f6G7h8.node1"],
    "word": ["about", "About", "Stra\u00dfe"],
    "slug": ["about-us", "the-2006-world-cup-in-germany", "a_b", "item42", "2006-world-cup", "ab12"],
    "any": ["", " ", "a b", "a--b", "-a", "a/b", "a%20b", "\udcff", "\u0662\u0663 "],
}


@pytest.mark.parametrize(("kind", "value"), [(kind, v) for kind, values in OF_TYPE.items() for v in values])
def test_most_specific_type(kind: str, value: str) -> None:
    assert value_type(value) == kind and matches_type(kind, value)


def test_the_list_of_types_is_closed() -> None:
    assert set(TYPES) == set(OF_TYPE)
    with pytest.raises(KeyError):
        matches_type("nonsense", "1")


def test_random_identifiers_are_sessions_and_titles_are_not() -> None:
    rng = random.Random(7)
    base36, base62 = string.ascii_lowercase + string.digits, string.ascii_letters + string.digits
    ids = ["".join(rng.choices(alphabet, k=26)) for alphabet in (base36, base62) for _ in range(500)]
    assert sum(matches_type("session", value) for value in ids) > 0.97 * len(ids)
    titles = ["-".join(rng.choices(["the", "world", "cup", "2006", "in", "item"], k=6)) for _ in range(500)]
    assert not any(matches_type("session", title) for title in titles)
    digests = [hashlib.md5(str(i).encode()).hexdigest() for i in range(500)]
    assert common_type(digests) == "hex" and common_type([str(uuid.UUID(d)) for d in digests]) == "uuid"


def test_common_type_widens() -> None:
    assert common_type(["2006-03-01", "x"]) == "slug"
    assert common_type(["20060301", "42"]) == "int"
    assert common_type(["12345678", "deadbeef"]) == "hex"
    assert common_type(["a", "a b"]) == "any"


@pytest.mark.parametrize(
    "value", ["1" * 100_000, "a1" * 50_000, "a-" * 50_000, "-" * 100_000, "aA" * 50_000 + "!"]
)
def test_linear_time(value: str) -> None:
    start = time.process_time()
    for kind in TYPES:
        matches_type(kind, value)
    assert time.process_time() - start < 1.0
