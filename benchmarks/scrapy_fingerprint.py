"""What a request's fingerprint costs: Scrapy's own, with undust, with duplicate-url-discarder; CPU time, best of 5.

    python benchmarks/scrapy_fingerprint.py [URLS]

The requests are links of the demo site as a crawl finds them; the book is `examples/demo-rules.json` (47 rules on
these hosts). duplicate-url-discarder gets the same rules, as far as it can express them, and its shipped ones.
"""

from __future__ import annotations

import html
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter as ScrapyFingerprinter
from scrapy.utils.test import get_crawler

from undust.demo import DemoSite, crawl
from undust.demo.spider import _LINK
from undust.exports import export
from undust.integrations.scrapy import RequestFingerprinter
from undust.rules import RuleBook

BOOK = Path(__file__).parents[1] / "examples" / "demo-rules.json"


def distinct(site: DemoSite, count: int) -> list[str]:
    """Different URLs, each once: the hardest case."""
    found = list(dict.fromkeys(url for some in site.links.values() for url in some))
    return found[:count]


def stream(site: DemoSite, count: int) -> list[str]:
    """Requests as a spider yields them, page after page, the menu of each page too."""
    found: list[str] = []
    for page in crawl(site.fetch):
        found += (urljoin(page.url, html.unescape(a.decode())) for a in _LINK.findall(page.reply.body))
        if len(found) >= count:
            break
    return found[:count]


def cost(make: Callable[[], Callable[[Request], bytes]], urls: list[str]) -> float:
    """Microseconds a request; each time with a new fingerprinter, and requests that nobody has seen."""
    best = float("inf")
    for _ in range(5):
        fingerprint = make()
        requests = [Request(url) for url in urls]
        start = time.process_time()
        for request in requests:
            fingerprint(request)
        best = min(best, time.process_time() - start)
    return best / len(urls) * 1e6


def discarder(folder: Path) -> dict[str, Any]:
    """duplicate-url-discarder with the exported rules, and with those it ships; offline."""
    import tldextract
    import url_matcher.util
    from duplicate_url_discarder import Fingerprinter
    from duplicate_url_discarder_rules import RULE_PATHS

    offline = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    url_matcher.util.tldextract.extract = offline
    path = folder / "dud.json"
    path.write_text(export(RuleBook.load(BOOK), "dud").text)
    out = {}
    for name, paths in (("exported rules", [path]), ("its own rules", RULE_PATHS)):
        crawler = get_crawler(settings_dict={"DUD_LOAD_RULE_PATHS": [str(p) for p in paths]})
        out[f"duplicate-url-discarder, {name}"] = Fingerprinter.from_crawler(crawler).fingerprint
    return out


def main(count: int = 3_000) -> None:
    logging.disable(logging.INFO)
    site = DemoSite()
    with tempfile.TemporaryDirectory() as folder:
        peers = discarder(Path(folder))
        for what, urls in (
            ("as a spider yields them", stream(site, count)),
            ("all different", distinct(site, count)),
        ):
            ours = RequestFingerprinter.from_crawler(get_crawler(settings_dict={"UNDUST_RULES": str(BOOK)}))
            changed = sum(ours.rules.canonical(url) != url for url in urls) / len(urls)
            print(f"{len(urls):,} requests, {what}; {changed:.0%} of them under another URL")
            base = cost(lambda: ScrapyFingerprinter().fingerprint, urls)
            print(f"  {'Scrapy':40} {base:6.1f} us a request")
            book = {"UNDUST_RULES": str(BOOK)}
            runs = {
                name: lambda settings=settings: (
                    RequestFingerprinter(get_crawler(settings_dict=settings)).fingerprint
                )
                for name, settings in (
                    ("undust, 47 rules", book),
                    ("undust, 47 rules, exploring 5 %", book | {"UNDUST_EXPLORE": 0.05}),
                    ("undust, 47 rules, learning on the way", book | {"UNDUST_ONLINE": True}),
                )
            } | {
                **{name: (lambda f=f: f) for name, f in peers.items()},
            }
            for name, make in runs.items():
                each = cost(make, urls)
                print(f"  {name:40} {each:6.1f} us a request, {each - base:+.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
