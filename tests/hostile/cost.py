"""What something takes: in a process of its own, so that a peak of memory is its own and a limit ends it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    cpu: float
    """Seconds."""
    peak: float
    """MB, the interpreter and its libraries included (some 130)."""
    pages: int
    rules: int
    lost: int
    """Contents that no URL would lead to any more."""


_MEASURED = """
import json, resource, sys, time
from hostile.crawls import CRAWLS
from undust import learn, read
from undust.rules import Canonicalizer

rows = list(CRAWLS[sys.argv[1]](int(sys.argv[2])))
contents = [row["digest"] for row in rows]
urls = [row["url"] for row in rows]
crawl = read(rows)
del rows
start = time.process_time()
book = learn(crawl)
cpu = time.process_time() - start
canon = Canonicalizer(book)
left = dict(zip(canon.map(urls), contents, strict=True))
failed = [site.notes["failed"] for site in book.sites.values() if "failed" in site.notes]
assert not failed, failed
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
lost = len(set(contents)) - len(set(left.values()))
print(json.dumps({"cpu": cpu, "peak": peak, "pages": len(set(urls)), "rules": len(book), "lost": lost}))
"""


def learning(name: str, size: int, *, seconds: int = 600, memory: int = 8 << 30) -> Cost:
    """Learn from a crawl that means harm."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, name, str(size)],
        capture_output=True,
        text=True,
        preexec_fn=bound,
        cwd=Path(__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    from hostile.crawls import CRAWLS

    print(f"{'crawl':<16}{'pages':>10}{'CPU s':>8}{'MB':>8}{'rules':>7}{'lost':>6}")
    for name in sys.argv[1:] or CRAWLS:
        name, _, size = name.partition("=")
        for n in [int(size)] if size else [1000, 4000, 16000]:
            cost = learning(name, n)
            print(
                f"{name:<16}{cost.pages:>10,}{cost.cpu:>8.1f}{cost.peak:>8,.0f}{cost.rules:>7}{cost.lost:>6}"
            )
