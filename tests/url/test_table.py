"""SiteTable against its oracle: key_view and tokenize, URL by URL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from undust.url import SiteTable, cut, key_view, tokenize
from undust.url.keys import WHOLE_KEYS

from .test_laws import urls


class PlainTable:
    """The oracle: dictionaries, one URL after the other."""

    def __init__(self, urls: list[str]) -> None:
        views = [key_view(url) for url in urls]
        self.keys = {key for view in views for key in view} - WHOLE_KEYS
        self.columns: dict[str, tuple[list[int], list[str | None]]] = {}
        for key in self.keys | (WHOLE_KEYS - {"url"}):
            numbers: dict[str | None, int] = {None: 0}
            codes = [numbers.setdefault(view.get(key), len(numbers)) for view in views]
            self.columns[key] = codes, list(numbers)
        self.ids: list[int] = []
        self.offsets = [0]
        vocab: dict[str, int] = {}
        for url in urls:
            tokens = tokenize(url)[1:-1]
            self.ids += [0, *(vocab.setdefault(token, 2 + len(vocab)) for token in tokens), 1]
            self.offsets.append(len(self.ids))
        self.vocab = ["^", "$", *vocab]


def assert_same(table: SiteTable, urls: list[str]) -> None:
    plain = PlainTable(urls)
    assert table.n == len(urls) and table.urls.tolist() == urls
    assert len(table.keys) == len(set(table.keys)) and set(table.keys) == plain.keys
    for key, (codes, values) in plain.columns.items():
        column = table.column(key)
        assert (column.codes.tolist(), column.values) == (codes, values), key
        assert column.codes.dtype == np.int32
        assert table.codes(key).tolist() == codes and table.count(key) == sum(code > 0 for code in codes)
    assert (
        table.columns(table.keys).tolist()
        == [list(row) for row in zip(*(plain.columns[k][0] for k in table.keys), strict=True)]
        or not table.keys
    )
    assert table.tokens.ids.tolist() == plain.ids and table.tokens.offsets.tolist() == plain.offsets
    assert table.tokens.vocab == plain.vocab
    assert (table.tokens.ids.dtype, table.tokens.offsets.dtype) == (np.int32, np.int64)


TRICKY = [
    "",
    "/",
    "//",
    "/",
    "/a",
    "http://",
    "http:/",
    "https:/",
    "http://h",
    "http://h?",
    "http://h#",
    "http://h#?a=b",
    "HTTP://H/a",
    "http://u=p;x=1@h:80/a;b=c;d/e;f/;g=1?a",
    "a=b",
    "?a=b;c=d",
    "?a=b;c",
    "?a=b;c=d&e",
    "?=x&&y=&z",
    "?a=1&a=2&b&a=",
    "http://h/^$^",
    "http://h/?a=b=c?d=e;f=g",
    "x:;a=1",
    "http://h/a;=b;c=d",
    "#a=b;c=d",
    "http://h/;a=1;a=2/;a=3?a=4",
    "//www.Example.co.uk:8080/x",
    "http://me.github.io//",
    "www.example.com/a",
    "http://h/é/\udce9?ü=\udcff",
    "http://bücher.example/",
    "http://[::1]:8080/",
    "\x1a",
    "http\x1a//h/a",
]


@given(st.lists(urls | st.sampled_from(TRICKY), max_size=12))
@example(TRICKY)
@example(["\ud83d\ude00", "\U0001f600", "\udcc3\udca9", "é"])
def test_table_is_what_the_oracle_makes_url_by_url(urls: list[str]) -> None:
    assert_same(SiteTable.build(urls), urls)


@given(st.lists(urls, max_size=12), st.integers(1, 40))
@settings(max_examples=50)
def test_chunks_leave_no_seam(urls: list[str], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "_CHUNK", size)
        assert_same(SiteTable.build(urls), urls)


def test_many_urls_of_every_shape() -> None:
    rng = np.random.default_rng(1)
    urls = [
        f"http://{'www.' * (i % 2)}example.com/{'a/' * depth}p{i % 7}.php;s={i}?t={i % 13}&t={i % 3}&s={i}"
        for i, depth in enumerate(rng.integers(4, size=3_000))
    ]
    assert_same(SiteTable.build(urls), urls)


def test_arrow_in_any_form() -> None:
    urls = ["http://example.com/é?x=1", "http://example.com/b", ""]
    for array in (
        pa.array(urls),
        pa.array(urls, pa.large_string()),
        pa.chunked_array([urls[:1], urls[1:]]),
        pa.array(["x", *urls]).slice(1),
        pa.array(urls).dictionary_encode(),
        pa.chunked_array([], pa.string()),
    ):
        assert_same(SiteTable.build(array), urls if len(array) else [])


def test_undecodable_bytes_are_lone_surrogates() -> None:
    raw = [b"http://example.com/caf\xe9?q=\xff", b"http://example.com/caf\xc3\xa9"]
    assert_same(SiteTable.build(pa.array(raw)), [url.decode("utf-8", "surrogateescape") for url in raw])


def test_a_null_is_refused() -> None:
    with pytest.raises(ValueError, match="null"):
        SiteTable.build(pa.array(["http://example.com/", None]))


def test_unknown_key_is_absent_everywhere() -> None:
    table = SiteTable.build(["http://example.com/"])
    for key in ("query[nope]", "path[7]", "path[-7]", "matrix[x]", "port", "nonsense"):
        assert table.column(key).values == [None] and table.column(key).codes.tolist() == [0]
        assert table.codes(key).tolist() == [0] and table.count(key) == 0
    assert table.columns([]).shape == (1, 0)


def test_long_and_wide_urls() -> None:
    urls = ["/" * 5_000, "?" + "&".join(f"k{i}={i}" for i in range(3_000)), "?" + "a&" * 3_000, "x" * 100_000]
    assert_same(SiteTable.build(urls), urls)
