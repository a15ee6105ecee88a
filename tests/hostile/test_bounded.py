"""Crafted crawls: time and memory stay in proportion to their size, and no page is lost to them.

`python -m hostile.cost` in `tests/` prints the table of docs/reliability.md.
"""

from __future__ import annotations

import pytest

from .cost import learning
from .crawls import CRAWLS

SMALL, LARGE = 400, 1600

WORST = "repeats"
"""Here every page brings proposals of its own: cost grows faster until there are as many as are tried (some 800)."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CRAWLS.keys() - {WORST}))
def test_cost_grows_with_the_crawl_and_not_faster(name: str) -> None:
    small, large = learning(name, SMALL), learning(name, LARGE)
    grown = max(2.0, large.pages / small.pages)
    # Half again as much as linear, and a second for what the clock and a busy machine add.
    assert large.cpu < 1.5 * grown * small.cpu + 1.0, (small, large)
    assert large.peak < 1000, large


@pytest.mark.slow
def test_the_worst_is_bounded_too() -> None:
    cost = learning(WORST, SMALL)
    assert cost.cpu < 0.05 * cost.pages, cost


@pytest.mark.parametrize("name", ["merge_me", "two_clusters", "late_turn", "one_cluster", "deep_paths"])
def test_nothing_is_lost(name: str) -> None:
    """The rules judged on these pages lose at most the share of contents that --risk allows."""
    cost = learning(name, 600)
    assert cost.lost <= 0.001 * cost.pages
