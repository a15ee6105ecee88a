"""One lesson of a crawl that learns: beside the crawl, in a thread that waits for a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from undust.errors import UndustError
from undust.integrations.scrapy.in_use import InUse
from undust.integrations.scrapy.standing import Prepared, Standing
from undust.integrations.scrapy.trial import Trial
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules, prove

MOST_PROVED = 20_000
"""URLs of a site on which given and learned rules are tried together."""

# The crawl comes first: the learner takes what it leaves.
_LEARN = "import os, sys; getattr(os, 'nice', int)(10); from undust.cli import main; main()"


class Outcome(NamedTuple):
    """What a lesson has come to."""

    canonicalizer: Canonicalizer
    prepared: Prepared
    off: Mapping[str, str]
    exempt: int
    learned: bool


class Lesson(Thread):
    """Learns from the pages so far (`pages`: the file and how many bytes of it), and prepares what the crawl needs to
    follow the new rules. Without pages only the rules in `off` are taken out of the book."""

    def __init__(
        self,
        rules: InUse,
        standing: Standing,
        given: RuleBook,
        off: Mapping[str, str],
        trial: Trial,
        folder: Path,
        pages: tuple[str, int] | None,
        site_key: str = "host",
    ) -> None:
        super().__init__(name="undust-lesson", daemon=True)
        self.rules, self.standing, self.given, self.off = rules, standing, given, dict(off)
        self.trial = trial
        self.folder, self.pages, self.site_key = folder, pages, site_key
        self.book = rules.book
        self.outcome: Outcome | None = None
        self.error: str | None = None
        self.seconds = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> None:
        start = time.monotonic()
        try:
            book = self.book if self.pages is None else self._learn(*self.pages)
            book = switched_off(book, self.off)
            canonicalizer = self.rules.ready(book)
            exempt = len(self.rules.exempt)
            prepared = self.standing.prepare(self.rules.with_exemptions(canonicalizer))
            self.outcome = Outcome(canonicalizer, prepared, self.off, exempt, self.pages is not None)
        except (UndustError, OSError) as error:
            self.error = str(error) or type(error).__name__
        self.seconds = time.monotonic() - start

    def stop(self) -> None:
        """The crawl is over: end the process, if there is one."""
        self._stopped = True
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def _learn(self, path: str, size: int) -> RuleBook:
        # The crawl goes on writing: what is read is what was complete when the lesson began.
        pages, learned = self.folder / "lesson.jsonl", self.folder / "learned.json"
        with open(path, "rb") as source, pages.open("wb") as out:
            while size > 0 and (block := source.read(min(size, 1 << 20))):
                out.write(block)
                size -= len(block)
        arguments = [
            "-q",
            "learn",
            str(pages),
            "-o",
            str(learned),
            "--format",
            "jsonl",
            "--site-key",
            self.site_key,
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LEARN, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        if self._stopped:
            self._process.terminate()
        _, said = self._process.communicate()
        if self._process.returncode not in (0, 3):
            raise UndustError(
                f"the learner ended with {self._process.returncode}: {said.decode()[-300:].strip()}"
            )
        return self._added(RuleBook.load(learned))

    def _added(self, learned: RuleBook) -> RuleBook:
        """What was learned, and the rules followed so far: they spare the crawl the very pages they could be learned
        from again. Those that the pages by now speak against go, unless they were given."""
        urls = list(self.standing.asked)
        some = [url for url in list(self.standing.begun)[:MOST_PROVED]]
        given = {rule.id for rule in self.given.rules()}
        kept = RuleBook(
            {
                name: replace(
                    site, rules=[r for r in site.rules if r.id in given or self.trial.stands(r, some)]
                )
                for name, site in self.book.sites.items()
            },
            self.book.site_key,
        )
        return combined(kept, learned, urls)


def switched_off(book: RuleBook, off: Mapping[str, str]) -> RuleBook:
    """The book with some rules disabled, and why.

    >>> rule = Rule(do={"query[v]": None})
    >>> book = switched_off(RuleBook({"a.example": SiteRules("a.example", rules=[rule])}), {rule.id: "it differs"})
    >>> [(rule.status, rule.why) for rule in book.rules()]
    [('disabled', 'it differs')]
    """
    sites = {
        name: replace(
            site,
            rules=[replace(r, status="disabled", why=off[r.id]) if r.id in off else r for r in site.rules],
        )
        for name, site in book.sites.items()
    }
    return RuleBook(sites, book.site_key)


def combined(given: RuleBook, learned: RuleBook, urls: Iterable[str]) -> RuleBook:
    """What was known before and what was learned; the weaker of two rules that do not go together is left out."""
    out = RuleBook(dict(learned.sites), learned.site_key)
    some = list(urls)
    for name, site in given.sites.items():
        other = out.sites.get(name)
        if other is None:
            out.add(site)
            continue
        known = {rule.id for rule in site.rules}
        rules: list[Rule] = [*site.rules, *(rule for rule in other.rules if rule.id not in known)]
        hosts = tuple(sorted({*site.hosts, *other.hosts}))
        here = islice((url for url in some if url.startswith(_starts(hosts))), MOST_PROVED)
        proof = prove(rules, list(here), hosts or ("*",))
        out.add(
            SiteRules(name, hosts, list(proof.rules), [*other.rejected, *proof.removed], dict(other.notes))
        )
    return out


def _starts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{scheme}://{host}" for host in hosts for scheme in ("http", "https"))


def scratch(jobdir: str | None) -> tuple[Path, bool]:
    """A folder for what a lesson reads and writes; whether it is to be removed."""
    if jobdir:
        folder = Path(jobdir) / "undust"
        folder.mkdir(parents=True, exist_ok=True)
        return folder, False
    import tempfile

    return Path(tempfile.mkdtemp(prefix="undust-")), True


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)
