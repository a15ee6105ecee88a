"""Draws the pictures of the learners: `python docs/pictures/draw.py`. They are plain SVG and need no network.

What they show is what the learners say of these URLs: the examples beside them on the pages are run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
CHARACTER, LINE, PAD = 8.2, 30, 10
"""Width of a character, height of a row, room around the text of a cell."""

FILL = {
    "same": "#e3e8ea",
    "differs": "#ffd9a8",
    "gone": "#f7f7f7",
    "open": "#cfe6ff",
    "rule": "#cdeccd",
    "no": "#f6cfcf",
    "": "none",
}


@dataclass
class Picture:
    """Shapes on a light card, so that it can be read on a dark page too."""

    title: str
    parts: list[str] = field(default_factory=list)
    width: float = 0
    height: float = 0

    def text(self, x: float, y: float, text: str, mono: bool = False, bold: bool = False) -> None:
        face = "ui-monospace, monospace" if mono else "system-ui, sans-serif"
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-family="{face}" font-size="13"{weight}>{escape(text)}</text>'
        )
        self._grow(x + len(text) * CHARACTER, y + 10)

    def cell(self, x: float, y: float, text: str, kind: str = "same", width: float | None = None) -> float:
        """A piece of a URL; gives where the next one begins."""
        width = width or len(text) * CHARACTER + 2 * PAD
        dash = ' stroke-dasharray="4 3"' if kind == "gone" else ""
        if kind:
            self.parts.append(
                f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{LINE - 6}" rx="4" fill="{FILL[kind]}" '
                f'stroke="#90a0a8"{dash}/>'
            )
        self.text(x + PAD, y + 17, text, mono=True)
        self._grow(x + width, y + LINE)
        return x + width + 4

    def rows(self, x: float, y: float, rows: list[list[tuple[str, str]]]) -> tuple[float, float]:
        """Cells in columns, a column as wide as its widest cell; gives the right end and the bottom."""
        columns = max(map(len, rows))
        widths = [
            max((len(row[c][0]) for row in rows if c < len(row)), default=0) * CHARACTER + 2 * PAD
            for c in range(columns)
        ]
        right = x
        for number, row in enumerate(rows):
            at = x
            for width, (text, kind) in zip(widths, row, strict=False):
                at = self.cell(at, y + number * LINE, text, kind, width)
            right = max(right, at)
        return right, y + len(rows) * LINE

    def arrow(self, x: float, y: float, to_x: float, to_y: float, label: str = "") -> None:
        self.parts.append(
            f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="#455a64" stroke-width="1.6" '
            'marker-end="url(#tip)"/>'
        )
        if label:
            self.text((x + to_x) / 2 + 8, (y + to_y) / 2 + 4, label)

    def box(self, x: float, y: float, head: str, lines: list[str], width: float, kind: str) -> float:
        """A step with what it does; gives its bottom."""
        height = 30 + 18 * len(lines)
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" fill="{FILL[kind]}" '
            'stroke="#607d8b"/>'
        )
        self.text(x + 12, y + 20, head, bold=True)
        for number, line in enumerate(lines):
            self.text(x + 12, y + 40 + 18 * number, line)
        self._grow(x + width, y + height)
        return y + height

    def _grow(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    def svg(self) -> str:
        width, height = round(self.width + 16), round(self.height + 16)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                f'height="{height}" role="img" fill="#1c262b">',
                f"<title>{escape(self.title)}</title>",
                '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
                'orient="auto"><path d="M0 0L8 4L0 8z" fill="#455a64"/></marker></defs>',
                f'<rect width="{width}" height="{height}" rx="10" fill="#fcfcfa"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


def dustbuster() -> Picture:
    """One envelope with two substrings, in three places."""
    picture = Picture("DustBuster: two substrings in the same surroundings, pages of equal size")
    picture.text(
        16, 28, "URLs that differ in one substring only: the same prefix, the same suffix", bold=True
    )
    head = [("prefix", ""), ("substring", ""), ("suffix", ""), ("size", "")]
    rows = [head]
    for number, size in ((7, 5), (8, 6), (9, 7)):
        for form in ("story?id=", "story_"):
            rows.append(
                [
                    ("^http://h.test/", "same"),
                    (form, "differs"),
                    (f"{number}$", "same"),
                    (f"{size} kB", "open"),
                ]
            )
    right, bottom = picture.rows(16, 40, rows)
    for number in range(3):
        y = 40 + LINE * (2 * number + 1)
        picture.text(right + 10, y + 32, f"one envelope, sizes meet: instance {number + 1}")
    picture.arrow(120, bottom + 4, 120, bottom + 34, "three instances: a likely rule")
    picture.cell(16, bottom + 42, "story?id=  ->  story_", "rule")
    picture.text(230, bottom + 59, "when id is the only parameter; to be tried by fetching")
    return picture


def rewrite() -> Picture:
    """Pairs become rules, rules that differ in one key become one."""
    picture = Picture("Rewrite rules: rules that differ in exactly one key are generalized")
    picture.text(16, 28, "Each pair of a cluster is a rule: the source is its context, key by key", bold=True)
    _, bottom = picture.rows(
        16,
        40,
        [
            [("path", ""), ("id", ""), ("sid", ""), ("sid becomes", "")],
            [("/show.php", "same"), ("0", "same"), ("0", "differs"), ("1", "differs")],
            [("/show.php", "same"), ("0", "same"), ("2", "differs"), ("1", "differs")],
            [("/show.php", "same"), ("1", "same"), ("7", "differs"), ("8", "differs")],
            [("…", ""), ("", ""), ("", ""), ("", "")],
        ],
    )
    picture.arrow(
        120, bottom, 120, bottom + 34, "they differ in sid alone, with more values than `fanout`: sid is open"
    )
    _, bottom = picture.rows(
        16,
        bottom + 42,
        [
            [("/show.php", "same"), ("0", "differs"), ("any", "open"), ("does not matter", "open")],
            [("/show.php", "same"), ("1", "differs"), ("any", "open"), ("does not matter", "open")],
            [("…", ""), ("", ""), ("", ""), ("", "")],
        ],
    )
    picture.arrow(120, bottom, 120, bottom + 34, "now they differ in id alone: id is open")
    picture.rows(
        16,
        bottom + 42,
        [[("/show.php", "rule"), ("any", "rule"), ("any", "rule"), ("sid does not matter", "rule")]],
    )
    return picture


def pairwise() -> Picture:
    """A pair aligned from the end; the tree of contexts."""
    picture = Picture("Pairwise rules: what turns a source into its target, and in which contexts")
    picture.text(16, 28, "Source and target of a cluster, aligned where fewest keys change", bold=True)
    right, bottom = picture.rows(
        16,
        40,
        [
            [("path[0]", ""), ("path[1]", ""), ("path[2]", ""), ("path[-1]", "")],
            [("srnr", "same"), ("about", "same"), ("art", "same"), ("index.html", "differs")],
            [("srnr", "same"), ("about", "same"), ("art", "same"), ("", "gone")],
            [("art", "same"), ("", ""), ("", ""), ("index.html", "differs")],
            [("art", "same"), ("", ""), ("", ""), ("", "gone")],
        ],
    )
    for number, label in ((1, "source"), (2, "target"), (3, "source"), (4, "target")):
        picture.text(right + 8, 57 + LINE * number, label)
    picture.arrow(
        120, bottom, 120, bottom + 34, "one transformation, `drop path[-1]`: its contexts go into a tree"
    )
    top = bottom + 44
    picture.cell(16, top, "path[-1] = index.html", "same")
    picture.cell(270, top - 0, "path[0] = srnr or art", "differs")
    picture.text(470, top + 17, "bottom up: a key whose values do not matter is left open")
    picture.arrow(120, top + LINE - 4, 120, top + LINE + 28)
    picture.cell(16, top + LINE + 36, "when path[-1] is index.html: drop path[-1]", "rule")
    picture.text(395, top + LINE + 53, "whatever the depth")
    return picture


def alignment() -> Picture:
    """A whole cluster, column by column."""
    picture = Picture("Alignment: all URLs of a cluster at once")
    picture.text(16, 28, "All URLs of a cluster, cut into the parts they have in common", bold=True)
    _, bottom = picture.rows(
        16,
        40,
        [
            [("path", ""), ("", ""), ("", ""), ("", ""), ("query", ""), ("", ""), ("", "")],
            [(t, k) for t, k in _story("", "story", "", "", "id=17")],
            [(t, k) for t, k in _story("", "story", "", "", "id=17", "sid=17a", "view=print")],
            [(t, k) for t, k in _story("", "story", "_17", "")],
            [(t, k) for t, k in _story("en/", "story", "_17", ".html")],
        ],
    )
    picture.arrow(
        120,
        bottom,
        120,
        bottom + 34,
        "the same in every cluster that was seen: proposals, voted for by clusters",
    )
    y = bottom + 42
    for text in (
        "when sid and view are there: drop both",
        "when path is /story and id is {a}: path becomes /story_{a}, drop id",
        "when path is {p}/en/story_{a}.html: path becomes {p}/story_{a}",
    ):
        picture.cell(16, y, text, "rule")
        y += LINE
    return picture


def _story(before: str, name: str, number: str, ending: str, *fields: str) -> list[tuple[str, str]]:
    pieces = [before, name, number, ending, *fields, *[""] * (3 - len(fields))]
    moved = {number, fields[0] if fields else ""} - {""}
    return [
        (piece, "gone" if not piece else "same" if piece == name else "open" if piece in moved else "differs")
        for piece in pieces
    ]


def auto() -> Picture:
    """The round of proposing, trying, narrowing, choosing."""
    picture = Picture("auto: every method proposes, one judge decides")
    left, width = 16.0, 300.0
    steps = [
        ("Labels", ["clusters of pages that show the same,", "soft pages set aside"], "same"),
        (
            "Proposals",
            ["alignment of clusters; then DustBuster,", "pairwise rules, the pattern tree"],
            "differs",
        ),
        ("Trial", ["on the whole site: which pages fall", "together, and is that right?"], "open"),
        ("Narrowing", ["where a proposal is wrong in part,", "the part that is right"], "open"),
        ("Choice", ["most merges first, under a budget", "of lost contents"], "open"),
        ("Rule book", ["ordered, proved to come to rest,", "with evidence and examples"], "rule"),
    ]
    y, tops = 16.0, []
    for head, lines, kind in steps:
        tops.append(y)
        bottom = picture.box(left, y, head, lines, width, kind)
        if head != "Rule book":
            picture.arrow(left + width / 2, bottom, left + width / 2, bottom + 24)
        y = bottom + 26
    turn = left + width + 60
    middle = [top + 33 for top in tops]
    picture.parts.append(
        f'<path d="M{left + width:g} {middle[4]:g}H{turn:g}V{middle[1]:g}H{left + width + 4:g}" fill="none" '
        'stroke="#455a64" stroke-width="1.6" marker-end="url(#tip)"/>'
    )
    picture.text(turn + 10, (middle[1] + middle[4]) / 2 - 6, "the accepted rules rewrite the site,")
    picture.text(turn + 10, (middle[1] + middle[4]) / 2 + 12, "and all starts again with what is left")
    picture.box(
        turn + 10, tops[5], "Rejected", ["with the reason and", "a pair of URLs to look at"], 220.0, "no"
    )
    picture.arrow(left + width, middle[5], turn + 6, middle[5])
    return picture


PICTURES = {
    "auto": auto,
    "dustbuster": dustbuster,
    "rewrite": rewrite,
    "pairwise": pairwise,
    "alignment": alignment,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
