"""From a rule in codes to a proposal: written, tried on the pairs it came from, and with its evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from undust.errors import BookError
from undust.learners.explain import DROP
from undust.learners.key_rule import Ignored, KeyRule, Score
from undust.learners.key_table import Ints
from undust.learners.key_writing import CannotWrite, Writer
from undust.likeness import Site
from undust.likeness.labels import LEVELS
from undust.rules import Evidence, Rule, compile_rule
from undust.url import key_view

_TRIED = 9


def proposal(
    writer: Writer, key_rule: KeyRule, score: Score, u: Ints, v: Ints, site: Site, source: str
) -> Rule | None:
    """The rule in the rule language; None if it cannot be said, or does something else to its own pairs."""
    level = LEVELS[int(site.labels.level[np.append(u, v)].min())]
    try:
        scope, when, do = writer.write(key_rule, score.rows)
        rule = Rule(
            scope,
            when,
            do,
            status="likely" if level in ("url", "size") else "probable",
            source=(source,),
            evidence=Evidence(level, score.coverage, score.pairs, score.false_pairs),
        )
        compiled = compile_rule(rule)
    except (CannotWrite, BookError):
        return None
    tried = np.unique(np.linspace(0, len(u) - 1, min(len(u), _TRIED)).astype(int))
    examples = []
    for i in tried.tolist():
        before, target = str(site.urls[u[i]]), str(site.urls[v[i]])
        after = compiled.apply(before)
        if after is not None and _as_meant(key_rule, writer, after, target):
            examples.append((before, after))
    return replace(rule, examples=tuple(examples[:3])) if 2 * len(examples) >= len(tried) else None


def _as_meant(rule: KeyRule, writer: Writer, after: str, target: str) -> bool:
    """Equal as functions of their keys, but for what the rule ignores and the order of the query."""
    one, two = key_view(after), key_view(target)
    path = any(isinstance(c.value, Ignored) for c in rule.changes if c.column < 0)
    free = {
        writer.table.columns[c.column] for c in rule.changes if isinstance(c.value, Ignored) and c.column >= 0
    }
    for change in rule.changes:
        if (
            change.column >= 0 and change.kind == DROP
        ):  # of an irrelevant key, perhaps: the target may have it
            key = writer.table.columns[change.column]
            if key in one:
                return False
            free.add(key)
    for view in (one, two):
        for key in [k for k in view if k == "query" or k in free or (path and k.startswith("path"))]:
            del view[key]
    return one == two
