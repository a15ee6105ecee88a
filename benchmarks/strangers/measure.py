"""How well a mapping of URLs does against the truth: the figures of the docs, and which merges are wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Score:
    """Soft pages aside: see `docs/measures.md`. `wrong` lists a URL, one of its key's majority, and the key."""

    pages: int = 0
    contents: int = 0
    true: int = 0
    pairs: int = 0
    false_pairs: int = 0
    lost: int = 0
    wrong: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def ceiling(self) -> float:
        return 1 - self.contents / self.pages if self.pages else 0.0

    @property
    def reached(self) -> float:
        return self.true / (self.pages - self.contents) if self.pages > self.contents else 0.0

    @property
    def fpr(self) -> float:
        return self.false_pairs / self.pairs if self.pairs else 0.0


def score(keys: Mapping[str, str], cluster: Mapping[str, int]) -> Score:
    """Measure a mapping on the URLs of `cluster`; a URL that is not in the mapping stays as it is.

    >>> s = score({"a": "k", "b": "k", "c": "k"}, {"a": 1, "b": 1, "c": 2, "d": 2})
    >>> s.true, s.false_pairs, s.pairs, s.lost, s.wrong
    (1, 2, 3, 0, [('c', 'a', 'k')])
    """
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for url in cluster:
        groups[keys.get(url, url)].append(url)
    out = Score(pages=len(cluster), contents=len(set(cluster.values())))
    survive = set()
    for key, urls in groups.items():
        count = Counter(cluster[u] for u in urls)
        top = max(count.values())
        majority = min(c for c, n in count.items() if n == top)
        survive.add(majority)
        out.true += top - 1
        n = len(urls)
        out.pairs += n * (n - 1) // 2
        out.false_pairs += n * (n - 1) // 2 - sum(v * (v - 1) // 2 for v in count.values())
        if n > top:
            anchor = next(u for u in urls if cluster[u] == majority)
            out.wrong += [(u, anchor, key) for u in urls if cluster[u] != majority]
    out.lost = out.contents - len(survive)
    return out
