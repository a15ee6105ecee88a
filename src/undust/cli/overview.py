"""What a table of pages holds, in a few lines: pages, statuses, duplicates, soft pages, evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from undust.crawl import Crawl

LABELLED_UP_TO = 2_000_000
"""Pages. Beyond, comparing them is work for `undust learn`, not for a closing line."""


def overview(crawl: Crawl) -> Iterator[str]:
    """The lines to show for a crawl.

    >>> from undust.crawl import read
    >>> twice = [{"url": f"http://a.test/{i}", "status": 200, "digest": str(i // 2)} for i in range(8)]
    >>> print("\\n".join(overview(read(twice))))
    8 pages on 1 host, read from 8 lines (records)
      status  200: 8
      1 site, 4 contents under 8 live URLs: 50.0 % duplicates, as far as the evidence shows
      evidence  digest: 8
    """
    stats = crawl.stats
    hosts = {url.split("/", 3)[2] for url in map(str, crawl.pages["url"].to_pylist()) if url.count("/") >= 2}
    formats = ", ".join(dict.fromkeys(stats.formats.values())) or "nothing"
    yield (
        f"{counted(crawl.n, 'page')} on {counted(len(hosts), 'host')}, "
        f"read from {counted(stats.lines, 'line')} ({formats})"
    )
    seen = Counter(crawl.pages["status"].to_pylist())
    yield "  status  " + shown(
        {str(code or "unknown"): n for code, n in sorted(seen.items(), key=lambda s: s[0] or 0)}
    )
    if 0 < crawl.n <= LABELLED_UP_TO:
        yield from _duplicates(crawl)


def _duplicates(crawl: Crawl) -> Iterator[str]:
    from undust.likeness import LEVELS, split_sites

    sites = urls = contents = soft = unknown = 0
    levels: Counter[str] = Counter()
    for site in split_sites(crawl.pages):
        labels = site.labels
        known = site.alive & (labels.cluster >= 0)
        hard = known & ~labels.soft
        sites += 1
        urls += int(hard.sum())
        contents += len(np.unique(labels.cluster[hard]))
        soft += int((known & labels.soft).sum())
        unknown += int((site.alive & (labels.cluster < 0)).sum())
        for number, count in enumerate(np.bincount(labels.level[known], minlength=len(LEVELS)).tolist()):
            levels[LEVELS[number]] += count
    if urls:
        share = 100 * (1 - contents / urls)
        yield (
            f"  {counted(sites, 'site')}, {counted(contents, 'content')} under {urls:,} live URLs: "
            f"{share:.1f} % duplicates, as far as the evidence shows"
        )
    if soft:
        yield f"  {soft:,} soft pages (errors, logins, empty results with status 200), set aside"
    if unknown:
        yield f"  {unknown:,} URLs without evidence of content (no digest, text, canonical link, redirect)"
    if urls:
        yield "  evidence  " + shown({name: count for name, count in levels.items() if count})


def counted(n: int, what: str) -> str:
    """A number and its noun.

    >>> counted(1, "page"), counted(1200, "page")
    ('1 page', '1,200 pages')
    """
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def shown(counts: dict[str, int]) -> str:
    """Counts in a row.

    >>> shown({"200": 1200, "404": 3})
    '200: 1,200  404: 3'
    """
    return "  ".join(f"{name}: {count:,}" for name, count in counts.items())
