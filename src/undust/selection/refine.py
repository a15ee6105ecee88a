"""Where a proposal holds: the widest contexts in which nothing speaks against it.

A proposal is tried as wide as it was made. Where it merges different contents, the events tell in which paths,
with which other parameters and for which values it does; the parts that stay clean become rules of their own.
Every part is judged by leave-one-fold-out over clusters: a fold counts for a rule only if the other folds alone
would have proposed it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from undust.learners.view import Ints, View, escape
from undust.rules import Rule
from undust.selection.bounds import wilson_lower
from undust.selection.prior import OPAQUE, strength
from undust.selection.trial import Trial
from undust.url import field_name, field_value

FOLDS = 5
LIKELY, SURE = 1.645, 2.6  # one-sided bounds of 95 % and 99.5 %
DENIED = (
    0.1  # share of a proposal's merges from which it is a false one, and where it seems to hold may be chance
)
_NAMED = re.compile(r"\{[A-Za-z_]")  # a group whose text is used
_READ = re.compile(r"\{(query\[[^\]#|]*\])")  # a parameter whose value is used
_OPEN = ("{}", "{:rest}", "{:int}")
TWICE = 0.3  # share of the pages it goes from that must have been seen under two values of it
SHARED = (
    0.3  # share of the URLs whose value of a parameter occurs on other pages too, for it not to name the page
)
MANY_VALUES = 8  # values of a parameter that were seen not to matter, before the others are taken not to
FEW_VALUES = 30  # a parameter with so few values chooses among them: each must have been seen not to matter
MOST_NOISE = (
    0.2  # a rule that is denied more often than this is never taken for a true one under wrong labels
)


@dataclass(frozen=True)
class Bar:
    """What a rule must show. `precision` is a lower bound; `impurity` the most it may show as a point estimate."""

    precision: float = 0.85
    impurity: float = 0.03
    clusters: int = 2

    def allowing(self, noise: float) -> Bar:
        """The bar where this share of what is right is denied by wrong labels."""
        return replace(
            self,
            impurity=min(MOST_NOISE, self.impurity + 1.5 * noise),
            precision=max(0.7, self.precision - 1.5 * noise),
        )


@dataclass(frozen=True)
class Feature:
    """A property of the changed URLs that may become a condition: a code per form, and what each code says."""

    name: str
    codes: Ints
    say: Sequence[Any]
    needs_base: bool = False


@dataclass(frozen=True)
class Count:
    """Clusters that speak for and against, per fold."""

    good: Ints
    bad: Ints
    near: int

    def judged(self, prior: float, bar: Bar, z: float = LIKELY) -> tuple[float, int, int]:
        """Lower bound of precision, clusters for, clusters against - from folds the others would have proposed."""
        g, b = self.good.sum(), self.bad.sum()
        rest_g, rest_b = g - self.good, b - self.bad
        counts = (rest_g >= min(bar.clusters, 2)) & (
            rest_b <= np.maximum(1, bar.impurity * (rest_g + rest_b))
        )
        good = int(self.good[counts].sum())
        bad = int(b)  # what speaks against a rule always counts
        return wilson_lower(good + prior, good + bad + prior, z), good, bad


def features(trial: Trial) -> list[Feature]:
    """Conditions that could narrow this rule."""
    view, rule = trial.view, trial.rule
    taken = set(rule.when)
    out: list[Feature] = []
    separates = view.separators[0][trial.rows]
    if not _aside(rule) and "separator" not in taken and (separates == 0).any() and (separates == 1).any():
        out.append(Feature("separator", *view.separators))
    out += _repeated(trial)
    if not any(k.startswith("path[") for k in taken):
        out.append(Feature("tail", *view.tails))
    if "path" not in taken:
        if not rule.scope.path:
            out.append(Feature("top", *view.tops))
        out.append(Feature("shape", *view.shapes))
    if "names" not in taken:
        out += _others(trial)
        out.append(Feature("names", *view.names))
    dropped = [k for k, v in rule.do.items() if v is None and k.startswith("query[") and k not in taken]
    if len(dropped) == 1:
        name = dropped[0][6:-1]
        values = view.values.get(name, {})
        texts = sorted({values[i] for i in trial.rows.tolist() if i in values})
        at = {t: i for i, t in enumerate(texts)}
        codes = np.full(view.n, -1, np.int64)
        for i in trial.rows.tolist():
            if i in values:
                codes[i] = at[values[i]]
        out.append(Feature("value", codes, texts, needs_base=True))
    return out


def _repeated(trial: Trial) -> list[Feature]:
    """A value is taken from a parameter that some URLs repeat: which one is meant is not known."""
    view = trial.view
    out = []
    written = " ".join(v for v in trial.rule.do.values() if isinstance(v, str))
    for key in sorted({k for k in trial.rule.when if k.startswith("query[")} | set(_READ.findall(written))):
        condition = trial.rule.when.get(key)
        if "#" not in key and (
            f"{{{key}" in written or (isinstance(condition, str) and _NAMED.search(condition))
        ):
            name = key[6:-1]
            codes = np.zeros(view.n, np.int64)
            for row in trial.rows.tolist():
                if sum(field_name(f) == name for f in view.parts[row][2]) > 1:
                    codes[row] = -1
            if (codes < 0).any() and f"query[{name}#2]" not in trial.rule.when:
                out.append(Feature(f"once {name}", codes, [name]))
    return out


def _others(trial: Trial) -> list[Feature]:
    """Absence of another parameter: the one whose presence goes most with being wrong."""
    view = trial.view
    bad = trial.source[trial.bad]
    if len(bad) < 2:
        return []
    own = {k[6:-1] for k in (*trial.rule.do, *trial.rule.when) if k.startswith("query[")}
    counts: dict[str, int] = {}
    for row in bad[:: max(1, len(bad) // 500)].tolist():
        for name in {field_name(f) for f in view.parts[row][2]}:
            if name not in own and name:
                counts[name] = counts.get(name, 0) + 1
    out = []
    for name, _ in sorted(counts.items(), key=lambda c: (-c[1], c[0]))[:2]:
        codes = np.zeros(view.n, np.int64)
        codes[list(view.values[name])] = 1
        out.append(Feature(f"without {name}", np.where(codes == 1, -1, 0), [name]))
    return out


def narrowed(rule: Rule, conditions: Sequence[tuple[Feature, int]]) -> Rule:
    """The rule under these further conditions."""
    when: dict[str, Any] = dict(rule.when)
    scope = rule.scope
    for feature, code in conditions:
        said = feature.say[code]
        match feature.name:
            case "top":
                scope = replace(scope, path=said) if said != "/" else scope
                if said == "/":
                    when["path[1]"] = None
            case "shape":
                when["path"] = said
            case "tail":
                when["path[-1]"] = said
            case "names":
                when["names"] = list(said)
            case "separator":
                when["separator"] = said
            case _ if feature.name.startswith("once "):
                when[f"query[{said}#2]"] = None
            case _ if feature.name.startswith("without "):
                when[f"query[{said}]"] = None
            case "value":
                (key,) = [
                    k
                    for k, v in rule.do.items()
                    if v is None and k.startswith("query[") and k not in rule.when
                ]
                when[key] = escape(said)
    do = dict(rule.do)
    if isinstance(when.get("names"), list):
        when, do = _plain(when, do, set(when["names"]))
    return replace(rule, scope=scope, when=when, do=do)


def _plain(
    when: dict[str, Any], do: dict[str, Any], names: set[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Leave out what the exact set of parameters says already: what must be there, and drops of what is not."""

    def said(key: str, condition: Any) -> bool:
        if not key.startswith("query[") or "#" in key:
            return False
        name = key[6:-1]
        return condition in ("{}", "{:rest}") if name in names else condition is None

    kept = {
        k: v for k, v in do.items() if not (v is None and k.startswith("query[") and k[6:-1] not in names)
    }
    return {k: c for k, c in when.items() if not said(k, c)}, kept or do


@dataclass(frozen=True)
class Candidate:
    """A rule with what speaks for it."""

    rule: Rule
    precision_low: float
    good: int
    bad: int
    near: int
    merges: int
    conditions: int
    changed: int  # forms it changes, merged or not


def refine(trial: Trial, bar: Bar, say: Callable[[Rule, str, Ints], None] | None = None) -> list[Candidate]:
    """The widest parts of a tried rule that pass the bar, best first; none when nothing does.

    `say` is told of each part that does not pass: the rule, why not, and the events it was judged on.
    """
    if not trial.good.any():
        return []
    view = trial.view
    cluster = view.cluster[trial.source]
    fold = cluster % FOLDS
    found: list[Candidate] = []
    covered = np.zeros(len(trial.source), bool)
    feats = features(trial)
    by_name = {f.name: f for f in feats}
    # Of many places some look clean by chance: where a rule is false in general it needs more in particular.
    denied = trial.bad.sum() > DENIED * len(trial.source)
    # Some sites take `;` for `&`, to others it is part of a value: unless the site is known to take it, a rule
    # speaks of one separator only.
    must = {"separator"} if "separator" in by_name and not view.semicolons else set()
    must |= {n for n in by_name if n.startswith("once ")}
    for combo in _combinations(by_name, must):
        if (covered | ~trial.good).all():
            break
        fs = [by_name[n] for n in combo]
        usable = np.ones(len(trial.source), bool)
        key = np.zeros(len(trial.source), np.int64)
        for f in fs:
            codes = f.codes[trial.source]
            usable &= codes >= 0
            if f.needs_base:
                usable &= trial.based
            key = key * (len(f.say) + 1) + codes + 1
        # an event whose source stands still (the group's majority moved) has no features of the change: it counts
        # under its own path and names, which the group shares
        contexts, inverse = np.unique(key[usable], return_inverse=True)
        if not len(contexts):
            continue
        counts = _tally(
            inverse,
            cluster[usable],
            fold[usable],
            trial.good[usable],
            trial.bad[usable],
            trial.near[usable],
            len(contexts),
        )
        events = np.flatnonzero(usable)
        for c, count in enumerate(counts):
            if count.good.sum() < 1:
                continue
            mine = events[inverse == c]
            fresh = trial.good[mine] & ~covered[mine]
            if not fresh.any() or fresh.sum() < 0.2 * trial.good[mine].sum():
                continue
            conditions = [(f, int(f.codes[trial.source[mine[0]]])) for f in fs]
            rule = narrowed(trial.rule, conditions)
            by_place = any(f.name in ("top", "tail", "shape") or f.name.startswith("without") for f in fs)
            by_place &= all(f.name != "names" for f in fs)
            low, good, bad = count.judged(
                strength(rule, view.opaque), bar, SURE if denied and by_place else LIKELY
            )
            why = _refusal(rule, trial, mine, count, (low, good, bad), bar)
            why = why or _width(rule, trial, mine, fs, conditions, by_name)
            if why:
                if say is not None:
                    say(rule, why, mine)
                continue
            merges = int(trial.good[mine].sum())
            covered[mine] = True
            rows = trial.rows
            for f, code in conditions:
                rows = rows[f.codes[rows] == code]
            found.append(Candidate(rule, low, good, bad, count.near, merges, len(fs), len(rows)))
    return sorted(found, key=lambda c: (-c.merges, c.rule.id))


def _refusal(
    rule: Rule, trial: Trial, mine: Ints, count: Count, judged: tuple[float, int, int], bar: Bar
) -> str | None:
    """What the events say against a rule; None: nothing."""
    low, good, bad = judged
    total_bad = int(trial.bad[mine].sum())
    merges = int(trial.good[mine].sum())
    if bad > bar.impurity * (good + bad) or total_bad > bar.impurity * (merges + total_bad):
        return f"{total_bad} of {merges + total_bad} merges are of different pages"
    if low < bar.precision or good < bar.clusters:
        return f"{good} contents are too few"
    if count.near > max(2, merges):
        return f"{count.near} merges are of pages that are nearly alike, {merges} of pages that are alike"
    if _downhill(trial, mine):
        return "it leads from pages to redirects or errors"
    if not _witnessed(rule, trial, mine, bar) or not _each_alone(rule, trial, mine, bar):
        return "not each of the parameters was seen not to matter"
    return None


def _width(
    rule: Rule,
    trial: Trial,
    mine: Ints,
    fs: Sequence[Feature],
    conditions: Sequence[tuple[Feature, int]],
    by_name: dict[str, Feature],
) -> str | None:
    """Why the rule would speak of more than was seen; None: it does not."""
    if _mixed(trial, mine, by_name, tuple(f.name for f in fs)):
        return "it is wrong in one part of what it changes"
    if (name := _naming(rule, trial, mine)) is not None:
        return f"the values of {name} may name the pages: none was seen twice, no page under two"
    return _untested(trial, mine, fs, conditions, by_name, trial.rows, strength(rule, trial.view.opaque))


def _combinations(by_name: dict[str, Feature], must: set[str]) -> Iterator[tuple[str, ...]]:
    """Sets of conditions from none to three, wide before narrow; those in `must` are always among them."""
    without = [n for n in by_name if n.startswith("without ")]
    order: list[tuple[str, ...]] = [
        (),
        ("separator",),
        *((w,) for w in without),
        ("tail",),
        *(("tail", w) for w in without),
        tuple(without),
        *(("shape", w) for w in without),
        ("top",),
        ("value",),
        ("shape",),
        ("names",),
        ("top", "tail"),
        ("top", "value"),
        ("tail", "value"),
        ("shape", "value"),
        ("top", "names"),
        ("tail", "names"),
        ("shape", "names"),
        ("names", "value"),
        ("top", "names", "value"),
        ("shape", "names", "value"),
    ]
    given: set[frozenset[str]] = set()
    for combo in order:
        wide = (*sorted(must - set(combo)), *combo)
        for names in (wide, ("separator", *wide)) if combo else (wide,):
            known = frozenset(names)
            if len(known) == len(names) and known not in given and known <= by_name.keys():
                given.add(known)
                yield names


def _tally(context: Ints, cluster: Ints, fold: Ints, good: Any, bad: Any, near: Any, n: int) -> list[Count]:
    """Per context and fold: how many different clusters speak for the rule, how many against."""

    def distinct(mask: Any) -> Ints:
        pairs = np.unique(context[mask] * (int(cluster.max(initial=0)) + 1) + cluster[mask])
        c, k = np.divmod(pairs, int(cluster.max(initial=0)) + 1)
        table = np.zeros((n, FOLDS), np.int64)
        np.add.at(table, (c, k % FOLDS), 1)
        return table

    g, b = distinct(good), distinct(bad)
    m = np.bincount(context[near], minlength=n)
    return [Count(g[i], b[i], int(m[i])) for i in range(n)]


def counted(trial: Trial, bar: Bar) -> tuple[float, int, int]:
    """Lower bound of a tried rule's precision as it stands, and the contents that speak for and against it."""
    cluster = trial.view.cluster[trial.source]
    one = np.zeros(len(cluster), np.int64)
    (count,) = _tally(one, cluster, cluster % FOLDS, trial.good, trial.bad, trial.near, 1)
    return count.judged(strength(trial.rule, trial.view.opaque), bar)


def _each_alone(rule: Rule, trial: Trial, mine: Ints, bar: Bar) -> bool:
    """Of several parameters that go whether or not the others are there, each must be seen not to matter."""
    names = [
        k[6:-1] for k, v in rule.do.items() if v is None and k.startswith("query[") and k not in rule.when
    ]
    if len(names) < 2 or len(names) != len(rule.do) or "names" in rule.when:
        return True
    view = trial.view
    for name in names:
        have = view.values.get(name, {})
        differs = np.array(
            [
                have.get(a) != have.get(b)
                for a, b in zip(trial.source[mine].tolist(), trial.anchor[mine].tolist(), strict=True)
            ]
        )
        good = len(np.unique(view.cluster[trial.source[mine]][differs & trial.good[mine]]))
        bad = int((differs & trial.bad[mine]).sum())
        if good < max(bar.clusters, 3) or bad > bar.impurity * (good + bad):
            return False
    return True


def _witnessed(rule: Rule, trial: Trial, mine: Ints, bar: Bar) -> bool:
    """Of every parameter that goes some pages must have shown that it does not matter.

    Where a session id is as good as unique to a topic, pages that differ in the view alone fall together also when
    the topic's number is dropped with it: the session then stands for the topic.
    """
    names = [k[6:-1] for k, v in rule.do.items() if v is None and k.startswith("query[")]
    if len(names) < 2:
        return True
    view = trial.view
    good = mine[trial.good[mine]]
    pairs = list(zip(trial.source[good].tolist(), trial.anchor[good].tolist(), strict=True))
    cluster = view.cluster[trial.source[good]]
    for name in names:
        have = view.values.get(name, {})
        differs = np.array([have.get(a) != have.get(b) for a, b in pairs], bool)
        if len(np.unique(cluster[differs])) < bar.clusters:
            return False
    return True


def _downhill(trial: Trial, mine: Ints) -> bool:
    """Does the rule mostly lead from pages to redirects or errors? Its other direction is the one to deploy."""
    alive = trial.view.alive
    good = mine[trial.good[mine]]
    return bool((alive[trial.source[good]] & ~alive[trial.anchor[good]]).sum() * 2 > len(good))


def _mixed(trial: Trial, mine: Ints, by_name: dict[str, Feature], used: tuple[str, ...]) -> bool:
    """Is there a part inside this context in which the rule is plainly wrong?"""
    bad = trial.bad[mine]
    if bad.sum() < 2:
        return False
    for name, feature in by_name.items():
        if name in used:
            continue
        codes = feature.codes[trial.source[mine]]
        ok = codes >= 0
        b = np.bincount(codes[ok & bad], minlength=len(feature.say))
        g = np.bincount(codes[ok & trial.good[mine]], minlength=len(feature.say))
        if ((b >= 2) & (b > 0.25 * (b + g))).any():
            return True
    return False


def _seen_widely(trial: Trial, mine: Ints, used: set[str], prior: float) -> bool:
    """May the rule speak of paths, and of values, that were not seen?

    Of other paths when it held in several shapes of them; of other values of a parameter when it held for many.
    """
    view, rule = trial.view, trial.rule
    good = mine[trial.good[mine]]
    both = np.r_[trial.source[good], trial.anchor[good]]
    if "path" not in rule.when and not used & {"shape"}:
        kinds = len(np.unique((view.kinds if _aside(rule) else view.shapes[0])[trial.source[good]]))
        if kinds < (2 if "top" in used or rule.scope.path else 3):
            return False
    if prior >= 14 or "value" in used:
        return True
    for key, written in rule.do.items():
        open_ = rule.when.get(key, "{}") in ("{}", "{:rest}")
        fixed = (
            written is None
            or isinstance(written, Mapping)
            or (isinstance(written, str) and "{" not in written)
        )
        if key.startswith("query[") and "#" not in key and open_ and fixed:
            have = view.values.get(key[6:-1], {})
            seen = {have[row] for row in both.tolist() if row in have}
            enough = MANY_VALUES
            if "names" in used:  # said of a few kinds of URLs only: then all values that these have will do
                enough = min(enough, len({have[row] for row in trial.rows.tolist() if row in have}))
            if len(seen) < enough:
                return False
    return True


def _naming(rule: Rule, trial: Trial, mine: Ints) -> str | None:
    """A parameter that goes though each of its values stands for one page: `oldid=7` is the page while 7 is its latest.

    That a page is the same without a parameter says nothing of the parameter's other values. It takes pages that
    are the same under two values, or values that occur on different pages and so cannot name them.
    """
    view = trial.view
    good = mine[trial.good[mine]]
    shape = view.shapes[0]
    here = set(shape[trial.source[mine]].tolist())  # the same name may mean something else in another place
    for key, written in rule.do.items():
        if written is not None or not key.startswith("query[") or rule.when.get(key, "{}") not in _OPEN:
            continue
        have = view.values.get(key[6:-1], {})
        if strength(Rule(do={key: None}), view.opaque) >= OPAQUE:
            continue
        pages: dict[str, set[int]] = {}
        for row, value in have.items():
            if view.cluster[row] >= 0 and shape[row] in here:
                pages.setdefault(value, set()).add(int(view.cluster[row]))
        rows = [have[row] for row in trial.rows.tolist() if row in have and shape[row] in here]
        shared = sum(len(pages.get(value, ())) > 1 for value in rows)
        values: dict[int, set[str]] = {}
        for row in np.r_[trial.source[good], trial.anchor[good]].tolist():
            if row in have:
                values.setdefault(int(view.cluster[row]), set()).add(have[row])
        two = sum(len(seen) > 1 for seen in values.values())
        few = max(2, TWICE * len(np.unique(view.cluster[trial.source[good]])))
        if two < few and shared < SHARED * len(rows):
            return key[6:-1]
    return None


def _aside(rule: Rule) -> bool:
    """Does it touch neither the page's name nor its parameters, but host, scheme, port or a session in the path?

    What separates parameters is nothing to such a rule, and other parameters are other kinds of URLs to it.
    """
    return all(
        key in ("scheme", "host", "port") or (value is None and key.startswith(("matrix[", "path[0]")))
        for key, value in rule.do.items()
    )


def _blank(view: View, rows: Ints) -> set[str]:
    """Names of parameters that stand without a value in some of these forms."""
    fields = {f for row in rows.tolist() for f in view.parts[row][2]}
    return {field_name(f) for f in fields if not field_value(f)}


def _overwrites(rule: Rule) -> bool:
    """Does it put a fixed name into a segment whatever stood there? What stood there is then lost."""
    fixed = [
        k for k, v in rule.do.items() if k.startswith("path[") and isinstance(v, str) and v and "{" not in v
    ]
    return any("{" in str(rule.when.get(k, "{")) for k in fixed)


def _untested(
    trial: Trial,
    mine: Ints,
    fs: Sequence[Feature],
    conditions: Sequence[tuple[Feature, int]],
    by_name: dict[str, Feature],
    affected: Ints,
    prior: float,
) -> str | None:
    """Why the context is wider than what was seen; None: it is not.

    Most URLs it would change must lie in path shapes with evidence. One that drops blank parameters must have been
    seen right for each name it would drop, one that drops any value of a choice for most of the values. A rule
    that rewrites the path must have been seen right on every kind of last segment it would touch (a listing is
    not like the files in it); and one that folds letters, or puts one name in the place of any, must mostly lead
    to forms that exist.
    """
    rows = affected
    for f, code in conditions:
        rows = rows[f.codes[rows] == code]
    if not len(rows):
        return None
    view, rule = trial.view, trial.rule
    if "|noblank" in str(rule.do.get("query", "")):
        good = mine[trial.good[mine]]
        seen_blank = _blank(view, trial.source[good]) - _blank(view, trial.anchor[good])
        if len(seen_blank) < 2 or not _blank(view, rows) <= seen_blank:
            return "not all of the blank parameters were seen not to matter"
    if "value" in by_name and "value" not in {f.name for f in fs} and prior < 14:
        value = by_name["value"].codes
        kinds = np.unique(value[rows])
        good = mine[trial.good[mine]]
        good_values = np.unique(value[np.r_[trial.source[good], trial.anchor[good]]])
        if len(kinds) <= FEW_VALUES and np.isin(value[rows], good_values).mean() < 0.9:
            return "not most of its few values were seen not to matter"
    if not _seen_widely(trial, mine, {f.name for f in fs}, prior):
        return "it would speak of paths or values that were not seen"
    shape = view.shapes[0]
    share = float(np.isin(shape[rows], np.unique(shape[trial.source[mine]])).mean())
    if share < (0.3 if prior >= 10 else 0.7):
        return f"only {share:.0%} of what it changes lies where it was seen to be right"
    if "separator" not in {f.name for f in fs} and "separator" in by_name:
        sep = by_name["separator"].codes
        if not np.isin(np.unique(sep[rows]), np.r_[-1, np.unique(sep[trial.source[mine]])]).all():
            return "it was seen with one separator only"
    if any(k.startswith("path") for k in rule.do) and prior != OPAQUE:
        tail = view.tails[0]
        if not np.isin(np.unique(tail[rows]), np.unique(tail[trial.source[mine]])).all():
            return "it was not seen on every kind of file it would touch"
        folds = any(isinstance(v, str) and ("|lower" in v or "|upper" in v) for v in rule.do.values())
        if (folds or _overwrites(rule)) and len(mine) < 0.5 * len(rows):
            return "most of its results were not seen to exist"
    return None
