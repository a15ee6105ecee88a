"""kill -9 in the middle of `undust learn`: the same command goes on, and no half-written book is ever seen."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from undust.rules import RuleBook

from .crawls import pages, write


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    given = [str(folder / "pages.jsonl"), "-o", str(folder / "rules.json"), "--reproducible", *more]
    return subprocess.Popen([sys.executable, "-m", "undust", "learn", *given], stderr=subprocess.PIPE)


def whole(folder: Path) -> bytes:
    process = start(folder, "--jobs=1")
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    book = (folder / "rules.json").read_bytes()
    (folder / "rules.json").unlink()
    return book


def finished(folder: Path) -> set[str]:
    return {p.name for p in (folder / ".rules.json.state").glob("[!.]*.json")}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_and_started_again(tmp_path: Path, jobs: int) -> None:
    write(tmp_path / "pages.jsonl", pages(sites=8, size=20))
    expected = whole(tmp_path)
    done: set[str] = set()
    rng = random.Random(jobs)
    for _ in range(3):
        target = len(done) + rng.randrange(1, 3)
        running = start(tmp_path, f"--jobs={jobs}")
        while running.poll() is None and len(finished(tmp_path)) < target:
            time.sleep(rng.random() / 50)
        assert not (tmp_path / "rules.json").exists()
        os.kill(running.pid, signal.SIGKILL)
        running.communicate(timeout=60)
        now = finished(tmp_path)
        assert done <= now and len(now) >= target  # nothing is lost
        done = now
        for path in (tmp_path / ".rules.json.state").glob("[!.]*.json"):
            RuleBook.load(path)  # whole, or not there
    times = {n: (tmp_path / ".rules.json.state" / n).stat().st_mtime_ns for n in done}
    running = start(tmp_path, f"--jobs={jobs}")
    while running.poll() is None and len(finished(tmp_path)) < 8:
        for name in done:  # what is done is not done again
            state = tmp_path / ".rules.json.state" / name
            if state.exists():
                assert state.stat().st_mtime_ns == times[name]
        time.sleep(0.05)
    assert running.wait(120) == 0
    assert (tmp_path / "rules.json").read_bytes() == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pages.jsonl", "rules.json"]


@pytest.mark.slow
def test_killed_at_any_moment_leaves_the_old_book_or_the_new(tmp_path: Path) -> None:
    write(tmp_path / "pages.jsonl", pages(sites=3, size=12))
    expected = whole(tmp_path)
    (tmp_path / "rules.json").write_bytes(b"old")
    rng = random.Random(11)
    for _ in range(6):
        running = start(tmp_path, "--jobs=2")
        time.sleep(rng.uniform(0.2, 4))
        running.kill()
        running.communicate(timeout=60)
        assert (tmp_path / "rules.json").read_bytes() in (b"old", expected)
    assert start(tmp_path).wait(120) == 0
    assert (tmp_path / "rules.json").read_bytes() == expected


@pytest.mark.slow
def test_interrupted(tmp_path: Path) -> None:
    write(tmp_path / "pages.jsonl", pages(sites=8, size=40))
    running = start(tmp_path, "--jobs=2")
    while running.poll() is None and not finished(tmp_path):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=60)[1]
    assert running.returncode == 130 and b"Traceback" not in said
    assert finished(tmp_path) and not (tmp_path / "rules.json").exists()
