"""How fast and how large a site's table of URLs is.

    python benchmarks/url_table.py [--sizes 20000,200000,1000000] [--shapes forum,...]

For each shape of URL and each size, in a process of its own: URLs per CPU second of building the keys, the
tokens, both, and of making every dense column after that; peak memory in bytes per URL, over the whole
process (interpreter, libraries and the list of URLs included) and over what it held before the build.
A last table gives the functions for one URL.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import multiprocessing
import random
import resource
import time
from collections.abc import Callable, Iterator

SHAPES: dict[str, Callable[[random.Random, int], str]] = {
    "forum": lambda r, i: (
        f"http://www.example.com/forum/viewtopic.php?t={r.randrange(1 + i // 9)}&start={15 * r.randrange(9)}"
        + (f"&sid={r.getrandbits(128):032x}" if r.random() < 0.5 else "")
    ),
    "static": lambda r, i: (
        f"https://docs.example.co.uk/{r.randrange(40)}/guide-{r.randrange(300)}/part/page_{i}.html"
    ),
    "shop": lambda r, i: (
        f"http://shop.example.com/c{r.randrange(99)}/Some-Nice-Thing-{i}.jsp;jsessionid={r.getrandbits(80):020X}"
        f"?colour={r.choice(['red', 'blue', ''])};size={r.randrange(50)};ref={r.randrange(9)}"
    ),
    "wiki": lambda r, i: (
        f"http://example.org/w/index.php?title=Größe_{r.randrange(1 + i // 3)}%2C_a%C3%9F&oldid={i}#Abschnitt"
    ),
    "wide": lambda r, i: (
        "/search?" + "&".join(f"field{r.randrange(2000)}={r.randrange(99)}" for _ in range(r.randrange(12)))
    ),
}


def generate(shape: str, n: int) -> Iterator[str]:
    """`n` URLs of a shape, the same ones every time."""
    rng = random.Random(shape)
    return (SHAPES[shape](rng, i) for i in range(n))


def peak_rss() -> int:
    """Peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(job: tuple[str, int]) -> None:
    """Build one table and print a line about it."""
    from undust.url import SiteTable

    shape, n = job
    small = SiteTable.build(list(generate(shape, 10)))
    assert len(small.tokens.ids)  # imports and first-call costs are not the table's
    urls = list(generate(shape, n))
    gc.collect()
    before = peak_rss()
    marks = [time.process_time()]
    table = SiteTable.build(urls)
    marks.append(time.process_time())
    n_tokens = len(table.tokens.ids)
    marks.append(time.process_time())
    peak = peak_rss()
    for key in table.keys:
        table.column(key)
    marks.append(time.process_time())
    keys, tokens, columns = (b - a for a, b in itertools.pairwise(marks))
    rates = " ".join(f"{n / t:>11,.0f}" for t in (keys, tokens, keys + tokens, columns))
    print(
        f"{shape:<8}{n:>10,} {rates} {peak / n:>9,.0f} {(peak - before) / n:>9,.0f} {len(table.keys):>6,}"
        f" {n_tokens / n:>7.1f}",
        flush=True,
    )


def measure_functions(n: int) -> None:
    """The functions for one URL, over a mix of all shapes."""
    from undust.url import key_view, normal, parse, tokenize, unparse

    urls = [url for shape in SHAPES for url in generate(shape, n // len(SHAPES))]
    print(f"\n{'one URL at a time':<24}{'URLs/CPU s':>12}")
    functions: dict[str, Callable[[str], object]] = {
        "parse": parse,
        "unparse(parse)": lambda url: unparse(parse(url)),
        "normal": normal,
        "normal, host in capitals": normal,
        "tokenize": tokenize,
        "key_view": key_view,
    }
    for name, function in functions.items():
        given = [url.replace("example", "EXAMPLE") for url in urls] if "capitals" in name else urls
        start = time.process_time()
        for url in given:
            function(url)
        print(f"{name:<24}{len(given) / (time.process_time() - start):>12,.0f}", flush=True)


def main() -> None:
    """Run all of it."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sizes", default="20000,200000,1000000")
    options.add_argument("--shapes", default=",".join(SHAPES))
    args = options.parse_args()
    print(f"{'':<18} {'URLs per CPU second':^47} {'bytes per URL':^19}")
    print(
        f"{'shape':<8}{'URLs':>10} {'keys':>11} {'tokens':>11} {'both':>11} {'columns':>11}"
        f" {'process':>9} {'table':>9} {'keys':>6} {'tok/URL':>7}"
    )
    spawn = multiprocessing.get_context("spawn")
    for size in map(int, args.sizes.split(",")):
        for shape in args.shapes.split(","):
            child = spawn.Process(target=measure, args=((shape, size),))
            child.start()
            child.join()
    measure_functions(100_000)


if __name__ == "__main__":
    main()
