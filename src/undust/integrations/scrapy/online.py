"""Learning while crawling: lessons beside the crawl, other rules from one request to the next, a watch over them."""

from __future__ import annotations

import logging
import os
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.job import job_dir

from undust.errors import UndustError
from undust.integrations.scrapy.in_use import in_use, left_alone
from undust.integrations.scrapy.kind import kind
from undust.integrations.scrapy.lesson import Lesson, Outcome, remove, scratch, switched_off
from undust.integrations.scrapy.pages import PageWriter
from undust.integrations.scrapy.trial import Trial
from undust.rules.canonicalizer import LEVELS

logger = logging.getLogger(__name__)

FIRST = 250
"""Pages before the first lesson; the next are when there are twice as many: all lessons cost what the last two do."""

LOOK = 0.2
"""Seconds after which it is looked whether a lesson is over."""

MOST_DROPPED = 100_000
"""Requests that were spared and are remembered, lest a rule turns out wrong."""


class Spared(IgnoreRequest):
    """A request that had been let through, and that rules learned since make superfluous."""


class OnlineLearner(PageWriter):
    """Writes pages, learns from them when there are `UNDUST_ONLINE_FIRST`, twice as many, four times as many …, and
    follows what was learned from the next request on.

    A lesson runs in a process of its own with a low priority; the crawl goes on meanwhile (`UNDUST_ONLINE_PAUSE`:
    waits). Of the URLs that rules would spare a share is fetched all the same (`UNDUST_EXPLORE`, 0.05), and the first
    one of every kind. Where such a page is another one its kind of URL is left as it is from then on, and what had
    been spared of it is fetched; a rule against which several pages speak is switched off. Where the URL that was to
    stand for a page fails, another one takes its place.
    """

    def __init__(self, path: str | None, crawler: Crawler) -> None:
        settings = crawler.settings
        self.folder, self._scratch = scratch(job_dir(settings))
        super().__init__(path or str(self.folder / "pages.jsonl"), crawler)
        self.crawler = crawler
        self.rules = in_use(crawler)
        assert self.rules.standing is not None and crawler.stats is not None
        self.rules.learner = self
        self.standing, self.stats = self.rules.standing, crawler.stats
        self.given = self.rules.book
        self.site_key: str = settings.get("UNDUST_SITE_KEY") or self.given.site_key
        self.next = settings.getint("UNDUST_ONLINE_FIRST", FIRST)
        self.pause = settings.getbool("UNDUST_ONLINE_PAUSE")
        self.book_path: str | None = settings.get("UNDUST_ONLINE_BOOK")
        self.trial = Trial()
        self.off: dict[str, str] = {}
        self.lesson: Lesson | None = None
        self.seconds = 0.0
        self._pages = 0
        self._over = False
        self._judged: set[str] = set()
        self._dropped: dict[str, dict[str, tuple[Request, bool]]] = {}
        self._remembered = 0
        self._clock: Any = None
        crawler.signals.connect(self._filtered, signals.request_dropped)
        crawler.signals.connect(self._idle, signals.spider_idle)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OnlineLearner:
        if not crawler.settings.getbool("UNDUST_ONLINE"):
            raise NotConfigured("UNDUST_ONLINE is not set")
        return cls(crawler.settings.get("UNDUST_PAGES"), crawler)

    def _opened(self) -> None:
        super()._opened()
        self._clock = create_looping_call(self.look)
        self._clock.start(LOOK, now=False)

    # -- lessons --------------------------------------------------------------

    def _written(self, records: list[dict[str, Any]]) -> None:
        for record in records:
            self.trial.see(record["url"], record)
            if record["status"] >= 400:
                self.failed(record["url"])
            elif record["status"] < 300:
                self._pages += 1
        self._judge()
        if self.lesson is None and self._pages >= self.next and not self._over:
            self.next = 2 * self._pages
            self._begin(learn=True)

    def _begin(self, learn: bool) -> None:
        assert self._file is not None
        pages = (self.path, os.fstat(self._file.fileno()).st_size) if learn else None
        self.lesson = Lesson(
            self.rules, self.standing, self.given, self.off, self.trial, self.folder, pages, self.site_key
        )
        self.lesson.start()
        if self.pause and self.crawler.engine is not None:
            self.crawler.engine.pause()

    def look(self) -> None:
        """Is a lesson over? Then follow it."""
        lesson = self.lesson
        if lesson is None or lesson.is_alive():
            return
        self.lesson = None
        if lesson.pages is not None:
            self.stats.inc_value("undust/online/lessons")
            self.seconds += lesson.seconds
            self.stats.set_value("undust/online/lesson_seconds", round(self.seconds, 2))
        if lesson.outcome is None:
            logger.warning("undust: nothing learned this time: %s", lesson.error)
            self.stats.inc_value("undust/online/lessons_failed")
        elif (lesson.outcome.off, lesson.outcome.exempt) != (self.off, len(self.rules.exempt)):
            # a rule was found wrong meanwhile
            self.rules.book = lesson.outcome.canonicalizer.book
            self._begin(learn=False)
            return
        else:
            self._follow(lesson.outcome)
        if self.pause and self.crawler.engine is not None:
            self.crawler.engine.unpause()

    def _follow(self, outcome: Outcome) -> None:
        """From here on the new rules: nothing of the crawl runs between these lines."""
        self.rules.follow(outcome.canonicalizer)
        self.standing.follow(outcome.prepared._replace(canonical=self.rules.canonical))
        count = sum(rule.status in LEVELS[self.rules.level] for rule in self.rules.book.rules())
        self.stats.set_value("undust/online/rules", count)
        if outcome.learned:
            logger.info("undust: follows %d rules learned from %d pages", count, self.next // 2)
        self._revive()

    # -- what was spared, and may have to be fetched after all ----------------

    def spared(self, request: Request, late: bool) -> None:
        """Remember a request that is not followed because another URL stands for its page."""
        if self._remembered >= MOST_DROPPED:
            self.stats.inc_value("undust/online/forgotten")
            return
        some = self._dropped.setdefault(self.rules.canonical(request.url), {})
        if request.url not in some:
            some[request.url] = request, late
            self._remembered += 1

    def _filtered(self, request: Request) -> None:
        if not left_alone(request) and request.url not in self.standing.asked:
            self.spared(request, late=False)

    def _revive(self) -> None:
        """The rules have changed: what no longer has another URL in its place is asked for."""
        dropped, self._dropped, self._remembered = self._dropped, {}, 0
        for some in dropped.values():
            for request, late in some.values():
                known = self.standing.started if late else self.standing.stands
                if self.rules.canonical(request.url) in known:
                    self.spared(request, late)
                else:
                    self._ask(request, late)

    def _ask(self, request: Request, late: bool) -> None:
        assert self.crawler.engine is not None
        self.stats.inc_value("undust/online/revived")
        # A copy: what was worked out for the request by the old rules is kept with it. One that had been let through
        # is known to the filter.
        self.crawler.engine.crawl(request.replace(dont_filter=True) if late else request.copy())

    def failed(self, url: str) -> None:
        """The URL that stands for a page has none: the next one takes its place."""
        canonical = self.rules.canonical(url)
        if url not in (self.standing.stands.get(canonical), self.standing.started.get(canonical)):
            return
        self.standing.failed(url)
        some = self._dropped.get(canonical)
        if some:
            other = next(iter(some))
            request, late = some.pop(other)
            self._remembered -= 1
            self._ask(request, late)

    # -- the watch ------------------------------------------------------------

    def _judge(self) -> None:
        """Compare what was explored with what stands for it."""
        refuted: list[str] = []
        wrong = False
        for url in self.standing.explored - self._judged:
            other = self.standing.started.get(self.rules.canonical(url))
            if other is None or other == url:
                continue
            same = self.trial.same(url, other)
            if same is None:
                continue
            self._judged.add(url)
            self.stats.inc_value("undust/explored/same" if same else "undust/explored/different")
            fired = self._fired(url) | self._fired(other)
            if not same and kind(url) not in self.rules.exempt:
                self.rules.exempt.add(kind(url))
                wrong = True
                rules = ", ".join(fired) or "no rule"
                logger.warning("undust: %s is not %s (by %s): its kind is left as it is", url, other, rules)
                self.stats.inc_value("undust/explored/kinds_exempt")
            refuted += self.trial.count(fired, same)
        new = [rule for rule in dict.fromkeys(refuted) if rule not in self.off]
        if not new and not wrong:
            return
        for rule in self.rules.book.rules():
            if rule.id in new:
                account = self.trial.accounts[rule.id]
                why = f"explored while crawling: {account.differ} of {account.agree + account.differ} pages differ"
                self.off[rule.id] = why
                self.stats.set_value(f"undust/rule/{rule.id}/switched_off", why)
                logger.warning("undust: rule %s (%s) is switched off: %s", rule.id, rule.describe(), why)
        if self.lesson is None and not self._over:
            self._begin(learn=False)

    def _fired(self, url: str) -> dict[str, None]:
        steps = self.rules.canonicalizer.explain(url).steps
        return dict.fromkeys(rule.id for rule, _, _ in steps if rule is not None)

    # -- the end --------------------------------------------------------------

    def _idle(self) -> None:
        # What waits to be written may revive a request; what is being prepared may do so, too.
        if self._waiting:
            self._flush()
        self.look()
        if self.lesson is not None and (self.lesson.pages is None or self.pause):
            raise DontCloseSpider

    def _closed(self) -> None:
        self._over = True
        if self._clock is not None and self._clock.running:
            self._clock.stop()
        super()._closed()
        if self.lesson is not None:
            self.lesson.stop()
            self.lesson.join(30)
        if self.book_path:
            try:
                switched_off(self.rules.book, self.off).save(self.book_path)
            except (UndustError, OSError) as error:
                logger.error("undust: cannot write %s: %s", self.book_path, error)
        if self._scratch:
            remove(self.folder)


class LateFilter:
    """Of the requests that wait to be sent drops those that rules learned since make superfluous."""

    def __init__(self, crawler: Crawler) -> None:
        self.rules = in_use(crawler)
        if self.rules.standing is None or self.rules.learner is None:
            raise NotConfigured("UNDUST_ONLINE is not set")
        self.standing, self.learner = self.rules.standing, self.rules.learner

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LateFilter:
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> Request | Response | None:
        """Let it go, or spare it."""
        if left_alone(request):
            return None
        first = self.standing.begin(request.url, request.dont_filter)
        if first is None:
            return None
        self.learner.stats.inc_value("undust/online/spared_late")
        self.learner.spared(request, late=True)
        raise Spared(f"undust: {request.url} is {first}")

    def process_exception(
        self, request: Request, exception: Exception, spider: Any = None
    ) -> Request | Response | None:
        """What failed stands for nothing."""
        if not isinstance(exception, Spared) and not left_alone(request):
            self.learner.failed(request.url)
        return None
