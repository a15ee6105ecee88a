"""kill -9 in the middle of `undust validate`, then --resume: the book of an undisturbed run, nothing fetched twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from undust.demo import DemoSite
from undust.rules import RuleBook

from .trouble import Troubled, served


def start(tmp_path: Path, port: int, out: str, *more: str) -> subprocess.Popen[bytes]:
    hosts = ("demo.undust.test", "www.demo.undust.test")
    resolve = [f"--resolve={host}:80:127.0.0.1:{port}" for host in hosts]
    given = ["-r", tmp_path / "rules.json", tmp_path / "urls.txt", "-o", tmp_path / out]
    settings = ["--delay=0", "--allow-private", *resolve, *more]
    return subprocess.Popen(
        [sys.executable, "-m", "undust", "validate", *map(str, given), *settings], stderr=subprocess.PIPE
    )


@pytest.fixture
def inputs(tmp_path, book, urls) -> Path:
    book.save(tmp_path / "rules.json")
    (tmp_path / "urls.txt").write_text("\n".join(urls) + "\n")
    return tmp_path


def undisturbed(inputs: Path) -> tuple[str, Counter[str]]:
    app = Troubled(DemoSite(size=0.25))
    with served(app) as port:
        assert start(inputs, port, "whole.json").wait(60) == 0
    return (inputs / "whole.json").read_text(), app.asked


@pytest.mark.slow
def test_killed_and_resumed(inputs: Path) -> None:
    whole, asked_once = undisturbed(inputs)
    app = Troubled(DemoSite(size=0.25))
    in_flight: list[str] = []
    running: subprocess.Popen[bytes]

    def last_of_each_host() -> list[str]:
        return list({url.split("/")[2]: url for url in app.targets}.values())

    def kill(number: int, url: str) -> bool:
        if len(app.targets) == number:
            in_flight.extend(last_of_each_host())
            os.kill(running.pid, signal.SIGKILL)
        return len(app.targets) == number

    with served(app) as port:
        for number in (40, 97, 150):
            app.hook = partial(kill, number)
            running = start(inputs, port, "out.json", f"--resume={inputs / 'state'}")
            assert running.wait(60) == -signal.SIGKILL
            # Another one may have been on its way.
            in_flight.extend(last_of_each_host())
            assert not (inputs / "out.json").exists()
        app.hook = lambda url: None
        assert start(inputs, port, "out.json", f"--resume={inputs / 'state'}").wait(60) == 0
    assert (inputs / "out.json").read_text() == whole
    # What was in flight when it was killed, and nothing else, was asked for once more.
    repeated = app.asked - asked_once
    assert set(repeated) <= set(in_flight) and repeated.total() <= 2 * 3
    assert not asked_once - app.asked


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupted_run_writes_a_valid_book(inputs: Path, name: str) -> None:
    app = Troubled(DemoSite(size=0.25))
    with served(app) as port:
        app.hook = lambda url: len(app.targets) == 120 and os.kill(running.pid, getattr(signal, name))
        running = start(inputs, port, "out.json", f"--resume={inputs / 'state'}")
        _, said = running.communicate(timeout=60)
        assert running.returncode == 130, said
        assert b"Traceback" not in said and b"--resume" in said
        part = RuleBook.load(inputs / "out.json")
        assert {r.status for r in part.rules()} <= {"likely", "validated"}
        app.hook = lambda url: None
        assert start(inputs, port, "out.json", f"--resume={inputs / 'state'}").wait(60) == 0
    assert (inputs / "out.json").read_text() == undisturbed(inputs)[0]


def test_a_dry_run_fetches_nothing_and_shows_the_plan(inputs: Path) -> None:
    given = [str(inputs / "rules.json"), str(inputs / "urls.txt")]
    done = subprocess.run(
        [sys.executable, "-m", "undust", "validate", "-r", *given, "--dry-run"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "15 rules to try" in done.stdout and " -> http://demo.undust.test/" in done.stdout
    assert not (inputs / "out.json").exists()


def test_wrong_options_are_told(inputs: Path) -> None:
    given = ["-r", str(inputs / "rules.json"), str(inputs / "urls.txt")]
    for options, why in (
        ([], "where to?"),
        (["-o", str(inputs / "x"), "--set", "colour=1"], "colour"),
        (["-o", str(inputs / "x"), "--set", "count=1"], "count"),
        (["-o", str(inputs / "x"), "--resolve", "nowhere"], "host:port:address"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "undust", "validate", *given, *options],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 2 and why in done.stderr and "Traceback" not in done.stderr
