"""An access log of the demo site in the Combined format: real URLs, statuses and sizes; invented visitors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import IO, NamedTuple

import numpy as np

from undust.demo.sections import Target
from undust.demo.site import ADVERTISEMENTS, HOST, START, DemoSite

BROWSERS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)",
    "Mozilla/5.0 (compatible; ExampleBot/2.1; +http://bot.example/about)",
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
BLOCK = 50_000


class Request(NamedTuple):
    """A request that visitors make: where to, what comes back, and how often in comparison."""

    url: str
    status: int
    size: int
    noisy: bool
    weight: float


def requests(site: DemoSite, count: int) -> list[Request]:
    """So many different requests: first all links of the site, then more spellings of the same contents.

    These are what visitors come by, with session ids of their own, and rarer. The popularity of contents falls off
    as in Zipf's law.
    """
    rng = Random(f"log {site.seed}")
    links = dict.fromkeys(url for links in site.links.values() for url in links)
    urls = links.copy()
    everything = list(site.contents())
    strays = [(section, name) for section in site.sections for name, _ in section.strays()]
    for _ in range(4 * count):
        if len(urls) >= count:
            break
        urls[site.spell(*rng.choice(everything), rng)] = None
        if rng.random() < 0.08:
            urls[site.stray(*rng.choice(strays), rng)] = None
    rng.shuffle(everything)
    rank = {content: place for place, (_, content) in enumerate(everything, 1)}
    found = []
    for url in list(urls)[:count]:
        target = site.route(url)
        popular = rank.get(site.content_id(url) or "", len(rank)) ** -0.8
        weight = popular * (1.0 if url in links else 0.1)
        found.append(Request(url, target.status, site.base_size(target), _noisy(target), weight))
    return found


def _noisy(target: Target) -> bool:
    return target.content is not None and target.view != "file"


def lines(site: DemoSite, count: int, urls: int | None = None, vhost: bool = False) -> Iterator[str]:
    """Lines of the log, in order of time.

    >>> site = DemoSite(size=0.05)
    >>> len(list(lines(site, 10)))
    10
    """
    known = requests(site, urls or max(count // 5, 1))
    rng = np.random.default_rng(site.seed)
    cumulative = np.cumsum([request.weight for request in known])
    clients = [f"203.0.113.{i}" for i in range(1, 255)] + [f"198.51.100.{i}" for i in range(1, 255)]
    clients += [f"2001:db8::{i:x}" for i in range(1, 400)]
    noise = [len(text) + len("00:00:00, 42 guests.") for text in ADVERTISEMENTS]
    time, last = "", -1
    for block in range(0, count, BLOCK):
        here = min(BLOCK, count - block)
        which = np.searchsorted(cumulative, rng.random(here) * cumulative[-1], side="right")
        who = rng.integers(len(clients), size=here)
        agents = rng.integers(len(BROWSERS), size=here)
        advertised = rng.choice(noise, size=here)
        drawn = zip(which.tolist(), who.tolist(), agents.tolist(), advertised.tolist(), strict=True)
        for i, (number, client, agent, extra) in enumerate(drawn, start=block):
            request = known[number]
            if i // 3 != last:  # three requests a second
                last = i // 3
                time = stamp(START + timedelta(seconds=last))
            host, _, target = request.url.removeprefix("http://").partition("/")
            yield (
                f"{host + ':80 ' if vhost else ''}{clients[client]} - - [{time}] "
                f'"GET /{target} HTTP/1.1" {request.status} {request.size + extra * request.noisy} '
                f'"http://{HOST}/" "{BROWSERS[agent]}"\n'
            )


def stamp(when: datetime) -> str:
    """The time as logs write it, whatever the locale.

    >>> stamp(START)
    '01/Jan/2026:00:00:00 +0000'
    """
    return f"{when:%d}/{MONTHS[when.month - 1]}/{when:%Y:%H:%M:%S %z}"


def write_log(site: DemoSite, out: IO[str], count: int, urls: int | None = None, vhost: bool = False) -> None:
    """Write so many lines; with `vhost` each begins with host and port, so that host aliases show."""
    out.writelines(lines(site, count, urls, vhost))
