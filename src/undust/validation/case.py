"""A rule on trial: the URLs it can be tried on, which of them come next, and how it fares."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, zip_longest
from typing import NamedTuple

import xxhash

from undust.rules import Rule, compile_rule
from undust.url import key_view, parse, split_query, value_type
from undust.url.syntax import field_name
from undust.validation.sequential import SequentialTest

FEW_VALUES = 8
"""Values of a parameter that a rule touches are branches of their own when there are no more of them."""

LOOKED_AT = 40
"""URLs of a branch among which the one that helps most rules is chosen."""

LEAST = 5
"""Different contents that a rule must have been right on, if there are no more URLs to try it on."""


class Trial(NamedTuple):
    """A URL, what the rule makes of it, and which branch of the rule it stands for."""

    url: str
    outcome: str
    branch: int
    content: object
    """What the crawl says stands there; None if it does not say."""


@dataclass
class Case:
    """One rule, tried on URL after URL.

    >>> urls = [f"http://a.test/p?id={i}&sid={i % 3}" for i in range(20)]
    >>> case = Case(Rule(do={"query[sid]": None}), {url: None for url in urls})
    >>> case.size, case.branches
    (20, 3)
    >>> [t.url for t in case.next(2, cost=lambda t: (len(t.url), t.url))]  # session ids differ, too
    ['http://a.test/p?id=1&sid=1', 'http://a.test/p?id=2&sid=2']
    """

    rule: Rule
    urls: Mapping[str, object] = field(repr=False)
    test: SequentialTest = field(default_factory=SequentialTest)
    outcomes: Mapping[str, str] | None = field(default=None, repr=False)
    """Given where the rule fires only on what other rules have made of URLs."""

    positive: int = 0
    negative: int = 0
    unclear: int = 0
    repeated: int = 0
    verdict: bool | None = None
    over: str = ""
    """Why nothing more is tried, when there is no verdict."""
    counterexample: tuple[str, str, str] | None = None
    fetched: set[str] = field(default_factory=set, repr=False)
    contents: list[str] = field(default_factory=list, repr=False)
    """URLs of the pages that spoke for the rule, each another content."""

    _left: dict[int, list[Trial]] = field(default_factory=dict, repr=False)
    _order: list[int] = field(default_factory=list, repr=False)
    _spoken: set[tuple[int, object]] = field(default_factory=set, repr=False)
    _outcomes: set[str] = field(default_factory=set, repr=False)
    _by_branch: Counter[tuple[int, bool]] = field(default_factory=Counter, repr=False)

    def __post_init__(self) -> None:
        left: defaultdict[int, list[Trial]] = defaultdict(list)
        for trial in self._trials():
            left[trial.branch].append(trial)
        for trials in left.values():
            trials.sort(
                key=lambda t: xxhash.xxh3_64_intdigest(f"{self.rule.id} {t.url}".encode("utf-8", "replace"))
            )
        by_size = sorted(left, key=lambda b: (-len(left[b]), left[b][0].url))
        # The largest branch, the smallest, the second largest, ...: rare ones have their turn soon.
        half = (len(by_size) + 1) // 2
        zipped = zip_longest(by_size[:half], reversed(by_size[half:]))
        self._order = [branch for pair in zipped for branch in pair if branch is not None]
        self._left = dict(left)
        self.size, self.branches = sum(map(len, left.values())), len(left)

    @property
    def open(self) -> bool:
        return self.verdict is None and not self.over

    @cached_property
    def sources(self) -> frozenset[str]:
        """The URLs it can be tried on."""
        return frozenset(t.url for trials in self._left.values() for t in trials)

    def _trials(self) -> Iterator[Trial]:
        if self.outcomes is not None:
            pairs = list(self.outcomes.items())
        else:
            apply = compile_rule(self.rule).apply
            pairs = [(url, after) for url in self.urls if (after := apply(url)) is not None and after != url]
        branch: dict[tuple[str, ...], int] = {}
        for (url, outcome), name in zip(pairs, branches(self.rule, [u for u, _ in pairs]), strict=True):
            number = branch.setdefault(name, len(branch))
            yield Trial(url, outcome, number, self.urls.get(url))

    def next(self, most: int, cost: Callable[[Trial], tuple[object, ...]]) -> list[Trial]:
        """The next URLs to try: branch after branch, in each the one of least cost.

        A branch with a counterexample comes first: is it the branch, or a mishap?
        """
        out: list[Trial] = []
        outcomes: set[str] = set()
        turns = sorted(self._order, key=lambda b: -(self._by_branch[b, False] > 0))
        idle = 0
        while len(out) < most and turns and idle < len(turns):
            branch = turns.pop(0)
            turns.append(branch)
            trial = self._best(branch, cost, outcomes)
            if trial is None:
                idle += 1
                continue
            idle = 0
            out.append(trial)
            outcomes.add(trial.outcome)
            self._order.remove(branch)
            self._order.append(branch)
        return out

    def _best(
        self, branch: int, cost: Callable[[Trial], tuple[object, ...]], outcomes: Container[str]
    ) -> Trial | None:
        left = self._left.get(branch, [])
        # Another address of a content that has spoken for this branch says nothing new.
        fresh = [t for t in left if t.content is None or (branch, t.content) not in self._spoken]
        looked_at = list(islice((t for t in fresh if t.outcome not in outcomes), LOOKED_AT))
        if not looked_at:
            return None
        best = min(looked_at, key=lambda t: (t.outcome in self._outcomes, cost(t)))
        self._outcomes.add(best.outcome)
        left.remove(best)
        if best.content is not None:
            self._spoken.add((branch, best.content))
        return best

    def count(self, trial: Trial, same: bool, why: str = "") -> None:
        """A trial that says something."""
        self._by_branch[trial.branch, same] += 1
        if same:
            self.positive += 1
        else:
            self.negative += 1
            self.counterexample = self.counterexample or (trial.url, trial.outcome, why)
        self.verdict = self.test.verdict(self.positive, self.negative)
        good, bad = self._by_branch[trial.branch, True], self._by_branch[trial.branch, False]
        if self.test.verdict(good, bad) is False:
            self.verdict = False

    def exhausted(self) -> None:
        """There is no URL left to try: what was seen must do."""
        tried = self.positive + self.negative
        if self.negative and self.negative >= self.test.refuted * tried:
            self.verdict = False
        elif not self.negative and self.positive >= LEAST:
            self.verdict = True
        else:
            self.over = "no more pages to try it on"

    def give_up(self, why: str) -> None:
        if self.open:
            self.over = why

    @property
    def why(self) -> str | None:
        """What is to be said of the verdict."""
        tried = self.positive + self.negative
        if self.verdict is True:
            return None
        if self.verdict is False and self.counterexample:
            url, outcome, what = self.counterexample
            return f"{self.negative} of {tried} pages differ: {url} became {outcome} ({what})"
        seen = f"{self.positive} of {tried} pages alike" if tried else "no pages compared"
        return f"undecided, {seen}: {self.over or 'not finished'}"


def branches(rule: Rule, urls: Iterable[str]) -> list[tuple[str, ...]]:
    """For each URL the branch of the rule it stands for: its shape, and what it has where the rule looks.

    A session id has a thousand values and is one branch; `start=0` and `start=15` are two.
    """
    keys = sorted(
        {key for key in (*rule.when, *rule.do) if key not in ("names", "substitute", "query", "url")}
    )
    shapes: list[list[str]] = []
    for url in urls:
        view = key_view(url)
        shapes.append([shape(url), *(view.get(key, "-") for key in keys)])
    for column in range(1, len(keys) + 1):
        values = {row[column] for row in shapes}
        if len(values) > FEW_VALUES:
            for row in shapes:
                row[column] = value_type(row[column])
    return [tuple(row) for row in shapes]


_NUMBER = re.compile(r"\d+")


def shape(url: str) -> str:
    """Host, first segment of the path, depth, ending, and names of the parameters.

    >>> shape("http://a.test/forum/view12.php?t=7&sid=ab")
    'a.test/forum/2/php?sid&t'
    """
    parts = parse(url)
    segments = parts.path.split("/")[1:]
    first = _NUMBER.sub("0", segments[0]) if len(segments) > 1 else ""
    dot = segments[-1].rpartition(".") if segments else ("", "", "")
    ending = _NUMBER.sub("0", dot[2])[:8] if dot[1] else ""
    names = sorted({field_name(f) for f in split_query(parts.query)[0]}) if parts.query else []
    return f"{parts.authority}/{first}/{len(segments)}/{ending}?{'&'.join(names)}"
