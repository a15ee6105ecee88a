"""A made-up web of many sites: how fast it is learned, in how much memory, and that nothing of it is lost.

    python benchmarks/scale.py                                    100,000 pages of 50 sites, a minute
    python benchmarks/scale.py 10e6 --sites 5000 --memory 4GB     as in docs/scaling.md
    python benchmarks/scale.py 1e6 --sites 500 --engine spark     the same book from Spark on local[2]

Site sizes follow Zipf's law (the largest of 5,000 sites has one page in nine), and so do the sizes of clusters of
duplicates (P(size) ~ size ** -2.3). Each site has its own mixture of software: session ids, tracking, two ways to
name an item, free slugs, default pages, print views, `www.`; each also has parameters that matter. The table comes
in an order that brings no site together. What is learned is measured on all pages: URLs saved, and contents lost.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

STEEP = 2.3
"""Exponent of the sizes of clusters (K, figure 1: a power law over eight orders of magnitude)."""
BLOCK = 200_000
SAID = ("undust.test", "example")

Spelling = Callable[[random.Random, int, int], str]
"""The n-th way to write the address of an item; 0 is the plain one."""


def session(rng: random.Random, item: int, n: int) -> str:
    return f"/show?id={item}" + (f"&sid={rng.getrandbits(64):016x}" if n else "")


def tracked(rng: random.Random, item: int, n: int) -> str:
    return f"/p/{item}" + (
        f"?utm_source={rng.choice('abcdef')}{rng.randrange(10**6)}&utm_medium=mail" if n else ""
    )


def slugged(rng: random.Random, item: int, n: int) -> str:
    words = ["old", "new", "red", "big", "news", "item", "shop", "page"]
    return (
        f"/topic/{item}/" + "-".join(rng.choices(words, k=3)) + (str(rng.randrange(10**4)) if n > 3 else "")
    )


def twofold(rng: random.Random, item: int, n: int) -> str:
    forms = (f"/story/{item}", f"/story?rep={item}", f"/story.php?rep={item}", f"/story/{item}/")
    return forms[n] if n < 4 else f"/story?rep={item}&back={rng.getrandbits(40):010x}"


def printed(rng: random.Random, item: int, n: int) -> str:
    path = f"/doc/{item % 97}/{item}.html"
    return (
        path if n == 0 else f"{path}?print=1" if n == 1 else f"{path}?print=1&ref={rng.getrandbits(40):010x}"
    )


def paged(rng: random.Random, item: int, n: int) -> str:
    """The page number matters, the order and the session do not."""
    path = f"/list.php?cat={item // 20}&page={item % 20}"
    return (
        path
        if n == 0
        else f"/list.php?page={item % 20}&cat={item // 20}"
        + (f"&PHPSESSID={rng.getrandbits(64):016x}" if n > 1 else "")
    )


SOFTWARE: tuple[Spelling, ...] = (session, tracked, slugged, twofold, printed, paged)


def sizes(pages: int, sites: int) -> list[int]:
    """Pages a site: Zipf's law.

    >>> sizes(1000, 4)
    [480, 240, 160, 120]
    """
    share = 1 / np.arange(1, sites + 1)
    return [max(20, int(n)) for n in share / share.sum() * pages]


def site(number: int, size: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """URL, content and hits of each page of a site, one cluster after the other."""
    rng = random.Random(f"{seed}-{number}")
    host = f"s{number}.{rng.choice(SAID)}"
    if number % 7 == 0:  # blogs of one domain
        host = f"b{number}.host{number // 70}.example"
    software = rng.sample(SOFTWARE, rng.choice([1, 1, 2, 3]))
    mirrored = rng.random() < 0.3 and host.startswith("s")
    single = rng.random() * 0.6 + 0.2  # share of contents that have one address
    seen: set[str] = set()
    item = 0
    while len(seen) < size:
        item += 1
        spell = software[item % len(software)]
        most = max(2, size // 20)
        copies = 1 if rng.random() < single else 1 + min(int((1 - rng.random()) ** (-1 / (STEEP - 1))), most)
        for n in range(copies):
            www = "www." if mirrored and rng.random() < 0.4 else ""
            url = f"http://{www}{host}{spell(rng, item, n)}"
            if url not in seen:
                seen.add(url)
                yield url, item, int((1 - rng.random()) ** -0.8)


def write(path: Path, pages: int, sites: int, seed: int) -> int:
    """The web as one Parquet file; sites are dealt over the file, none lies together. How many pages there are."""
    made = 0
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        parts = max(1, pages // BLOCK)
        schema = pa.schema([("url", pa.string()), ("status", pa.int16()), ("size", pa.int64()),
                            ("digest", pa.string()), ("hits", pa.int64())])  # fmt: skip
        rng = np.random.default_rng(seed)
        writers = [pq.ParquetWriter(f"{folder}/{i}", schema) for i in range(parts)]
        held: list[tuple[str, str, int, int]] = []

        def deal() -> None:
            nonlocal made
            made += len(held)
            to = rng.integers(0, parts, len(held))
            columns = [np.array(c, dtype=object) for c in zip(*held, strict=True)]
            for i in range(parts):
                url, digest, size, hits = (c[to == i].tolist() for c in columns)
                table = pa.table([url, [200] * len(url), size, digest, hits], schema=schema)
                writers[i].write_table(table)
            held.clear()

        for number, size in enumerate(sizes(pages, sites)):
            for url, item, hits in site(number, size, seed):
                digest = hashlib.blake2b(f"{number} {item}".encode(), digest_size=15).hexdigest()
                held.append((url, digest, 2000 + item * 7919 % 30_000, hits))
                if len(held) >= 10 * BLOCK:
                    deal()
        if held:
            deal()
        for writer in writers:
            writer.close()
        with pq.ParquetWriter(path, schema, compression="zstd") as whole:
            for i in range(parts):
                part = pq.read_table(f"{folder}/{i}")
                whole.write_table(part.take(rng.permutation(len(part))))
    return made


class Watch:
    """CPU seconds and memory of a command and all its processes, looked at five times a second."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.peak = self.shared_peak = 0
        self._spent: dict[int, float] = {}  # by process: Spark's are nobody's children in the end
        start, before = time.perf_counter(), os.times()
        with log.open("wb") as said:
            process = subprocess.Popen(command, stderr=said, stdout=said, env=environment)
            done = threading.Event()
            looking = threading.Thread(target=self._look, args=(process.pid, done))
            looking.start()
            self.code = process.wait()
            done.set()
            looking.join()
        after = os.times()
        self.wall = time.perf_counter() - start
        waited = after.children_user + after.children_system - before.children_user - before.children_system
        self.cpu = max(waited, sum(self._spent.values()))

    def _look(self, pid: int, done: threading.Event) -> None:
        while not done.wait(0.2):
            try:
                root = psutil.Process(pid)
                family = [root, *root.children(recursive=True)]
            except psutil.Error:
                continue
            rss = own = 0
            for one in family:
                try:
                    info, times = one.memory_info(), one.cpu_times()
                except psutil.Error:
                    continue
                self._spent[one.pid] = times.user + times.system
                rss += info.rss
                own += info.rss - info.shared
            self.peak, self.shared_peak = max(self.peak, own), max(self.shared_peak, rss)


def learned(options: argparse.Namespace, pages: Path, folder: Path) -> Path:
    """Learn in a process of its own, and print what it took."""
    out = folder / f"rules-{options.engine}.json"
    command = [sys.executable, "-m", "undust", "learn", str(pages), "-o", str(out), "--reproducible"]
    command += ["--engine", options.engine, "--stats", str(folder / "stats.json")]
    command += [f"--max-urls-per-site={options.max_urls_per_site}"]
    environment = dict(os.environ)
    if options.engine == "local":
        command += [f"--jobs={options.jobs}"] + ([f"--memory={options.memory}"] if options.memory else [])
    else:
        driver = options.memory or "4GB"
        environment |= {
            "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": f"--master local[{options.jobs}] --driver-memory {driver.lower().rstrip('b')} "
            f"--conf spark.local.dir={folder} --conf spark.ui.showConsoleProgress=false "
            f"--conf spark.sql.shuffle.partitions={options.partitions} "
            "--conf spark.sql.adaptive.coalescePartitions.enabled=false pyspark-shell",
        }  # fmt: skip
    run = Watch(command, environment, folder / f"learn-{options.engine}.log")
    if run.code not in (0, 3):
        print((folder / f"learn-{options.engine}.log").read_text()[-2000:], file=sys.stderr)
        raise SystemExit(f"learning failed: exit code {run.code}")
    figures = json.loads((folder / "stats.json").read_text())
    show("engine", options.engine)
    show("pages", figures["pages"])
    show("sites", figures["sites"])
    show("sites that failed", figures["failed"])
    show("rules", figures["rules"])
    show("CPU seconds", run.cpu)
    show("wall seconds", run.wall)
    show("pages per CPU second", figures["pages"] / run.cpu)
    show("CPU ms a site", 1000 * run.cpu / figures["sites"])
    show("peak memory, MB", run.peak / 1e6)
    show("... with mapped files, MB", run.shared_peak / 1e6)
    show("book, bytes", out.stat().st_size)
    show("book, hash", hashlib.sha256(out.read_bytes()).hexdigest()[:16])
    return out


def effect(book: Path, pages: Path) -> None:
    """Apply the book to every page: how many URLs are saved, and how many contents lost."""
    from undust.rules import Canonicalizer, RuleBook

    canon = Canonicalizer(RuleBook.load(book))
    forms: list[np.ndarray] = []
    contents: list[np.ndarray] = []
    n, start = 0, time.process_time()
    for batch in pq.ParquetFile(pages).iter_batches(1 << 17, columns=["url", "digest"]):
        n += batch.num_rows
        forms.append(hashed(canon.map(batch["url"].to_pylist())))
        contents.append(hashed(batch["digest"].to_pylist()))
    cpu = time.process_time() - start
    form, content = np.concatenate(forms), np.concatenate(contents)
    distinct = len(np.unique(content))
    _, first = np.unique(form, return_index=True)
    show("contents", distinct)
    show("URLs too many before", n - distinct)
    show("URLs too many after", len(first) - distinct)
    show("contents lost", distinct - len(np.unique(content[majority(form, content)])))
    show("URLs applied per CPU second", n / cpu)


def hashed(texts: list[str]) -> np.ndarray:
    import xxhash

    return np.fromiter((xxhash.xxh3_64_intdigest(t.encode()) for t in texts), np.uint64, len(texts))


def majority(form: np.ndarray, content: np.ndarray) -> np.ndarray:
    """Of each canonical URL a row with its most frequent content: what remains when one page a URL is kept."""
    order = np.lexsort((content, form))
    form, content = form[order], content[order]
    start = np.flatnonzero(np.append(True, (form[1:] != form[:-1]) | (content[1:] != content[:-1])))
    count = np.diff(np.append(start, len(form)))
    best = np.lexsort((-count, form[start]))
    kept = np.flatnonzero(np.append(True, np.diff(form[start][best]) != 0))
    return order[start[best[kept]]]


def show(name: str, value: str | float) -> None:
    text = value if isinstance(value, str) else f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
    print(f"{name:<28}{text:>18}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="?", type=float, default=1e5)
    parser.add_argument("--sites", type=int, default=50)
    parser.add_argument("--engine", choices=["local", "spark"], default="local")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory", help="as for undust learn; for Spark the driver's heap")
    parser.add_argument("--max-urls-per-site", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=64, help="of Spark's one shuffle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a directory for the table, the book and the log")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="undust-scale-") as passing:
        folder = options.keep or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        table = folder / f"web-{options.pages:.0f}-{options.sites}-{options.seed}.parquet"
        if not table.exists():
            start = time.process_time()
            made = write(table, int(options.pages), options.sites, options.seed)
            print(f"{made:,} pages written in {time.process_time() - start:.0f} CPU s", file=sys.stderr)
        effect(learned(options, table, folder), table)


if __name__ == "__main__":
    main()
