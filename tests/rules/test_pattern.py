"""Patterns, templates, conversions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.errors import BookError
from undust.rules.conversion import CONVERSIONS, Growth, translate
from undust.rules.pattern import TYPES, escape, parse_key, parse_pattern, parse_template

PATH, QUERY, URL = parse_key("path"), parse_key("query[x]"), parse_key("url")


@pytest.mark.parametrize(
    ("pattern", "key", "text", "groups"),
    [
        ("/a/b", PATH, "/a/b", ()),
        ("/a/b", PATH, "/a/b/", None),
        ("/wiki/{t}", PATH, "/wiki/Casino_Royale", ("Casino_Royale",)),
        ("/wiki/{t}", PATH, "/wiki/", None),  # any is at least one character ...
        ("/wiki/{t}", PATH, "/wiki/a/b", None),  # ... and no slash in a path
        ("/wiki/{t:rest}", PATH, "/wiki/a/b", ("a/b",)),
        ("/wiki/{t:rest}", PATH, "/wiki/", ("",)),
        ("{}", QUERY, "", ("",)),  # but the value of a parameter may be empty
        ("{}", QUERY, "a/b", ("a/b",)),
        ("http://{h}/{p:rest}", URL, "http://e.com/a/b", ("e.com", "a/b")),
        ("topic,{t:int}.msg{m:int}.html", PATH, "topic,12.msg7.html", ("12", "7")),
        ("topic,{t:int}.msg{m:int}.html", PATH, "topic,x.msg7.html", None),
        ("{a}-{b:int}", PATH, "foo-12", ("foo", "12")),
        ("{a}-{b:int}", PATH, "foo-bar-12", None),  # the first dash, and no second try
        ("{a}.{b}", PATH, "a.b.c", ("a", "b.c")),
        ("{:word}{n:int}", PATH, "tt0810900", ("tt", "0810900")),  # side by side: the longest run
        ("{:word}{n:int}", PATH, "0810900", None),
        ("{{{x}}}", PATH, "{1}", ("1",)),
        ("aa{x}aa", PATH, "aaa", None),  # literals do not overlap
        ("", QUERY, "", ()),
    ],
)
def test_match(pattern, key, text, groups):
    assert parse_pattern(pattern, key).match(text) == groups


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("{a", "not closed"),
        ("a}", "lone }"),
        ("{a}{b}", "side by side"),
        ("{a}{a}", "side by side"),
        ("{a}-{a}", "twice"),
        ("{a:integer}", "unknown type 'integer'"),
        ("{a:}", "needs a type"),
        ("{path}", "cannot be the name"),
        ("{1a}", "cannot be the name"),
        ("x" * 5000, "longer than"),
        ("{}." * 40, "more than 32 groups"),
    ],
)
def test_bad_pattern_says_why(pattern, says):
    with pytest.raises(BookError, match=says):
        parse_pattern(pattern)


pieces = st.sampled_from(["a", "-", "/", "7", "x.", "{}", "{:rest}", "{{", *(f"{{:{t}}}" for t in TYPES)])
texts = st.text("a-/7x.{_A%", max_size=12)


@given(st.lists(pieces, max_size=6), st.sampled_from([PATH, QUERY, URL]), texts)
@settings(max_examples=600, deadline=None)
def test_expression_agrees_with_the_definition(some, key, text):
    try:
        pattern = parse_pattern("".join(some), key)
    except BookError:
        return
    assert pattern.match(text) == pattern.match_slowly(text)


@given(st.lists(pieces, min_size=1, max_size=6), texts, st.data())
@settings(max_examples=300, deadline=None)
def test_groups_and_literals_make_up_the_text(some, text, data):
    try:
        pattern = parse_pattern("".join(some), PATH)
    except BookError:
        return
    text = data.draw(
        st.sampled_from([text, "".join(x for literal in pattern.literals for x in (literal, "7"))[:-1]])
    )
    groups = pattern.match(text)
    if groups is not None:
        whole = pattern.literals[0] + "".join(
            group + literal for group, literal in zip(groups, pattern.literals[1:], strict=True)
        )
        assert whole == text


@given(st.text())
def test_escape(text):
    if len(text) < 1000:
        assert parse_pattern(escape(text)).literal == text
        assert parse_template(escape(text)).literal == text


@pytest.mark.parametrize(
    ("template", "values", "out"),
    [
        ("/a", {}, "/a"),
        ("{t|lower}", {"t": "AbC"}, "abc"),
        ("{t|lower|tr(_,-)}x", {"t": "A_b"}, "a-bx"),
        (r"{t|tr(\,,\))}", {"t": "a,b"}, "a)b"),
        ("{t|tr(a,)}", {"t": "abab"}, "bb"),
        ("{{{t}}}", {"t": "x"}, "{x}"),
    ],
)
def test_template(template, values, out):
    assert parse_template(template).fill(lambda key: None, values) == out


def test_template_reads_keys_whose_names_have_brackets():
    (reference,) = parse_template("{query[a[]]|lower}").references
    assert str(reference.source.name) == "a[]"
    assert reference.steps == ("lower",)


@pytest.mark.parametrize(
    "template",
    [
        "{t|nope}",
        "{t|tr(a)}",
        "{t|tr(,a)}",
        "{t|lower(a)}",
        "{}",
        "{t",
        "{path[x]}",
        "{t|lower" + "|upper" * 9 + "}",
    ],
)
def test_bad_template_is_refused(template):
    with pytest.raises(BookError):
        parse_template(template)


@given(st.sampled_from(sorted(CONVERSIONS)), st.text("aA%2F41&;=+/.? é\udc80amp", max_size=20))
@settings(max_examples=800)
def test_conversions_are_idempotent_and_never_fail(name, text):
    once = CONVERSIONS[name](text)
    assert CONVERSIONS[name](once) == once


@pytest.mark.parametrize(
    ("name", "text", "out"),
    [
        ("plus", "a+b", "a%20b"),
        ("unplus", "a%20b", "a+b"),
        ("amp", "a=1&amp;b=2&amp;amp;c=3", "a=1&b=2&c=3"),
        ("amp", "amp;a=1", "a=1"),
        ("amp", "clamp;a=1", "clamp;a=1"),
        ("semi", "a=1;b=2", "a=1&b=2"),
        ("sort", "b=2;a=1", "a=1;b=2"),
        ("first", "a=1&a=2&b", "a=1&b"),
        ("last", "a=1&a=2&b", "a=2&b"),
        ("noblank", "a=&b&c=1", "c=1"),
        ("slashes", "/a//b///c", "/a/b/c"),
        ("slash", "/a", "/a/"),
        ("noslash", "/a/", "/a"),
        ("noslash", "/", "/"),
        ("dots", "/a/../b", "/b"),
        ("encode", "é\udc80", "%C3%A9%80"),
    ],
)
def test_conversion(name, text, out):
    assert CONVERSIONS[name](text) == out


def test_tr_does_not_blow_up():
    with pytest.raises(Growth):
        translate("a", "b" * 1000)("a" * 1000)
