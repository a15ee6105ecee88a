"""Commands that write a file, each with inputs of its own: what the tests of faults let go wrong."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engines.crawls import pages, write

from undust.rules import Rule, RuleBook, SiteRules


@dataclass
class Run:
    """A command in a directory of its own, and the file it is to write."""

    folder: Path
    arguments: list[str]
    out: Path

    def start(
        self, *, before: Callable[[], None] | None = None, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "undust", *self.arguments, "-o", str(self.out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            preexec_fn=before,
            env=os.environ | (environment or {}),
        )

    def finish(self, seconds: float = 120, **how: object) -> tuple[int, str]:
        """Exit code, and what it said."""
        process = self.start(**how)  # type: ignore[arg-type]  # they are those of `start`
        said = process.communicate(timeout=seconds)[0].decode(errors="replace")
        return process.returncode, said

    def visible(self) -> set[str]:
        """The files anybody would take for something; what begins with a dot is nobody's."""
        return {p.name for p in self.folder.iterdir() if not p.name.startswith(".")}


def learning(folder: Path, *more: str) -> Run:
    write(folder / "pages.jsonl", pages(sites=3, size=12))
    return Run(folder, ["learn", "pages.jsonl", "--reproducible", *more], folder / "rules.json")


def crawling(folder: Path) -> Run:
    write(folder / "pages.jsonl", pages(sites=12, size=300))
    return Run(folder, ["crawl", "pages.jsonl"], folder / "pages.parquet")


def applying(folder: Path, urls: int = 40_000) -> Run:
    rules = [Rule(do={"query[sid]": None}), Rule(when={"path": "/item/{n:int}"}, do={"path": "/i{n}"})]
    RuleBook({"s.example": SiteRules("s.example", rules=rules)}).save(folder / "rules.json")
    lines = (f"http://s.example/item/{i % 997}?id={i}&sid={i * 7919 % 10**8}\n" for i in range(urls))
    (folder / "urls.txt").write_text("".join(lines))
    return Run(folder, ["apply", "-r", "rules.json", "urls.txt"], folder / "out.txt")


def no_file_larger_than(size: int) -> Callable[[], None]:
    """To be called in the child: writing beyond fails as it does on a full disk, and needs no rights."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
