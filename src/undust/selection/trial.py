"""What a rule would do to a site: which URLs it changes, what falls together, and whether that is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undust.learners.view import Bools, Ints, View
from undust.rules import CompiledRule, Rule, compile_rule
from undust.url import field_name, field_value

DOUBT = (
    0.2  # share of its merges that may be denied by labels that may be wrong, for this to count neither way
)


@dataclass(frozen=True)
class Trial:
    """A rule tried on a view. An *event* is a known page that falls together with another known one.

    `source[e]` is the form that is changed (or stays), `anchor[e]` the form it is compared with: the one that
    already stood where the rule leads, else one of the majority. `good`, `near`, `bad` say whether they show the
    same content, nearly the same (clock, counter, edit), or different content. `based`: the anchor stood there.
    """

    rule: Rule
    view: View
    rows: Ints  # forms the rule changes
    after: list[str]  # what they become
    source: Ints
    anchor: Ints
    good: Bools
    near: Bools
    based: Bools
    group: Ints
    lost: int  # contents whose last form would go (near ones apart)
    lost_near: int

    @property
    def bad(self) -> Bools:
        return ~(self.good | self.near)

    @cached_property
    def merges(self) -> int:
        """True merges: pages that fall together with their own content."""
        return int(self.good.sum())


def rows_for(view: View, compiled: CompiledRule) -> list[int]:
    """Forms on which the rule can fire at all, by its trigger."""
    trigger = compiled.trigger
    if trigger is None:
        return list(range(view.n))
    if trigger.kind == "query":
        found = [row for name in trigger.values for row in view.values.get(name, ())]
        return sorted(set(found)) if len(trigger.values) > 1 else found
    if trigger.kind == "path":
        return [row for path in trigger.values for row in view.rows_of_path.get(path, ())]
    hit = np.zeros(view.n, bool)
    for text in trigger.values:
        hit |= view.containing(text)
    return np.flatnonzero(hit).tolist()


def drops(rule: Rule, view: View) -> Callable[[int], str | None] | None:
    """The rule as a function of forms already taken apart, for the most frequent kind: it drops parameters.

    The same as the compiled rule in a fraction of the time; None for a rule of another kind.
    """
    names = {key[6:-1] for key in rule.do}
    if rule.scope.hosts or rule.scope.domain or any(v is not None for v in rule.do.values()):
        return None
    if not all(key.startswith("query[") for key in rule.do) or any(
        "#" in n or ";" in n or not n for n in names
    ):
        return None
    tests: list[tuple[str, str | None]] = []
    for key, condition in rule.when.items():
        if not key.startswith("query[") or "#" in key:
            return None
        if condition in ("{}", "{:rest}"):
            tests.append((key[6:-1], "*"))
        elif condition is None or (isinstance(condition, str) and not set(condition) & set("{}*")):
            tests.append((key[6:-1], condition))
        else:
            return None
    prefix = rule.scope.path
    if prefix is not None and not prefix.endswith("/"):
        return None

    def apply(i: int) -> str | None:
        _, path, fields = view.parts[i]
        if prefix is not None and not (path.startswith(prefix) or path + "/" == prefix):
            return None
        for name, wanted in tests:
            value = view.values.get(name, {}).get(i)
            if (value is None) if wanted == "*" else (value != wanted):
                return None
            # of a parameter with several values none is known
            if wanted not in ("*", None) and any(
                field_name(f) == name and (field_value(f) or "") != value for f in fields if f
            ):
                return None
        kept = [f for f in fields if field_name(f) not in names]
        if len(kept) == len(fields):
            return None
        head, _, rest = view.urls[i].partition("?")
        _, mark, fragment = rest.partition("#")
        separator = ";" if view.separators[0][i] == 1 else "&"
        return head + ("?" + separator.join(kept) if kept else "") + mark + fragment

    return apply


def trial(rule: Rule, view: View) -> Trial | None:
    """Try a rule; None when it changes nothing."""
    compiled = compile_rule(rule)
    rows, after = [], []
    apply = drops(rule, view) or (lambda i: view.after(i, compiled))
    for i in rows_for(view, compiled):
        new = apply(i)
        if new is not None and new != view.urls[i]:
            rows.append(i)
            after.append(new)
    return outcome(rule, view, rows, after)


def outcome(rule: Rule, view: View, rows: list[int], after: list[str]) -> Trial | None:
    """What comes of it when these forms become others; None when none does."""
    if not rows:
        return None
    changed = np.zeros(view.n, bool)
    changed[rows] = True
    code: dict[str, int] = {}
    group = [code.setdefault(u, len(code)) for u in after]
    base = np.full(len(code), -1, np.int64)
    for url, g in code.items():
        at = view.index.get(url, -1)
        if at >= 0 and not changed[at]:
            base[g] = at
    standing = np.flatnonzero(base >= 0)
    member = np.r_[np.array(rows, np.int64), base[standing]]
    groups = np.r_[np.array(group, np.int64), standing]
    known = (view.cluster[member] >= 0) & ~view.soft[member]
    member, groups = member[known], groups[known]
    return _events(rule, view, np.array(rows, np.int64), after, member, groups, base)


def _events(
    rule: Rule, view: View, rows: Ints, after: list[str], member: Ints, groups: Ints, base: Ints
) -> Trial:
    cluster = view.cluster[member]
    # anchor of each group: its standing form if that is known, else the first form of its majority cluster
    anchor = np.full(len(base), -1, np.int64)
    lost_of = np.zeros(len(base), np.int64)
    if len(member):
        order = np.lexsort((member, cluster, groups))
        g, c, m = groups[order], cluster[order], member[order]
        starts = np.flatnonzero(np.r_[True, (g[1:] != g[:-1]) | (c[1:] != c[:-1])])
        counts = np.diff(np.r_[starts, len(g)])
        rank = np.lexsort((c[starts], -counts, g[starts]))
        who, first = np.unique(g[starts][rank], return_index=True)
        anchor[who] = m[starts[rank[first]]]
        lost_of[who] = np.bincount(g[starts], minlength=len(base))[who] - 1
    fixed = (base >= 0) & (view.cluster[base] >= 0) & ~view.soft[base]
    anchor[fixed] = base[fixed]
    is_event = member != anchor[groups]
    source, group = member[is_event], groups[is_event]
    target = anchor[group]
    good = view.cluster[source] == view.cluster[target]
    near = np.zeros(len(source), bool)
    if len(wrong := np.flatnonzero(~good)):
        alike = view.resemblance(source[wrong], target[wrong])
        near[wrong] = np.nan_to_num(alike, nan=0.0) >= view.nearness[source[wrong]]
        # where texts cannot be told apart and nothing else says they are equal, nothing is known
        told = np.ones(len(source), bool)
        told[wrong[np.isnan(alike)]] = False
        denied = wrong[~near[wrong] & told[wrong]]
        doubt = denied[view.doubtful(source[denied], target[denied])]
        if len(doubt) <= DOUBT * good.sum():
            told[doubt] = False
        source, target, group, good, near = (x[told] for x in (source, target, group, good, near))
    # a content counts once however many of its forms would go; near ones are those that are never plainly wrong
    wrong = np.unique(view.cluster[source[~(good | near)]])
    close = np.setdiff1d(view.cluster[source[near]], wrong)
    return Trial(
        rule=rule,
        view=view,
        rows=rows,
        after=after,
        source=source,
        anchor=target,
        good=good,
        near=near,
        based=fixed[group],
        group=group,
        lost=len(wrong),
        lost_near=len(close),
    )
