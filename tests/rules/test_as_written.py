"""A rule does what docs/rules.md says, and nothing else."""

from __future__ import annotations

import pytest
from as_written import Url, applied
from hypothesis import given, settings
from strategies import good_rules, messy_urls

from undust.rules import Canonicalizer, Rule, RuleBook, SiteRules, compile_rule


@given(good_rules, messy_urls)
@settings(max_examples=200, deadline=None)
def test_a_rule_does_what_the_page_says(rule, url):
    # Hosts are compared in lower case; how a host that stays is spelled is not the rule's affair.
    assert Url(compile_rule(rule).apply(url) or url).text() == Url(applied(rule, url)).text()


def canon(*rules: Rule) -> Canonicalizer:
    return Canonicalizer(RuleBook({"a.example": SiteRules("a.example", (), list(rules))}))


HOME = "http://a.example"
FIRST_PAGE = Rule(when={"query[start]": "0"}, do={"query[start]": None})
TO_QUERY = Rule(when={"path": "/wiki/{t}"}, do={"path": "/index.php", "query[title]": "{t}"})
TO_PATH = Rule(
    when={"path": "/index.php", "query[title]": "{t}"}, do={"path": "/wiki/{t}", "query[title]": None}
)


@pytest.mark.parametrize(
    "query", ["start=0&start=15", "start=15&start=0", "start=0&t=1&start=", "start&start=0"]
)
def test_of_a_parameter_with_several_values_no_value_is_known(query):
    """One server shows the first page, the other one the second."""
    assert canon(FIRST_PAGE)(f"{HOME}/?{query}") == f"{HOME}/?{query}"
    assert canon(TO_PATH)(f"{HOME}/index.php?title=A&title=B") == f"{HOME}/index.php?title=A&title=B"
    copied = Rule(do={"path": "/{query[id]}"})
    assert canon(copied)(f"{HOME}/?id=1&id=2") == f"{HOME}/?id=1&id=2"


def test_a_parameter_that_is_repeated_is_one():
    assert canon(FIRST_PAGE)(f"{HOME}/?start=0&t=1&start=0") == f"{HOME}/?t=1"
    assert canon(TO_PATH)(f"{HOME}/index.php?title=A&title=A") == f"{HOME}/wiki/A"


def test_a_rule_that_names_the_second_one_knows_what_it_does():
    both = Rule(when={"query[a]": "1", "query[a#2]": "2"}, do={"query[a#2]": None})
    assert canon(both)(f"{HOME}/?a=1&a=2") == f"{HOME}/?a=1"
    dropped = Rule(do={"query[sid]": None})
    assert canon(dropped)(f"{HOME}/?sid=1&t=2&sid=3") == f"{HOME}/?t=2"
    present = Rule(when={"query[p]": "{}"}, do={"query[t]": None})
    assert canon(present)(f"{HOME}/?p=1&p=2&t=3") == f"{HOME}/?p=1&p=2"


def test_a_plus_sign_does_not_become_a_blank():
    assert canon(TO_QUERY)(f"{HOME}/wiki/C++") == f"{HOME}/index.php?title=C%2B%2B"
    assert canon(TO_PATH)(f"{HOME}/index.php?title=C%2B%2B") == f"{HOME}/wiki/C%2B%2B"
    assert canon(TO_PATH)(f"{HOME}/index.php?title=C++") == f"{HOME}/index.php?title=C++"
    blanks = Rule(when=TO_PATH.when, do={"path": "/wiki/{t|plus}", "query[title]": None})
    assert canon(blanks)(f"{HOME}/index.php?title=A+b") == f"{HOME}/wiki/A%20b"
    whole = Rule(when=TO_QUERY.when, do={"path": "/index.php", "query": "title={t}"})
    assert canon(whole)(f"{HOME}/wiki/A&action=x") == f"{HOME}/index.php?title=A%26action=x"


@pytest.mark.parametrize("title", ["..", ".", "../admin", "a/../b", "%2e%2e/admin", "a/."])
def test_a_parameter_does_not_lead_out_of_the_path(title):
    url = f"{HOME}/index.php?title={title}"
    segment = Rule(when=TO_PATH.when, do={"path": "/wiki", "query[title]": None})
    assert canon(TO_PATH)(url) == url.replace("%2e", ".")
    assert canon(segment)(url) == f"{HOME}/wiki"
    part = Rule(when={"query[title]": "{t}"}, do={"path[0]": "{t}"})
    assert canon(part)(f"{HOME}/a/b?title=..") == f"{HOME}/a/b?title=.."
