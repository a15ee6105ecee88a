"""What must hold for every book and every URL."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import canonical
from strategies import good_rules, messy_urls, urls

from undust.rules import Canonicalizer, MutableUrl, Rule, RuleBook, SiteRules, compile_rule
from undust.url import lower_host, parse, split_authority

sets = st.lists(good_rules, max_size=8)


def book_of(rules: list[Rule]) -> RuleBook:
    return RuleBook({"a.example": SiteRules("a.example", ("a.example", "www.a.example", "b.example"), rules)})


def rules_for(rules: list[Rule]):
    """The oracle's own host look-up."""

    def rules_of(url: str) -> list[Rule] | None:
        authority = parse(url).authority
        if authority is None:
            return None
        _, host, port = split_authority(authority)
        host = lower_host(host)
        site = host in ("a.example", "www.a.example", "b.example")
        below = any(rule.scope.domain and rule.scope.covers_host(host, port) for rule in rules)
        if not site and not below:
            return None
        mine = [r for r in rules if r.scope.covers_host(host, port) and (site or r.scope.domain)]
        return sorted({r.id: r for r in mine}.values(), key=lambda r: r.rank)

    return rules_of


@given(sets, st.lists(messy_urls, min_size=1, max_size=6), st.booleans())
@settings(max_examples=150, deadline=None)
def test_fast_equals_oracle(rules, some, normal):
    canon = Canonicalizer(book_of(rules), normal=normal, check=False)
    wanted = [canonical(url, rules_for(rules), normal) for url in some]
    assert canon.map(some) == wanted
    assert [canon(url) for url in some] == wanted
    assert [canon.explain(url).url for url in some] == wanted


@given(sets, st.lists(messy_urls, min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_canonical_twice_is_canonical_once(rules, some):
    canon = Canonicalizer(book_of(rules), check=False)
    once = canon.map(some)
    assert canon.map(once) == once
    assert canon.map(some, emit="key") == canon.map(once, emit="key")


@given(sets, st.randoms(), st.lists(urls(), max_size=5))
@settings(max_examples=150, deadline=None)
def test_order_in_the_book_does_not_matter(rules, random, some):
    shuffled = list(rules)
    random.shuffle(shuffled)
    one, other = (Canonicalizer(book_of(some_), check=False) for some_ in (rules, shuffled))
    assert one.map(some) == other.map(some)


@given(good_rules, messy_urls)
@settings(max_examples=150, deadline=None)
def test_a_rule_alone_agrees_with_the_rule_on_the_parsed_url(rule, url):
    """The trigger never hides a change."""
    compiled = compile_rule(rule)
    u = MutableUrl(url)
    changed = compiled.covers(u) and compiled.apply_parsed(u)
    assert compiled.apply(url) == (str(u) if changed and str(u) != url else None)


@given(good_rules, messy_urls)
@settings(max_examples=150, deadline=None)
def test_the_url_under_rewriting_is_the_url_read_anew(rule, url):
    """Delimiters are escaped: what is written stays in its component."""
    u = MutableUrl(url)
    compiled = compile_rule(rule)
    if compiled.covers(u) and compiled.apply_parsed(u):
        again = MutableUrl(str(u))
        for part in ("scheme", "authority", "path", "query", "fragment"):
            assert getattr(again, part) == getattr(u, part)
        assert again.fields() == u.fields()
        assert again.segments() == u.segments()


@given(good_rules)
def test_rule_to_dict_and_back(rule):
    assert Rule.from_dict(rule.to_dict()) == rule
    assert Rule.from_dict(rule.to_dict()).id == rule.id
    assert rule.describe()
