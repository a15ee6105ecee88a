"""Laws of the URL model, over arbitrary text and bytes."""

from __future__ import annotations

import itertools
import re

from hypothesis import example, given
from hypothesis import strategies as st

from undust.url import (
    common_type,
    join_authority,
    join_query,
    key_view,
    matches_type,
    normal,
    normal_escapes,
    parse,
    split_authority,
    split_key,
    split_path,
    split_query,
    split_segment,
    tokenize,
    unparse,
    value_type,
)

anything = st.text(st.characters(), max_size=60) | st.text("ab1:/?#&;=@[]%.7eE\\ \udcff", max_size=40)


SCHEMES = ["http://", "https://", "HTTP://", "ftp://", "//", "mailto:", "", "http:/", "x://"]
HOSTS = ["example.com", "WWW.Example.co.uk", "u:p@h", "[::1]", "bücher.example", "", "1.2.3.4"]
HOSTS += ["h%41%2f%c3", "a..b.", "%%41"]
PORTS = ["", "", "", ":", ":80", ":443", ":8080", ":x"]
PIECES = [*"/.;=&?#%+ aZ1é", "..", "%2e", "%2E", "%7e", "%2f", "%%37", "%4", "//", "/./", "a=1", "b"]
PIECES += ["x;y=1", "\udce9", "&amp;", ";jsessionid=1F", "%zz", ";a=b;c=d"]


@st.composite
def near_urls(draw: st.DrawFn) -> str:
    """Strings that look like URLs, odd spots included."""
    scheme = draw(st.sampled_from(SCHEMES))
    host = draw(st.sampled_from(HOSTS))
    port = draw(st.sampled_from(PORTS))
    pieces = st.sampled_from(PIECES)
    return scheme + host + port + "".join(draw(st.lists(pieces, max_size=20)))


urls = near_urls() | anything


@given(urls)
def test_unparse_inverts_parse(url: str) -> None:
    assert unparse(parse(url)) == url


@given(st.binary(max_size=60) | urls.filter(lambda u: u.isascii()).map(str.encode))
def test_bytes_in_are_bytes_out(raw: bytes) -> None:
    assert unparse(parse(raw)).encode("utf-8", "surrogateescape") == raw


@given(urls)
def test_parse_agrees_with_the_regex_of_rfc_3986_appendix_b(url: str) -> None:
    match = re.fullmatch(
        r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", url, re.DOTALL
    )
    assert match is not None
    assert parse(url) == match.groups()


@given(urls)
def test_components_can_be_split_and_joined(text: str) -> None:
    assert join_authority(*split_authority(text)) == text
    fields, separators = split_query(text)
    assert join_query(fields, separators) == text and len(separators) == len(fields) - 1
    assert "/".join(split_path("/" + text)) == text
    name, parameters = split_segment(text)
    assert ";".join([name, *parameters]) == text


@given(urls)
@example("http://h/%%37E%%4%31")
def test_normal_is_idempotent(url: str) -> None:
    assert normal(normal(url)) == normal(url)


def _decoded(text: str) -> str:
    """Oracle: every escape of an unreserved character spelled out, all others in upper case, one by one."""
    if "%" not in text:
        return text
    out, i = "", 0
    while i < len(text):
        escape = re.compile(r"%([0-9A-Fa-f]{2})").match(text, i)
        if escape is None:
            out, i = out + text[i], i + 1
            continue
        char = chr(int(escape[1], 16))
        out += char if re.fullmatch(r"[A-Za-z0-9._~\-]", char) else escape[0].upper()
        i += 3
    return out


@given(urls)
def test_normal_changes_nothing_but_what_it_may(url: str) -> None:
    assert_same_meaning(url)


def assert_same_meaning(url: str) -> None:
    """Part by part, `normal(url)` is `url` but for what RFC 3986 lets nobody tell apart."""
    before, after = parse(url), parse(normal(url))
    if before.scheme is None or before.scheme.lower() not in ("http", "https", "ftp") or not before.authority:
        assert before == after
        return
    assert before.authority is not None and after.authority is not None
    user, host, port = split_authority(before.authority)
    if not host:
        assert before == after
        return
    assert after.scheme == before.scheme.lower()
    assert split_authority(after.authority)[0] == user
    ascii_lower = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
    assert _decoded(split_authority(after.authority)[1]).translate(ascii_lower) == _decoded(host).translate(
        ascii_lower
    )
    defaults = {"http": "80", "https": "443", "ftp": "21"}
    assert split_authority(after.authority)[2] == (None if port in ("", defaults[after.scheme]) else port)
    if before.query is None:
        assert after.query is None
    else:
        assert after.query is not None and _decoded(after.query) == _decoded(before.query)
    assert after.fragment == before.fragment
    kept = [s for s in _decoded(before.path).split("/") if s not in (".", "..")]
    if not re.search(r"(^|/)\.\.?(/|$)", _decoded(before.path)):
        assert _decoded(after.path) == _decoded(before.path or "/")
    assert set(_decoded(after.path).split("/")) <= {*kept, ""}


@given(urls)
def test_normal_never_decodes_a_separator(url: str) -> None:
    for separator in "/?#&;=":
        before, after = parse(url), parse(normal(url))
        assert (after.query or "").count(separator) == (before.query or "").count(separator)
    assert normal_escapes("%2f%3F%23%26%3b%3d%25%20%2B") == "%2F%3F%23%26%3B%3D%25%20%2B"


@given(urls)
def test_tokens_are_the_url_cut(url: str) -> None:
    start, *tokens, end = tokenize(url)
    assert (start, end) == ("^", "$") and "".join(tokens) == url
    for left, right in itertools.pairwise(tokens):
        assert not (left[-1].isalnum() and right[0].isalnum())


@given(urls)
def test_key_view_is_a_view_of_the_parts(url: str) -> None:
    view, parts = key_view(url), parse(url)
    assert view["path"] == parts.path and view.get("query") == parts.query
    assert view.get("fragment") == parts.fragment and ("host" in view) == (parts.authority is not None)
    if "host" in view and "host[1]" in view:
        labels = [view[f"host[{i}]"] for i in range(sum(k.startswith("host[") for k in view))]
        assert ".".join(reversed(labels)) == view["host"]
    depth = len(split_path(parts.path))
    assert all(view[f"path[{i}]"] == view[f"path[{i - depth}]"] for i in range(depth))
    fields = [f for f in split_query(parts.query or "")[0] if f]
    assert sum(key.startswith("query[") for key in view) == len(fields)
    for key, value in view.items():
        kind, position, name, _ = split_key(key)
        assert value in url or kind in ("scheme", "host"), (position, name)


@given(st.lists(anything, min_size=1, max_size=5))
def test_types_form_a_ladder(values: list[str]) -> None:
    assert all(matches_type(value_type(value), value) for value in values)
    shared = common_type(values)
    assert all(matches_type(shared, value) for value in values)
    assert common_type(values[:1]) == value_type(values[0])
