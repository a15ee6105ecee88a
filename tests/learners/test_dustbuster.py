"""DustBuster as a learner: evidence, direction, context, and the forum rules the papers print."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from undust.errors import UsageError
from undust.learners import LEARNERS, create, dustbuster
from undust.learners.dustbuster import DustBuster
from undust.likeness import Site, split_sites
from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules, compile_rule

H = "http://h.test/"


def site_of(urls: list[str], **columns: list) -> Site:
    (site,) = split_sites(pa.table({"url": urls, **columns}), "all")
    return site


def sized(pages: dict[str, int], **columns: list) -> Site:
    sizes = list(pages.values())
    return site_of(list(pages), size_min=sizes, size_max=sizes, **columns)


def twins(a: str, b: str, n: int = 6) -> dict[str, int]:
    """Pages under two spellings; each page has a size of its own."""
    return {H + form + str(i): 1000 + 13 * i for form in (a, b) for i in range(n)}


def substitutions(rules: list[Rule]) -> list[tuple[str, str]]:
    swaps = [rule.do["substitute"] for rule in rules if "substitute" in rule.do]
    return [
        ("^" * s["start"] + s["from"] + "$" * s["end"], "^" * s["start"] + s["to"] + "$" * s["end"])
        for s in swaps
    ]


def test_it_is_registered_and_inert():
    learner = create("dustbuster", {"min_support": "5", "likeness": "none"})
    assert isinstance(learner, LEARNERS["dustbuster"])
    assert DustBuster(**learner.get_params()).get_params() == learner.get_params()
    assert learner.get_params()["min_support"] == 5


def test_an_unknown_likeness_is_a_usage_error():
    with pytest.raises(UsageError, match="likeness='weight'"):
        DustBuster(likeness="weight").propose(sized(twins("a/", "b/")))


def test_rules_are_likely_and_say_what_they_rest_on():
    (rule,) = DustBuster().propose(sized(twins("x/print/", "x/")))
    assert substitutions([rule]) == [(f"^{H}x/print/", f"^{H}x/")]
    assert (rule.status, rule.source) == ("likely", ("dustbuster",))
    assert (rule.evidence.level, rule.evidence.support, rule.evidence.pairs, rule.evidence.false) == (
        "size",
        6,
        6,
        0,
    )
    u, v = rule.examples[0]
    assert compile_rule(rule).apply(u) == v


def test_without_sizes_every_pair_is_likely_similar():
    (rule,) = DustBuster().propose(site_of(list(twins("x/print/", "x/"))))
    assert rule.evidence.level == "url"


def test_ps_and_pdf_differ_in_size_and_are_found_without_it_only():
    """The papers' known loss."""
    pages = {
        f"{H}paper{i}.{kind}": 1000 * i + extra for i in range(5) for kind, extra in (("ps", 0), ("pdf", 7))
    }
    site = sized(pages)
    assert (".ps$", ".pdf$") not in substitutions(DustBuster().propose(site))
    found = substitutions(DustBuster(likeness="none").propose(site))
    assert {(".ps$", ".pdf$"), (".pdf$", ".ps$")} & set(found)


def test_sketches_of_four_decide_strictly_or_relaxed():
    urls = [f"{H}{form}{i}" for form in ("x/print/", "x/") for i in range(5)]
    sketches = [
        [i, i + 100, i + 200, i + (300 if "print" in url else 900)] for url in urls for i in [int(url[-1])]
    ]
    site = site_of(urls, sketch=pa.array(sketches, pa.list_(pa.uint64())))
    assert DustBuster(sketch_matches=4).propose(site) == []
    assert len(DustBuster(sketch_matches=2).propose(site)) == 1


def test_equal_digests_are_similar_unequal_ones_are_not():
    urls = list(twins("x/print/", "x/"))
    same = site_of(urls, digest=[url[-1] for url in urls])
    (rule,) = DustBuster().propose(same)
    assert rule.evidence.level == "digest"
    assert DustBuster().propose(site_of(urls, digest=urls)) == []


def test_errors_are_no_pages():
    pages = twins("x/print/", "x/")
    status = [404 if "print" in url else 200 for url in pages]
    assert DustBuster().propose(sized(pages, status=pa.array(status, pa.int16()))) == []


def test_numbered_items_in_large_buckets_make_no_rule():
    urls = [f"{H}course{c}/lect{n}" for c in range(12) for n in range(20)]
    assert DustBuster(likeness="none").propose(site_of(urls)) == []


def test_a_crowded_envelope_counts_by_likeness():
    """Ten sections number their pages alike; two of them are the same section."""
    pages = {
        f"{H}{section}/{i}": 10_000 * n + i for n, section in enumerate("abcdefghijklmn") for i in range(5)
    }
    pages |= {f"{H}old/a/{i}": i for i in range(5)}
    wanted = (f"^{H}old/a/", f"^{H}a/")
    assert wanted in substitutions(DustBuster().propose(sized(pages)))
    assert wanted not in substitutions(DustBuster(crowd=0).propose(sized(pages)))


def test_a_rule_about_a_later_occurrence_is_not_proposed():
    """`/` -> nothing would hit the scheme; what says where the slash is stays in the list."""
    pages = {f"{H}{d}{slash}{i}": 100 * i + ord(d) for d in "abc" for i in range(4) for slash in ("/", "//")}
    found = substitutions(DustBuster().propose(sized(pages)))
    assert ("/", "") not in found and ("//", "/") not in found
    for a, _ in found:
        assert a.lstrip("^").startswith("http://h.test/")


def test_marks_written_in_a_url_are_no_ends():
    pages = {f"{H}{i}/{form}": 1000 + 13 * i for form in ("^a^x$y", "^b^x$y") for i in range(6)}
    (rule,) = DustBuster().propose(sized(pages))
    u, v = rule.examples[0]
    assert rule.do["substitute"]["from"].count("^") == 2 and compile_rule(rule).apply(u) == v


def test_shrinking_is_the_default_direction():
    assert substitutions(DustBuster().propose(sized(twins("x/print/", "x/")))) == [
        (f"^{H}x/print/", f"^{H}x/")
    ]


def test_a_dead_outcome_turns_the_rule_round():
    pages = twins("x/", "print/x/")
    status = [200] * len(pages)
    for i in range(6, 12):
        pages |= {f"{H}print/x/{i}": 1, f"{H}x/{i}": 1}
        status += [200, 404]
    found = DustBuster().propose(sized(pages, status=pa.array(status, pa.int16())))
    assert substitutions(found) == [(f"^{H}x/", f"^{H}print/x/")]


def test_a_redirect_says_the_direction():
    urls = list(twins("x/", "new/x/"))
    site = site_of(
        urls,
        status=pa.array([200 if "new" in url else 301 for url in urls], pa.int16()),
        location=[None if "new" in url else url.replace("/x/", "/new/x/") for url in urls],
        digest=[url[-1] if "new" in url else None for url in urls],
    )
    assert substitutions(DustBuster().propose(site)) == [(f"^{H}x/", f"^{H}new/x/")]


def test_a_rule_that_would_feed_itself_is_not_turned_round():
    pages = twins("x/", "x/print/")
    status = [200] * len(pages)
    for i in range(6, 12):
        pages |= {f"{H}x/print/{i}": 1, f"{H}x/{i}": 1}
        status += [200, 404]
    found = DustBuster().propose(sized(pages, status=pa.array(status, pa.int16())))
    assert substitutions(found) == [(f"^{H}x/print/", f"^{H}x/")]


def test_of_equally_long_forms_the_frequent_one_stays():
    pages = twins("Page/", "page/", 4) | {f"{H}page/{i}": 5000 + i for i in range(30, 50)}
    assert substitutions(DustBuster().propose(sized(pages))) == [(f"^{H}Page/", f"^{H}page/")]
    pages = twins("Page/", "page/", 4) | {f"{H}Page/{i}": 5000 + i for i in range(30, 50)}
    assert substitutions(DustBuster().propose(sized(pages))) == [(f"^{H}page/", f"^{H}Page/")]


def test_a_rule_that_moves_the_question_mark_says_what_else_the_query_may_hold():
    pages = twins("story_", "story?id=")
    pages |= {f"{H}story?id={i}&new=1": 9000 + i for i in range(6)}
    (rule,) = [r for r in DustBuster().propose(sized(pages)) if "story_" in r.do["substitute"]["to"]]
    apply = compile_rule(rule).apply
    assert apply(f"{H}story?id=3") == f"{H}story_3"
    assert apply(f"{H}story?id=3&new=1") is None


def test_parameters_can_be_left_alone():
    pages = {f"{H}p?id={i}&sid={s}": i for i in range(5) for s in "abc"}
    assert any("query[sid]" in rule.do for rule in DustBuster().propose(sized(pages)))
    assert all("substitute" in rule.do for rule in DustBuster(parameters=False).propose(sized(pages)))


def test_max_rules_keeps_the_best():
    pages = twins("x/print/", "x/", 9) | twins("y/print/", "y/", 5)
    assert len(DustBuster().propose(sized(pages))) > 1
    assert substitutions(DustBuster(max_rules=1).propose(sized(pages))) == [("/print/", "/")]


def test_the_order_of_the_pages_does_not_matter():
    pages = list((twins("x/print/", "x/") | twins("story_", "story?id=")).items())
    first = DustBuster().propose(sized(dict(pages)))
    random.Random(7).shuffle(pages)
    assert DustBuster().propose(sized(dict(pages))) == first


def test_outcomes_of_a_long_list_are_sampled(monkeypatch):
    pages = twins("x/print/", "x/", 400)
    whole = DustBuster().propose(sized(pages))
    monkeypatch.setattr(dustbuster, "_SAMPLE", 200)
    sampled = DustBuster().propose(sized(pages))
    assert substitutions(sampled) == substitutions(whole)
    assert sampled[0].evidence.support == pytest.approx(400, rel=0.2)


def test_nothing_to_learn_from():
    assert DustBuster().propose(site_of([H])) == []


FORUM = [
    (".co.il/story_", ".co.il/story?id="),
    ("&LastView=&Close=", ""),
    (".php3?", "?"),
    (".il/story_", ".il/story.php3?id="),
    ("&NewOnly=1&tvqz=2", "&NewOnly=1"),
    (".co.il/thread_", ".co.il/thread?rep="),
]


@pytest.mark.parametrize(
    "url, canonical",
    [
        ("http://www.x.co.il/story_100", "http://www.x.co.il/story?id=100"),
        ("http://www.x.co.il/story.php3?id=100", "http://www.x.co.il/story?id=100"),
        ("http://www.x.co.il/story?id=100&LastView=&Close=", "http://www.x.co.il/story?id=100"),
        ("http://www.y.il/story_100", "http://www.y.il/story?id=100"),
        ("http://www.x.co.il/thread_7", "http://www.x.co.il/thread?rep=7"),
        ("http://www.x.co.il/story?id=5&NewOnly=1&tvqz=2", "http://www.x.co.il/story?id=5&NewOnly=1"),
    ],
)
def test_TV_2_8_the_forum_rules_canonize(url, canonical):
    rules = [
        Rule(do={"substitute": {"from": a, "to": b}}, order=i, status="validated")
        for i, (a, b) in enumerate(FORUM)
    ]
    book = RuleBook()
    book.add(SiteRules("*", [], rules))
    assert Canonicalizer(book)(url) == canonical


def test_the_forum_rules_are_found_in_a_log():
    """Several domains, one engine: the rules of the papers' forum site, each with the context it has there."""
    size = {}
    for d, host in enumerate(("www.x.co.il", "www.z.co.il", "www.y.il")):
        for i in range(40 * d, 40 * d + 40):
            story, thread = 1000 + 17 * i, 90_000 + 19 * i
            old = f"http://{host}/story.php3?id={i}"
            new = f"http://{host}/story?id={i}" if "co" in host else old
            size |= {f"http://{host}/story_{i}": story, new: story}
            if i % 2:
                size |= {old: story, f"{new}&LastView=&Close=": story}
            if i % 3 == 0:
                size |= {f"{new}&NewOnly=1": story + 5, f"{new}&NewOnly=1&tvqz=2": story + 5}
            if "co" in host:
                size |= {f"http://{host}/thread_{i}": thread, f"http://{host}/thread?rep={i}": thread}
    learner = DustBuster()
    likely = learner.likely(sized(size))
    pairs = {frozenset(pair) for pair in zip(likely.a, likely.b, strict=True)}
    for a, b in FORUM:
        assert frozenset((a, b)) in pairs
    reduced = learner.reduced(likely)
    assert len(reduced) < len(likely) / 5
    left = list(zip(reduced.a, reduced.b, strict=True))
    for a, b in FORUM:  # the pair itself or one that carries more context
        assert any((a in x and b in y) or (a in y and b in x) for x, y in left), (a, b)
