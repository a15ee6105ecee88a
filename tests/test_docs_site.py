"""The documentation as a site: built without a warning, complete, and readable without a network."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import undust.cli
from undust.cli import VERBS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Whatever mkdocs warns of is an error."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return out


class Fetched(HTMLParser):
    """What a browser would fetch for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed", "object"):
            self.found += [of[name] or "" for name in ("src", "data", "srcset") if name in of]
        if tag == "link" and of.get("rel") not in ("canonical", "next", "prev", "alternate"):
            self.found.append(of.get("href") or "")


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        seen = Fetched()
        seen.feed(page.read_text(encoding="utf-8"))
        for address in seen.found:
            assert not re.match(r"(https?:)?//", address), f"{page.name}: {address}"
            path = address.partition("?")[0].partition("#")[0]
            if path and not path.startswith("data:") and page.name != "404.html":
                assert (page.parent / path).exists(), f"{page.name}: {address}"
    for style in site.rglob("*.css"):
        for address in re.findall(r"""(?:url\(|@import\s+)["']?([^"')]+)""", style.read_text("utf-8")):
            assert not re.match(r"(https?:)?//", address), f"{style.name}: {address}"


def test_search_needs_no_server(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert index.startswith("var __index") and "canonical" in index
    assert (site / "assets" / "iframe-worker.js").exists()


def test_the_reference_has_what_the_package_exports(site: Path) -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    for name in (
        "undust.engines.learn.learn",
        "undust.rules.Canonicalizer",
        "undust.measures.evaluation.evaluate",
    ):
        assert f'id="{name}"' in reference, name
    # Doctests are shown as code, not as quotations of quotations.
    assert "<blockquote>" not in reference


def test_every_verb_has_a_page_with_its_options() -> None:
    for verb in undust.cli.undust.list_commands(None):  # type: ignore[attr-defined,arg-type]  # no context is needed
        page = DOCS / "verbs" / f"{verb}.md"
        text = page.read_text(encoding="utf-8")
        shown = re.search(rf"^\$ undust {verb} --help\n(.*?)^```", text, re.M | re.S)
        assert shown, f"{page} does not show the options"
        told = CliRunner().invoke(undust.cli.undust, [verb, "--help"]).output.replace("Usage: undust ", "", 1)
        assert shown[1].replace("Usage: undust ", "", 1).split() == told.split(), (
            f"the options have changed: python tests/test_docs_commands.py {page.relative_to(ROOT)}"
        )
        assert "Exit codes" in text, f"{page} does not say the exit codes"
    assert set(VERBS) >= {page.stem for page in (DOCS / "verbs").glob("*.md")} - {"index"}


def test_every_page_is_in_the_menu(site: Path) -> None:
    menu = (site / "index.html").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert f'href="{page.relative_to(DOCS).with_suffix(".html")}"' in menu, page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_only_named_exist(page: Path) -> None:
    """Synopses are no sessions, but their verbs and options must be there."""
    for line in re.findall(r"^    (undust [a-z].*)$", page.read_text(encoding="utf-8"), re.M):
        words = shlex.split(re.sub(r"[\[\]]|\.\.\.", "", line), comments=True)
        assert words[1] in VERBS, line
        command = undust.cli.undust.get_command(None, words[1])  # type: ignore[attr-defined,arg-type]
        assert command is not None, line
        context = click.Context(command, info_name=words[1], resilient_parsing=True)
        try:
            command.parse_args(context, words[2:])
        except click.UsageError as error:
            pytest.fail(f"{line}: {error.format_message()}")


def test_the_pictures_are_those_of_the_script() -> None:
    drawn = runpy.run_path(str(DOCS / "pictures" / "draw.py"))
    for name, draw in drawn["PICTURES"].items():
        kept = (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        assert kept == draw().svg(), f"{name}: run python docs/pictures/draw.py"
        assert not re.search(r"(href|src)=", kept)
