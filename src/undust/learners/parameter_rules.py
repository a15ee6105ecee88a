"""Phase 3 of DustBuster: parameters whose value does not matter, or which can be left out.

For a parameter the bucket of an envelope is what has the same URL before the value and after it; so a bucket
holds whole values, and its size is no reason to distrust it (a session id makes large buckets). A second
witness is the URL without the parameter, where it was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undust.learners.envelopes import Bools, Ints, Rows
from undust.learners.likely_similar import UNKNOWN, LikelySimilar
from undust.learners.occurrences import NO_ROW, Occurrences, whole_rows
from undust.likeness import Site
from undust.rules import Evidence, Rule, escape
from undust.url import Column, split_key, tokenize

END = 1
"""Number of the token that closes a URL."""

PAIRS_A_BUCKET = 50
MIN_BUCKETS = 3
MAX_NAMES = 500
"""Parameters looked at, the most frequent first."""
MAX_PATHS = 50
"""Paths for which a parameter is judged by itself."""


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

    def fails(self, epsilon: float) -> bool:
        return self.pairs > 0 and self.alike < (1 - epsilon) * self.pairs


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
        self.site, self.rows, self.similar, self.usable, self.epsilon = site, rows, similar, usable, epsilon
        self._number = {text: i for i, text in enumerate(site.table.tokens.vocab)}
        self._by_name = whole_rows(rows)
        self._occurrences = Occurrences(rows, np.flatnonzero(usable))
        self._query_at = self._first_of("?")
        self._separated_by_and = self._first_of("&") < rows.lengths

    def propose(self) -> Iterator[Rule]:
        """Rules for parameters in the query and in the path, in order of name."""
        keys = [k for k in self.site.table.keys if k.startswith(("query[", "matrix[")) and "#" not in k]
        if len(keys) > MAX_NAMES:
            used = {key: int((self.site.table.column(key).codes > 0).sum()) for key in keys}
            keys = sorted(sorted(keys, key=lambda key: (-used[key], key))[:MAX_NAMES])
        for key in keys:
            uses = self._uses(key)
            if len(uses.row) >= MIN_BUCKETS:
                yield from self._rules(key, uses)

    def _rules(self, key: str, uses: _Uses) -> Iterator[Rule]:
        """For all paths together where that holds on each of them, else path by path."""
        values, without = self._judged(uses)
        if not values.pairs and not without.pairs:
            return
        paths = self._paths
        code = paths.codes[uses.row]
        counts = np.bincount(code)
        common = np.flatnonzero(counts >= MIN_BUCKETS)
        common = common[np.argsort(-counts[common], kind="stable")][:MAX_PATHS]
        by_path = {int(c): self._judged(uses.take(code == c)) for c in common}
        contradicted = any(
            max(v.buckets, w.buckets) >= MIN_BUCKETS and (v.fails(self.epsilon) or w.fails(self.epsilon))
            for v, w in by_path.values()
        )
        if not contradicted:
            yield from self._written(key, None, uses, values, without)
            return
        for c, (values, without) in sorted(by_path.items()):
            yield from self._written(key, paths.values[c], uses.take(code == c), values, without)

    def _written(
        self, key: str, path: str | None, uses: _Uses, values: _Tally, without: _Tally
    ) -> Iterator[Rule]:
        """Leaving it out (if nothing seen speaks against it), and the commonest value in its place."""
        when = {} if path is None else {"path": escape(path)}
        irrelevant = values.passes(self.epsilon) and not without.fails(self.epsilon)
        if irrelevant or (without.passes(self.epsilon) and not values.fails(self.epsilon)):
            yield self._rule(when, {key: None}, len(uses.row), values, without)
        if values.passes(self.epsilon):
            column = self.site.table.column(key)
            codes = column.codes[uses.row]
            default = column.values[int(np.bincount(codes).argmax())] or ""
            changed = int((codes != np.bincount(codes).argmax()).sum())
            yield self._rule({**when, key: "{}"}, {key: escape(default)}, changed, values, _Tally(0, 0, 0))

    def _rule(
        self, when: dict[str, str], do: dict[str, str | None], support: int, values: _Tally, without: _Tally
    ) -> Rule:
        pairs, alike = values.pairs + without.pairs, values.alike + without.alike
        urls = self.site.urls
        return Rule(
            when=when,
            do=do,
            status="likely",
            source=("dustbuster",),
            evidence=Evidence(self.similar.level, support=support, pairs=pairs, false=pairs - alike),
            examples=tuple((urls[u], urls[v]) for u, v in (*without.examples, *values.examples)[:3]),
        )

    def _judged(self, uses: _Uses) -> tuple[_Tally, _Tally]:
        return self._values(uses), self._without(uses)

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
        """Rows that use the parameter exactly once, with a `=`."""
        kind, name = split_key(key).kind, split_key(key).name or ""
        spelled = [self._token(t) for t in [*tokenize(name)[1:-1], "="]]
        found: list[tuple[Ints, Ints]] = []
        for mark in ("?", "&", ";") if kind == "query" else (";",):
            tokens = np.array([self._token(mark), *spelled])
            if (tokens >= 0).all():
                row, start = self._occurrences.every(tokens)
                in_query = start >= self._query_at[row]
                here = in_query if kind == "query" else ~in_query
                if kind == "query" and mark == ";":
                    here &= ~self._separated_by_and[row]
                found.append((row[here], start[here]))
        if not found:
            none = np.zeros(0, dtype=np.int64)
            return _Uses(none, none, none, none)
        row, start = (np.concatenate(part) for part in zip(*found, strict=True))
        once = np.bincount(row, minlength=len(self.rows))[row] == 1
        row, start = row[once], start[once].astype(np.int64)
        order = np.argsort(row)
        row, start = row[order], start[order]
        value = start + 1 + len(spelled)
        return _Uses(row, start, value, self._value_end(kind, row, value))

    def _value_end(self, kind: str, row: Ints, value: Ints) -> Ints:
        places = self._query_ends if kind == "query" else self._matrix_ends
        at = self.rows.first[row] + value
        found: Ints = places[np.searchsorted(places, at)] - self.rows.first[row]
        return found

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

    def _token(self, text: str) -> int:
        return self._number.get(text, -1)

    def _first_of(self, mark: str) -> Ints:
        """Position of the first such token in each row; beyond its end where there is none."""
        first = self.rows.lengths.astype(np.int64)
        token = self._token(mark)
        if token >= 0:
            row, start = self._occurrences.first(np.array([token]))
            first[row] = start
        return first
