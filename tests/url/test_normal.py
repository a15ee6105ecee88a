"""The normal form, case by case."""

from __future__ import annotations

import pytest

from undust.url import normal, remove_dot_segments

CHANGED = [
    ("HTTP://Example.COM/A", "http://example.com/A"),
    ("http://example.com:80/", "http://example.com/"),
    ("https://example.com:443", "https://example.com/"),
    ("ftp://example.com:21/a", "ftp://example.com/a"),
    ("http://example.com:/a", "http://example.com/a"),
    ("http://Me:Pw@Example.com/", "http://Me:Pw@example.com/"),
    ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
    ("http://example.com?q", "http://example.com/?q"),
    ("http://example.com#f", "http://example.com/#f"),
    ("http://example.com/%7Euser", "http://example.com/~user"),
    ("http://example.com/a%2fb%3d", "http://example.com/a%2Fb%3D"),
    ("http://example.com/?a=%7e&b=%c3%a9", "http://example.com/?a=~&b=%C3%A9"),
    ("http://example.com/a/./b", "http://example.com/a/b"),
    ("http://example.com/a/../b", "http://example.com/b"),
    ("http://example.com/a/%2E%2e/b", "http://example.com/b"),
    ("http://example.com/..", "http://example.com/"),
    ("http://example.com/a/.", "http://example.com/a/"),
    ("http://example.com/a/..//b", "http://example.com//b"),
    ("http://ex%41mple.com/", "http://example.com/"),
    ("http://B\u00dcCHER.example/", "http://b\u00dccher.example/"),
]

KEPT = [
    "",
    "/path/./only",
    "www.Example.com/%7E",
    "//Example.com/a/../b",
    "mailto:Me@Example.com",
    "gopher://Example.com:70/",
    "http:/Example.com/../",
    "http://",
    "http:///A/../b",
    "http://:80/",
    "http://example.com:8080/",
    "http://example.com:443/",
    "http://example.com/A//b/",
    "http://example.com/?b=2&a=1&&c=&d",
    "http://example.com/index.html",
    "http://example.com/a b+c%20d",
    "http://example.com/%%37E",
    "http://example.com/100%",
    "http://example.com/%zz?%",
    "http://example.com/.../.a/b.",
    "http://example.com/?u=http://x/../y",
    "http://example.com/#%7e/../A",
    "http://example.com/%25%37%65".replace("%37%65", "7e"),
    "http://example.com/a;B=..;c",
    "http://example.com/\udce9",
]


@pytest.mark.parametrize(("url", "expected"), CHANGED)
def test_what_rfc_3986_calls_equivalent_is_made_equal(url: str, expected: str) -> None:
    assert normal(url) == expected


@pytest.mark.parametrize("url", KEPT)
def test_what_a_server_may_tell_apart_is_kept(url: str) -> None:
    assert normal(url) == url


def test_rfc_3986_5_2_4_examples() -> None:
    assert remove_dot_segments("/a/b/c/./../../g") == "/a/g"
    # 5.4: the base is /b/c/d;p, references merged
    for merged, expected in [
        ("/b/c/./g", "/b/c/g"),
        ("/b/c/g/", "/b/c/g/"),
        ("/b/c/.", "/b/c/"),
        ("/b/c/./", "/b/c/"),
        ("/b/c/..", "/b/"),
        ("/b/c/../", "/b/"),
        ("/b/c/../g", "/b/g"),
        ("/b/c/../..", "/"),
        ("/b/c/../../g", "/g"),
        ("/b/c/../../../g", "/g"),
        ("/b/c/g.", "/b/c/g."),
        ("/b/c/..g", "/b/c/..g"),
        ("/b/c/./g/.", "/b/c/g/"),
        ("/b/c/g;x=1/../y", "/b/c/y"),
    ]:
        assert remove_dot_segments(merged) == expected
