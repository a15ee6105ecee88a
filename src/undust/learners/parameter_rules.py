"""Phase 3 of DustBuster: parameters whose value does not matter, or which can be left out.

For a parameter the bucket of an envelope is what has the same URL before the value and after it; so a bucket
holds whole values, and its size is no reason to distrust it (a session id makes large buckets). A second
witness is the URL without the parameter, where it was seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from undust.learners.envelopes import Bools, Ints, Rows
from undust.learners.likely_similar import UNKNOWN, LikelySimilar
from undust.learners.occurrences import NO_ROW, Occurrences, whole_rows
from undust.likeness import Site
from undust.rules import Evidence, Rule, Scope, escape
from undust.url import Column, split_key, tokenize

END = 1
"""Number of the token that closes a URL."""

PAIRS_A_BUCKET = 50
MIN_BUCKETS = 3
MAX_NAMES = 500
"""Parameters looked at, the most frequent first."""
MAX_PLACES = 50
"""Directories or paths in one directory for which a parameter is judged by itself, the most used ones."""
BY_CHANCE = 0.01
"""Chance with which one place may contradict the others; there are many places."""
PATH = "$"
"""Ends the name of a path, as a directory's name does not."""


@dataclass(frozen=True)
class _Uses:
    """Where URLs use a parameter once: the row, the separator before it, where its value begins and ends."""

    row: Ints
    start: Ints
    value: Ints
    end: Ints

    def take(self, index: Ints | Bools) -> _Uses:
        return _Uses(self.row[index], self.start[index], self.value[index], self.end[index])


@dataclass(frozen=True)
class _Tally:
    """Pairs of pages that differ in a parameter only: how many of them are likely similar."""

    buckets: int
    pairs: int
    alike: int
    examples: tuple[tuple[int, int], ...] = ()

    def passes(self, epsilon: float) -> bool:
        return self.buckets >= MIN_BUCKETS and self.alike >= (1 - epsilon) * self.pairs

    def fails(self, epsilon: float, chance: float = 0.05) -> bool:
        """Too many are unlike: by a rate of epsilon as many came about with that chance, at most."""
        return unlikely(self.pairs - self.alike, self.pairs, epsilon, chance)


def unlikely(events: int, trials: int, rate: float, chance: float = 0.05) -> bool:
    """Whether an event of that rate happens so often, or more, with at most this chance.

    >>> unlikely(1, 3, 0.05), unlikely(2, 3, 0.05), unlikely(2, 3, 0.4), unlikely(5, 5, 0.4)
    (False, True, False, True)
    """
    if events <= rate * trials:
        return False
    if trials > 100:  # the normal distribution will do
        z = NormalDist().inv_cdf(1 - chance)
        return bool(events > rate * trials + z * math.sqrt(rate * (1 - rate) * trials))
    fewer = sum(math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(events))
    return 1 - fewer <= chance + 1e-9


class ParameterRules:
    """Proposes, for a parameter that looks irrelevant, to leave it out and to set it to its commonest value.

    >>> import pyarrow as pa
    >>> urls = [f"http://h.test/p?id={i}&sid={s}" for i in range(4) for s in ("a", "b")]
    >>> site = Site("h.test", ("h.test",), pa.table({"url": urls, "digest": [u[20] for u in urls]}))
    >>> tokens = site.table.tokens
    >>> rules = ParameterRules(site, Rows(tokens.ids, tokens.offsets), LikelySimilar(site), np.ones(8, bool))
    >>> for rule in rules.propose(): print(rule.describe())
    *: drop sid
    *: when sid is {}: set sid to a
    """

    def __init__(
        self, site: Site, rows: Rows, similar: LikelySimilar, usable: Bools, *, epsilon: float = 0.05
    ) -> None:
        self.site, self.rows, self.similar, self.usable = site, rows, similar, usable
        self.epsilon = similar.tolerance(epsilon)
        self._number = {text: i for i, text in enumerate(site.table.tokens.vocab)}
        self._by_name = whole_rows(rows)
        self._occurrences = Occurrences(rows, np.flatnonzero(usable))
        self._query_at = self._first_of("?")
        # As `split_query` has it: `;` separates where there is no `&`, and two fields with a `=` at least.
        pairs = np.bincount(self._occurrences.every(self._tokens("="))[0], minlength=len(rows))
        self._separated_by_and = (self._first_of("&") < rows.lengths) | (pairs < 2)

    def propose(self) -> Iterator[Rule]:
        """Rules for parameters in the query and in the path, in order of name."""
        keys = [k for k in self.site.table.keys if k.startswith(("query[", "matrix[")) and "#" not in k]
        if len(keys) > MAX_NAMES:
            used = {key: int((self.site.table.column(key).codes > 0).sum()) for key in keys}
            keys = sorted(sorted(keys, key=lambda key: (-used[key], key))[:MAX_NAMES])
        for key in keys:
            uses = self._uses(key)
            if len(uses.row) >= MIN_BUCKETS:
                yield from self._place(key, uses, ())[1]

    def _place(self, key: str, uses: _Uses, above: tuple[str, ...]) -> tuple[bool, list[Rule]]:
        """Rules for the parameter below a directory (or on a path): whether it fails somewhere there, and rules.

        Where it fails below, the directories and paths in which it does not get rules of their own: the same
        name may mean a session here and the content there.
        """
        tally = self._values(uses), self._without(uses)
        if max(t.buckets for t in tally) < MIN_BUCKETS:
            return False, []
        below = [self._place(key, some, at) for at, some in self._children(uses, above)]
        fails = any(t.fails(self.epsilon, BY_CHANCE) for t in tally) or any(failed for failed, _ in below)
        narrower = [rule for _, rules in below for rule in rules]
        return fails, (fails and narrower) or list(self._written(key, above, uses, *tally))

    def _children(self, uses: _Uses, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], _Uses]]:
        """The uses by directory, the paths themselves at last; the most used ones first."""
        if above[-1:] == (PATH,):
            return
        depth = len(above) + 1
        codes, path = np.unique(self._paths.codes[uses.row], return_inverse=True)
        segments = (self._segments(code) for code in codes.tolist())
        names = [(*s[:depth], PATH)[: depth + (len(s) == depth)] for s in segments]
        distinct = sorted(set(names))
        number = {name: n for n, name in enumerate(distinct)}
        group = np.array([number[name] for name in names])[path]
        counts = np.bincount(group)
        for g in np.argsort(-counts, kind="stable")[:MAX_PLACES].tolist():
            if counts[g] >= MIN_BUCKETS:
                yield distinct[g], uses.take(group == g)

    def _written(
        self, key: str, place: tuple[str, ...], uses: _Uses, values: _Tally, without: _Tally
    ) -> Iterator[Rule]:
        """Leaving it out (if nothing seen speaks against it), and the commonest value in its place."""
        scope, when = Scope(), {}
        if place[-1:] == (PATH,):
            if key.startswith("matrix["):
                return  # the path holds the parameter itself
            when = {"path": escape("/" + "/".join(place[:-1]))}
        elif place:
            scope = Scope(path=f"/{'/'.join(place)}/")
        irrelevant = values.passes(self.epsilon) and not without.fails(self.epsilon)
        if irrelevant or (without.passes(self.epsilon) and not values.fails(self.epsilon)):
            yield self._rule(scope, when, {key: None}, len(uses.row), values, without)
        if values.passes(self.epsilon):
            column = self.site.table.column(key)
            counts = np.bincount(column.codes[uses.row])
            default, changed = column.values[int(counts.argmax())] or "", int(counts.sum() - counts.max())
            nothing = _Tally(0, 0, 0)
            yield self._rule(scope, {**when, key: "{}"}, {key: escape(default)}, changed, values, nothing)

    def _rule(
        self,
        scope: Scope,
        when: dict[str, str],
        do: dict[str, str | None],
        support: int,
        values: _Tally,
        without: _Tally,
    ) -> Rule:
        pairs, alike = values.pairs + without.pairs, values.alike + without.alike
        urls = self.site.urls
        return Rule(
            scope=scope,
            when=when,
            do=do,
            status="likely",
            source=("dustbuster",),
            evidence=Evidence(self.similar.level, support=support, pairs=pairs, false=pairs - alike),
            examples=tuple((urls[u], urls[v]) for u, v in (*without.examples, *values.examples)[:3]),
        )

    def _values(self, uses: _Uses) -> _Tally:
        """Neighbours within each bucket, URLs in order, at most `PAIRS_A_BUCKET` of one bucket."""
        before = self.rows.hashes(uses.row, 0 * uses.value, uses.value)
        after = self.rows.hashes(uses.row, uses.end, self.rows.lengths[uses.row] - uses.end)
        order = np.lexsort((uses.row, after, before))
        before, after, row = before[order], after[order], uses.row[order]
        new = np.append(True, (before[1:] != before[:-1]) | (after[1:] != after[:-1]))[: len(row)]
        place = np.arange(len(row))
        nth = place - np.maximum.accumulate(np.where(new, place, 0))
        second = np.flatnonzero((nth > 0) & (nth <= PAIRS_A_BUCKET))
        return self._tally(row[second - 1], row[second], np.cumsum(new)[second])

    def _without(self, uses: _Uses) -> _Tally:
        """Each URL and the one without the parameter, where the list has it."""
        question = self._token("?")
        ids, first = self.rows.ids, self.rows.first[uses.row]
        leads = ids[first + uses.start] == question
        follows = np.isin(ids[first + uses.end], [self._token("&"), self._token(";")])
        swap = leads & follows  # ?a=1&b=2: the `?` stays and the `&` goes
        start = uses.start + swap
        length = uses.end + swap - start
        found = self._by_name.find(self.rows.replaced(uses.row, start, length, ids[:0]))
        seen = (found != NO_ROW) & (found != uses.row)
        u, v = uses.row[seen], found[seen]
        return self._tally(u, v, np.arange(len(u)), dead=~self.usable[v])

    def _tally(self, u: Ints, v: Ints, bucket: Ints, dead: Bools | None = None) -> _Tally:
        verdict = self.similar.verdict(u, v)
        if dead is not None:
            verdict[dead] = 0
        told = verdict != UNKNOWN
        alike = np.flatnonzero(verdict == 1)
        return _Tally(
            len(np.unique(bucket[told])),
            int(told.sum()),
            len(alike),
            tuple((int(u[i]), int(v[i])) for i in alike[:3]),
        )

    def _uses(self, key: str) -> _Uses:
        """Rows that use the parameter exactly once; its value may be empty or missing (`;topicseen`)."""
        kind, name = split_key(key).kind, split_key(key).name or ""
        spelled = [self._token(t) for t in tokenize(name)[1:-1]]
        places = self._query_ends if kind == "query" else self._matrix_ends
        found: list[tuple[Ints, Ints]] = []
        for mark in ("?", "&", ";") if kind == "query" else (";",):
            tokens = np.array([self._token(mark), *spelled])
            if (tokens >= 0).all():
                row, start = self._occurrences.every(tokens)
                in_query = start >= self._query_at[row]
                here = in_query if kind == "query" else ~in_query
                if kind == "query" and mark == ";":
                    here &= ~self._separated_by_and[row]
                after = self.rows.first[row] + start + len(tokens)
                here &= (self.rows.ids[after] == self._token("=")) | (
                    places[np.searchsorted(places, after)] == after
                )
                found.append((row[here], start[here]))
        if not found:
            none = np.zeros(0, dtype=np.int64)
            return _Uses(none, none, none, none)
        row, start = (np.concatenate(part) for part in zip(*found, strict=True))
        once = np.bincount(row, minlength=len(self.rows))[row] == 1
        row, start = row[once], start[once].astype(np.int64)
        order = np.argsort(row)
        row, start = row[order], start[order]
        first, value = self.rows.first[row], start + 1 + len(spelled)
        value += self.rows.ids[first + value] == self._token("=")
        return _Uses(row, start, value, places[np.searchsorted(places, first + value)] - first)

    @cached_property
    def _query_ends(self) -> Ints:
        ends = np.isin(self.rows.ids, [END, self._token("&"), self._token("#")])
        semicolons = np.flatnonzero(self.rows.ids == self._token(";"))
        row = np.searchsorted(self.rows.first, semicolons, side="right") - 1
        ends[semicolons[~self._separated_by_and[row]]] = True
        return np.flatnonzero(ends)

    @cached_property
    def _matrix_ends(self) -> Ints:
        return np.flatnonzero(np.isin(self.rows.ids, [END, *map(self._token, ";/?#")]))

    @cached_property
    def _paths(self) -> Column:
        return self.site.table.column("path")

    def _segments(self, path: int) -> list[str]:
        """The segments of a path, path parameters aside."""
        return [segment.partition(";")[0] for segment in (self._paths.values[path] or "/").split("/")[1:]]

    def _token(self, text: str) -> int:
        return self._number.get(text, -1)

    def _tokens(self, text: str) -> Ints:
        """The one token of a text, as a sequence; empty where no URL has it."""
        return np.array([n for n in [self._token(text)] if n >= 0], dtype=np.int64)

    def _first_of(self, mark: str) -> Ints:
        """Position of the first such token in each row; beyond its end where there is none."""
        first = self.rows.lengths.astype(np.int64)
        row, start = self._occurrences.first(self._tokens(mark))
        first[row] = start
        return first
