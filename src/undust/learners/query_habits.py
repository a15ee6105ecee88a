"""Queries that say the same: order, separators, empty fields.

To both papers a URL is a function from keys to values, so `?a=1&b=2` and `?b=2&a=1&` are one URL before
anything is learned. To a browser they are not: what the representation takes for granted is proposed as a
rule of its own, where the site's pages bear it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from undust.learners.key_rule import Score, score_groups
from undust.learners.key_table import Ints, KeyTable, mix
from undust.likeness import Site
from undust.likeness.labels import LEVELS
from undust.rules import Evidence, Rule, compile_rule

HABITS = ("noempty", "amp", "semi", "sort")


def query_habits(table: KeyTable, cluster: Ints, site: Site, source: str) -> Iterator[tuple[Rule, Score]]:
    """Rules under which URLs of equal keys become one, single habits before several at once.

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> from undust.url import SiteTable
    >>> urls = [f"http://a.example/p?{q}" for i in (1, 2) for q in (f"i={i}&j=1", f"j=1&i={i}")]
    >>> (site,) = split_sites(pa.table({"url": urls, "cluster": ["1", "1", "2", "2"]}))
    >>> found = query_habits(KeyTable(site.table), site.labels.cluster.astype(int), site, "pairwise")
    >>> [(rule.describe(), score.true) for rule, score in found]
    [('*: set query to {query|sort}', 2)]
    """
    _, same, count = np.unique(table.identity, return_inverse=True, return_counts=True)
    twins = np.flatnonzero((count[same] > 1) & (cluster >= 0))
    if not len(twins):
        return
    now = {int(i): str(site.urls[i]) for i in twins}
    for size in (1, 2, 3):
        for habit in combinations(HABITS, size):
            left = _merges(now, now, cluster)
            if not left:
                return
            rule = Rule(do={"query": f"{{query|{'|'.join(habit)}}}"})
            compiled = compile_rule(rule)
            after = {i: compiled.apply(url) or url for i, url in now.items()}
            if _merges(now, now, cluster) - _merges(after, after, cluster) < 2:
                continue
            score = _score(rule, site, cluster)
            level = LEVELS[int(site.labels.level[twins].min())]
            examples = [(now[i], after[i]) for i in now if now[i] != after[i]]
            evidence = Evidence(level, score.coverage, score.pairs, score.false_pairs)
            status = "likely" if level in ("url", "size") else "probable"
            yield (
                Rule(
                    do=rule.do,
                    status=status,
                    source=(source,),
                    evidence=evidence,
                    examples=tuple(examples[:3]),
                ),
                score,
            )
            now = after


def _merges(urls: dict[int, str], all_: dict[int, str], cluster: Ints) -> int:
    """Distinct URLs beyond one per cluster and set of keys: what is still to be merged."""
    return len({(u, int(cluster[i])) for i, u in urls.items()}) - len({int(cluster[i]) for i in all_})


def _score(rule: Rule, site: Site, cluster: Ints) -> Score:
    compiled = compile_rule(rule)
    before = [str(u) for u in site.urls]
    after = [compiled.apply(u) or u for u in before]
    number = np.unique(np.array(after, object), return_inverse=True)[1].astype(np.int64)
    rows = np.flatnonzero(np.fromiter((a != b for a, b in zip(after, before, strict=True)), bool, len(after)))
    touched = np.isin(number, number[rows])
    return score_groups(rows, mix(number[rows]), np.flatnonzero(touched), number[touched], cluster)
