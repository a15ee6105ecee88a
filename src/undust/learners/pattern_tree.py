"""Rules from the pattern tree of a site: Lei et al., WWW 2010.

The steps stand in files of their own: `build_tree` (section 5.1), `duplicate_nodes` (5.2.1), `node_rules`
(5.2.2 and 5.2.3), `written` (the rule language). Which rules are deployed is decided in `undust.selection`
(5.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from undust.learners.base import Learner
from undust.learners.build_tree import REST, Coded, Node, Tree, build_tree, render
from undust.learners.duplicate_nodes import Twins, duplicate_nodes
from undust.learners.gains import gains
from undust.learners.node_rules import Candidate, Options, candidates, conditions
from undust.learners.sample import Proof, Sample
from undust.learners.written import Writer
from undust.likeness import Site
from undust.likeness.labels import LEVELS
from undust.rules import Evidence, Rule, compile_rule
from undust.url import Column, SiteTable

__all__ = ["Grown", "PatternTree", "build_tree", "render"]


class PatternTree(Learner):
    """Look at a site from above: grow a tree of URL patterns, and map nodes that hold the same pages.

    URLs are split top down by the key (path segment, parameter, host label) of least entropy; values before
    the largest drop of its frequency curve are salient and make nodes, the others become a wildcard. Two
    nodes whose URLs lie in the same duplicate clusters make a rule: keys of the target with one value are
    written, wildcards are copied from the key of the source that shares its values, or ignored when the
    values make no difference. A rule that would make too many wrong pairs of the training URLs is dropped.

    Because a rule comes from whole nodes it needs no chain of pairs that differ in one key only, and a few
    missing or wrong labels do not matter.

    Parameters
    ----------
    min_overlap: share of two nodes' URLs in common clusters (o_min).
    min_sigma: share of common values for a key-key mapping (sigma_min).
    max_fpr: false pairs among the pairs a rule makes (fpr_max).
    max_differing: duplicates that differ in a copied key, above which it is ignored instead.
    min_members, noise: fewer URLs, or fewer than `noise` times the root of their group's size, make no node.
    max_salient: most values of a key that make nodes.
    frequencies: count a value in its node (`local`, Algorithm 1) or in the site (`global`, Figure 6).
    align: number path segments from the `start` (as the paper does), from the `end`, or `both` in turn.
    one_sided: ask for the overlap of the source's URLs alone.
    literal_sigma: count common values over the nodes, as printed, instead of cluster by cluster.
    by_url: hold the URLs that are merged wrongly to `max_fpr` too; a large cluster has most of the pairs.
    repair: take ignored keys back, one by one, while the rule makes too many wrong pairs.
    widen: leave conditions on absent keys out where the rule holds without them.
    cover: try no rule from a node below one from which a rule to the same target holds.
    tails: carry over the rest of a path, however long, where duplicates agree from some segment on.
    min_support: URLs a rule must bring together with one of their own cluster, and clusters (of a single one, pairs)
        that a key must have been seen not to matter in before it is ignored.
    min_tested: of the URLs a rule changes, the share that must meet another one: a rule that changes hundreds
        and was right on two is an accident.
    max_pairs, max_rules: the most promising pairs of nodes are tried, and the best rules returned.

    References
    ----------
    Lei, Cai, Yang, Ke, Fan, Zhang: *A Pattern Tree-based Approach to Learning URL Normalization Rules*,
    WWW 2010.
    """

    name = "pattern-tree"

    def __init__(
        self,
        *,
        min_overlap: float = 0.5,
        min_sigma: float = 0.5,
        max_fpr: float = 0.05,
        max_differing: float = 0.2,
        min_members: int = 3,
        noise: float = 0.25,
        max_salient: int = 100,
        frequencies: Literal["local", "global"] = "local",
        align: Literal["start", "end", "both"] = "both",
        one_sided: bool = True,
        literal_sigma: bool = False,
        by_url: bool = True,
        repair: bool = True,
        widen: bool = True,
        cover: bool = True,
        tails: bool = True,
        min_support: int = 2,
        min_tested: float = 0.05,
        max_keys: int = 96,
        max_pairs: int = 1000,
        max_rules: int = 1000,
    ) -> None:
        self.min_overlap = min_overlap
        self.min_sigma = min_sigma
        self.max_fpr = max_fpr
        self.max_differing = max_differing
        self.min_members = min_members
        self.noise = noise
        self.max_salient = max_salient
        self.frequencies = frequencies
        self.align = align
        self.one_sided = one_sided
        self.literal_sigma = literal_sigma
        self.by_url = by_url
        self.repair = repair
        self.widen = widen
        self.cover = cover
        self.tails = tails
        self.min_support = min_support
        self.min_tested = min_tested
        self.max_keys = max_keys
        self.max_pairs = max_pairs
        self.max_rules = max_rules

    def propose(self, site: Site) -> list[Rule]:
        """Qualified rules, those that add most to the ones before them first, none beside a more general one."""
        found: list[tuple[Grown, Candidate]] = []
        for grown in self.grow(site):
            found += ((grown, c) for c in (*self.qualified(self.raw(grown)), *self.unordered(grown)))
        # Many URLs brought together, few conditions, a short form to bring them to.
        found.sort(key=lambda one: (-one[1].proof.merged, len(one[1].when), one[0].length(one[1].target)))
        written = [[rule for rule, _ in grown.rules(candidate)] for grown, candidate in found]
        sayable = [i for i, rules in enumerate(written) if rules]
        gain = gains([(found[i][0].sample, found[i][1]) for i in sayable])
        ranked = sorted(range(len(sayable)), key=lambda i: -gain[i])
        rules = [rule for i in ranked for rule in written[sayable[i]]]
        return most_general(list({rule.id: rule for rule in rules}.values()))[: self.max_rules]

    def grow(self, site: Site) -> Iterator[Grown]:
        """The tree, or the two trees, of a site."""
        cluster = np.where(site.labels.soft, -1, site.labels.cluster).astype(np.int32)
        teaching = np.flatnonzero(cluster >= 0)
        for align in ("start", "end") if self.align == "both" else (self.align,):
            tree = self.tree(site, align, teaching)
            sample = Sample(tree, cluster, site.alive)
            yield Grown(site, tree, sample, Writer(sample, site.urls.tolist()))

    def tree(self, site: Site, align: str, rows: NDArray[np.int64]) -> Tree:
        """The tree of some URLs of a site, path segments numbered from one end."""
        keys, columns = key_columns(site.table, align, self.min_members, self.max_keys)
        return build_tree(
            keys,
            columns,
            rows,
            min_members=self.min_members,
            noise=self.noise,
            max_salient=self.max_salient,
            frequencies=self.frequencies,
        )

    def twins(self, grown: Grown) -> list[Twins]:
        """Duplicate nodes, at most `max_pairs` of them, those with most URLs in common."""
        found = duplicate_nodes(
            grown.tree, grown.sample.cluster, min_overlap=self.min_overlap, one_sided=self.one_sided
        )
        if len(found) > self.max_pairs:
            # A source half covered promises little: most of its URLs would go where none was seen.
            found.sort(key=lambda twins: -twins.common * twins.covered**4)
            found = sorted(found[: self.max_pairs], key=lambda twins: (twins.source.id, twins.target.id))
        return found

    def raw(self, grown: Grown) -> list[Candidate]:
        """The raw rules: one for each pair of duplicate nodes."""
        options = Options(
            optional=grown.writer.optional,
            min_sigma=self.min_sigma,
            max_differing=self.max_differing,
            min_support=self.min_support,
            literal_sigma=self.literal_sigma,
            max_fpr=self.max_fpr,
            by_url=self.by_url,
            repair=self.repair,
            widen=self.widen,
            cover=self.cover,
            tails=self.tails,
        )
        return list(candidates(grown.sample, self.twins(grown), options))

    def qualified(self, raw: list[Candidate]) -> list[Candidate]:
        """The raw rules that hold on the training sample."""
        return [c for c in raw if self.rate(c) <= self.max_fpr]

    def unordered(self, grown: Grown) -> Iterator[Candidate]:
        """Nodes with URLs that differ in the order of their parameters alone: to the tree they are one."""
        todo = [grown.tree.nodes[0]]
        while todo:
            node = todo.pop()
            when = conditions(grown.sample, node, {})
            same = Candidate(node, node, when, {}, proof=grown.sample.alike(node))
            if self.rate(same) <= self.max_fpr:
                yield same
            elif same.proof.merged >= self.min_support:
                todo += node.children

    def rate(self, candidate: Candidate) -> float:
        """The share of wrong merges a candidate is judged by; 1 where too few URLs bear it out."""
        proof = candidate.proof
        if proof.merged < self.min_support or proof.merged + proof.wrong < self.min_tested * proof.support:
            return 1.0
        return candidate.rate(by_url=self.by_url)


@dataclass(frozen=True)
class Grown:
    """A tree with all that is needed to make rules of it."""

    site: Site
    tree: Tree
    sample: Sample
    writer: Writer

    def length(self, node: Node) -> int:
        """How long a URL of the node is."""
        return len(self.site.urls[self.tree.rows(node)[0]])

    def rules(self, candidate: Candidate) -> Iterator[tuple[Rule, Proof]]:
        """The rule of a candidate, and the one that brings the target's own URLs to the same form.

        None where the rule language has no words for it, or where the rule would feed itself.
        """
        s, t, proof, ignored = candidate.source, candidate.target, candidate.proof, candidate.ignored
        written = self.writer.write(candidate)
        if written is None:
            return
        if not candidate.ops:
            written = written[0], {"query": "{query|sort}"}
        parts = [written]
        if s is not t and ignored:
            own = Candidate(t, t, conditions(self.sample, t, ignored), ignored)
            formatted = self.writer.write(own)
            if formatted is None:
                return
            parts.append(formatted)
        level = self._level(candidate)
        evidence = Evidence(level=level, support=proof.support, pairs=proof.pairs, false=proof.false)
        status = "likely" if level in ("url", "size") else "probable"
        rules = []
        for node, (when, do) in zip((s, t), parts, strict=False):
            rule = Rule(when=when, do=do, status=status, source=(PatternTree.name,), evidence=evidence)
            examples = tuple(self._examples(rule, node))
            if any(compile_rule(rule).apply(after) is not None for _, after in examples):
                return  # it would feed on what it writes
            rules.append(replace(rule, examples=examples))
        yield from ((rule, proof) for rule in rules)

    def _level(self, candidate: Candidate) -> str:
        """The weakest likeness among the URLs that are compared."""
        pairs = self.sample.pairs(candidate.source, candidate.target)
        rows = np.concatenate([pairs.u, pairs.v])
        levels: NDArray[np.uint8] = self.site.labels.level[rows]
        return LEVELS[int(levels.min(initial=len(LEVELS) - 1))]

    def _examples(self, rule: Rule, node: Node) -> Iterator[tuple[str, str]]:
        apply = compile_rule(rule).apply
        for row in self.tree.rows(node)[:3].tolist():
            after = apply(self.site.urls[row])
            if after is not None:
                yield self.site.urls[row], after


def most_general(rules: Iterable[Rule]) -> list[Rule]:
    """Rules without those that another one, with fewer of the same conditions, does the same as.

    >>> wide, narrow = (Rule(when=when, do={"query[sid]": None}) for when in ({}, {"query[t]": "{}"}))
    >>> [rule.describe() for rule in most_general([narrow, wide])]
    ['*: drop sid']
    """
    rules = list(rules)
    alike: dict[str, list[Rule]] = {}
    for rule in rules:
        alike.setdefault(repr(sorted(rule.do.items())), []).append(rule)
    covered = {
        rule.id
        for group in alike.values()
        for rule in group
        if any(len(o.when) < len(rule.when) and o.when.items() <= rule.when.items() for o in group)
    }
    return [rule for rule in rules if rule.id not in covered]


def key_columns(
    table: SiteTable, align: str, min_members: int, max_keys: int
) -> tuple[list[str], list[Coded]]:
    """Keys and columns for a tree: scheme, host labels, port, path positions from one end, parameters.

    Parameters that fewer than `min_members` URLs have, or beyond the `max_keys` most frequent keys, share one
    column: it keeps URLs apart that differ in them.
    """
    keys = [k for k in table.keys if not k.startswith("path[") or k.startswith("path[-") == (align == "end")]
    columns = {key: table.column(key) for key in keys}
    present = {key: int(np.count_nonzero(column.codes)) for key, column in columns.items()}
    fields = [k for k in keys if k.startswith(("query[", "matrix["))]
    fields.sort(key=lambda k: -present[k])
    spare = set(fields[max(max_keys - len(keys) + len(fields), 0) :])
    spare |= {k for k in fields if present[k] < min_members}
    kept: dict[str, Coded] = {key: column for key, column in columns.items() if key not in spare}
    if spare:
        kept[REST] = _together({key: columns[key] for key in keys if key in spare}, table.n)
    return list(kept), list(kept.values())


def _together(columns: dict[str, Column], n: int) -> Column:
    """Several columns as one."""
    texts: dict[int, str] = {}
    for key, column in columns.items():
        for row in np.flatnonzero(column.codes).tolist():
            texts[row] = texts.get(row, "") + f"&{key}={column.values[column.codes[row]]}"
    number: dict[str | None, int] = {None: 0}
    codes = np.zeros(n, np.int32)
    for row, text in texts.items():
        codes[row] = number.setdefault(text, len(number))
    return Column(codes, list(number))
