"""Equal input, equal bytes: whatever the hash seed, the order, the number of processes, and the Python.

    UNDUST_PYTHONS=/opt/py312/bin/python:/opt/py313/bin/python pytest tests/engines/test_reproducible.py

tries other versions of Python too; each needs the packages that undust needs.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import undust

from .crawls import pages, write

LEARNERS = ("auto", "dustbuster", "rewrite", "pairwise", "pattern-tree", "alignment")
OTHERS = [python for python in os.environ.get("UNDUST_PYTHONS", "").split(os.pathsep) if python]


def book(python: str, crawl: Path, seed: int, *more: str) -> str:
    out = crawl.parent / f"rules-{seed}.json"
    source = str(Path(undust.__file__).parents[1])
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": source}
    given = ["learn", str(crawl), "-o", str(out), "--reproducible", *more]
    done = subprocess.run(
        [python, "-m", "undust", *given], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return hashlib.sha256(out.read_bytes()).hexdigest()


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write(tmp_path / "pages.jsonl", pages(sites=3, size=14))


def shuffled(crawl: Path) -> Path:
    lines = crawl.read_text().splitlines(keepends=True)
    random.Random(5).shuffle(lines)
    (crawl.parent / "shuffled.jsonl").write_text("".join(lines))
    return crawl.parent / "shuffled.jsonl"


def test_hash_seed_order_and_processes_do_not_matter(crawl: Path) -> None:
    assert book(sys.executable, crawl, 1) == book(sys.executable, shuffled(crawl), 2, "--jobs=2")


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_hash_seed_and_order_do_not_matter_to_any_learner(crawl: Path, learner: str) -> None:
    given = f"--learner={learner}"
    assert book(sys.executable, crawl, 1, given) == book(sys.executable, shuffled(crawl), 2, given)


@pytest.mark.parametrize("python", OTHERS)
def test_other_pythons(crawl: Path, python: str) -> None:
    for learner in LEARNERS:
        given = f"--learner={learner}"
        assert book(python, crawl, 1, given) == book(sys.executable, crawl, 2, given), learner
