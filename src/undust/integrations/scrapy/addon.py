"""The Scrapy add-on: puts the parts where they belong, and leaves what a project has decided."""

from __future__ import annotations

from typing import Any

from scrapy.exceptions import NotConfigured
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object

from undust.integrations.scrapy.fingerprint import FALLBACK, RequestFingerprinter
from undust.integrations.scrapy.online import LateFilter, OnlineLearner
from undust.integrations.scrapy.pages import PageWriter
from undust.integrations.scrapy.rewrite import Rewriter


class Addon:
    """Puts the fingerprinter around the configured one, and the page writer among the extensions.

    >>> from scrapy.settings import Settings
    >>> settings = Settings({"UNDUST_RULES": "rules.json"})
    >>> Addon().update_settings(settings)
    >>> settings["REQUEST_FINGERPRINTER_CLASS"].__name__, settings[FALLBACK]
    ('RequestFingerprinter', 'scrapy.utils.request.RequestFingerprinter')
    """

    def update_settings(self, settings: BaseSettings) -> None:
        online = settings.getbool("UNDUST_ONLINE")
        rules, pages = settings.get("UNDUST_RULES"), settings.get("UNDUST_PAGES")
        if not rules and not pages and not online:
            raise NotConfigured(
                "set UNDUST_RULES to a rule book, or UNDUST_PAGES to a file for pages, or both; or UNDUST_ONLINE"
            )
        if rules or online:
            self._wrap(settings)
            if settings.getbool("UNDUST_REWRITE"):
                # Next to the spider: what stands between sees the URL that will be fetched.
                _add(settings, "SPIDER_MIDDLEWARES", Rewriter, 990)
        if online:
            _add(settings, "EXTENSIONS", OnlineLearner, 500)
            # Nearer to the engine than retries (550): what comes here as failed is given up.
            _add(settings, "DOWNLOADER_MIDDLEWARES", LateFilter, 540)
        elif pages:
            _add(settings, "EXTENSIONS", PageWriter, 500)

    def _wrap(self, settings: BaseSettings) -> None:
        name = "REQUEST_FINGERPRINTER_CLASS"
        current = settings.get(name)
        if load_object(current) is RequestFingerprinter:
            return
        if not settings.get(FALLBACK):
            settings.set(FALLBACK, current, "addon")
        # What a project has chosen is wrapped too, hence at its own priority.
        priority = max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES["addon"])
        settings.set(name, RequestFingerprinter, priority)


def _add(settings: BaseSettings, name: str, component: type[Any], place: int) -> None:
    """Add a component unless the project has placed it, or switched it off, by class or by path."""
    known = settings.getdict(name)
    if not any(load_object(key) is component for key in known):
        settings.set(
            name,
            known | {component: place},
            max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES["addon"]),
        )
