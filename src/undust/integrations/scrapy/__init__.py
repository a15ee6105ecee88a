"""Scrapy: requests whose URLs the rule book calls one page are fetched once; pages are written down for `undust learn`.

    ADDONS = {"undust.integrations.scrapy.Addon": 610}
    UNDUST_RULES = "rules.json"     # whose URLs mean the same page; the URL that is fetched stays as it is
    UNDUST_PAGES = "pages.jsonl"    # write what is crawled, to learn from it
    UNDUST_REWRITE = True           # fetch the canonical URL in place of the first one that was seen
    UNDUST_ONLINE = True            # learn while crawling, and watch whether the rules hold

Needs the extra `undust[scrapy]`. `docs/integrations.md` has all settings.
"""

from undust.integrations.scrapy.addon import Addon
from undust.integrations.scrapy.fingerprint import FALLBACK, RequestFingerprinter
from undust.integrations.scrapy.in_use import in_use
from undust.integrations.scrapy.online import LateFilter, OnlineLearner
from undust.integrations.scrapy.pages import PageWriter
from undust.integrations.scrapy.rewrite import Rewriter

__all__ = [
    "FALLBACK",
    "Addon",
    "LateFilter",
    "OnlineLearner",
    "PageWriter",
    "RequestFingerprinter",
    "Rewriter",
    "in_use",
]
