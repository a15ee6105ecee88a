"""Files that are never half there, compressed by name and decompressed by content: gzip, zstd, bzip2."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from undust.errors import InputError, UndustError


@contextmanager
def replacing(path: str | os.PathLike[str], compress: bool = True) -> Iterator[BinaryIO]:
    """A file written beside `path` and renamed at the end: whoever looks sees the old content or the new.

    The suffix chooses the compression, unless there is to be none. Devices and pipes are written directly; a
    symbolic link stays one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/out.gz") as file:
    ...         _ = file.write(b"once")
    ...     with reading(f"{folder}/out.gz") as back:
    ...         list(back), os.listdir(folder)
    ([b'once'], ['out.gz'])
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with target.open("wb") as device:
                yield cast(BinaryIO, device)
            return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise UndustError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as plain:
            with ExitStack() as stack:
                yield _packed(cast(BinaryIO, plain), target.suffix if compress else "", stack)
            plain.flush()
            os.fsync(plain.fileno())
        os.chmod(name, target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _packed(file: BinaryIO, suffix: str, stack: ExitStack) -> BinaryIO:
    match suffix:
        case ".gz":  # no time stamp: equal content, equal bytes
            return cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0)))
        case ".bz2":
            return cast(BinaryIO, stack.enter_context(bz2.BZ2File(file, "wb")))
        case ".zst":
            packed = zstandard.ZstdCompressor().stream_writer(file, closefd=False)
            return cast(BinaryIO, stack.enter_context(packed))
    return file


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


BLOCK = 1 << 20
"""Bytes asked for at once. A pipe or a terminal hands over less, and is not waited for."""


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[Iterator[bytes]]:
    """The bytes of a file, or of stdin (`-`), block by block as they arrive, decompressed.

    What the first bytes say decides, as names lie.

    >>> with reading("missing"):
    ...     pass
    Traceback (most recent call last):
    undust.errors.InputError: missing: No such file or directory
    """
    with ExitStack() as stack:
        if path == "-":
            yield _blocks(cast(io.BufferedReader, sys.stdin.buffer), "<stdin>")
            return
        try:
            file = stack.enter_context(open(path, "rb"))
        except OSError as error:
            raise InputError(str(path), None, error.strerror or "cannot be opened") from None
        yield _blocks(file, str(path))


def _blocks(file: io.BufferedReader, name: str) -> Iterator[bytes]:
    try:
        first = file.peek(4)
        if first.startswith(b"\x28\xb5\x2f\xfd"):
            yield from _unzstd(file)
            return
        stream: io.BufferedReader | gzip.GzipFile | bz2.BZ2File = file
        if first.startswith(b"\x1f\x8b"):
            stream = gzip.GzipFile(fileobj=file)
        elif first.startswith(b"BZh"):
            stream = bz2.BZ2File(file)
        while block := stream.read1(BLOCK):
            yield block
    except (EOFError, zlib.error, zstandard.ZstdError, OSError) as error:
        why = getattr(error, "strerror", None) or f"damaged or cut off: {error}"
        raise InputError(name, None, why, "what precedes it has been read") from None


ZSTD_STEP = 1 << 10
"""Bytes of zstd that are unpacked at once: four of them may stand for 128 kB."""


def _unzstd(file: io.BufferedReader) -> Iterator[bytes]:
    """Frame after frame. Unlike zstandard's own reader it notices when the end is missing."""
    frame = None
    while packed := file.read1(ZSTD_STEP):
        while packed:
            frame = frame or zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            yield frame.decompress(packed)
            packed, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("the last frame has no end")
