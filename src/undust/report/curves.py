"""The papers' tables and figures on one page: lines as they are printed, figures drawn as in the report."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from math import isfinite
from typing import Any

from undust.measures.papers import Curves
from undust.report.page import page
from undust.report.shown import shown


def curves_page(parts: Iterable[str | Curves]) -> str:
    """Lines and curves as one HTML page.

    >>> html = curves_page(["a table", Curves("precision", "k", ("5", "10"), {"ours": (0.5, 1.0)})])
    >>> '"title":"precision"' in html, "src=" in html.partition("<script>")[0]
    (True, False)
    """
    shown_parts: list[dict[str, Any]] = []
    for texts, some in groupby(parts, lambda part: isinstance(part, str)):
        if not texts:
            shown_parts += [_figure(part) for part in some if isinstance(part, Curves)]
        elif lines := "\n".join(str(part) for part in some).strip("\n"):
            shown_parts.append({"text": "\n".join(shown(line, 400) for line in lines.split("\n"))})
    return page("undust bench papers", shown_parts, ("charts.js", "curves.js"))


def _figure(part: Curves) -> dict[str, Any]:
    # JSON has no word for what is no number.
    series = [
        {"name": shown(name, 60), "values": [v if v is not None and isfinite(v) else None for v in line]}
        for name, line in part.series.items()
    ]
    return {
        "title": shown(part.title),
        "axis": shown(part.axis),
        "places": [shown(place, 40) for place in part.places],
        "series": series,
    }
