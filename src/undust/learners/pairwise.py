"""Koppula et al., "Learning URL Patterns for Webpage De-duplication" (WSDM 2010), complete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from undust.errors import UsageError
from undust.learners.base import Learner
from undust.learners.explain import DROP
from undust.learners.key_rule import Ignored, KeyRule, Score, Scorer
from undust.learners.key_table import Ints, KeyTable
from undust.learners.key_writing import Writer
from undust.learners.lesson import Leaf, Lesson, learn
from undust.learners.pairs import all_pairs, nearest_pairs, select_pairs, target_rank
from undust.learners.proposal import proposal
from undust.learners.query_habits import query_habits
from undust.likeness import Site
from undust.rules import Rule

_CLEAN = 0.99  # as precise as need be
_NOISE = 0.01  # a difference of precision that means nothing
# Bounds for sites where every page is its own case: contexts looked at, those of most clusters first, and how
# often each URL of the site may be rewritten in trials.
_LEAVES, _TRIALS = 2000, 100

CONVERSIONS = ("lower", "upper", "decode", "encode", "plus", "unplus", "tr(%20,_)", "tr(+,_)")


class Pairwise(Learner):
    """Rules from pairs of duplicates, generalized by a decision tree.

    Of each cluster of duplicates the URL nearest to normal form is the target; other members, sampled by
    importance, are sources. What turns a source into its target is its transformation: keys are set to
    another key's value, to a converted one, to a literal, or dropped. Keys are columns of the URL, path
    segments counted from both ends, and the deep tokens a site's own delimiters make of them. Per
    transformation, a bottom-up decision tree generalizes the contexts; where a key is open in the context
    and takes several values in the transformations, it is irrelevant. Rules that cover few URLs are dropped.

    Parameters
    ----------
    targets
        Best-ranked URLs of a cluster that are targets (the paper's k).
    sources
        At most so many sources of a cluster.
    pairs
        `selected`, or `all` pairs as in Dasgupta et al. (up to 50 URLs a cluster).
    nearest
        Also pair each source with the URL of its cluster that ranks better and differs least (ours).
    deep, end_alignment, conversions
        The paper's three extensions; `conversions` names them, separated by spaces, none if empty.
    threshold
        A key with more values than this is left open in a context.
    min_coverage
        URLs a rule must apply to (the paper studies 10, 100, 1000).
    min_clusters
        Clusters whose pairs must show the rule: one cluster may be a login page under many URLs.
    min_precision
        Collision precision on the site itself.
    min_tested
        Of the URLs a rule changes, the share that must meet another URL (ours): a rule that changes
        thousands and was right on ten is an accident.
    relax
        Drop conditions that precision does not need (ours); without, contexts are as the tree gives them.
    max_rules
        At most so many rules, those with most true merges first.

    Examples
    --------
    The paper's example of alignment: one rule, whatever the depth.

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> urls = ["/srnr/about/art/index.html", "/srnr/about/art", "/art/index.html", "/art"]
    >>> urls = ["http://ag.example.edu" + u for u in urls]
    >>> (site,) = split_sites(pa.table({"url": urls, "cluster": ["1", "1", "2", "2"]}))
    >>> [rule.describe() for rule in Pairwise(min_coverage=1).propose(site)]
    ['*: when path[-1] is index.html: drop path[-1]']

    References
    ----------
    H. S. Koppula, K. P. Leela, A. Agarwal, K. P. Chitrapura, S. Garg, A. Sasturkar: Learning URL Patterns for
    Webpage De-duplication. WSDM 2010.
    """

    name: ClassVar[str] = "pairwise"

    def __init__(
        self,
        *,
        targets: int = 1,
        sources: int = 20,
        pairs: str = "selected",
        nearest: bool = True,
        deep: bool = True,
        end_alignment: bool = True,
        conversions: str = " ".join(CONVERSIONS),
        threshold: int = 5,
        min_coverage: int = 10,
        min_clusters: int = 2,
        min_precision: float = 0.8,
        min_tested: float = 0.1,
        relax: bool = True,
        max_rules: int = 1000,
    ) -> None:
        self.targets = targets
        self.sources = sources
        self.pairs = pairs
        self.nearest = nearest
        self.deep = deep
        self.end_alignment = end_alignment
        self.conversions = conversions
        self.threshold = threshold
        self.min_coverage = min_coverage
        self.min_clusters = min_clusters
        self.min_precision = min_precision
        self.min_tested = min_tested
        self.relax = relax
        self.max_rules = max_rules

    def propose(self, site: Site) -> list[Rule]:
        """Rules of the site, most true merges first."""
        return [rule for rule, _ in self.scored(site)]

    def scored(self, site: Site) -> list[tuple[Rule, Score]]:
        """The same with what each rule does to the site."""
        labels = site.labels
        cluster = np.where(labels.soft, -1, labels.cluster).astype(np.int64)
        table = KeyTable(site.table, deep=self.deep, end_alignment=self.end_alignment)
        u, v = self.select(table, cluster, site)
        if not len(u):
            return []
        lesson = learn(table, cluster, u, v, conversions=self.conversions.split(), threshold=self.threshold)
        writer = Writer(lesson.scorer)
        out = {rule.id: (rule, score) for rule, score in self._habits(table, cluster, site)}
        for found in _ranked(self._generalize(lesson), site.n):
            if len(out) >= self.max_rules:
                break
            pairs = found.leaf.pairs
            rule = proposal(
                writer, found.rule, found.score, lesson.u[pairs], lesson.v[pairs], site, self.name
            )
            if rule is not None:
                out.setdefault(rule.id, (rule, found.score))
        return list(out.values())

    def _habits(self, table: KeyTable, cluster: Ints, site: Site) -> Iterator[tuple[Rule, Score]]:
        for rule, score in query_habits(table, cluster, site, self.name):
            if score.coverage >= self.min_coverage and (score.precision or 0) >= self.min_precision:
                yield rule, score

    def select(self, table: KeyTable, cluster: Ints, site: Site) -> tuple[Ints, Ints]:
        """The pairs that teach (Algorithm 4)."""
        alive = np.asarray(site.alive)
        teaches = np.where(table.odd, -1, cluster)
        rank = target_rank(table, alive, site.hits, _named(site))
        if self.pairs == "all":
            return all_pairs(teaches, alive)
        if self.pairs != "selected":
            raise UsageError(f"pairwise: pairs={self.pairs!r} is neither 'selected' nor 'all'")
        u, v = select_pairs(teaches, rank, site.importance, alive, targets=self.targets, sources=self.sources)
        if self.nearest:
            a, b = nearest_pairs(table, teaches, rank, alive, u)
            both = np.unique(np.stack((np.append(u, a), np.append(v, b))), axis=1)
            u, v = both[0], both[1]
        return u, v

    def _generalize(self, lesson: Lesson) -> list[Candidate]:
        """A rule per generalized context, as general as the site allows."""
        scorer = lesson.scorer
        found: dict[object, Candidate] = {}
        covered: dict[int, list[Ints]] = {}
        for leaf in lesson.leaves(_LEAVES):
            if leaf.clusters < self.min_clusters or scorer.trials > _TRIALS * lesson.table.n:
                break
            done = covered.setdefault(leaf.transformation, [])
            sources = lesson.u[leaf.pairs]
            if self.relax and done and np.isin(sources, np.concatenate(done)).mean() >= 0.9:
                continue
            rule = lesson.rule(leaf)
            if rule is None:
                continue
            for best in self._forms(rule, leaf, lesson):
                best = self._dropped(best, scorer)
                score = best.score
                done.append(score.rows)
                passes = (
                    score.true and best.precision >= self.min_precision and score.tested >= self.min_tested
                )
                if passes and score.coverage >= self.min_coverage:
                    known = found.get(best.rule.key)
                    if known is None or len(known.leaf.pairs) < len(leaf.pairs):
                        found[best.rule.key] = best
        return list(found.values())

    def _forms(self, rule: KeyRule, leaf: Leaf, lesson: Lesson) -> list[Candidate]:
        """The most general forms of a rule that are precise where data can tell, and tested about as widely.

        The widest that is about as precise as the best form (noise in the labels spoils wide and narrow contexts
        alike); and the widest of the most precise ones, if that is another.
        """
        scorer = lesson.scorer
        forms = lesson.relaxed(rule, lesson.u[leaf.pairs]) if self.relax else [rule]
        known: dict[tuple[int, int], Score] = {}

        def scored(form: KeyRule) -> Candidate:
            # Forms of one rule that apply to the same URLs do the same.
            rows = scorer.rows(form)
            same = (len(rows), int(rows.sum()))
            if same not in known:
                known[same] = scorer.score(form, rows)
            return Candidate(form, known[same], leaf)

        narrow = scored(forms[-1])
        fair = [narrow]
        for form in reversed(forms[:-1]):
            candidate = scored(form)
            if candidate.score.true and candidate.score.tested >= 0.5 * narrow.score.tested:
                fair.append(candidate)
        fair.reverse()
        most = min(_CLEAN, max(candidate.precision for candidate in fair))
        wide = next(candidate for candidate in fair if candidate.precision >= most - _NOISE)
        sure = next(candidate for candidate in fair if candidate.precision >= most)
        return [wide] if wide is sure else [wide, sure]

    def _dropped(self, candidate: Candidate, scorer: Scorer) -> Candidate:
        """`ignore` of an optional key as a drop, where the URL without it was seen."""
        changes = [
            replace(c, kind=DROP, value=None) if c.column >= 0 and isinstance(c.value, Ignored) else c
            for c in candidate.rule.changes
        ]
        if all(c.kind == d.kind for c, d in zip(candidate.rule.changes, changes, strict=True)):
            return candidate
        rule = replace(candidate.rule, changes=tuple(changes))
        score = scorer.score(rule)
        stands = np.isin(score.new, scorer.sorted).any() if len(score.new) else False
        if stands and Candidate(rule, score, candidate.leaf).precision >= candidate.precision:
            return Candidate(rule, score, candidate.leaf)
        return candidate


@dataclass(frozen=True)
class Candidate:
    rule: KeyRule
    score: Score
    leaf: Leaf

    @property
    def precision(self) -> float:
        return -1.0 if self.score.precision is None else self.score.precision


def _ranked(candidates: list[Candidate], n: int) -> list[Candidate]:
    """Most true merges first; and before those whose URLs better rules change already, those that add some."""
    order = sorted(candidates, key=lambda c: (c.score.wrong - c.score.true, repr(c.rule.key)))
    changed = np.zeros(n, bool)
    fresh = []
    for candidate in order:
        rows = candidate.score.rows
        fresh.append(int(np.count_nonzero(~changed[rows])))
        changed[rows] = True
    return [
        order[i]
        for i in sorted(range(len(order)), key=lambda i: (10 * fresh[i] < len(order[i].score.rows), i))
    ]


def _named(site: Site) -> Ints:
    """How many other pages lead to a page, by redirect or as their canonical URL."""
    count = np.zeros(site.n, np.int64)
    for link in (site.labels.seen.location, site.labels.seen.canonical):
        leads = (link >= 0) & (link != np.arange(site.n))
        count += np.bincount(link[leads], minlength=site.n)
    return count
