"""A rule of the report: what it does, what it rests on, what it did on these pages, and what it did wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

from undust.measures import RuleMeasures
from undust.measures.saving import valid
from undust.report.shown import shown
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules
from undust.url import normal

EXAMPLES = 3
TRIED = (0, 64, 512, 4096)
"""URLs that are tried to find examples of a rule that has none: so many at first, then more, and no more."""

LONGEST = 600
"""Characters of a rule's text, or of the reason for its rejection."""


def record(
    rule: Rule,
    site: SiteRules,
    measured: RuleMeasures | None,
    content: Mapping[str, int],
    urls: Sequence[str],
) -> dict[str, Any]:
    """A rule; `measured` is None if it is not in force, or if nothing is known of what these pages show.

    `content` has the contents of the URLs, in normal form, by which an example is told true, wrong or not seen.

    >>> site = SiteRules("a.example", rules=[Rule(do={"query[sid]": None})])
    >>> record(site.rules[0], site, None, {}, ["http://a.example/?sid=1"])["examples"]
    [('http://a.example/?sid=1', 'http://a.example/')]
    """
    idle = measured is not None and not measured.covers
    pairs = rule.examples or (() if idle else found(rule, site, urls))
    out = {
        **_said(rule),
        "examples": [(shown(u), shown(v), *_verdict(u, v, content)) for u, v in pairs[:EXAMPLES]],
    }
    if measured is not None:
        alone = measured.alone
        out["measured"] = {
            "covers": measured.covers,
            "fired": measured.fired,
            "true": measured.true,
            "false": measured.false,
            "merges": alone.true_merges,
            "wrong": alone.wrong_merges,
            "near": alone.near_merges,
            "lost": alone.lost,
            "lost_near": alone.lost_near,
            "valid": valid(measured),
        }
        out["astray"] = [
            (shown(one.url), shown(one.kept), shown(one.canonical), one.near) for one in measured.wrong
        ]
    return out


def rejected(rule: Rule) -> dict[str, Any]:
    """A rule that was refused, with the reason."""
    return {
        **_said(rule),
        "why": shown(rule.why or "", LONGEST),
        "examples": [(shown(u), shown(v)) for u, v in rule.examples[:1]],
    }


def _said(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        # A rule for the whole site need not say so.
        "text": shown(rule.describe().removeprefix("*: "), LONGEST),
        "status": rule.status,
        "guarded": rule.guard is not None,
        "source": [shown(name, 40) for name in rule.source[:8]],
        # A book is data: its figures may be anything that JSON calls a number, and more.
        "evidence": {k: v for k, v in rule.evidence.to_dict().items() if isinstance(v, str) or isfinite(v)},
    }


def found(rule: Rule, site: SiteRules, urls: Sequence[str]) -> list[tuple[str, str]]:
    """URLs (normal forms) that a rule changes, for one that comes without examples, as when a person wrote it."""
    if rule.status == "disabled":
        return []
    alone = RuleBook({site.name: SiteRules(site.name, site.hosts, [rule])})
    canon = Canonicalizer(alone, level="likely")
    pairs: list[tuple[str, str]] = []
    for start, end in pairwise(TRIED):
        some = urls[start:end]
        pairs += [(url, after) for url, after in zip(some, canon.map(some), strict=True) if after != url]
        if len(pairs) >= EXAMPLES:
            break
    return pairs[:EXAMPLES]


def _verdict(before: str, after: str, content: Mapping[str, int]) -> tuple[str, ...]:
    """`same` or `other`, if both URLs were seen, else the empty string; nothing where no content is known at all."""
    if not content:
        return ()
    one, two = content.get(normal(before)), content.get(normal(after))
    if one is None or two is None:
        return ("",)
    return ("same" if one == two else "other",)
