"""What each part of `auto` is worth: without one learner, without cross-fitting, without the prior, on held-out halves.

    python benchmarks/ablation.py ../shared/data/*.pages.jsonl.gz

Any pages with a truth beside them will do (see `undust bench`). Figures are of all sites as one, soft pages apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import pyarrow as pa

from undust.engines.learn import learn
from undust.learners.auto import PUBLISHED, Auto
from undust.learners.view import View
from undust.measures.cases import cases
from undust.measures.metrics import Measures, micro
from undust.measures.quality import quality
from undust.rules import Rule, RuleBook
from undust.selection import greedy, refine
from undust.selection.prior import NEUTRAL


class WithoutAlignment(Auto):
    """The published methods alone, asked in every round."""

    def propose_on(self, view: View) -> list[Rule]:
        return []


def without(name: str) -> Auto:
    return Auto(learners=",".join(other for other in PUBLISHED if other != name))


@contextmanager
def no_prior() -> Iterator[None]:
    """Every rule is as plausible as any other."""
    with ExitStack() as stack:
        for module in (refine, greedy):
            stack.enter_context(patch.object(module, "strength", lambda *_: NEUTRAL))
        yield


@contextmanager
def no_folds() -> Iterator[None]:
    """A rule is judged on the pages it was found in."""
    counted = refine.Count.judged

    def judged(
        count: refine.Count, prior: float, bar: refine.Bar, z: float = refine.LIKELY
    ) -> tuple[float, int, int]:
        good, bad = int(count.good.sum()), int(count.bad.sum())
        return refine.wilson_lower(good + prior, good + bad + prior, z), good, bad

    with patch.object(refine.Count, "judged", judged):
        yield
    assert refine.Count.judged is counted


@contextmanager
def as_it_is() -> Iterator[None]:
    yield


VARIANTS: dict[str, tuple[Callable[[], Auto], Callable[[], object]]] = {
    "auto": (Auto, as_it_is),
    **{f"without {name}": ((lambda name=name: without(name)), as_it_is) for name in PUBLISHED},
    "alignment alone": (lambda: Auto(learners=""), as_it_is),
    "without alignment": (WithoutAlignment, as_it_is),
    "without cross-fitting": (Auto, no_folds),
    "without the prior": (Auto, no_prior),
}


def by_variant(pages: pa.Table, name: str) -> RuleBook:
    make, changed = VARIANTS[name]
    with changed():  # type: ignore[attr-defined]  # a context manager each
        return learn(pages, make())


def main(paths: list[str]) -> None:
    found: dict[str, list[tuple[Measures, int, float]]] = {name: [] for name in VARIANTS}
    for case in cases(paths):
        for result in quality(case, by_variant, learners=tuple(VARIANTS), peers=False):
            if result.method in found:
                found[result.method].append((result.hard, result.rules or 0, result.learned or 0.0))
    print(f"{'':24}{'reached':>9}{'fpr':>10}{'lost':>7}{'rules':>7}{'CPU s':>8}")
    for name, rows in found.items():
        m = micro([hard for hard, _, _ in rows])
        rules, spent = sum(r for _, r, _ in rows), sum(s for _, _, s in rows)
        print(f"{name:24}{m.reached:>9.1%}{m.fpr:>10.5f}{m.lost:>7}{rules:>7}{spent:>8.1f}")


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python benchmarks/ablation.py PAGES...")
    main(sys.argv[1:])
