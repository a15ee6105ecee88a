"""Where a substring occurs in the rows of a site, and which row comes out when it is replaced."""

from __future__ import annotations

import numpy as np

from undust.learners.envelopes import Hashes, Ints, Rows, radix_argsort

NO_ROW = -1


class Names:
    """Look-up of hashes among many; most look-ups fail, which a table of bits says sooner than a search.

    >>> Names(np.uint64([7 << 60, 3 << 60])).find(np.uint64([3 << 60, 5 << 60]))
    array([ 1, -1])
    """

    def __init__(self, names: Hashes) -> None:
        self._order = np.argsort(names)
        self._names = names[self._order]
        bits = min(26, len(names).bit_length() + 4)
        self._shift = np.uint64(64 - bits)
        self._known = np.zeros(1 << bits, dtype=bool)
        self._known[(names >> self._shift).astype(np.int64)] = True

    def find(self, wanted: Hashes) -> Ints:
        """The place of each wanted name, NO_ROW where there is none."""
        found = np.full(len(wanted), NO_ROW, dtype=np.int64)
        maybe = np.flatnonzero(self._known[(wanted >> self._shift).astype(np.int64)])
        at = np.searchsorted(self._names, wanted[maybe])
        inside = at < len(self._names)
        maybe, at = maybe[inside], at[inside]
        hit = self._names[at] == wanted[maybe]
        found[maybe[hit]] = self._order[at[hit]]
        return found


def whole_rows(rows: Rows) -> Names:
    """The rows by the hash of all their tokens."""
    everything = np.arange(len(rows))
    return Names(rows.hashes(everything, 0 * everything, rows.lengths))


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
        """Rows and starts of all occurrences of a token sequence, in order of rows; none of the empty one."""
        length = len(tokens)
        if not length:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
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
