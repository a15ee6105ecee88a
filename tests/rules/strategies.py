"""Random rules, books and URLs over a small world, so that rules meet URLs and one another."""

from __future__ import annotations

from hypothesis import strategies as st

from undust.errors import BookError
from undust.rules import Rule, Scope, compile_rule

HOSTS = ["a.example", "www.a.example", "b.example"]
NAMES = ["s", "t", "sid", "amp;s"]
VALUES = ["", "1", "2", "x", "a_b", "%41", "%20", "a+b", "A", "..", "../b"]
SEGMENTS = ["", "a", "b", "wiki", "index.html", "A", "x_1", "s;s=1", "%7Ea", "..", "12"]

fields = st.builds(
    lambda n, e, v: n + e + v if e else n,
    st.sampled_from(NAMES),
    st.sampled_from(["=", ""]),
    st.sampled_from(VALUES),
)
queries = st.builds(
    lambda sep, some: sep.join(some), st.sampled_from(["&", "&", "&", ";"]), st.lists(fields, max_size=4)
)
paths = st.lists(st.sampled_from(SEGMENTS), max_size=4).map(lambda some: "".join("/" + s for s in some))


@st.composite
def urls(draw) -> str:
    host = draw(st.sampled_from([*HOSTS, "a.example:8080", "A.example", "u@a.example", "c.example"]))
    url = draw(st.sampled_from(["http", "http", "https"])) + "://" + host + draw(paths)
    if draw(st.booleans()):
        url += "?" + draw(queries)
    return url + draw(st.sampled_from(["", "", "", "#f", "#a?b=1"]))


messy_urls = st.one_of(
    urls(),
    urls().flatmap(lambda u: st.text(max_size=3).map(lambda t: u[: len(u) // 2] + t + u[len(u) // 2 :])),
    st.text(st.characters(exclude_categories=()), max_size=30),
)

KEYS = [
    "path", "path[0]", "path[1]", "path[-1]", "path[-2]", "matrix[s]", "query", "query[s]", "query[t]", "query[sid]",
    "query[s#2]", "fragment", "host", "host[0]", "host[1]", "scheme", "port", "url",
]  # fmt: skip
PATTERNS = [
    "{x}",
    "{y}",
    "{}",
    "{:int}",
    "{:rest}",
    "{x}_{:int}",
    "a{}",
    "",
    "a",
    "1",
    "/wiki/{y}",
    "/a/{:rest}",
    "http://{:rest}",
    "A",
]
LITERALS = {
    "host": HOSTS, "host[0]": ["a.example", "b.example"], "host[1]": ["www"], "scheme": ["http", "https"],
    "port": ["8080"], "path": ["/a", "/", "/wiki/a", "/a/b", ""], "query": ["s=1", "t=1&s=2"], "url": ["http://a.example/"],
}  # fmt: skip


@st.composite
def conditions(draw, key: str):
    literals = LITERALS.get(key, SEGMENTS if key.startswith("path[") else VALUES)
    kind = draw(st.sampled_from(["literal", "pattern", "some", "not", "absent"]))
    if kind == "literal":
        return draw(st.sampled_from(literals)).replace("{", "{{")
    if kind == "pattern":
        return draw(st.sampled_from(PATTERNS))
    if kind == "some":
        return draw(st.lists(st.sampled_from(literals), min_size=1, max_size=3))
    if kind == "not":
        return {"not": draw(st.lists(st.sampled_from(literals), min_size=1, max_size=3))}
    return None


STEPS = ["", "|lower", "|upper", "|decode", "|encode", "|plus", "|unplus", "|amp", "|semi", "|sort", "|first", "|last",
         "|noempty", "|noblank", "|slashes", "|slash", "|noslash", "|dots", "|tr(_,-)", "|lower|sort"]  # fmt: skip


@st.composite
def actions(draw, key: str):
    kind = draw(st.sampled_from(["drop", "own", "literal", "ignore", "other"]))
    if kind == "own":
        return "{" + key + draw(st.sampled_from(STEPS)) + "}"
    if kind == "literal":
        return draw(st.sampled_from(LITERALS.get(key, [*VALUES, "z", "/b"])))
    if kind == "ignore":
        return {"ignore": draw(st.sampled_from(LITERALS.get(key, ["0", "x"])))}
    if kind == "other":
        other = draw(st.sampled_from(KEYS))
        return draw(st.sampled_from(["", "/", "p"])) + "{" + other + draw(st.sampled_from(STEPS)) + "}"
    return None


TEXTS = ["story_", "story?id=", "a", "A", "_", "-", "/a/", "&", "index.html", "?s=1", "www.", "", "s=1"]


@st.composite
def rules(draw) -> Rule:
    scope = draw(
        st.sampled_from(
            [
                Scope(),
                Scope(),
                Scope(("a.example",)),
                Scope(("a.example", "www.a.example")),
                Scope(domain="a.example"),
                Scope(path="/a"),
                Scope(path="/wiki/"),
            ]
        )
    )
    when = {
        key: draw(conditions(key)) for key in draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    }
    if draw(st.integers(0, 5)) == 0:
        when["names"] = draw(st.lists(st.sampled_from(NAMES), max_size=2))
    if draw(st.integers(0, 3)) == 3:
        do = {
            "substitute": {
                "from": draw(st.sampled_from(TEXTS)),
                "to": draw(st.sampled_from(TEXTS)),
                "start": draw(st.integers(0, 5)) == 5,
                "end": draw(st.integers(0, 3)) == 3,
            }
        }
    else:
        do = {
            key: draw(actions(key))
            for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True))
        }
        named = [g for c in when.values() if isinstance(c, str) for g in ("x", "y") if f"{{{g}}}" in c]
        if named and draw(st.booleans()):
            key = draw(st.sampled_from(["path", "path[0]", "path[-1]", "query", "query[s]", "query[t]"]))
            step = draw(st.sampled_from(STEPS))
            do[key] = draw(st.sampled_from(["", "/", "p", "s="])) + "{" + named[0] + step + "}"
    order = draw(st.sampled_from([0, 0, 0, 1]))
    return Rule(scope, when, do, order=order)


def compiles(rule: Rule) -> bool:
    try:
        compile_rule(rule)
    except BookError:
        return False
    return True


good_rules = rules().filter(compiles)
