"""What README and docs show is what happens: every command, Python block and file of a page is tried, in page order.

A page is one shell session in an empty directory (with `examples/` in it). A ```console block holds commands after `$ `
(`> ` goes on), and what they print; a block with `title="name"` is a file; a ```python block is run, and an expression
with a comment behind it must have that value; `>>>` examples are doctests. `…` stands for any text, alone on a line for
any number of lines. `<!-- not run: reason -->` before a block leaves it out; `<!-- figures move -->` lets its numbers
be other ones, since learners improve. A command that fails is followed by `$ echo $?`. Port 8765 is replaced by a free
one.

    python tests/test_docs_commands.py PAGE...     # put the figures that changed into pages
"""

from __future__ import annotations

import atexit
import doctest
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PORT = "8765"
LIMIT = 1200
"""Seconds a page may take."""

_BLOCK = re.compile(
    r"^(?:<!-- (?:not run: (?P<why>.+?)|(?P<move>figures move)) -->\n+)?```(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
    re.M | re.S,
)
_EXPRESSIONS = """\
import ast, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
known = {}
for node in ast.parse(text).body:
    source = "\\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
    said = re.search(r"  # (.+)$", source)
    if isinstance(node, ast.Expr) and said:
        value = repr(eval(ast.unparse(node), known))
        assert re.fullmatch(".*?".join(map(re.escape, said[1].split("…"))), value), f"{source}\\nis {value}"
    else:
        exec(compile(ast.Module([node], []), sys.argv[1], "exec"), known)
"""


@dataclass
class Step:
    """A command with what it is said to print."""

    command: str
    shown: list[str] = field(default_factory=list)
    move: bool = False
    may_fail: bool = False
    code: int = 0
    printed: str = ""


@dataclass
class Session:
    """What a page asks for, in order."""

    steps: list[Step] = field(default_factory=list)
    doctests: bool = False


def blocks(text: str) -> list[re.Match[str]]:
    """The fenced blocks that are to be run or written."""
    return [block for block in _BLOCK.finditer(text) if not block["why"]]


def session(text: str) -> Session:
    """The commands of a page; files and Python blocks become commands too."""
    found = Session()
    for number, block in enumerate(blocks(text)):
        language, _, rest = block["info"].partition(" ")
        title = re.search(r'title="([^"]+)"', rest)
        if language == "console":
            for line in block["body"].splitlines():
                if line.startswith("$ "):
                    found.steps.append(Step(line[2:], move=bool(block["move"])))
                elif line.startswith("> "):
                    found.steps[-1].command += "\n" + line[2:]
                else:
                    found.steps[-1].shown.append(line)
        elif title:
            found.steps.append(Step(_written(title[1], block["body"])))
        elif ">>> " in block["body"]:
            found.doctests = True
        elif language == "python":
            name = f".block{number}.py"
            run = f"python .expressions.py {name}"
            found.steps.append(Step(_written(name, block["body"]) + f"\n{run}", shown=["…"]))
    for step, after in zip(found.steps, found.steps[1:], strict=False):
        step.may_fail = after.command == "echo $?"
    return found


def _written(name: str, body: str) -> str:
    return f"cat > {name} <<'END OF {name}'\n{body}END OF {name}"


def run(found: Session, folder: Path) -> None:
    """Carry the commands out in a shell of their own, and note what each printed and how it ended."""
    (folder / ".expressions.py").write_text(_EXPRESSIONS, encoding="utf-8")
    script = ["set -o pipefail"]
    for step in found.steps:
        command = step.command
        if made := _demo(command):
            command = f"cp -r {made}/files/. . && cat {made}/printed.txt"
        script += [f"(exit ${{code-0}})\n{command}", "code=$?; printf '\\036%d\\036' $code"]
        if port := re.search(r"--port (\d+).*&$", step.command):
            there = f"(: < /dev/tcp/127.0.0.1/{port[1]}) 2>/dev/null"
            script.append(f"for _ in {{1..300}}; do {there} && break; sleep 0.1; done")
    (folder / ".page.sh").write_text("\n".join(script) + "\n", encoding="utf-8")
    printed = _shell([".page.sh"], folder).split("\x1e")
    for step, text, code in zip(found.steps, printed[::2], printed[1::2], strict=False):
        step.printed, step.code = text, int(code)
    if len(printed) < 2 * len(found.steps) + 1:
        raise AssertionError(f"the page stopped:\n{printed[-1]}")


def _shell(arguments: list[str], folder: Path) -> str:
    """What bash prints, both streams as a terminal has them; what it left running is ended."""
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    environment |= {"LC_ALL": "C.UTF-8", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryFile() as out:
        bash = subprocess.Popen(
            ["bash", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            bash.wait(LIMIT)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(bash.pid, signal.SIGTERM)
            bash.wait()
        out.seek(0)
        return out.read().decode("utf-8", "replace")


@cache
def _made(command: str) -> Path:
    made = Path(tempfile.mkdtemp(prefix="undust-docs-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    (made / "files").mkdir()
    (made / "printed.txt").write_text(_shell(["-c", command], made / "files"), encoding="utf-8")
    return made


def _demo(command: str) -> Path | None:
    """Several pages begin with the same demo: it is made once."""
    return _made(command) if re.fullmatch(r"undust demo [\w/-]+( --\w+ [\d.]+)*", command) else None


def _pattern(line: str, figures: bool = False) -> str:
    """A shown line as an expression; with `figures`, one that lets every number be another one."""
    parts = [re.escape(part) for part in line.rstrip().split("…")]
    if figures:
        parts = [re.sub(r"(?:\d|(?<=\d)(?:,|\\\.)(?=\d))+", r"[\\d.,]+", part) for part in parts]
        parts = [re.sub(r"(?:\\ )+", " +", part) for part in parts]
    return ".*?".join(parts)


def matches(shown: list[str], printed: str, figures: bool = False) -> bool:
    """Whether this was printed, with `figures` whatever the numbers.

    >>> matches(["a", "…", "d … f"], "a\\nb\\nc\\nd e f\\n"), matches(["a", "c"], "a\\nb\\nc\\n")
    (True, False)
    >>> matches(["7", "in=2 out=2"], "in=2 out=2\\n7\\n"), matches(["7", "in=2 out=2"], "7\\n")
    (True, False)
    >>> matches(["1,200 pages,  3 hosts"], "7 pages, 10 hosts\\n", figures=True)
    True
    """
    if "…" not in shown:
        # The summary is written to the other stream: where it comes among the lines of a pipe is chance.
        printed = "".join(sorted(printed.splitlines(keepends=True), key=_is_summary))
        shown = sorted(shown, key=_is_summary)
    lines = [
        r"(?:.*\n)*?" if line.strip() == "…" else _pattern(line, figures) + r"[ \t]*\n" for line in shown
    ]
    text = printed if printed.endswith("\n") or not printed else printed + "\n"
    return re.fullmatch("".join(lines), text) is not None


def said(step: Step) -> bool:
    """Whether a command printed what the page shows; a help text may be wrapped elsewhere."""
    if step.command.endswith("--help"):
        return " ".join(step.shown).split() == step.printed.split()
    return matches(step.shown, step.printed, step.move)


def _is_summary(line: str) -> bool:
    return line.startswith("in=")


def _slow(page: Path) -> bool:
    return re.search(r"^\$ undust (demo|bench) ", page.read_text(encoding="utf-8"), re.M) is not None


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prepared(page: Path, folder: Path) -> tuple[str, str]:
    """A page's text with a free port, and the port; examples are at hand."""
    (folder / "examples").symlink_to(ROOT / "examples")
    text = page.read_text(encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return re.sub(rf"\b{PORT}\b", port, text), port


def _worth(page: Path) -> bool:
    found = session(page.read_text(encoding="utf-8"))
    return bool(found.steps or found.doctests)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=_name(page), marks=pytest.mark.slow if _slow(page) else ())
        for page in PAGES
        if _worth(page)
    ],
)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = prepared(page, tmp_path)
    found = session(text)
    run(found, tmp_path)
    for step in found.steps:
        assert step.code == 0 or step.may_fail, f"$ {step.command}\n{step.printed}"
        assert said(step), f"$ {step.command}\n{step.printed}"
    if found.doctests:
        monkeypatch.chdir(tmp_path)
        examples = doctest.DocTestParser().get_doctest(text, {}, _name(page), _name(page), 0)
        complaints: list[str] = []
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        failed = doctest.DocTestRunner(optionflags=flags).run(examples, out=complaints.append).failed
        assert not failed, "".join(complaints)


def renewed(page: Path) -> str:
    """The page with the figures that its commands print now."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        here, port = prepared(page, Path(name))
        found = session(here)
        run(found, Path(name))
    for step in found.steps:
        if matches(step.shown, step.printed):
            continue
        lines = iter(step.printed.splitlines())
        now = step.printed.splitlines() if step.command.endswith("--help") else []
        for line in () if now else step.shown:
            if line.strip() != "…":
                expected = _pattern(line, figures=True)
                printed = next((p for p in lines if re.fullmatch(expected, p.rstrip())), None)
                if printed is None:
                    print(f"{_name(page)}: not printed any more: {line}", file=sys.stderr)
                    print(f"$ {step.command}\n{step.printed}", file=sys.stderr)
                    printed = line
                line = line if "…" in line else printed.rstrip()
            now.append(line)
        before = "\n".join([step.command.replace("\n", "\n> "), *step.shown])
        after = "\n".join([step.command.replace("\n", "\n> "), *now])
        text = text.replace(f"$ {before}\n".replace(port, PORT), f"$ {after}\n".replace(port, PORT))
    return text


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        Path(argument).write_text(renewed(Path(argument).resolve()), encoding="utf-8")
