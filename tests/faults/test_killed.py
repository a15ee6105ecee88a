"""kill -9 at a hundred random moments: the output is the old file or the new one, and the next run is whole."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from validation.conftest import BAD, GOOD, HOSTS
from validation.trouble import Troubled, served

from undust.demo import DemoSite, crawl
from undust.rules import Rule, RuleBook, SiteRules

from .runs import Run, applying, crawling, learning

pytestmark = pytest.mark.slow

TIMES = int(os.environ.get("UNDUST_KILLS", "25"))
"""Kills of each of the four commands."""
OLD = b"old"


def killed(run: Run, times: int, seed: int) -> tuple[bytes, Counter[str]]:
    """What the command writes when it is left alone, and what was found after it was not."""
    start = time.monotonic()
    code, said = run.finish()
    took = time.monotonic() - start
    assert code == 0, said
    expected = run.out.read_bytes()
    inputs = run.visible()
    run.out.write_bytes(OLD)
    rng, seen = random.Random(seed), Counter[str]()
    while seen["killed"] < times:
        begin = time.monotonic()
        process = run.start()
        try:
            process.wait(rng.uniform(0.05, 0.95) * took)
            took = time.monotonic() - begin  # the machine has become less busy
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate(timeout=60)
        found = run.out.read_bytes()
        assert found in (OLD, expected)
        assert run.visible() <= inputs  # nothing beside it that could be taken for a result
        seen["killed"] += process.returncode != 0
        seen["new" if found == expected else "old"] += 1
        run.out.write_bytes(OLD)
        assert seen.total() < 8 * times, seen
    return expected, seen


@pytest.mark.parametrize("verb", [learning, crawling, applying])
def test_killed(verb, tmp_path: Path) -> None:
    run = verb(tmp_path)
    expected, _ = killed(run, TIMES, seed=3)
    code, said = run.finish()
    assert code == 0, said
    assert run.out.read_bytes() == expected


def test_validate_killed(tmp_path: Path) -> None:
    site = DemoSite(size=0.25)
    urls = [page.url for page in crawl(site.fetch) if page.reply.status == 200]
    (tmp_path / "urls.txt").write_text("\n".join(urls) + "\n")
    rules = [Rule(r.scope, r.when, r.do, status="likely", source=("test",)) for r in [*GOOD, *BAD]]
    RuleBook({HOSTS[0]: SiteRules(HOSTS[0], HOSTS, rules)}).save(tmp_path / "rules.json")
    with served(Troubled(DemoSite(size=0.25))) as port:
        resolve = [f"--resolve={host}:80:127.0.0.1:{port}" for host in HOSTS]
        given = ["validate", "-r", "rules.json", "urls.txt", "--delay=0", "--allow-private", *resolve]
        run = Run(tmp_path, given, tmp_path / "validated.json")
        # Without a state each run begins anew and is killed anywhere; with one it comes further each time.
        resumed = TIMES * 2 // 5
        expected, _ = killed(run, TIMES - resumed, seed=5)
        run.arguments.append("--resume=.state")
        for i in range(resumed):
            process = run.start()
            time.sleep(0.3 + 0.15 * i)
            process.kill()
            process.communicate(timeout=60)
            assert run.out.read_bytes() in (OLD, expected)
        code, said = run.finish()
        assert code == 0, said
    assert run.out.read_bytes() == expected
