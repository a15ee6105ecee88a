"""CPU seconds, memory and cost per pair of the pairwise learner on made-up sites.

    python benchmarks/pairwise.py                      sites of 5,000 to 70,000 URLs, growth and cost per pair
    python benchmarks/pairwise.py --sites 200 --urls 5000   a crawl of 1 M URLs

The sites mix what the papers describe: session ids, index files, tracking parameters, aliases of a host,
deep tokens with a message number, value conversions, two designs of one page; a third of the pages has no
duplicate.
"""

from __future__ import annotations

import argparse
import random
import resource
import time

import numpy as np
import pyarrow as pa

from undust.learners.pairwise import Pairwise
from undust.learners.rewrite import Rewrite
from undust.likeness import Site, split_sites

WORDS = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "river",
    "stone",
    "cloud",
    "paper",
    "green",
    "silver",
    "north",
    "winter",
)


def pages(n: int, seed: int = 0) -> pa.Table:
    """About `n` URLs of one site with their clusters."""
    rng = random.Random(seed)
    host = f"site{seed}.example.com"
    urls: dict[str, int] = {}
    cluster = 0

    def sid() -> str:
        return f"{rng.getrandbits(128):032x}"

    while len(urls) < n:
        cluster += 1
        i, kind, base = cluster, rng.random(), f"http://{host}"
        title = "_".join(rng.choices(WORDS, k=3)).capitalize() + str(i)
        folder = "/".join(rng.choices(WORDS, k=rng.randint(1, 4)))
        if kind < 0.3:
            forms = [f"{base}/forum/viewtopic.php?t={i}"]
            forms += [f"{base}/forum/viewtopic.php?t={i}&sid={sid()}" for _ in range(rng.randint(0, 4))]
            forms += [f"{base}/forum/viewtopic.php?t={i}&start=0&postdays=0&postorder=asc&highlight="]
        elif kind < 0.5:
            forms = [
                f"{base}/{folder}/{i}/",
                f"{base}/{folder}/{i}/index.html",
                f"http://www.{host}/{folder}/{i}/",
            ]
        elif kind < 0.7:
            forms = [f"{base}/talk/topic,{i}.0.html"]
            forms += [f"{base}/talk/topic,{i}.msg{9 * i + j}.html" for j in range(rng.randint(0, 5))]
        elif kind < 0.9:
            forms = [f"{base}/wiki/{title}", f"{base}/w/index.php?title={title}"]
            forms += [f"{base}/wiki/{title}?utm_source={rng.choice(WORDS)}", f"{base}/wiki/{title.upper()}"]
        else:
            forms = [
                f"{base}/item-{i}-{rng.choice(WORDS)}.html",
                f"{base}/shop/item.php?id={i}&ref={rng.choice(WORDS)}",
            ]
        for url in rng.sample(forms, 1) if rng.random() < 0.33 else forms:
            urls.setdefault(url, cluster)
    return pa.table({"url": list(urls), "cluster": [str(c) for c in urls.values()]})


def site(n: int, seed: int = 0) -> Site:
    """The same as a labelled site."""
    (found,) = split_sites(pages(n, seed), "domain")
    found.labels  # noqa: B018 (labelling is not what is measured)
    return found


def measured(learner: Pairwise | Rewrite, what: Site) -> tuple[float, int]:
    """CPU seconds of a proposal, the reading of the URLs included, and the number of rules."""
    start = time.process_time()
    rules = learner.propose(what)
    return time.process_time() - start, len(rules)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sites", type=int, default=0)
    options.add_argument("--urls", type=int, default=5000)
    options.add_argument("--largest", type=int, default=70_000)
    options.add_argument("--learner", choices=("pairwise", "rewrite"), default="pairwise")
    a = options.parse_args()
    learner = Pairwise() if a.learner == "pairwise" else Rewrite()
    if a.sites:
        total, rules, urls = 0.0, 0, 0
        for seed in range(a.sites):
            one = site(a.urls, seed)
            seconds, found = measured(learner, one)
            total, rules, urls = total + seconds, rules + found, urls + one.n
        print(f"{a.sites} sites, {urls} URLs: {total:.1f} CPU s, {urls / total:.0f} URLs/s, {rules} rules")
    else:
        print("   URLs   pairs  CPU s  us/URL  us/pair  rules")
        for n in (5_000, 10_000, 20_000, 40_000, 70_000):
            if n > a.largest:
                break
            one = site(n)
            seconds, found = measured(learner, one)
            count = pairs_of(learner, one)
            micro = 1e6 * seconds
            print(
                f"{one.n:7d} {count:7d} {seconds:6.2f} {micro / one.n:7.1f} {micro / count:8.1f} {found:6d}"
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"peak memory {peak:.2f} GB")


def pairs_of(learner: Pairwise | Rewrite, what: Site) -> int:
    """How many pairs the learner looks at."""
    from undust.learners.key_table import KeyTable

    cluster = np.where(what.labels.soft, -1, what.labels.cluster).astype(np.int64)
    return len(learner.select(KeyTable(what.table, deep=False), cluster, what)[0])


if __name__ == "__main__":
    main()
