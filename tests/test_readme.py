"""The README is true: its tree is the tree on disk, its tour runs and prints what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", README, re.DOTALL)


def test_the_tree_is_the_tree_on_disk() -> None:
    (tree,) = block("text")
    named, inside = set(), ""
    for line in tree.splitlines():
        name = line.split()[0]
        inside = name if not line.startswith(" ") else inside
        path = name if not line.startswith(" ") else inside + name
        assert (ROOT / path).exists(), path
        named.add(path.rstrip("/"))
    rooms = {f"src/undust/{path.parent.name}" for path in ROOT.glob("src/undust/*/__init__.py")}
    assert rooms <= named


def test_links_lead_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "docs/decisions.md"):
        folder = (ROOT / name).parent
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text(encoding="utf-8")):
            assert (folder / link).exists(), f"{name}: {link}"


@pytest.mark.slow
def test_the_tour_prints_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for session in block("console"):
        command, *shown = session.splitlines()
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command.removeprefix("$ ")],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        printed = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
        for line in shown:
            assert line.strip() in (*printed, "…"), f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = block("python")
    *setup, last = example.strip().splitlines()
    call, _, promised = last.partition("#")
    known: dict[str, object] = {}
    exec("\n".join(setup), known)  # the README's own lines
    assert repr(eval(call, known)) == promised.strip()
