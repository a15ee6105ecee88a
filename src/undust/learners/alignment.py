"""Rules from the alignment of whole clusters: several places at once, moved values, optional parts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any

from undust.learners.base import Learner
from undust.learners.view import OPAQUE_TYPES, View, escape
from undust.likeness import Site
from undust.rules import Evidence, Rule, Scope
from undust.rules.pattern import Template, parse_template
from undust.url import field_name, field_value, value_type

Proposal = tuple[tuple[tuple[str, Any], ...], tuple[tuple[str, Any], ...]]  # (when, do), hashable
Form = tuple[str, str, tuple[str, ...]]  # origin, path, query fields

# Whole-site habits: each is proposed only where it would change a URL, and judged like any other rule.
HABITS: tuple[tuple[str, str], ...] = (
    ("query", "{query|amp}"),
    ("query", "{query|amp|noempty}"),
    ("query", "{query|semi}"),
    ("query", "{query|noempty}"),
    ("query", "{query|noblank}"),
    ("query", "{query|plus|decode}"),
    ("query", "{query|sort}"),
    ("query", "{query|plus|decode|sort}"),
    ("query", "{query|last}"),
    ("query", "{query|first}"),
    ("path", "{path|slashes}"),
    ("path", "{path|decode}"),
    ("path", "{path|noslash}"),
    ("path", "{path|slash}"),
    ("path", "{path|lower}"),
    ("query", "{query|lower}"),
)


class Alignment(Learner):
    """Align all URLs of a cluster at once and propose what their differences say.

    Each cluster's URLs are parsed into origin, path segments and query fields and compared with the cluster's
    centre and with their nearest neighbours. What is common is a gap that is carried over; what differs becomes
    a change: fields to drop (jointly), a value that moves between query and path (with a conversion), a stretch
    of path that is replaced, an ending, a host. Equal changes of different clusters are one proposal, voted for
    by clusters. Proposals are made as wide as the language allows: the judge finds the part in which they hold.

    Parameters
    ----------
    min_clusters
        How many clusters must show a change before it is proposed.
    max_rules
        How many proposals are returned, most votes first.

    Examples
    --------
    Two parameters that only go together, and the ending of another style:

    >>> import pyarrow as pa
    >>> from undust.likeness import split_sites
    >>> forms = ("t-{}", "t-{}?sid=a&from=b", "en/t-{}.html")
    >>> pages = [("http://h.test/" + form.format(i), str(i)) for i in (7, 8, 9) for form in forms]
    >>> (site,) = split_sites(pa.table(list(zip(*pages)), ["url", "cluster"]))
    >>> said = {rule.describe() for rule in Alignment().propose(site)}
    >>> "*: when from is {:rest} and sid is {:rest}: drop from, drop sid" in said
    True
    >>> "*: when path is {p:rest}/en/t-{a:int}.html: set path to {p}/t-{a}" in said
    True

    References
    ----------
    Rodrigues et al., *Removing DUST using multiple alignment of sequences*, IEEE TKDE 2015 (the idea of
    aligning whole clusters); the two-place rules are the open item of Schonfeld's thesis (2006), section 7.
    """

    name = "alignment"

    def __init__(self, *, min_clusters: int = 2, max_rules: int = 600) -> None:
        self.min_clusters = min_clusters
        self.max_rules = max_rules

    def propose(self, site: Site) -> list[Rule]:
        return self.propose_on(View(site))

    def propose_on(self, view: View) -> list[Rule]:
        """Proposals for the forms of a view (the site itself, or what earlier rules have left of it)."""
        votes: dict[Proposal, int] = Counter()
        for proposal, n in self._enumerated(view):
            votes[proposal] = max(votes[proposal], n)
        for proposal, clusters in aligned(view).items():
            if len(clusters) >= self.min_clusters:
                votes[proposal] = max(votes[proposal], len(clusters))
        ranked = sorted(votes.items(), key=lambda v: (-v[1], repr(v[0])))[: self.max_rules]
        level = "label" if view.site.labels is not None else "url"
        return [
            Rule(
                scope=Scope(),
                when=dict(when),
                do=dict(do),
                source=(self.name,),
                evidence=Evidence(level=level, support=n),
            )
            for (when, do), n in ranked
        ]

    def _enumerated(self, view: View) -> Iterator[tuple[Proposal, int]]:
        """Changes of one place, for whatever occurs often enough; they need no pair to be thought of."""
        n = view.n
        for key, template in HABITS:
            yield ((), ((key, template),)), n
        yield ((("query", ""),), (("query", None),)), n  # `/page?` for `/page`
        for name, values in view.values.items():
            if len(values) >= 2 and name:
                yield ((), ((f"query[{name}]", None),)), len(values)
        for family in _families(view.values):
            yield ((), tuple((f"query[{n}]", None) for n in family)), sum(len(view.values[n]) for n in family)
        last, first, matrix = Counter[str](), Counter[str](), Counter[str]()
        origins = Counter[str]()
        for origin, path, _ in view.parts:
            origins[origin] += 1
            segments = path.split("/")[1:]
            if segments:
                last[segments[-1]] += 1
                if len(segments) > 1:
                    first[segments[0]] += 1
            for m in _MATRIX.finditer(path):
                matrix[m.group(1)] += 1
        for segment, k in last.items():
            if segment and k >= 3:
                yield ((("path[-1]", escape(segment)),), (("path[-1]", ""),)), k
                yield ((("path[-1]", escape(segment)),), (("path[-1]", None),)), k
        for segment, k in first.items():
            if segment and k >= 3:
                yield ((("path[0]", escape(segment)),), (("path[0]", None),)), k
        for name, k in matrix.items():
            if k >= 2:
                yield ((), ((f"matrix[{name}]", None),)), k
        yield from _opaque_segments(view)
        main = max(origins, key=lambda o: (origins[o], o), default="")
        for origin, k in sorted(origins.items()):
            if origin != main and k >= 2:
                yield from ((p, k) for p in _other_origin(origin, main))


def _families(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Parameters with one prefix, which often go together: `utm_source` and `utm_medium`.

    >>> _families(["utm_source", "id", "utm_medium", "a_b"])
    [('utm_medium', 'utm_source')]
    """
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        head, mark, tail = name.partition("_")
        if head and mark and tail:
            found[head].append(name)
    return [tuple(family) for family in found.values() if 1 < len(family) <= 8]


_LONG = re.compile(r"[0-9A-Za-z_~\-]{12,}")


def _opaque_segments(view: View) -> Iterator[tuple[Proposal, int]]:
    """Segments near the start of a path that hold what looks like a session id: `/(S(f0a1..))/page` for `/page`."""
    seen: dict[tuple[int, str], set[str]] = defaultdict(set)
    for _, path, _ in view.parts:
        for i, segment in enumerate(path.split("/")[1:4]):
            for m in _LONG.finditer(segment):
                kind = value_type(m.group())
                if kind in OPAQUE_TYPES:
                    form = escape(segment[: m.start()]) + f"{{:{kind}}}" + escape(segment[m.end() :])
                    seen[i, form].add(segment)
    for (i, form), segments in sorted(seen.items()):
        if len(segments) >= 3:
            yield (((f"path[{i}]", form),), ((f"path[{i}]", None),)), len(segments)


_MATRIX = re.compile(r";([A-Za-z_][\w.-]*)=")
_AUTHORITY = re.compile(r"^(\w[\w+.-]*)://(?:[^@/]*@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?$")


def _other_origin(a: str, b: str) -> list[Proposal]:
    """Rewrite scheme, host and port of origin `a` to those of `b`."""
    ma, mb = _AUTHORITY.match(a), _AUTHORITY.match(b)
    if not ma or not mb:
        return []
    when, do = [], []
    for key, i in (("scheme", 1), ("host", 2), ("port", 3)):
        x, y = ma.group(i), mb.group(i)
        if x != y:
            when.append((key, escape(x) if x else None))
            do.append((key, escape(y) if y else None))
    return [(tuple(when), tuple(do))] if do else []


# -------------------------------------------------------------------------------------------- cluster alignment


def aligned(view: View) -> dict[Proposal, set[int]]:
    """Every change that leads from one URL of a cluster to another, with the clusters that show it."""
    votes: dict[Proposal, set[int]] = defaultdict(set)
    members: dict[int, list[int]] = defaultdict(list)
    for row, cluster in enumerate(view.cluster.tolist()):
        if cluster >= 0 and not view.soft[row]:
            members[cluster].append(row)
    popular = Counter(view.tops[0].tolist())
    for cluster, rows in members.items():
        if len(rows) < 2:
            continue
        for a, b in _pairs(view, rows, popular):
            for proposal in changes(view.parts[a], view.parts[b]):
                votes[proposal].add(cluster)
    return votes


def _pairs(view: View, rows: list[int], popular: Counter[int]) -> Iterable[tuple[int, int]]:
    """Which URLs of a cluster are compared: neighbours on one path, and each path with the centre; O(cluster)."""
    tops = view.tops[0].tolist()
    by_path: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows:
        origin, path, _ = view.parts[row]
        by_path[origin, path].append(row)
    heads = []
    for group in by_path.values():
        group.sort(key=lambda r: (len(view.parts[r][2]), len(view.urls[r]), view.urls[r]))
        heads.append(group[0])
        near = group[:12]
        for a, b in combinations(near, 2):
            yield b, a
            yield a, b
        for a, b in pairwise(group[11:60]):
            yield b, a
    heads.sort(key=lambda r: (-popular[tops[r]], len(view.urls[r]), view.urls[r]))
    centres = heads[:2] + sorted(heads, key=lambda r: (len(view.urls[r]), view.urls[r]))[:1]
    for row in heads[:40]:
        for centre in dict.fromkeys(centres):
            if row != centre:
                yield row, centre
                yield centre, row
    # paths with more fields than their head: the same move may need a field the head has not
    for group in by_path.values():
        for row in group[1:4]:
            for centre in centres[:1]:
                if view.parts[row][1] != view.parts[centre][1]:
                    yield row, centre


def changes(u: Form, v: Form) -> list[Proposal]:
    """What turns `u` into `v`, as wide as it can be said.

    >>> changes(("http://x", "/s", ("t=1", "sid=9")), ("http://x", "/s", ("t=1",)))[0]
    ((), (('query[sid]', None),))
    >>> changes(("http://x", "/i.php", ("title=Foo",)), ("http://x", "/wiki/Foo", ()))[0]
    ((('path', '/i.php'), ('query[title]', '{a:rest}')), (('path', '/wiki/{a}'), ('query[title]', None)))
    """
    if u[0] != v[0]:
        return _other_origin(u[0], v[0]) if u[1:] == v[1:] else []
    here, there = list(u[2]), list(v[2])
    for field in u[2]:
        if field in there:
            there.remove(field)
            here.remove(field)
    if u[1] == v[1]:
        return _same_path(u, here, there)
    if not here and not there:
        return _path_only(u[1], v[1])
    return _moved(u, v, here, there)


def _same_path(u: Form, here: list[str], there: list[str]) -> list[Proposal]:
    """Fields that are dropped, alone or jointly, with any value or with these."""
    if not here or len(here) > 6:
        return []
    names = list(dict.fromkeys(field_name(f) for f in here))
    others = list(dict.fromkeys(field_name(f) for f in there))
    if any(n == "" for n in names):
        return []
    if others and set(others) != set(names):
        return _renamed(here, there) + _none_of(names + others)
    do = tuple((f"query[{n}]", None) for n in sorted(names))
    out: list[Proposal] = []
    if len(names) == 1:
        out.append(((), do))
    else:
        out.append((tuple((f"query[{n}]", "{:rest}") for n in sorted(names)), do))
    if not others:
        values = {field_name(f): escape(field_value(f) or "") for f in here}
        out.append((tuple((f"query[{n}]", values[n]) for n in sorted(values)), do))
    elif len(here) == 1 and len(there) == 1:
        name, target = names[0], field_value(there[0]) or ""
        value = field_value(here[0]) or ""
        out.append((((f"query[{name}]", escape(value)),), ((f"query[{name}]", escape(target)),)))
        for conversion in _CONVERSIONS:
            if conversion and convert(value, conversion) == target:
                out.append(((), ((f"query[{name}]", f"{{query[{name}]{conversion}}}"),)))
                break
    return out


def _none_of(names: list[str]) -> list[Proposal]:
    """Fields none of which matters: whichever of them are there may go."""
    distinct = sorted(set(names))
    return [((), tuple((f"query[{n}]", None) for n in distinct))] if 1 < len(distinct) <= 6 else []


def _renamed(here: list[str], there: list[str]) -> list[Proposal]:
    """One field stands for another: a renamed parameter, or a literal in its place."""
    if len(there) != 1:
        return []
    (target,) = there
    name, value = field_name(target), field_value(target) or ""
    out: list[Proposal] = []
    for field in here:
        if (field_value(field) or "") == value and value:
            rest = [f for f in here if f is not field]
            when = [(f"query[{field_name(field)}]", "{a:rest}")]
            when += [(f"query[{field_name(f)}]", escape(field_value(f) or "")) for f in rest]
            do = [(f"query[{field_name(f)}]", None) for f in here] + [(f"query[{name}]", "{a}")]
            out.append((tuple(sorted(when)), tuple(do)))
    return out


_TOKEN = re.compile(r"\d+|[^\W\d_]+|.", re.S)


def _path_only(a: str, b: str) -> list[Proposal]:
    """A stretch of path is replaced: a directory's other name, an ending, numbers that do not matter."""
    sa, sb = a.split("/"), b.split("/")
    head = 0
    while head < min(len(sa), len(sb)) - 1 and sa[head] == sb[head]:
        head += 1
    tail = 0
    while tail < min(len(sa), len(sb)) - head and sa[-1 - tail] == sb[-1 - tail]:
        tail += 1
    ma, mb = sa[head : len(sa) - tail], sb[head : len(sb) - tail]
    out: list[Proposal] = []
    before, after = "/".join(sa[:head]), sa[len(sa) - tail :]
    old, new = "/".join(ma), "/".join(mb)

    def directory(k: int) -> Proposal:
        """`before/old/<k of after>/*` -> the same under `new`."""
        extra = after[:k]
        x = "/".join([before, *ma, *extra]) + "/"
        y = "/".join([before, *mb, *extra]) + "/"
        return ((("path", escape(x) + "{r:rest}"),), (("path", escape(y) + "{r}"),))

    if tail and head:
        out.append(directory(0))
        if tail > 1:
            out.append(directory(1))
        if ma and mb:
            out.append(
                (
                    (("path", "{p:rest}/" + escape(old) + "/{r:rest}"),),
                    (("path", "{p}/" + escape(new) + "/{r}"),),
                )
            )
        elif ma:
            out.append(((("path", "{p:rest}/" + escape(old) + "/{r:rest}"),), (("path", "{p}/{r}"),)))
    if not tail and head:
        if ma and mb:
            out += _numbers(old, new)
            out += _ending(old, new)
            if old != new and len(ma) == len(mb) == 1:
                out.append(((("path", escape(a)),), (("path", escape(b)),)))
        elif ma and not mb:  # pragma: no cover - head never eats the last segment
            pass
    return out


def _ending(old: str, new: str) -> list[Proposal]:
    """`x.html` -> `x`: the last segment (or what follows it) loses or changes its ending."""
    k = 0
    while k < min(len(old), len(new)) and old[k] == new[k]:
        k += 1
    a, b = old[k:], new[k:]
    if k == 0:  # the whole last segment: the slash before it is part of the ending
        a, b = "/" + a, "/" + b
    if not a or len(a) > 40 or len(b) > 40 or (k and old[k - 1].isalnum() and (a + "-")[0].isalnum()):
        return []
    return [((("path", "{p:rest}" + escape(a)),), (("path", "{p}" + escape(b)),))]


def _numbers(old: str, new: str) -> list[Proposal]:
    """Last segments of one build whose numbers are kept, moved, or do not matter."""
    ta, tb = _TOKEN.findall(old), _TOKEN.findall(new)
    if len(ta) > 40 or len(tb) > 40:
        return []
    pattern: list[str] = []
    captures: dict[str, str] = {}
    for t in ta:
        if t.isdigit():
            if t in captures:
                return []
            used = t in tb
            group = chr(ord("a") + len(captures))
            captures[t] = group
            pattern.append(f"{{{group}:int}}" if used else "{:int}")
        else:
            pattern.append(escape(t))
    if not captures or not any(t in captures for t in tb) or len(captures) > 8:
        return []
    template = "".join("{" + captures[t] + "}" if t in captures else escape(t) for t in tb)
    return [((("path", "{p:rest}/" + "".join(pattern)),), (("path", "{p}/" + template),))]


# ------------------------------------------------------------------------------------------- moved values

# Conversions that are tried, plainest first, when a value is looked for in another place.
_CONVERSIONS = (
    "",
    "|decode",
    "|decode|tr(:,/)",
    "|plus|decode",
    "|lower",
    "|decode|lower",
    "|tr( ,_)",
    "|tr(%20,_)",
    "|tr(+,_)",
)


def convert(value: str, conversions: str) -> str:
    """`value` after conversions as they are written in a template.

    >>> convert("a%3Ab", "|decode|tr(:,/)")
    'a/b'
    """
    return _template(conversions).fill(lambda _: None, {"a": value}) or ""


@lru_cache(64)
def _template(conversions: str) -> Template:
    return parse_template("{a" + conversions + "}")


def _moved(u: Form, v: Form, here: list[str], there: list[str]) -> list[Proposal]:
    """Values that stand in the query here and in the path there, or the other way round."""
    out: list[Proposal] = []
    if here and there and len(here) <= 3 and len(there) <= 3:
        out += _other_script(u[1], v[1], here, there)
    if here and len(here) <= 3:
        out += _query_to_path(u[1], v[1], here, there)
    if there and len(there) <= 3:
        out += _path_to_query(u[1], v[1], here, there)
    return out


def _other_script(path: str, target: str, here: list[str], there: list[str]) -> list[Proposal]:
    """`print.php?id=7` for `view.php?t=7`: another script shows the same under another name of the parameter."""
    names = {f: field_name(f) for f in (*here, *there)}
    if len(set(names.values())) < len(names) or len(here) > 8:
        return []
    when = [("path", escape(path))]
    do: list[tuple[str, Any]] = [("path", escape(target))]
    group: dict[str, str] = {}
    for field in here:
        value = field_value(field) or ""
        moved = bool(value) and any(field_value(f) == value for f in there)
        if moved and value not in group:
            group[value] = chr(ord("a") + len(group))
            when.append((f"query[{names[field]}]", f"{{{group[value]}:rest}}"))
        else:
            when.append((f"query[{names[field]}]", escape(value)))
        do.append((f"query[{names[field]}]", None))
    if not group:
        return []
    for field in there:
        value = field_value(field) or ""
        do.append((f"query[{names[field]}]", f"{{{group[value]}}}" if value in group else escape(value)))
    return [(tuple(sorted(when)), tuple(do))]


def _query_to_path(path: str, target: str, here: list[str], there: list[str]) -> list[Proposal]:
    out: list[Proposal] = []
    if there:
        return out
    for field in here:
        name, value = field_name(field), field_value(field) or ""
        if len(value) < 1 or not name:
            continue
        for conversion in _CONVERSIONS:
            moved = convert(value, conversion)
            at = target.find(moved) if moved else -1
            whole = at > 0 and (
                target[at - 1] in "/,-_.="
                and (at + len(moved) == len(target) or not target[at + len(moved)].isalnum())
            )
            if not whole:
                continue
            template = escape(target[:at]) + "{a" + conversion + "}" + escape(target[at + len(moved) :])
            rest = [f for f in here if f is not field]
            when = [(f"query[{name}]", "{a:rest}")]
            when += [(f"query[{field_name(f)}]", escape(field_value(f) or "")) for f in rest]
            do = [("path", template), (f"query[{name}]", None)]
            do += [(f"query[{field_name(f)}]", None) for f in rest]
            out.append((tuple(sorted([("path", escape(path)), *when])), tuple(do)))
            out.append((tuple(sorted(when)), tuple(do)))
            m = re.match(r"^(\d+)(?=\D)", value)  # `topic=997.0`: only the number of the value is found again
            break
        else:
            m = re.match(r"^(\d+)(\D.*)$", value)
            if m and (at := target.find(m.group(1))) > 0:
                end = at + len(m.group(1))
                if not target[at - 1].isdigit() and not target[end : end + 1].isdigit():
                    template = escape(target[:at]) + "{a}" + escape(target[end:])
                    rest = [f for f in here if f is not field]
                    when = [(f"query[{name}]", "{a:int}" + escape(m.group(2))), ("path", escape(path))]
                    when += [(f"query[{field_name(f)}]", escape(field_value(f) or "")) for f in rest]
                    do = [("path", template), *((f"query[{field_name(f)}]", None) for f in here)]
                    out.append((tuple(sorted(when)), tuple(do)))
    return out


def _path_to_query(path: str, target: str, here: list[str], there: list[str]) -> list[Proposal]:
    if here or len(there) != 1:
        return []
    name, value = field_name(there[0]), field_value(there[0]) or ""
    if not value or not name:
        return []
    for conversion, pattern in (
        ("", value),
        ("|encode", convert(value, "|decode")),
        ("|tr(/,:)|encode", convert(value, "|decode|tr(:,/)")),
    ):
        at = path.find(pattern)
        if at > 0 and path[at - 1] == "/" and convert(pattern, conversion) == value:
            when = (("path", escape(path[:at]) + "{a:rest}" + escape(path[at + len(pattern) :])),)
            return [(when, (("path", escape(target)), (f"query[{name}]", "{a" + conversion + "}")))]
    return []
