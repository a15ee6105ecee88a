"""A rule book, and the command line as a user meets it: arguments, stdin, stdout, stderr, an exit code."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from undust.cli import run
from undust.rules import Evidence, Rule, RuleBook, Scope, SiteRules

Undust = Callable[..., "CompletedProcess[bytes]"]


@pytest.fixture
def undust(monkeypatch: pytest.MonkeyPatch) -> Undust:
    """Run a command line in this process. No traceback ever reaches stderr."""

    def call(*arguments: object, stdin: bytes = b"", cwd: Path | None = None) -> CompletedProcess[bytes]:
        given = [os.fspath(a) if isinstance(a, Path) else str(a) for a in arguments]
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            if cwd:
                patch.chdir(cwd)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)), "utf-8"))
            patch.setattr("sys.stdout", io.TextIOWrapper(out, "utf-8", write_through=True))
            patch.setattr("sys.stderr", io.TextIOWrapper(err, "utf-8", write_through=True))
            code = run(given)
            said = CompletedProcess(given, code, out.getvalue(), err.getvalue())
        assert b"Traceback" not in said.stderr, said.stderr.decode()
        return said

    return call


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Rules of www.a.test: drop sid (probable), story_7 is story?id=7 (validated), drop ref (likely)."""
    here = Scope(("www.a.test",))
    rules = [
        Rule(here, do={"query[sid]": None}, evidence=Evidence("digest", support=9, pairs=12, false=0)),
        Rule(
            here,
            when={"path": "/story_{n:int}"},
            do={"path": "/story", "query[id]": "{n}"},
            status="validated",
            source=("dustbuster",),
            evidence=Evidence("fetched", fetched=14),
        ),
        Rule(here, do={"query[ref]": None}, status="likely", evidence=Evidence("size")),
    ]
    path = tmp_path / "rules.json"
    RuleBook({"www.a.test": SiteRules("www.a.test", rules=rules)}).save(path)
    return path
