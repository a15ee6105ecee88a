"""What a request's fingerprint costs: Scrapy's own, with undust, with duplicate-url-discarder; CPU time, best of 5.

    python benchmarks/scrapy_fingerprint.py [URLS]

The requests are links of the demo site as a crawl finds them; the book is `examples/demo-rules.json` (47 rules on
these hosts). duplicate-url-discarder gets the same rules, as far as it can express them, and its shipped ones.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter as ScrapyFingerprinter
from scrapy.utils.test import get_crawler

from undust.demo import DemoSite
from undust.exports import export
from undust.integrations.scrapy import RequestFingerprinter
from undust.rules import RuleBook

BOOK = Path(__file__).parents[1] / "examples" / "demo-rules.json"


def links(count: int) -> list[str]:
    """URLs in the order of the pages that link to them."""
    found = [url for some in DemoSite().links.values() for url in some]
    return (found * (count // len(found) + 1))[:count]


def cost(fingerprint: Callable[[Request], bytes], urls: list[str]) -> float:
    """Microseconds a request; each time with requests that nobody has seen."""
    best = float("inf")
    for _ in range(5):
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


def main(count: int = 4_000) -> None:
    logging.disable(logging.INFO)
    urls = links(count)
    crawler = get_crawler(settings_dict={"UNDUST_RULES": str(BOOK)})
    ours = RequestFingerprinter.from_crawler(crawler)
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            "Scrapy": ScrapyFingerprinter().fingerprint,
            "undust, 47 rules": ours._make,
            **discarder(Path(folder)),
        }
        base = cost(runs["Scrapy"], urls)
        changed = sum(ours.canonicalizer(url) != url for url in urls) / len(urls)
        print(f"{len(urls):,} requests, {changed:.0%} of them under another URL")
        for name, fingerprint in runs.items():
            each = cost(fingerprint, urls)
            print(f"{name:40} {each:6.1f} us a request {each - base:+6.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
