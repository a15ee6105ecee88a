"""The canonicalizer on the papers' examples, and what its users rely on."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from undust.errors import UsageError
from undust.rules import Canonicalizer, Evidence, Rule, RuleBook, Scope, SiteRules


def canon_of(*rules: Rule, hosts=("example.com", "www.example.com"), **options) -> Canonicalizer:
    return Canonicalizer(RuleBook({hosts[0]: SiteRules(hosts[0], tuple(hosts), list(rules))}), **options)


def swap(old: str, new: str, **more) -> Rule:
    return Rule(do={"substitute": {"from": old, "to": new, **more}})


FORUM = [  # SPEC 2.12, rules 1 to 6
    swap(".co.il/story_", ".co.il/story?id="),
    swap("&LastView=&Close=", ""),
    swap(".php3?", "?"),
    swap(".il/story_", ".il/story.php3?id="),
    swap("&NewOnly=1&tvqz=2", "&NewOnly=1"),
    swap(".co.il/thread_", ".co.il/thread?rep="),
]


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("http://www.x.co.il/story_100", "http://www.x.co.il/story?id=100"),
        ("http://www.x.co.il/story.php3?id=100", "http://www.x.co.il/story?id=100"),
        ("http://www.x.co.il/story?id=100&LastView=&Close=", "http://www.x.co.il/story?id=100"),
        ("http://www.y.il/story_100", "http://www.y.il/story?id=100"),
        ("http://www.x.co.il/thread_7", "http://www.x.co.il/thread?rep=7"),
        ("http://www.x.co.il/story?id=5&NewOnly=1&tvqz=2", "http://www.x.co.il/story?id=5&NewOnly=1"),
    ],
)
def test_TV_2_8_canonize(url, wanted):
    canon = canon_of(*FORUM, hosts=("www.x.co.il", "www.y.il"))
    assert canon(url) == wanted
    assert canon(wanted) == wanted
    # In the order of the paper it takes a second round: rule 4, then rule 3.
    ordered = [Rule(do=rule.do, order=place) for place, rule in enumerate(FORUM)]
    assert canon_of(*ordered, hosts=("www.x.co.il", "www.y.il"))(url) == wanted


def test_first_occurrence_policy():
    canon = canon_of(swap("people", "users"), hosts=("people.domain.com", "users.domain.com"))
    # One application replaces the first occurrence; the fixpoint replaces the other one, too.
    steps = canon.explain("http://people.domain.com/people").steps
    assert steps[0][2] == "http://users.domain.com/people"


def test_substitution_is_of_whole_tokens():
    canon = canon_of(swap("story", "s"))
    assert canon("http://example.com/history/story") == "http://example.com/history/s"
    assert canon("http://example.com/mystory") == "http://example.com/mystory"


RULES = {
    "wiki": Rule(when={"path": "/wiki/{t}"}, do={"path": "/", "query[title]": "{t}"}),
    "index": Rule(when={"path[-1]": "index.html"}, do={"path[-1]": None}),
    "directory": Rule(when={"path[-1]": "index.html"}, do={"path[-1]": ""}),
    "sort": Rule(do={"query": "{query|sort}"}),
    "alias": Rule(when={"host": "www.example.com"}, do={"host": "example.com"}),
    "www": Rule(when={"host[1]": "www"}, do={"host[1]": None}),
    "amp": Rule(do={"query": "{query|amp}"}),
    "blank": Rule(do={"query[q]": "{query[q]|plus}"}),
    "topic": Rule(when={"path": "/forum/topic,{t:int}.msg{:int}.html"}, do={"path": "/forum/topic,{t}.0.html"}),
    # Without path[1] it would go on and drop `dp` itself.
    "slug": Rule(when={"path[1]": "dp", "path[-2]": "dp"}, do={"path[0]": None}),
    "ebay": Rule(
        when={"path": "/{name:rest}_W0QQ_fclsZ{f:int}QQ_pcatidZ{p:int}QQ_pidZ{i:int}QQ_tabZ{t:int}"},
        do={"path": "/{name}_W0", "query[_fcls]": "{f}", "query[_pcatid]": "{p}", "query[_pid]": "{i}",
            "query[_tab]": "{t}"},
    ),
    "imdb": Rule(
        when={"path[0]": "title", "path[1]": "tt{:int}", "path[2]": "photogallery"}, do={"path[2]": "mediaindex"}
    ),
    "dokuwiki": Rule(when={"path": "/{p:rest}"}, do={"path": "/doku.php", "query[id]": "{p|tr(/,:)}"}),
    "print": Rule(
        when={"path": "/print.pl", "query[sid]": "{s}"}, do={"path": "/newsvac/{s}.shtml", "query[sid]": None}
    ),
    "case": Rule(when={"path[0]": "Recipe"}, do={"path[0]": "{path[0]|upper}"}),
    "friends": Rule(when={"path": "/friends-{:rest}"}, do={"path": {"ignore": "/friends-0"}}),
    "session": Rule(do={"matrix[jsessionid]": None}),
    "port": Rule(when={"port": "8080"}, do={"port": None}),
    "start": Rule(when={"query[start]": "0"}, do={"query[start]": None}),
    "default": Rule(when={"query[lang]": None}, do={"query[lang]": "en"}),
    "keep": Rule(
        when={"query[C]": ["N", "M", "S", "D"], "query[O]": ["A", "D"]}, do={"query[C]": None, "query[O]": None}
    ),
    "semi": Rule(do={"query": "{query|semi}"}),
    "second": Rule(do={"query[a#2]": None}),
    "fragment": Rule(do={"fragment": None}),
    "exact": Rule(when={"names": ["t", "view"]}, do={"query[view]": None}),
    "scheme": Rule(when={"scheme": "http"}, do={"scheme": "https"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "url", "wanted"),
    [
        ("wiki", "/wiki/Casino_Royale", "/?title=Casino_Royale"),
        ("wiki", "/wiki/A&B", "/?title=A%26B"),
        ("index", "/srnr/about/art/index.html", "/srnr/about/art"),
        ("directory", "/2010/index.html", "/2010/"),
        ("sort", "/?b=2&a=1&b=1", "/?a=1&b=1&b=2"),
        ("amp", "/?t=1&amp;sid=2", "/?t=1&sid=2"),
        ("blank", "/?q=a+b&r=a+b", "/?q=a%20b&r=a+b"),
        ("topic", "/forum/topic,12.msg345.html", "/forum/topic,12.0.html"),
        ("slug", "/Lord-Rings/dp/B000634DCW", "/dp/B000634DCW"),
        (
            "ebay",
            "/The-Grudge_UPC_043396062603_W0QQ_fclsZ1QQ_pcatidZ1QQ_pidZ43973351QQ_tabZ2",
            "/The-Grudge_UPC_043396062603_W0?_fcls=1&_pcatid=1&_pid=43973351&_tab=2",
        ),
        ("imdb", "/title/tt0810900/photogallery", "/title/tt0810900/mediaindex"),
        ("print", "/print.pl?sid=06/06/27/2", "/newsvac/06/06/27/2.shtml"),
        ("case", "/Recipe/Smores/default.aspx", "/RECIPE/Smores/default.aspx"),
        ("session", "/a;jsessionid=1;x=2/b?t=1", "/a;x=2/b?t=1"),
        ("start", "/t?start=0&x=1", "/t?x=1"),
        ("start", "/t?start=15&x=1", "/t?start=15&x=1"),
        ("default", "/t", "/t?lang=en"),
        ("keep", "/d/?C=N;O=D", "/d/"),
        ("semi", "/d/?C=N;O=D", "/d/?C=N&O=D"),
        ("second", "/?a=1&b=2&a=3", "/?a=1&b=2"),
        ("fragment", "/#top", "/"),
        ("exact", "/?t=1&view=next", "/?t=1"),
        ("exact", "/?t=1&view=next&p=2", "/?t=1&view=next&p=2"),
    ],
)
def test_examples_of_the_language(rule, url, wanted):
    canon = canon_of(RULES[rule])
    assert canon("http://example.com" + url) == "http://example.com" + wanted
    assert canon("http://example.com" + wanted) == "http://example.com" + wanted


@pytest.mark.parametrize(
    ("rule", "url", "wanted"),
    [
        ("alias", "http://www.example.com/a", "http://example.com/a"),
        ("www", "http://www.example.com/a", "http://example.com/a"),
        ("port", "http://example.com:8080/a", "http://example.com/a"),
        ("scheme", "http://me@example.com/a", "https://me@example.com/a"),
    ],
)
def test_host_rules(rule, url, wanted):
    assert canon_of(RULES[rule])(url) == wanted


def test_alias_and_parameters_together():
    canon = canon_of(RULES["alias"], RULES["start"], RULES["sort"], RULES["directory"])
    assert (
        canon("HTTP://WWW.Example.com:80/x/../a/index.html?start=0&b=1&a=%7e")
        == "http://example.com/a/?a=~&b=1"
    )


def test_a_key_has_wildcards_and_a_url_has_not():
    canon = canon_of(Rule(do={"query[id]": {"ignore": "1"}}), RULES["friends"])
    assert canon("http://example.com/a?id=77&x=1") == "http://example.com/a?id=1&x=1"
    assert canon.key("http://example.com/a?id=77&x=1") == "http://example.com/a?id=*&x=1"
    assert canon.key("http://example.com/a") == "http://example.com/a"
    assert canon.key("http://example.com/friends-xyz") == "http://example.com*"[:-1] + "/*"
    assert canon.map(["http://example.com/a?id=77", None], emit="key") == ["http://example.com/a?id=*", None]


def test_levels():
    rules = [Rule(do={f"query[{status}]": None}, status=status)
             for status in ("validated", "probable", "likely", "rejected", "disabled")]  # fmt: skip
    url = "http://example.com/?validated&probable&likely&rejected&disabled"
    base = "http://example.com/?"
    assert canon_of(*rules, level="validated")(url) == base + "probable&likely&rejected&disabled"
    assert canon_of(*rules)(url) == base + "likely&rejected&disabled"
    assert canon_of(*rules, level="likely")(url) == base + "rejected&disabled"
    with pytest.raises(UsageError):
        canon_of(level="sure")


def test_unknown_hosts_are_left_alone():
    canon = canon_of(RULES["start"])
    for url in (
        "HTTP://Other.com:80/./a?start=0",
        "/a?start=0",
        "mailto:a@example.com",
        "",
        "example.com/?start=0",
    ):
        assert canon(url) == url


def test_without_the_normal_form():
    assert (
        canon_of(RULES["start"], normal=False)("http://Example.com:80/./%7ea?start=0")
        == "http://Example.com:80/./%7ea"
    )


def test_ports_of_a_host():
    drop = Rule(do={"query[s]": None})
    anywhere, here = canon_of(drop, hosts=("localhost",)), canon_of(drop, hosts=("localhost:8000",))
    assert anywhere("http://localhost:9/?s") == "http://localhost:9/"
    assert here("http://localhost:8000/?s") == "http://localhost:8000/"
    assert here("http://localhost:9/?s") == "http://localhost:9/?s"


def test_domains_and_the_site_of_all():
    by_domain = Rule(Scope(domain="example.com"), do={"query[d]": None})
    for_all = Rule(do={"query[all]": None})
    book = RuleBook(
        {"www.example.com": SiteRules("www.example.com", (), [by_domain, Rule(do={"query[w]": None})]),
         "*": SiteRules("*", (), [for_all])}
    )  # fmt: skip
    canon = Canonicalizer(book)
    assert canon("http://www.example.com/?d&w&all&x") == "http://www.example.com/?x"
    assert canon("http://new.example.com/?d&w&all&x") == "http://new.example.com/?w&x"
    assert canon("http://anexample.com/?d&w&all&x") == "http://anexample.com/?d&w&x"
    book = RuleBook(
        {"example.com": SiteRules("example.com", (), [Rule(do={"query[d]": None})])}, site_key="domain"
    )
    assert Canonicalizer(book)("http://a.b.example.com/?d") == "http://a.b.example.com/"


def test_more_specific_rules_come_first():
    general = Rule(when={"query[lang]": "{}"}, do={"query[lang]": "en"})
    special = Rule(when={"path": "/de/", "query[lang]": "{}"}, do={"query[lang]": "de"}, order=-1)
    canon = canon_of(general, special)
    assert canon("http://example.com/?lang=fr") == "http://example.com/?lang=en"
    explanation = canon.explain("http://example.com/de/?lang=fr")
    assert [rule.id for rule, _, _ in explanation.steps[:2]] == [special.id, general.id]


def test_a_circle_gives_its_smallest_url():
    there = Rule(when={"path": "/a"}, do={"path": "/bb"}, order=1)
    back = Rule(when={"path": "/bb"}, do={"path": "/a"}, order=0)
    canon = canon_of(there, back)
    assert canon("http://example.com/a") == canon("http://example.com/bb")  # what a round does it undoes
    assert canon.settle("http://example.com/a").cycle
    assert "circle" in str(canon.explain("http://example.com/a"))
    three = [
        Rule(when={"path": f"/{a}"}, do={"path": f"/{b}"}, order=-place)
        for place, (a, b) in enumerate([("ccc", "dd"), ("dd", "e"), ("e", "ccc")])
    ]
    canon = canon_of(*three)
    assert {canon(f"http://example.com/{x}") for x in ("ccc", "dd", "e")} == {"http://example.com/e"}


def test_an_endless_rule_is_not_applied():
    canon = canon_of(Rule(do={"path": "/x{path}"}))
    assert canon("http://example.com/a") == "http://example.com/a"
    assert canon.settle("http://example.com/a").endless
    assert "no end" in str(canon.explain("http://example.com/a"))


def test_explain_can_be_printed():
    canon = canon_of(RULES["start"], RULES["wiki"])
    told = canon.explain("http://example.com:80/wiki/A?start=0")
    assert told.steps[0][0] is None
    assert {rule.id for rule, _, _ in told.steps if rule} == {RULES["start"].id, RULES["wiki"].id}
    assert told.url == "http://example.com/?title=A"
    assert [before for _, before, _ in told.steps][1:] == [after for _, _, after in told.steps][:-1]
    for text in (RULES["start"].id, "drop start", "normal form", told.url):
        assert text in str(told)


URLS = ["http://example.com/?start=0", None, "http://other.com/", "http://example.com/a"]
WANTED = ["http://example.com/", None, "http://other.com/", "http://example.com/a"]


def test_lists_and_tuples():
    canon = canon_of(RULES["start"])
    assert canon.map(URLS) == WANTED
    assert canon.map(tuple(URLS)) == tuple(WANTED)
    assert canon.map(url for url in URLS) == WANTED
    assert canon.map(URLS[0]) == WANTED[0]
    assert canon.map([7, b"http://example.com/?start=0", float("nan")]) == [None, None, None]
    assert canon.map([]) == []
    with pytest.raises(UsageError):
        canon(None)
    with pytest.raises(UsageError):
        canon.map([], emit="both")


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()])
def test_arrow(type_):
    canon = canon_of(RULES["start"])
    array = pa.array(URLS, type=type_)
    assert canon.map(array).equals(pa.array(WANTED, type=type_))
    chunked = pa.chunked_array([URLS[:1], URLS[1:]], type=type_)
    out = canon.map(chunked)
    assert isinstance(out, pa.ChunkedArray)
    assert (out.type, out.num_chunks, out.to_pylist()) == (type_, 2, WANTED)
    assert canon.map(pa.chunked_array([], type=type_)).to_pylist() == []
    assert canon.map(pa.array([1, None])).to_pylist() == [None, None]


def test_arrow_that_is_no_utf8():
    canon = canon_of(RULES["start"])
    raw = pa.array([b"http://example.com/\xff?start=0"]).view(pa.string())
    assert canon.map(raw).cast(pa.binary(), safe=False).to_pylist() == [b"http://example.com/\xff"]


def test_pandas():
    pandas = pytest.importorskip("pandas")
    canon = canon_of(RULES["start"])
    for dtype in (object, "string", "str"):
        series = pandas.Series(URLS, index=[3, 5, 7, 9], name="u", dtype=dtype)
        out = canon.map(series)
        assert type(out) is type(series)
        assert (out.name, out.dtype, list(out.index)) == ("u", series.dtype, [3, 5, 7, 9])
        assert [None if pandas.isna(x) else x for x in out] == WANTED


def test_polars():
    polars = pytest.importorskip("polars")
    out = canon_of(RULES["start"]).map(polars.Series("u", URLS))
    assert isinstance(out, polars.Series)
    assert (out.name, out.dtype, out.to_list()) == ("u", polars.String, WANTED)


def test_pickle():
    canon = canon_of(RULES["start"])
    canon(URLS[0])
    assert pickle.loads(pickle.dumps(canon))(URLS[0]) == WANTED[0]


def test_figures_decide_between_equals_only_if_they_agree():
    """The better evidence goes first; both lead to the same end, so nothing is refused."""
    one = Rule(do={"query[s]": None, "query[t]": None}, evidence=Evidence(precision_low=0.9))
    two = Rule(do={"query[s]": None}, evidence=Evidence(precision_low=0.99))
    assert canon_of(one, two)("http://example.com/?s&t&u") == "http://example.com/?u"


def test_a_query_that_loses_its_last_ampersand_has_other_parameters() -> None:
    canon = Canonicalizer(RuleBook({"h.test": SiteRules("h.test", rules=[Rule(do={"query[t]": None})])}))
    assert canon("http://h.test/?a=1;t=2&t") == "http://h.test/?a=1" == canon("http://h.test/?a=1;t=2")


@pytest.mark.parametrize(
    "query",
    [
        "a=1&sid=5&ref=2",
        "sid=1&ref=2&c",
        "c&ref=2&sid&a=1",
        "x=1;y=2&sid=3",
        "b=2&b=1&sid",
        "b&&a",
        "ref",
        "c;d=1&a",
    ],
)
def test_fields_that_come_to_stand_side_by_side_are_seen_by_the_rules_between(query):
    """Dropping all fields at once must not hide what a rule sees that is applied between two drops."""
    drops = [Rule(do={"query[sid]": None}, order=1), Rule(do={"query[ref]": None}, order=3)]
    drops += [Rule(do={"query[y]": None}, order=3)]
    sort = Rule(do={"query": "{query|sort}"}, order=2)
    for swap in ("a=1&ref=2", "?ref=2", "a=1&b", "a&b", "1&c", "&c", "sid=5&"):
        between = Rule(do={"substitute": {"from": swap, "to": "zz=1"}}, order=2)
        for rules in ([*drops, between], [*drops, sort], [*drops, sort, between]):
            canon = Canonicalizer(RuleBook({"a.example": SiteRules("a.example", (), rules)}), check=False)
            url = f"http://a.example/?{query}"
            assert canon(url) == canon.explain(url).url, (swap, [rule.describe() for rule in rules])
