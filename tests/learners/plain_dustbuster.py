"""Phases 1 and 2 of DustBuster in plain Python, close to the papers' figures: oracle and benchmark rival.

Strings are the keys of dictionaries, as anybody would write it first; nothing is pruned, nothing is clever.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations

Pair = tuple[str, str]
Tokens = tuple[str, ...]
Rule = tuple[Tokens, Tokens, int, int]
"""a, b (tokens, the greater first), support with the small and with the large bucket threshold."""


def tokens(url: str) -> Tokens:
    return ("^", *re.findall(r"[0-9A-Za-z\x80-\U0010ffff]+|[\x00-\x7f]", url), "$")


def semiperiodic(a: Sequence[str]) -> bool:
    """a = g^k g' with g' a prefix of g and |g| < |a|: some proper beginning is also its end."""
    return any(a[:n] == a[len(a) - n :] for n in range(1, len(a)))


def greater_first(a: Tokens, b: Tokens) -> tuple[Tokens, Tokens]:
    return (a, b) if (len(a), "".join(a)) > (len(b), "".join(b)) else (b, a)


def detect(
    urls: Sequence[str],
    similar: Callable[[int, int], bool] = lambda u, v: True,
    *,
    max_substring: int = 35,
    bucket_low: int = 6,
    bucket_high: int = 11,
    crowd: int = 0,
    min_support: int = 3,
    literal: bool = False,
) -> list[Rule]:
    """DetectLikelyRules for both thresholds, ranked by low support, then longer a, then text."""
    buckets: defaultdict[Pair, list[tuple[int, int, int]]] = defaultdict(list)
    split = [tokens(url) for url in urls]
    for row, toks in enumerate(split):
        text = "".join(toks)
        cut = [0]
        for tok in toks:
            cut.append(cut[-1] + len(tok))
        for i in range(len(toks) + 1):
            prefix = text[: cut[i]]
            for j in range(i, min(i + max_substring, len(toks)) + 1):
                buckets[prefix, text[cut[j] :]].append((row, i, j))
    low: Counter[tuple[Tokens, Tokens]] = Counter()
    high: Counter[tuple[Tokens, Tokens]] = Counter()
    seen: set[tuple[Tokens, Tokens, int, int]] = set()
    seen_low: set[tuple[Tokens, Tokens, int, int]] = set()
    for bucket in buckets.values():
        if not 2 <= len(bucket) <= max(bucket_high, crowd):
            continue
        alike = [(s, t) for s, t in combinations(bucket, 2) if similar(s[0], t[0])]
        companions = Counter(member for pair in alike for member in pair)
        for s, t in alike:
            # In a crowd those similar to one of the two count as the bucket.
            size = len(bucket)
            if size > bucket_high:
                size = 1 + max(companions[s], companions[t])
            if size > bucket_high:
                continue
            (u, i, j), (v, k, l) = s, t
            a, b = greater_first(split[u][i:j], split[v][k:l])
            once = not literal and (not b or semiperiodic(a) or semiperiodic(b))
            instance = (a, b, min(u, v), max(u, v))
            if not (once and instance in seen):
                high[a, b] += 1
            if size <= bucket_low and not (once and instance in seen_low):
                low[a, b] += 1
                seen_low.add(instance)
            seen.add(instance)
    rules = [(a, b, n, high[a, b]) for (a, b), n in low.items() if n >= min_support]
    return sorted(rules, key=lambda r: rank(r, r[2]))


def rank(rule: Rule, support: int) -> tuple[int, int, str, str]:
    return -support, -len(rule[0]), "".join(rule[0]), "".join(rule[1])


def refines(fine: Rule, broad: Rule) -> bool:
    """Every occurrence of one side of the broad pair in a side of the fine pair is tried, both ways."""
    (a1, b1), (a, b) = fine[:2], broad[:2]
    return any(
        s1[n : n + len(s)] == s and s1[:n] + t + s1[n + len(s) :] == t1
        for s1, t1 in ((a1, b1), (b1, a1))
        for s, t in ((a, b),)
        for n in range(len(s1) - len(s) + 1)
    )


def eliminate(
    rules: list[Rule], *, relative: float = 0.05, absolute: int = 1, window: int = 1100
) -> list[Rule]:
    """EliminateRedundancies as printed, on high supports; ranked by low support again."""
    rules = sorted(rules, key=lambda r: rank(r, r[3]))
    gone = [False] * len(rules)
    for i, rule in enumerate(rules):
        if gone[i]:
            continue
        kill = False
        for j in range(i + 1, min(i + (window or len(rules)), len(rules) - 1) + 1):
            if rule[3] - rules[j][3] > max(relative * rule[3], absolute):
                break
            if gone[j]:
                continue
            if refines(rule, rules[j]):
                gone[j] = True
            elif refines(rules[j], rule):
                kill = True
                break
        gone[i] = kill
    return sorted((r for r, g in zip(rules, gone, strict=True) if not g), key=lambda r: rank(r, r[2]))
