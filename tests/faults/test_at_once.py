"""Several runs with one output: whoever looks sees the work of one of them, whole."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from undust.rules import RuleBook

from .runs import Run, applying, crawling, learning

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("verb", [learning, crawling, applying])
def test_two_runs_on_one_output_do_not_mix(verb, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    first, second = verb(mine), verb(other)
    if verb is learning:
        second.arguments.append("--learner=dustbuster")
    elif verb is crawling:
        lines = (other / "pages.jsonl").read_text().splitlines(keepends=True)
        (other / "pages.jsonl").write_text("".join(lines[::3]))
    else:
        second.arguments.append("--emit=both")
    results = []
    for run in (first, second):
        code, said = run.finish()
        assert code == 0, said
        results.append(run.out.read_bytes())
        run.out.unlink()
    assert results[0] != results[1]
    second.out = first.out
    codes: list[int] = []

    def go(run: Run) -> None:
        codes.append(run.finish()[0])

    threads = [threading.Thread(target=go, args=(run,)) for run in (first, second, first, second)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if first.out.exists():
            assert first.out.read_bytes() in results
        threads[0].join(0.01)
    assert codes == [0, 0, 0, 0]
    assert first.out.read_bytes() in results
    assert not list(mine.glob(".*"))


def test_two_runs_that_share_what_is_done(tmp_path: Path) -> None:
    """One state directory for runs with other settings: neither takes the other's rules for its own."""
    run = learning(tmp_path, "--resume=state", "--jobs=2")
    other = Run(tmp_path, [*run.arguments, "--learner=dustbuster"], tmp_path / "other.json")
    alone = []
    for one in (run, other):
        code, said = one.finish()
        assert code == 0, said
        alone.append(one.out.read_bytes())
    processes = [one.start() for one in (run, other, run)]
    for process in processes:
        said = process.communicate(timeout=120)[0]
        assert process.returncode == 0, said
    assert [run.out.read_bytes(), other.out.read_bytes()] == alone
    assert len(RuleBook.load(run.out).sites) == 3
