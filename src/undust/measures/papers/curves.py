"""A figure as curves: drawn as SVG, on a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from undust.measures.table import Cell

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 300, 52, 34, 12
COLOURS = ("#1b6ca8", "#c4512d", "#3b8a4a", "#7a4fa3", "#a07c1c", "#4a4a4a", "#b0437e", "#2f8f8f")


@dataclass(frozen=True)
class Curves:
    """Several series over the same places, which stand at equal distances; None leaves a gap.

    >>> Curves("A & B", "k", ("5", "10"), {"ours": (0.5, 1.0)}).svg().count("<polyline")
    1
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

    def svg(self) -> str:
        """The drawing, titles for the pointer included."""
        highest = max((y for line in self.series.values() for y in line if y is not None), default=0.0) or 1.0
        parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">']
        for tick in range(5):
            y = self._y(highest * tick / 4, highest)
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>')
            parts.append(
                f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{highest * tick / 4:.3g}</text>'
            )
        for i, place in enumerate(self.places):
            parts.append(
                f'<text x="{self._x(i)}" y="{HEIGHT - 16}" text-anchor="middle">{escape(place)}</text>'
            )
        parts.append(f'<text x="{WIDTH}" y="{HEIGHT - 2}" text-anchor="end">{escape(self.axis)}</text>')
        for (name, line), colour in zip(self.series.items(), COLOURS * (1 + len(self.series)), strict=False):
            points = [(self._x(i), self._y(y, highest), y) for i, y in enumerate(line) if y is not None]
            path = " ".join(f"{x},{y}" for x, y, _ in points)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [
                f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"><title>{escape(name)}: {v:.4g}</title></circle>'
                for x, y, v in points
            ]
        return "".join(parts) + "</svg>"

    def html(self) -> str:
        """The drawing under its title, with a legend."""
        legend = " ".join(
            f'<span style="color:{colour}">&#9679; {escape(name)}</span>'
            for name, colour in zip(self.series, COLOURS * (1 + len(self.series)), strict=False)
        )
        return f"<figure><figcaption>{escape(self.title)}</figcaption>{self.svg()}<p>{legend}</p></figure>"

    def _x(self, i: int) -> float:
        return round(LEFT + 12 + i * (WIDTH - LEFT - 40) / max(len(self.places) - 1, 1), 1)

    def _y(self, value: float, highest: float) -> float:
        return round(HEIGHT - BOTTOM - value / highest * (HEIGHT - BOTTOM - TOP), 1)


def _number(cell: Cell) -> float | None:
    try:
        return None if cell is None else float(str(cell).lstrip(">").replace(",", ""))
    except ValueError:
        return None


def page(parts: Iterable[str | Curves]) -> Iterator[str]:
    """Lines and curves as one HTML page."""
    yield (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>undust bench papers</title><style>'
        "body{font:15px/1.4 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em;color:#222}"
        "pre{font-size:12px;overflow-x:auto}figure{margin:1em 0;max-width:44em}svg text{font-size:11px;fill:#555}"
        "figcaption{font-weight:600}</style><h1>The papers' tables and figures, and ours</h1>"
    )
    lines: list[str] = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
            continue
        yield _text(lines)
        yield part.html()
        lines = []
    yield _text(lines)


def _text(lines: list[str]) -> str:
    return f"<pre>{escape(chr(10).join(lines).strip())}</pre>" if any(lines) else ""
