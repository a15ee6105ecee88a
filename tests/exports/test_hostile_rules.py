"""Books that mean ill, or only have odd names: no export merges what the book does not, and none ends a line early."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
import readers

from undust.errors import BookError
from undust.exports import TARGETS, export
from undust.exports.sequence import redirects
from undust.rules import Canonicalizer, Rule, RuleBook, Scope, SiteRules
from undust.url import normal

HOSTS = ("h.test", "www.h.test", "b.h.test", "h.test:8080")
STRANGERS = ("u@h.test", "xh.test", "h.test.evil.test", "h.testing")
NAMES = [
    "sid", "t", "x", "a[]", "a%5B%5D", 'a"b', "$1", "\\1", "}", "{x}", "é", "%C3%A9", "a b", "a+b", "a%20b", "p", "pq",
    "a.b", "a*b", "a|b", "a;b", "amp;sid", "s(1)", "^s", "nosid", "sid2", "/t", "?x", "a'b", "%", "%zz", "a,b", "~",
]  # fmt: skip
VALUES = [
    "", "1", "2", "x", "A", "a", "1;t=2", "a/b", "a?sid=1", "%31", "$1", "\\", "é", "/sid=3", "a=b", "*", "1|2", ";",
]  # fmt: skip
PATHS = [
    "/", "/p", "/pq", "/p/", "/p/q", "/p;x=1", "/p.php", "/f/", "/f/g", "/$1", '/a"b', "/a\\b", "/é", "/p%20q", "/p*",
    "/p|", "/{x}", "//p", "/p//q",
]  # fmt: skip


def literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


class World:
    """Random rules and URLs of a small world."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)

    def name(self) -> str:
        return self.dice.choice(NAMES[:3] if self.dice.random() < 0.6 else NAMES)

    def url(self) -> str:
        dice = self.dice
        url = (
            dice.choice(("http", "http", "https"))
            + "://"
            + dice.choice(HOSTS + STRANGERS)
            + dice.choice(PATHS)
        )
        if dice.random() < 0.85:
            fields = [
                self.name() + (f"={dice.choice(VALUES)}" if dice.random() < 0.9 else "")
                for _ in range(dice.randint(0, 4))
            ]
            url += "?" + dice.choice(("&", "&", "&", ";", "&&", "&amp;")).join(fields)
        return normal(url + dice.choice(("", "", "", "#f", "#sid=1", "#?sid=1")))

    def rule(self) -> Rule:
        dice, name = self.dice, self.name()
        scope: dict[str, object] = {}
        if dice.random() < 0.4:
            scope = {"hosts": (dice.choice(HOSTS),)} if dice.random() < 0.8 else {"domain": "h.test"}
        if dice.random() < 0.25:
            scope["path"] = dice.choice(("/p", "/p/", "/f/", "/$1"))
        when: dict[str, object] = {}
        kind = dice.random()
        if kind < 0.6:
            do: dict[str, object] = {f"query[{name}]": None}
            if dice.random() < 0.2:
                do[f"query[{self.name()}]"] = None
            elif dice.random() < 0.25:
                when[f"query[{name}]"] = dice.choice(("1", "{}", "{:int}", "x", "a/b"))
        elif kind < 0.7:
            do = {f"query[{name}]": literal(dice.choice(VALUES))}
        elif kind < 0.75:
            do = {"query": None}
        elif kind < 0.85:
            do, when = {"path": literal(dice.choice(PATHS))}, {"path": literal(dice.choice(PATHS))}
        elif kind < 0.9:
            do, when = {"path": "/p/{q}"}, {"path": dice.choice(("/f/{q}", "/{q}.php"))}
        elif kind < 0.95:
            do, when = {"path[0]": None}, {"path[0]": dice.choice("pf")}
        else:
            do, scope = {"host": "h.test"}, {"hosts": ("www.h.test",)}
        if dice.random() < 0.25 and "path" not in when:
            when["path"] = dice.choice(("/p", "/f/{}", "/p/{:rest}"))
        if dice.random() < 0.06:
            when["names"] = dice.sample(NAMES[:4], dice.randint(0, 3))
        return Rule(Scope(**scope), when, do, order=dice.choice((0, 0, 0, 1)))  # type: ignore[arg-type]

    def book(self) -> RuleBook:
        while True:
            rules = [self.rule() for _ in range(self.dice.choice((1, 1, 2, 3)))]
            book = RuleBook({"h.test": SiteRules("h.test", HOSTS, rules)})
            try:
                Canonicalizer(book)
            except BookError:
                continue
            return book


def without_empty_fields(url: str) -> str:
    """What tools that take a query apart do to it besides."""
    url, sharp, fragment = url.partition("#")
    url, _, query = url.partition("?")
    fields = "&".join(field.removesuffix("=") for field in query.split("&") if field)
    return url + ("?" + fields if fields else "") + sharp + fragment


def duplicate_url_discarder(text: str, folder: Path) -> Callable[[str], str]:
    made = pytest.importorskip("duplicate_url_discarder.url_canonicalizer")
    path = folder / "dud.json"
    path.write_text(text)
    process: Callable[[str], str] = made.UrlCanonicalizer([path]).process_url
    return process


@pytest.mark.parametrize("to", ["regex", "clean-param", "clearurls", "clearurls-before", "dud"])
def test_no_export_merges_what_the_book_does_not(to: str, tmp_path: Path, no_network: None) -> None:
    world, changed = World(1), 0
    for _ in range(120):
        book = world.book()
        canon = Canonicalizer(book)
        text = export(book, to.removesuffix("-before")).text
        if to == "dud":
            apply = duplicate_url_discarder(text, tmp_path)
        else:
            apply = getattr(readers, {"clearurls": "clear_urls", "clearurls-before": "clear_urls_before"}.get(
                to, to.replace("-", "_")))(text)  # fmt: skip
        for url in (world.url() for _ in range(30)):
            if to == "clean-param" and ";" in url:
                continue  # how such a query is read there is not documented
            after = apply(url)
            settled = canon.settle(url)
            if after == url or settled.cycle or settled.endless:
                continue
            changed += 1
            one, other = normal(canon(after)), normal(settled.url)
            if to != "regex":
                one, other = without_empty_fields(one), without_empty_fields(other)
            rules = [rule.describe() for rule in book.rules()]
            assert one == other, (url, after, rules)
            if to == "regex":
                assert apply(after) == after, (url, after, rules)
    assert changed > 20


def test_no_chain_of_redirects_leads_elsewhere_or_in_a_circle() -> None:
    world, moved = World(2), 0
    for _ in range(100):
        book = world.book()
        canon, found = Canonicalizer(book), redirects(book).rewrites
        for url in (world.url() for _ in range(25)):
            at, settled = url, canon.settle(url)
            for _ in range(25):
                after = next((v for rewrite in found if (v := rewrite.apply(at)) is not None), None)
                if after is None:
                    break
                at = after
            else:
                raise AssertionError((url, [rule.describe() for rule in book.rules()]))
            if not settled.cycle and not settled.endless:
                moved += at != url
                assert normal(canon(at)) == normal(settled.url), (
                    url,
                    at,
                    [r.describe() for r in book.rules()],
                )
    assert moved > 60


EVIL = ["a\nRewriteRule ^ http://evil/ [R]", "a\r\nb", "a\tb", "a\u2028b", "a\x01b", "a\\", "a\\\\", "]]>", "-->",
        '"; } server {', "a#b", "${x}", "%{ENV:x}", "a\x00b", "\ud800"]  # fmt: skip


def evil_rules() -> Iterator[Rule]:
    for text in EVIL:
        yield Rule(do={f"query[{text}]": None}, status="validated")
        yield Rule(when={"path": literal(f"/{text}")}, do={"path": "/b"}, status="validated")
        yield Rule(when={"path": "/c"}, do={"path": literal(f"/{text}")}, status="validated")
        yield Rule(Scope(path=f"/{text}/"), do={"query[s]": None}, status="validated")
        yield Rule(when={"query[v]": literal(text)}, do={"query[v]": None}, status="validated")
        yield Rule(do={"substitute": {"from": f"x{text}", "to": text}}, status="validated")


@pytest.mark.parametrize("to", TARGETS)
def test_no_text_of_a_book_ends_a_line_or_a_string_early(to: str) -> None:
    plain = export(RuleBook({"h.test": SiteRules("h.test", rules=[Rule(do={"query[s]": None})])}), to).text
    for rule in evil_rules():
        for host in ("h.test", 'h"; } {', "h\nx", "h x"):
            book = RuleBook({"h.test": SiteRules("h.test", (host,), [rule])})
            found = export(book, to)
            text = found.text
            assert all(
                char.isprintable() or char == "\n" or (char == "\t" and to == "regex") for char in text
            ), rule
            if to in ("dud", "clearurls"):
                json.loads(text)
            elif to == "nutch":
                ET.fromstring(text)
            elif to == "regex":
                assert all(len(line.split("\t")) == 3 for line in text.splitlines())
            elif to == "clean-param":
                assert all(
                    re.fullmatch(r"# \S+|Clean-param: \S+( \S+)?", line) for line in text.splitlines() if line
                )
            else:
                known = {line.split(" ")[0] for line in plain.splitlines()}
                lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
                assert "\\\n" not in text
                assert all(line.split(" ")[0] in known for line in lines), rule
                # one quoted string in a condition, two in a line of a map: no quote but the ones we wrote
                assert all(line.count('"') in (0, 2, 4) for line in lines), rule
