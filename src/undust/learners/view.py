"""A site as it looks after the rules found so far: distinct URL forms, what they show, and how they are built.

`auto` works in rounds: a rule that is accepted rewrites the forms, equal forms become one, and what is left
shows the next difference. So no learner has to guess four simultaneous changes at once.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from undust.likeness import Site
from undust.likeness.labels import CHANGING
from undust.rules import CompiledRule, MutableUrl
from undust.url import field_name, field_value, parse, query_separator, split_query, value_type

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

RESTLESS = 0.3  # share of equal texts with equal bytes below which hardly a page stands still
CLOCK = 4  # characters by which a clock, a counter or a token changes the length of a text
NEAR = 0.75  # two pages this alike differ by a clock, a counter or an edit, not by content


class View:
    """Distinct forms of a site's URLs, with the cluster most pages of each form belong to.

    `of_page[i]` is the form on which page `i` stands now. A form keeps the cluster of the majority of its
    known pages (-1: nothing known) and one page that represents it when texts have to be compared.
    """

    def __init__(self, site: Site, urls: Sequence[str] | None = None) -> None:
        self.site = site
        self.first = urls is None  # the site as it is, before any rule
        self.semicolons = False  # the site is known to take `;` for `&` between query fields
        labels = site.labels
        current = list(site.urls) if urls is None else list(urls)
        self.page_urls = current
        names = sorted(set(current))
        self.index = {u: i for i, u in enumerate(names)}
        self.urls: list[str] = names
        self.of_page: Ints = np.fromiter((self.index[u] for u in current), np.int64, len(current))
        n = len(names)
        page_cluster = (
            np.full(len(current), -1, np.int64) if labels is None else labels.cluster.astype(np.int64)
        )
        page_soft = np.zeros(len(current), bool) if labels is None else labels.soft
        alive = np.asarray(site.alive, bool)
        self.cluster, self.representative = _majority(self.of_page, page_cluster, alive, n)
        self.alive: Bools = np.bincount(self.of_page, weights=alive, minlength=n) > 0
        self.soft: Bools = page_soft[self.representative]
        self.pages: Ints = np.bincount(self.of_page, minlength=n)
        self.clusters = len(np.unique(page_cluster[(page_cluster >= 0) & ~page_soft]))

    def as_site(self) -> Site:
        """The forms as a site of their own, each with the page that represents it: what is left to be learned."""
        pages = self.site.pages.take(self.representative)
        column = pa.array(
            [u.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for u in self.urls]
        )
        place = pages.column_names.index("url")
        pages = pages.set_column(
            place, pages.schema.field("url"), column.cast(pages.schema.field("url").type)
        )
        return Site(self.site.name, self.site.hosts, pages, self.site.labels.take(self.representative))

    @property
    def n(self) -> int:
        return len(self.urls)

    def rewritten(self, rewrite: Callable[[list[str]], list[str]]) -> View:
        """The view after every form has been rewritten."""
        new = rewrite(self.urls)
        view = View(self.site, [new[i] for i in self.of_page])
        view.semicolons = self.semicolons
        return view

    def resemblance(self, a: Ints, b: Ints) -> npt.NDArray[np.float64]:
        """How alike the pages of two forms are, as far as their sketches tell (nan: they do not)."""
        labels = self.site.labels
        if labels is None:
            return np.full(len(a), np.nan)
        found: npt.NDArray[np.float64] = labels.resemblance(self.representative[a], self.representative[b])
        return found

    @cached_property
    def nearness(self) -> npt.NDArray[np.float64]:
        """Per form: how alike another page must be to count as nearly the same.

        `NEAR`, but more where different pages of one build are that alike anyway: what they share is the template.
        """
        bar = np.full(int(self._kind.max(initial=0)) + 1, NEAR)
        for a, b in self._strangers():
            alike = np.nan_to_num(self.resemblance(a, b), nan=1.0)
            total = np.bincount(self._kind[a], minlength=len(bar))
            close = np.bincount(self._kind[a], weights=alike >= NEAR, minlength=len(bar))
            bar[(total >= 5) & (close > 0.1 * total)] = 1.01
        found: npt.NDArray[np.float64] = bar[self._kind]
        return found

    @cached_property
    def _kind(self) -> Ints:
        return np.unique(self.kinds, return_inverse=True)[1].astype(np.int64)

    def _strangers(self) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of different pages of one kind of URL: neighbours at a few distances stand for pairs at random."""
        kind = self._kind
        rows = np.flatnonzero((self.cluster >= 0) & ~self.soft)
        order = rows[np.lexsort((rows, kind[rows]))]
        for step in (1, 7, 31):
            a, b = order[:-step], order[step:]
            pairs = (kind[a] == kind[b]) & (self.cluster[a] != self.cluster[b])
            if pairs.any():
                yield a[pairs], b[pairs]

    @cached_property
    def _lengths_tell(self) -> Bools:
        """Per form: are different pages of its kind seldom equally long?"""
        labels = self.site.labels
        total = np.zeros(int(self._kind.max(initial=0)) + 1)
        close = total.copy()
        for a, b in self._strangers():
            apart = labels.apart(self.representative[a], self.representative[b])
            known = ~np.isnan(apart)
            total += np.bincount(self._kind[a[known]], minlength=len(total))
            close += np.bincount(self._kind[a[known]], weights=apart[known] <= CLOCK, minlength=len(total))
        tell: Bools = (total >= 10) & (close <= 0.1 * total)
        return tell[self._kind]

    def doubtful(self, a: Ints, b: Ints) -> Bools:
        """Of pages that labels keep apart: those of which that is as likely the labels' fault.

        Pages that say themselves that they are one (a print view is too unlike its page for few min-hashes). And, on a
        site where many pages stand still and many do not, pages whose texts are equally long though lengths tell
        pages of this kind apart. Where no page stands still nothing shows what a clock does and what an edit.
        """
        labels = self.site.labels
        if labels is None:
            return np.zeros(len(a), bool)
        i, j = self.representative[a], self.representative[b]
        found: Bools = labels.claimed(i, j)
        if RESTLESS <= labels.steady < CHANGING:
            found |= (np.nan_to_num(labels.apart(i, j), nan=np.inf) <= CLOCK) & self._lengths_tell[a]
        return found

    @cached_property
    def parts(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Per form: origin (`scheme://authority`), path, query fields."""
        out = []
        for url in self.urls:
            p = parse(url)
            origin = f"{p.scheme or ''}://{p.authority or ''}"
            out.append((origin, p.path, tuple(split_query(p.query)[0]) if p.query is not None else ()))
        return out

    @cached_property
    def _taken_apart(self) -> list[MutableUrl]:
        return [MutableUrl(u) for u in self.urls]

    def after(self, row: int, rule: CompiledRule) -> str | None:
        """What a rule makes of a form, None when it changes nothing.

        The same as `rule.apply(url)`, but a form is taken apart once for all rules, not once for each.
        """
        url = self._taken_apart[row]
        new = url.tried(rule.apply_parsed) if rule.covers(url) else None
        return None if new == self.urls[row] else new

    @cached_property
    def values(self) -> dict[str, dict[int, str]]:
        """Parameter name -> form -> value (the first of repeated ones)."""
        out: dict[str, dict[int, str]] = defaultdict(dict)
        for i, (_, _, fields) in enumerate(self.parts):
            for field in reversed(fields):
                out[field_name(field)][i] = field_value(field) or ""
        return out

    @cached_property
    def matrix(self) -> dict[str, dict[int, str]]:
        """Path parameter's name -> form -> value (`/page;jsessionid=9F`)."""
        out: dict[str, dict[int, str]] = defaultdict(dict)
        for i, (_, path, _) in enumerate(self.parts):
            if ";" in path:
                for name, value in _MATRIX.findall(path):
                    out[name].setdefault(i, value)
        return out

    def opaque(self, key: str) -> bool:
        """Do the values of `query[name]` or `matrix[name]` look like session ids? Nearly all must, and differ."""
        known = self._opaque.get(key)
        if known is None:
            kind, _, name = key.rstrip("]").partition("[")
            values = set((self.matrix if kind == "matrix" else self.values).get(name, {}).values()) - {""}
            alike = sum(value_type(v) in OPAQUE_TYPES or _NUMBER.fullmatch(v) is not None for v in values)
            known = self._opaque[key] = len(values) >= 3 and alike >= 0.9 * len(values)
        return known

    @cached_property
    def _opaque(self) -> dict[str, bool]:
        return {}

    @cached_property
    def rows_of_path(self) -> dict[str, list[int]]:
        """Forms by their whole path."""
        out: dict[str, list[int]] = defaultdict(list)
        for i, (_, path, _) in enumerate(self.parts):
            out[path].append(i)
        return out

    @cached_property
    def _column(self) -> pa.Array[Any]:
        return pa.array([u.encode("utf-8", "surrogateescape") for u in self.urls], pa.binary())

    def containing(self, text: str) -> Bools:
        """Mask of the forms in whose URL the text occurs."""
        # the stubs know only str patterns; for binary columns Arrow takes bytes
        pattern: Any = text.encode("utf-8", "surrogateescape")
        found = pc.match_substring(self._column, pattern)
        return np.asarray(found.to_numpy(zero_copy_only=False), bool)

    @cached_property
    def separators(self) -> tuple[Ints, list[str]]:
        """Code per form of what separates its query fields; -1 when there is nothing to separate."""
        codes = np.full(self.n, -1, np.int64)
        for i, (_, _, fields) in enumerate(self.parts):
            if len(fields) > 1:
                codes[i] = int(query_separator(parse(self.urls[i]).query or "") == ";")
        return codes, ["&", ";"]

    @cached_property
    def names(self) -> tuple[Ints, list[tuple[str, ...]]]:
        """Code per form of the exact set of its parameter names, and the sets."""
        return _codes([tuple(sorted({field_name(f) for f in fields})) for _, _, fields in self.parts])

    @cached_property
    def shapes(self) -> tuple[Ints, list[str]]:
        """Code per form of its path's shape, and the shapes as patterns of the rule language."""
        return path_shapes([p for _, p, _ in self.parts], self.pages)

    @cached_property
    def kinds(self) -> Ints:
        """Code per form of what kind of URL it is: its path's shape and the names of its parameters."""
        codes: Ints = self.shapes[0] * len(self.names[1]) + self.names[0]
        return codes

    @cached_property
    def tops(self) -> tuple[Ints, list[str]]:
        """Code per form of the directory at the top of its path (`/doc/`, or `/` when there is none)."""
        return _codes(["/" + p.split("/", 2)[1] + "/" if p.count("/") > 1 else "/" for _, p, _ in self.parts])

    @cached_property
    def tails(self) -> tuple[Ints, list[str]]:
        """Code per form of the kind of its last segment: a file ending, `` for a directory, else `{}`."""
        kinds = []
        for _, path, _ in self.parts:
            last = path.rsplit("/", 1)[-1]
            ending = _ENDING.search(last)
            kinds.append(
                "" if not last else "{}" + escape(ending.group()) if ending and ending.start() else "{}"
            )
        return _codes(kinds)


def _majority(of: Ints, cluster: Ints, alive: Bools, n: int) -> tuple[Ints, Ints]:
    """Per form: the cluster of most of its known pages (smallest on a tie), and a page of it, a living one if any."""
    best = np.full(n, -1, np.int64)
    representative = np.zeros(n, np.int64)
    representative[of[::-1]] = np.arange(len(of))[::-1]
    known = np.flatnonzero(cluster >= 0)
    if len(known):
        order = known[np.lexsort((known, ~alive[known], cluster[known], of[known]))]
        o, c = of[order], cluster[order]
        starts = np.flatnonzero(np.r_[True, (o[1:] != o[:-1]) | (c[1:] != c[:-1])])
        counts = np.diff(np.r_[starts, len(order)])
        rank = np.lexsort((c[starts], -counts, o[starts]))
        form, first = np.unique(o[starts][rank], return_index=True)
        best[form] = c[starts][rank][first]
        representative[form] = order[starts[rank[first]]]
    return best, representative


def _codes(values: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Dictionary codes of hashable values, in sorted order so that input order does not matter."""
    distinct = sorted(set(values))
    index = {v: i for i, v in enumerate(distinct)}
    return np.fromiter((index[v] for v in values), np.int64, len(values)), distinct


# ---------------------------------------------------------------------------------------------- path shapes

_DIGITS = re.compile(r"\d+")
_MATRIX = re.compile(r";([^;=/]+)=([^;/]*)")
_NUMBER = re.compile(
    r"[A-Za-z_]*[0-9]{8,}"
)  # a time in seconds, a random number: few pages have so high a one
OPAQUE_TYPES = frozenset({"hex", "uuid", "session"})
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
_DEEPEST = 16  # directories below this are one `{:rest}`; recursion is bounded whatever the URL


def escape(text: str) -> str:
    """Literal text inside a pattern."""
    return text.replace("{", "{{").replace("}", "}}")


def path_shapes(paths: Sequence[str], weights: Ints | None = None) -> tuple[Ints, list[str]]:
    """Group paths by the script or directory that made them; each group is a pattern of the rule language.

    A segment stays literal where few values occur below its parent or it holds a good share of them; among the
    others a common build (`topic,7.msg9.html`) is kept with its numbers open, then a common ending, else `{}`.

    >>> words = [f"/t/{w}-{i}.html" for i, w in enumerate("abcdefghijklmnopqrstuvwxyz")]
    >>> codes, shapes = path_shapes([*words, "/a.php"])
    >>> shapes
    ['/a.php', '/t/{}.html']
    """
    distinct = sorted(set(paths))
    at = {p: i for i, p in enumerate(distinct)}
    rows = np.fromiter((at[p] for p in paths), np.int64, len(paths))
    heavy = np.bincount(rows, weights=weights, minlength=len(distinct))
    split = [p.split("/") for p in distinct]
    shape = [""] * len(distinct)

    def grow(members: list[int], depth: int, prefix: str) -> None:
        total = sum(heavy[i] for i in members)
        going: dict[str, list[int]] = defaultdict(list)
        for i in members:
            if len(split[i]) == depth:
                shape[i] = prefix
            elif depth >= _DEEPEST:
                shape[i] = prefix + "/{:rest}"
            else:
                going[split[i][depth]].append(i)
        if not going:
            return
        share = {s: sum(heavy[i] for i in g) for s, g in going.items()}
        few = len(going) <= 12
        literal = {s for s in going if s == "" or few or share[s] >= max(5.0, 0.05 * total)}
        kinds: dict[str, list[int]] = defaultdict(list)
        for s in literal:
            kinds[escape(s)] += going[s]
        built, ended = Counter[str](), Counter[str]()
        loose = [s for s in going if s not in literal]
        for s in loose:
            built[_DIGITS.sub("{:int}", escape(s))] += share[s]
            if m := _ENDING.search(s):
                ended[m.group()] += share[s]
        floor = max(3.0, 0.02 * total)
        for s in loose:
            kind = _DIGITS.sub("{:int}", escape(s))
            if kind == escape(s) or built[kind] < floor or kind.count("{:int}{:int}"):
                m = _ENDING.search(s)
                kind = "{}" + escape(m.group()) if m and m.start() and ended[m.group()] >= floor else "{}"
            kinds[kind] += going[s]
        for kind, group in sorted(kinds.items()):
            grow(group, depth + 1, kind if depth == 0 else f"{prefix}/{kind}")

    grow(list(range(len(distinct))), 0, "")
    codes, names = _codes(shape)
    return codes[rows], names
