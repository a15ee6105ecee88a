"""Odd URLs, taken apart one by one."""

from __future__ import annotations

import time

import pytest

from undust.url import (
    Parts,
    join_query,
    key_view,
    normal,
    parse,
    split_authority,
    split_query,
    split_segment,
    tokenize,
    unparse,
)

ODD = [
    ("", Parts(None, None, "", None, None)),
    ("http://h", Parts("http", "h", "", None, None)),
    ("http://h?", Parts("http", "h", "", "", None)),
    ("http://h/#", Parts("http", "h", "/", None, "")),
    ("//h/a", Parts(None, "h", "/a", None, None)),
    ("/a:b//c", Parts(None, None, "/a:b//c", None, None)),
    ("www.example.com/a", Parts(None, None, "www.example.com/a", None, None)),
    ("mailto:me@example.com", Parts("mailto", None, "me@example.com", None, None)),
    ("http://u:p@[::1]:80/", Parts("http", "u:p@[::1]:80", "/", None, None)),
    ("http://h/a#b?c", Parts("http", "h", "/a", None, "b?c")),
    ("http://h/a?b?c", Parts("http", "h", "/a", "b?c", None)),
    (" http://h/ ", Parts(None, None, " http://h/ ", None, None)),
    ("1http://h/", Parts(None, None, "1http://h/", None, None)),
    ("http://h\\a/b c\n", Parts("http", "h\\a", "/b c\n", None, None)),
    (b"http://h/caf\xe9", Parts("http", "h", "/caf\udce9", None, None)),
]


@pytest.mark.parametrize(("url", "parts"), ODD)
def test_parse(url: str | bytes, parts: Parts) -> None:
    assert parse(url) == parts
    whole = unparse(parts)
    assert (whole.encode("utf-8", "surrogateescape") if isinstance(url, bytes) else whole) == url


AUTHORITIES = [
    ("", (None, "", None)),
    ("h:80", (None, "h", "80")),
    ("h:", (None, "h", "")),
    ("h:8x", (None, "h:8x", None)),
    ("h:\u0662", (None, "h:\u0662", None)),
    ("a@b@h:1", ("a@b", "h", "1")),
    ("@h", ("", "h", None)),
    ("[::1]", (None, "[::1]", None)),
    ("[::1]:", (None, "[::1]", "")),
    ("::1", (None, "::1", None)),
    ("[fe80::1%25eth0]:8", (None, "[fe80::1%25eth0]", "8")),
]


@pytest.mark.parametrize(("authority", "expected"), AUTHORITIES)
def test_authority(authority: str, expected: tuple[str | None, str, str | None]) -> None:
    assert split_authority(authority) == expected


QUERIES = [
    ("", [""]),
    ("a=1&b=2", ["a=1", "b=2"]),
    ("&a&&", ["", "a", "", ""]),
    ("C=N;O=D", ["C=N", "O=D"]),
    ("C=N;O=D&x", ["C=N;O=D", "x"]),  # & rules
    ("a;b;c=1", ["a;b;c=1"]),  # one name=value is not enough
    ("a=1;b;c=1", ["a=1", "b", "c=1"]),
    ("=1;=2", ["=1;=2"]),  # no names
    ("a=1&amp;b=2", ["a=1", "amp;b=2"]),
]


@pytest.mark.parametrize(("query", "fields"), QUERIES)
def test_query_fields(query: str, fields: list[str]) -> None:
    assert split_query(query)[0] == fields
    assert join_query(*split_query(query)) == query


SEGMENTS = [
    ("a;jsessionid=1", ("a", ["jsessionid=1"])),
    (";s=1", ("", ["s=1"])),
    ("a;b", ("a;b", [])),
    ("a;=b", ("a;=b", [])),
    ("a;b;c=1;d;", ("a;b", ["c=1", "d", ""])),
    ("a=1;b", ("a=1;b", [])),
]


@pytest.mark.parametrize(("segment", "expected"), SEGMENTS)
def test_path_parameters(segment: str, expected: tuple[str, list[str]]) -> None:
    assert split_segment(segment) == expected


@pytest.mark.parametrize(
    "piece", ["a", "/", "/..", "/./", "%7e", "%", "%4", "&a=1", ";a=1", ":", "@", "#", "\udcff"]
)
def test_a_100_kb_url_takes_linear_time(piece: str) -> None:
    url = "http://h/x?y;z".replace("x", piece * (100_000 // len(piece))) + piece * 1_000
    start = time.process_time()
    assert unparse(parse(url)) == url
    assert normal(normal(url)) == normal(url)
    assert len(tokenize(url)) > 2 and key_view(url)["scheme"] == "http"
    assert time.process_time() - start < 2.0  # a quadratic step would take minutes
