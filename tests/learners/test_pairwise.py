"""Pairwise rules (Koppula et al.): the paper's worked examples by name, and the other cases of its text.

The rule that comes out must be the rule the paper prints, in our language. Host names are the papers'.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from undust.learners.explain import DROP, differences
from undust.learners.key_rule import Literal, Reference
from undust.learners.key_table import KeyTable
from undust.learners.lesson import Lesson
from undust.learners.lesson import learn as lesson_of
from undust.learners.pairs import select_pairs, target_rank
from undust.learners.pairwise import Pairwise
from undust.likeness import Site, split_sites
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules
from undust.url import SiteTable, key_view


def site(clusters: list[list[str]], **columns: list[Any]) -> Site:
    rows = [(url, str(i)) for i, urls in enumerate(clusters) for url in urls]
    table = pa.table({"url": [r[0] for r in rows], "cluster": [r[1] for r in rows], **columns})
    (found,) = split_sites(table, "domain")
    return found


def learn(clusters: list[list[str]], **options: Any) -> list[Rule]:
    return Pairwise(**{"min_coverage": 1, "min_clusters": 1} | options).propose(site(clusters))


def canonical(rules: list[Rule], where: Site) -> Canonicalizer:
    return Canonicalizer(RuleBook(sites={where.name: SiteRules(where.name, where.hosts, rules)}))


def test_TV_4_1_basic_tokenization() -> None:
    table = KeyTable(SiteTable.build(["http://en.wikipedia.org/wiki?title=Generalized_linear_model"]))
    have = {table.name(a): table.vocab[int(table.of_atom(a)[0])] for a in range(table.last)}
    assert have == {
        "scheme": "http",
        "host": "en.wikipedia.org",
        "query[title]": "Generalized_linear_model",
        "path[0]": "wiki",
    }


def test_TV_4_3_keys_have_a_place_from_the_start_and_from_the_end() -> None:
    long = "http://ag.arizona.edu/srnr/about/art/index.html"
    short = "http://ag.arizona.edu/srnr/about/art"
    table = KeyTable(SiteTable.build([long, short]))
    for row, names in ((0, ["srnr", "about", "art", "index.html"]), (1, ["srnr", "about", "art"])):
        for place, name in enumerate(names):
            atoms = table.n_columns + place, table.last + len(names) - 1 - place
            assert [table.vocab[int(table.of_atom(a)[row])] for a in atoms] == [name, name]
    assert key_view(short)["path[-2]"] == "about"  # printed k(5,2)=about is a misprint


def test_TV_4_6_the_plain_url_is_the_target() -> None:
    base = "http://www.youtube.com/watch?v=S9_4KMVtgw0"
    urls = [base + "&feature=channel", base, base + "&feature=channel&ytsession=WDxRmlqSR8olo8oVN"]
    table = KeyTable(SiteTable.build(urls))
    rank = target_rank(table, np.ones(3, bool), np.ones(3))
    u, v = select_pairs(np.zeros(3, np.int64), rank, np.ones(3), np.ones(3, bool))
    assert sorted(u.tolist()) == [0, 2]
    assert v.tolist() == [1, 1]


def test_TV_4_7_value_conversion() -> None:
    clusters = [
        [f"http://allrecipes.com/{a}/{b}/default.aspx" for a in ("Recipe", "RECIPE")]
        for b in ("Smores", "Fudge")
    ]
    table = KeyTable(SiteTable.build([u for c in clusters for u in c]))
    for conversions, expected in (
        (["lower", "upper"], Reference(table.n_columns, "upper")),
        ([], Literal(table.number["RECIPE"])),
    ):
        lesson = generalized(table, [0, 2], [1, 3], conversions)
        (leaf,) = lesson.leaves()
        rule = lesson.rule(leaf)
        assert rule is not None
        assert [(c.place, c.from_end, c.value) for c in rule.changes] == [(0, False, expected)]


def generalized(table: KeyTable, u: list[int], v: list[int], conversions: list[str]) -> Lesson:
    cluster = np.repeat(np.arange(len(u)), 2)
    return lesson_of(table, cluster, np.array(u), np.array(v), conversions=conversions, threshold=5)


ARIZONA = [
    ["http://ag.arizona.edu/srnr/about/art/index.html", "http://ag.arizona.edu/srnr/about/art"],
    ["http://ag.arizona.edu/art/index.html", "http://ag.arizona.edu/art"],
]


def test_TV_4_8_irrelevant_path_component() -> None:
    (rule,) = learn(ARIZONA, relax=False)
    assert rule.when["path[-1]"] == "index.html"
    assert rule.when["scheme"] == "http"
    assert rule.scope.hosts == ("ag.arizona.edu",)
    assert rule.do == {"path[-1]": None}
    assert not any(key.startswith("path[") and "-" not in key for key in rule.when)


def test_TV_4_8_pairwise_transformations_before_generalization() -> None:
    table = KeyTable(SiteTable.build([u for c in ARIZONA for u in c]))
    edits = differences(table, np.array([0, 2]), np.array([1, 3]))
    assert edits.kind.tolist() == [DROP, DROP]
    assert edits.at.tolist() == [3, 1]  # k(6,1) and k(4,1) of the paper, which counts scheme and host
    assert edits.back.tolist() == [1, 1]


def test_TV_4_8_without_end_alignment_one_rule_per_depth() -> None:
    assert len(learn(ARIZONA, relax=False, end_alignment=False)) == 2


def imdb(titles: list[str]) -> list[list[str]]:
    pages = ("photogallery", "mediaindex")
    return [[f"http://www.imdb.com/title/tt{t}/{page}" for page in pages] for t in titles]


def test_TV_4_9_the_number_of_a_title_is_open_the_page_is_not() -> None:
    titles = ["0810900", "0053198", "0120737", "0068646", "0071562", "0110912"]
    (rule,) = learn(imdb(titles), relax=False)
    assert rule.when["path"] == "/title/tt{:int}/photogallery"
    assert rule.scope.hosts == ("www.imdb.com",)
    assert rule.do == {"path[-1]": "mediaindex"}


def test_TV_4_9_two_clusters_suffice_to_open_a_key() -> None:
    (rule,) = learn(imdb(["0810900", "0053198"]), relax=False)
    assert rule.when["path"] == "/title/{}/photogallery"  # two values have no deep tokens


FRIENDS = ["lttU7d6kIuGq", "nMfcaJRPUSMQ", "aK81qpwz77Ty", "Zz0PlkMnbVcX", "q1W2e3R4t5Y6", "h7Gt5FrE4dS2"]


def test_TV_4_10_irrelevant_deep_token() -> None:
    (rule,) = learn([[f"http://360.yahoo.com/friends-{x}" for x in FRIENDS]], relax=False)
    assert rule.when["path"] == "/friends-{}"
    assert rule.do == {"path[0]": "friends-aK81qpwz77Ty"}  # one target: a literal, as the paper prints it


def test_TV_4_10_takes_several_targets_to_be_irrelevant_in_the_transformation() -> None:
    clusters = [[f"http://360.yahoo.com/friends-{x}{i}" for x in FRIENDS[:3]] for i in range(4)]
    (rule,) = learn(clusters, relax=False, min_precision=0.0)
    assert rule.when["path"] == "/friends-{}"
    assert "ignore" in rule.do["path[0]"]  # type: ignore[operator]


def test_TV_4_10_without_deep_tokens_the_context_matches_everything() -> None:
    (rule,) = learn([[f"http://360.yahoo.com/friends-{x}" for x in FRIENDS]], relax=False, deep=False)
    assert rule.when["path"] == "/{}"


# ------------------------------------------------------------------------------- further cases of the text


def test_wikipedia_key_reference_from_the_query_to_the_path() -> None:
    films = ["Casino_Royale", "Goldfinger", "Skyfall"]
    rules = learn(
        [[f"http://en.wikipedia.org/wiki/{f}", f"http://en.wikipedia.org/?title={f}"] for f in films]
    )
    where = site([["http://en.wikipedia.org/"]])
    assert (
        canonical(rules, where)("http://en.wikipedia.org/?title=Moonraker")
        == "http://en.wikipedia.org/wiki/Moonraker"
    )


def test_wikipedia_one_pair_is_enough_for_a_reference() -> None:
    (rule,) = learn(
        [["http://en.wikipedia.org/wiki/Casino_Royale", "http://en.wikipedia.org/?title=Casino_Royale"]]
    )
    assert rule.examples == (
        ("http://en.wikipedia.org/?title=Casino_Royale", "http://en.wikipedia.org/wiki/Casino_Royale"),
    )


def test_stanford_session_id() -> None:
    page = "http://cs.stanford.edu/degrees/mscs/faq/index.php"
    sids = [("67873", "78813"), ("55411", "99120"), ("31415", "92653"), ("27182", "81828")]
    rules = learn([[f"{page}?sid={s}&cat={cat}" for s in pair] for cat, pair in enumerate(sids, 8)])
    (rule,) = rules
    assert rule.do["query[sid]"] == {"ignore": rule.do["query[sid]"]["ignore"]}  # type: ignore[index,call-overload]
    canon = canonical(rules, site([[page]]))
    assert canon(f"{page}?sid=1&cat=8") == canon(f"{page}?sid=2&cat=8")
    assert canon(f"{page}?sid=1&cat=8") != canon(f"{page}?sid=1&cat=9")


def test_stanford_session_id_is_dropped_where_the_page_without_it_was_seen() -> None:
    page = "http://cs.stanford.edu/degrees/mscs/faq/index.php"
    seen = [
        [f"{page}?sid={7 * cat}&cat={cat}", f"{page}?sid={11 * cat}&cat={cat}", f"{page}?cat={cat}"]
        for cat in (8, 9, 10)
    ]
    (rule,) = learn(seen)
    assert rule.describe() == "*: when sid is {}: drop sid"


def test_amazon_irrelevant_component_needs_end_alignment() -> None:
    books = [
        ("Lord-Rings", "B000634DCW"),
        ("Dune-Messiah", "B00064X7Y1"),
        ("Solaris", "B0006BRL2Q"),
        ("Ubik", "B000GCFBT4"),
    ]
    clusters = [[f"http://www.amazon.com/{t}/dp/{i}", f"http://www.amazon.com/dp/{i}"] for t, i in books]
    (rule,) = learn(clusters, relax=False)
    assert rule.do == {"path[0]": None}
    assert rule.when["path"] == "/{}/dp/{}"
    (other,) = learn(clusters, relax=False, end_alignment=False)
    assert other.do == {"path[0]": "dp", "path[1]": "{path[2]}", "path[2]": None}


def test_ebay_custom_delimiters_need_deep_tokens() -> None:
    films = ["The-Grudge", "Alien-Dawn", "Blue-Velvet", "Dark-City", "Event-Horizon", "Fight-Club", "Gattaca"]
    clusters = []
    for i, film in enumerate(films):
        upc, pid, f, p, t = 43396062603 + 917 * i, 43973351 + 131 * i, 10 + 3 * i, 50 + 7 * i, 20 + 11 * i
        base = f"http://catalog.ebay.com/{film}_UPC_{upc}_W0"
        clusters.append(
            [
                f"{base}QQ_fclsZ{f}QQ_pcatidZ{p}QQ_pidZ{pid}QQ_tabZ{t}",
                f"{base}?_fcls={f}&_pcatid={p}&_pid={pid}&_tab={t}",
            ]
        )
    rules = learn(clusters)
    canon = canonical(rules, site([["http://catalog.ebay.com/"]]))
    fresh = "http://catalog.ebay.com/Heat-Wave_UPC_777_W0{}"
    one = canon(fresh.format("QQ_fclsZ1QQ_pcatidZ2QQ_pidZ3QQ_tabZ4"))
    assert one == canon(fresh.format("?_fcls=1&_pcatid=2&_pid=3&_tab=4"))
    assert one != canon(fresh.format("QQ_fclsZ1QQ_pcatidZ2QQ_pidZ9QQ_tabZ4"))
    assert not learn(clusters, deep=False)


def test_wsdm_index_file() -> None:
    years = ["2008", "2009", "2010"]
    host = "http://www.wsdm-conference.org"
    (rule,) = learn([[f"{host}/{y}/index.html", f"{host}/{y}/"] for y in years])
    assert rule.describe() == "*: when path[-1] is index.html: set path[-1] to nothing"


def test_a_message_of_a_topic_is_the_topic() -> None:
    clusters = [
        [f"http://www.example.com/talk/topic,{t}.0.html"]
        + [f"http://www.example.com/talk/topic,{t}.msg{9 * t + m}.html" for m in range(3)]
        for t in range(1, 20)
    ]
    (rule,) = learn(clusters)
    assert rule.when == {"path[-1]": "topic,{a:int}.msg{:int}.html"}
    assert rule.do == {"path[-1]": "topic,{a}.0.html"}


# ------------------------------------------------------------------------------------ options and promises


def forum(n: int, seed: int = 0) -> list[list[str]]:
    rng = random.Random(seed)
    page = "http://www.example.com/forum/viewtopic.php"
    return [
        [f"{page}?t={t}", *(f"{page}?t={t}&sid={rng.getrandbits(64):016x}" for _ in range(rng.randint(1, 4)))]
        for t in range(n)
    ]


def test_all_pairs_are_more_than_the_selected_ones() -> None:
    where = site(forum(30))
    cluster = where.labels.cluster.astype(np.int64)
    table = KeyTable(where.table)
    counts = {}
    for pairs in ("all", "selected"):
        counts[pairs] = len(Pairwise(pairs=pairs, nearest=False).select(table, cluster, where)[0])
    sizes = np.bincount(cluster)
    assert counts["all"] == int((sizes * (sizes - 1)).sum())
    assert counts["selected"] == int((sizes - 1).sum())


@pytest.mark.parametrize(("coverage", "found"), [(10, True), (100, False)])
def test_min_coverage(coverage: int, found: bool) -> None:
    clusters = forum(20)
    assert 10 < sum(len(c) - 1 for c in clusters) < 100
    assert bool(Pairwise(min_coverage=coverage).propose(site(clusters))) == found


def test_the_order_of_the_pages_does_not_matter() -> None:
    clusters = forum(15) + imdb(["1", "22", "333", "4444", "55555", "666666"])
    clusters = [[u.replace("imdb", "example") for u in c] for c in clusters]
    rng = random.Random(1)
    shuffled = [rng.sample(c, len(c)) for c in rng.sample(clusters, len(clusters))]
    assert [r.to_dict() for r in learn(clusters)] == [r.to_dict() for r in learn(shuffled)]


def test_soft_clusters_and_unknown_pages_teach_nothing() -> None:
    clusters = forum(20)
    n = sum(map(len, clusters))
    assert Pairwise().propose(site(clusters))
    assert not Pairwise().propose(site(clusters, soft=[True] * n))
    assert not Pairwise().propose(site(clusters, status=[404] * n))
    (unlabelled,) = split_sites(pa.table({"url": [u for c in clusters for u in c]}))
    assert not Pairwise().propose(unlabelled)


def test_one_cluster_is_not_enough_unless_asked_for() -> None:
    login = [[f"http://www.example.com/post.php?mode=reply&t={t}" for t in range(50)]]
    assert learn(login)
    assert not learn(login, min_clusters=2)


def test_a_parameter_that_matters_elsewhere_is_dropped_only_where_it_does_not() -> None:
    # On one script `v` is noise, on the other it is the page.
    noise = [[f"http://www.example.com/a.php?id={i}&v={v}" for v in range(4)] for i in range(12)]
    page = [[f"http://www.example.com/b.php?id={i}&v={v}"] for i in range(12) for v in range(4)]
    rules = learn(noise + page, min_clusters=2)
    canon = canonical(rules, site([["http://www.example.com/"]]))
    assert canon("http://www.example.com/a.php?id=99&v=1") == canon("http://www.example.com/a.php?id=99&v=2")
    assert canon("http://www.example.com/b.php?id=99&v=1") != canon("http://www.example.com/b.php?id=99&v=2")


def test_evidence_and_status_say_what_is_known() -> None:
    (rule,) = Pairwise().propose(site(forum(20)))
    assert rule.status == "probable"
    assert rule.source == ("pairwise",)
    assert rule.evidence.level == "label"
    assert rule.evidence.support == sum(len(c) - 1 for c in forum(20))
    assert rule.evidence.false == 0
    assert rule.evidence.precision_low is None


# ------------------------------------------------------------------------------------------ query habits


def test_a_url_is_a_function_so_the_order_of_its_query_is_proposed_as_a_rule() -> None:
    page = "http://www.example.com/p"
    clusters = [[f"{page}?a={i}&b={j}", f"{page}?b={j}&a={i}"] for i in range(4) for j in range(4)]
    rules = learn(clusters, min_clusters=2)
    assert [rule.do for rule in rules] == [{"query": "{query|sort}"}]


def test_habits_that_are_never_seen_alone_are_proposed_together() -> None:
    page = "http://www.example.com/p"
    clusters = [[f"{page}?a={i}&b={j}", f"{page}?b={j};a={i}"] for i in range(4) for j in range(4)]
    (rule,) = learn(clusters, min_clusters=2)
    assert rule.do == {"query": "{query|semi|sort}"}


def test_order_that_matters_is_not_touched() -> None:
    page = "http://www.example.com/p"
    clusters = [[u] for i in range(8) for u in (f"{page}?a={i}&b=1", f"{page}?b=1&a={i}")]
    assert learn(clusters, min_clusters=2) == []


def test_a_whole_path_that_is_a_value_of_the_query() -> None:
    names = ["a", "a:b", "a:b:c", "d:e", "f", "g:h:i"]
    clusters = [
        [f"http://www.example.com/{n.replace(':', '/')}", f"http://www.example.com/doku.php?id={n}"]
        for n in names
    ]
    (rule,) = learn(clusters, min_clusters=2)
    assert rule.do == {"path": "/{query[id]|tr(:,/)}", "query[id]": None}
    assert all("path" not in rule.do for rule in learn(clusters, min_clusters=2, conversions=""))


def test_a_change_counted_from_the_end_stays_where_it_is_when_the_last_segment_is_read() -> None:
    # Most paths have three segments, so these get a context of their own, in which places could be counted
    # anew.
    clusters = [
        [
            f"http://www.example.com/{'x/' * (t > 2)}{folder}/item-{t}.{end}"
            for folder, end in (("new", "html"), ("old", "php"))
        ]
        for t in range(1, 30)
    ]
    rules = learn(clusters, min_clusters=3)
    assert [rule.do for rule in rules] == [{"path[-2]": "old", "path[-1]": "item-{a}.php"}]
    canon = canonical(rules, site([["http://www.example.com/"]]))
    assert canon("http://www.example.com/x/new/item-77.html") == "http://www.example.com/x/old/item-77.php"


def test_a_session_that_was_seen_once_stands_for_all_sessions() -> None:
    sid = "25e7eb56711ac0859a813da1a2394e01"
    clusters = [
        [f"http://www.example.com/p{i}.php?sid={sid}", f"http://www.example.com/p{i}.php"] for i in range(5)
    ]
    (rule,) = learn(clusters, min_clusters=2)
    assert rule.when == {"query[sid]": "{}"}
    named = [[u.replace(sid, "print") for u in c] for c in clusters]
    (rule,) = learn(named, min_clusters=2)
    assert rule.when == {"query[sid]": "print"}
