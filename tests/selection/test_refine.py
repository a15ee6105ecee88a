"""Narrowing a proposal to where it holds, and the figures it is judged by."""

from __future__ import annotations

import numpy as np
import pytest

from undust.learners.view import View
from undust.rules import Rule
from undust.selection.bounds import wilson_lower, wilson_upper
from undust.selection.prior import NEUTRAL, strength
from undust.selection.refine import Bar, Count, refine
from undust.selection.trial import trial

from .made_up import site


def test_a_default_value_is_told_from_the_others() -> None:
    pages = [(f"/t?id={i}{start}", f"{i}{'' if start in ('', '&start=0') else start}")
             for i in range(30) for start in ("", "&start=0", "&start=15", "&start=30")]  # fmt: skip
    t = trial(Rule(do={"query[start]": None}), View(site(pages)))
    assert t is not None
    (only,) = refine(t, Bar())
    assert dict(only.rule.when) == {"path": "/t", "query[start]": "0"}
    assert (only.good, only.bad) == (30, 0)


def test_a_name_may_be_a_session_here_and_the_content_there() -> None:
    pages = [
        (f"/shop/{kind}/x{i}?page={s}{i}", f"{kind}{i}") for kind in "pq" for i in range(30) for s in "ab"
    ]
    pages += [(f"/list/y{i}?page={s}", f"y{i}{s}") for i in range(30) for s in "ab"]
    t = trial(Rule(do={"query[page]": None}), View(site(pages)))
    assert t is not None
    (only,) = refine(t, Bar())
    assert only.rule.scope.path == "/shop/"


def test_evidence_of_one_fold_alone_does_not_count() -> None:
    alone = Count(np.array([9, 0, 0, 0, 0]), np.zeros(5, np.int64), 0)
    spread = Count(np.array([2, 2, 2, 2, 1]), np.zeros(5, np.int64), 0)
    assert alone.judged(NEUTRAL, Bar())[1] == 0
    assert spread.judged(NEUTRAL, Bar())[1] == 9


def test_bounds_against_their_definition() -> None:
    # the Wilson bound p solves (p_hat - p)^2 = z^2 p (1 - p) / n
    for good, total in ((3, 3), (40, 50), (1, 9)):
        p, p_hat, z = wilson_lower(good, total), good / total, 1.645
        assert (p_hat - p) ** 2 == pytest.approx(z * z * p * (1 - p) / total)
        assert wilson_upper(total - good, total) == pytest.approx(1 - p)


def test_the_prior_orders_what_common_knowledge_orders() -> None:
    def drop(name: str, value: str | None = None) -> float:
        return strength(
            Rule(when={} if value is None else {f"query[{name}]": value}, do={f"query[{name}]": None})
        )

    assert drop("PHPSESSID") > drop("colour") > drop("id") == 0
    # `sid` is a session on one site and a story on the next: its values tell
    session = Rule(do={"query[sid]": None})
    assert strength(session, lambda key: True) == drop("PHPSESSID") and strength(session) == drop("colour")
    # one day for another is true by accident, one spelling for another is not
    day, month = ({"query[d]": v} for v in ("7", "07"))
    assert strength(Rule(when=day, do={"query[d]": "8"})) == 0 < strength(Rule(when=day, do=month))
    assert drop("start", "0") > drop("start")
    assert drop("amp;utm_source") == drop("utm_source")


def test_values_that_were_not_seen_are_not_spoken_of() -> None:
    pages = [(f"/a?id={i}{view}", f"c{i}") for i in range(50) for view in ("", "&view=full", "&view=wide")]
    t = trial(Rule(do={"query[view]": None}), View(site(pages)))
    assert t is not None
    found = refine(t, Bar())
    assert found
    assert {c.rule.when["query[view]"] for c in found} == {"full", "wide"}


def test_paths_that_were_not_seen_are_not_spoken_of() -> None:
    pages = [(f"/a?id={i}&s={s}{i}", f"c{i}") for i in range(50) for s in "xy"]
    t = trial(Rule(do={"query[s]": None}), View(site(pages)))
    assert t is not None
    assert [dict(c.rule.when) for c in refine(t, Bar())] == [{"path": "/a"}]
