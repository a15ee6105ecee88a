"""What a rule does to a site: events, what is lost, and the quick way for drops."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from undust.learners.alignment import Alignment
from undust.learners.view import View
from undust.rules import Rule, Scope, compile_rule
from undust.selection.trial import drops, trial

from .made_up import forum, site


def test_a_true_rule_merges_without_loss() -> None:
    t = trial(Rule(do={"query[sid]": None}), View(site(forum())))
    assert t is not None
    assert (t.merges, int(t.bad.sum()), t.lost) == (40, 0, 0)


def test_a_false_rule_loses_the_contents_it_merges() -> None:
    t = trial(Rule(do={"query[t]": None}), View(site(forum(10))))
    assert t is not None
    assert t.bad.sum() > 0
    # all first pages fall together: nine of ten topics are gone, and nine of ten second pages
    assert t.lost == 18


def test_a_rule_that_changes_nothing_is_no_trial() -> None:
    assert trial(Rule(do={"query[absent]": None}), View(site(forum(5)))) is None


def test_soft_and_unknown_pages_are_no_evidence() -> None:
    pages = site([("/a?s=1", "x"), ("/a", "x"), ("/b?s=1", "y"), ("/b", "y")])
    labels = pages.labels
    labels.soft[:] = True
    t = trial(Rule(do={"query[s]": None}), View(pages))
    assert t is not None
    assert len(t.source) == 0


_names = st.sampled_from(["a", "b", "sid", "t"])
_fields = st.lists(st.tuples(_names, st.sampled_from(["", "1", "2", "x y", "{"])), max_size=5)
_urls = st.builds(
    lambda path, fields, sep, flag, end: (
        path
        + ("?" + sep.join(n if flag and not v else f"{n}={v}" for n, v in fields) if fields else "")
        + end
    ),
    st.sampled_from(["/", "/x/y", "/x/"]),
    _fields,
    st.sampled_from(["&", ";"]),
    st.booleans(),
    st.sampled_from(["", "#f", "?"]),
)
_when = st.dictionaries(
    st.sampled_from(["query[a]", "query[b]"]), st.sampled_from([None, "{}", "{:rest}", "1", ""]), max_size=2
)


@given(
    st.lists(_urls, min_size=1, max_size=8, unique=True),
    _when,
    st.sets(_names, min_size=1, max_size=3),
    st.sampled_from([None, "/x/"]),
)
def test_drops_is_the_compiled_rule(
    paths: list[str], when: dict, names: set[str], prefix: str | None
) -> None:
    view = View(site((p, str(i)) for i, p in enumerate(paths)))
    rule = Rule(Scope(path=prefix), when=when, do={f"query[{n}]": None for n in names})
    quick, compiled = drops(rule, view), compile_rule(rule)
    assert quick is not None
    for i, url in enumerate(view.urls):
        assert quick(i) == compiled.apply(url), url
        assert view.after(i, compiled) == compiled.apply(url), url


def test_forms_taken_apart_once_give_what_the_rule_gives() -> None:
    view = View(site(forum(8)))
    for rule in Alignment().propose_on(view):
        compiled = compile_rule(rule)
        for i, url in enumerate(view.urls):
            new = compiled.apply(url)
            assert view.after(i, compiled) == (None if new == url else new)
