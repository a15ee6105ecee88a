"""Selection: what is learned from sites with known DUST, and what must not be."""

from __future__ import annotations

import random

import numpy as np

from undust.engines.learn import learn_site, sample
from undust.learners.alignment import Alignment
from undust.learners.auto import Auto
from undust.likeness import Site
from undust.rules import Canonicalizer, RuleBook, SiteRules
from undust.selection.greedy import confirm, select

from .made_up import HOST, forum, site


def learned(pages: Site) -> SiteRules:
    return learn_site(pages, Auto(learners=""))


def canon(pages: Site) -> Canonicalizer:
    rules = learned(pages)
    return Canonicalizer(RuleBook({rules.name: rules}))


def wrong(pages: Site, rules: SiteRules) -> int:
    """Contents of a site that fall together under its rules."""
    c = Canonicalizer(RuleBook({rules.name: rules}))
    shown: dict[str, set[int]] = {}
    for url, cluster in zip(c.map(list(pages.urls)), pages.labels.cluster.tolist(), strict=True):
        shown.setdefault(url, set()).add(cluster)
    return sum(len(s) - 1 for s in shown.values())


def test_session_default_and_print_view_are_found_and_the_page_number_is_kept() -> None:
    pages = site(forum())
    c = canon(pages)
    assert c(f"{HOST}/viewtopic.php?t=77&sid={77:032x}") == c(f"{HOST}/viewtopic.php?t=77")
    assert c(f"{HOST}/viewtopic.php?t=77&start=0") == c(f"{HOST}/viewtopic.php?t=77")
    assert c(f"{HOST}/print.php?id=77") == c(f"{HOST}/viewtopic.php?t=77")
    assert c(f"{HOST}/viewtopic.php?t=77&start=15") != c(f"{HOST}/viewtopic.php?t=77")
    assert c(f"{HOST}/viewtopic.php?t=77") != c(f"{HOST}/viewtopic.php?t=78")


def test_two_places_at_once_the_open_item_of_the_thesis() -> None:
    pages = []
    for m in range(1, 7):
        for d in range(1, 7):
            pages.append((f"/print.pl?sid=06/{m:02}/{d:02}/2", f"s{m}{d}"))
            pages.append((f"/newsvac/06/{m:02}/{d:02}/2.shtml", f"s{m}{d}"))
    c = canon(site(pages))
    assert c(f"{HOST}/print.pl?sid=06/06/27/2") == c(f"{HOST}/newsvac/06/06/27/2.shtml")


def test_numbers_in_the_path_that_do_not_matter() -> None:
    pages = [(f"/topic,{t}.msg{m}.html", f"t{t}") for t in range(30) for m in range(t * 9, t * 9 + 3)]
    pages += [(f"/topic,{t}.0.html", f"t{t}") for t in range(30)]
    c = canon(site(pages))
    assert c(f"{HOST}/topic,99.msg123.html") == f"{HOST}/topic,99.0.html"


def test_a_parameter_is_dropped_only_where_another_is_there() -> None:
    pages = [(f"/v?f={i % 5}&t={i % 11}&p={i}", f"p{i}") for i in range(60)]
    pages += [(f"/v?p={i}", f"p{i}") for i in range(60)]
    pages += [(f"/v?f={f}", f"forum{f}") for f in range(5)] + [(f"/v?t={t}", f"topic{t}") for t in range(11)]
    c = canon(site(pages))
    assert c(f"{HOST}/v?f=1&t=2&p=70") == c(f"{HOST}/v?p=70")
    assert c(f"{HOST}/v?f=1") != c(f"{HOST}/v?f=2")
    assert c(f"{HOST}/v?t=1") != c(f"{HOST}/v?t=2")


def test_no_semicolon_is_taken_for_an_ampersand_unless_the_site_does() -> None:
    pages = [(f"/doku.php?id=p{i}&do=", f"p{i}") for i in range(40)] + [
        (f"/doku.php?id=p{i}", f"p{i}") for i in range(40)
    ]
    pages += [(f"/doku.php?id=p{i};do=", f"missing {i}") for i in range(3)]
    c = canon(site(pages))
    assert c(f"{HOST}/doku.php?id=q&do=") == f"{HOST}/doku.php?id=q"
    assert c(f"{HOST}/doku.php?id=q;do=") == f"{HOST}/doku.php?id=q;do="


def test_folding_case_needs_forms_to_fold_into() -> None:
    pages = [(f"/wiki/Page{i}", f"p{i}") for i in range(200)]
    pages += [("/wiki/page1", "p1"), ("/wiki/page2", "p2"), ("/wiki/page3", "p3")]
    c = canon(site(pages))
    assert c(f"{HOST}/wiki/Page77") == f"{HOST}/wiki/Page77"


def test_nothing_is_learned_where_nothing_is_to_be_learned() -> None:
    rnd = random.Random(3)
    pages = [(f"/{rnd.choice('abc')}/{i}.html?x={rnd.randrange(9)}", f"c{i}") for i in range(300)]
    assert learned(site(pages)).rules == []


def test_no_set_of_rules_loses_more_than_its_budget() -> None:
    """Random sites: whatever is learned, on the pages it was learned from no more is lost than was allowed."""
    for seed in range(6):
        rnd = random.Random(seed)
        pages = []
        for i in range(400):
            content = i if rnd.random() < 0.7 else rnd.randrange(400)
            sid = "" if rnd.random() < 0.4 else f"&sid={rnd.getrandbits(40):x}"
            pages.append((f"/{rnd.choice(['a', 'b'])}?id={i % 250}&k={rnd.randrange(3)}{sid}", f"c{content}"))
        found = site(pages)
        rules = learn_site(found, Auto(learners=""), risk=0.001)
        assert wrong(found, rules) <= 0.001 * found.n, (seed, [r.describe() for r in rules.rules])


def test_the_order_of_the_pages_does_not_matter() -> None:
    pages = forum(25)
    again = pages[:]
    random.Random(5).shuffle(again)
    one, other = learned(site(pages)), learned(site(again))
    assert one.to_dict() == other.to_dict()


def test_every_rule_carries_evidence_and_examples() -> None:
    for rule in learned(site(forum())).rules:
        assert rule.status == "probable"
        assert rule.evidence.pairs and rule.evidence.precision_low is not None
        assert 0.85 <= rule.evidence.precision_low < 1
        assert 1 <= len(rule.examples) <= 3


def test_a_plausible_proposal_that_is_turned_down_says_why() -> None:
    pages = [
        (f"/a?id={i}&lang={lang}", f"{i}" if i % 2 else f"{i}{lang}")
        for i in range(60)
        for lang in ("de", "fr")
    ]
    rejected = learned(site(pages)).rejected
    assert any(dict(r.do) == {"query[lang]": None} for r in rejected)
    assert all(rule.why and rule.status == "rejected" for rule in rejected)


def test_what_a_sample_shows_is_confirmed_on_the_whole_site() -> None:
    pages = site(forum(60))
    part = sample(pages, 150)
    assert 100 < part.n <= 155
    chosen = select(part, Alignment().propose_on)
    confirmed = confirm(pages, chosen)
    assert {r.id for r in confirmed.rules} == {r.id for r in chosen.rules}
    assert sum(r.evidence.pairs or 0 for r in confirmed.rules) > sum(
        r.evidence.pairs or 0 for r in chosen.rules
    )


def test_a_rule_of_the_sample_that_fails_on_the_site_is_turned_down() -> None:
    more = [(f"/viewtopic.php?t={i}{sid}", f"o{i}{sid}") for i in range(1000, 1090) for sid in ("", "&sid=1")]
    pages = site([*forum(30), *more])
    part = pages.take(np.array(["t=10" not in u or "t=10&" in u or u.endswith("t=10") for u in pages.urls]))
    chosen = select(part, Alignment().propose_on)
    assert any("query[sid]" in r.do for r in chosen.rules)
    confirmed = confirm(pages, chosen)
    assert not any("query[sid]" in r.do for r in confirmed.rules)
    assert "held on a sample" in str([why for _, _, why in confirmed.rejected.values()])
