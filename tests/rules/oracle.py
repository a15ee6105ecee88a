"""The rule language read literally, one rule after the other: what the fast canonicalizer must agree with."""

from __future__ import annotations

from undust.rules import MutableUrl, compile_rule
from undust.url import normal

ROUNDS = 10


def canonical(url: str, rules_of, with_normal: bool = True) -> str:
    """`rules_of(url)`: the rules for the URL's host in order of application, None for an unknown host."""
    if rules_of(url) is None:
        return url
    clean = normal if with_normal else str
    start = clean(url)
    limit = MutableUrl(start).limit
    seen = [start]
    for _ in range(ROUNDS):
        u = MutableUrl(seen[-1], limit)
        rules = list(rules_of(seen[-1]) or ())
        while rules:
            rule = rules.pop(0)
            compiled = compile_rule(rule)
            fired = compiled.covers(u) and compiled.apply_parsed(u)
            if u.overlong or len(str(u)) > limit:
                return start
            if fired:
                u = MutableUrl(str(u), limit)  # read anew: nothing may hang on how the URL was written
                # Perhaps another host now: those of its rules that come after.
                rules = [other for other in rules_of(str(u)) or () if other.rank > rule.rank]
        now = clean(str(u))
        if now == seen[-1]:
            return now
        if now in seen:
            return min(seen[seen.index(now) :], key=lambda v: (len(v), v))
        seen.append(now)
    return start
