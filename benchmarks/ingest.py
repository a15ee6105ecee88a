"""How fast and how lean a combined access log becomes a table of pages.

    python benchmarks/ingest.py                        1 M lines
    python benchmarks/ingest.py 20e6 --memory 1GB      20 M lines, spilling to disk above 1 GB
    python benchmarks/ingest.py 1e6 --gzip             packed, as logs lie about

The log is invented: most lines go to pages seen before (`--distinct` says how many do not), with agents and
referrers of real length. It is written to a temporary directory, read in a process of its own (so that peak
memory is that of reading alone), and deleted.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

BLOCK = 20_000
PAGES = ("/forum/viewtopic.php?t=########&start=0", "/wiki/Some_Page_########", "/img/########.png")
AGENTS = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0",
    "curl/7.88.1",
)


def digits(numbers: np.ndarray, width: int) -> np.ndarray:
    """Numbers as a matrix of ASCII digits."""
    return ((numbers[:, None] // 10 ** np.arange(width)[::-1]) % 10 + 48).astype(np.uint8)


def blocks(lines: int, distinct: float, seed: int = 1) -> Iterator[bytes]:
    """The log, a block of lines of one shape at a time: digits are filled into copies of one line."""
    random = np.random.default_rng(seed)
    for start in range(0, lines, BLOCK):
        n = min(BLOCK, lines - start)
        shape = start // BLOCK
        page, agent = PAGES[shape % len(PAGES)], AGENTS[shape // 3 % len(AGENTS)]
        line = (
            f'192.0.2.### - - [##/Nov/2025:##:##:## +0000] "GET {page} HTTP/1.1" 200 ##### '
            f'"http://www.example.com/index.html" "{agent}"\n'
        ).encode()
        matrix = np.tile(np.frombuffer(line, np.uint8), (n, 1))
        holes = np.flatnonzero(matrix[0] == ord("#"))
        seen = max(1, int((start + n) * distinct / len(PAGES)))
        ids = (seen * random.random(n) ** 2).astype(np.int64)  # new pages are visited more often
        second = (start + np.arange(n)) * 30 * 86400 // lines
        day, hour, minute = second // 86400 + 1, second // 3600 % 24, second // 60 % 60
        values = [(random.integers(1, 255, n), 3), (day, 2), (hour, 2), (minute, 2), (second % 60, 2)]
        values += [(ids, 8), (ids * 7919 % 90000 + 10000, 5)]
        matrix[:, holes] = np.hstack([digits(number, width) for number, width in values])
        yield matrix.tobytes()


def measure(path: str, memory: str, temp_dir: str) -> None:
    """Read the log in this process and print what it took."""
    from undust.crawl import read

    cpu, wall = time.process_time(), time.perf_counter()
    crawl = read(path, host="www.example.com", memory=memory, temp_dir=temp_dir)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1 << 10)
    print(f"lines                {crawl.stats.lines:>14,}")
    print(f"pages                {crawl.n:>14,}")
    print(f"lines per CPU second {crawl.stats.lines / cpu:>14,.0f}")
    print(f"CPU seconds          {cpu:>14.1f}")
    print(f"wall seconds         {wall:>14.1f}")
    print(f"peak RSS, MB         {peak:>14,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lines", nargs="?", type=float, default=1e6)
    parser.add_argument("--distinct", type=float, default=0.1, help="pages per line (default 0.1)")
    parser.add_argument("--memory", default="1GB", help="DuckDB's limit before it spills (default 1GB)")
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure, options.memory, str(Path(options.measure).parent))
    directory = tempfile.mkdtemp(prefix="undust-ingest-")
    try:
        path = Path(directory) / "access.log"
        with gzip.open(path, "wb", 6) if options.gzip else path.open("wb") as file:
            for block in blocks(int(options.lines), options.distinct):
                file.write(block)
        print(f"bytes of log         {path.stat().st_size:>14,}", flush=True)
        args = [sys.executable, __file__, "--memory", options.memory, "--measure", str(path)]
        subprocess.run(args, check=True)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
