"""What has to be rewritten to bring the URLs of one node to the form of another.

Key-key mappings (Algorithm 3), the operations keep, replace and ignore, and one raw rule for each pair of
duplicate nodes, run on the training sample.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from undust.learners.build_tree import ANY, MAYBE, REST, Node
from undust.learners.duplicate_nodes import Twins
from undust.learners.sample import Conditions, Operation, Operations, Pairs, Proof, Sample, prove

__all__ = ["Candidate", "candidates", "conditions", "operations", "without_ignored"]


class Tail(NamedTuple):
    """Paths that are the same beyond the first `source` segments here and the first `target` segments there."""

    source: int
    target: int


class Candidate(NamedTuple):
    """A rule between two nodes (or within one), as conditions and operations on codes."""

    source: Node
    target: Node
    when: Conditions
    ops: Operations
    tail: Tail | None = None
    proof: Proof = Proof(0, 0, 0, 0, 0)

    @property
    def ignored(self) -> Operations:
        """What the target's own URLs need, to meet the rewritten ones: its ignored keys."""
        return {key: op for key, op in self.ops.items() if op.kind == "ignore"}

    def parts(self, sample: Sample) -> list[tuple[Node, Conditions, Operations]]:
        """What is done to which URLs: those of the source, and the target's own."""
        own = self.ignored if self.source is not self.target else {}
        added = {
            key: Operation("keep", op.value)
            for key, op in self.ignored.items()
            if self.source.pattern[key] == 0
        }
        parts = [(self.source, self.when, {**self.ops, **added})]
        return parts + ([(self.target, conditions(sample, self.target, own), own)] if own else [])

    def rate(self, *, by_url: bool) -> float:
        """The share of false pairs (equation 3) or, if larger and `by_url`, of URLs merged wrongly."""
        return max(self.proof.fpr, self.proof.wrong_share) if by_url else self.proof.fpr


class Options(NamedTuple):
    """How candidates are made; see `PatternTree` for what the figures mean."""

    optional: Collection[int]  # keys a URL can be without
    min_sigma: float = 0.5
    max_differing: float = 0.2
    min_support: int = 2
    literal_sigma: bool = False
    max_fpr: float = 0.05
    by_url: bool = True
    repair: bool = True
    widen: bool = True
    cover: bool = True
    tails: bool = True
    at_most: int | None = 5_000  # URLs on which a candidate is tried

    def holds(self, candidate: Candidate) -> bool:
        return candidate.rate(by_url=self.by_url) <= self.max_fpr


def candidates(sample: Sample, twins: Iterable[Twins], options: Options) -> Iterator[Candidate]:
    """One raw rule for each pair of duplicate nodes that changes a URL and merges two.

    `repair`: while a rule makes too many wrong pairs, the ignored key without which it makes least is left as
    it is: one key that matters need not cost the others. `widen`: a rule is freed of conditions without which it
    holds. `cover`: where a rule holds, none is tried from the nodes below its source to the same target, nor the
    same one under narrower conditions. `twins` come in preorder of their sources.
    """
    holds: dict[int, list[Node]] = {}  # target -> sources from which a rule leads to it
    known: dict[frozenset[tuple[int, Operation]], list[Conditions]] = {}  # operations -> where they hold
    for s, t, *_ in twins:
        if options.cover and s is not t and any(above.above(s) for above in holds.get(t.id, ())):
            continue
        ops, tail = operations(sample, s, t, options)
        if s is t:
            ops = {key: op for key, op in ops.items() if op.kind == "ignore"}
        if not ops:
            continue
        ops = without_ignored(sample, t, ops, options.optional)
        when = conditions(sample, s, ops, tail)
        if options.cover and any(_covers(wide, when) for wide in known.get(frozenset(ops.items()), ())):
            continue
        raw = _proved(sample, Candidate(s, t, when, ops, tail), options)
        if options.repair:
            raw = _repaired(sample, raw, options)
        if options.holds(raw):
            if options.widen:
                raw = _widened(sample, raw, options)
            known.setdefault(frozenset(raw.ops.items()), []).append(raw.when)
            if s is not t:
                holds.setdefault(t.id, []).append(s)
        if raw.proof.pairs:
            yield raw


def conditions(
    sample: Sample, s: Node, ops: Operations, tail: Tail | None = None, *, bound: bool = True
) -> dict[int, int]:
    """The pattern of a node as conditions: its values, what is always there, and absences that were decided.

    A key that has one value all over the site says nothing. Absences that nobody decided are left out, but
    not in a path: the number of its segments counts, unless there is a tail that is carried over whatever it is.
    `bound=False`: only absences that the operations need.
    """
    tree = sample.tree
    everywhere = tree.nodes[0].pattern
    decided = (s.split_keys() if bound else set()) | ops.keys()
    when = {}
    for key, code in enumerate(s.pattern.tolist()):
        path = tree.keys[key].startswith("path[")
        if code == MAYBE or tree.keys[key] == REST or (everywhere[key] >= 0 and not path):
            continue
        if code != 0 or path or key in decided:
            when[key] = code
    for distance, key in enumerate(sample.path if tail is not None else ()):
        if tail is not None and distance >= tail.source:
            when.pop(key, None)
            if distance == tail.source and sample.from_start:
                when[key] = ANY
    return when


def _covers(wide: Conditions, narrow: Conditions) -> bool:
    """Whether URLs that meet the narrow conditions meet the wide ones too."""
    return all(
        narrow.get(key) == code or (code == ANY and narrow.get(key, 0) > 0) for key, code in wide.items()
    )


def _repaired(sample: Sample, raw: Candidate, options: Options) -> Candidate:
    """The candidate with as few ignored keys left as they are as are needed for the rule to hold."""
    while not options.holds(raw):
        spare = [key for key in raw.ignored if raw.source.pattern[key] != 0]
        if not spare or len(raw.ops) < 2:
            break
        tries = []
        for key in spare:
            ops = {k: op for k, op in raw.ops.items() if k != key}
            tries.append(_proved(sample, raw._replace(ops=ops), options))
        raw = min(tries, key=lambda one: (one.proof.fpr + one.proof.wrong_share, -one.proof.merged))
    return raw._replace(when=conditions(sample, raw.source, raw.ops, raw.tail))


def _widened(sample: Sample, raw: Candidate, options: Options) -> Candidate:
    """The candidate under as few conditions as it holds with: first the absences, then one value after the other."""
    free = conditions(sample, raw.source, raw.ops, raw.tail, bound=False)
    wide = _proved(sample, raw._replace(when=free), options)
    if options.holds(wide) and wide.proof.merged >= raw.proof.merged:
        raw = wide
    for key in [key for key, code in raw.when.items() if code > 0 and key not in raw.ops]:
        wide = _proved(sample, raw._replace(when={**raw.when, key: ANY}), options)
        if options.holds(wide) and wide.proof.merged > raw.proof.merged:
            raw = wide
    return raw


def _proved(sample: Sample, raw: Candidate, options: Options) -> Candidate:
    """The candidate, run on all URLs that meet its conditions; the target's own are brought to its form."""
    parts = []
    covered = sample.none.copy()
    for node, when, ops in raw.parts(sample):
        rows = sample.matching(node, when)
        parts.append((rows[~covered[rows]], ops))
        covered[rows] = True
    return raw._replace(proof=prove(sample, parts, at_most=options.at_most))


def operations(
    sample: Sample, s: Node, t: Node, options: Options
) -> tuple[dict[int, Operation], Tail | None]:
    """The operations that turn a URL of `s` into the format of `t`; keys that stay as they are have none.

    A key of `t` with one value is kept: that value is written. A key with several is replaced by the key of
    `s` that shares most values with it, if more than `min_sigma` of them, and ignored if there is none. A
    replacement is fake, and becomes ignore, when more than `max_differing` of the duplicates differ in it:
    about none do in a true identifier, about half with two mirrors. A key is ignored only if duplicates of
    `min_support` clusters differ in it, or so many pairs where there is one cluster.

    Sharing is counted by cluster: the share of common clusters in which the two keys have a value in common;
    two different keys that are both absent have none.
    `literal_sigma`: as printed, the share of the target's values that also are values of the source.

    Where paths of duplicates differ in length but agree from some segment on, that tail is replaced as a whole.
    """
    pairs = sample.pairs(s, t)
    if not len(pairs.u):
        return {}, None
    source = np.flatnonzero(s.pattern != 0).tolist()
    ops: dict[int, Operation] = {}
    tail = _common_tail(sample, s, t, pairs) if options.tails and s is not t else None
    if tail is not None:
        for distance in range(tail.target, len(sample.path)):
            at = distance - tail.target + tail.source
            moved = Operation("replace", sample.path[at]) if at < len(sample.path) else Operation("keep", 0)
            ops[sample.path[distance]] = moved
    for key in range(len(sample.tree.keys)):
        if key in ops:
            continue
        here, there = int(s.pattern[key]), int(t.pattern[key])
        if there >= 0:
            if here != there:
                ops[key] = Operation("keep", there)
            continue
        sigma, copied = _best_mapping(sample, s, t, key, source, pairs, options.literal_sigma)
        differing = _differing(sample, copied, key, pairs) if sigma > options.min_sigma else 1.0
        if differing > options.max_differing:
            # Seen in one cluster of two URLs it may be chance; a key that the source has then stays as it is.
            if here == 0 or _seen_differing(sample, s, t, key, pairs) >= options.min_support:
                ops[key] = Operation("ignore", _most_frequent(sample, key, t))
        elif copied != key:
            ops[key] = Operation("replace", copied)
    return ops, tail


def _common_tail(sample: Sample, s: Node, t: Node, pairs: Pairs) -> Tail | None:
    """The longest tail that at least four in five duplicates share, where their paths differ in length."""
    u, v = sample.path_numbers(pairs.u), sample.path_numbers(pairs.v)
    longer = (v > 0).sum(axis=1) - (u > 0).sum(axis=1)
    lengths, often = np.unique(longer, return_counts=True)
    by = int(lengths[np.argmax(often)])
    if by == 0 or often.max() < 0.8 * len(longer):
        return None
    m = len(sample.path)
    fixed = [[k for k in sample.path if node.pattern[k] in (0, MAYBE)] for node in (s, t)]
    free = [sample.path.index(keys[0]) if keys else m for keys in fixed]  # segments that are always there
    for here in range(max(0, -by), min(free[0], free[1] - by, m - 1) + (not sample.from_start)):
        there, rest = here + by, m - max(here, here + by)
        same = (u[:, here : here + rest] == v[:, there : there + rest]).all(axis=1)
        same &= ~(u[:, here + rest :] > 0).any(axis=1) & ~(v[:, there + rest :] > 0).any(axis=1)
        if same.mean() >= 0.8:
            return Tail(here, there)
    return None


def without_ignored(
    sample: Sample, t: Node, ops: Operations, optional: Collection[int]
) -> dict[int, Operation]:
    """The operations with ignored keys left out of the URL, where a URL of the node was seen without them.

    So the URL that is written can be fetched. Where none was seen, the most frequent value stands for all.
    `optional`: the keys a URL can be without (query fields, not path segments).
    """
    ops = dict(ops)
    ignored = [key for key, op in ops.items() if op.kind == "ignore" and key in optional]
    for keys in ([ignored] if len(ignored) > 1 else []) + [[key] for key in ignored]:
        if sample.seen_without(t, keys):
            ops |= {key: Operation("ignore", 0) for key in keys}
            if len(keys) == len(ignored):
                break
    return ops


def _best_mapping(
    sample: Sample, s: Node, t: Node, key: int, source: list[int], pairs: Pairs, literal: bool
) -> tuple[float, int]:
    """The key of the source that maps to a key of the target, by sigma; of equal ones the key itself."""
    best, found = -1.0, -1
    wanted = sample.numbers(key, pairs.v)
    groups = int(pairs.group.max()) + 1
    values = np.unique(sample.numbers(key, sample.tree.rows(t))) if literal else wanted
    for k in sorted({*source, key}, key=lambda k: k != key):
        if k != key and s.pattern[k] >= 0:
            continue  # one value cannot stand for several
        if literal:
            sigma = float(np.isin(values, sample.numbers(k, sample.tree.rows(s))).mean())
        else:
            same = sample.numbers(k, pairs.u) == wanted
            if k != key:  # two keys that are both absent share no value
                same &= wanted > 0
            agree = np.bincount(pairs.group, same, groups) > 0
            sigma = float(agree.mean())
        if sigma > best + 1e-9:
            best, found = sigma, k
        if best == 1.0:
            break
    return best, found


def _differing(sample: Sample, source: int, target: int, pairs: Pairs) -> float:
    """The share of duplicates whose values differ."""
    return float((sample.numbers(source, pairs.u) != sample.numbers(target, pairs.v)).mean())


def _seen_differing(sample: Sample, s: Node, t: Node, key: int, pairs: Pairs) -> int:
    """In how many clusters two duplicates have different values of a key; of a single cluster, in how many pairs."""
    differing = sample.numbers(key, pairs.u) != sample.numbers(key, pairs.v)
    clusters = len(np.unique(pairs.group[differing]))
    if clusters != 1 or pairs.group.max() > 0:
        return clusters
    more = sample.pairs(s, t, each=4)
    return int(np.count_nonzero(sample.numbers(key, more.u) != sample.numbers(key, more.v)))


def _most_frequent(sample: Sample, key: int, node: Node) -> int:
    """The value most URLs of the node have, the smallest text among equals."""
    column = sample.tree.columns[key]
    counts = np.bincount(column.codes[sample.tree.rows(node)])
    counts[0] = 0
    return min(np.flatnonzero(counts == counts.max()).tolist(), key=lambda code: column.values[code] or "")
