"""A short run of every fuzz target: the kept corpus, and a few mutations of it. `make fuzz` is the long one."""

from __future__ import annotations

import os
import random

import pytest

from .run import plainly
from .targets import TARGETS

RUNS = {"learn": 8, "warc": 100, "parquet": 60}


@pytest.mark.parametrize("name", TARGETS)
def test_target(name: str) -> None:
    # The same inputs each time where a change is gated, others each time at home.
    seed = 1 if os.environ.get("CI") else random.randrange(1 << 30)
    assert plainly(name, seconds=20, seed=seed, runs=RUNS.get(name, 200))
