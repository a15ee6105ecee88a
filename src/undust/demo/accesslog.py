"""An access log of the demo site in the Combined format: real URLs, statuses and sizes; invented visitors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import IO

import numpy as np

from undust.demo.site import ADVERTISEMENTS, HOST, START, DemoSite

BROWSERS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)",
    "Mozilla/5.0 (compatible; ExampleBot/2.1; +http://bot.example/about)",
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
BLOCK = 50_000


def requests(site: DemoSite, count: int) -> list[tuple[str, int, int]]:
    """So many different requests, as (URL, status, size).

    First all links of the site, then more spellings of the same contents as visitors come by them, with
    session ids of their own.
    """
    rng = Random(f"log {site.seed}")
    urls = dict.fromkeys(url for links in site.links.values() for url in links)
    everything = list(site.contents())
    strays = [(section, name) for section in site.sections for name, _ in section.strays()]
    for _ in range(4 * count):
        if len(urls) >= count:
            break
        section, content = rng.choice(everything)
        urls[site.spell(section, content, rng)] = None
        if rng.random() < 0.08 and strays:
            urls[site.stray(*rng.choice(strays), rng)] = None
    found = []
    for url in list(urls)[:count]:
        target = site.route(url)
        found.append((url, target.status, site.base_size(target)))
    return found


def lines(site: DemoSite, count: int, urls: int | None = None, vhost: bool = False) -> Iterator[str]:
    """Lines of the log, in order of time; popularity falls off as in Zipf's law.

    >>> site = DemoSite(size=0.05)
    >>> len(list(lines(site, 10)))
    10
    """
    known = requests(site, urls or max(count // 5, 1))
    rng = np.random.default_rng(site.seed)
    order = rng.permutation(len(known))
    weights = 1.0 / np.arange(1, len(known) + 1) ** 0.8
    cumulative = np.cumsum(weights / weights.sum())
    clients = [f"203.0.113.{i}" for i in range(1, 255)] + [f"198.51.100.{i}" for i in range(1, 255)]
    clients += [f"2001:db8::{i:x}" for i in range(1, 400)]
    stamps, last = "", -1
    noise = [len(text) + len("00:00:00, 42 guests.") for text in ADVERTISEMENTS]
    for block in range(0, count, BLOCK):
        here = min(BLOCK, count - block)
        which = order[np.minimum(np.searchsorted(cumulative, rng.random(here)), len(known) - 1)]
        who = rng.integers(len(clients), size=here)
        agents = rng.integers(len(BROWSERS), size=here)
        jitter = rng.choice(noise, size=here)
        for i, (request, client, agent, extra) in enumerate(
            zip(which.tolist(), who.tolist(), agents.tolist(), jitter.tolist(), strict=True), start=block
        ):
            url, status, size = known[request]
            second = i // 3
            if second != last:
                stamps, last = stamp(START + timedelta(seconds=second)), second
            host, _, target = url.removeprefix("http://").partition("/")
            size += extra if status == 200 and site_is_noisy(target) else 0
            yield (
                f"{host + ':80 ' if vhost else ''}{clients[client]} - - [{stamps}] "
                f'"GET /{target} HTTP/1.1" {status} {size} "http://{HOST}/" "{BROWSERS[agent]}"\n'
            )


def site_is_noisy(target: str) -> bool:
    """Static documents come without advertisements, so their sizes do not vary."""
    return not target.startswith(("docs/", "files/", "images/", "thumbnails/", "code/", "people/", "~", "%7"))


def stamp(when: datetime) -> str:
    """The time as logs write it, whatever the locale.

    >>> stamp(START)
    '01/Jan/2026:00:00:00 +0000'
    """
    return f"{when:%d}/{MONTHS[when.month - 1]}/{when:%Y:%H:%M:%S %z}"


def write_log(site: DemoSite, out: IO[str], count: int, urls: int | None = None, vhost: bool = False) -> None:
    """Write so many lines; with `vhost` each begins with host and port, so that host aliases show."""
    out.writelines(lines(site, count, urls, vhost))
