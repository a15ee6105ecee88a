"""A small web site with known DUST, served on loopback: test bed, tutorial and ground truth in one.

`DemoSite` knows where each URL leads; `serve` puts it on 127.0.0.1; `crawl` reads it; `planted`, `score` and
`verdicts` are its ground truth.
"""

from undust.demo.accesslog import write_log
from undust.demo.server import serve
from undust.demo.site import HOST, HOSTS, DemoSite
from undust.demo.spider import Fetched, crawl, over_loopback
from undust.demo.truth import Score, Verdict, agreement, planted, score, verdicts

__all__ = [
    "HOST",
    "HOSTS",
    "DemoSite",
    "Fetched",
    "Score",
    "Verdict",
    "agreement",
    "crawl",
    "over_loopback",
    "planted",
    "score",
    "serve",
    "verdicts",
    "write_log",
]
