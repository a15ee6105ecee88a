"""Labelled data to measure on: a table of pages with what each URL shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from undust.crawl import read
from undust.errors import InputError
from undust.likeness import sketch_kind, sketcher
from undust.measures.truth import Known, Truth, known

PAGES = (".pages.jsonl.gz", ".pages.jsonl", ".pages.parquet", ".pages.csv")


@dataclass(frozen=True)
class Case:
    """Pages and their truth; without a truth the pages' own clusters or evidence stand in for it."""

    name: str
    pages: pa.Table
    given: Truth | None = None

    @cached_property
    def known(self) -> Known:
        return known(self.pages, self.given)

    @property
    def truth(self) -> Truth:
        """What is known of the live URLs."""
        return self.known.truth


def cases(paths: Iterable[str], host: str | None = None) -> Iterator[Case]:
    """Labelled data from files, or from directories of such.

    A file of pages `x.pages.jsonl.gz` goes with `x.truth.tsv` beside it, `pages.jsonl.gz` with `truth.tsv`.
    In a directory only what looks like that is taken.
    """
    for path in map(Path, paths):
        files = sorted(f for f in path.iterdir() if _is_pages(f)) if path.is_dir() else [path]
        if not files:
            raise InputError(
                str(path), None, "no pages here", "expected: NAME.pages.jsonl.gz and NAME.truth.tsv"
            )
        for file in files:
            truth = truth_beside(file)
            pages = read(file, host=host, sketcher=sketcher, sketch_kind=sketch_kind()).pages
            yield Case(name_of(file), pages, Truth.load(truth) if truth else None)


def name_of(file: Path) -> str:
    """What a file of pages is called in tables.

    >>> name_of(Path("data/wiki.pages.jsonl.gz")), name_of(Path("out/pages.jsonl.gz")), name_of(Path("a.log"))
    ('wiki', 'out', 'a.log')
    """
    if file.name.startswith("pages."):
        return file.absolute().parent.name
    return next((file.name.removesuffix(end) for end in PAGES if file.name.endswith(end)), file.name)


def truth_beside(file: Path) -> Path | None:
    """The truth that goes with a file of pages, if there is one."""
    for end in PAGES:
        beside = file.with_name(file.name.removesuffix(end.lstrip(".")) + "truth.tsv")
        if file.name.endswith(end.lstrip(".")) and beside.exists():
            return beside
    return None


def _is_pages(file: Path) -> bool:
    return any(file.name.endswith(end.lstrip(".")) for end in PAGES)
