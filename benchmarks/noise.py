"""What wrong labels do to `auto`: reduction and lost pages on held-out halves, at 0, 1, 5, 10 and 20 % wrong labels.

    python benchmarks/noise.py ../shared/data/*.pages.jsonl.gz

Any pages with a truth beside them will do (see `undust bench`); without arguments the demo site is taken.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from undust.engines.learn import learn_site, sites
from undust.learners.auto import Auto
from undust.likeness.noise import noise
from undust.measures.cases import cases
from undust.measures.evaluation import spread
from undust.measures.splits import halves
from undust.rules import Canonicalizer, RuleBook

RATES = (0.0, 0.01, 0.05, 0.1, 0.2)


def main(paths: list[str]) -> None:
    print(f"{'site':28}" + "".join(f"{f'{rate:.0%} wrong':>26}" for rate in RATES))
    print(f"{'':28}" + "".join(f"{'reached   fpr   lost rules':>26}" for _ in RATES))
    for case in cases(paths):
        split = halves(case)
        row = f"{case.name[:27]:28}"
        for rate in RATES:
            book = RuleBook()
            for site in sites(split.train):
                book.add(learn_site(site.with_labels(noise(site.labels, rate, seed=1)), Auto(learners="")))
            keys = Canonicalizer(book).map(split.urls)
            m = spread(case.known.take(split.test), keys).hard
            row += f"{m.reached:>12.1%} {m.fpr:.4f} {m.lost:>3} {len(book):>3}"
        print(row, flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1:])
    else:
        from undust.cli import run

        with tempfile.TemporaryDirectory() as folder:
            run(["demo", folder, "-q"])
            main([str(Path(folder) / "pages.jsonl.gz")])
