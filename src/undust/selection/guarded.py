"""Guarded rules: proposals that are right as long as nothing else of the same thing is listed.

"A link to a message of topic T is the first page of T" is right for the topics that have one page. Which these are no
URL tells by itself, but a list of the URLs does: `docs/guarded.md`. What is judged here is what the other rules have
left, and the rule together with its guard: the guard is chosen without the fold it is judged on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from undust.learners.view import Bools, Ints, View, escape
from undust.likeness import Site
from undust.rules import Canonicalizer, Guard, Rule, RuleBook, SiteRules
from undust.rules.compiled import compile_condition
from undust.rules.condition import Condition
from undust.rules.guard import group_names
from undust.rules.mutable import MutableUrl
from undust.rules.pattern import parse_key, parse_pattern, parse_template
from undust.selection.bounds import wilson_lower
from undust.selection.greedy import Selection, evidence_of, examples_of, lost_by
from undust.selection.parts import parts_of_things
from undust.selection.refine import FOLDS, Bar
from undust.selection.trial import Trial, outcome, trial

TRIED = 6  # doubtful proposals that are looked at
MOST = 3  # guarded rules of a site
LEAST = 50  # true merges below which nobody asks for a guard
CLUSTERS = 30  # contents that must speak for it
SHARE = 0.3  # of its merges that must be right without a guard
PRECISION = 0.95  # lower bound: more than of a rule that does not depend on what a list happens to hold
IMPURITY = 0.01
TESTED = 5  # contents that the guard must have kept apart
FAMILIES = 3  # kinds of other pages a guard names at most
ENTITIES, BETWEEN = 5, 0.98  # what a list must show to be taken for complete
SHAPES = 40  # kinds of paths that are looked at for other pages


@dataclass(frozen=True, eq=False)
class Family:
    """A kind of other pages: conditions, and of each event whether such a page is listed of the same thing."""

    absent: Mapping[str, Condition]
    blocked: Bools
    numbered: bool


def add_guarded(site: Site, chosen: Selection, *, risk: float = 0.001, max_rules: int = 30) -> list[Rule]:
    """Guarded rules for what a selection has left, in the order in which they are to be applied.

    `chosen.rules` stay as they are: guarded rules come after them, and only where a list is at hand.
    """
    view = chosen.view
    if view is None or site.labels is None:
        return []
    budget = risk * view.clusters
    found: list[Rule] = []
    ranked = sorted(chosen.doubtful.values(), key=lambda d: (-d[0], d[2].id))
    tried = [rule for good, bad, rule in ranked if good >= LEAST and good >= SHARE * (good + bad)][:TRIED]
    for rule in [*tried, *parts_of_things(view)]:
        if len(found) >= MOST or len(chosen.rules) + len(found) >= max_rules:
            break
        for judged in _candidates(rule, view, chosen):
            lost = lost_by(judged.trial, chosen.noise)
            if lost and chosen.lost + lost > budget:
                continue
            chosen.lost += lost
            t = judged.trial
            found.append(
                replace(
                    t.rule,
                    order=len(chosen.rules) + len(found),
                    status="probable",
                    evidence=evidence_of(t, judged.precision_low),
                    examples=examples_of(t),
                )
            )
            view = _after(view, t)
            break
    return found


@dataclass(frozen=True)
class Judged:
    trial: Trial
    precision_low: float


def _candidates(rule: Rule, view: View, chosen: Selection) -> Iterator[Judged]:
    """The rule under guards that hold, the one with most merges first."""
    found: list[Judged] = []
    t = trial(rule, view)
    if t is None or t.merges < LEAST:
        return
    for narrow in _bound(t):
        judged = _judged(narrow, view, chosen)
        if judged is not None:
            found.append(judged)
    yield from sorted(found, key=lambda j: (-j.trial.merges, j.trial.rule.id))


def _judged(rule: Rule, view: View, chosen: Selection) -> Judged | None:
    """Choose the guard, and judge it on what it was not chosen from."""
    t = trial(rule, view)
    if t is None:
        return None
    t = _listed_only(t)
    if t.merges < LEAST or t.merges < SHARE * (t.merges + int(t.bad.sum())):
        return None
    fold = view.cluster[t.source] % FOLDS
    families = list(_families(t))
    picked = _pick(families, t.good, t.bad)
    if not picked:
        return None
    stable = np.ones(FOLDS, bool)
    for f in range(FOLDS):
        rest = fold != f
        stable[f] = set(_pick(families, t.good & rest, t.bad & rest)) == set(picked)
    picked += _spare(families, picked, t.good, t.bad)
    rule = _unpaged(rule, [families[i] for i in picked])
    blocked = np.logical_or.reduce([families[i].blocked for i in picked])
    if len(np.unique(view.cluster[t.source[t.bad & blocked]])) < TESTED:
        return None
    guard = Guard(tuple(families[i].absent for i in picked))
    done = _deployed(replace(rule, guard=guard), view, chosen)
    if done is None:
        return None
    cluster = view.cluster[done.source]
    counted = done.good & stable[cluster % FOLDS]
    good, bad = (len(np.unique(cluster[mask])) for mask in (counted, done.bad))
    wrong = int(done.bad.sum())
    low = wilson_lower(good, good + bad)
    bar = Bar(PRECISION, IMPURITY, CLUSTERS).allowing(chosen.noise)
    if good < bar.clusters or low < bar.precision or bad > bar.impurity * (good + bad):
        return None
    if wrong > bar.impurity * (done.merges + wrong) or int(done.near.sum()) > 0.05 * done.merges:
        return None
    needs = Guard(guard.absent, entities=ENTITIES, between=BETWEEN)
    return Judged(replace(done, rule=replace(rule, guard=needs)), low)


def _listed_only(t: Trial) -> Trial:
    """The events that lead to a form that stands in the list: to others a guarded rule never leads."""
    kept = t.based
    return replace(
        t,
        source=t.source[kept],
        anchor=t.anchor[kept],
        good=t.good[kept],
        near=t.near[kept],
        based=t.based[kept],
        group=t.group[kept],
    )


def _pick(families: Sequence[Family], good: Bools, bad: Bools) -> list[int]:
    """Kinds of pages whose presence tells right from wrong: each must keep more wrong merges than right ones."""
    picked: list[int] = []
    left = np.ones(len(good), bool)
    while len(picked) < FAMILIES:
        gains = [
            (int((bad & left & f.blocked).sum()) - 0.5 * int((good & left & f.blocked).sum()), f.numbered, -i)
            for i, f in enumerate(families)
        ]
        if not gains or max(gains)[0] <= 0:
            break
        best = -max(gains)[2]
        picked.append(best)
        left &= ~families[best].blocked
    return picked


def _spare(families: Sequence[Family], picked: Sequence[int], good: Bools, bad: Bools) -> list[int]:
    """Further kinds of numbered pages that keep wrong merges apart and no right one: elsewhere they may be the only
    ones that are listed."""
    spare = [
        i
        for i, f in enumerate(families)
        if i not in picked
        and f.numbered
        and (bad & f.blocked).sum() >= TESTED
        and not (good & f.blocked).any()
    ]
    return spare[: FAMILIES - len(picked)]


def _unpaged(rule: Rule, families: Sequence[Family]) -> Rule:
    """The rule for URLs that do not say themselves which page they are: those it must not lead anywhere."""
    when = dict(rule.when)
    for family in families:
        for key, condition in family.absent.items():
            if family.numbered and condition == "{page:int}" and key not in rule.do:
                when.setdefault(key, None)
    return replace(rule, when=when)


def _deployed(rule: Rule, view: View, chosen: Selection) -> Trial | None:
    """What the rule does to the forms when it runs as it will be deployed, with the forms as the list."""
    rules = [*chosen.rules, rule]
    site = view.site
    book = RuleBook({site.name: SiteRules(site.name, site.hosts, rules)})
    canon = Canonicalizer(book, level="likely", normal=False, check=False, listed=view.urls)
    after = canon.map(view.urls)
    rows = [i for i, (a, b) in enumerate(zip(view.urls, after, strict=True)) if a != b]
    return outcome(rule, view, rows, [after[i] for i in rows])


def _after(view: View, t: Trial) -> View:
    """The view with what a guarded rule has merged."""
    new = dict(zip((view.urls[i] for i in t.rows.tolist()), t.after, strict=True))
    return view.rewritten(lambda urls: [new.get(u, u) for u in urls])


# -------------------------------------------------------------------------------- what a URL is about


def _bound(t: Trial) -> Iterator[Rule]:
    """The rule under conditions that name what its URLs are about: groups of its path, or a parameter that stays."""
    rule, view = t.rule, t.view
    if "substitute" in rule.do or any(
        k.startswith(("path[", "matrix[", "url")) for k in (*rule.when, *rule.do)
    ):
        return
    right = t.source[t.good & t.based]
    if len(right) < LEAST:
        return
    if "path" in rule.when:
        rules = [_plain_groups(rule, t)]
    elif "path" in rule.do:
        return
    else:
        shapes, n = np.unique(view.shapes[0][right], return_counts=True)
        rules = [
            replace(rule, when={**rule.when, "path": _named(view.shapes[1][s])})
            for s, k in zip(shapes.tolist(), n.tolist(), strict=True)
            if k >= LEAST
        ][:3]
    for narrow in rules:
        if group_names(narrow.when):
            yield narrow
        for name in _steady(narrow, t, right):
            if f"query[{name}]" not in narrow.when:
                yield replace(narrow, when={**narrow.when, f"query[{name}]": "{" + _group_for(narrow) + "}"})


def _group_for(rule: Rule) -> str:
    taken = group_names(rule.when)
    return next(name for name in "abcdefgh" if name not in taken)


def _steady(rule: Rule, t: Trial, right: Ints, most: int = 2) -> list[str]:
    """Parameters that most of its URLs have, that the rule leaves alone, and that differ from one to the next."""
    view = t.view
    rows = right.tolist()
    written = {k[6:-1] for k in rule.do if k.startswith("query[")}
    if "query" in rule.do:
        return []
    ranked = []
    for name, have in view.values.items():
        if name in written or "#" in name or "]" in name or not name:
            continue
        values = [have[row] for row in rows if row in have]
        if len(values) >= 0.5 * len(rows) and len(set(values)) >= CLUSTERS:
            ranked.append((-len(set(values)), name))
    return [name for _, name in sorted(ranked)[:most]]


def _named(shape: str) -> str:
    """A path's shape with names for its groups.

    >>> _named("/t/{}/p{:int}.html")
    '/t/{a}/p{b:int}.html'
    """
    names = iter("abcdefgh")
    return re.sub(
        r"(?<!\{)\{(:\w+)?\}(?!\})", lambda m: "{" + next(names, "") + (m.group(1) or "") + "}", shape
    )


def _plain_groups(rule: Rule, t: Trial) -> Rule:
    """The rule with groups of the path that always hold one text written as this text: it claims no more than that."""
    condition = rule.when["path"]
    if not isinstance(condition, str):
        return rule
    pattern = parse_pattern(condition, parse_key("path"))
    values: list[set[str]] = [set() for _ in pattern.groups]
    for row in t.rows.tolist():
        found = pattern.match(t.view.parts[row][1])
        for seen, value in zip(values, found or (), strict=False):
            if len(seen) < 2:
                seen.add(value)
    said = pattern.literals[0]
    text = escape(said)
    constant: dict[str, str] = {}
    for group, seen, literal in zip(pattern.groups, values, pattern.literals[1:], strict=True):
        if group.name and len(seen) == 1:
            (constant[group.name],) = seen
            text += escape(constant[group.name])
        else:
            text += _group(group.name, group.type)
        text += escape(literal)
    if not constant:
        return rule
    do = {
        key: _filled(value, constant) if isinstance(value, str) and key != "substitute" else value
        for key, value in rule.do.items()
    }
    return replace(rule, when={**rule.when, "path": text}, do=do)


def _filled(template: str, constant: Mapping[str, str]) -> str:
    for name, value in constant.items():
        template = template.replace("{" + name + "}", escape(value))
    return template


# -------------------------------------------------------------------------------- other pages of it


def _families(t: Trial) -> Iterator[Family]:
    """Kinds of URLs that may be other pages of what the rule's URLs are about, and where they are listed."""
    view, rule = t.view, t.rule
    bound = tuple(sorted(group_names(rule.when)))
    own = _things(view, t.rows.tolist(), rule.when, bound)
    to = dict(zip(t.rows.tolist(), t.after, strict=True))
    for absent, rows in _kinds(t):
        names = group_names(absent)
        common = tuple(name for name in bound if name in names)
        if not common:
            continue
        pages: dict[tuple[str, ...], set[str]] = {}
        numbers: dict[tuple[str, ...], set[str]] = {}
        told = (*common, "page") if "page" in names else common
        for row, values in _things(view, rows, absent, told).items():
            thing = values[: len(common)]
            some = pages.setdefault(thing, set())
            if len(some) < 2:
                some.add(_page(to.get(row, view.urls[row])))
            numbers.setdefault(thing, set()).update(values[len(common) :])
        place = [bound.index(name) for name in common]
        blocked = np.zeros(len(t.source), bool)
        for e, row in enumerate(t.source.tolist()):
            if row in own and row in to:
                blocked[e] = bool(pages.get(tuple(own[row][i] for i in place), set()) - {_page(to[row])})
        if blocked.any():
            # What is the same on all pages of a thing does not number them.
            numbered = any(len(some) > 1 for some in numbers.values())
            yield Family(absent if numbered else _unnumbered(absent), blocked, numbered)


def _unnumbered(absent: Mapping[str, Condition]) -> dict[str, Condition]:
    return {k: c.replace("{page:int}", "{:int}") if isinstance(c, str) else c for k, c in absent.items()}


def _page(url: str) -> str:
    """Behind the host: a page is the same on all hosts of a site."""
    return url.partition("://")[2].partition("/")[2]


def _things(
    view: View, rows: Sequence[int], when: Mapping[str, Condition], names: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    """What each of the forms is about, for those that meet the conditions."""
    tests = [compile_condition(key, condition) for key, condition in when.items()]
    out = {}
    for row in rows:
        u, groups = MutableUrl(view.urls[row]), dict[str, str]()
        if all(test(u, groups) for test in tests):
            out[row] = tuple(groups[name] for name in names)
    return out


def _kinds(t: Trial) -> Iterator[tuple[dict[str, Condition], list[int]]]:
    """Conditions that speak of the same thing in another shape, with the forms that may meet them."""
    view, rule = t.view, t.rule
    path = rule.when.get("path")
    if not isinstance(path, str):
        return
    there = _target(rule) or path
    codes, shapes = view.shapes
    params = {
        k: c
        for k, c in rule.when.items()
        if k.startswith("query[") and k not in rule.do and isinstance(c, str) and group_names({k: c})
    }
    # The path that says which thing it is, and goes on differently.
    builds: dict[str, list[int]] = {}
    sizes = np.bincount(codes, minlength=len(shapes))
    for shape in np.argsort(-sizes, kind="stable")[:SHAPES].tolist():
        for pattern in dict.fromkeys((path, there)):
            same = _same_start(pattern, shapes[shape])
            if same is not None and same != path:
                builds.setdefault(same, []).extend(np.flatnonzero(codes == shape).tolist())
                break
    for same, rows in builds.items():
        if len(rows) > 1:
            yield {"path": same, **params}, rows
    # The same parameter, with a value that goes on differently.
    for key, condition in rule.when.items():
        if key.startswith("query[") and key in rule.do and isinstance(condition, str):
            going_on: dict[str, list[int]] = {}
            for row, value in view.values.get(key[6:-1], {}).items():
                same = _same_start(condition, _DIGITS.sub("{:int}", escape(value)))
                if same is not None and same != condition and view.parts[row][1] == path:
                    going_on.setdefault(same, []).append(row)
            for same, rows in going_on.items():
                if len(rows) > 1:
                    yield {"path": path, **params, key: same}, rows
    # The same path with a parameter that numbers pages.
    written = {k for k, v in rule.do.items() if v is None}
    rows_of: dict[str, list[int]] = {}
    there_is = parse_pattern(there, parse_key("path")).match
    for name, have in view.values.items():
        key = f"query[{name}]"
        if not name or "]" in name or "#" in name or key in written or key in params or len(have) < 2:
            continue
        rows = [row for row in have if there_is(view.parts[row][1]) is not None]
        if len(rows) >= 2:
            rows_of[name] = rows
    for name, rows in sorted(rows_of.items(), key=lambda r: (-len(r[1]), r[0]))[:SHAPES]:
        values = [view.values[name][row] for row in rows]
        numbers = sum(v.isascii() and v.isdigit() for v in values)
        said = "{page:int}" if numbers >= 0.9 * len(values) else "{}"
        yield {"path": there, **params, f"query[{name}]": said}, rows


def _target(rule: Rule) -> str | None:
    """The path a rule writes, as a pattern.

    >>> _target(Rule(when={"path": "/topic,{t:int}.msg{:int}.html"}, do={"path": "/topic,{t}.0.html"}))
    '/topic,{t:int}.0.html'
    """
    written, condition = rule.do.get("path"), rule.when.get("path")
    if not isinstance(written, str) or not isinstance(condition, str):
        return None
    types = {g.name: g.type for g in parse_pattern(condition, parse_key("path")).groups}
    text = ""
    for piece in parse_template(written).pieces:
        if isinstance(piece, str):
            text += escape(piece)
        elif isinstance(piece.source, str) and not piece.steps and piece.source in types:
            text += (
                "{" + piece.source + ("" if types[piece.source] == "any" else f":{types[piece.source]}") + "}"
            )
        else:
            return None
    return text


def _same_start(pattern: str, shape: str) -> str | None:
    """A shape that begins like a pattern, with the groups named that both have there; numbers behind are left open.

    >>> _same_start("/topic,{t:int}.msg{:int}.html", "/topic,{:int}.{:int}.html")
    '/topic,{t:int}.{page:int}.html'
    >>> _same_start("/{a}/{b:int}", "/{}/{:int}/page-2")
    '/{a}/{b:int}/page-{page:int}'
    >>> _same_start("/topic,{t:int}.msg{:int}.html", "/user,{:int}.html") is None
    True
    """
    key = parse_key("path")
    mine, other = parse_pattern(pattern, key), parse_pattern(shape, key)
    same = 0
    for a, b, before, behind in zip(mine.groups, other.groups, mine.literals, other.literals, strict=False):
        if before != behind or a.type != b.type or not a.name:
            break
        same += 1
    if not same:
        return None
    text = ""
    for place, group in enumerate(other.groups):
        name = mine.groups[place].name if place < same else ""
        text += _open(other.literals[place], place <= same) + _group(name, group.type)
    text += _open(other.literals[-1], len(other.groups) <= same and other.literals[-1] == mine.literals[same])
    if "{:int}{:int}" in text:
        return None
    return text.replace("{:int}", "{page:int}", 1)


def _open(literal: str, kept: bool) -> str:
    return escape(literal) if kept else _DIGITS.sub("{:int}", escape(literal))


def _group(name: str, type_: str) -> str:
    return "{" + name + (f":{type_}" if type_ != "any" else "") + "}"


_DIGITS = re.compile(r"\d+")
