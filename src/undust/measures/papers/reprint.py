"""All tables and figures on all data, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from undust.measures.cases import Case
from undust.measures.papers.curves import Curves
from undust.measures.papers.dust import dust
from undust.measures.papers.labelled import Learn
from undust.measures.papers.pairs import pairs
from undust.measures.papers.trees import trees
from undust.measures.splits import SEED


def reprint(data: Sequence[Case], learn: Learn | None = None, seed: int = SEED) -> Iterator[str | Curves]:
    """Every table and figure, figures also as curves to be drawn; `learn`: what undust's own learner does."""
    yield from dust(data, learn, seed)
    yield from pairs(data, learn, seed)
    yield from trees(data, learn, seed)
