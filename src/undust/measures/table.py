"""Tables as aligned text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Cell = str | int | float | None


def table(
    header: Sequence[str], rows: Iterable[Sequence[Cell]], *, words_last: bool = False
) -> Iterator[str]:
    """Lines of a table: the first column to the left, the others to the right, a last one of words to the left.

    >>> print("\\n".join(table(["site", "URLs", "share"], [["a", 1200, 0.5], ["b.example", None, "-"]])))
    site        URLs  share
    a          1,200    0.5
    b.example             -
    """
    lines = [list(header), *([shown(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        first, *others = (
            cell.rjust(width) if 0 < column < len(widths) - words_last else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join([first, *others]).rstrip()


def shown(cell: Cell) -> str:
    """A cell as text: thousands apart, floats to four places at most.

    >>> shown(1234567), shown(0.123456), shown(None)
    ('1,234,567', '0.1235', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.4f}".rstrip("0").rstrip(".")
    return f"{cell:,}" if isinstance(cell, int) else cell


def percent(share: float, places: int = 1) -> str:
    """A share in per cent.

    >>> percent(0.12345)
    '12.3'
    """
    return f"{100 * share:.{places}f}"
