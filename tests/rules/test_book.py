"""Rules and rule books: their JSON, its bytes, and messages that say where it is wrong."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from strategies import good_rules

from undust.errors import BookError
from undust.rules import Canonicalizer, Evidence, Rule, RuleBook, Scope, SiteRules, compile_rule
from undust.rules.book import schema
from undust.rules.fits import compile_schema


def sample() -> RuleBook:
    rules = [
        Rule(
            Scope(("www.example.com", "example.com"), path="/forum/"),
            {"path": "/forum/viewtopic.php", "query[t]": "{t:int}", "query[p]": None, "names": ["t", "sid"]},
            {"query[sid]": None},
            source=("alignment", "dustbuster"),
            evidence=Evidence("sketch", support=10, pairs=7, false=0, precision_low=0.97),
            examples=(("http://example.com/a?sid=1", "http://example.com/a"),),
        ),
        Rule(do={"substitute": {"from": "story_", "to": "story?id="}}, status="likely"),
        Rule(
            when={"query[x]": {"not": ["b", "a"]}}, do={"query[x]": {"ignore": "0"}}, learned_at="2024-01-01"
        ),
    ]
    rejected = [Rule(do={"query[id]": None}, status="rejected", why="merges other pages")]
    return RuleBook(
        {
            "example.com": SiteRules(
                "example.com", ("example.com", "www.example.com"), rules, rejected, {"pages": 3}
            )
        }
    )


def test_save_and_load(tmp_path):
    path = tmp_path / "rules.json"
    book = sample()
    book.save(path)
    first = path.read_bytes()
    again = RuleBook.load(path)
    assert again == RuleBook.from_dict(book.to_dict())
    again.save(path)
    assert path.read_bytes() == first
    assert os.listdir(tmp_path) == ["rules.json"]
    assert first.decode().startswith('{\n  "site_key": "host",\n  "sites": {\n')
    assert first.endswith(b"}\n")


def test_bytes_do_not_depend_on_order():
    book, other = sample(), sample()
    other.sites["example.com"].rules.reverse()
    assert book.dumps() == other.dumps()


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text("old")
    book = sample()
    book.sites["example.com"].notes["bad"] = object()
    with pytest.raises(TypeError):
        book.save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["rules.json"]


def test_the_book_meets_its_schema():
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(sample().to_dict())


@given(st.lists(good_rules, max_size=4))
@settings(max_examples=60, deadline=None)
def test_any_rules_survive_the_file(rules):
    book = RuleBook({"a.example": SiteRules("a.example", (), rules)})
    again = RuleBook.loads(book.dumps())
    assert sorted(r.id for r in again.rules()) == sorted(r.id for r in rules)
    assert again.dumps() == book.dumps()


def test_surrogates_survive_the_file():
    book = RuleBook({"a.example": SiteRules("a.example", (), [Rule(do={"query[\udcff]": None})])})
    again = RuleBook.loads(book.dumps())
    assert Canonicalizer(again)("http://a.example/?\udcff=1&a") == "http://a.example/?a"


def test_the_form_of_the_interface():
    """As INTERFACE.md shows it: hosts default to the site's name."""
    book = RuleBook.from_dict(
        {
            "undust": 1,
            "site_key": "host",
            "sites": {"www.example.com": {"rules": [{"do": {"query[s]": None}}]}},
        }
    )
    assert book.sites["www.example.com"].hosts == ("www.example.com",)
    assert Canonicalizer(book)("http://www.example.com/?s") == "http://www.example.com/"


def with_rule(**rule) -> dict:
    return {"undust": 1, "sites": {"e.com": {"rules": [{"do": {"query[s]": None}}, {"id": "abc", **rule}]}}}


@pytest.mark.parametrize(
    ("data", "rule", "field", "says"),
    [
        ([], None, None, "is not of type 'object'"),
        ({"undust": 2, "sites": {}}, None, "undust", "1 was expected"),
        ({"undust": 1}, None, None, "'sites' is a required property"),
        ({"undust": 1, "sites": {"a": {"rulez": []}}}, None, "sites.a", "rulez"),
        (with_rule(), "abc", None, "'do' is a required property"),
        (with_rule(do={}), "abc", "do", "should be non-empty"),
        (with_rule(do={"query[s]": 7}), "abc", "do.query[s]", "7"),
        (with_rule(do={"query[s]": {"ignore": None}}), "abc", "do.query[s]", "None is not of type 'string'"),
        (with_rule(do={"substitute": {"from": "a"}}), "abc", "do.substitute", "'to' is a required property"),
        (with_rule(do={"query[s]": None}, when={"path": {"is": "x"}}), "abc", "when.path", ""),
        (with_rule(do={"query[s]": None}, status="good"), "abc", "status", "'good' is not one of"),
        (with_rule(do={"query[s]": None}, evidence={"level": "hearsay"}), "abc", "evidence.level", "hearsay"),
        (with_rule(do={"query[s]": None}, scope={"hosts": ["a"], "domain": "b"}), "abc", "scope", ""),
        (with_rule(do={"query[s]": None}, scope={"path": "a"}), "abc", "scope.path", ""),
        (with_rule(do={"querry": None}), "abc", "do.querry", "unknown key"),
        (with_rule(do={"path": "{x}"}), "abc", "do.path", "no condition has a group"),
        (with_rule(do={"path": "/a"}, when={"path": "{a}{b}"}), "abc", "when.path", "side by side"),
        (with_rule(do={"path": None}), "abc", "do.path", "cannot be dropped"),
        (with_rule(do={"path": "/", "path[0]": "a"}), "abc", "do.path", "both"),
        (with_rule(do={"path": "x" * 4001}), "abc", "do.path", "too long"),
        (with_rule(do={"query[s]": None}, order="first"), "abc", "order", "'first' is not of type"),
    ],
)  # fmt: skip
def test_messages_name_rule_and_field(data, rule, field, says):
    with pytest.raises(BookError) as error:
        RuleBook.from_dict(data)
    assert (error.value.rule, error.value.field) == (rule, field)
    assert says in str(error.value)


def test_a_rule_without_id_is_named_by_its_place():
    data = with_rule(do={"query[s]": 7})
    del data["sites"]["e.com"]["rules"][1]["id"]
    with pytest.raises(BookError, match=r"rule e.com rules\[1\] field do.query\[s\]"):
        RuleBook.from_dict(data)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "nonsense", b"\xff\xfe"])
def test_what_is_no_json(text, tmp_path):
    with pytest.raises(BookError, match="no JSON"):
        RuleBook.loads(text)
    path = tmp_path / "rules.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BookError, match=r"rules\.json"):
        RuleBook.load(path)


def test_no_file(tmp_path):
    with pytest.raises(BookError, match="cannot read"):
        RuleBook.load(tmp_path / "none.json")


def test_id_depends_on_scope_conditions_and_rewrite_alone():
    rule = Rule(Scope(("a.com",)), {"path": "/a"}, {"query[s]": None})
    assert (
        rule.id
        == Rule(
            Scope(("A.com",)), {"path": "/a"}, {"query[s]": None}, order=5, status="likely", source=("x",)
        ).id
    )
    others = [
        Rule(Scope(("b.com",)), {"path": "/a"}, {"query[s]": None}),
        Rule(Scope(("a.com",)), {}, {"query[s]": None}),
    ]
    assert len({rule.id, *(other.id for other in others)}) == 3
    assert json.loads(json.dumps(rule.to_dict()))["id"] == rule.id


def test_compile_names_the_rule():
    rule = Rule(do={"path": "{nobody}"})
    with pytest.raises(BookError) as error:
        compile_rule(rule)
    assert (error.value.rule, error.value.field) == (rule.id, "do.path")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (
            Rule(Scope(("www.example.com",), path="/forum/viewtopic.php"), do={"query[sid]": None}),
            "www.example.com/forum/viewtopic.php: drop sid",
        ),
        (
            Rule(Scope(domain="e.com"), {"query[p]": None}, {"path[-1]": ""}),
            "*.e.com: when no p: set path[-1] to nothing",
        ),
        (
            Rule(do={"substitute": {"from": "index.html", "to": "", "end": True}}),
            "*: replace index.html$ by $",
        ),
        (
            Rule(when={"query[a]": ["1", "2"], "query[b]": {"not": ["x"]}}, do={"query[a]": {"ignore": "1"}}),
            "*: when a is 1 or 2 and b is not x: ignore a (1)",
        ),
    ],
)
def test_describe(rule, says):
    assert rule.describe() == says


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(0, 2),
        st.sampled_from(["", "/a", "url", "likely", "a" * 5000]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["hosts", "do", "path", "not", "present", "ignore", "from", "to", "x"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_the_quick_answer_is_that_of_jsonschema(data):
    """A good book with something put in the place of something else."""
    book = sample().to_dict()
    place = book
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys) if keys else st.just("x"))
        if (
            not keys
            or not isinstance(place[key], dict | list)
            or not place[key]
            or data.draw(st.integers(0, 4)) == 0
        ):
            break
        place = place[key]
    if isinstance(place, dict) and data.draw(st.booleans()):
        key = data.draw(st.sampled_from([*place, "x", "path", "query[s]", "substitute"]))
    if isinstance(place, dict) or key in range(len(place)):
        place[key] = data.draw(json_values)
    assert compile_schema(schema())(book) == Draft202012Validator(schema()).is_valid(book)
