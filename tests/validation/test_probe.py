"""Active probes: what the list of URLs cannot tell, the site can be asked."""

from __future__ import annotations

from undust.rules import Rule, RuleBook, SiteRules
from undust.validation import Offline, run, validate
from undust.validation.answer import Answer
from undust.validation.probe import idle_in


def page(n: object) -> str:
    return f"This is page {n} of some, and it says {n} things"


def book_of(*rules: Rule) -> RuleBook:
    return RuleBook({"a.test": SiteRules("a.test", rules=list(rules))})


def test_a_substitution_that_fails_is_tried_the_other_way_round() -> None:
    """`story?id=7` has other forms that `story_7` has not: only the growing direction holds."""
    pages = {f"http://a.test/story_{n}": page(n) for n in range(40)}
    pages |= {f"http://a.test/story?id={n}": page(n) for n in range(40)}
    pages |= {f"http://a.test/story?id={n}&new=1": page(f"new {n}") for n in range(40)}
    shrinking = Rule(do={"substitute": {"from": "/story?id=", "to": "/story_"}}, status="likely")
    found = validate(book_of(shrinking), list(pages), fetcher=Offline(pages)).sites["a.test"]
    assert [r.do["substitute"]["to"] for r in found.rules] == ["/story?id="]
    assert found.rules[0].status == "validated" and "probe" in found.rules[0].source
    assert [r.id for r in found.rejected] == [shrinking.id]


class Shop(Offline):
    """`id` and `lang` matter, `skin` must be there but not what it is, the others do not matter at all."""

    async def fetch(self, url: str) -> Answer:
        self.asked.append(url)
        fields = dict(f.partition("=")[::2] for f in url.partition("?")[2].split("&"))
        if "skin" not in fields or "id" not in fields:
            return Answer("gone", 404, why="status 404")
        return Answer("page", 200, text=page(f"{fields['id']} in {fields.get('lang', 'en')}"))


URLS = [
    f"http://a.test/shop/show.php?id={i}&lang={'de' if i % 2 else 'fr'}&skin=s{i % 3}&aff=a{i}&ref=r{i}&t={i}&v=1&w=2"
    for i in range(40)
]


def test_idle_parameters_are_found_in_groups_and_required_ones_swapped() -> None:
    drop_skin = Rule(do={"query[skin]": None}, status="likely")
    shop = Shop({})
    done = run(book_of(drop_skin), URLS, fetcher=shop, probe=True)
    rules = done.book.sites["a.test"].rules
    assert all(rule.status == "validated" for rule in rules)
    dropped = {key for rule in rules for key, action in rule.do.items() if action is None}
    assert dropped == {"query[aff]", "query[ref]", "query[t]", "query[v]", "query[w]"}
    assert [rule.do for rule in rules if "query[skin]" in rule.do] == [{"query[skin]": {"ignore": "s0"}}]
    assert done.book.sites["a.test"].rejected[0].id == drop_skin.id
    assert done.fetched == len(set(shop.asked)) + (len(shop.asked) - len(set(shop.asked))) <= 220


def test_without_probing_nothing_is_asked_beyond_the_book() -> None:
    shop = Shop({})
    done = run(book_of(Rule(do={"query[aff]": None}, status="likely")), URLS, fetcher=shop)
    assert len(done.book) == 1 and done.validated == 1 and done.fetched <= 34


def test_few_that_matter_among_many_cost_few_requests() -> None:
    names = [f"p{i:02}" for i in range(64)]
    asked = []

    def same(url: str, without: list[str]) -> bool:
        asked.append(without)
        return not {"p07", "p40"} & set(without)

    assert idle_in("u", names, same) == [n for n in names if n not in ("p07", "p40")]
    assert len(asked) <= 25
