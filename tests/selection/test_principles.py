"""What a rule must and need not show: each of these was bought with a wrong merge or a missed rule."""

from __future__ import annotations

import random

import pyarrow as pa

from undust.engines.learn import learn_site
from undust.learners.auto import Auto
from undust.learners.view import View
from undust.likeness import Site, split_sites
from undust.rules import Canonicalizer, Rule, RuleBook
from undust.selection.greedy import noise_of
from undust.selection.refine import Bar, refine
from undust.selection.trial import trial

from .made_up import HOST, site


def canon(pages: Site) -> Canonicalizer:
    rules = learn_site(pages, Auto(learners=""))
    return Canonicalizer(RuleBook({rules.name: rules}))


def token(i: int) -> str:
    return f"{random.Random(i).getrandbits(96):024x}"


def test_a_revision_is_kept_though_all_that_were_seen_are_the_latest() -> None:
    pages = [(f"/w/Page_{i}", f"c{i}") for i in range(60)]
    pages += [(f"/w/Page_{i}?turn={1000 + 7 * i}", f"c{i}") for i in range(60)]
    t = trial(Rule(do={"query[turn]": None}), View(site(pages)))
    assert t is not None and t.merges == 60 and not t.bad.any()
    said: list[str] = []
    assert not refine(t, Bar(), lambda rule, why, events: said.append(why))
    assert any("may name the pages" in why for why in said)


def test_the_same_with_two_values_a_page_is_a_rule() -> None:
    pages = [(f"/w/Page_{i}?turn={t}", f"c{i}") for i in range(60) for t in (1000 + 7 * i, 5000 + 7 * i)]
    c = canon(site(pages))
    assert c(f"{HOST}/w/Page_3?turn=77") == c(f"{HOST}/w/Page_3?turn=78")


def test_a_session_id_at_the_start_of_the_path_goes() -> None:
    pages = [(f"/shop/item{i}.aspx", f"c{i}") for i in range(40)]
    pages += [(f"/(S({token(k)}))/shop/item{i}.aspx", f"c{i}") for i in range(40) for k in (i, 100 + i)]
    c = canon(site(pages))
    assert c(f"{HOST}/(S({token(7000)}))/shop/item3.aspx") == f"{HOST}/shop/item3.aspx"
    assert c(f"{HOST}/(s)/shop/item3.aspx") == f"{HOST}/(s)/shop/item3.aspx"


def test_a_session_id_behind_a_semicolon_goes_on_paths_that_were_not_seen_with_it() -> None:
    pages = [(f"/a/p{i}.jsp", f"c{i}") for i in range(20)]
    pages += [(f"/a/p{i}.jsp;jsessionid={token(i).upper()}", f"c{i}") for i in range(20)]
    pages += [(f"/{d}/q{i}", f"{d}{i}") for d in "bc" for i in range(9)]
    pages += [(f"/{d}/q{i};jsessionid={token(i).upper()}", f"{d}{i}") for d in "bc" for i in range(9)]
    c = canon(site(pages))
    assert c(f"{HOST}/b/q77;jsessionid={token(4).upper()}") == f"{HOST}/b/q77"


def test_one_day_for_another_is_true_by_accident() -> None:
    pages = [
        (f"/cal?m={m}&d={d}", f"{m}-{d // 7}" if m < 9 else f"{m}-{d}") for m in range(12) for d in range(28)
    ]
    c = canon(site(pages))
    assert len({c(f"{HOST}/cal?m=10&d={d}") for d in range(28)}) == 28


def test_pages_that_name_different_canonical_urls_differ_though_nothing_else_is_known() -> None:
    rows = []
    for i in range(30):
        for view in ("", "&v=a", "&v=b"):
            rows.append(
                {"url": f"{HOST}/t?i={i}{view}", "canonical": f"{HOST}/t?i={i}{view.replace('&v=a', '')}"}
            )
    (pages,) = split_sites(pa.Table.from_pylist(rows))
    t = trial(Rule(do={"query[v]": None}), View(pages))
    assert t is not None
    assert t.bad.sum() == 30 and t.good.sum() == 30


def test_edits_between_two_fetches_are_the_labels_error_not_the_rules() -> None:
    """With digests alone a page that was edited meanwhile looks like another page: hosts tell how often that is."""
    rng = random.Random(3)
    rows = []
    for i in range(150):
        for host in ("http://www.example.com", "http://example.com"):
            for extra in ("", f"?zq={rng.randrange(40)}"):
                edited = rng.random() < 0.05
                digest = f"{i}-{rng.random()}" if edited else str(i)
                rows.append({"url": f"{host}/p/{i}{extra}", "digest": digest})
    (pages,) = split_sites(pa.Table.from_pylist(rows))
    assert 0.03 < noise_of(View(pages)) < 0.2
    c = canon(pages)
    assert c("http://www.example.com/p/3?zq=7") == c("http://example.com/p/3")


def test_what_is_false_in_general_needs_more_in_particular() -> None:
    """Of many places some look clean by chance."""
    rng = random.Random(5)
    pages = []
    for place in range(12):
        for i in range(10):
            same = rng.random() < 0.5
            for s in range(2):
                pages.append(
                    (f"/d{place}/x{i}?kz={rng.randrange(99)}", f"{place}-{i}" + ("" if same else f"-{s}"))
                )
    pages += [(f"/e/x{i}?kz={k}", f"e{i}") for i in range(11) for k in (1, 2)]
    t = trial(Rule(do={"query[kz]": None}), View(site(pages)))
    assert t is not None and t.bad.sum() > 0.1 * len(t.source)
    assert not refine(t, Bar())
