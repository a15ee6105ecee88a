"""The ground truth of the demo site: which rules hold, which only look so, and exact scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from undust.demo.sections.section import Planted, drop
from undust.demo.site import HOST, TRACKING, DemoSite

SITE_WIDE = (
    Planted(
        "www",
        "www. is the bare host",
        True,
        lambda url: url.replace("//www.", "//", 1) if url.startswith(f"http://www.{HOST}") else None,
    ),
    *(Planted(f"tracking-{name}", f"anywhere: drop {name}", True, drop(name)) for name in TRACKING),
    Planted("any-sid", "anywhere: drop sid (content on /print.pl)", False, drop("sid")),
    Planted("any-page", "anywhere: drop page (content on /shop/list)", False, drop("page")),
    Planted(
        "any-query",
        "anywhere: the query does not matter",
        False,
        lambda url: url.partition("?")[0] if "?" in url else None,
    ),
)


def planted(site: DemoSite) -> list[Planted]:
    """All rules somebody could believe of the site, true and false."""
    return [*SITE_WIDE, *(rule for section in site.sections for rule in section.planted)]


def is_soft(content: str | None) -> bool:
    """Login, empty-result and no-such-thing pages: served with status 200, equal for unrelated URLs.

    >>> is_soft("soft/login"), is_soft("story/7")
    (True, False)
    """
    return content is not None and content.startswith("soft/")


@dataclass(frozen=True)
class Score:
    """How a canonicalizer does on a set of URLs, against the truth."""

    urls: int
    contents: int
    keys: int
    lost: int
    """Contents that would no longer be reached: they share a key with another."""
    dead: int
    """URLs whose canonical form leads nowhere, or elsewhere."""

    @property
    def ceiling(self) -> float:
        """The reduction that a perfect canonicalizer reaches."""
        return 1 - self.contents / self.urls if self.urls else 0.0

    @property
    def reduction(self) -> float:
        """The reduction reached."""
        return 1 - self.keys / self.urls if self.urls else 0.0


def score(site: DemoSite, canonical: Callable[[str], str], urls: Iterable[str], soft: bool = False) -> Score:
    """Score any URL -> URL function exactly. Errors are left out, soft pages too unless told.

    >>> site = DemoSite(size=0.1)
    >>> urls = ["http://demo.undust.test/story_7", "http://demo.undust.test/story?id=7", "http://demo.undust.test/story_8"]
    >>> result = score(site, lambda url: url.replace("story?id=", "story_"), urls)
    >>> result.keys, result.lost, round(result.ceiling, 2), round(result.reduction, 2)
    (2, 0, 0.33, 0.33)
    """
    under: defaultdict[str, set[str]] = defaultdict(set)
    contents: set[str] = set()
    count = dead = 0
    for url in urls:
        content = site.content_id(url)
        if content is None or (is_soft(content) and not soft):
            continue
        key = canonical(url)
        count += 1
        contents.add(content)
        under[key].add(content)
        dead += site.content_id(key) != content
    lost = sum(len(found) - 1 for found in under.values())
    return Score(count, len(contents), len(under), lost, dead)


def agreement(true: Sequence[Hashable], found: Sequence[Hashable]) -> tuple[float, float]:
    """Precision and recall of a clustering, over pairs of members.

    >>> agreement(["a", "a", "a", "b"], [1, 1, 2, 2])
    (0.5, 0.3333333333333333)
    """

    def pairs(labels: Iterable[Hashable]) -> int:
        return sum(n * (n - 1) // 2 for n in Counter(labels).values())

    both = pairs(zip(true, found, strict=True))
    return both / (pairs(found) or 1), both / (pairs(true) or 1)


@dataclass(frozen=True)
class Verdict:
    """What a planted rule does to a set of URLs, and how far a canonicalizer follows it."""

    rule: Planted
    applies: int
    wrong: int
    """URLs it would lead to another content: 0 for a true rule, more for a false one."""
    followed: int
    """URLs that the canonicalizer gives the same form before and after the rule."""


def verdicts(
    site: DemoSite, urls: Iterable[str], canonical: Callable[[str], str] | None = None
) -> list[Verdict]:
    """Judge all planted rules on these URLs; with a canonicalizer, also which of them it has learned."""
    alive = [(url, content) for url in urls if (content := site.content_id(url)) and not is_soft(content)]
    found = []
    for rule in planted(site):
        changed = [
            (url, after, content) for url, content in alive if (after := rule.rewrite(url)) is not None
        ]
        wrong = sum(site.content_id(after) != content for _, after, content in changed)
        followed = sum(canonical(url) == canonical(after) for url, after, _ in changed) if canonical else 0
        found.append(Verdict(rule, len(changed), wrong, followed))
    return found
