"""Rules that are right one by one can be wrong together: the proof of a set of rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from undust.likeness import Site
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules

__all__ = ["holding", "ordered_book"]


def holding(rules: Sequence[Rule], site: Site, max_fpr: float) -> list[Rule]:
    """The rules without those through which the set merges too many URLs of a site wrongly.

    One rule drops a parameter where another one is absent, and a second rule makes it absent: alone, each was run
    only on URLs that met its conditions as they were. So the whole set is run, and while its false-positive rate
    (equation 3, which is defined for sets too; by URL where that is larger) is above `max_fpr`, the rule with the
    largest share of wrong merges among those it has a part in goes.

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> forms = ("", "&sid=7", "&sid=8", "&desc=1&sid=8")
    >>> urls = [f"http://a.example/?id={i}{form}" for i in range(9) for form in forms]
    >>> (site,) = split_sites(pa.table({"url": urls, "cluster": [f"{i // 4}{i % 4 == 3}" for i in range(36)]}))
    >>> session = Rule(do={"query[sid]": None})
    >>> order = Rule(when={"query[sid]": None}, do={"query[desc]": None})  # not one URL has desc and no sid
    >>> [rule.describe() for rule in holding([session, order], site, 0.05)]
    ['*: drop sid']
    """
    known = np.flatnonzero((site.labels.cluster >= 0) & ~site.labels.soft)
    urls = site.urls[known].tolist()
    cluster = site.labels.cluster[known].tolist()
    kept = list(rules)
    while kept:
        canonicalizer = Canonicalizer(ordered_book(kept, site), level="likely")
        groups: dict[str, list[int]] = defaultdict(list)
        for row, after in enumerate(canonicalizer.map(urls)):
            groups[after].append(row)
        pairs = false = right = wrong = 0
        good, bad = Counter[str](), Counter[str]()
        for rows in groups.values():
            if len(rows) < 2:
                continue
            sizes = Counter(cluster[row] for row in rows)
            n, largest = len(rows), max(sizes.values())
            pairs += n * (n - 1) // 2
            false += n * (n - 1) // 2 - sum(m * (m - 1) // 2 for m in sizes.values())
            right += largest - 1
            wrong += n - largest
            fired = {rule.id for row in rows for rule, _, _ in canonicalizer.explain(urls[row]).steps if rule}
            good.update(dict.fromkeys(fired, largest - 1))
            bad.update(dict.fromkeys(fired, n - largest))
        if not wrong or max(false / pairs, wrong / (wrong + right)) <= max_fpr or not any(bad.values()):
            break
        worst = max(
            kept, key=lambda rule: (bad[rule.id] / (bad[rule.id] + good[rule.id] + 1), bad[rule.id], rule.id)
        )
        kept.remove(worst)
    return kept


def ordered_book(rules: Sequence[Rule], site: Site) -> RuleBook:
    """A book of one site, its rules tried in the given order.

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> (site,) = split_sites(pa.table({"url": ["http://a.example:8080/"]}))
    >>> sorted(ordered_book([], site).sites["a.example:8080"].hosts)
    ['a.example', 'a.example:8080']
    """
    hosts = tuple({*site.hosts, *(host.rpartition(":")[0] or host for host in site.hosts)})
    ordered = [replace(rule, order=i) for i, rule in enumerate(rules)]
    return RuleBook({site.name: SiteRules(site.name, hosts, ordered)})
