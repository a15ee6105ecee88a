"""Everything fetched, in one SQLite file: a killed run goes on where it was and asks for nothing twice."""

from __future__ import annotations

import os
import sqlite3
import zlib
from types import TracebackType
from typing import Self, cast

from undust.errors import UsageError
from undust.validation.answer import Answer, Kind

VERSION = 1
Ask = tuple[str, int]
"""A URL, and the how-manieth time it is asked for (the second time shows what changes by itself)."""

_TABLES = (
    """create table if not exists pages (
    url text not null, turn integer not null, kind text not null, status integer not null,
    location text not null, digest text not null, text blob, why text not null,
    at text not null default current_timestamp, primary key (url, turn)) without rowid""",
    "create table if not exists robots (origin text primary key, status integer not null, body blob not null)",
)


class State:
    """Answers by URL and turn, kept in a file, or in memory when there is no file.

    >>> state = State()
    >>> state[("http://a.test/", 1)] = Answer("page", 200, text="hello")
    >>> state.get(("http://a.test/", 1)).text, state.get(("http://a.test/", 2)), len(state)
    ('hello', None, 1)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._known: dict[Ask, Answer] = {}
        try:
            self._db = sqlite3.connect(":memory:" if path is None else os.fspath(path), isolation_level=None)
            version = self._db.execute("pragma user_version").fetchone()[0]
            tables = self._db.execute("select name from sqlite_master").fetchall()
            if version not in (0, VERSION) or (tables and version == 0):
                raise UsageError(f"{path}: not a state of undust validate that this version can go on with")
            # Each answer is one transaction: a kill loses the requests in flight and nothing else.
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = normal")
            # Tables and version at once: a kill between them would leave what no version can go on with.
            self._db.execute("begin immediate")
            for table in _TABLES:
                self._db.execute(table)
            self._db.execute(f"pragma user_version = {VERSION}")
            self._db.execute("commit")
            rows = self._db.execute(
                "select url, turn, kind, status, location, digest, text, why from pages"
            ).fetchall()
        except sqlite3.Error as error:
            raise UsageError(f"{path}: cannot be used as a state: {error}") from None
        for url, turn, kind, status, location, digest, text, why in rows:
            shown = None if text is None else zlib.decompress(text).decode("utf-8", "surrogatepass")
            self._known[_text(url), turn] = Answer(cast(Kind, kind), status, location, digest, shown, why)

    def get(self, ask: Ask) -> Answer | None:
        return self._known.get(ask)

    def __contains__(self, ask: object) -> bool:
        return ask in self._known

    def __len__(self) -> int:
        return len(self._known)

    def __setitem__(self, ask: Ask, answer: Answer) -> None:
        self._known[ask] = answer
        text = None if answer.text is None else zlib.compress(answer.text.encode("utf-8", "surrogatepass"))
        # URLs may hold bytes that are no UTF-8.
        self._db.execute(
            "insert or replace into pages (url, turn, kind, status, location, digest, text, why)"
            " values (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                _bytes(ask[0]),
                ask[1],
                answer.kind,
                answer.status,
                _printable(answer.location),
                answer.digest,
                text,
                _printable(answer.why),
            ),
        )

    def robots(self, origin: str) -> tuple[int, bytes] | None:
        """Status and body of a robots.txt, if it was read before."""
        row = self._db.execute("select status, body from robots where origin = ?", (origin,)).fetchone()
        return None if row is None else (row[0], bytes(row[1]))

    def keep_robots(self, origin: str, status: int, body: bytes) -> None:
        self._db.execute("insert or replace into robots values (?, ?, ?)", (origin, status, body))

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _bytes(text: str) -> str | bytes:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
