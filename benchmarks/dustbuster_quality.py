"""Quality of DustBuster's likely rules: `python benchmarks/dustbuster_quality.py DIRECTORY [NAME ...] [--read N]`.

DIRECTORY holds `NAME.pages.jsonl.gz` or `NAME.access.log.gz`, and `NAME.truth.tsv` (url, cluster, soft). Per data set:

* rules before and after the redundancy elimination, with the published window and without;
* precision@k: share of the best k pairs that the truth upholds in at least one direction (SPEC 1.1), with the
  likeness filter and without;
* precision of what ValidateRule accepts, against the number N of samples;
* reduction and coverage: rules learned and validated on one half of the clusters, applied to the other half.

`--read N` prints the N best rules with the verdict of the truth beside them, to be read.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from undust.crawl import read
from undust.demo.accesslog import write_log
from undust.demo.site import DemoSite
from undust.demo.truth import score, verdicts
from undust.learners.dustbuster import DustBuster
from undust.likeness import Site, split_sites
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules, refined_by
from undust.rules.refinement import sides
from undust.url import normal
from undust.validation import Page, PublishedValidation, RecordedFetcher, Trial
from undust.validation.published import shrinking_first, writable

KS = (10, 20, 50, 100, 200)
NS = (1, 2, 5, 10, 20, 40, 100)
EVERYTHING = 10**6
"""Samples per rule when the truth is asked: all there are."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path, nargs="?", default=Path("."))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--read", type=int, default=0, metavar="N")
    parser.add_argument("--demo", action="store_true", help="the demo site's log instead")
    options = parser.parse_args()
    if options.demo:
        demo()
        return
    names = options.names or sorted(
        {p.name.removesuffix(".truth.tsv") for p in options.directory.glob("*.truth.tsv")}
    )
    for name in names:
        report(options.directory, name, options.read)


def demo() -> None:
    """Learn from the demo site's log (URLs and sizes), validate by fetching from it, score by its own truth."""
    site_ = DemoSite()
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "access.log"
        with log.open("w") as out:
            write_log(site_, out, 60_000, 12_000, vhost=True)
        site = max(split_sites(read([str(log)]).pages), key=lambda s: s.n)
    listed = [url for url, alive in zip(site.urls, site.alive, strict=True) if alive]
    rules = DustBuster().propose(site)
    found = PublishedValidation(Fetched(site_), listed, count=40).validate(rules)
    book = RuleBook()
    book.add(SiteRules(site.name, list(site.hosts), found.rules))
    canonical = Canonicalizer(book, level="validated")
    told = [v for v in verdicts(site_, listed, canonical) if v.applies]
    true = [v for v in told if v.rule.true]
    learned = [v for v in true if v.followed >= 0.9 * v.applies]
    misled = [v for v in told if not v.rule.true and v.followed > v.applies - v.wrong]
    result = score(site_, canonical, listed)
    print(
        f"{len(listed)} URLs: {len(rules)} proposed, {found.attempted} attempted, {len(found.rules)} validated,"
    )
    print(
        f"{found.fetched} pages fetched; of the planted rules {len(learned)} of {len(true)} true ones are followed,"
    )
    print(f"{len(misled)} false ones where they do not hold")
    print(f"reduction {result.reduction:.1%} of {result.ceiling:.1%}, lost {result.lost}, dead {result.dead}")
    print("not followed:", ", ".join(v.rule.name for v in true if v not in learned))


class Fetched:
    """The demo site's pages as far as a comparison sees them."""

    def __init__(self, site: DemoSite) -> None:
        self.site = site

    def fetch(self, url: str) -> Page | None:
        content = self.site.content_id(url)
        return None if content is None else Page(content)


def report(directory: Path, name: str, show: int) -> None:
    for path in inputs(directory, name):
        truth = read_truth(directory / f"{name}.truth.tsv")
        is_log = ".access.log" in path.name
        sites = list(split_sites(read([str(path)], host=host_of(truth) if is_log else None).pages))
        site = max(sites, key=lambda s: s.n)
        print(f"\n## {path.name.partition('.gz')[0]}: {site.n} URLs of {len(sites)} site(s)")
        bench = Bench(site, truth)
        bench.sizes()
        bench.precision(show)
        bench.samples()
        bench.halves()


def inputs(directory: Path, name: str) -> Iterator[Path]:
    for kind in ("access.log", "pages.jsonl"):
        path = directory / f"{name}.{kind}.gz"
        if path.exists():
            yield path


def read_truth(path: Path) -> dict[str, str]:
    """Cluster of each URL in normal form, as a text; soft pages are left out."""
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")[1:]
    rows = (line.split("\t") for line in lines if line)
    return {normal(url): cluster for url, cluster, soft, *_ in rows if soft != "1"}


def host_of(truth: dict[str, str]) -> str:
    """The commonest host: a log does not name it."""
    hosts = [url.split("/", 3)[2] for url in truth]
    return max(sorted(set(hosts)), key=hosts.count)


class Bench:
    def __init__(self, site: Site, truth: dict[str, str]) -> None:
        self.site = site
        self.truth = {url: truth[url] for url in site.urls if url in truth}
        self.judge = truth_as_judge(self.truth)
        self.known: dict[str, Trial | None] = {}

    def sizes(self) -> None:
        for likeness in ("auto", "none"):
            learner = DustBuster(likeness=likeness, crowd=0)
            begin = time.process_time()
            likely = learner.likely(self.site)
            reduced = learner.reduced(likely)
            seconds = time.process_time() - begin
            published = len(DustBuster(likeness=likeness, crowd=0, window=1100).reduced(likely))
            gone = 1 - len(reduced) / max(1, len(likely))
            print(
                f"likeness {likeness}: likely {len(likely)}, after phase 2 {len(reduced)} ({gone:.1%} eliminated; "
                f"{published} with window 1100), {seconds:.2f} CPU s"
            )

    def precision(self, show: int) -> None:
        for likeness, matches in (("auto", 4), ("auto", 2), ("none", 4)):
            if matches == 2 and not self.site.has_sketch.any():
                continue
            learner = DustBuster(likeness=likeness, sketch_matches=matches, crowd=0)
            rules = published_list(learner, self.site, max(KS))
            print(f"precision@k as published, likeness {likeness}, {matches} of 4: {self.at_k(rules)}")
        proposed = DustBuster(max_rules=max(KS)).propose(self.site)
        print(f"precision@k, as proposed: {self.at_k(proposed)}")
        for rule in proposed[:show]:
            trial = self.verdict(rule)
            told = (
                "nothing to tell by"
                if trial is None
                else f"{trial.positive} same, {trial.negative} different"
            )
            print(f"   {rule.evidence.pairs:5} {rule.describe()} | {told}")

    def at_k(self, rules: Sequence[Rule]) -> str:
        valid = uphold(self, rules)
        parts = []
        for k in KS:
            told = [v for v in valid[:k] if v is not None]
            if told and len(valid) > k // 2:
                parts.append(f"@{k} {np.mean(told):.2f} of {len(told)}")
        return ", ".join(parts) or "no rules"

    def samples(self) -> None:
        """Rules accepted with N samples: how many of them the whole truth upholds."""
        rules = [r for r in published_list(DustBuster(crowd=0), self.site, 100) if self.either(r) is not None]
        if len(rules) < 10:
            return
        parts = []
        for n in NS:
            good = accepted = 0
            for seed in range(3):
                some = truth_as_judge(self.truth, count=n, seed=seed)
                for rule in rules:
                    for direction in directions(rule):
                        trial = some.validate_rule(direction)
                        if trial.positive >= (1 - some.epsilon) * n or (trial.valid and trial.samples):
                            accepted += 1
                            whole = self.verdict(direction)
                            good += whole is not None and upheld(whole)
                            break
            if accepted:
                parts.append(f"N={n} {good / accepted:.3f}")
        print(f"precision of accepted rules: {', '.join(parts)}")

    def halves(self) -> None:
        """Learn on one half of the clusters, validate there, apply to the other half."""
        clusters = sorted(set(self.truth.values()))
        random.Random(1).shuffle(clusters)
        train = {c for i, c in enumerate(clusters) if i % 2}
        half = np.array([self.truth.get(url) in train for url in self.site.urls])
        site = self.site.take(half)
        rules = DustBuster().propose(site)
        judge = truth_as_judge({u: c for u, c in self.truth.items() if c in train}, count=40)
        found = judge.validate(rules)
        book = RuleBook()
        book.add(SiteRules(site.name, list(site.hosts), found.rules))
        canonical = Canonicalizer(book, level="validated")
        rest = [(canonical(u), c) for u, c in self.truth.items() if c not in train]
        n, before = len(rest), len({c for _, c in rest})
        keys: dict[str, list[str]] = {}
        for key, cluster in rest:
            keys.setdefault(key, []).append(cluster)
        true = sum(max(map(group.count, set(group))) - 1 for group in keys.values())
        wrong = sum(len(group) - max(map(group.count, set(group))) for group in keys.values())
        print(
            f"halves: {len(rules)} proposed, {found.attempted} attempted, {len(found.rules)} validated, "
            f"{found.fetched} pages fetched; other half {n} URLs, reduction {1 - len(keys) / n:.1%} "
            f"of {1 - before / n:.1%}, coverage {true / max(1, n - before):.1%}, wrong merges {wrong}"
        )

    def verdict(self, rule: Rule) -> Trial | None:
        """What the truth says of one direction; None when no outcome is known."""
        if rule.id not in self.known:
            trial = self.judge.validate_rule(rule)
            self.known[rule.id] = trial if trial.samples else None
        return self.known[rule.id]

    def either(self, rule: Rule) -> bool | None:
        trials = [t for t in map(self.verdict, directions(rule)) if t is not None]
        return any(map(upheld, trials)) if trials else None


def truth_as_judge(truth: dict[str, str], count: int = EVERYTHING, seed: int = 0) -> PublishedValidation:
    recorded = RecordedFetcher(pa.table({"url": list(truth)}), truth)
    return PublishedValidation(recorded, list(truth), count=count, seed=seed)


def upheld(trial: Trial) -> bool:
    return trial.negative < max(1e-9, 0.05 * trial.samples) or (trial.negative == 0 and trial.positive > 0)


def directions(rule: Rule) -> list[Rule]:
    if "substitute" not in rule.do:
        return [rule]
    return [r for r in shrinking_first(rule) if writable(r)]


def uphold(bench: Bench, rules: Sequence[Rule]) -> list[bool | None]:
    """Whether the truth upholds each rule, or it refines a better ranked one that is upheld (RES-1)."""
    out: list[bool | None] = []
    good: set[frozenset[tuple[str, ...]]] = set()
    for rule in rules:
        pair = sides(rule) if "substitute" in rule.do else None
        valid = bench.either(rule)
        if pair and any(frozenset(p) in good for p in refined_by(*pair)):
            valid = True
        if pair and valid:
            good.add(frozenset(pair))
        out.append(valid)
    return out


def published_list(learner: DustBuster, site: Site, n: int) -> list[Rule]:
    """The first n pairs after phase 2 in the papers' order, written as shrinking rules."""
    best = learner.reduced(learner.likely(site)).first(n)
    rules = []
    for a, b in zip(best.a, best.b, strict=True):
        start, end = a[:1] == "^" == b[:1], a[-1:] == "$" == b[-1:]
        cut = slice(int(start), -1 if end else None)
        rules.append(Rule(do={"substitute": {"from": a[cut], "to": b[cut], "start": start, "end": end}}))
    return rules


if __name__ == "__main__":
    main()
