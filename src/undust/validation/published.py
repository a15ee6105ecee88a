"""Validation as DustBuster published it: rules are tried on random URLs, broad ones spare finer ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Literal

from undust.errors import BookError
from undust.learners.context import query_context
from undust.rules import CompiledRule, Rule, compile_rule, refined_by
from undust.rules.refinement import sides
from undust.selection.bounds import wilson_lower
from undust.validation.fetcher import Fetcher, NotRecorded, Page

Variant = Literal["www2007", "thesis"]
Tokens = tuple[str, ...]

MIN_SAMPLES = 10


@dataclass(frozen=True)
class Trial:
    """How one rule fared: pages that stayed the same, pages that did not."""

    valid: bool
    positive: int = 0
    negative: int = 0
    why: str = ""

    @property
    def samples(self) -> int:
        return self.positive + self.negative


@dataclass(frozen=True)
class Validated:
    """Accepted and refuted rules (with the reason), how many had to be attempted, pages fetched for it.

    `spared` are rules that refine an accepted one and were dropped without a fetch.
    """

    rules: list[Rule] = field(default_factory=list)
    rejected: list[Rule] = field(default_factory=list)
    spared: list[Rule] = field(default_factory=list)
    attempted: int = 0
    fetched: int = 0


class PublishedValidation:
    """ValidateRule and Validate of the thesis (2006) and of the WWW paper (2007).

    Parameters
    ----------
    fetcher: where pages come from
    urls: the list to draw test URLs from; best another one than the rules were learned from
    count: N, samples per rule
    epsilon: share of counterexamples that refutes a rule
    min_support: MS; a rule with fewer URLs to try than max(MS, 10) is not accepted
    matches: min-hashes that must agree
    variant: `www2007`; `thesis` adds the refuted direction when only the other one is valid, as printed there
    prune: drop accepted rules that an accepted rule of the same direction makes redundant
    seed: of the random draws

    >>> from undust.validation.fetcher import MemoryFetcher
    >>> pages = {f"http://h.test/{d}/": d for d in map(str, range(12))}
    >>> pages |= {url + "index.html": page for url, page in pages.items()}
    >>> rule = Rule(do={"substitute": {"from": "/index.html", "to": "/", "end": True}}, status="likely")
    >>> found = PublishedValidation(MemoryFetcher(pages), list(pages)).validate([rule])
    >>> [(rule.describe(), rule.status, rule.evidence.fetched) for rule in found.rules]
    [('*: replace /index.html$ by /$', 'validated', 24)]
    """

    def __init__(
        self,
        fetcher: Fetcher,
        urls: Sequence[str],
        *,
        count: int = 100,
        epsilon: float = 0.05,
        min_support: int = 3,
        matches: int = 4,
        variant: Variant = "www2007",
        prune: bool = True,
        seed: int = 0,
    ) -> None:
        self.fetcher, self.urls = fetcher, sorted(urls)
        random.Random(seed).shuffle(self.urls)
        self.count, self.epsilon, self.min_support, self.matches = count, epsilon, min_support, matches
        self.variant, self.prune = variant, prune
        self._pages: dict[str, Page | NotRecorded | None] = {}

    @property
    def fetched(self) -> int:
        """Pages fetched so far; each URL is fetched once."""
        return len(self._pages)

    def validate_rule(self, rule: Rule) -> Trial:
        """Apply the rule to random URLs of the list that it changes, and compare before and after.

        Draws are without replacement and at most three times `count`, so it ends; where the list is too short
        for `count`, what was seen decides if it is enough (RES-8).
        """
        apply = compile_rule(rule).apply
        need, limit = (1 - self.epsilon) * self.count, self.epsilon * self.count
        positive = negative = drawn = 0
        for url in self._shuffled(rule):
            outcome = apply(url)
            if outcome is None:
                continue
            drawn += 1
            if drawn > 3 * self.count:
                break
            try:
                before = self._fetch(url)
                if before is None:
                    continue
                after = self._fetch(outcome)
            except NotRecorded:
                continue
            if after is not None and before.similar(after, self.matches):
                positive += 1
            else:
                negative += 1
            if negative >= limit:
                return Trial(False, positive, negative, f"{negative} of {positive + negative} pages differ")
            if positive >= need:
                return Trial(True, positive, negative)
        samples = positive + negative
        if samples < max(self.min_support, MIN_SAMPLES):
            return Trial(False, positive, negative, f"only {samples} pages to try it on")
        if negative >= self.epsilon * samples:
            return Trial(False, positive, negative, f"{negative} of {samples} pages differ")
        return Trial(True, positive, negative)

    def validate(self, rules: Iterable[Rule]) -> Validated:
        """All rules in their order; substitutions in both directions, the shrinking one first.

        A rule whose pair refines an accepted pair is dropped without a fetch. For a parameter that may be
        left out, setting it to a default is not tried (RES-11), nor a substitution that is about it alone.
        """
        out = Validated()
        accepted: set[tuple[Tokens, Tokens, str]] = set()
        left_out: set[tuple[object, ...]] = set()
        parameters: list[CompiledRule] = []
        attempted = 0
        for rule in rules:
            if "substitute" not in rule.do:
                if _parameter(rule) in left_out:
                    out.spared.append(rule)
                    continue
                attempted += 1
                if self._try(rule, out) and None in rule.do.values():
                    left_out.add(_parameter(rule))
                    parameters.append(compile_rule(rule))
                continue
            if _explained(rule, parameters):
                out.spared.append(rule)
                continue
            shrinking = shrinking_first(rule)[0]
            if any((*pair, str(shrinking.when)) in accepted for pair in refined_by(*sides(shrinking))):
                out.spared.append(rule)
                continue
            attempted += 1
            if self._either_direction(rule, out):
                accepted.add((*sides(shrinking), str(shrinking.when)))
        kept, pruned = _without_refinements(out.rules) if self.prune else (out.rules, [])
        # Canonize applies them in the order of the list.
        kept = [replace(rule, order=place) for place, rule in enumerate(kept)]
        return replace(out, rules=kept, spared=out.spared + pruned, attempted=attempted, fetched=self.fetched)

    def _either_direction(self, rule: Rule, out: Validated) -> bool:
        directions = [r for r in shrinking_first(rule) if writable(r)]
        refuted: list[Rule] = []
        for direction in directions:
            trial = self.validate_rule(direction)
            if trial.valid:
                wrong = self.variant == "thesis" and bool(refuted)
                out.rules.append(self._judged(refuted[0] if wrong else direction, trial))
                return True
            refuted.append(self._judged(direction, trial))
        out.rejected.extend(refuted or [replace(rule, status="rejected", why="cannot be applied")])
        return False

    def _try(self, rule: Rule, out: Validated) -> bool:
        trial = self.validate_rule(rule)
        (out.rules if trial.valid else out.rejected).append(self._judged(rule, trial))
        return trial.valid

    def _judged(self, rule: Rule, trial: Trial) -> Rule:
        evidence = replace(
            rule.evidence,
            level="fetched",
            fetched=2 * trial.samples,
            precision_low=round(wilson_lower(trial.positive, trial.samples), 4),
        )
        status = "validated" if trial.valid else "rejected"
        return replace(rule, status=status, evidence=evidence, why=trial.why or None)

    def _shuffled(self, rule: Rule) -> Iterator[str]:
        """The shuffled list, begun at a place that depends on the rule."""
        begin = int(rule.id, 16) % max(1, len(self.urls))
        return chain(islice(self.urls, begin, None), islice(self.urls, begin))

    def _fetch(self, url: str) -> Page | None:
        if url not in self._pages:
            try:
                self._pages[url] = self.fetcher.fetch(url)
            except NotRecorded as unknown:
                self._pages[url] = unknown
        page = self._pages[url]
        if isinstance(page, NotRecorded):
            raise page
        return page


def shrinking_first(rule: Rule) -> list[Rule]:
    """A substitution and its reverse, the one that makes the URL smaller (tokens, then text) in front.

    >>> rule = Rule(do={"substitute": {"from": "story_", "to": "story?id="}})
    >>> [r.describe() for r in shrinking_first(rule)]
    ['*: replace story?id= by story_', '*: replace story_ by story?id=']
    """
    swap = rule.do["substitute"]
    assert isinstance(swap, dict)
    a, b = sides(rule)
    there, back = query_context("".join(a), "".join(b)), query_context("".join(b), "".join(a))
    others = {key: condition for key, condition in rule.when.items() if key not in there}
    reverse = replace(
        rule,
        when=others | (back if rule.when.keys() >= there.keys() else {}),
        do={"substitute": {**swap, "from": swap["to"], "to": swap["from"]}},
        examples=tuple((v, u) for u, v in rule.examples),
    )
    grows = (len(a), "".join(a)) < (len(b), "".join(b))
    return [reverse, rule] if grows else [rule, reverse]


def writable(rule: Rule) -> bool:
    """Whether the language can say it, and it does not feed itself (RES-12)."""
    a, b = sides(rule)
    if any(b[i : i + len(a)] == a for i in range(len(b) - len(a) + 1)):
        return False
    try:
        compile_rule(rule)
    except BookError:
        return False
    return True


def _parameter(rule: Rule) -> tuple[object, ...]:
    """What names the parameter that a rule is about: where, and which key."""
    key = min(rule.do)
    return rule.scope, tuple((k, str(v)) for k, v in rule.when.items() if k != key), key


def _explained(rule: Rule, parameters: Sequence[CompiledRule]) -> bool:
    """Whether the examples of a substitution become equal as soon as irrelevant parameters are left out."""

    def bare(url: str) -> str:
        for parameter in parameters:
            url = parameter.apply(url) or url
        return url

    return bool(parameters and rule.examples) and all(bare(u) == bare(v) for u, v in rule.examples)


def _without_refinements(rules: list[Rule]) -> tuple[list[Rule], list[Rule]]:
    """Accepted rules, and those of them that another one of the same direction contains (RES-9)."""
    directed = {(*sides(rule), str(rule.when)) for rule in rules if "substitute" in rule.do}
    kept: list[Rule] = []
    pruned: list[Rule] = []
    for rule in rules:
        broader = () if "substitute" not in rule.do else list(refined_by(*sides(rule)))[1:]
        (pruned if any((*pair, str(rule.when)) in directed for pair in broader) else kept).append(rule)
    return kept, pruned
