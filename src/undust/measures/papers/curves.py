"""A figure as curves, to be drawn: `undust.report` puts them on a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from undust.measures.table import Cell


@dataclass(frozen=True)
class Curves:
    """Several series over the same places, which stand at equal distances; None leaves a gap.

    >>> Curves("A and B", "k", ("5", "10", "20"), {"ours": (0.5, None, 1.0)}).places
    ('5', '10', '20')
    """

    title: str
    axis: str
    places: tuple[str, ...]
    series: Mapping[str, Sequence[float | None]]

    @classmethod
    def of(cls, title: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Curves:
        """A table drawn: a curve a row, where its cells are numbers.

        >>> Curves.of("precision at k", ["k", "5", "10"], [["paper", None, ">0.8"]]).series
        {'paper': [None, 0.8]}
        """
        series = {str(name): [_number(cell) for cell in cells] for name, *cells in rows}
        return cls(title, header[0], tuple(header[1:]), series)


def _number(cell: Cell) -> float | None:
    try:
        return None if cell is None else float(str(cell).lstrip(">").replace(",", ""))
    except ValueError:
        return None
