#!/usr/bin/env python3
"""Derived clusters against given ones, pair by pair: python benchmarks/labels.py DIR [SITE...] [options]

DIR holds SITE.pages.jsonl.gz, SITE.truth.tsv (url, cluster, soft, evidence) and, to tell near-duplicates from wrong
merges, SITE.features.npz. Pairs of pages in one cluster are claimed; a claimed pair is right when the truth has it in
one cluster too, near when its texts resemble each other (>= 0.8) all the same. Soft pages are apart: those of the
truth are left out, those found soft claim no pair.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from undust.crawl import read
from undust.likeness import LEVELS, Labels, Site, label_site, sketch_kind, sketcher, split_sites
from undust.url import normal

NEAR = 0.8
SAMPLED = 300


class Truth(NamedTuple):
    cluster: int
    soft: bool
    row: int


class Features:
    """Min-hashes of the pages' own texts, by row of the truth."""

    def __init__(self, path: Path) -> None:
        loaded = np.load(path) if path.exists() else {}
        self.signature = loaded.get("sig")
        self.text = loaded.get("md5")

    def near(self, a: int, b: int) -> bool:
        if self.text is None or self.signature is None:
            return False
        if self.text[a] == self.text[b]:
            return True
        one, other = self.signature[a], self.signature[b]
        return bool(one.any() and other.any() and (one == other).mean() >= NEAR)


class Score(NamedTuple):
    claimed: int
    right: int
    near: float
    true: int
    pages: int
    clusters: int
    reached: int

    def cells(self) -> list[str]:
        def ratio(a: float, b: float) -> str:
            return f"{a / b:.4f}" if b else "-"

        return [
            f"{self.claimed}",
            ratio(self.right, self.claimed),
            ratio(self.right + self.near, self.claimed),
            ratio(self.right, self.true),
            ratio(self.reached, self.pages - self.clusters),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("dir", type=Path)
    parser.add_argument("sites", nargs="*", help="default: all that have a truth")
    parser.add_argument("--no-boilerplate", action="store_true", help="take the template for own text")
    parser.add_argument("--levels", action="store_true", help="claimed pairs by evidence level")
    parser.add_argument(
        "--resemblance", action="store_true", help="estimates for pages that are not in one cluster"
    )
    parser.add_argument("--examples", type=int, default=0, help="disagreements to show, most pairs first")
    parser.add_argument("--smallest", type=int, default=300, help="leave out hosts with fewer pages")
    args = parser.parse_args()
    names = args.sites or sorted(p.name.removesuffix(".truth.tsv") for p in args.dir.glob("*.truth.tsv"))
    print(
        "| site | pages | claimed pairs | precision | with near | recall | of duplicates "
        "| soft: true/found/both | CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        truth = load_truth(args.dir / f"{name}.truth.tsv")
        features = Features(args.dir / f"{name}.features.npz")
        crawl = read(str(args.dir / f"{name}.pages.jsonl.gz"), sketcher=sketcher, sketch_kind=sketch_kind())
        for site in split_sites(crawl.pages):
            if site.n >= args.smallest:
                report(site, truth, features, args)


def load_truth(path: Path) -> dict[str, Truth]:
    truth: dict[str, Truth] = {}
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        next(file)
        for row, line in enumerate(file):
            url, cluster, soft, _ = line.rstrip("\n").split("\t")
            truth.setdefault(normal(url), Truth(int(cluster), soft == "1", row))
    return truth


def report(site: Site, truth: dict[str, Truth], features: Features, args: argparse.Namespace) -> None:
    seen = site.seen
    start = time.process_time()
    labels = label_site(site.pages, seen, boilerplate=not args.no_boilerplate)
    spent = time.process_time() - start
    known = [(row, truth[url]) for row, url in enumerate(site.urls.tolist()) if url in truth]
    soft = np.array([t.soft for _, t in known], dtype=bool)
    found = labels.soft[[row for row, _ in known]]
    hard = [(row, t) for row, t in known if not t.soft]
    rows = np.array([row for row, _ in hard])
    true = np.array([t.cluster for _, t in hard])
    mine = labels.cluster[rows].astype(np.int64)
    single = (mine < 0) | labels.soft[rows]
    mine[single] = -1 - np.arange(len(mine))[single]
    at = np.array([t.row for _, t in hard])
    score = compare(mine, true, at, features)
    counts = f"{soft.sum()}/{found.sum()}/{(soft & found).sum()}"
    print("|", " | ".join([site.name, str(len(rows)), *score.cells(), counts, f"{spent:.2f}"]), "|")
    if args.levels:
        by_level(mine, true, labels.level[rows])
    if args.resemblance:
        estimates(labels, rows, mine, true, at, features)
    if args.examples:
        disagreements(site, rows, mine, true, at, features, args.examples)


def pairs(codes: NDArray[np.int64]) -> int:
    count = np.unique(codes, return_counts=True)[1].astype(np.int64)
    return int((count * (count - 1) // 2).sum())


def both(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(np.stack((a, b)), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def compare(
    mine: NDArray[np.int64], true: NDArray[np.int64], at: NDArray[np.int64], features: Features
) -> Score:
    near = 0.0
    for parts in wrong(mine, true).values():
        some = list(itertools.combinations(parts.values(), 2))
        some = some[:: len(some) // SAMPLED + 1]
        weight = sum(len(a) * len(b) for a, b in some)
        alike = sum(len(a) * len(b) for a, b in some if features.near(int(at[a[0]]), int(at[b[0]])))
        near += split_pairs(parts) * alike / weight
    cell = both(mine, true)
    return Score(
        claimed=pairs(mine),
        right=pairs(cell),
        near=near,
        true=pairs(true),
        pages=len(true),
        clusters=len(np.unique(true)),
        reached=len(cell) - len(np.unique(cell)),
    )


def wrong(mine: NDArray[np.int64], true: NDArray[np.int64]) -> dict[int, dict[int, list[int]]]:
    """Clusters of `mine` that hold several of `true`: their parts as positions."""
    parts: defaultdict[int, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for position, (m, t) in enumerate(zip(mine.tolist(), true.tolist(), strict=True)):
        parts[m][t].append(position)
    return {m: dict(p) for m, p in parts.items() if len(p) > 1}


def split_pairs(parts: dict[int, list[int]]) -> int:
    sizes = [len(p) for p in parts.values()]
    return (sum(sizes) ** 2 - sum(s * s for s in sizes)) // 2


def by_level(mine: NDArray[np.int64], true: NDArray[np.int64], level: NDArray[np.uint8]) -> None:
    """A pair is as good as the weaker evidence of its two pages."""
    claimed = right = 0
    cell = both(mine, true)
    for number in range(len(LEVELS) - 1, -1, -1):
        upto = level >= number
        now, ok = pairs(mine[upto]), pairs(cell[upto])
        if now > claimed:
            print(
                f"    {LEVELS[number]:7} {now - claimed:8} pairs, {(ok - right) / (now - claimed):.4f} right"
            )
        claimed, right = now, ok


def estimates(
    labels: Labels,
    rows: NDArray[np.int64],
    mine: NDArray[np.int64],
    true: NDArray[np.int64],
    at: NDArray[np.int64],
    features: Features,
) -> None:
    """What `resemblance` says of neighbours (in order of URL) and of pages of one true cluster that are apart."""
    rng = np.random.default_rng(1)
    n = len(rows)
    a = np.repeat(np.arange(n), 3)
    b = a + rng.integers(1, 30, len(a))
    order = rng.permutation(n)
    by_cluster = order[np.argsort(true[order], kind="stable")]
    pairs_ = np.concatenate((np.stack((a, b))[:, b < n], np.stack((by_cluster[:-1], by_cluster[1:]))), axis=1)
    a, b = pairs_[:, mine[pairs_[0]] != mine[pairs_[1]]]
    found = labels.resemblance(rows[a], rows[b])
    told = {"near": found >= NEAR, "different": found < NEAR, "undecided": np.isnan(found)}
    same = true[a] == true[b]
    near = (
        np.array([features.near(i, j) for i, j in zip(at[a].tolist(), at[b].tolist(), strict=True)]) & ~same
    )
    for name, truly in (("same", same), ("near", near), ("different", ~same & ~near)):
        print(
            f"    truly {name}:", ", ".join(f"{what} {(truly & mask).sum()}" for what, mask in told.items())
        )


def disagreements(
    site: Site,
    rows: NDArray[np.int64],
    mine: NDArray[np.int64],
    true: NDArray[np.int64],
    at: NDArray[np.int64],
    features: Features,
    how_many: int,
) -> None:
    for what, outer, inner in (
        ("merged, truth says apart", mine, true),
        ("apart, truth says one", true, mine),
    ):
        groups = sorted(wrong(outer, inner).values(), key=split_pairs, reverse=True)
        print(f"    {what}: {len(groups)} clusters, {sum(map(split_pairs, groups))} pairs")
        for parts in groups[:how_many]:
            (a, *_), (b, *_) = sorted(parts.values(), key=len, reverse=True)[:2]
            near = "near" if features.near(int(at[a]), int(at[b])) else "different"
            print(f"      {split_pairs(parts)} pairs, {near}")
            for position in (a, b):
                row = int(rows[position])
                seen = site.seen
                print(f"        {site.urls[row]}  text {seen.text_len[row]} bytes {seen.size_max[row]}")


if __name__ == "__main__":
    main()
