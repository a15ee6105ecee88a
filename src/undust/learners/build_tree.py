"""The pattern tree of a site: which parts of its URLs are design and which are data.

`build_tree` is Algorithm 1 of Lei et al. (WWW 2010) on dictionary-coded columns; `render` prints a tree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from undust.url import common_type

__all__ = [
    "ANY",
    "MAYBE",
    "REST",
    "TYPES",
    "Node",
    "Tree",
    "build_tree",
    "coded",
    "news",
    "render",
    "salient_values",
]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]
Counts = NDArray[np.int64]

# What a node's pattern says of a key, besides the code of its one value (0: the key is absent).
ANY = -1  # always there, with several values
MAYBE = -2  # there in some of the URLs only

MAX_EVEN = 10  # more values that are about equally frequent are data

TYPES = frozenset({"int", "hex", "uuid", "date", "slug", "session"})  # of values, that wildcards can have

REST = "rest"  # one column for all keys that are too rare for one of their own; no rule speaks of it


class Coded(Protocol):
    """One key of every URL: a code per URL and the value of each code; code 0 means the key is absent."""

    @property
    def codes(self) -> Codes: ...
    @property
    def values(self) -> Sequence[str | None]: ...


@dataclass(slots=True, eq=False)
class Node:
    """A group of URLs of one formation: the rows `tree.order[lo:hi]`."""

    id: int
    lo: int
    hi: int
    pattern: Codes  # per key: the code of its one value, or ANY or MAYBE
    parent: Node | None = None
    key: int = -1  # what the parent was split by; -1 for the root
    children: list[Node] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Node({self.id}: {self.size} URLs)"

    @property
    def size(self) -> int:
        """The node's volume: how many URLs it holds."""
        return self.hi - self.lo

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent.depth

    def above(self, other: Node) -> bool:
        """Whether this node is an ancestor of the other (a child's members are a slice of its parent's)."""
        return self.id < other.id and self.lo <= other.lo and other.hi <= self.hi

    def split_keys(self) -> set[int]:
        """The keys that were decided on the way from the root to this node."""
        return set() if self.parent is None else self.parent.split_keys() | {self.key}


@dataclass(slots=True)
class Tree:
    """Nodes in preorder (the root first); `order` holds the rows so that each node is one slice of it."""

    keys: list[str]
    columns: list[Coded]
    order: Rows
    nodes: list[Node]

    def rows(self, node: Node) -> Rows:
        """The rows of the URLs in this node."""
        return self.order[node.lo : node.hi]

    @property
    def leaves(self) -> list[Node]:
        return [node for node in self.nodes if not node.children]

    @property
    def height(self) -> int:
        """Edges on the longest way down."""
        return max(node.depth for node in self.nodes)

    def values(self, node: Node) -> dict[str, str | None]:
        """The node's pattern in words: key -> value, `*` (any) or `?` (any or none); absent keys left out.

        >>> urls = [{"path[0]": "a", "id": str(i)} for i in range(5)] + [{"path[0]": "b"}] * 5
        >>> tree = build_tree(*coded(urls))
        >>> [tree.values(node) for node in tree.nodes]
        [{'path[0]': '*', 'id': '?'}, {'path[0]': 'a', 'id': '*'}, {'path[0]': 'b'}]
        """
        words: dict[int, str | None] = {ANY: "*", MAYBE: "?"}
        return {
            key: words[code] if code < 0 else column.values[code]
            for key, column, code in zip(self.keys, self.columns, node.pattern.tolist(), strict=True)
            if code != 0
        }


def build_tree(
    keys: Sequence[str],
    columns: Sequence[Coded],
    rows: Rows | None = None,
    *,
    min_members: int = 2,
    noise: float = 0.25,
    max_salient: int = 100,
    frequencies: str = "local",
    optional_last: bool = True,
) -> Tree:
    """Algorithm 1: split URLs by the key with the least entropy, until the values of that key are trivial.

    A key of one value decides nothing and makes no node. Where some URLs lack a key, its absence is one more
    value, and always salient; but a rare key then has the least entropy of all, so keys that every URL of the
    group has are tried first (`optional_last=False`: the bare entropy, one rare key after the other).
    Keys come in order of preference, which breaks ties.

    The work is linear in URLs x keys for each level; a key that has become constant is not looked at again.

    `min_members`, `noise`: fewer URLs than `min_members`, or than `noise` times the root of the group's size,
    are chance; neither a value nor the presence of a key that only they have makes a node. `frequencies`:
    'local' counts a value within its node (Algorithm 1), 'global' within the site (Figure 6).

    >>> urls = [{"path[0]": "show.php", "id": str(i)} for i in range(6)] + [{"path[0]": "index.html"}] * 4
    >>> print(render(build_tree(*coded(urls))))
    10  path[0]=* id=?
    ├── 6  path[0]=show.php id={int}
    └── 4  path[0]=index.html
    """
    n = len(columns[0].codes) if columns else 0
    tree = Tree(list(keys), list(columns), np.arange(n) if rows is None else np.array(rows, np.int64), [])

    def least(size: int) -> float:
        return max(min_members, noise * math.sqrt(size))

    everywhere: list[set[int]] | None = None
    if frequencies == "global":
        curves = [_count(column.codes[tree.order], len(column.values)) for column in columns]
        everywhere = [set(salient_values(*curve, least(len(tree.order)), max_salient)) for curve in curves]

    def salient(k: int, codes: Codes, counts: Counts) -> list[int]:
        if everywhere is None:
            found = salient_values(codes, counts, least(int(counts.sum())), max_salient)
        else:
            found = [code for code in codes.tolist() if code in everywhere[k]]
        return [*found, 0] if codes[0] == 0 else found

    def grow(
        lo: int, hi: int, parent: Node | None, key: int, pattern: Codes, todo: list[int], done: set[int]
    ) -> None:
        node = Node(len(tree.nodes), lo, hi, pattern, parent, key)
        tree.nodes.append(node)
        if parent is not None:
            parent.children.append(node)
        members = tree.order[lo:hi]
        varied: list[int] = []
        choices: list[tuple[bool, float, int, Codes, Counts]] = []
        for k in todo:
            codes, counts = _count(columns[k].codes[members], len(columns[k].values))
            if len(codes) < 2:
                pattern[k] = codes[0] if len(codes) else 0
                continue
            varied.append(k)
            absent = int(counts[0]) if codes[0] == 0 else 0
            pattern[k] = MAYBE if absent else ANY
            if k in done:
                continue
            if not absent or min(absent, node.size - absent) >= least(node.size):
                choices.append((bool(absent) and optional_last, round(_entropy(counts), 9), k, codes, counts))
        # The key of least entropy; if its values are all trivial, so are those of the others of its kind.
        for optional in (False, True):
            _, _, best, codes, counts = min(
                (c for c in choices if c[0] == optional), key=lambda c: c[1:3], default=_NO_CHOICE
            )
            literal = salient(best, codes, counts) if best >= 0 else []
            if literal:
                break
        else:
            return
        # One label for each salient value, and one for all trivial values together.
        label = np.full(len(codes), len(literal), np.int32)
        label[np.searchsorted(codes, literal)] = np.arange(len(literal))
        labels = label[np.searchsorted(codes, columns[best].codes[members])]
        tree.order[lo:hi] = members[np.argsort(labels, kind="stable")]
        for i, volume in enumerate(np.bincount(labels).tolist()):
            below = pattern.copy()
            below[best] = literal[i] if i < len(literal) else ANY
            rest = varied if below[best] == ANY else [k for k in varied if k != best]
            grow(lo, lo + volume, node, best, below, rest, done | {best})
            lo += volume

    grow(0, len(tree.order), None, -1, np.zeros(len(keys), np.int32), list(range(len(keys))), set())
    return tree


def salient_values(codes: Codes, counts: Counts, least: float = 2, max_salient: int = 100) -> list[int]:
    """The values before the largest drop of the frequency curve (equation 5), most frequent first.

    The curve ends in a sentinel of frequency 1, so a curve without a drop inside is salient as a whole, unless
    no value is ever repeated, or there are more than `MAX_EVEN`: few equals are mirrors or languages, many are
    users or products. A drop to more than half is none. Of equal drops the first counts. Values of fewer than
    `least` URLs are trivial all the same.

    >>> values = np.arange(1, 6, dtype=np.int32)
    >>> salient_values(values, np.array([3, 900, 2, 800, 1]))
    [2, 4]
    >>> salient_values(values, np.array([7, 7, 7, 7, 7])), salient_values(values, np.array([1, 1, 1, 1, 1]))
    ([1, 2, 3, 4, 5], [])
    """
    present = codes > 0
    order = np.argsort(-counts[present], kind="stable")[: max_salient + 1]
    curve = counts[present][order]
    if len(curve) <= max_salient:
        curve = np.append(curve, 1)
    drops = curve[:-1] / curve[1:]
    cut = int(np.argmax(drops)) + 1
    if drops[cut - 1] < 2 or (cut == len(drops) > MAX_EVEN):
        return []
    found = order[:cut][curve[:cut] >= least]
    return [int(code) for code in codes[present][found]]


def render(tree: Tree, *, max_children: int = 12, least: int = 1, max_keys: int = 12) -> str:
    """The tree for a terminal: one line a node with its volume and what its pattern adds to its parent's.

    `{int}` is any value of a type that all values share, `*` any value, `?` any value or none. Of more than
    `max_children` children the largest are shown, none of fewer than `least` URLs, and `max_keys` of a node's keys.
    """
    lines: list[str] = []

    def draw(node: Node, lead: str, branch: str) -> None:
        words = news(tree, node)
        if len(words) > max_keys:
            words[max_keys:] = [f"and {len(words) - max_keys} more keys"]
        lines.append(f"{lead}{branch}{node.size:,}  {' '.join(words)}".rstrip())
        lead += {"": "", "├── ": "│   ", "└── ": "    "}[branch]
        children = sorted(node.children, key=lambda child: -child.size)
        shown = [child for child in children[:max_children] if child.size >= least]
        hidden = children[len(shown) :]
        for child in shown:
            draw(child, lead, "├── " if hidden or child is not shown[-1] else "└── ")
        if hidden:
            lines.append(f"{lead}└── {sum(c.size for c in hidden):,}  in {len(hidden)} more")

    draw(tree.nodes[0], "", "")
    return "\n".join(lines)


def news(tree: Tree, node: Node) -> list[str]:
    """What a node's pattern says that its parent's does not; the key that was split by comes first."""
    mine, before = node.pattern, np.zeros_like(node.pattern) if node.parent is None else node.parent.pattern
    new = [k for k in np.flatnonzero(mine != before).tolist() if mine[k] != 0 or k == node.key]
    if node.key >= 0 and node.key not in new:
        new.append(node.key)
    new.sort(key=lambda k: (k != node.key, mine[k] == MAYBE, k))
    return [tree.keys[k] + _word(tree, node, k) for k in new]


def _word(tree: Tree, node: Node, key: int) -> str:
    code = int(node.pattern[key])
    if code == 0:
        return " absent"
    if code == MAYBE:
        return "=?"
    column = tree.columns[key]
    if code != ANY:
        return f"={column.values[code]}"
    kind = common_type(column.values[c] or "" for c in np.unique(column.codes[tree.rows(node)]).tolist())
    return f"={{{kind}}}" if kind in TYPES else "=*"


_NO_CHOICE = (False, 0.0, -1, np.empty(0, np.int32), np.empty(0, np.int64))


def _count(codes: Codes, size: int) -> tuple[Codes, Counts]:
    """The codes that occur, ascending, and how often each."""
    if size > 4 * len(codes):  # a bin for each value of the site would cost more than sorting the few URLs
        seen, often = np.unique(codes, return_counts=True)
        return seen.astype(np.int32), often.astype(np.int64)
    bins = np.bincount(codes, minlength=1)
    found = np.flatnonzero(bins)
    return found.astype(np.int32), bins[found]


def _entropy(counts: Counts) -> float:
    """Equation 4."""
    p = counts / counts.sum()
    return float(-(p * np.log(p)).sum())


class _Column(NamedTuple):
    codes: Codes
    values: list[str | None]


def coded(urls: Sequence[Mapping[str, str]]) -> tuple[list[str], list[_Column]]:
    """Keys and columns of URLs that are given as key -> value, for small examples.

    >>> keys, columns = coded([{"a": "x"}, {"a": "y", "b": "z"}])
    >>> keys, columns[1].codes.tolist(), columns[1].values
    (['a', 'b'], [0, 1], [None, 'z'])
    """
    keys = list(dict.fromkeys(key for url in urls for key in url))
    columns = []
    for key in keys:
        code: dict[str | None, int] = {None: 0}
        codes = [code.setdefault(url.get(key), len(code)) for url in urls]
        columns.append(_Column(np.array(codes, np.int32), list(code)))
    return keys, columns
