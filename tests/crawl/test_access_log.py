"""Web server logs: what is taken from a line, and that the fast way and the plain way agree."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.crawl import read
from undust.crawl.formats import Head, Options
from undust.crawl.formats.access_log import parse, sniff
from undust.crawl.formats.access_log import read as read_log
from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.errors import InputError

HOST = Options(host="www.example.com")
TIME = "[29/Feb/2024:12:00:00 +0200]"
UTC = datetime(2024, 2, 29, 10)


def records(text: str | bytes, options: Options = HOST) -> list[dict[str, Any]]:
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    tally = Tally()
    tally.start("test", "log")
    return [r for b in read_log(Source.of(data, "test"), options, tally) for r in b.to_pylist()]


@pytest.mark.parametrize(
    ("line", "url", "status", "size"),
    [
        (f'192.0.2.1 - - {TIME} "GET /a HTTP/1.0" 200 7', "http://www.example.com/a", 200, 7),
        (f'::1 - u {TIME} "GET /a?b=1 HTTP/1.1" 404 - "-" "x"', "http://www.example.com/a?b=1", 404, None),
        (f'c - john doe {TIME} "GET /a HTTP/2.0" 200 7 "-" "x" 0.004', "http://www.example.com/a", 200, 7),
        ('0.0.0.0 [29:23:53:25] "GET /a.html HTTP/1.0" 200 1497', "http://www.example.com/a.html", 200, 1497),
        ('0.0.0.0 [29:23:53:25] "GET /"a" HTTP/1.0" 404', 'http://www.example.com/"a"', 404, None),
        (f'c - - {TIME} "GET /a" 200 7', "http://www.example.com/a", 200, 7),
        (f'c - - {TIME} "HEAD /a HTTP/1.1" 200 350', "http://www.example.com/a", 200, None),
        (f'c - - {TIME} "GET http://other.org/a HTTP/1.1" 200 7', "http://other.org/a", 200, 7),
        (f'c - - {TIME} "GET //a/b HTTP/1.1" 200 7', "http://www.example.com//a/b", 200, 7),
        (f'c - - {TIME} "GET /a b HTTP/1.1" 200 7', "http://www.example.com/a b", 200, 7),
        (f'c - - {TIME} "GET /a\\"b HTTP/1.1" 200 7', 'http://www.example.com/a"b', 200, 7),
        (f'c - - {TIME} "GET /caf\\xc3\\xa9 HTTP/1.1" 200 7', "http://www.example.com/café", 200, 7),
        (f'c - - {TIME} "GET /caf\\xe9 HTTP/1.1" 200 7', "http://www.example.com/caf%E9", 200, 7),
        (f'c - - {TIME} "GET /caf\udce9 HTTP/1.1" 200 7', "http://www.example.com/caf%E9", 200, 7),
        (f'c - - {TIME} "GET /café HTTP/1.1" 200 7', "http://www.example.com/café", 200, 7),
        (f'c - - {TIME} "GET /a HTTP/1.1" 200 7 "http://x/\\"" "a\\"b"', "http://www.example.com/a", 200, 7),
        (f'c - - {TIME} "GET /a HTTP/1.1" 200 7\r', "http://www.example.com/a", 200, 7),
    ],
)
def test_a_line_becomes_a_record(line: str, url: str, status: int, size: int | None) -> None:
    (record,) = records(line + "\n")
    assert (record["url"], record["status"], record.get("size")) == (url, status, size)
    assert record.get("fetched_at") == (UTC if TIME in line else None)


@pytest.mark.parametrize(
    ("front", "url"),
    [
        ("www.example.org:80 192.0.2.1 - -", "http://www.example.org/a"),
        ("www.example.org:443 192.0.2.1 - -", "https://www.example.org/a"),
        ("www.example.org:8080 2001:db8::1 - u", "http://www.example.org:8080/a"),
        ("www.example.org 192.0.2.1 - -", "http://www.example.org/a"),
    ],
)
def test_the_virtual_host_in_front_is_the_host(front: str, url: str) -> None:
    plain = f'{front} {TIME} "GET /a HTTP/1.1" 200 7 "-" "x"\n'
    odd = f'{front} {TIME} "GET /a" 200 7 "-" "x"\n'
    assert [r["url"] for r in records(plain + odd)] == [url, url]


def test_a_client_name_is_no_virtual_host() -> None:
    line = f'host.example.org - - {TIME} "GET /a HTTP/1.1" 200 7\n'
    assert records(line)[0]["url"] == "http://www.example.com/a"


@pytest.mark.parametrize(
    "request_line",
    ["POST /a HTTP/1.1", "OPTIONS * HTTP/1.0", "-", "", "\\x16\\x03\\x01", "GET", "CONNECT h:443 HTTP/1.1"],
)
def test_what_is_no_page_view_is_skipped_not_bad(request_line: str) -> None:
    lines = f'c - - {TIME} "{request_line}" 400 7\nc - - {TIME} "GET /a HTTP/1.1" 200 7\n'
    stats = read_bytes(lines)
    assert (stats.lines, stats.records, stats.skipped, stats.bad) == (2, 1, 1, 0)


def read_bytes(text: str, host: str | None = "www.example.com") -> Any:
    tally = Tally()
    tally.start("test", "log")
    for batch in read_log(Source.of(text.encode(), "test"), Options(host=host), tally):
        tally.batch(batch)
    return tally.stats()


def test_bad_lines_are_counted_and_the_first_five_shown() -> None:
    good = f'c - - {TIME} "GET /a HTTP/1.1" 200 7\n'
    stats = read_bytes(good * 3 + "\n" + "".join(f"garbage {i}\n" for i in range(7)) + good)
    assert (stats.lines, stats.records, stats.bad) == (11, 4, 7)
    assert [(b.line, b.text) for b in stats.first_bad] == [(5 + i, f"garbage {i}") for i in range(5)]


def test_without_a_host_the_error_names_the_option() -> None:
    with pytest.raises(InputError, match=r"test:1: .*--host"):
        read_bytes(f'c - - {TIME} "GET /a HTTP/1.1" 200 7\n', host=None)


def test_a_log_of_absolute_requests_needs_no_host() -> None:
    stats = read_bytes(
        f'c - - {TIME} "GET http://a.org/ HTTP/1.1" 200 7\nc - - {TIME} "GET /a HTTP/1.1" 200 7\n', host=None
    )
    assert (stats.records, stats.bad, stats.first_bad[0].why) == (1, 1, "a path without a host")


def test_sniff_counts_the_lines_it_knows() -> None:
    line = f'c - - {TIME} "GET /a HTTP/1.1" 200 7\n'
    assert sniff(Head((line * 3 + "no\n").encode())) == 0.75


WORD = st.text("ab1-.", min_size=1, max_size=4)
LINES = st.builds(
    lambda front, time, method, target, proto, status, size, rest, end: (
        f'{front} [{time}] "{method} {target}{proto}" {status} {size}{rest}{end}'
    ),
    st.sampled_from(["192.0.2.1 - -", "c - john doe", "0.0.0.0", "www.example.org:80 c - -", ""]),
    st.sampled_from(
        ["29/Feb/2024:12:00:00 +0200", "01/Jan/1995:00:00:00 -0400", "29:23:53:25", "", "30/Feb/2024"]
    ),
    st.sampled_from(["GET", "HEAD", "POST", "get", "G"]),
    st.text('/?=&%ab1"\\ x\té', max_size=8).map(lambda s: "/" + s)
    | WORD.map(lambda w: f"http://{w}/")
    | WORD,
    st.sampled_from([" HTTP/1.1", " HTTP/1.0", "", " HTTP/"]),
    st.sampled_from(["200", "404", "20", "2000", "-"]),
    st.sampled_from(["7", "-", "", "123456789", "7x"]),
    st.sampled_from(["", ' "-" "agent"', ' "a \\" b" "c"', " 12"]),
    st.sampled_from(["", "\r", " "]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, min_size=3, max_size=9))
def test_the_fast_way_and_the_plain_way_agree(lines: list[str]) -> None:
    parsed = [parse(line.strip("\r\n"), HOST, hosted=False) for line in lines if line.strip()]
    expected = sorted(str((p["url"], p["status"], p["size"], p["fetched_at"])) for p in parsed if p)
    # Plain lines in front, so that the input is not taken for one with virtual hosts.
    front = f'c - - {TIME} "GET /front HTTP/1.1" 200 7\n' * 20
    rows = [r for r in records(front + "\n".join(lines)) if not r["url"].endswith("/front")]
    got = sorted(str((r["url"], r["status"], r.get("size"), r.get("fetched_at"))) for r in rows)
    assert got == expected


def test_a_whole_log_becomes_a_table(tmp_path: Any) -> None:
    log = tmp_path / "access.log"
    log.write_text(
        f'c - - {TIME} "GET /a HTTP/1.1" 200 7\n'
        f'c - - {TIME} "GET /a HTTP/1.1" 200 9\n'
        f'c - - {TIME} "GET /a HTTP/1.1" 304 -\n'
        f'c - - {TIME} "GET /b HTTP/1.1" 404 3\n'
    )
    pages = read(log, host="www.example.com").pages.to_pylist()
    keys = ("url", "status", "size_min", "size_max", "hits", "fetched_at")
    assert [tuple(p[k] for k in keys) for p in pages] == [
        ("http://www.example.com/a", 200, 7, 9, 3, "2024-02-29T10:00:00Z"),
        ("http://www.example.com/b", 404, None, None, 1, "2024-02-29T10:00:00Z"),
    ]
