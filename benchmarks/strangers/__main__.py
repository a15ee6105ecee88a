"""What `undust learn` does on sites nobody tuned it to.

    python -m benchmarks.strangers                       forty small and middle sites, a line each
    python -m benchmarks.strangers --seeds 7,12 --keep out/strangers --wrong 10
    python -m benchmarks.strangers --seeds 0-39 --peer DIR    and a script simple.py of labelled sites in DIR

Rules are learned from half of the contents (what the pages show, never the truth) and measured on the other half.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from urllib.parse import urljoin

import undust
from undust.likeness.sketch import resemblance, sketch_texts

from .files import write
from .measure import Score, score
from .site import Site

HEAD = (
    f"{'seed':>4} {'evidence':9} {'noise':>5} {'pages':>6} {'ceiling':>7} {'reached':>7} {'fpr':>7}"
    f" {'wrong':>5} {'near':>5} {'lost':>4} {'rules':>5} {'CPU s':>6}"
    f" {'oracle':>6} {'o.wrong':>7} {'simple':>6} {'s.wrong':>7}  sections"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.strangers", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--seeds", default="0-39", help="7,12 or 0-39")
    parser.add_argument("--pages", type=int, help="URLs of each site; default: drawn, at most --most")
    parser.add_argument("--most", type=int, default=2500)
    parser.add_argument("--keep", type=Path, help="a directory for the files")
    parser.add_argument("--wrong", type=int, default=0, help="wrong merges to show of each site")
    parser.add_argument(
        "--missed", type=int, default=0, help="groups that the planted rules merge and ours do not"
    )
    parser.add_argument("--rules", action="store_true", help="show the rules")
    parser.add_argument("--peer", type=Path, help="a directory with simple.py")
    parser.add_argument("--given", action="store_true", help="the true clusters are given to the learner")
    parser.add_argument("--write-only", action="store_true")
    options = parser.parse_args()
    total: list[tuple[Score, int, Score]] = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        for seed in numbers(options.seeds):
            site = Site(seed, options.pages)
            site.pages = min(site.pages, options.most)
            if options.write_only:
                print(write(site, folder), flush=True)
                continue
            total.append(run(site, folder, options))
    if total:
        print(summary(total))


def numbers(text: str) -> list[int]:
    """Seeds: `7,12` or `0-39`."""
    out: list[int] = []
    for piece in text.split(","):
        low, _, high = piece.partition("-")
        out += range(int(low), int(high or low) + 1)
    return out


def run(site: Site, folder: Path, options: argparse.Namespace) -> tuple[Score, int, Score]:
    """Learn from one half, measure on the other, print a line."""
    name = write(site, folder)
    rows = [
        line.split("\t")
        for line in (folder / f"{name}.truth.tsv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    half = split(rows)
    given = (
        {url: {"cluster": int(c), "soft": soft == "1"} for url, c, soft, _ in rows} if options.given else {}
    )
    truth = {url: int(cluster) for url, cluster, soft, _ in rows if half[url] == "test" and soft == "0"}
    (folder / f"{name}.split.tsv").write_text(
        "".join(f"{u}\t{s}\t0\n" for u, s in half.items()), encoding="utf-8"
    )
    train = folder / f"{name}.train.jsonl.gz"
    with gzip.open(folder / f"{name}.pages.jsonl.gz", "rt") as pages, gzip.open(train, "wt") as out:
        for line in pages:
            record = json.loads(line)
            target = urljoin(record["url"], record["location"]) if "location" in record else record["url"]
            if half.get(record["url"], "train") == "train" and half.get(target, "train") == "train":
                out.write(json.dumps(record | given.get(record["url"], {})) + "\n")
    began = time.process_time()
    book = undust.learn(undust.read(str(train)))
    spent = time.process_time() - began
    book.save(str(folder / f"{name}.rules.json"))
    canon = undust.Canonicalizer(book, level="likely" if site.evidence == "sizes" else "probable")
    keys = dict(zip(truth, canon.map(list(truth)), strict=True))
    (folder / f"{name}.undust.tsv").write_text(
        "".join(f"{u}\t{k}\n" for u, k in keys.items()), encoding="utf-8"
    )
    ours = score(keys, truth)
    stringy = dict(
        line.split("\t", 1)
        for line in (folder / f"{name}.oracle.tsv").read_text(encoding="utf-8").splitlines()
    )
    oracle = score(stringy, truth)
    text = {p.url: p.reply.own for p in site.crawl()}
    near = nearly(ours, text)
    simple = simple_of(options.peer, folder, name, truth) if options.peer else None
    kept = sum(rule.status in ("probable", "likely") for rule in book.rules())
    print(
        f"{site.seed:4d} {site.evidence:9} {site.noise:5d} {len(rows):6d} {ours.ceiling:7.1%} {ours.reached:7.1%}"
        f" {ours.fpr:7.4f} {len(ours.wrong) - len(near):5d} {len(near):5d} {ours.lost:4d} {kept:5d}"
        f" {spent:6.1f} {oracle.reached:6.1%} {len(oracle.wrong):7d}"
        + (f" {simple.reached:6.1%} {len(simple.wrong):7d}" if simple else " " * 15)
        + "  "
        + " ".join(type(s).__name__ for s in site.sections),
        flush=True,
    )
    if options.rules:
        for rule in book.rules():
            e = rule.evidence
            print(
                f"      {rule.describe()}"
                f"  [{e.pairs}/{e.false} near {e.near} low {e.precision_low} {','.join(rule.source)}]"
            )
    for url, anchor, _ in Random(1).sample(ours.wrong, min(options.wrong, len(ours.wrong))):
        said = " | ".join(r.describe() for r, _, _ in canon.explain(url).steps if r is not None)
        said2 = " | ".join(r.describe() for r, _, _ in canon.explain(anchor).steps if r is not None)
        print(
            f"      {'near' if (url, anchor) in near else 'WRONG'} {url}\n            {anchor}\n"
            f"            by {said} / {said2}"
        )
    if options.missed:
        show_missed(keys, stringy, truth, options.missed)
    return ours, len(near), oracle


def split(rows: list[list[str]]) -> dict[str, str]:
    """Half of the clusters each; soft pages one by one."""
    rng = Random(1)
    clusters = sorted({int(r[1]) for r in rows})
    rng.shuffle(clusters)
    side = {c: "train" if i % 2 else "test" for i, c in enumerate(clusters)}
    return {r[0]: side[int(r[1])] if r[2] == "0" else rng.choice(("train", "test")) for r in rows}


def nearly(ours: Score, text: dict[str, str]) -> set[tuple[str, str]]:
    """Wrong merges of pages whose own texts resemble each other by 0.8 and more."""
    if not ours.wrong:
        return set()
    a, b = (sketch_texts([text[w[i]] for w in ours.wrong], 32, 5) for i in (0, 1))
    return {
        (w[0], w[1]) for w, alike in zip(ours.wrong, resemblance(a, b).tolist(), strict=True) if alike >= 0.8
    }


def simple_of(peer: Path, folder: Path, name: str, truth: dict[str, int]) -> Score | None:
    """The score of the script `simple.py TRUTH SPLIT OUT`, which learns from the labels themselves."""
    out = folder / f"{name}.simple.tsv"
    files = [str(folder / f"{name}.{kind}.tsv") for kind in ("truth", "split")]
    done = subprocess.run(
        [sys.executable, str(peer / "simple.py"), *files, str(out)], capture_output=True, text=True
    )
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    return score(dict(line.split("\t", 1) for line in out.read_text(encoding="utf-8").splitlines()), truth)


def show_missed(keys: dict[str, str], stringy: dict[str, str], truth: dict[str, int], most: int) -> None:
    """Contents that the planted rules make one and ours leave under several keys, the largest first."""
    groups: dict[tuple[str, int], dict[str, str]] = {}
    for url, cluster in truth.items():
        groups.setdefault((stringy[url], cluster), {}).setdefault(keys[url], url)
    missed = sorted((g for g in groups.values() if len(g) > 1), key=len, reverse=True)
    print(f"      missed: {sum(len(g) - 1 for g in missed)} in {len(missed)} groups")
    for group in missed[:2] + Random(2).sample(missed[2:], min(most, len(missed[2:]))):
        print("        " + "\n          ".join(list(group)[:4]))


def summary(total: list[tuple[Score, int, Score]]) -> str:
    true = sum(o.true for o, _, _ in total)
    most = sum(o.pages - o.contents for o, _, _ in total)
    wrong, near = sum(len(o.wrong) for o, _, _ in total), sum(n for _, n, _ in total)
    pairs, false = sum(o.pairs for o, _, _ in total), sum(o.false_pairs for o, _, _ in total)
    planted = sum(x.true for _, _, x in total)
    return (
        f"{len(total)} sites: {true / max(most, 1):.1%} of the ceiling, the planted rules {planted / max(most, 1):.1%};"
        f" fpr {false / max(pairs, 1):.5f}, wrong {wrong - near}, near {near}, lost {sum(o.lost for o, _, _ in total)}"
        f" of {sum(o.contents for o, _, _ in total)} contents;"
        f" sites with a wrong merge: {sum(len(o.wrong) > n for o, n, _ in total)}"
    )


if __name__ == "__main__":
    main()
