"""DustBuster: substitutions that are likely to leave the page the same, from a list of URLs alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow.compute as pc

from undust.learners.base import Learner
from undust.learners.context import query_context
from undust.learners.envelopes import Bools, Ints, Pairs, Rows, likely_pairs, mixed
from undust.learners.likely_similar import LikelySimilar, Likeness
from undust.learners.occurrences import NO_ROW, Occurrences, whole_rows
from undust.learners.parameter_rules import ParameterRules
from undust.learners.redundancy import survivors
from undust.likeness import Site
from undust.rules import Evidence, Rule
from undust.rules.condition import Condition
from undust.rules.pattern import MAX_TEXT

START, END = 0, 1
"""Numbers of the tokens that begin and end a URL; a `^` or `$` within one has another."""

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
    """What the list says of a rule in one direction.

    `changed` URLs lead to `reached` pages that are not unlike, of which `alike` are known to be alike;
    `unlike` lead to others or to dead ones. `pulled` pages redirect to the outcome or name it as canonical.
    """

    changed: int
    reached: int
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
    list the one with most context is kept. Parameters are tried separately: leave out, or set to the
    commonest value.

    A rule that moves the `?` is held to URLs that stay URLs by it. A rule comes in one direction: the one that
    shrinks the URL, unless the list itself speaks against it (the outcome is there, and dead, different, or
    redirected back) and not against the other, growing one.

    Parameters
    ----------
    max_substring
        S, tokens on either side of a rule
    bucket_low, bucket_high
        T, most substrings in one envelope, for choosing and for comparing rules
    crowd
        Larger envelopes of up to so many substrings count as if they held only the pages likely similar to
        the two compared; 0: they do not count, as published
    min_support
        MS, instances that a rule needs
    relative_deficiency, absolute_deficiency
        MRD, MAD of the redundancy elimination
    window
        MW, how far apart two rules may be ranked to be compared; published 1100, to save memory and time;
        0: any distance, since here they are looked up
    likeness
        What pages are compared by: auto, none, size or sketch
    sketch_matches
        Min-hashes that must agree (4; 2 for relaxed)
    epsilon
        Share of unlike pairs that refutes a parameter rule or a direction (more where only sizes are known)
    parameters
        Whether parameter rules are tried
    literal
        Count envelopes as printed, also those of periodic strings twice in one pair of URLs
    max_rules
        Most substitutions to return, best first

    Examples
    --------
    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> urls = [f"http://h.test/{form}{i}" for form in ("story_", "story?id=") for i in (7, 8, 9)]
    >>> site, = split_sites(pa.table({"url": urls, "size_min": [5, 6, 7] * 2, "size_max": [5, 6, 7] * 2}))
    >>> rule, = DustBuster().propose(site)
    >>> rule.describe()
    '*: when the parameters are id: replace ^http://h.test/story?id= by ^http://h.test/story_'
    >>> rule.status, rule.evidence.level, rule.evidence.support
    ('likely', 'size', 3)

    References
    ----------
    U. Schonfeld, Do Not Crawl in the DUST, MSc thesis, Technion 2006; Z. Bar-Yossef, I. Keidar,
    U. Schonfeld, WWW 2007.
    """

    name: ClassVar[str] = "dustbuster"

    def __init__(
        self,
        *,
        max_substring: int = 35,
        bucket_low: int = 6,
        bucket_high: int = 11,
        crowd: int = 40,
        min_support: int = 3,
        relative_deficiency: float = 0.05,
        absolute_deficiency: int = 1,
        window: int = 0,
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
        self.crowd = crowd
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
            crowd=self.crowd,
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
        self.redirects: Bools = (status >= 300) & (status < 400) & (status != 304)
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
        self.epsilon = listed.similar.tolerance(learner.epsilon)
        self.redirects = listed.redirects
        self.has_targets = bool(self.redirects.any() or (self.site.seen.canonical >= 0).any())
        # No query, or no fields but those of the rule: as many of these marks in the URL as in the rule.
        token = {text: number for number, text in enumerate(self.site.table.tokens.vocab)}
        self.marks = {token[m]: _counts(self.rows, token[m]) for m in "?&" if m in token}
        self.by_name = whole_rows(self.rows)
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
        chosen, source, target = self._direction(a, b, long, short)
        if self._never_works(chosen, support) or chosen.refuted(self.similar.hopeless):
            return None
        start = bool(len(short) and long[0] == short[0] == START)
        end = bool(len(short) and long[-1] == short[-1] == END)
        swap = {
            "from": source[int(start) : len(source) - int(end)],
            "to": target[int(start) : len(target) - int(end)],
            "start": start,
            "end": end,
        }
        if max(len(source), len(target)) > MAX_TEXT:
            return None
        urls = self.site.urls
        return Rule(
            when=query_context(source, target),
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

    def _direction(self, a: str, b: str, long: Ints, short: Ints) -> tuple[_Outcome, str, str]:
        """a -> b, unless the list speaks for b -> a; of equally long ones towards the more frequent."""
        shrinking = self._outcome(long, short, query_context(a, b))
        even = len(long) == len(short)
        if not b or (b in a and _contains(long, short)):  # nobody knows where to put it, or it feeds itself
            return shrinking, a, b
        doubtful = shrinking.refuted(self.epsilon) or not shrinking.reached
        if not (doubtful or even or self.has_targets):
            return shrinking, a, b
        growing = self._outcome(short, long, query_context(b, a))
        refuted = growing.refuted(self.epsilon)
        if growing.reached < self.learner.min_support:
            prefers = False
        elif refuted != doubtful:
            prefers = doubtful
        elif growing.pulled != shrinking.pulled:
            prefers = growing.pulled > shrinking.pulled
        else:
            prefers = even and growing.changed < shrinking.changed
        return (growing, b, a) if prefers else (shrinking, a, b)

    def _never_works(self, outcome: _Outcome, support: int) -> bool:
        """Replacing the first occurrence never gives what was seen: the rule is about a later one.

        `/` -> nothing hits the scheme. Rules with the context that tells the place are in the list as well.
        """
        return not outcome.reached and support > 3 * (self.weight - 1)

    def _outcome(self, source: Ints, target: Ints, context: Mapping[str, Condition]) -> _Outcome:
        """Apply to the first occurrence in every URL of the context and look up what comes out."""
        row, start = self.occurrences.first(source)
        for mark, count in self.marks.items() if context else ():
            fits = count[row] == (source == mark).sum()
            row, start = row[fits], start[fits]
        found = self.by_name.find(self.rows.replaced(row, start, np.full(len(row), len(source)), target))
        seen = (found != NO_ROW) & (found != row)
        u, v = row[seen], found[seen]
        verdict = self.similar.verdict(u, v)
        verdict[~self.usable[v]] = 0
        alike, reached = np.flatnonzero(verdict == 1), np.flatnonzero(verdict != 0)
        pulled = (self.site.seen.canonical[u] == v) | (self.redirects[u] & ~self.redirects[v])
        examples = (alike if len(alike) else reached)[:3]
        return _Outcome(
            len(row),
            len(reached),
            len(alike),
            int((verdict == 0).sum()),
            int(pulled.sum()),
            tuple(zip(u[examples].tolist(), v[examples].tolist(), strict=True)),
        )

    def _tokens(self, row: int, start: int, length: int) -> Ints:
        first = int(self.rows.first[row]) + int(start)
        return self.rows.ids[first : first + int(length)]


def _counts(rows: Rows, token: int) -> Ints:
    """How often each row holds the token."""
    before = np.append(0, np.cumsum(rows.ids == token))
    found: Ints = before[rows.first + rows.lengths] - before[rows.first]
    return found


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
