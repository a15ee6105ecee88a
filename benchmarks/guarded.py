"""What a list of URLs costs: reading it for a guarded rule, and canonical URLs with it and without.

python -m benchmarks.guarded 200000          URLs of a made-up forum; CPU time, one process
"""

from __future__ import annotations

import itertools
import pickle
import sys
import time
from random import Random

from undust.rules import Canonicalizer, Guard, Rule, RuleBook, SiteRules

GUARD = Guard(({"path": "/topic,{t:int}.{page:int}.html"},), entities=5, between=0.98)
RULES = [
    Rule(
        when={"path": "/topic,{t:int}.msg{:int}.html"},
        do={"path": "/topic,{t}.0.html"},
        guard=GUARD,
    ),
    Rule(do={"query[sid]": None}),
]


def forum(n: int, seed: int = 1) -> list[str]:
    """At least so many URLs: a fifth of the topics have two to six pages, each page links to eight messages."""
    draw = Random(seed)
    urls: list[str] = []
    topic = 0
    while len(urls) < n:
        topic += 1
        last = 1 if draw.random() < 0.8 else draw.randint(2, 6)
        urls += [f"http://a.example/topic,{topic}.{15 * page}.html" for page in range(last)]
        urls += [f"http://a.example/topic,{topic}.msg{100 * topic + m}.html" for m in range(8 * last)]
    draw.shuffle(urls)
    return urls


def main() -> None:
    urls = forum(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
    book = RuleBook({"a.example": SiteRules("a.example", (), RULES)})
    times = [time.process_time()]
    Canonicalizer(book).map(urls)
    times.append(time.process_time())
    canon = Canonicalizer(book, listed=urls)
    times.append(time.process_time())
    canon.map(urls)
    times.append(time.process_time())
    without, reading, with_ = (1e6 * (b - a) / len(urls) for a, b in itertools.pairwise(times))
    assert canon.guarded is not None
    size = len(pickle.dumps(canon.guarded.listed)) / len(urls)
    print(
        f"{len(urls):,} URLs, {canon.guarded.followed:,} led; us a URL: {without:.1f} without a list, "
        f"{reading:.1f} to read the list, {with_:.1f} with it; {size:.0f} bytes a listed URL when sent"
    )


if __name__ == "__main__":
    main()
