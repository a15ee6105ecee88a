"""Files are the old or the new, never something between; and what is cut off is noticed."""

from __future__ import annotations

import bz2
import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from undust.errors import InputError, UndustError
from undust.files import reading, replacing

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def read(path: Path) -> bytes:
    with reading(path) as blocks:
        return b"".join(blocks)


@pytest.mark.parametrize("suffix", ["", *PACK])
@given(parts=st.lists(st.binary(max_size=300), max_size=5))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, parts: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / f"file{suffix}"
    with replacing(path) as file:
        for part in parts:
            file.write(part)
    text = b"".join(parts)
    if suffix or not text.startswith((b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd")):
        assert read(path) == text


@pytest.mark.parametrize("suffix", PACK)
def test_members_and_frames_one_after_the_other(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "two"
    path.write_bytes(PACK[suffix](b"one\n") + PACK[suffix](b"two\n"))
    assert read(path) == b"one\ntwo\n"


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
def test_a_file_that_is_cut_off_is_an_error_with_its_name(tmp_path: Path, suffix: str, kept: float) -> None:
    whole = PACK[suffix](os.urandom(50_000))
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(InputError, match=r"cut\..*cut off"):
        read(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.gz"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.gz"]


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with replacing(tmp_path / name) as file:
            file.write(b"the same")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_concurrent_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def write(letter: bytes) -> None:
        for _ in range(20):
            with replacing(path) as file:
                for _ in range(50):
                    file.write(letter * 100)

    writers = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = path.read_bytes()
    assert len(found) == 5000
    assert len(set(found)) == 1
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UndustError, match="none/out: cannot be written"),
        replacing(tmp_path / "none" / "out"),
    ):
        pass
