"""The file: complete in itself, of bounded size, and proof against whatever stands in URLs and books."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from undust.crawl import read
from undust.errors import UsageError
from undust.measures.papers import Curves
from undust.report import curves_page, report
from undust.rules import Rule, RuleBook, Scope, SiteRules

from .made_up import ATTACK, DROP_SID, book, hostile, pages, two_sites


class Page(HTMLParser):
    """The tags of a page with their attributes, and what its scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.title = self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._in == "title":
            self.title += data

    @property
    def data(self) -> Any:
        (found,) = [text for attributes, text in self.scripts if attributes.get("id") == "contents"]
        return json.loads(found)


def all_texts(data: Any) -> str:
    if isinstance(data, dict):
        return "\n".join(map(all_texts, [*data, *data.values()]))
    return "\n".join(map(all_texts, data)) if isinstance(data, list) else str(data)


@pytest.mark.parametrize("made", [two_sites, hostile])
def test_nothing_in_it_comes_from_elsewhere(made: Any) -> None:
    text = report(*made())
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag in {"html", "head", "meta", "title", "style", "body", "div", "noscript", "script"}, tag
        assert not {"src", "href", "style", "srcset", "data", "action"} & set(attributes), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style and "@import" not in style and "@font-face" not in style
    assert len(page.scripts) == 3


def test_the_policy_lets_these_scripts_run_and_no_other() -> None:
    page = Page(report(*hostile()))
    (policy,) = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none';")
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    run = [text for attributes, text in page.scripts if "type" not in attributes]
    assert allowed == {b64encode(sha256(text.encode()).digest()).decode() for text in run}
    assert "unsafe-eval" not in policy and "http" not in policy


def test_what_comes_from_outside_is_text() -> None:
    text = report(*hostile())
    page = Page(text)
    assert "onerror" in all_texts(page.data)  # it is there to be read
    before, _, after = text.partition('id="contents">')
    data = after.partition("</script>")[0]
    assert not set("<>") & set(data)
    assert "hacked" not in before + after[len(data) :]
    assert "\u202e" not in text and "\u200b" not in text


def test_a_hostile_name_in_the_title_is_a_name() -> None:
    site = SiteRules(ATTACK, rules=[DROP_SID])
    page = Page(report(RuleBook({ATTACK: site}), []))
    assert page.title == f"undust report: {ATTACK}"


def test_equal_input_equal_bytes() -> None:
    assert report(*two_sites()) == report(*two_sites())


def test_the_extra_is_asked_for_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(UsageError, match=r"undust\[report\]"):
        report(book(), pages())


def test_figures_of_the_papers_are_drawn_by_the_same_charts() -> None:
    parts = ["", "W Table 1", ATTACK, Curves("W Figure 5", "k", ("5", "10"), {ATTACK: (0.5, float("nan"))})]
    page = Page(curves_page(parts))
    text, figure = page.data
    assert text["text"] == f"W Table 1\n{ATTACK}"
    assert figure["series"] == [{"name": ATTACK, "values": [0.5, None]}]
    assert len(page.scripts) == 3 and "drawn anew" in page.scripts[-1][1]


def large(sites: int, n: int = 100_000) -> tuple[RuleBook, list[dict[str, Any]]]:
    """Sites of together n pages, with thirty rules each, as many as `learn` deploys."""
    noise = ("", "&sid={:032x}", "&highlight=", "&utm_source=mail&utm_campaign=c{}")
    rules = [
        Rule(do={"query[sid]": None}),
        Rule(when={"query[highlight]": ""}, do={"query[highlight]": None}),
        Rule(do={"query[utm_source]": None, "query[utm_campaign]": None}),
        Rule(Scope(path="/forum/section-1/"), do={"query[t]": None}),
        *(Rule(when={"query[t]": f"{i}"}, do={"query[t]": f"{i + 1}"}, status="likely") for i in range(26)),
    ]
    refused = [Rule(do={f"query[x{i}]": None}, status="rejected", why="because " * 20) for i in range(10)]
    names = [f"www.site{s}.example" for s in range(sites)]
    rows = [
        {
            "url": f"http://{name}/forum/section-{i % 37}/viewtopic.php?t={i // 4}" + noise[i % 4].format(i),
            "digest": f"{i // 4}{'changed' * (i % 97 == 0)}",
        }
        for name in names
        for i in range(n // sites)
    ]
    return RuleBook({name: SiteRules(name, (), rules, refused) for name in names}), rows


@pytest.mark.slow
@pytest.mark.parametrize("sites", [1, 200])
def test_it_stays_small_for_many_pages(sites: int) -> None:
    rules, rows = large(sites)
    assert len(report(rules, read(rows)).encode()) < 5_000_000
