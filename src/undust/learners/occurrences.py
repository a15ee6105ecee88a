"""Where a substring occurs in the rows of a site, and which row comes out when it is replaced."""

from __future__ import annotations

import numpy as np

from undust.learners.envelopes import Hashes, Ints, Rows, radix_argsort

NO_ROW = -1


class RowIndex:
    """Whole rows by their hash.

    >>> rows = Rows(np.array([0, 5, 1, 0, 6, 1]), np.array([0, 3, 6]))
    >>> one, three = np.array([1]), np.array([3])
    >>> RowIndex(rows).find(rows.hashes(one, 0 * one, three)).tolist()
    [1]
    """

    def __init__(self, rows: Rows) -> None:
        everything = np.arange(len(rows))
        names = rows.hashes(everything, 0 * everything, rows.lengths)
        self._order = np.argsort(names)
        self._names = names[self._order]

    def find(self, names: Hashes) -> Ints:
        """The rows of these names; NO_ROW where there is none."""
        if not len(self._names):
            return np.full(len(names), NO_ROW)
        at = np.minimum(np.searchsorted(self._names, names), len(self._names) - 1)
        return np.where(self._names[at] == names, self._order[at], NO_ROW)


class Occurrences:
    """Token positions by token, of all rows or of some.

    >>> from undust.url import SiteTable
    >>> urls = ["http://h.test/a?x=1", "http://h.test/a?x=2", "http://h.test/b"]
    >>> tokens = SiteTable.build(urls).tokens
    >>> found = Occurrences(Rows(tokens.ids, tokens.offsets))
    >>> row, start = found.first(tokens.ids[10:13])  # ?x=
    >>> row.tolist(), start.tolist()
    ([0, 1], [10, 10])
    """

    def __init__(self, rows: Rows, among: Ints | None = None) -> None:
        self.rows = rows
        among = np.arange(len(rows)) if among is None else among
        lengths = rows.lengths[among]
        at = np.repeat(rows.first[among] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        tokens = rows.ids[at]
        order = radix_argsort(tokens)
        self._at = at[order]
        self._row = np.repeat(among, lengths)[order]
        self._counts = np.bincount(tokens, minlength=int(rows.ids.max(initial=0)) + 1)
        self._ends = np.cumsum(self._counts)

    def every(self, tokens: Ints) -> tuple[Ints, Ints]:
        """Rows and starts of all occurrences of a non-empty token sequence, in order of rows."""
        length = len(tokens)
        rarest = int(np.argmin(self._counts[tokens]))
        token = int(tokens[rarest])
        some = slice(self._ends[token] - self._counts[token], self._ends[token])
        rows = self._row[some]
        starts = self._at[some] - self.rows.first[rows] - rarest
        inside = (starts >= 0) & (starts + length <= self.rows.lengths[rows])
        rows, starts = rows[inside], starts[inside]
        for t in {0, length - 1} - {rarest}:  # both ends rule out most
            same = self.rows.ids[self.rows.first[rows] + starts + t] == tokens[t]
            rows, starts = rows[same], starts[same]
        same = self.rows.hashes(rows, starts, np.full(len(rows), length)) == self.rows.name(tokens)
        return rows[same], starts[same]

    def first(self, tokens: Ints) -> tuple[Ints, Ints]:
        """The first occurrence in each row that has one."""
        rows, starts = self.every(tokens)
        new = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
        return rows[new], starts[new]
