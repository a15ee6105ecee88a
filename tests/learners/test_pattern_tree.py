"""The pattern tree (Lei et al.): the paper's examples by name, and what must hold for any site."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from undust.learners import create
from undust.learners.build_tree import ANY, coded
from undust.learners.node_rules import Options, operations
from undust.learners.pattern_tree import Grown, PatternTree, build_tree, key_columns, render
from undust.learners.sample import Sample, prove
from undust.likeness import Site, split_sites
from undust.rules import Rule, compile_rule
from undust.url import SiteTable


def site(clusters: list[list[str]], soft: int = 0) -> Site:
    """A site of the given clusters; the last `soft` of them are error or login pages."""
    rows = [(url, str(i), i >= len(clusters) - soft) for i, urls in enumerate(clusters) for url in urls]
    urls, labels, is_soft = zip(*rows, strict=True)
    (found,) = split_sites(pa.table({"url": urls, "cluster": labels, "soft": is_soft}), "all")
    return found


def words(grown: Grown, when: dict[int, int]) -> dict[str, str | None]:
    """Conditions on codes in words."""
    tree = grown.tree
    return {tree.keys[k]: "*" if code == ANY else tree.columns[k].values[code] for k, code in when.items()}


def canonical(rules: list[Rule], url: str) -> str:
    """Rules in order, to a fixpoint."""
    for _ in range(10):
        before = url
        for rule in rules:
            url = compile_rule(rule).apply(url) or url
        if url == before:
            break
    return url


# -- the paper's examples ---------------------------------------------------------------------------------------


def test_TV_5_1_keys_of_path_positions_parameter_names_and_host_labels() -> None:
    table = SiteTable.build(["http://www.example.com/images?q=hp", "http://example.com/images?q=hp"])
    keys, columns = key_columns(table, "start", min_members=1, max_keys=96)
    first = {key: c.values[c.codes[0]] for key, c in zip(keys, columns, strict=True)}
    assert first["path[0]"] == "images"
    assert first["query[q]"] == "hp"
    # Counted from the registrable domain leftwards, a `www.` is one optional key.
    differing = [key for key, c in zip(keys, columns, strict=True) if c.codes[0] != c.codes[1]]
    assert differing == ["host[1]"]


def test_TV_5_2_directories_and_scripts_are_salient_and_parameter_values_are_not() -> None:
    urls = [{"path[0]": "album", "path[1]": "show.php", "i": f"u{i % 37}", "b": str(i)} for i in range(300)]
    urls += [{"path[0]": "album", "path[1]": "album.php", "i": f"u{i}"} for i in range(120)]
    urls += [{"path[0]": "blog", "path[1]": f"u{i}"} for i in range(200)]
    tree = build_tree(*coded(urls))
    patterns = [tree.values(node) for node in tree.nodes]
    assert {"path[0]": "album", "path[1]": "show.php", "i": "*", "b": "*"} in patterns
    assert {"path[0]": "album", "path[1]": "album.php", "i": "*"} in patterns
    assert {"path[0]": "blog", "path[1]": "*"} in patterns
    assert [node.size for node in tree.leaves] == [300, 120, 200]


U = [("k1", "s1"), ("k2", "s2"), ("k3", "s3"), ("k4", "s4"), ("p", "m"), ("q", "m"), ("p", "n"), ("q", "n")]


@pytest.mark.parametrize("missing", [None, 5], ids=["all eight", "without U6"])
def test_TV_3_2_the_tree_succeeds_where_pairwise_induction_fails(missing: int | None) -> None:
    cells = [cell for i, cell in enumerate(U) if i != missing]
    urls = [f"http://www.example.com/a/b/{k3}/c/{k5}" for k3, k5 in cells]
    learner = PatternTree(align="start")
    (grown,) = learner.grow(site([urls]))
    root = grown.tree.nodes[0]
    pattern = grown.tree.values(root)
    assert [pattern[f"path[{i}]"] for i in range(5)] == ["a", "b", "*", "c", "*"]
    (rule, *_) = learner.propose(site([urls]))
    assert set(rule.do) == {"path[2]", "path[4]"}
    assert all(set(action) == {"ignore"} for action in rule.do.values() if isinstance(action, dict))
    assert len({compile_rule(rule).apply(url) or url for url in urls}) == 1
    # ... also for values never seen.
    unseen = "http://www.example.com/a/b/other/c/values"
    assert compile_rule(rule).apply(unseen) == canonical([rule], urls[0])


# Thirty mirrors, so that no one of them is salient.
ARCHIVE = [
    [
        f"http://example.com/archive{i}/?pageid={i + 10}",
        f"http://example.com/archive{(i + 7) % 30}/{i + 10}/display?sid={i * 7}",
    ]
    for i in range(30)
]


@pytest.mark.parametrize("literal", [False, True], ids=["aligned by cluster", "as printed"])
def test_TV_5_3_ignore_replace_keep_ignore(literal: bool) -> None:
    (grown,) = PatternTree(align="start").grow(site(ARCHIVE))
    tree = grown.tree
    (a,) = (node for node in tree.leaves if "query[pageid]" in tree.values(node))
    (b,) = (node for node in tree.leaves if "query[sid]" in tree.values(node))
    ops, _ = operations(grown.sample, a, b, Options(optional=(), literal_sigma=literal))
    found = {tree.keys[k]: op for k, op in ops.items()}
    # path_0 has a mapping by its values (archive0, archive3), but it is fake: duplicates differ in it.
    assert found["path[0]"].kind == "ignore"
    assert found["path[1]"].kind == "replace"
    assert tree.keys[found["path[1]"].value] == "query[pageid]"
    assert found["path[2]"].kind == "keep"
    assert tree.columns[tree.keys.index("path[2]")].values[found["path[2]"].value] == "display"
    assert found["query[sid]"].kind == "ignore"


def test_TV_5_3_the_rule_can_be_deployed() -> None:
    rules = PatternTree(align="start").propose(site(ARCHIVE))
    forward = [rule for rule in rules if "path" in rule.do or set(rule.do) == {"path[0]", "query[sid]"}]
    forward = [rule for rule in forward if rule.do.get("query[pageid]", "") in (None, "")]
    for one, other in ARCHIVE:
        assert canonical(forward, one) == canonical(forward, other)
    assert canonical(forward, ARCHIVE[0][0]) != canonical(forward, ARCHIVE[1][0])


def test_RES_31_a_www_twin_is_one_optional_label() -> None:
    pages = [[f"http://{host}example.com/page?id={i}" for host in ("www.", "")] for i in range(8)]
    rules = PatternTree().propose(site(pages))
    assert {tuple(rule.do.items()) for rule in rules} & {(("host[1]", None),), (("host[1]", "www"),)}


def test_RES_31_one_rule_for_the_whole_site_drops_the_label_where_pages_are_seen_without_it() -> None:
    pages = [
        [f"http://{host}example.com/{p}?id={i}" for host in ("www.", "")] for i in range(8) for p in "ab"
    ]
    (rule, *_) = PatternTree(align="start").propose(site(pages))
    assert dict(rule.do) == {"host[1]": None}
    assert {key: c for key, c in rule.when.items() if key != "host[1]"} == {
        "path": "/{}",
        "query[id]": "{:int}",
    }
    elsewhere = [[f"http://{host}example.com/?id={i}" for host in ("a.", "b.")] for i in range(8)]
    assert not [r for r in PatternTree().propose(site(elsewhere)) if r.do.get("host[1]", "") is None]


# -- rules that are found ---------------------------------------------------------------------------------------


def forum() -> list[list[str]]:
    topic = "http://example.com/forum/viewtopic.php"
    pages = []
    for i in range(40):
        pages.append([f"{topic}?t={i}", f"{topic}?t={i}&start=0&postdays=0&postorder=asc&highlight="])
        pages.append([f"{topic}?t={i}&start=15"])
    return pages


def test_several_parameters_are_dropped_together_where_none_has_a_pair_of_its_own() -> None:
    rules = PatternTree().propose(site(forum()))
    wanted = {f"query[{name}]": None for name in ("start", "postdays", "postorder", "highlight")}
    (rule,) = (r for r in rules if dict(r.do) == wanted and r.when.get("path") == "/forum/viewtopic.php")
    assert rule.evidence.support == 40
    assert rule.evidence.false == 0
    url = "http://example.com/forum/viewtopic.php?t=7&start=15"
    assert compile_rule(rule).apply(url) is None


def test_wildcards_are_typed_where_all_values_agree() -> None:
    pages = [
        [f"http://example.com/{i}/p?v={i * 7 + n:08x}ab&day=2024-01-{1 + i % 28:02d}" for n in range(2)]
        for i in range(100, 140)
    ]
    rule = next(r for r in PatternTree(align="start").propose(site(pages)) if set(r.do) == {"query[v]"})
    assert rule.when == {"path": "/{:int}/p", "query[day]": "{:date}", "query[v]": "{:hex}"}


def test_an_ignored_part_is_dropped_where_the_url_without_it_was_seen_alive() -> None:
    seen = [[f"http://example.com/p?id={i}&sid={s}" for s in (i, i + 900)] for i in range(30)]
    rules = PatternTree(align="start").propose(site(seen))
    assert [dict(rule.do) for rule in rules] == [{"query[sid]": {"ignore": "0"}}]
    rules = PatternTree(align="start").propose(
        site([[*c, f"http://example.com/p?id={i}"] for i, c in enumerate(seen)])
    )
    assert {"query[sid]": None} in [dict(rule.do) for rule in rules]
    assert not [rule for rule in rules if {"ignore": "0"} in rule.do.values()]


def test_the_rest_of_a_path_is_carried_over_however_long() -> None:
    pages = []
    for i in range(30):
        rest = "/".join(f"d{j}{i}" for j in range(1 + i % 4))
        pages.append([f"http://example.com/old/html/{rest}", f"http://example.com/new/{rest}"])
    rules = PatternTree().propose(site(pages))
    applied = {compile_rule(r).apply("http://example.com/old/html/never/seen/so/deep/a/path") for r in rules}
    assert "http://example.com/new/never/seen/so/deep/a/path" in applied


def test_the_number_of_path_segments_counts() -> None:
    pages = [[f"http://example.com/a/{i}?x=1", f"http://example.com/a/{i}"] for i in range(20)]
    pages += [[f"http://example.com/a/{i}/b?x=1"] for i in range(20)] + [
        [f"http://example.com/a/{i}/b"] for i in range(20)
    ]
    rules = [
        rule
        for rule in PatternTree(align="start").propose(site(pages))
        if dict(rule.do) == {"query[x]": None}
    ]
    assert rules
    for rule in rules:
        assert compile_rule(rule).apply("http://example.com/a/7?x=1") == "http://example.com/a/7"
        assert compile_rule(rule).apply("http://example.com/a/7/b?x=1") is None


def test_an_index_file_is_dropped_at_any_depth_when_positions_count_from_the_end() -> None:
    pages = []
    for i in range(30):
        base = "http://example.com/" + "".join(f"d{j}{i % 7}/" for j in range(i % 3)) + f"x{i}/"
        pages.append([base, base + "index.html"])
    rules = PatternTree(align="end").propose(site(pages))
    deep = "http://example.com/never/seen/so/deep/index.html"
    assert "http://example.com/never/seen/so/deep/" in {compile_rule(rule).apply(deep) for rule in rules}


def test_order_of_parameters_is_learned_where_it_makes_no_difference() -> None:
    pages = [
        [f"http://example.com/p?a={i}&b={i % 3}", f"http://example.com/p?b={i % 3}&a={i}"] for i in range(20)
    ]
    assert {"query": "{query|sort}"} in [dict(rule.do) for rule in PatternTree().propose(site(pages))]
    single = [[url] for urls in pages for url in urls]
    assert PatternTree().propose(site(single)) == []


def test_a_field_that_is_added_stands_where_the_target_has_it() -> None:
    pages = [[f"http://example.com/p?z={i}", f"http://example.com/p?mode=full&z={i}"] for i in range(20)]
    pages += [[f"http://example.com/p?mode=full&z={i}"] for i in range(20, 60)]
    rules = PatternTree().propose(site(pages))
    results = {compile_rule(rule).apply("http://example.com/p?z=3") for rule in rules}
    assert "http://example.com/p?mode=full&z=3" in results
    assert "http://example.com/p?z=3&mode=full" not in results


# -- what never teaches -----------------------------------------------------------------------------------------


def test_soft_clusters_and_pages_without_a_cluster_never_teach() -> None:
    login = [f"http://example.com/edit?id={i}" for i in range(50)]
    pages = [[f"http://example.com/view?id={i}"] for i in range(50)]
    assert PatternTree().propose(site([*pages, login], soft=1)) == []
    errors = pa.table({"url": login, "status": [404] * 50, "digest": ["same"] * 50})
    (dead,) = split_sites(errors)
    assert PatternTree().propose(dead) == []


def test_a_parameter_that_matters_is_not_dropped() -> None:
    pages = [[f"http://example.com/p?id={i}", f"http://example.com/p?id={i}&lang=en"] for i in range(10)]
    pages += [[f"http://example.com/p?id={i}&lang={lang}"] for i in range(10) for lang in ("de", "fr", "it")]
    for rule in PatternTree().propose(site(pages)):
        assert compile_rule(rule).apply("http://example.com/p?id=3&lang=de") is None


def test_urls_that_differ_in_a_rare_parameter_stay_apart() -> None:
    pages = [[f"http://example.com/p?id={i}&sid={s}" for s in (7, 8)] for i in range(30)]
    rare = [[f"http://example.com/p?id={i}&sid=7&rare{i}=1"] for i in range(30)]
    learner = PatternTree(align="start")
    for rule in learner.propose(site(pages + rare)):
        assert rule.evidence.false == 0
        after = compile_rule(rule).apply("http://example.com/p?id=4&sid=7&rare4=1")
        assert after is None or "rare4=1" in after


# -- for any site -----------------------------------------------------------------------------------------------


def made_up(seed: int) -> list[list[str]]:
    """A site of several scripts, sessions, defaults and aliases, with some labels wrong."""
    r = random.Random(seed)
    pages: dict[str, list[str]] = defaultdict(list)
    for _ in range(400):
        item, kind = r.randrange(40), r.random()
        host = r.choice(["", "www."])
        session = f"&sid={r.randrange(10**9):09d}" if r.random() < 0.4 else ""
        if kind < 0.4:
            start = r.choice(["", "&start=0", "&start=10"])
            url, page = (
                f"http://{host}example.com/v.php?t={item}{start}{session}",
                f"t{item}.{start == '&start=10'}",
            )
        elif kind < 0.7:
            url, page = (
                f"http://{host}example.com/{r.choice(['a', 'b'])}/{item}/show{session and '?' + session[1:]}",
                f"s{item}",
            )
        else:
            url, page = (
                f"http://{host}example.com/item/{item}?x={r.randrange(3)}",
                f"i{item}.{r.random() < 0.05}",
            )
        if url not in {u for urls in pages.values() for u in urls}:
            pages[page].append(url)
    return list(pages.values())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("align", ["start", "end"])
def test_each_node_is_the_union_of_its_children_and_its_pattern_is_true(seed: int, align: str) -> None:
    (grown,) = PatternTree(align=align).grow(site(made_up(seed)))  # type: ignore[arg-type]
    tree = grown.tree
    assert sorted(tree.rows(tree.nodes[0]).tolist()) == sorted(tree.order.tolist())
    for node in tree.nodes:
        if node.children:
            assert [child.lo for child in node.children] == [node.lo, *(c.hi for c in node.children[:-1])]
            assert node.children[-1].hi == node.hi
            assert len(node.children) > 1
        for key, code in enumerate(node.pattern.tolist()):
            seen = set(tree.columns[key].codes[tree.rows(node)].tolist())
            assert seen == {code} if code >= 0 else len(seen) > 1 and (0 in seen) == (code != ANY)


@pytest.mark.parametrize("seed", range(4))
def test_a_proof_counts_what_the_written_rule_does(seed: int) -> None:
    """The oracle: run the rule on strings, and compare URLs as sets of key and value."""
    pages = site(made_up(seed))
    learner = PatternTree(align="start", min_support=1)
    (grown,) = learner.grow(pages)
    cluster = dict(zip(pages.urls.tolist(), pages.labels.cluster.tolist(), strict=True))
    checked = 0
    for candidate in learner.raw(grown):
        if grown.writer.write(candidate) is None:
            continue
        rules = [compile_rule(rule).apply for rule, _ in grown.rules(candidate)]
        groups: dict[str, list[str]] = defaultdict(list)
        moved = 0
        for url in cluster:
            after = next((new for apply in rules if (new := apply(url)) is not None), None)
            moved += after is not None
            groups[sorted_query(after or url)].append(url)
        touched = [g for form, g in groups.items() if any(sorted_query(u) != form for u in g)]
        right = sum(max(Counter(cluster[u] for u in g).values()) - 1 for g in touched)
        wrong = sum(len(g) for g in touched) - right - len(touched)
        parts = [
            (grown.sample.matching(node, when), ops) for node, when, ops in candidate.parts(grown.sample)
        ]
        if len(parts) == 2:
            parts[1] = (np.setdiff1d(parts[1][0], parts[0][0]), parts[1][1])
        exact = prove(grown.sample, parts)
        assert (exact.support, exact.merged, exact.wrong) == (moved, right, wrong), rules
        checked += 1
    assert checked > 10


def sorted_query(url: str) -> str:
    path, _, query = url.partition("?")
    return path + "?" + "&".join(sorted(query.split("&")))


def test_rules_do_not_depend_on_the_order_of_the_pages() -> None:
    pages = made_up(7)
    rules = PatternTree().propose(site(pages))
    assert rules
    shuffled = [random.Random(1).sample(urls, len(urls)) for urls in pages]
    random.Random(2).shuffle(shuffled)
    assert [r.to_dict() for r in PatternTree().propose(site(shuffled))] == [r.to_dict() for r in rules]


def test_rules_are_bounded_and_carry_evidence() -> None:
    pages = site(made_up(3))
    rules = PatternTree(max_rules=3).propose(pages)
    assert len(rules) == 3
    for rule in rules:
        assert rule.status == "probable"
        assert rule.source == ("pattern-tree",)
        assert rule.evidence.level == "label"
        assert rule.evidence.pairs
        assert rule.evidence.false is not None
        assert rule.evidence.false <= 0.05 * rule.evidence.pairs
        for before, after in rule.examples:
            assert compile_rule(rule).apply(before) == after


def test_nothing_comes_of_nothing() -> None:
    assert PatternTree().propose(site([["http://example.com/"]])) == []
    assert PatternTree().propose(site([[f"http://example.com/{i}"] for i in range(30)])) == []


def test_parameters_are_understood_as_texts() -> None:
    learner = create("pattern-tree", {"min_overlap": "0.3", "align": "start", "max_rules": "9"})
    assert learner.get_params()["min_overlap"] == 0.3
    assert type(learner)(**learner.get_params()).get_params() == learner.get_params()


def test_the_picture_of_a_tree() -> None:
    urls = (
        [{"path": "a", "id": str(i)} for i in range(9)] + [{"path": "b"}] * 4 + [{"path": "b", "x": "1"}] * 3
    )
    assert render(build_tree(*coded(urls))).splitlines() == [
        "16  path=* id=? x=?",
        "├── 9  path=a id={int}",
        "└── 7  path=b",
        "    ├── 4  x absent",
        "    └── 3  x=1",
    ]
    many = [{"k": str(i)} for i in range(20) for _ in range(20 - i)]
    tree = build_tree(*coded(many), max_salient=100)
    assert len(render(tree, max_children=3).splitlines()) == 5
    assert render(tree, max_children=3).splitlines()[-1].endswith("more")


def test_a_sample_of_no_labels_is_fine() -> None:
    keys, columns = coded([{"a": str(i)} for i in range(5)])
    tree = build_tree(keys, columns)
    sample = Sample(tree, np.full(5, -1, np.int32))
    assert len(sample.pairs(tree.nodes[0], tree.nodes[0]).u) == 0


# -- what is no evidence ----------------------------------------------------------------------------------------


def test_two_keys_that_are_both_absent_share_no_value() -> None:
    """Else `a` would be copied from `order`, where duplicates have neither of them."""
    pages = [[f"http://example.com/p?a=s{i}&id={i}", f"http://example.com/p?id={i}"] for i in range(40)]
    pages += [[f"http://example.com/p?id={i}&order=asc"] for i in range(40, 45)]
    learner = PatternTree(align="start", noise=10)
    (grown,) = learner.grow(site(pages))
    root = grown.tree.nodes[0]
    assert not root.children
    ops, _ = operations(grown.sample, root, root, Options(optional=()))
    assert {grown.tree.keys[k]: op.kind for k, op in ops.items()} == {"query[a]": "ignore"}


def test_a_key_that_differed_within_one_cluster_of_two_only_is_not_ignored() -> None:
    pages = [[f"http://example.com/p?id={i}&v=1&sid={i}{n:03d}" for n in range(2)] for i in range(20)]
    pages[7][1] = pages[7][1].replace("v=1", "v=2")
    pages += [[f"http://example.com/p?id={i}&v=2&sid={i}"] for i in range(20, 40)]
    rules = PatternTree(align="start").propose(site(pages))
    assert rules
    assert not [rule for rule in rules if "query[v]" in rule.do]


def test_a_rule_that_changes_hundreds_and_was_right_on_two_is_an_accident() -> None:
    pages = [[f"http://example.com/p?id={i}&do=a"] for i in range(200)]
    for i in range(2):
        pages[i].append(f"http://example.com/p?id={i}")
    dropped = {"query[do]": None}

    def proposed(share: float) -> list[Rule]:
        learner = PatternTree(align="start", min_members=2, noise=0, min_tested=share)
        return [rule for rule in learner.propose(site(pages)) if dict(rule.do) == dropped]

    assert proposed(0.0)
    assert not proposed(0.05)
