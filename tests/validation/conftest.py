"""A demo site, its crawl, and a book of rules that hold and rules that do not."""

from __future__ import annotations

import pytest

from undust.demo import DemoSite, crawl
from undust.rules import Rule, RuleBook, Scope, SiteRules, compile_rule

HOSTS = ("demo.undust.test", "www.demo.undust.test")


def forum(path: str = "/forum/") -> Scope:
    return Scope(path=path)


GOOD = [
    Rule(forum(), do={"query[sid]": None}),
    Rule(when={"host": "www.demo.undust.test"}, do={"host": "demo.undust.test"}),
    Rule(when={"path": "/story", "query[id]": "{n:int}"}, do={"path": "/story_{n}", "query[id]": None}),
    Rule(do={"query[utm_source]": None}),
    Rule(when={"query[start]": "0"}, do={"query[start]": None}),
    Rule(forum(), when={"query[postorder]": "asc"}, do={"query[postorder]": None}),
    Rule(do={"substitute": {"from": "/docs//", "to": "/docs/"}}),
]
BAD = [
    Rule(forum(), do={"query[start]": None}),
    Rule(do={"query[sid]": None}),
    Rule(forum(), do={"query[postorder]": None}),
    Rule(do={"query[page]": None}),
    Rule(when={"path": "/thumbnails/{n}"}, do={"path": "/images/{n}"}),
    Rule(when={"path": "/files/{n:int}.html"}, do={"path": "/files/1.html"}),
    Rule(forum(), do={"query[q]": None}),
    Rule(when={"path": "/code/{n}"}, do={"path": "/code/{n|lower}"}),
]


@pytest.fixture(scope="session")
def site() -> DemoSite:
    return DemoSite(size=0.25)


@pytest.fixture(scope="session")
def urls(site: DemoSite) -> list[str]:
    return [page.url for page in crawl(DemoSite(size=0.25).fetch) if page.reply.status == 200]


@pytest.fixture(scope="session")
def pages(site: DemoSite) -> list[dict[str, object]]:
    return [page.record() for page in crawl(DemoSite(size=0.25).fetch)]


@pytest.fixture
def book() -> RuleBook:
    rules = [Rule(r.scope, r.when, r.do, status="likely", source=("test",)) for r in [*GOOD, *BAD]]
    return RuleBook({HOSTS[0]: SiteRules(HOSTS[0], HOSTS, rules)})


def wrong(site: DemoSite, rule: Rule, urls: list[str]) -> int:
    """How many of the URLs a rule leads to another content."""
    apply = compile_rule(rule).apply
    found = [(url, after) for url in urls if (after := apply(url))]
    return sum(site.content_id(url) != site.content_id(after) for url, after in found if site.content_id(url))
