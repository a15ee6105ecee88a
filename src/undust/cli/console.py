"""What a command says beside its data, on stderr: progress, notes, bad lines and the closing summary."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

if TYPE_CHECKING:
    from undust.crawl import ReadStats

SHOWN_BAD_LINES = 5


@dataclass
class Console:
    """How much the user wants to hear. There is one, as there is one stderr."""

    quiet: bool = False
    verbose: bool = False

    def note(self, text: str) -> None:
        """Something worth knowing."""
        if not self.quiet:
            tqdm.write(text, file=sys.stderr)

    def detail(self, text: str) -> None:
        """Something worth knowing with `-v`."""
        if self.verbose:
            self.note(text)

    def bad_lines(self, shown: Iterable[object], total: int) -> None:
        """The first lines that could not be used, and how many there were in all."""
        first = list(shown)[:SHOWN_BAD_LINES]
        for line in first:
            self.note(str(line))
        if total > len(first):
            self.note(f"… {total - len(first):,} more such lines (--rejects FILE keeps them all)")

    def reading(self, stats: ReadStats) -> None:
        """What there is to say of the inputs: lines that could not be used, files that are cut off."""
        self.bad_lines(stats.first_bad, stats.bad)
        for note in stats.notes:
            self.note(note)

    def summary(self, **figures: object) -> None:
        """The one line every command ends with.

        >>> Console(quiet=True).summary(read=3)
        """
        self.note(" ".join(f"{name.rstrip('_')}={value}" for name, value in figures.items()))

    def progress(self, total: float | None = None, unit: str = "", hide: bool = False) -> tqdm[Any]:
        """A progress bar; it shows only where stderr is a terminal."""
        hidden = hide or self.quiet or not sys.stderr.isatty()
        return tqdm(total=total, unit=unit, unit_scale=True, disable=hidden, leave=False)


console = Console()


def too_many_bad(bad: int, total: int, ratio: float) -> bool:
    """Whether a command that could not use some lines must say so in its exit code.

    >>> too_many_bad(5, 100, 0.05), too_many_bad(6, 100, 0.05)
    (False, True)
    """
    return bad > ratio * total


def in_part(stats: ReadStats, ratio: float) -> bool:
    """Whether an input could not be used as a whole: too many bad lines, or a file that is cut off or damaged."""
    return stats.cut > 0 or too_many_bad(stats.bad, stats.lines, ratio)


max_bad_ratio = click.option(
    "--max-bad-ratio",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Exit with 3 when more of the lines than this could not be used.",
)
rejects = click.option(
    "--rejects", type=click.Path(dir_okay=False), help="A file that gets the unusable lines."
)
url_field = click.option(
    "--url-field",
    metavar="NAME",
    help="The field or column that holds the URL, where it has an unusual name.",
)
rules = click.option(
    "-r",
    "--rules",
    "rules_path",
    required=True,
    type=click.Path(),
    metavar="RULES",
    help="A rule book (JSON).",
)
level = click.option(
    "--level",
    type=click.Choice(["validated", "probable", "likely"]),
    default="probable",
    show_default=True,
    help="The weakest status used: validated by fetching, judged on content, or from URLs and sizes alone.",
)
aliases = click.option(
    "--aliases",
    "aliases_path",
    type=click.Path(),
    metavar="FILE",
    help="A table of pages seen (undust learn --aliases), asked before the rules.",
)
list_ = click.option(
    "--list",
    "list_path",
    type=click.Path(),
    metavar="LIST",
    help="All URLs there are of the sites, one a line or as Parquet; it may be INPUT itself. Guarded rules ask it, and "
    "are skipped without it.",
)
