"""Lines of text as they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from undust.errors import InputError

LONGEST = 1 << 28
"""A longer line is no line of text; memory is bounded by it."""


def lines(blocks: Iterable[bytes], name: str = "<stdin>") -> Iterator[list[bytes]]:
    """Lines without their newlines, as many as have arrived.

    >>> list(lines([b"one\\ntw", b"o"]))
    [[b'one'], [b'two']]
    """
    rest: list[bytes] = []
    size = 0
    for block in blocks:
        cut = block.rfind(b"\n")
        if cut >= 0:
            yield b"".join([*rest, block[:cut]]).split(b"\n")
            rest, size = [], 0
        rest.append(block[cut + 1 :])
        size += len(rest[-1])
        if size > LONGEST:
            raise InputError(name, None, f"a line of more than {LONGEST >> 20} MB", "no text file?")
    if last := b"".join(rest):
        yield [last]
