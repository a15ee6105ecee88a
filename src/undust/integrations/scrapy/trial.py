"""Rules on trial while they are in force: what the explored pages say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from undust.rules import Rule, compile_rule
from undust.validation.sequential import SequentialTest

ALIKE = 2
"""Min-hashes of four that pages of one content have in common at least: clocks and advertisements cost the others."""

MOVED = 5
"""Redirects that are followed from one page to the next."""


class Seen(NamedTuple):
    """What is kept of a page."""

    gone: bool
    digest: str
    sketch: tuple[str, ...]


@dataclass
class Account:
    """What explored pages have said of a rule."""

    agree: int = 0
    differ: int = 0


class Trial:
    """Compares explored pages with those they would have been spared for; says which rules do not hold.

    A page is only known by its digest and its sketch here, so one that differs is a suspicion: the sequential test
    decides, as it does when rules are validated by fetching.

    >>> trial = Trial()
    >>> for n, digest in enumerate("aabc"):
    ...     trial.see(f"http://a.example/{n}", {"status": 200, "digest": digest})
    >>> pair = "http://a.example/0", "http://a.example/1"
    >>> trial.same(*pair), trial.same(pair[0], "http://a.example/2"), trial.same(pair[0], "http://a.example/9")
    (True, False, None)
    >>> [trial.count(["r1"], same=False) for _ in range(2)]
    [[], ['r1']]
    """

    def __init__(self, test: SequentialTest | None = None) -> None:
        self.test = test or SequentialTest(tolerated=0.05, refuted=0.3)
        self.accounts: dict[str, Account] = {}
        self._pages: dict[str, Seen] = {}
        self._moved: dict[str, str] = {}

    def see(self, url: str, record: Mapping[str, Any]) -> None:
        """Remember a page."""
        if "location" in record:
            self._moved[url] = record["location"]
            return
        sketch = tuple(record.get("sketch", ()))
        self._pages[url] = Seen(record["status"] >= 400, record.get("digest", ""), sketch)

    def end(self, url: str) -> str:
        """Where the redirects from a URL led."""
        for _ in range(MOVED):
            if url not in self._moved:
                break
            url = self._moved[url]
        return url

    def same(self, url: str, other: str) -> bool | None:
        """Whether two URLs showed the same page; None: not known, or not yet."""
        url, other = self.end(url), self.end(other)
        if url == other:
            return True
        a, b = self._pages.get(url), self._pages.get(other)
        if a is None or b is None or (a.gone and b.gone):
            return None
        if a.gone or b.gone:
            return False
        if a.digest and a.digest == b.digest:
            return True
        if not a.sketch or not b.sketch:
            # A text against none, or two files that differ.
            return False if a.digest and b.digest else None
        return sum(x == y for x, y in zip(a.sketch, b.sketch, strict=True)) >= ALIKE

    def stands(self, rule: Rule, urls: Iterable[str]) -> bool:
        """Whether the pages so far leave a rule in force: too few that it would merge have differed."""
        ready = compile_rule(rule)
        forms: dict[str, str] = {}
        agree = differ = 0
        for url in urls:
            first = forms.setdefault(ready.apply(url) or url, url)
            if first != url and (same := self.same(first, url)) is not None:
                agree, differ = agree + same, differ + (not same)
        return self.test.verdict(agree, differ) is not False

    def count(self, rules: Iterable[str], same: bool) -> list[str]:
        """A page for or against rules; those that are refuted by it."""
        out = []
        for rule in rules:
            account = self.accounts.setdefault(rule, Account())
            if same:
                account.agree += 1
            else:
                account.differ += 1
                if self.test.verdict(account.agree, account.differ) is False:
                    out.append(rule)
        return out
