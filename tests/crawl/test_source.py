"""Bytes in: packed, cut off, damaged, in other encodings."""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import undust.crawl.source
from undust.crawl import read
from undust.crawl.source import Source
from undust.errors import InputError

TEXT = b"".join(b"http://example.com/%d\n" % i for i in range(5000))
PACK = {"plain": lambda data: data, "gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.compress}


def text(source: Source) -> bytes:
    return b"".join(source.blocks())


@pytest.mark.parametrize("kind", PACK)
def test_packed_files_are_unpacked_whatever_their_name(kind: str) -> None:
    assert text(Source.of(PACK[kind](TEXT), "x.txt")) == TEXT


@pytest.mark.parametrize("kind", ["gz", "bz2", "zst"])
def test_several_members_are_one_file(kind: str) -> None:
    assert text(Source.of(PACK[kind](TEXT) + PACK[kind](b"more\n"), "x")) == TEXT + b"more\n"


@pytest.mark.parametrize("kind", ["gz", "bz2", "zst"])
def test_a_cut_file_gives_what_was_there_and_says_so(kind: str, tmp_path: Path) -> None:
    noise = b"".join(b"http://example.com/%s\n" % os.urandom(9).hex().encode() for _ in range(60_000))
    path = tmp_path / "urls"
    packed = PACK[kind](noise)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    crawl = read(path)
    assert 0 < crawl.n < 60_000
    assert crawl.stats.bad <= 1  # the line at the cut
    assert len(crawl.stats.notes) == crawl.stats.cut == 1
    assert str(path) in crawl.stats.notes[0]


def test_a_damaged_gzip_file_gives_what_precedes_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "urls.gz"
    path.write_bytes(gzip.compress(TEXT) + b"\x1f\x8b" + b"rubbish" * 5)
    crawl = read(path)
    assert crawl.n == 5000
    assert "damaged" in crawl.stats.notes[0]


def test_a_cut_is_noticed_in_a_small_file_too(tmp_path: Path) -> None:
    path = tmp_path / "urls.gz"
    path.write_bytes(gzip.compress(b"http://example.com/a\n" * 99)[:-4])
    crawl = read(path)
    assert (crawl.n, len(crawl.stats.notes)) == (1, 1)


def test_zeros_behind_a_gzip_file_are_no_damage() -> None:
    notes: list[str] = []
    source = Source.of(gzip.compress(TEXT) + b"\0" * 600, "x")
    source.note = notes.append
    assert (text(source), notes) == (TEXT, [])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(encoding: str) -> None:
    assert (
        text(Source.of("http://example.com/é\n".encode(encoding), "x")).decode() == "http://example.com/é\n"
    )


def test_the_last_line_needs_no_newline_and_crlf_is_one() -> None:
    lines = list(Source.of(b"a\r\n\r\n\0\0b", "x").numbered())
    assert lines == [(1, b"a"), (3, b"b")]


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=60), st.integers(1, 9))
def test_lines_do_not_depend_on_blocks(data: bytes, block: int) -> None:
    source = Source.of(b"x" + data, "x")  # x: no packed file
    source._blocks = iter([(b"x" + data)[i : i + block] for i in range(0, len(data) + 1, block)])
    got = [(n, line) for n, line in source.numbered()]
    expected = [(n, line.strip(b"\r\0")) for n, line in enumerate((b"x" + data).split(b"\n"), 1)]
    assert got == [(n, line) for n, line in expected if line]


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undust.crawl.source, "LONGEST", 100)
    source = Source.of(b"", "x")
    source._blocks = iter([b"a\n" + b"b" * 60, b"b" * 60])
    with pytest.raises(InputError, match="x:2: a line of more than"):
        list(source.lines())


def test_a_directory_or_a_missing_file_is_no_source(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=str(path)):
            text(Source.open(path))
