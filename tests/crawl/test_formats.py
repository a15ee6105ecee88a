"""Each format: recognised by content, and what is taken from it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from undust.crawl import PAGE_SCHEMA, read
from undust.crawl.detect import detect
from undust.crawl.formats import FORMATS, load
from undust.crawl.formats.records import moment, to_batch
from undust.crawl.source import Source
from undust.errors import InputError, UsageError

TIME = "[29/Feb/2024:12:00:00 +0200]"
SAMPLES = {
    "log": f'c - - {TIME} "GET /a HTTP/1.1" 200 7 "-" "x"\nc - - {TIME} "-" 408 -\n',
    "json-log": '{"time_iso8601": "2024-02-29T12:00:00+02:00", "request": "GET /a?b=1 HTTP/1.1"}\n',
    "w3c": "#Version: 1.0\n#Fields: date time cs-method cs-uri-stem cs-uri-query sc-status\n"
    "2024-02-29 10:00:00 GET /a b=1 200\n",
    "urls": "http://example.com/a\nhttp://example.com/b\t17\tabc\n# end\n",
    "cdx": "com,example)/ 20140126200624 http://example.com/ text/html 200 ABC - - 333 334 x.warc.gz\n",
    "jsonl": '{"url": "http://example.com/a", "status": 200}\n',
    "csv": "url,size\nhttp://example.com/a,7\n",
    "sitemap": '<?xml version="1.0"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    "<url><loc>http://example.com/a</loc></url></urlset>\n",
}


def pages(tmp_path: Path, text: str | bytes, **options: Any) -> list[dict[str, Any]]:
    path = tmp_path / "input"
    path.write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    rows = read(path, **options).pages.to_pylist()
    return [{k: v for k, v in row.items() if v is not None} for row in rows]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_recognised_by_content(name: str) -> None:
    assert detect(Source.of(SAMPLES[name].encode(), "misleading.parquet")) == name


def test_bad_lines_among_good_ones_do_not_hide_the_format() -> None:
    for name in ("log", "json-log", "jsonl", "urls", "cdx"):
        line = SAMPLES[name].split("\n")[0] + "\n"
        assert detect(Source.of((line * 3 + "???\n" + line * 3 + "???\n").encode(), "x")) == name


def test_nothing_is_recognised_in_prose() -> None:
    with pytest.raises(InputError, match=r"no known format; .*\(force one with --format"):
        detect(Source.of(b"It was a dark and stormy night.\n", "novel.txt"))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"\0\0\0"])
def test_an_empty_input_is_no_error(data: bytes, tmp_path: Path) -> None:
    assert pages(tmp_path, data) == []


def test_format_forces_one(tmp_path: Path) -> None:
    text = "https://a.org/x\tno size\n"
    with pytest.raises(UsageError, match="no format 'pdf'"):
        pages(tmp_path, text, format="pdf")
    assert pages(tmp_path, text, format="urls")[0]["url"] == "https://a.org/x"
    for name in FORMATS:
        assert callable(load(name).read)


def test_url_list_with_size_and_digest(tmp_path: Path) -> None:
    assert pages(tmp_path, "http://h/a\t17\tabc\r\nhttp://h/b\t\txyz\n/c\nno url\n", host="https://h") == [
        {"url": "http://h/a", "size_min": 17, "size_max": 17, "hits": 1, "digest": "abc"},
        {"url": "http://h/b", "hits": 1, "digest": "xyz"},
        {"url": "https://h/c", "hits": 1},
    ]


def test_jsonl_fields(tmp_path: Path) -> None:
    text = (
        '{"url": "http://h/a", "status": "200", "size": 7, "sketch": ["0f", "10"], "cluster": 3, '
        '"soft": true, "canonical": "/c", "importance": 0.5, "text_len": 4, '
        '"fetched_at": "2024-02-29T12:00:00+02:00", '
        '"content_type": "text/html", "digest": "d", "other": [1]}\n'
        '{"url": "http://h/b", "status": 302, "location": "http://h/a", "size": "huge", "sketch": [1, 2]}\n'
    )
    assert pages(tmp_path, text) == [
        {
            "url": "http://h/a",
            "status": 200,
            "size_min": 7,
            "size_max": 7,
            "hits": 1,
            "content_type": "text/html",
            "digest": "d",
            "sketch": [15, 16],
            "canonical": "/c",
            "importance": 0.5,
            "cluster": "3",
            "soft": True,
            "text_len": 4,
            "fetched_at": "2024-02-29T10:00:00Z",
        },
        {"url": "http://h/b", "status": 302, "location": "http://h/a", "hits": 1, "sketch": [1, 2]},
    ]


def test_jsonl_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_bytes(
        b'{"url": "http://h/a"}\n{"url": \n[]\n{"size": 1}\n{"url": "h/b"}\n{"url": "http://h/\xe9"}\n'
    )
    crawl = read(path)
    assert crawl.pages.column("url").to_pylist() == ["http://h/%E9", "http://h/a"]
    reasons = ["no JSON object", "no URL", "no scheme: not an absolute URL"]
    assert [(b.line, b.why) for b in crawl.stats.first_bad] == list(zip((2, 4, 5), reasons, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        '[\n{"url": "http://h/a", "size": 1},\n{"url": "http://h/b", "size": 2}\n]',
        '[{"url": "http://h/a", "size": 1}, {"url": "http://h/b", "size": 2}]',
        '[{"url": "http://h/a",\n "size": 1},\n {"url": "http://h/b",\n "size": 2}',
        "url,size\nhttp://h/a,1\nhttp://h/b,2\n",
        '"size"\t"url"\n1\thttp://h/a\n2\t"http://h/b"\n',
    ],
)
def test_feeds_as_scrapy_and_others_write_them(text: str, tmp_path: Path) -> None:
    assert [(p["url"], p["size_min"]) for p in pages(tmp_path, text)] == [
        ("http://h/a", 1),
        ("http://h/b", 2),
    ]


def test_csv_quotes_over_lines_and_quotes_that_never_close(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('url,text\nhttp://h/a,"one\ntwo"\nhttp://h/b,"open\nhttp://h/c,x\nhttp://h/d,y\n')
    crawl = read(path)
    assert crawl.pages.column("url").to_pylist() == ["http://h/a", "http://h/c", "http://h/d"]
    assert [(b.line, b.text) for b in crawl.stats.first_bad] == [(4, 'http://h/b,"open')]


def test_url_field_names_the_url(tmp_path: Path) -> None:
    assert (
        pages(tmp_path, '{"page": "http://h/a"}\n', url_field="page", format="jsonl")[0]["url"]
        == "http://h/a"
    )
    assert pages(tmp_path, "page;n\nhttp://h/a;1\n", url_field="page", format="csv")[0]["url"] == "http://h/a"


def test_cdx_by_its_legend_headerless_and_as_cdxj_are_one(tmp_path: Path) -> None:
    legend = " CDX b a m s k r S\n20140126200624 http://h/a text/html 200 ABC - 333\n"
    eleven = "h)/a 20140126200624 http://h/a text/html 200 ABC - - 333 334 x.warc.gz\n"
    nine = "h)/a 20140126200624 http://h/a text/html 200 ABC - 334 x.warc.gz\n"
    seven = "h)/a 20140126200624 http://h/a text/html 200 ABC 333\n"
    cdxj = (
        'h)/a 20140126200624 {"url": "http://h/a", "mime": "text/html", "status": "200", '
        '"digest": "sha1:ABC", "length": "333"}\n'
    )
    rows = [pages(tmp_path, text) for text in (legend, eleven, nine, seven, cdxj)]
    page = {
        "url": "http://h/a",
        "status": 200,
        "size_min": 333,
        "size_max": 333,
        "hits": 1,
        "content_type": "text/html",
        "digest": "ABC",
        "fetched_at": "2014-01-26T20:06:24Z",
    }
    unsized = {k: v for k, v in page.items() if not k.startswith("size")}
    assert rows == [[page], [page], [unsized], [page], [page]]


def test_cdx_revisit_keeps_what_the_page_was(tmp_path: Path) -> None:
    text = (
        'h)/a 20140126200624 {"url": "http://h/a", "mime": "text/html", "status": "200", "digest": "ABC", '
        '"length": "333"}\nh)/a 20150126200624 {"url": "http://h/a", "mime": "warc/revisit", '
        '"digest": "ABC", "length": "12"}\n'
    )
    (page,) = pages(tmp_path, text)
    assert (page["status"], page["content_type"], page["size_max"], page["hits"]) == (
        200,
        "text/html",
        333,
        2,
    )


def test_digests_of_nothing_tell_nothing(tmp_path: Path) -> None:
    text = "h)/a 20140126200624 http://h/a text/html 302 3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ 333\n"
    assert "digest" not in pages(tmp_path, text)[0]


def test_w3c_log(tmp_path: Path) -> None:
    text = (
        "#Fields: date time cs-method cs-host cs-uri-stem cs-uri-query sc-status sc-bytes\r\n"
        "2024-02-29 10:00:00 GET h.org /a b=1 200 7\r\n2024-02-29 10:00:00 POST h.org /a - 200 7\r\nshort\r\n"
        "#Fields: cs-method cs-uri-stem sc-status\r\nHEAD /b 404\r\n"
    )
    path = tmp_path / "u_ex.log"
    path.write_bytes(text.encode())
    crawl = read(path, host="other.org")
    assert [(p["url"], p["size_min"]) for p in crawl.pages.to_pylist()] == [
        ("http://h.org/a?b=1", 7),
        ("http://other.org/b", None),
    ]
    assert (crawl.stats.skipped, crawl.stats.bad, crawl.stats.first_bad[0].line) == (1, 1, 4)


@pytest.mark.parametrize(
    "line",
    [
        '{"request": "GET /a?b=1 HTTP/1.1", "host": "h.org", "status": 200, "body_bytes_sent": 7}',
        '{"request_method": "GET", "request_uri": "/a?b=1", "uri": "/a", "host": "h.org", "status": "200",'
        ' "size": "7"}',
        '{"request": {"method": "GET", "uri": "/a?b=1", "host": "h.org"}, "status": 200, "size": 7,'
        ' "ts": 1.5e9}',
        '{"RequestMethod": "GET", "RequestPath": "/a?b=1", "RequestHost": "h.org", "DownstreamStatus": 200,'
        ' "DownstreamContentSize": 7}',
        '{"method": "GET", "path": "/a", "query": "b=1", "host": "h.org", "status": 200, "bytes": 7}',
        '{"httpRequest": {"requestMethod": "GET", "requestUrl": "http://h.org/a?b=1", "status": 200,'
        ' "responseSize": "7"}}',
    ],
)
def test_json_logs_of_many_servers(line: str, tmp_path: Path) -> None:
    (page,) = pages(tmp_path, line + "\n" + line.replace("GET", "POST") + "\n")
    assert (page["url"], page["status"], page["size_min"], page["hits"]) == ("http://h.org/a?b=1", 200, 7, 1)


def test_sitemap_locations_with_entities_images_and_cdata(tmp_path: Path) -> None:
    text = (
        '<urlset xmlns="x" xmlns:image="y"><url><loc> http://h/a?b=1&amp;c=2 </loc>'
        "<image:image><image:loc>http://h/i.png</image:loc></image:image></url>"
        "<url><loc><![CDATA[http://h/b]]></loc></url><url><loc>http://h/c</loc></url>"
    )
    assert [p["url"] for p in pages(tmp_path, text)] == ["http://h/a?b=1&c=2", "http://h/b", "http://h/c"]


def test_a_sitemap_index_says_that_it_is_one(tmp_path: Path) -> None:
    path = tmp_path / "index.xml"
    path.write_text("<sitemapindex><sitemap><loc>http://h/1.xml</loc></sitemap></sitemapindex>")
    crawl = read(path)
    assert crawl.n == 0
    assert "index of 1 sitemaps" in crawl.stats.notes[0]


def test_parquet_with_common_crawl_names(tmp_path: Path) -> None:
    table = pa.table(
        {
            "url": ["http://h/a", "http://h/b", None],
            "url_host_name": ["h", "h", "h"],
            "fetch_status": pa.array([200, 301, 200], pa.int16()),
            "fetch_time": pa.array([0, 1, 2], pa.timestamp("ms", "UTC")),
            "fetch_redirect": [None, "http://h/a", None],
            "content_digest": ["A", "B", "C"],
            "content_mime_type": ["text/html", None, None],
        }
    )
    pq.write_table(table, tmp_path / "part-0.parquet")
    (tmp_path / "_SUCCESS").touch()
    crawl = read(tmp_path)
    assert [(p["url"], p["status"], p["digest"], p["location"]) for p in crawl.pages.to_pylist()] == [
        ("http://h/a", 200, "A", None),
        ("http://h/b", 301, "B", "http://h/a"),
    ]
    assert crawl.pages.column("fetched_at")[0].as_py() == "1970-01-01T00:00:00Z"
    assert crawl.stats.bad == 1


def test_a_page_table_reads_back_as_it_was(tmp_path: Path) -> None:
    first = read(
        [
            {
                "url": "http://h/a",
                "status": 200,
                "size": 7,
                "sketch": [1, 2**63],
                "cluster": 1,
                "soft": False,
            },
            {
                "url": "http://h/a",
                "status": 200,
                "size": 9,
                "digest": "x",
                "fetched_at": "2024-02-29T10:00:00Z",
            },
            {"url": "http://h/b", "status": 404, "hits": 5, "importance": 2.5},
        ]
    )
    pq.write_table(first.pages, tmp_path / "pages")
    for again in (read(tmp_path / "pages"), read(first), read(first.pages)):
        assert again.pages.equals(first.pages)
        assert again.pages.schema.equals(PAGE_SCHEMA)


@pytest.mark.parametrize("data", [b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_a_broken_parquet_file_is_an_input_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no readable Parquet file"):
        pages(tmp_path, data)


def test_parquet_without_urls_names_its_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": ["x"]}), tmp_path / "x")
    with pytest.raises(InputError, match="no URL column among name"):
        read(tmp_path / "x")


def test_warc_without_its_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "undust.crawl.formats.warc", None)
    with pytest.raises(InputError, match=r"pip install undust\[warc\]"):
        pages(tmp_path, "WARC/1.0\r\nWARC-Type: warcinfo\r\n\r\n")


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("2024-02-29T10:00:00Z", "2024-02-29T10:00:00"),
        ("2024-02-29", "2024-02-29T00:00:00"),
        ("20240229100000", "2024-02-29T10:00:00"),
        (1709200800, "2024-02-29T10:00:00"),
        (1709200800000, "2024-02-29T10:00:00"),
        ("yesterday", None),
        (True, None),
        (1e300, None),
    ],
)
def test_times_in_use(value: Any, iso: str | None) -> None:
    time = moment(value)
    assert (time and time.isoformat()) == iso


def test_values_that_do_not_fit_are_left_out() -> None:
    odd: dict[str, Any] = {
        "url": "http://h/a\0b\ud800",
        "status": 10**30,
        "size": -1,
        "size_max": "1e5",
        "hits": float("nan"),
        "importance": "inf",
        "soft": "perhaps",
        "sketch": [-1],
        "text_len": {},
        "fetched_at": "9999",
        "digest": {"a": 1},
    }
    assert to_batch([odd]).to_pylist()[0] == dict.fromkeys(odd, None) | {"url": "http://h/a%00b\ufffd"}


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("link,size\nhttp://h/a,1\nhttp://h/b,2\n", "link"),
        ('"Address";"Title"\n"http://h/a";"A"\n"http://h/b";"B, C"\n', "Address"),
        ("n\tpage\n1\thttp://h/a\n2\thttp://h/b\n", "page"),
    ],
)
def test_a_table_whose_column_of_urls_has_an_unknown_name_is_no_list_of_urls(
    tmp_path: Path, text: str, column: str
) -> None:
    with pytest.raises(InputError, match=f":1: no URL column in this header.*--url-field {column}"):
        pages(tmp_path, text)
    assert {row["url"] for row in pages(tmp_path, text, url_field=column)} == {"http://h/a", "http://h/b"}


def test_column_names_are_compared_without_case_and_blanks(tmp_path: Path) -> None:
    [page] = pages(tmp_path, "URL,Status Code,Content Type\nhttp://h/a,200,text/html\n")
    assert (page["url"], page["status"], page["content_type"]) == ("http://h/a", 200, "text/html")


def test_a_list_of_urls_with_commas_stays_one(tmp_path: Path) -> None:
    urls = ["http://h/topic,1.0.html", "http://h/topic,2.0.html"]
    assert [row["url"] for row in pages(tmp_path, "\n".join(urls))] == urls


@pytest.mark.parametrize(
    "text", ['["http://h/a", "http://h/b"]', '[\n "http://h/a",\n {"url": "http://h/b"}\n]']
)
def test_an_array_of_urls(tmp_path: Path, text: str) -> None:
    assert [row["url"] for row in pages(tmp_path, text)] == ["http://h/a", "http://h/b"]


def test_what_is_no_object_in_an_array_is_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "feed.json"
    path.write_text('[{"url": "http://h/a"}, 7, null, [1],\n{"url": oops}]')
    stats = read(path).stats
    assert (stats.records, stats.lines) == (1, stats.bad + 1)
    assert stats.bad >= 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            b"www.h.test/a\nwww.h.test/b\n",
            "first one is: www.h.test/a .URLs need a scheme: http://www.h.test/a",
        ),
        (b"name,size\nfoo,1\n", "first one is: name,size .a table needs a column of URLs"),
        (b"\x89PNG\r\n\x1a\n\0\0", "this is no text"),
        ("h\n".encode("utf-16-le") * 5, "this is no text"),
        (b"Once upon a time\n", "first one is: Once upon a time .force one with --format"),
    ],
)
def test_an_input_of_no_known_format_is_shown_with_what_to_do(tmp_path: Path, text: bytes, why: str) -> None:
    with pytest.raises(InputError, match=why):
        pages(tmp_path, text)


def test_an_input_that_gives_nothing_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"<html>no map</html>")
    assert read(path, format="sitemap").stats.notes == (f"{path}: nothing in it could be read as sitemap",)
    path.write_bytes(b"")
    assert read(path, format="sitemap").stats.notes == ()
