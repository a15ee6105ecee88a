"""Many sites on one machine: one process a processor, the largest sites first.

Pages go to the processes through one file that no name leads to (so a killed run leaves nothing behind), each site
a run of batches in it, which a process maps into its memory and reads no more of than its site.
"""

from __future__ import annotations

import io
import mmap
import pickle
import re
import signal
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.reduction import DupFd
from typing import Any, BinaryIO

import pyarrow as pa

from undust.engines.learn import attempt, failed
from undust.engines.state import State, fingerprint
from undust.errors import UndustError, UsageError
from undust.learners import Learner
from undust.likeness import Site
from undust.rules import RuleBook, SiteRules

PER_PAGE = 6_000
"""Bytes of memory a page costs while its site is learned (docs/scaling.md)."""

BATCH = 1 << 16


def learn_sites(
    sites: Iterable[Site],
    learner: Learner,
    risk: float,
    *,
    jobs: int = 1,
    memory: str | int | None = None,
    state: State | None = None,
) -> Iterator[SiteRules]:
    """The rules of each site, as they are done; those of a site that failed say so in their notes.

    With several jobs the order is not told; the rules are the same.
    """
    if jobs == 1:
        for site in sites:
            yield _alone(site, learner, risk, state)
        return
    with tempfile.TemporaryFile(prefix="undust-") as file:
        pieces = []
        with _Spool(file) as spool:
            for site in sites:
                mark = fingerprint(site.name, site.hosts, site.pages, learner, risk) if state else ""
                done = state.get(mark, site.name) if state else None
                if done is not None:
                    yield done
                else:
                    pieces.append(spool.add(site, mark))
        for piece, learned in _crew(file, pieces, learner, risk, jobs, memory):
            if state and "failed" not in learned.notes:
                state.put(piece.mark, learned)
            yield learned


def _alone(site: Site, learner: Learner, risk: float, state: State | None) -> SiteRules:
    if state is None:
        return attempt(site, learner, risk)
    mark = fingerprint(site.name, site.hosts, site.pages, learner, risk)
    learned = state.get(mark, site.name)
    if learned is None:
        learned = attempt(site, learner, risk)
        if "failed" not in learned.notes:
            state.put(mark, learned)
    return learned


def bytes_of(memory: str | int | None) -> float:
    """An amount of memory as written on a command line.

    >>> bytes_of("2GB"), bytes_of("512 MiB"), bytes_of(None)
    (2000000000.0, 536870912.0, inf)
    """
    if memory is None or isinstance(memory, int):
        return float("inf") if memory is None else float(memory)
    told = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?)(i?)B?\s*", memory, re.IGNORECASE)
    if told is None:
        raise UsageError(f"{memory!r} is no amount of memory such as 4GB")
    power = " KMGT".index(told[2].upper() or " ")
    return float(told[1]) * float(1024 if told[3] else 1000) ** power


@dataclass(frozen=True)
class _Piece:
    """A site as batches of the spool."""

    name: str
    hosts: tuple[str, ...]
    pages: int
    first: int
    last: int
    mark: str


class _Spool:
    """Writes sites one after the other into one Arrow file."""

    def __init__(self, file: Any) -> None:  # a BinaryIO; Arrow asks for another name of the same
        self._file = file
        self._writer: Any = None
        self._batches = 0

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        self._file.flush()

    def add(self, site: Site, mark: str) -> _Piece:
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._file, site.pages.schema)
        first = self._batches
        for batch in site.pages.combine_chunks().to_batches(max_chunksize=BATCH):
            self._writer.write_batch(batch)
            self._batches += 1
        return _Piece(site.name, site.hosts, site.n, first, self._batches, mark)


class _Shared:
    """The spool as a process sees it: it comes by number, as it has no name."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._batches: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached, (DupFd(self.file.fileno()),)

    def site(self, piece: _Piece) -> Site:
        if self._batches is None:
            # Mapped, not read: processes that share a file share its position too.
            mapped = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)
            self._batches = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped)))
        batches = [self._batches.get_batch(i) for i in range(piece.first, piece.last)]
        pages = pa.Table.from_batches(batches)
        return Site(piece.name, piece.hosts, pages)


def _detached(number: Any) -> _Shared:
    return _Shared(io.FileIO(number.detach(), "rb"))


def _work(pipe: connection.Connection, spool: _Shared, learner: Learner, risk: float) -> None:
    """A process: learns the sites it is told to until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked will see to it
    pa.set_cpu_count(1)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while (piece := pipe.recv()) is not None:
            try:
                learned = attempt(spool.site(piece), learner, risk)
                pipe.send((None, RuleBook({learned.name: learned}).dumps()))
            except UsageError as error:
                pipe.send((str(error), ""))


def _crew(
    file: BinaryIO, pieces: list[_Piece], learner: Learner, risk: float, jobs: int, memory: str | int | None
) -> Iterator[tuple[_Piece, SiteRules]]:
    """Hand the pieces out, the largest that fits into the memory first, and take in what comes back."""
    waiting = sorted(pieces, key=lambda p: (p.pages, p.name))
    room = bytes_of(memory)
    idle: list[tuple[connection.Connection, Any]] = []
    busy: dict[connection.Connection, tuple[Any, _Piece]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                used = sum(piece.pages for _, piece in busy.values())
                fit = (i for i, p in enumerate(reversed(waiting), 1) if (used + p.pages) * PER_PAGE <= room)
                place = next(fit, None) if busy else 1
                if place is None:
                    break
                piece = waiting.pop(-place)
                pipe, process = idle.pop() if idle else _hired(file, learner, risk)
                busy[pipe] = process, piece
                with suppress(BrokenPipeError):  # it is dead: seen below
                    pipe.send(piece)
            for ready in (
                pipe for pipe in connection.wait(list(busy)) if isinstance(pipe, connection.Connection)
            ):
                process, piece = busy.pop(ready)
                yield piece, _answer(ready, process, piece, idle)
    finally:
        for pipe, _ in idle:
            with suppress(OSError):
                pipe.send(None)
        for process, _ in busy.values():
            process.terminate()


def _hired(file: BinaryIO, learner: Learner, risk: float) -> tuple[connection.Connection, Any]:
    context = get_context("spawn")  # a fork would take over threads' locks, and the pages
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, _Shared(file), learner, risk), daemon=True)
    try:
        process.start()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(f"this learner cannot be handed to another process ({error}): use one job") from None
    theirs.close()
    return ours, process


def _answer(
    pipe: Any, process: Any, piece: _Piece, idle: list[tuple[connection.Connection, Any]]
) -> SiteRules:
    try:
        refused, text = pipe.recv()
    except (EOFError, OSError):
        process.join()
        code = process.exitcode
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        hint = "; out of memory? try --memory or --max-urls-per-site" if code == -signal.SIGKILL else ""
        return failed(piece.name, piece.hosts, piece.pages, f"its process {how}{hint}")
    idle.append((pipe, process))
    if refused is not None:
        raise UsageError(refused)
    try:
        return RuleBook.loads(text).sites[piece.name]
    except UndustError as error:
        return failed(piece.name, piece.hosts, piece.pages, f"its rules cannot be written: {error}")
