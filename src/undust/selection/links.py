"""Rules as links between groups of URLs: what the naive and the graph selection work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from undust.learners.build_tree import ANY
from undust.learners.node_rules import Candidate
from undust.learners.pattern_tree import Grown
from undust.likeness import Site
from undust.rules import Rule, compile_rule

__all__ = ["Groups", "Link", "rule_links", "tree_links"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Link:
    """A rule from one group of URLs to another; within one group (`source` = `target`) it is a self rule.

    `source`, `target`: row numbers in ascending order. `format`: what the target's own URLs need, so that the
    rewritten ones meet them.
    """

    rule: Rule
    source: Ints
    target: Ints
    fpr: float
    support: int
    format: Rule | None = None


def tree_links(
    grown: Grown, candidates: Iterable[Candidate], rate: Callable[[Candidate], float]
) -> Iterator[Link]:
    """The candidates of a pattern tree that the rule language can express.

    The source is all URLs that meet the rule's conditions: its node's, or more where the rule was widened.
    The target is all URLs of the form it writes. `rate`: what counts as a candidate's false-positive rate.
    """
    for candidate in candidates:
        rules = [rule for rule, _ in grown.rules(candidate)]
        if rules:
            source = np.sort(grown.sample.matching(candidate.source, candidate.when))
            yield Link(
                rules[0],
                source,
                source if candidate.source is candidate.target else _landing(grown, candidate),
                rate(candidate),
                candidate.proof.support,
                rules[1] if len(rules) > 1 else None,
            )


def _landing(grown: Grown, candidate: Candidate) -> Ints:
    """URLs of the form that a rule writes, whatever they have where the form ignores it.

    Not the target node alone: a rule that was widened leads to as many forms as it starts from, and would seem to
    lead from a popular format to a rare one.
    """
    ops = candidate.ops
    after = {key: code for key, code in candidate.when.items() if key not in ops}
    for key, op in ops.items():
        if op.kind != "ignore":
            after[key] = ANY if op.kind == "replace" else op.value
    rows = grown.sample.matching(grown.tree.nodes[0], after)
    return np.sort(rows if len(rows) else grown.tree.rows(candidate.target))


def rule_links(rules: Iterable[Rule], site: Site) -> Iterator[Link]:
    """Any rules as links, by running them on a site's labelled URLs.

    The source is what a rule changes, the target the seen URLs it leads to; where it leads to URLs that were
    not seen, the source is its own target. Pairs are counted among the labelled URLs, soft clusters apart.
    """
    urls = site.urls.tolist()
    index = {url: row for row, url in enumerate(urls)}
    cluster = np.where(site.labels.soft, -1, site.labels.cluster).astype(np.int64)
    for rule in rules:
        apply = compile_rule(rule).apply
        after = {row: new for row, url in enumerate(urls) if (new := apply(url)) is not None}
        if not after:
            continue
        source = np.array(list(after))
        target = np.unique([index[new] for new in after.values() if new in index]).astype(np.int64)
        forms: dict[str, list[int]] = {}
        for row, new in after.items():
            forms.setdefault(new, []).append(row)
        for new, rows in forms.items():
            if new in index and index[new] not in after:
                rows.append(index[new])
        pairs, false = _pairs(forms.values(), cluster)
        yield Link(
            rule, source, target if len(target) else source, false / pairs if pairs else 0.0, len(source)
        )


def _pairs(groups: Iterable[Sequence[int]], cluster: Ints) -> tuple[int, int]:
    """Support pairs and false-positive pairs of rows that have become one string."""
    pairs = false = 0
    for rows in groups:
        known = cluster[list(rows)]
        known = known[known >= 0]
        each = np.unique(known, return_counts=True)[1]
        n = len(known)
        pairs += n * (n - 1) // 2
        false += n * (n - 1) // 2 - int((each * (each - 1) // 2).sum())
    return pairs, false


class Groups:
    """The distinct groups of some links: `source[i]` and `target[i]` number those of link i."""

    def __init__(self, links: Sequence[Link]) -> None:
        number: dict[bytes, int] = {}
        self.rows: list[Ints] = []

        def of(rows: Ints) -> int:
            at = number.setdefault(rows.tobytes(), len(self.rows))
            if at == len(self.rows):
                self.rows.append(rows)
            return at

        self.source = [of(link.source) for link in links]
        self.target = [of(link.target) for link in links]
        self.volume = np.array([len(rows) for rows in self.rows], np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def leads(self, target: int, source: int) -> bool:
        """Whether the URLs of a target are URLs of a source."""
        return target == source or bool(self.above[source, target])

    @cached_property
    def above(self) -> NDArray[np.bool_]:
        """`above[a, b]`: group a holds all of group b and more."""
        n = 1 + max((int(rows[-1]) for rows in self.rows if len(rows)), default=0)
        bits = np.zeros((len(self), (n + 7) // 8), np.uint8)
        for at, rows in enumerate(self.rows):
            mask = np.zeros(n, bool)
            mask[rows] = True
            bits[at] = np.packbits(mask)
        found = np.zeros((len(self), len(self)), bool)
        for a in range(len(self)):
            smaller = np.flatnonzero(self.volume < self.volume[a])
            found[a, smaller] = ~(bits[smaller] & ~bits[a]).any(axis=1)
        return found
