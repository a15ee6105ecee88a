#!/usr/bin/env python3
"""Sketches a CPU second, and how well they estimate: python benchmarks/sketch.py"""

from __future__ import annotations

import random
import time

import numpy as np

from undust.likeness.sketch import resemblance, sketch_texts

WORDS = 500
PAGES = 5000


def main() -> None:
    rng = random.Random(1)
    vocabulary = [f"word{i}" for i in range(30_000)]
    pages = [" ".join(rng.choices(vocabulary, k=WORDS)) for _ in range(PAGES)]
    for permutations in (4, 16, 64):
        start = time.process_time()
        sketch_texts(pages, permutations)
        spent = time.process_time() - start
        print(
            f"{PAGES} pages of {WORDS} words, {permutations:3} min-hashes: {PAGES / spent:8.0f} pages/CPU s"
        )
    print("resemblance  4-of-4  r^4     2-of-4  1-(1-r)^4-4r(1-r)^3   (1000 pairs each)")
    for changed in (1, 3, 10, 30):
        twins = [edited(page, changed, rng) for page in pages[:1000]]
        exact = resemblance(sketch_texts(pages[:1000], 256), sketch_texts(twins, 256)).mean()
        equal = (sketch_texts(pages[:1000]) == sketch_texts(twins)).sum(axis=1)
        four, two = exact**4, 1 - (1 - exact) ** 4 - 4 * exact * (1 - exact) ** 3
        print(f"  {exact:9.3f} {np.mean(equal == 4):7.3f} {four:6.3f} {np.mean(equal >= 2):9.3f} {two:8.3f}")


def edited(page: str, changed: int, rng: random.Random) -> str:
    """The page with some of its words replaced."""
    words = page.split()
    for at in rng.sample(range(len(words)), changed):
        words[at] = f"new{rng.random()}"
    return " ".join(words)


if __name__ == "__main__":
    main()
