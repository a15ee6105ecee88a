"""Deep tokenization: the paper's examples by name, laws, and a slow oracle for the units."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.url.deep import Anchors, deep_tokenize, deep_tokens, units

CITIES = [
    "Vienna",
    "Salzburg",
    "Graz",
    "Linz",
    "Wels",
    "Steyr",
    "Bregenz",
    "Dornbirn",
    "Villach",
    "Krems",
    "Leoben",
    "Traun",
]
SIGHTS = ["attractions", "Belvedere", "Dommuseum", "Eisriesenwelt", "Schlossberg", "Mirabell"]


def attractions() -> list[str]:
    """Tokens of the shape of the paper's figure 2."""
    listed = [
        f"ctattractions-{17876002 + 977 * i}-Austria_{city}_attractions.html" for i, city in enumerate(CITIES)
    ]
    profiles = [
        f"profile-{78587305 + 31 * i}-Austria_{CITIES[i % 5]}_{SIGHTS[i % 6]}{i}.html"
        for i in range(1, len(CITIES))
    ]
    return listed + profiles


def test_TV_4_2_delimiters_of_one_host() -> None:
    text = "accelerate.php[id]100019[SiteID]softwareoasis"
    expected = ["accelerate.php", "[", "id", "]", "100019", "[", "SiteID", "]", "softwareoasis"]
    assert deep_tokens(text, "[]") == expected


def test_TV_4_2_delimiters_are_learned_from_the_host() -> None:
    sites = [
        "softwareoasis",
        "filehippo",
        "tucows",
        "zdnet",
        "jumbo",
        "winsite",
        "shareware",
        "simplythebest",
        "nonags",
        "hotfiles",
        "pcworld",
    ]
    tree = deep_tokenize(
        [f"accelerate.php[id]{100019 + 7 * i}[SiteID]{site}" for i, site in enumerate(sites)]
    )
    assert tree.pattern(tree.leaf[0]) == "accelerate.php[id]{}[SiteID]{}"
    assert list(tree.captures(0).values())[-2:] == ["100019", "softwareoasis"]


def test_TV_4_4_first_iteration_selects_Austria_and_html() -> None:
    tree = deep_tokenize(attractions())
    assert tree.pattern(1) == "{}-Austria_{}.html"
    assert tree.parents[1] == 0


def test_TV_4_4_leaf_pattern_and_its_eleven_deep_tokens() -> None:
    tree = deep_tokenize(attractions())
    assert tree.pattern(tree.leaf[0]) == "ctattractions-{}-Austria_{}_attractions.html"
    expected = [
        "ctattractions",
        "-",
        "17876002",
        "-",
        "Austria",
        "_",
        "Vienna",
        "_",
        "attractions",
        ".",
        "html",
    ]
    assert tree.tokens(0) == expected


def test_TV_4_4_the_second_iteration_tells_lists_from_profiles() -> None:
    tree = deep_tokenize(attractions())
    below = {tree.pattern(node) for node, parent in enumerate(tree.parents) if parent == 1}
    assert {pattern.partition("-")[0] for pattern in below} == {"ctattractions", "profile"}


def test_TV_4_5_session_behind_a_dash() -> None:
    values = [
        f"friends-{x}"
        for x in ("lttU7d6kIuGq", "nMfcaJRPUSMQ", "a81Kqpwz77Ty", "Zz0PlkMnbVcX", "q1W2e3R4t5Y6")
    ]
    tree = deep_tokenize(values)
    assert tree.tokens(0) == ["friends", "-", "lttU7d6kIuGq"]


def test_too_few_values_have_no_structure() -> None:
    tree = deep_tokenize(["friends-a1", "friends-b2", "friends-c3", "friends-d4"])
    assert tree.patterns == [(0,)]
    assert tree.tokens(0) == ["friends-a1"]


def test_values_drawn_at_random_are_left_whole() -> None:
    rng = random.Random(7)
    values = ["".join(rng.choices("0123456789abcdef", k=32)) for _ in range(300)]
    assert deep_tokenize(values).patterns == [(0,)]


def test_one_odd_value_in_five_does_not_hide_the_rest() -> None:
    values = [f"topic,{t}.msg{7 * t}.html" for t in range(40)] + [
        f"topic,{t}.{15 * (t % 13)}.html" for t in range(40)
    ]
    found = deep_tokenize(values)
    assert {found.pattern(leaf) for leaf in found.leaf} == {"topic,{}.msg{}.html", "topic,{}.{}.html"}
    strict = deep_tokenize(values, Anchors(minority=False, delimiters=False))
    assert {strict.pattern(leaf) for leaf in strict.leaf} == {"topic,{}.html"}


def test_a_gap_kept_by_a_child_keeps_its_number() -> None:
    tree = deep_tokenize(
        [f"topic,{t}.msg{9 * t}.html" for t in range(20)] + [f"topic,{t}.0.html" for t in range(20)]
    )
    a, b = int(tree.leaf[0]), int(tree.leaf[20])
    meet = tree.common([a, b])
    assert tree.pattern(meet).startswith("topic,")
    for leaf in (a, b):
        gap = next(p for p in tree.patterns[meet] if isinstance(p, int))
        filled = "".join(p if isinstance(p, str) else "{}" for p in tree.fill(gap, leaf))
        assert filled in ("{}.msg{}", "{}.0")


def oracle_units(text: str) -> list[str]:
    """A regular expression that says the same, for ASCII."""
    unit = r"%[0-9A-Fa-f]{2}|[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]+|[A-Z]+|[a-z]+|[0-9]+|."
    return re.findall(unit, text, re.DOTALL)


@given(st.text("aZbQ09-_.%/[F", max_size=30))
def test_units_agree_with_the_regular_expression(text: str) -> None:
    assert units(text) == oracle_units(text)


words = st.sampled_from(
    ["topic", "board", "Austria", "a", "msg", "7", "42", "1995", "%3A", "QQ", "Zürich", ""]
)
texts = st.lists(st.tuples(words, st.sampled_from(["-", "_", ".", ",", "", "[", "%"])), max_size=5).map(
    lambda pairs: "".join(w + d for w, d in pairs)
)


@settings(max_examples=150, deadline=None)
@given(st.lists(texts, max_size=60, unique=True))
def test_every_value_is_spelled_by_its_leaf_and_by_every_pattern_above(values: list[str]) -> None:
    tree = deep_tokenize(values)
    for i, value in enumerate(values):
        captures = tree.captures(i)
        for node in tree.ancestors(int(tree.leaf[i])):
            assert "".join(p if isinstance(p, str) else captures[p] for p in tree.patterns[node]) == value
        if value:
            assert all(captures[p] for p in tree.patterns[tree.leaf[i]] if isinstance(p, int))
        assert "".join(tree.tokens(i)) == value


@settings(max_examples=50, deadline=None)
@given(st.lists(texts, max_size=40, unique=True), st.randoms())
def test_the_order_of_the_values_does_not_matter(values: list[str], rng: random.Random) -> None:
    tree = deep_tokenize(values)
    shuffled = values[:]
    rng.shuffle(shuffled)
    other = deep_tokenize(shuffled)
    at = {v: i for i, v in enumerate(shuffled)}
    assert [tree.pattern(tree.leaf[i]) for i in range(len(values))] == [
        other.pattern(other.leaf[at[v]]) for v in values
    ]


def test_a_gap_is_written_with_the_gaps_below_it() -> None:
    tree = deep_tokenize(attractions())
    leaf = int(tree.leaf[0])
    assert "".join(p if isinstance(p, str) else "{}" for p in tree.fill(0, leaf)) == tree.pattern(leaf)


@pytest.mark.parametrize("values", [[], [""], ["", "a"], ["%", "%3", "%3A"] * 2])
def test_edges(values: list[str]) -> None:
    tree = deep_tokenize(values)
    assert ["".join(tree.tokens(i)) for i in range(len(values))] == values
