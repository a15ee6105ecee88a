"""The files of a site: pages, truth, text features for the evaluator, and what the planted rules would make of it."""

from __future__ import annotations

import gzip
import json
from hashlib import md5
from pathlib import Path

import numpy as np

from undust.likeness.sketch import sketch_texts

from .site import Page, Site


def write(site: Site, folder: Path) -> str:
    """NAME.pages.jsonl.gz, NAME.truth.tsv, NAME.features.npz, NAME.oracle.tsv; returns NAME."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"stranger{site.seed}"
    pages = sorted(site.crawl(), key=lambda p: p.url)
    if site.evidence == "sketch":
        _sketch(pages)
    with (
        open(folder / f"{name}.pages.jsonl.gz", "wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as out,
    ):
        for page in pages:
            out.write((json.dumps(page.record) + "\n").encode())
    known = [p for p in pages if p.cluster is not None]
    number = {c: i for i, c in enumerate(dict.fromkeys(p.cluster for p in known))}
    lines = ["url\tcluster\tsoft\tevidence\n"]
    lines += [f"{p.url}\t{number[p.cluster]}\t{int(p.reply.soft)}\tserver\n" for p in known]
    (folder / f"{name}.truth.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / f"{name}.oracle.tsv").write_text(
        "".join(f"{p.url}\t{p.stringy}\n" for p in known), encoding="utf-8"
    )
    _features(known, folder / f"{name}.features.npz")
    return name


def _sketch(pages: list[Page]) -> None:
    shown = [p for p in pages if p.text and p.record["status"] == 200]
    for page, sketch in zip(shown, sketch_texts([p.text for p in shown]).tolist(), strict=True):
        page.record["sketch"] = [f"{h:016x}" for h in sketch]


def _features(known: list[Page], path: Path) -> None:
    """Thirty-two min-hashes of each page's own text, and its digest, in the order of the truth."""
    own = {p.reply.own: i for i, p in enumerate(known)}
    texts = list(own)
    signatures = dict(zip(texts, sketch_texts(texts, 32, 5), strict=True))
    np.savez_compressed(
        path,
        sig=np.array([signatures[p.reply.own] for p in known]),
        md5=np.array([md5(p.reply.own.encode()).hexdigest() for p in known]),
    )
