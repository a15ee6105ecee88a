"""How long the pattern tree and its rules take, and what they are made of.

    python benchmarks/pattern_tree.py [--sizes 70000,1000000] [--shapes forum,shop,wiki] [--align both|start]

For each shape of site and each size, in a process of its own: CPU seconds for the table of keys, for the trees
(Algorithm 1), for all of the learner (trees, duplicate nodes, rules), nodes and height of the trees, pairs of
duplicate nodes, rules, and peak memory of the whole process. Labels are given, as they are in the paper, which
reports 37.3 s for a site of 70,000 URLs (22 s of it for the tree).
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import time
from collections.abc import Callable

import pyarrow as pa


def forum(r: random.Random, n: int) -> tuple[str, str]:
    """Topics with default parameters, sessions, posts that lead to topics, two hosts, and pages of their own."""
    host = r.choice(["www.example.com", "example.com"])
    topic = r.randrange(max(n // 8, 1))
    kind = r.random()
    base = f"http://{host}/forum/"
    if kind < 0.1:
        return f"{base}profile.php?mode=viewprofile&u={topic}", f"u{topic}"
    if kind < 0.2:
        return f"http://{host}/gallery/{r.randrange(40)}/{r.randrange(n)}.jpg", f"g{r.randrange(10**12)}"
    start = 15 * r.choice([0, 0, 0, 1, 2])
    url = f"{base}viewtopic.php?t={topic}"
    if start or r.random() < 0.3:
        url += f"&start={start}"
    if r.random() < 0.3:
        url += "&postdays=0&postorder=asc&highlight="
    if r.random() < 0.3:
        url += f"&sid={r.getrandbits(128):032x}"
    return url, f"t{topic}.{start}"


def shop(r: random.Random, n: int) -> tuple[str, str]:
    """Products under three mirrors and two kinds of address, with tracking parameters and listings."""
    product = r.randrange(max(n // 6, 1))
    mirror = f"http://shop.example.com/mirror{r.randrange(3)}"
    tracked = r.choice(["", "", f"&ref={r.randrange(50)}", f"&utm_source=a{r.randrange(9)}&utm_medium=mail"])
    if r.random() < 0.5:
        return f"{mirror}/product.jsp?id={product}{tracked}", f"p{product}"
    if r.random() < 0.2:
        page = r.randrange(max(n // 50, 1))
        return f"{mirror}/list.jsp?cat={page % 97}&page={page}{tracked}", f"l{page}"
    return f"{mirror}/item/{product}/view.html?x=1{tracked}", f"p{product}"


def wiki(r: random.Random, n: int) -> tuple[str, str]:
    """Titles in the path or in a parameter, the default action written or not, old versions, many scripts."""
    title = f"Page_{r.randrange(max(n // 5, 1))}"
    kind = r.random()
    if kind < 0.3:
        return f"http://wiki.example.org/wiki/{title}", title
    if kind < 0.6:
        return f"http://wiki.example.org/index.php?title={title}{r.choice(['', '&action=view'])}", title
    if kind < 0.8:
        old = r.randrange(n)
        return f"http://wiki.example.org/index.php?title={title}&oldid={old}", f"{title}.{old}"
    action = r.choice(["edit", "history", "info", "raw"])
    url = f"http://wiki.example.org/index.php?title={title}&action={action}"
    return url + r.choice(["", "&printable=yes", f"&uselang={r.choice('abc')}"]), f"{title}.{action}"


SHAPES: dict[str, Callable[[random.Random, int], tuple[str, str]]] = {
    "forum": forum,
    "shop": shop,
    "wiki": wiki,
}


def pages(shape: str, n: int) -> pa.Table:
    """`n` different URLs of a shape, each with its cluster; the same ones every time."""
    r = random.Random(shape)
    found: dict[str, str] = {}
    while len(found) < n:
        found.setdefault(*SHAPES[shape](r, n))
    return pa.table({"url": pa.array(found, pa.large_string()), "cluster": list(found.values())})


def measure(job: tuple[str, int, str]) -> None:
    """Learn one site and print a line about it."""
    from undust.learners.pattern_tree import PatternTree
    from undust.likeness import split_sites

    shape, n, align = job
    learner = PatternTree(align=align)  # type: ignore[arg-type]
    (small,) = split_sites(pages(shape, 500), "all")
    learner.propose(small)  # imports and first calls are not the learner's
    (site,) = split_sites(pages(shape, n), "all")
    assert len(site.labels.cluster) == n
    marks = [time.process_time()]
    site.table.column("path[0]")
    marks.append(time.process_time())
    grown = list(learner.grow(site))
    marks.append(time.process_time())
    twins = sum(len(learner.twins(one)) for one in grown)
    trees = [one.tree for one in grown]
    del grown
    again = time.process_time()
    rules = learner.propose(site)
    total = time.process_time() - again
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{shape:<8}{n:>10,}{marks[1] - marks[0]:>9.2f}{marks[2] - marks[1]:>9.2f}{total:>9.2f}"
        f"{sum(len(t.nodes) for t in trees):>8,}{max(t.height for t in trees):>8}{twins:>8,}{len(rules):>8,}"
        f"{peak:>9,.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="70000")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--align", default="both", choices=["start", "end", "both"])
    options = parser.parse_args()
    print("CPU seconds; `all` holds the trees, not the table of keys; MiB of the whole process\n")
    print("shape         URLs    table    trees      all   nodes  height   twins   rules      MiB")
    for shape in options.shapes.split(","):
        for size in options.sizes.split(","):
            job = multiprocessing.get_context("spawn").Process(
                target=measure, args=((shape, int(size), options.align),)
            )
            job.start()
            job.join()


if __name__ == "__main__":
    main()
