import random
import time

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from undust.likeness.sketch import mixed, resemblance, shingle_hashes, sketch_texts, sketcher

NONE = np.iinfo(np.uint64).max
BASE = 0x9E3779B97F4A7C15
BITS = 2**64


def plain_mix(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % BITS
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % BITS
    return x ^ (x >> 31)


def plain_sketch(text: str, permutations: int, n: int) -> list[int]:
    """The oracle: SPEC 2.8 word for word, one shingle and one hash function at a time."""
    words = [xxhash.xxh3_64_intdigest(w.encode()) for w in text.split()]
    if not words:
        return [int(NONE)] * permutations
    words += [0] * (n - len(words))
    shingles = []
    for start in range(len(words) - n + 1):
        rolling = 0
        for word in words[start : start + n]:
            rolling = (rolling * BASE + word) % BITS
        shingles.append(plain_mix(rolling))
    seeds = [plain_mix((p + 1) * BASE % BITS) for p in range(permutations)]
    return [min(plain_mix(s ^ seed) for s in shingles) for seed in seeds]


texts = st.lists(st.lists(st.sampled_from(["a", "b", "ç", "дом"]), max_size=30).map(" ".join), max_size=6)


@given(texts, st.integers(1, 5), st.integers(1, 12))
def test_sketches_are_those_of_the_plain_reading(given_texts, permutations, n):
    expected = [plain_sketch(t, permutations, n) for t in given_texts]
    assert sketch_texts(given_texts, permutations, n).tolist() == expected


def test_SPEC_RES_6_short_texts_are_one_shingle_and_empty_ones_none():
    _, offsets = shingle_hashes(["one two", "", "  \n", " ".join("abcdefghijk")])
    assert np.diff(offsets).tolist() == [1, 0, 0, 2]
    a, b, c = sketch_texts(["one two", "one  two ", "one two three"])
    assert (a == b).all() and not (a == c).any()
    assert (sketch_texts(["", " "]) == NONE).all()
    assert sketcher(["", "x"])[0] == []


def test_equal_texts_have_equal_sketches_in_any_batch(monkeypatch):
    many = [f"{i} " * 40 for i in range(50)]
    whole = sketch_texts(many)
    monkeypatch.setattr("undust.likeness.sketch._WORDS_AT_ONCE", 10)
    assert (sketch_texts(many) == whole).all()


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_resemblance_is_the_share_of_common_shingles(share):
    rng = random.Random(7)
    common = [f"c{rng.random()}" for _ in range(round(2000 * share))]
    rest = [[f"{who}{rng.random()}" for _ in range(2000 - len(common))] for who in "ab"]
    a, b = (" ".join(common + r) for r in rest)
    true = (len(common) - 9) / (2 * 1991 - (len(common) - 9))
    sketch = sketch_texts([a, b], 512)
    assert resemblance(sketch[:1], sketch[1:])[0] == pytest.approx(true, abs=0.07)


def test_the_first_permutations_do_not_depend_on_how_many_there_are():
    text = ["some words to sketch " * 5]
    assert (sketch_texts(text, 64)[:, :4] == sketch_texts(text, 4)).all()


def test_lone_surrogates_are_words_like_others():
    assert sketch_texts(["a \udce9 b"]).shape == (1, 4)


def test_mixed_is_one_to_one():
    x = np.arange(100_000, dtype=np.uint64)
    assert len(np.unique(mixed(x))) == len(x)


@pytest.mark.slow
def test_two_thousand_pages_a_second():
    rng = random.Random(1)
    vocabulary = [f"w{i}" for i in range(20_000)]
    pages = [" ".join(rng.choices(vocabulary, k=500)) for _ in range(2000)]
    start = time.process_time()
    sketch_texts(pages)
    assert time.process_time() - start < 1.0
