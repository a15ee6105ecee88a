"""DustBuster: substitutions that are likely to leave the page the same, from a list of URLs alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow.compute as pc

from undust.errors import BookError
from undust.learners.base import Learner
from undust.learners.envelopes import Bools, Ints, Pairs, Rows, likely_pairs, mixed
from undust.learners.likely_similar import UNKNOWN, LikelySimilar, Likeness
from undust.learners.occurrences import NO_ROW, Occurrences, RowIndex
from undust.learners.parameter_rules import ParameterRules
from undust.learners.redundancy import survivors
from undust.likeness import Site
from undust.rules import Evidence, Rule, compile_rule

_SAMPLE = 50_000
"""Rows on which the outcome of a rule is looked up; a longer list is sampled."""


@dataclass(frozen=True)
class LikelyRules:
    """Ranked pairs (a, b), the greater first, with `^` and `$` where they stand at an end of the URL."""

    rows: Rows
    pairs: Pairs
    a: list[str]
    b: list[str]

    def __len__(self) -> int:
        return len(self.a)

    def first(self, n: int) -> LikelyRules:
        return self.take(np.arange(min(n, len(self))))

    def ranked(self, by: str) -> LikelyRules:
        """Largest support (`low` or `high`) first, then the longer a, then by text."""
        support, longer = (-getattr(self.pairs, by)).tolist(), (-self.pairs.len_a).tolist()
        keys = list(zip(support, longer, self.a, self.b, strict=True))
        return self.take(np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64))

    def take(self, index: Ints) -> LikelyRules:
        a, b = ([side[i] for i in index.tolist()] for side in (self.a, self.b))
        return LikelyRules(self.rows, self.pairs.take(index), a, b)


@dataclass(frozen=True)
class _Outcome:
    """What the list says of a rule in one direction: pages it leads to, and how they look."""

    changed: int
    alike: int
    unlike: int
    pulled: int
    examples: tuple[tuple[int, int], ...]

    def refuted(self, epsilon: float) -> bool:
        return self.unlike > epsilon * (self.alike + self.unlike)


class DustBuster(Learner):
    """Substring substitutions and parameter rules from a URL list; page contents are not needed.

    Two substrings that stand in the same surroundings (prefix and suffix of the URL) in many URLs may be
    exchangeable. Surroundings shared by few substrings count, since numbers and names come in flocks; so do
    only pairs of URLs that are likely similar by their sizes or sketches. Of rules that say the same on this
    list the one with most context is kept. Parameters are tried separately: leave out, or set to the commonest
    value.

    A rule comes in one direction: the one that shrinks the URL, unless the list itself speaks against it (the
    outcome is there, and dead, different, or redirected back) and not against the other, growing one.

    Parameters
    ----------
    max_substring: S, tokens on either side of a rule
    bucket_low, bucket_high: T, most substrings in one envelope, for choosing and for comparing rules
    min_support: MS, instances that a rule needs
    relative_deficiency, absolute_deficiency, window: MRD, MAD, MW of the redundancy elimination
    likeness: what pages are compared by: auto, none, size or sketch
    sketch_matches: min-hashes that must agree (4; 2 for relaxed)
    epsilon: share of unlike pairs that refutes a parameter rule or a direction
    parameters: whether parameter rules are tried
    literal: count envelopes as printed, also those of periodic strings twice in one pair of URLs
    max_rules: most substitutions to return, best first

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> urls = [f"http://h.test/{form}{i}" for form in ("story_", "story?id=") for i in (7, 8, 9)]
    >>> site, = split_sites(pa.table({"url": urls, "size_min": [5, 6, 7] * 2, "size_max": [5, 6, 7] * 2}))
    >>> rule, = DustBuster().propose(site)
    >>> rule.describe(), rule.status, rule.evidence.level, rule.evidence.support
    ('*: replace ^http://h.test/story?id= by ^http://h.test/story_', 'likely', 'size', 3)

    References: U. Schonfeld, Do Not Crawl in the DUST, MSc thesis, Technion 2006; Z. Bar-Yossef, I. Keidar,
    U. Schonfeld, WWW 2007.
    """

    name: ClassVar[str] = "dustbuster"

    def __init__(
        self,
        *,
        max_substring: int = 35,
        bucket_low: int = 6,
        bucket_high: int = 11,
        min_support: int = 3,
        relative_deficiency: float = 0.05,
        absolute_deficiency: int = 1,
        window: int = 1100,
        likeness: Likeness = "auto",
        sketch_matches: int = 4,
        epsilon: float = 0.05,
        parameters: bool = True,
        literal: bool = False,
        max_rules: int = 2000,
    ) -> None:
        self.max_substring = max_substring
        self.bucket_low = bucket_low
        self.bucket_high = bucket_high
        self.min_support = min_support
        self.relative_deficiency = relative_deficiency
        self.absolute_deficiency = absolute_deficiency
        self.window = window
        self.likeness: Likeness = likeness
        self.sketch_matches = sketch_matches
        self.epsilon = epsilon
        self.parameters = parameters
        self.literal = literal
        self.max_rules = max_rules

    def propose(self, site: Site) -> list[Rule]:
        """Likely rules, substitutions and parameter rules, those with the most likely similar pairs first."""
        listed = _Listed(site, LikelySimilar(site, self.likeness, self.sketch_matches))
        best = self.reduced(self._likely(listed)).first(self.max_rules)
        rules = list(_Writer(self, listed).write(best))
        if self.parameters:
            found = ParameterRules(site, listed.rows, listed.similar, listed.usable, epsilon=self.epsilon)
            rules += found.propose()
        return sorted(rules, key=lambda rule: -(rule.evidence.pairs or 0))

    def likely(self, site: Site) -> LikelyRules:
        """Phase 1: all pairs with enough support, ranked by it (then longer first, then by text)."""
        return self._likely(_Listed(site, LikelySimilar(site, self.likeness, self.sketch_matches)))

    def _likely(self, listed: _Listed) -> LikelyRules:
        index = np.flatnonzero(listed.usable)
        similar = listed.similar

        def alike(u: Ints, v: Ints) -> Bools:
            return similar(index[u], index[v])

        pairs = likely_pairs(
            listed.rows.take(index),
            None if similar.always else alike,
            max_substring=self.max_substring,
            bucket_low=self.bucket_low,
            bucket_high=self.bucket_high,
            min_support=self.min_support,
            literal=self.literal,
        )
        return _spelled(listed, pairs.of_rows(index)).ranked("low")

    def reduced(self, likely: LikelyRules) -> LikelyRules:
        """Phase 2: without those that another one makes redundant; ranked as before.

        They are compared by the support with the large bucket threshold, which hardly depends on context.
        """
        by_high = likely.ranked("high")
        keep = survivors(
            likely.rows,
            by_high.pairs,
            relative=self.relative_deficiency,
            absolute=self.absolute_deficiency,
            window=self.window,
        )
        return by_high.take(np.flatnonzero(keep)).ranked("low")


class _Listed:
    """The site as a list: its token rows, which of them are pages, and when two are likely similar."""

    def __init__(self, site: Site, similar: LikelySimilar) -> None:
        tokens = site.table.tokens
        self.site, self.similar = site, similar
        self.rows = Rows(tokens.ids, tokens.offsets)
        status = np.zeros(site.n, dtype=np.int64)
        if "status" in site.pages.column_names:
            status = pc.fill_null(site.pages["status"].cast("int64"), 0).to_numpy()
        # 4xx and 5xx are no pages, soft pages teach nothing.
        self.usable: Bools = ((status == 0) | ((status >= 200) & (status < 400))) & ~similar.soft


class _Writer:
    """Writes pairs as rules, each in the direction that the list does not speak against."""

    def __init__(self, learner: DustBuster, listed: _Listed) -> None:
        self.learner, self.site, self.similar = learner, listed.site, listed.similar
        self.rows, self.usable = listed.rows, listed.usable
        sample = np.flatnonzero(self.usable)
        if len(sample) > _SAMPLE:
            sample = np.sort(sample[np.argsort(mixed(sample.astype(np.uint64)))[:_SAMPLE]])
        self.weight = int(self.usable.sum()) / max(1, len(sample))
        self.by_name = RowIndex(self.rows)
        self.occurrences = Occurrences(self.rows, sample)

    def write(self, likely: LikelyRules) -> Iterator[Rule]:
        pairs = likely.pairs
        for i, (a, b) in enumerate(zip(likely.a, likely.b, strict=True)):
            start = pairs.start[i]
            long = self._tokens(pairs.row_a[i], start, pairs.len_a[i])
            short = self._tokens(pairs.row_b[i], start, pairs.len_b[i])
            rule = self._rule(a, b, long, short, int(pairs.low[i]))
            if rule is not None:
                yield rule

    def _rule(self, a: str, b: str, long: Ints, short: Ints, support: int) -> Rule | None:
        shrinking = self._outcome(long, short)
        chosen, source, target = shrinking, a, b
        if len(short) and not _contains(long, short):  # else nobody knows where to put it, or it feeds itself
            growing = self._outcome(short, long)
            if self._prefers(growing, shrinking):
                chosen, source, target = growing, b, a
        start, end = source[:1] == "^" == target[:1], source[-1:] == "$" == target[-1:]
        swap = {
            "from": source[int(start) : len(source) - int(end)],
            "to": target[int(start) : len(target) - int(end)],
            "start": start,
            "end": end,
        }
        urls = self.site.urls
        rule = Rule(
            do={"substitute": swap},
            status="likely",
            source=(self.learner.name,),
            evidence=Evidence(
                self.similar.level,
                support=round(chosen.changed * self.weight),
                pairs=support,
                false=round(chosen.unlike * self.weight),
            ),
            examples=tuple((urls[u], urls[v]) for u, v in chosen.examples),
        )
        try:
            compile_rule(rule)
        except BookError:  # longer than the language allows
            return None
        return rule

    def _prefers(self, growing: _Outcome, shrinking: _Outcome) -> bool:
        epsilon = self.learner.epsilon
        if growing.refuted(epsilon) or growing.alike < self.learner.min_support:
            return False
        return shrinking.refuted(epsilon) or growing.pulled > shrinking.pulled

    def _outcome(self, source: Ints, target: Ints) -> _Outcome:
        """Apply to the first occurrence in every URL and look up what comes out."""
        row, start = self.occurrences.first(source)
        found = self.by_name.find(self.rows.replaced(row, start, np.full(len(row), len(source)), target))
        seen = (found != NO_ROW) & (found != row)
        u, v = row[seen], found[seen]
        verdict = self.similar.verdict(u, v)
        verdict[~self.usable[v]] = 0
        alike = np.flatnonzero(verdict != 0) if self.similar.always else np.flatnonzero(verdict == 1)
        seen_ = self.site.seen
        pulled = (seen_.location[u] == v) | (seen_.canonical[u] == v)
        examples = alike[:3] if len(alike) else np.flatnonzero(verdict == UNKNOWN)[:3]
        return _Outcome(
            len(row),
            len(alike),
            int((verdict == 0).sum()),
            int(pulled.sum()),
            tuple(zip(u[examples].tolist(), v[examples].tolist(), strict=True)),
        )

    def _tokens(self, row: int, start: int, length: int) -> Ints:
        first = int(self.rows.first[row]) + int(start)
        return self.rows.ids[first : first + int(length)]


def _contains(text: Ints, part: Ints) -> bool:
    windows = np.lib.stride_tricks.sliding_window_view(text, len(part))
    return bool((windows == part).all(axis=1).any())


def _spelled(listed: _Listed, pairs: Pairs) -> LikelyRules:
    """The substrings as texts; of two with equally many tokens the greater text first."""
    tokens = listed.site.table.tokens
    size = np.fromiter(map(len, tokens.vocab), np.int64, len(tokens.vocab))
    cuts = np.append(0, np.cumsum(size[tokens.ids]))
    begin = cuts[tokens.offsets[:-1]]
    urls = listed.site.urls

    def texts(row: Ints, length: Ints) -> list[str]:
        first = tokens.offsets[row] + pairs.start
        left, right = cuts[first] - begin[row], cuts[first + length] - begin[row]
        return [f"^{u}$"[i:j] for u, i, j in zip(urls[row], left.tolist(), right.tolist(), strict=True)]

    a, b = texts(pairs.row_a, pairs.len_a), texts(pairs.row_b, pairs.len_b)
    even = (pairs.len_a == pairs.len_b).tolist()
    wrong = np.array([e and x < y for e, x, y in zip(even, a, b, strict=True)], dtype=bool)
    for i in np.flatnonzero(wrong).tolist():
        a[i], b[i] = b[i], a[i]
    row_a, row_b = np.where(wrong, (pairs.row_b, pairs.row_a), (pairs.row_a, pairs.row_b))
    return LikelyRules(listed.rows, replace(pairs, row_a=row_a, row_b=row_b), a, b)
