"""A made-up crawl of several sites, of different sizes, each with its own DUST."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from undust.errors import UsageError
from undust.learners import Learner
from undust.likeness import Site
from undust.rules import Rule


def pages(sites: int = 5, size: int = 24, seed: int = 1) -> list[dict[str, Any]]:
    """Session ids everywhere, twins with and without `www.`, and on odd sites two ways to name an item."""
    rng = random.Random(seed)
    out = []
    for s in range(sites):
        for i in range(size + 9 * s):
            forms = [f"http://www.s{s}.example/item?id={i}", f"http://s{s}.example/item?id={i}"]
            forms += [f"{forms[0]}&sid={rng.randrange(10**8)}" for _ in range(2)]
            if s % 2:
                forms.append(f"http://www.s{s}.example/item/{i}")
            for url in forms:
                row = {"url": url, "status": 200, "digest": f"{s}-{i}", "size": 500 + i}
                out.append(row | {"hits": rng.randrange(1, 99)})
    return out


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Failing(Learner):
    """Proposes to drop `sid`, and fails in its own way on some sites."""

    name = "failing"

    def __init__(self, *, raises: str = "", dies: str = "", refuses: str = "") -> None:
        self.raises = raises
        self.dies = dies
        self.refuses = refuses

    def propose(self, site: Site) -> list[Rule]:
        if self.raises and self.raises in site.name:
            raise ValueError("too odd a site")
        if self.dies and self.dies in site.name:
            import os

            os.kill(os.getpid(), 9)
        if self.refuses and self.refuses in site.name:
            raise UsageError("no such parameter")
        return [Rule(do={"query[sid]": None}, source=("failing",))]
