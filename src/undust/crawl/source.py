"""Bytes in: a file, standard input or a buffer as decompressed blocks that end at line ends."""

from __future__ import annotations

import bz2
import codecs
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from undust.errors import InputError

BLOCK = 1 << 23
"""Bytes per decompressed block: some 40,000 log lines, enough to make the cost of a query on them small."""
LONGEST = 1 << 28
"""A longer line is no line of text."""
HEAD = 1 << 16
"""Bytes looked at to recognise the format."""

ZSTD_STEP = 1 << 10
"""Bytes of zstd that are unpacked at once: to 32 MB at most."""

Note = Callable[[str], None]


def _inflate(file: BinaryIO, note: Note) -> Iterator[bytes]:
    """All members of a gzip file; what follows damage is lost, what precedes it is kept."""
    data, members = file.read(1 << 18), 0
    while data:
        unzip = zlib.decompressobj(31)
        while not unzip.eof:
            if not data and not (data := file.read(1 << 18)):
                note("the gzip file is truncated; what was there has been read")
                return
            try:
                out = unzip.decompress(data, BLOCK)
            except zlib.error:
                # Padding after the last member is common on tapes and in archives; anything else is damage.
                if not members or data.strip(b"\0"):
                    note("the gzip file is damaged; what precedes the damage has been read")
                return
            data = unzip.unconsumed_tail
            if out:
                yield out
        members += 1
        data = unzip.unused_data or file.read(1 << 18)


def _bunzip(file: BinaryIO, note: Note) -> Iterator[bytes]:
    data = file.read(1 << 18)
    while data:
        unzip = bz2.BZ2Decompressor()
        while not unzip.eof:
            if unzip.needs_input and not data and not (data := file.read(1 << 18)):
                note("the bzip2 file is truncated; what was there has been read")
                return
            try:
                out = unzip.decompress(data, BLOCK)
            except (OSError, ValueError):
                note("the bzip2 file is damaged; what precedes the damage has been read")
                return
            data = b""
            if out:
                yield out
        data = unzip.unused_data or file.read(1 << 18)


def _unzstd(file: BinaryIO, note: Note) -> Iterator[bytes]:
    # Its output cannot be bounded as that of the others can: little input at a time instead, as four bytes may
    # stand for 128 kB.
    data = file.read(ZSTD_STEP)
    while data:
        unzip = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        while not unzip.eof:
            if not data and not (data := file.read(ZSTD_STEP)):
                note("the zstd file is truncated; what was there has been read")
                return
            try:
                out = unzip.decompress(data)
            except zstandard.ZstdError:
                note("the zstd file is damaged; what precedes the damage has been read")
                return
            data = b""
            if out:
                yield out
        data = unzip.unused_data or file.read(ZSTD_STEP)


def _plain(file: BinaryIO, note: Note) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


PACKED = {b"\x1f\x8b": _inflate, b"BZh": _bunzip, b"\x28\xb5\x2f\xfd": _unzstd}
"""Decompressors by the first bytes of a file; names lie too often."""


def _transcode(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")


class Source:
    """One input as bytes, decompressed, without byte order mark; readable once, with a look ahead.

    >>> source = Source.of(b"a\\nb", "test")
    >>> source.head()
    b'a\\nb'
    >>> list(source.lines())
    [(1, b'a\\n'), (2, b'b\\n')]
    """

    def __init__(self, name: str, file: io.BufferedReader, path: Path | None = None) -> None:
        self.name, self.path = name, path
        self.note: Note = lambda what: None
        self._file = file
        self._blocks = self._unpack()
        self._ahead: list[bytes] = []

    @classmethod
    def of(cls, data: bytes, name: str) -> Source:
        """A source from bytes in memory."""
        return cls(name, io.BufferedReader(io.BytesIO(data)))

    @classmethod
    def open(cls, path: str | Path) -> Source:
        """A source from a path; `-` is standard input.

        >>> Source.open("missing.log")
        Traceback (most recent call last):
        ...
        undust.errors.InputError: missing.log: no such file
        """
        if str(path) == "-":
            return cls("<stdin>", cast(io.BufferedReader, sys.stdin.buffer))
        try:
            return cls(str(path), Path(path).open("rb"), Path(path))
        except FileNotFoundError:
            raise InputError(str(path), None, "no such file") from None
        except OSError as error:
            raise InputError(str(path), None, f"cannot be opened: {error.strerror}") from None

    def _unpack(self) -> Iterator[bytes]:
        file = self._file
        try:
            first = file.peek(4)
            unpack = next((f for magic, f in PACKED.items() if first.startswith(magic)), _plain)
            blocks = unpack(file, lambda what: self.note(what))
            start = next(blocks, b"")
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                yield from _transcode(_chain(start, blocks), "utf-16")
            else:
                yield start.removeprefix(codecs.BOM_UTF8)
                yield from blocks
        except OSError as error:
            raise InputError(self.name, None, f"cannot be read: {error.strerror or error}") from None

    def head(self) -> bytes:
        """The first bytes, without consuming them."""
        while sum(map(len, self._ahead)) < HEAD and (block := next(self._blocks, None)) is not None:
            self._ahead.append(block)
        return b"".join(self._ahead)[:HEAD]

    def blocks(self) -> Iterator[bytes]:
        """All bytes, block by block."""
        while self._ahead:
            yield self._ahead.pop(0)
        yield from self._blocks

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of whole lines, each with the number of its first line; the last line gets its newline."""
        rest: list[bytes] = []
        number = 1
        for block in self.blocks():
            cut = block.rfind(b"\n") + 1
            if cut:
                whole = b"".join((*rest, block[:cut]))
                yield number, whole
                number += whole.count(b"\n")
                rest = [block[cut:]]
            else:
                rest.append(block)
                if sum(map(len, rest)) > LONGEST:
                    raise InputError(
                        self.name, number, f"a line of more than {LONGEST >> 20} MB", "no text file?"
                    )
        if last := b"".join(rest):
            yield number, last + b"\n"

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Single lines with their numbers, without line ends; empty lines are left out."""
        for number, block in self.lines():
            for i, line in enumerate(block.split(b"\n"), number):
                # A log that was truncated while open starts with a hole: a run of NULs before the next line.
                if line := line.strip(b"\r\0"):
                    yield i, line

    def close(self) -> None:
        """Let go of the file."""
        if self.path is not None:
            self._file.close()


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
