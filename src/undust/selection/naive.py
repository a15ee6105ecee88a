"""The straightforward selection of deployable rules (Lei et al., section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from undust.rules import Rule, conflicts
from undust.selection.links import Groups, Link

__all__ = ["circle", "deployed", "naive"]


def naive(links: Sequence[Link]) -> list[Rule]:
    """Resolve redundancy and conflict rule by rule.

    (a) Of the rules with one source keep the one with the smallest false-positive rate. (b) Drop a rule whose
    source lies within that of another one: the more general rule covers it. (c) While rules form a circle,
    drop the one of it that normalizes fewest URLs.

    >>> import numpy as np
    >>> def link(name, source, target, fpr, support):
    ...     return Link(Rule(do={f"query[{name}]": None}), np.array(source), np.array(target), fpr, support)
    >>> circle = [link("a", [0, 1], [2, 3], 0.0, 2), link("b", [2, 3], [0, 1], 0.0, 1)]
    >>> [rule.describe() for rule in naive([*circle, link("c", [0, 1], [4], 0.1, 2)])]
    ['*: drop a']
    """
    groups = Groups(links)
    best: dict[int, int] = {}
    for i in sorted(range(len(links)), key=lambda i: (links[i].fpr, -links[i].support, links[i].rule.id)):
        best.setdefault(groups.source[i], i)
    sources = sorted(best)
    kept = {i for source, i in best.items() if not groups.above[sources, source].any()}
    while found := circle(kept, groups):
        kept.remove(min(found, key=lambda i: (links[i].support, links[i].rule.id)))
    chosen = sorted(kept, key=lambda i: (-links[i].support, links[i].rule.id))
    return deployed([links[i] for i in chosen])


def deployed(links: Sequence[Link]) -> list[Rule]:
    """The rules of the links, with those that their targets' own URLs need; of two that clash the first stays.

    Two targets can name different representatives for a value they ignore under the same conditions: what the
    rule book would refuse, and one of the two is enough.
    """
    found = [rule for link in links for rule in (link.rule, link.format) if rule is not None]
    rules = {rule.id: rule for rule in found}
    place = {rule: i for i, rule in enumerate(rules)}
    for clash in list(conflicts(rules.values())):
        if clash.first.id in rules and clash.second.id in rules:
            del rules[max(clash.first.id, clash.second.id, key=place.__getitem__)]
    return list(rules.values())


def circle(kept: set[int], groups: Groups) -> list[int] | None:
    """Some rules of which each ends where the next one begins, the last one where the first does."""
    follows = {
        i: [j for j in sorted(kept) if j != i and groups.leads(groups.target[i], groups.source[j])]
        for i in sorted(kept)
        if groups.source[i] != groups.target[i]
    }
    done: set[int] = set()
    for start in follows:
        path: list[int] = []
        todo = [(start, 0)]
        while todo:
            at, depth = todo.pop()
            del path[depth:]
            if at in path:
                return path[path.index(at) :]
            if at in done:
                continue
            path.append(at)
            nexts = [j for j in follows.get(at, ()) if j in follows]
            todo += [(j, depth + 1) for j in nexts]
        done |= set(path) | {start}
    return None
