"""What rules save a Scrapy crawl of the demo site: pages fetched, and contents found by the site's own truth.

    python benchmarks/scrapy_crawl.py [SIZE]

A crawl without rules comes first; the book is learned from its pages. The last crawl learns on the way.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from undust.crawl import read
from undust.demo import DemoSite, serve
from undust.demo.truth import is_soft
from undust.engines.learn import learn

CRAWL = Path(__file__).parents[1] / "tests" / "integrations" / "crawl_demo.py"
PERSON = Path(__file__).parents[1] / "examples" / "demo-rules.json"


def main(size: float = 1.0) -> None:
    site = DemoSite(size=size)
    with tempfile.TemporaryDirectory() as name, serve(site) as port:
        pages, book = f"{name}/pages.jsonl", f"{name}/rules.json"
        crawls = {
            "Scrapy": {"UNDUST_PAGES": pages},
            "with the learned book": {"UNDUST_RULES": book},
            "with the learned book and UNDUST_REWRITE": {"UNDUST_RULES": book, "UNDUST_REWRITE": True},
            "with a person's rules and UNDUST_REWRITE": {"UNDUST_RULES": str(PERSON), "UNDUST_REWRITE": True},
            "learning on the way": {"UNDUST_ONLINE": True, "UNDUST_ONLINE_PAUSE": True},
        }
        for what, settings in crawls.items():
            command = [sys.executable, str(CRAWL), str(port), json.dumps(settings)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            contents = {c for url in found["fetched"] if (c := site.content_id(url)) and not is_soft(c)}
            print(f"{what:42} {len(found['fetched']):6,} pages fetched, {len(contents):6,} contents")
            for stat in ("lessons", "lesson_seconds", "rules", "spared_late", "revived"):
                if (value := found["stats"].get(f"undust/online/{stat}")) is not None:
                    print(f"    {stat} {value}")
            if what == "Scrapy":
                learn(read([pages])).save(book)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
