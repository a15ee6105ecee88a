"""No room, or no right, to write: a message, exit code 1, the old file as it was, and nothing half-written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from undust.engines.learn import learn
from undust.engines.state import State

from .runs import Run, applying, crawling, learning, no_file_larger_than

OLD = b"old"


def failing(run: Run, **how: object) -> str:
    run.out.write_bytes(OLD)
    inputs = run.visible()
    code, said = run.finish(**how)
    assert code == 1, said
    assert "Traceback" not in said and "unexpected" not in said, said
    assert run.out.read_bytes() == OLD
    assert run.visible() == inputs
    assert not list(run.folder.glob(".*.part"))
    return said


@pytest.mark.parametrize("verb", [learning, crawling, applying])
def test_files_may_not_grow(verb, tmp_path: Path) -> None:
    said = failing(verb(tmp_path), before=no_file_larger_than(1000))
    assert "undust: " in said


@pytest.fixture
def small(tmp_path: Path):
    """A file system of 2 MB, where one may be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "undust-test", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_the_disk_of_the_output_is_full(small: Path, tmp_path: Path) -> None:
    run = applying(tmp_path, urls=120_000)  # its output is larger than 2 MB
    run.out = small / "out.txt"
    (small / "out.txt").write_bytes(OLD)
    code, said = run.finish()
    assert code == 1 and "No space left on device" in said, said
    assert run.out.read_bytes() == OLD and os.listdir(small) == ["out.txt"]


@pytest.mark.parametrize("verb", [learning, crawling])
def test_the_temporary_disk_is_full(verb, small: Path, tmp_path: Path) -> None:
    """What lies about for the time of a run is larger than 2 MB for a crawl of 70,000 rows."""
    inner = tmp_path / "run"
    inner.mkdir()
    run = verb(inner)
    if verb is learning:
        (small / "filler").write_bytes(bytes(2_097_152 - 8192))
    said = failing(run, environment={"TMPDIR": str(small)})
    assert str(small) in said
    assert [p for p in os.listdir(small) if p != "filler"] == []


def test_a_state_that_no_longer_fits_is_told_and_the_book_is_written(small: Path, tmp_path: Path) -> None:
    run = learning(tmp_path, f"--resume={small / 'state'}")
    code, _ = run.finish()
    assert code == 0
    book = run.out.read_bytes()
    (small / "filler").write_bytes(bytes(2_097_152 - 8192))
    code, said = run.finish()
    assert code == 0 and "were not kept for --resume" in said, said
    assert run.out.read_bytes() == book


@pytest.mark.parametrize("verb", [learning, crawling, applying])
def test_a_directory_that_may_not_be_written(verb, tmp_path: Path) -> None:
    if not os.geteuid():
        pytest.skip("root may write anywhere; see below")
    run = verb(tmp_path)
    run.out.write_bytes(OLD)
    tmp_path.chmod(0o555)
    try:
        assert "cannot be written" in failing(run)
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.parametrize("verb", [learning, crawling, applying])
def test_a_read_only_file_system(verb, small: Path, tmp_path: Path) -> None:
    run = verb(tmp_path)
    run.out = small / "out"
    run.out.write_bytes(OLD)
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    code, said = run.finish()
    assert code == 1 and "cannot be written" in said and "Traceback" not in said, said
    assert run.out.read_bytes() == OLD


def test_a_state_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    state = State(tmp_path / "state")
    assert learn([{"url": "http://a.example/"}], state=state).sites and state.trouble
