"""Speed of DustBuster's phases 1 and 2: `python benchmarks/dustbuster.py [20000 50000 ...] [--plain]`.

One process, CPU seconds, the making of the list included. With `--plain` the smallest list also goes through
plain Python dictionaries (`tests/learners/plain_dustbuster.py`), whose output must be the same, byte for byte.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from undust.learners.dustbuster import DustBuster, LikelyRules
from undust.likeness import Site

HOSTS = ("http://www.forum.example", "http://forum.example", "http://news.forum.example")
CROWD = DustBuster().crowd
SECTIONS = ("science", "movies", "politics", "music", "sports", "books", "travel", "health")


def made_up_list(n: int, seed: int = 1) -> tuple[list[str], np.ndarray, np.ndarray]:
    """About n URLs of a forum with news, a shop, a wiki and home pages, each with a range of sizes.

    Threads, stories, topics, wiki pages and directories have several URLs each; a fifth of the pages were seen
    with more than one size.
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(8, n, p=[0.22, 0.2, 0.14, 0.12, 0.1, 0.1, 0.07, 0.05])
    number = rng.integers(1, max(10, n // 5), n)
    host = rng.choice(3, n, p=[0.6, 0.25, 0.15])
    dice = rng.integers(0, 1 << 30, n)
    size: dict[str, int] = {}
    for k, i, h, r in zip(kind.tolist(), number.tolist(), host.tolist(), dice.tolist(), strict=True):
        where, section, other = HOSTS[h], SECTIONS[r % 8], r & 8
        if k == 0:
            url, page = f"{where}/story_{i}" if other else f"{where}/story?id={i}", i
        elif k == 1:
            start, light = "" if other else f"&start={(r >> 4) % 5 * 15}", "" if r & 256 else "&highlight="
            url, page = f"{where}/{section}/viewtopic.php?t={i}{start}{light}", i * 5 + (r >> 4) % 5
        elif k == 2:
            day = f"{1998 + i % 9}/{1 + i % 12:02d}/{1 + i % 28:02d}"
            url, page = f"{where}/archive/{day}/{section}-{i // 300}{'/' if other else '/index.html'}", i
        elif k == 3:
            page = (r >> 4) % 40
            url = f"{where}/~user{i % (n // 100 + 2)}/{section}/page{page}.html"
        elif k == 4:
            url, page = f"{where}/shop/item.php3?cat={r % 7}&item={i}&sid={r:08x}", i
        elif k == 5:
            url, page = f"{where}/thread_{i}" if other else f"{where}/thread?rep={i}&LastView=&Close=", i
        elif k == 6:
            url, page = f"{where}/img/{section}/{i:06d}.jpg", i
        else:
            title = f"{section.title()}_{i}"
            url, page = (
                f"{where}/wiki/{title}" if other else f"{where}/wiki/index.php?title={title}&action=view",
                i,
            )
        size[url] = (page * 1_000_003 + k * 7919) % 40_000 + 500
    urls = sorted(size)
    low = np.array([size[u] for u in urls])
    return urls, low, low + (rng.random(len(urls)) < 0.2) * rng.integers(0, 200, len(urls))


def written(rules: LikelyRules) -> bytes:
    """Ranked rules as lines: a, b and both supports."""
    rows = zip(rules.a, rules.b, rules.pairs.low.tolist(), rules.pairs.high.tolist(), strict=True)
    return "\n".join(f"{a}\t{b}\t{low}\t{high}" for a, b, low, high in rows).encode()


def ours(n: int, likeness: str) -> tuple[float, LikelyRules, LikelyRules]:
    begin = time.process_time()
    urls, low, high = made_up_list(n)
    site = Site("*", ("*",), pa.table({"url": urls, "size_min": low, "size_max": high}))
    learner = DustBuster(likeness=likeness)  # type: ignore[arg-type]  # checked by the learner
    likely = learner.likely(site)
    reduced = learner.reduced(likely)
    return time.process_time() - begin, likely, reduced


def plain(n: int, likeness: str) -> tuple[float, float, bytes, bytes]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "learners"))
    import plain_dustbuster as dictionaries

    begin = time.process_time()
    urls, low, high = made_up_list(n)
    lo, hi = low.tolist(), high.tolist()

    def alike(u: int, v: int) -> bool:
        return lo[u] <= hi[v] and lo[v] <= hi[u]

    likely = (
        dictionaries.detect(urls, alike, crowd=CROWD) if likeness == "size" else dictionaries.detect(urls)
    )
    middle = time.process_time()
    reduced = dictionaries.eliminate(likely)
    end = time.process_time()

    def lines(rules: list[dictionaries.Rule]) -> bytes:
        return "\n".join(f"{''.join(a)}\t{''.join(b)}\t{low}\t{high}" for a, b, low, high in rules).encode()

    return middle - begin, end - begin, lines(likely), lines(reduced)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[20_000, 50_000, 200_000, 1_000_000])
    parser.add_argument(
        "--plain", action="store_true", help="also run plain dictionaries on the smallest list"
    )
    parser.add_argument("--likeness", default="size", choices=["size", "none"])
    options = parser.parse_args()
    ours(2_000, options.likeness)  # imports and first calls
    print("     URLs  CPU s  us/URL  likely  after phase 2  eliminated  peak MB")
    for n in sorted(options.sizes):
        seconds, likely, reduced = ours(n, options.likeness)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        gone = 1 - len(reduced) / max(1, len(likely))
        print(f"{n:9,} {seconds:6.2f} {seconds / n * 1e6:7.1f} {len(likely):7,}", end=" ")
        print(f"{len(reduced):14,} {gone:11.1%} {peak:8.0f}", flush=True)
        if options.plain and n == min(options.sizes):
            phase_1, both, one, two = plain(n, options.likeness)
            same = one == written(likely), two == written(reduced)
            print(
                f"  plain dictionaries: phase 1 {phase_1:.2f} s, both {both:.2f} s: {both / seconds:.1f} times"
            )
            print(f"  same output after phase 1: {same[0]}, after phase 2: {same[1]}")


if __name__ == "__main__":
    main()
