"""What turns a source into its target: Algorithm 3 of Koppula et al., for all pairs at once.

A pair's transformation is a set of *edits*: a key is set, dropped, or a segment inserted. What is set is
explained by a reference to a key of the source, by a reference behind a value conversion, or by a literal,
in this order; where several would do, the one that explains most clusters (RES-14). A value that no whole
key explains is taken apart into its deep tokens, each explained for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from undust.learners.key_table import Bools, Hashes, Ints, KeyTable, mix, mix2, ranges

SET, DROP, INSERT, PATH = range(4)
LITERAL, VARIES, REFERENCE, DEEP, UNKNOWN = range(5)
_FRONT, _BACK = 1 << 20, 1 << 21


@dataclass
class Edits:
    """One row per edit. A segment has its place from the start (`at`) and from the end (`back`, last = 1).

    `atom` is the column of a key that is no segment, else -1. `code` is the target's value, `old` the
    source's, `tree` and `value` where the target's deep tokens are. `kind_of`, `what`, `convert` explain it:
    a literal code, an atom of the source and a conversion, or the leaf pattern whose gaps are explained in
    `parts`.
    """

    pair: Ints
    kind: Ints
    atom: Ints
    at: Ints
    back: Ints
    order: Ints
    code: Ints
    old: Ints
    tree: Ints
    value: Ints
    explained: Ints = None  # type: ignore[assignment]  # filled in by `explain`
    what: Ints = None  # type: ignore[assignment]
    convert: Ints = None  # type: ignore[assignment]
    parts: Parts = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.pair)

    def of(self, pair: int) -> Ints:
        """Rows of a pair's edits."""
        lo, hi = np.searchsorted(self.pair, [pair, pair + 1])
        return np.arange(lo, hi)


@dataclass
class Parts:
    """Explanations of the gaps of deep targets: one row per gap, `edit` the edit it belongs to."""

    edit: Ints
    gap: Ints
    code: Ints
    explained: Ints
    what: Ints
    convert: Ints
    score: Ints  # clusters that are explained so

    def of(self, edit: int) -> Ints:
        """Rows of the gaps of a deep edit."""
        lo, hi = np.searchsorted(self.edit, [edit, edit + 1])
        return np.arange(lo, hi)

    def take(self, rows: Ints | Bools) -> Parts:
        return Parts(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def differences(table: KeyTable, u: Ints, v: Ints) -> Edits:
    """The keys in which sources and targets differ; paths aligned where they differ least (RES-16).

    >>> from undust.url import SiteTable
    >>> urls = ["http://a.example/x/y/index.html?s=1", "http://a.example/x/y"]
    >>> edits = differences(KeyTable(SiteTable.build(urls)), np.array([0]), np.array([1]))
    >>> edits.kind.tolist() == [DROP, DROP], edits.at.tolist(), edits.back.tolist()
    (True, [2, -1], [1, 0])
    """
    pair, atom = _different_columns(table.codes, u, v)
    code = table.codes[v[pair], atom].astype(np.int64)
    none = np.full(len(pair), -1, np.int64)
    zero = np.zeros(len(pair), np.int64)
    columns = [pair, np.where(code > 0, SET, DROP), atom, none, zero, zero, code]
    columns += [table.codes[u[pair], atom].astype(np.int64), atom]
    path = _path_differences(table, u, v)
    merged = [np.concatenate(x) for x in zip(columns, path, strict=True)]
    order = np.lexsort((merged[5], merged[3], merged[2], merged[0]))
    pair, kind, atom, at, back, place, code, old, tree = (x[order] for x in merged)
    value = np.full(len(pair), -1, np.int64)
    wanted = np.flatnonzero(code > 0)
    value[wanted] = table.value_at(tree[wanted], code[wanted])
    return Edits(pair, kind, atom, at, back, place, code, old, tree, value)


def _different_columns(codes: npt.NDArray[np.int32], u: Ints, v: Ints) -> tuple[Ints, Ints]:
    pairs, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for j in range(codes.shape[1]):
        column = codes[:, j]
        found = np.flatnonzero(column[u] != column[v])
        pairs.append(found)
        columns.append(np.full(len(found), j, np.int64))
    return np.concatenate(pairs), np.concatenate(columns)


def _path_differences(table: KeyTable, u: Ints, v: Ints) -> list[Ints]:
    """Edits of the path, in the order of the fields of `Edits` (without `value`)."""
    some = np.flatnonzero((table.length[u] != table.length[v]) | (table.path[u] != table.path[v]).any(axis=1))
    a, b = u[some], v[some]
    m, n = table.length[a], table.length[b]
    least = np.minimum(m, n)
    k = np.arange(table.depth)[None, :]
    inside = k < least[:, None]
    same = (table.path[a] == table.path[b]) & inside
    gap = least.copy()
    if table.end_alignment:
        same_back = (table.path_back[a] == table.path_back[b]) & inside
        front = np.cumprod(same, axis=1).sum(axis=1)  # segments equal before the first difference
        cost = np.stack(
            [
                least - same.sum(axis=1),
                least - same_back.sum(axis=1),
                least - front - (same_back & (k < (least - front)[:, None])).sum(axis=1),
            ]
        )
        choice = np.argmin(cost, axis=0)
        gap = np.where(m == n, least, np.choose(choice, [least, np.zeros_like(least), front]))
    surplus = m - n
    # every place of the target, with the place of the source it is aligned with
    target = np.broadcast_to(k, (len(a), table.depth))
    moved = target >= gap[:, None]
    place = np.where(moved, target + surplus[:, None], target)
    inserted = (surplus[:, None] < 0) & moved & (target < (gap - surplus)[:, None])
    in_target = target < n[:, None]
    new = table.path[b]
    old = np.take_along_axis(table.path[a], np.clip(place, 0, max(table.depth - 1, 0)), axis=1)
    sets = in_target & ~inserted & (new != old)
    inserts = in_target & inserted
    drops = (surplus[:, None] > 0) & (target >= gap[:, None]) & (target < (gap + surplus)[:, None])
    out: list[list[Ints]] = [[] for _ in range(9)]
    for kind, mask in ((SET, sets), (INSERT, inserts), (DROP, drops)):
        p, t = np.nonzero(mask)
        at = gap[p] if kind == INSERT else t if kind == DROP else place[p, t]
        code = np.zeros(len(p), np.int64) if kind == DROP else new[p, t].astype(np.int64)
        before = table.path[a[p], t] if kind == DROP else np.where(kind == SET, old[p, t], 0)
        order = t - gap[p] if kind == INSERT else np.zeros(len(p), np.int64)
        tree = table.tree_of(table.n_columns + t, n[p] - t)
        row = (some[p], np.full(len(p), kind), np.full(len(p), -1), at, m[p] - at, order, code, before, tree)
        for field, values in zip(out, row, strict=True):
            field.append(np.asarray(values, np.int64))
    return [np.concatenate(x) for x in out]


# -------------------------------------------------------------------------------------------- explanations


@dataclass
class _Wanted:
    """Values to be explained: what they are for, in which source, of which cluster."""

    key: Ints
    source: Ints
    code: Ints
    cluster: Ints


@dataclass
class _Atoms:
    """Everything that stands in the sources, as is and converted, sorted by (source, code)."""

    key: Ints
    atom: Ints
    convert: Ints
    size: int

    def among(self, source: Ints, code: Ints) -> tuple[Ints, Ints]:
        """(rows of this table, index of the asked) where a source has a value."""
        asked = source * self.size + code
        return ranges(np.searchsorted(self.key, asked), np.searchsorted(self.key, asked, side="right"))


def _source_atoms(table: KeyTable, sources: Ints, conversions: Sequence[str], wanted: Ints) -> _Atoms:
    who, atom, code = table.values_of(sources)
    parts = [(who, atom, code, np.zeros(len(who), np.int64))]
    is_wanted = np.zeros(len(table.vocab), bool)
    is_wanted[wanted] = True
    for number, conversion in enumerate(conversions, 1):
        after = table.converted(code, conversion)
        use = np.flatnonzero((after != code) & (after > 0) & is_wanted[after])
        parts.append((who[use], atom[use], after[use], np.full(len(use), number)))
    who, atom, code, convert = (np.concatenate(x) for x in zip(*parts, strict=True))
    keep = is_wanted[code]
    who, atom, code, convert = who[keep], atom[keep], code[keep], convert[keep]
    size = len(table.vocab)
    key = who * size + code
    order = np.lexsort((atom, convert, key))
    return _Atoms(key[order], atom[order], convert[order], size)


def explain(
    table: KeyTable,
    edits: Edits,
    u: Ints,
    cluster: Ints,
    *,
    conversions: Sequence[str],
    references: bool = True,
) -> None:
    """Fill in the explanations of all edits."""
    n = len(edits)
    sets = np.flatnonzero(edits.code > 0)
    sources, source = np.unique(u[edits.pair], return_inverse=True)
    need = min(2, len(np.unique(cluster)))
    captures, of = table.captures(edits.value[sets[edits.value[sets] >= 0]])
    owner = sets[edits.value[sets] >= 0][of]
    asked = np.concatenate((edits.code[sets], table.capture_code[captures].astype(np.int64)))
    atoms = _source_atoms(table, sources, conversions if references else (), asked)

    whole = _Wanted(edits.tree[sets], source[sets], edits.code[sets], cluster[edits.pair[sets]])
    ref, convert, score = _best(table, atoms, whole, need, references)
    literal = _clusters_with(whole.key, whole.code, whole.cluster)

    edits.explained = np.full(n, UNKNOWN, np.int64)
    edits.what = np.zeros(n, np.int64)
    edits.convert = np.zeros(n, np.int64)
    edits.explained[edits.kind == DROP] = LITERAL
    # where both explain as much: a key's own conversion, then the literal, then another key (which a rule
    # that reads it would also need)
    use_literal = (literal >= 2) & (literal + (ref != whole.key) > score)
    refers = (ref >= 0) & ~use_literal
    edits.explained[sets[refers]] = REFERENCE
    edits.what[sets[refers]] = ref[refers]
    edits.convert[sets[refers]] = convert[refers]

    # deep tokens: only for values no whole key explains
    open_ = np.zeros(n, bool)
    open_[sets[~refers]] = True
    keep = open_[owner]
    captures, owner = captures[keep], owner[keep]
    parts, deep = _explain_deep(table, atoms, edits, captures, owner, source, cluster, need, references)
    literal_of = np.zeros(n, np.int64)
    literal_of[sets] = literal
    weakest = np.full(n, np.iinfo(np.int64).max)
    refers_part = parts.explained == REFERENCE
    np.minimum.at(weakest, parts.edit[refers_part], parts.score[refers_part])
    deep &= weakest > literal_of
    edits.explained[deep] = DEEP
    edits.parts = parts.take(deep[parts.edit])

    rest = np.flatnonzero(edits.explained == UNKNOWN)
    edits.what[rest] = edits.code[rest]
    varies = (literal_of[rest] < need) & (edits.kind[rest] == SET) & (edits.old[rest] > 0)
    edits.explained[rest] = np.where(varies, VARIES, LITERAL)


def _best(
    table: KeyTable, atoms: _Atoms, wanted: _Wanted, need: int, references: bool
) -> tuple[Ints, Ints, Ints]:
    """The reference that explains each value: atom (-1: none), conversion, clusters it explains so."""
    best = np.full(len(wanted.key), -1, np.int64)
    convert = np.zeros(len(wanted.key), np.int64)
    score = np.zeros(len(wanted.key), np.int64)
    if not references or not len(wanted.key):
        return best, convert, score
    at, of = atoms.among(wanted.source, wanted.code)
    key, atom, conv = wanted.key[of], atoms.atom[at], atoms.convert[at]
    way = _rank((key << 36) + (atom << 8) + conv)
    clusters = _clusters_with(way, np.zeros_like(way), wanted.cluster[of])
    short = np.fromiter((len(t) < 2 for t in table.vocab), np.bool_, len(table.vocab))[wanted.code[of]]
    ok = (clusters >= need) & ((clusters > 1) | ~short)
    at, of, atom, conv, clusters, key = at[ok], of[ok], atom[ok], conv[ok], clusters[ok], key[ok]
    home = np.where(key == atom, 0, 1)
    order = np.lexsort((atom, np.abs(key - atom), home, conv, -clusters, of))
    first = np.ones(len(order), bool)
    first[1:] = of[order][1:] != of[order][:-1]
    chosen = order[first]
    best[of[chosen]] = atom[chosen]
    convert[of[chosen]] = conv[chosen]
    score[of[chosen]] = clusters[chosen]
    return best, convert, score


def _explain_deep(
    table: KeyTable,
    atoms: _Atoms,
    edits: Edits,
    captures: Ints,
    owner: Ints,
    source: Ints,
    cluster: Ints,
    need: int,
    references: bool,
) -> tuple[Parts, Bools]:
    """Explain gaps top down: a gap that is referred to is not looked into."""
    gap = table.capture_gap[captures]
    code = table.capture_code[captures].astype(np.int64)
    wanted = _Wanted(gap, source[owner], code, cluster[edits.pair[owner]])
    ref, convert, score = _best(table, atoms, wanted, need, references)
    parent = table.parent_gap[gap - table.roots] if len(gap) else gap
    # row of the parent gap of the same value; -1 for the children of the whole value
    key = owner * (table.atoms + 1) + gap
    order = np.argsort(key)
    asked = owner * (table.atoms + 1) + parent
    at = np.minimum(np.searchsorted(key[order], asked), max(len(key) - 1, 0))
    above = np.where((parent >= 0) & (key[order][at] == asked), order[at], -1) if len(key) else key
    covered = np.zeros(len(gap), bool)
    while True:
        now = (above >= 0) & ((ref[above] >= 0) | covered[above])
        if (now == covered).all():
            break
        covered = now
    inner = np.zeros(len(gap), bool)
    inner[above[above >= 0]] = True
    refers = (ref >= 0) & ~covered
    literal = ~covered & ~refers & ~inner
    use = np.flatnonzero(refers | literal)
    said = _clusters_with(gap[use], code[use], wanted.cluster[use])
    # a gap the source has too, filled at random, cannot be written between others: such a value is left whole
    random_ = literal[use] & (said < need)
    constant = (said >= 2) & (said >= score[use])
    says = np.where(refers[use] & ~constant, REFERENCE, LITERAL)
    parts = Parts(
        owner[use],
        gap[use],
        code[use],
        says,
        np.where(says == REFERENCE, ref[use], code[use]),
        np.where(says == REFERENCE, convert[use], 0),
        score[use],
    ).take(np.lexsort((gap[use], owner[use])))
    deep = np.zeros(len(edits), bool)
    deep[owner[use[says == REFERENCE]]] = True
    deep[owner[use[random_]]] = False
    return parts, deep


def _rank(values: Ints) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _clusters_with(key: Ints, code: Ints, cluster: Ints) -> Ints:
    """For each row, in how many clusters its (key, code) occurs."""
    if not len(key):
        return key
    way = _rank(mix2(key, code).view(np.int64))
    size = int(cluster.max()) + 1
    seen = np.unique(way * size + cluster) // size
    return np.bincount(seen, minlength=int(way.max()) + 1)[way]


PATH_CONVERSIONS = ("tr(%3A,/)", "tr(:,/)", "tr(%2F,/)", "decode")


def refer_to_paths(
    table: KeyTable, edits: Edits, u: Ints, v: Ints, cluster: Ints, conversions: Sequence[str]
) -> Edits:
    """Edits in which a target's whole path that is one value of the source is set at once.

    Ours: the paper refers segment by segment, so `?id=a:b` and `?id=a:b:c` would be two rules, `/a/b` and
    `/a/b/c`. `conversions` ends with `PATH_CONVERSIONS`.
    """
    pairs = np.unique(edits.pair[edits.atom < 0])
    targets, of = np.unique(v[pairs], return_inverse=True)
    texts = ("/".join(table.vocab[c] for c in row if c) for row in table.path[targets].tolist())
    code = np.fromiter((table.code(text) for text in texts), np.int64, len(targets))[of]
    sources, source = np.unique(u[pairs], return_inverse=True)
    who, atom, value = table.values_of(sources)
    field = atom < table.last
    who, atom, value = who[field], atom[field], value[field]
    parts = [(who, atom, value, np.zeros(len(who), np.int64))]
    for number, conversion in enumerate(conversions, 1):
        if number > len(conversions) - len(PATH_CONVERSIONS):
            parts.append((who, atom, table.converted(value, conversion), np.full(len(who), number)))
    who, atom, value, convert = (np.concatenate(x) for x in zip(*parts, strict=True))
    size = len(table.vocab)
    order = np.lexsort((atom, convert, who * size + value))
    atoms = _Atoms((who * size + value)[order], atom[order], convert[order], size)
    wanted = _Wanted(np.full(len(pairs), -1, np.int64), source, code, cluster[pairs])
    ref, convert, score = _best(table, atoms, wanted, 2, True)
    found = np.flatnonzero((ref >= 0) & (convert > 0) & (score >= 2))
    if not len(found):
        return edits
    gone = np.zeros(len(u), bool)
    gone[pairs[found]] = True
    keep = ~(gone[edits.pair] & (edits.atom < 0))
    k = len(found)
    none, zero = np.full(k, -1, np.int64), np.zeros(k, np.int64)
    new = Edits(
        pairs[found], np.full(k, PATH), none, zero, zero, zero, code[found], zero, none, none,
        np.full(k, REFERENCE), ref[found], convert[found], edits.parts,
    )  # fmt: skip
    names = [name for name in edits.__dataclass_fields__ if name != "parts"]
    joined = {name: np.concatenate((getattr(edits, name)[keep], getattr(new, name))) for name in names}
    order = np.argsort(joined["pair"], kind="stable")
    place = np.full(len(edits), -1, np.int64)
    where = np.empty(len(order), np.int64)
    where[order] = np.arange(len(order))
    place[keep] = where[: keep.sum()]
    parts_ = edits.parts.take(keep[edits.parts.edit])
    parts_.edit = place[parts_.edit]
    return Edits(**{name: joined[name][order] for name in names}, parts=parts_)


def transformation_hashes(table: KeyTable, edits: Edits, pairs: int) -> tuple[Hashes, Hashes]:
    """A number per pair, equal for equal transformations: segments counted from the start, from the end."""
    part = mix2(edits.parts.gap * 8 + edits.parts.explained, edits.parts.what * 64 + edits.parts.convert)
    inside = np.zeros(len(edits), np.uint64)
    np.add.at(inside, edits.parts.edit, part)
    what = np.where(edits.explained == VARIES, 0, edits.what)
    leaf = np.where(edits.explained == DEEP, table.leaf_of(edits.tree, edits.value), 0)
    how = (
        mix2(edits.explained * 8 + edits.kind, what) + mix2(edits.convert, leaf) + mix(inside.view(np.int64))
    )
    segment = edits.atom < 0
    out = []
    for place in (edits.at + _FRONT, edits.back + _BACK):
        key = np.where(segment, place * 32 + edits.order, edits.atom)
        total = np.zeros(pairs, np.uint64)
        np.add.at(total, edits.pair, mix(how.view(np.int64) ^ mix(key).view(np.int64)))
        out.append(total)
    return out[0], out[1]
