"""The graph-based selection of deployable rules (Lei et al., section 5.3): choose destinations, not rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from undust.rules import Rule, compile_rule
from undust.selection.chain import concatenate
from undust.selection.links import Groups, Link
from undust.selection.naive import circle, deployed

__all__ = ["energy", "graph"]


def graph(links: Sequence[Link], urls: Sequence[str] = ()) -> list[Rule]:
    """Let the URLs of each group flow along the rules: where most arrives are the canonical formats.

    A group keeps the rule to its target of highest energy, and only if that is higher than its own: so no
    rules form a circle and none starts at a destination. A chain of rules becomes one direct rule where the
    language has words for it and, with `urls` given, where the direct rule does the same to the first URLs of
    its source. Self rules stay in the groups from which no rule leads away, unless one of a larger group does
    as much.

    >>> def link(do, source, target):
    ...     return Link(Rule(do=do), np.array(source), np.array(target), 0.0, len(source))
    >>> chain = [link({"query[a]": None}, [0], [1, 2]), link({"query[b]": None}, [1, 2], [3, 4, 5])]
    >>> back = link({"query[b]": "1"}, [3, 4, 5], [1, 2])
    >>> [rule.describe() for rule in graph([*chain, back])]
    ['*: drop b', '*: drop a, drop b']
    """
    groups = Groups(links)
    flow = energy(links, groups).round(8)  # what the walk is exact to
    rank = np.argsort(np.lexsort((-np.arange(len(groups)), groups.volume, flow)))
    away: dict[int, int] = {}  # group -> the link that leads from it
    own: dict[int, int] = {}  # group -> its self rule
    for i in sorted(range(len(links)), key=lambda i: (links[i].fpr, -links[i].support, links[i].rule.id)):
        s, t = groups.source[i], groups.target[i]
        if groups.leads(t, s):  # a rule that ends where it begins
            own.setdefault(s, i)
        elif rank[t] > rank[s] and (s not in away or rank[t] > rank[groups.target[away[s]]]):
            away[s] = i
    while found := circle(set(away.values()), groups):
        least = min(found, key=lambda i: (rank[groups.target[i]], links[i].support, links[i].rule.id))
        del away[groups.source[least]]

    def onward(group: int) -> int | None:
        """The link that leads on from a group's URLs; of several the one with the narrowest source."""
        at = [g for g in away if groups.leads(group, g)]
        return away[min(at, key=lambda g: (groups.volume[g], g))] if at else None

    def stay() -> dict[int, int]:
        """The self rules of groups from which nothing leads on.

        One may end in a part of its group: not if that part leads on, perhaps back to the group.
        """
        return {g: i for g, i in own.items() if onward(g) is None and onward(groups.target[i]) is None}

    # where a self rule of a larger group takes away all that tells two groups apart, none need lead to the other
    wide = stay()
    away = {
        g: i
        for g, i in away.items()
        if not any(
            groups.leads(g, h)
            and groups.leads(groups.target[i], h)
            and _as_much(links[j].rule, links[i].rule)
            for h, j in wide.items()
        )
    }
    own = stay()
    chosen = [
        links[i]
        for g, i in own.items()
        if not any(groups.above[h, g] and _as_much(links[j].rule, links[i].rule) for h, j in own.items())
    ]
    for first in away.values():
        direct, last = links[first].rule, first
        seen = [urls[row] for row in links[first].source[:20]] if len(urls) else []
        while (further := onward(groups.target[last])) is not None:
            longer = concatenate(direct, links[further].rule)
            if longer is None or not _same(direct, links[further].rule, longer, seen):
                break
            direct, last = longer, further
        kept = links[last].format if further is None else None
        if kept is not None and any(
            groups.leads(groups.target[last], h) and _as_much(links[j].rule, kept) for h, j in own.items()
        ):
            kept = None
        chosen.append(replace(links[first], rule=direct, format=kept))
    return deployed(sorted(chosen, key=lambda link: (-link.support, link.rule.id)))


def energy(links: Sequence[Link], groups: Groups) -> NDArray[np.float64]:
    """The stable distribution of the flow that starts with each group's volume (equation 7).

    An edge for a rule weighs 1 - fpr, one from a group to a group that holds it 1. The walk is lazy, so that
    a circle cannot swing for ever, and a group without an edge keeps what it has.

    >>> link = Link(Rule(do={"query[a]": None}), np.array([0]), np.array([1, 2]), 0.0, 1)
    >>> energy([link], Groups([link])).round(6).tolist()
    [0.0, 1.0]
    """
    weight: dict[tuple[int, int], float] = {}
    for link, s, t in zip(links, groups.source, groups.target, strict=True):
        if s != t:
            weight[s, t] = max(weight.get((s, t), 0.0), 1 - link.fpr)
    for a, b in np.argwhere(groups.above).tolist():
        weight[b, a] = 1.0
    now: NDArray[np.float64] = groups.volume / max(groups.volume.sum(), 1)
    if not weight:
        return now
    s, t = np.array(list(weight)).T
    w = np.array(list(weight.values()))
    total = np.bincount(s, w, len(groups))
    p = w / np.where(total > 0, total, 1)[s]
    staying = np.where(total > 0, 0.5, 1.0)
    for _ in range(1000):
        before, now = now, now * staying + np.bincount(t, 0.5 * now[s] * p, len(groups))
        if np.abs(now - before).sum() < 1e-9:
            break
    return now


def _as_much(wide: Rule, narrow: Rule) -> bool:
    """Whether a self rule does all that the other rule does: what it drops makes no difference any more."""
    return all(key in wide.do and wide.do[key] in (None, action) for key, action in narrow.do.items())


def _same(first: Rule, second: Rule, direct: Rule, urls: Sequence[str]) -> bool:
    one, two, both = (compile_rule(rule).apply for rule in (first, second, direct))
    for url in urls:
        middle = one(url) or url
        if (two(middle) or middle) != (both(url) or url):
            return False
    return True
