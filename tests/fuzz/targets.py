"""What is fuzzed: each target takes any bytes, and fails only by raising, hanging or taking too much memory.

A target says what must hold of what it read, not only that nothing is raised; errors of `undust.errors` are answers.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from undust.crawl.detect import detect
from undust.crawl.formats import FORMATS, Options, load
from undust.crawl.formats.warc import read_warc
from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.crawl.text import page_text
from undust.errors import BookError, InputError, UndustError
from undust.rules import Canonicalizer, Rule, RuleBook, Scope, SiteRules, compile_rule
from undust.rules.canonicalizer import MAX_ROUNDS
from undust.url import SiteTable, key_view, normal, parse, tokenize, unparse

SLOW = 5.0
"""CPU seconds for one input; all inputs are below 64 kB, and none has a reason to take a tenth of it."""


def url(data: bytes) -> None:
    """The parser is lossless, the normal form idempotent, and the table of a site says what the key view says."""
    urls = data.decode("utf-8", "surrogateescape").split("\n")[:20]
    for one in urls:
        assert unparse(parse(one)) == one
        form = normal(one)
        assert normal(form) == form
        assert "".join(tokenize(one)[1:-1]) == one
    table = SiteTable.build(urls)
    views = [key_view(one) for one in urls]
    for key in [*table.keys[:30], "path", "query"]:
        codes, values = table.column(key)
        assert [values[c] for c in codes.tolist()] == [view.get(key) for view in views]
    assert table.urls.tolist() == urls


def reader(name: str, data: bytes) -> None:
    """Batches of the schema or an InputError; each line is a record, bad or skipped."""
    tally = Tally(io.BytesIO())
    tally.start("x", name)
    source = Source.of(data, "x")
    source.note = tally.note
    with suppress(InputError):
        for batch in load(name).read(source, Options(host="h.example"), tally):
            batch.validate(full=True)
            tally.batch(batch)
        stats = tally.stats()
        assert stats.lines == stats.records + stats.bad + stats.skipped


def packed(data: bytes) -> None:
    """Whatever is packed, cut off or in another encoding: a format, none, or an InputError."""
    with suppress(InputError):
        assert detect(Source.of(data, "x")) in (None, *FORMATS)
    with suppress(InputError):
        lines = [line for _, line in Source.of(data, "x").numbered()]
        assert all(b"\n" not in line for line in lines)


def warc(data: bytes) -> None:
    """Archives: rows, or what `formats/archive.py` turns into an InputError."""
    with tempfile.NamedTemporaryFile(suffix=".warc") as file:
        file.write(data)
        file.flush()
        with suppress(OSError, ValueError, RuntimeError):
            for batch in read_warc(Path(file.name)):
                batch.validate(full=True)


def html(data: bytes) -> None:
    """A page's text and canonical address, whatever the page, its headers and its encoding."""
    head, _, body = data.partition(b"\n")
    words = head.decode("latin-1").split("|")
    content_type, charset, link = [*words, "", "", ""][:3]
    found = page_text(body, "http://h.example/a/", content_type or None, charset or None, [link])
    assert found.text is None or isinstance(found.text, str)


URLS = [
    "http://a.example/", "http://a.example/a/b?s=1&t=2#f", "http://www.a.example:8080/x;s=1?amp;s=2",
    "HTTP://A.example/%7Ea/../b//c?", "https://b.example/wiki/a_b?q=%41%zz", "http://a.example/?s=1;t=2&s=3",
    "nonsense", "", "http://a.example/" + "a/" * 50, "http://a.example/?" + "s=1&" * 50, "//a.example/\udc80",
]  # fmt: skip


def settled(canon: Canonicalizer, urls: list[str]) -> None:
    """Ends within ten rounds, says the same the second time, and in time that the length of the URL allows."""
    for one in urls:
        start = time.process_time()
        steps: list[Any] = []
        out = canon.settle(one, steps)
        assert time.process_time() - start < 0.5 + len(one) * 1e-3
        rules = max(1, len({rule.id for rule, _, _ in steps if rule}))
        assert len(steps) <= (MAX_ROUNDS + 1) * (2 * rules + 1)
        assert canon(one) == out.url
        assert canon(out.url) == out.url
        canon.key(one)
    assert canon.map(urls) == [canon(one) for one in urls]


def book(data: bytes) -> None:
    """A rule book from anywhere: a BookError, or a book that is written as it was read and can be applied."""
    try:
        read = RuleBook.loads(data)
        text = read.dumps()
    except BookError:
        return
    assert RuleBook.loads(text).dumps() == text
    with suppress(UndustError):
        Canonicalizer(read)
    settled(Canonicalizer(read, "likely", check=False), URLS)


KEYS = [
    "path", "path[0]", "path[1]", "path[-1]", "path[-2]", "matrix[s]", "query", "query[s]", "query[t]", "query[s#2]",
    "fragment", "host", "host[0]", "host[1]", "scheme", "port", "url",
]  # fmt: skip
CONDITIONS: list[Any] = [
    "{}", "{:int}", "{:rest}", "{x}_{:int}", "a{}", "{x:rest}", "/{x}", "/{x}/{y}", "/wiki/{x}", "", "a", "1",
    "{x:word}{:int}", "{x:slug}", None, ["a", "b"], {"not": ["a", ""]}, {"present": True}, "a.example", "{x:date}",
]  # fmt: skip
ACTIONS: list[Any] = [
    None, "", "a", "1", "{x}", "{path}", "{path}{path}", "{query[s]}", "{url}", "{x|lower}", "{path|tr(a,b)}",
    "{query|sort}", "{query|noempty}", "{path|dots|slashes}", "{x|encode}", "{x|decode}", {"ignore": "x"},
    "a.example", "/{path[1]}/{path[0]}", "{query|amp}", "{path|slash}", "{x|upper}",
]  # fmt: skip
SUBSTITUTIONS = ["", "-", "/", "//", "a", "s=1", "&s=1", "?s", "aaaa", "_", "%7E", "index.html", "www."]
SCOPES = [Scope(), Scope(path="/a/"), Scope(hosts=("a.example",)), Scope(domain="a.example")]


class Choices:
    """Bytes as a row of choices; when they are used up, the first of each."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def of(self, choices: list[Any]) -> Any:
        return choices[self.byte() % len(choices)]

    def rest(self) -> bytes:
        return self.data[self.at :]


def chosen_rule(choose: Choices, order: int) -> Rule | None:
    """A rule of these choices, if the language allows it."""
    when = {choose.of(KEYS): choose.of(CONDITIONS) for _ in range(choose.byte() % 3)}
    do: dict[str, Any] = {choose.of(KEYS): choose.of(ACTIONS) for _ in range(choose.byte() % 4)}
    if not do:
        do = {"substitute": {"from": choose.of(SUBSTITUTIONS), "to": choose.of(SUBSTITUTIONS)}}
        if choose.byte() % 4 == 3:
            do["substitute"]["end"] = True
    try:
        rule = Rule(choose.of(SCOPES), when, do, order if choose.byte() % 2 else 0)
        compile_rule(rule)
    except BookError:
        return None
    return rule


def canon(data: bytes) -> None:
    """Random books times random URLs."""
    choose = Choices(data)
    rules = [chosen_rule(choose, n) for n in range(choose.byte() % 6)]
    kept = list({rule.id: rule for rule in rules if rule}.values())
    hosts = ("a.example", "www.a.example", "b.example")
    made = RuleBook({"a.example": SiteRules("a.example", hosts, kept)}, choose.of(["host", "domain"]))
    tails = choose.rest().decode("utf-8", "surrogateescape").split("\n")[:8]
    urls = [choose.of(URLS) + tail for tail in tails] + URLS
    with suppress(BookError):
        Canonicalizer(made)
    settled(Canonicalizer(made, check=False), urls)


def learn(data: bytes) -> None:
    """A few pages of one site, whatever their URLs, to each learner; the book can be written and applied."""
    from undust.engines.learn import learn_site
    from undust.learners import create
    from undust.likeness import split_sites

    choose = Choices(data)
    name = choose.of(["auto", "dustbuster", "rewrite", "pairwise", "pattern-tree", "alignment"])
    digested = choose.byte() % 4
    lines = choose.rest().decode("utf-8", "surrogateescape").split("\n")[:40]
    rows = [
        {"url": "http://a.example/" + line, "size": 100 + i // 2}
        | ({"digest": str(i // digested)} if digested else {})
        for i, line in enumerate(lines)
    ]
    from undust.crawl import read

    for site in split_sites(read(rows).pages):
        made = RuleBook({site.name: learn_site(site, create(name))})
        assert RuleBook.loads(made.dumps()).dumps() == made.dumps()
        canon = Canonicalizer(made, "likely")
        once = canon.map(site.urls.tolist())
        assert canon.map(once) == once


TARGETS: dict[str, Callable[[bytes], None]] = {
    "url": url,
    **{name: partial(reader, name) for name in FORMATS if name != "warc"},
    "packed": packed,
    "warc": warc,
    "html": html,
    "book": book,
    "canon": canon,
    "learn": learn,
}


def seeds(name: str) -> list[bytes]:
    """The corpus of a target, smallest first."""
    folder = Path(__file__).parent / "corpus" / name
    return sorted((p.read_bytes() for p in folder.iterdir()), key=lambda data: (len(data), data))


def within(name: str, data: bytes) -> None:
    """Run a target on one input, and hold it to its time."""
    start = time.process_time()
    TARGETS[name](data)
    spent = time.process_time() - start
    assert spent < SLOW, f"{spent:.1f} CPU seconds for {len(data)} bytes"
