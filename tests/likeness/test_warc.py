"""Archives: what is read of each kind of record, and what damage leaves."""

import gzip
import hashlib
import zlib
from base64 import b32encode
from pathlib import Path

import pytest

pytest.importorskip("fastwarc")

from undust.crawl import read
from undust.crawl.formats.warc import read_warc
from undust.crawl.text import decode, page_text
from undust.likeness import sketch_kind, sketcher, split_sites

HTML = (
    b"<html><head><title>T</title><link rel=canonical href=/x></head><body><p>Some words here.</body></html>"
)
DIGEST = "sha1:" + b32encode(hashlib.sha1(HTML).digest()).decode()


def record(kind: str, url: str, block: bytes, **headers: str) -> bytes:
    lines = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{zlib.crc32(url.encode() + block):032x}>",
        "WARC-Target-URI": url,
        "WARC-Date": "2024-02-29T12:00:00Z",
        "Content-Type": "application/http; msgtype=response",
        "Content-Length": str(len(block)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return b"WARC/1.0\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"


def http(body: bytes = HTML, status: str = "200 OK", **headers: str) -> bytes:
    lines = {
        "Content-Type": "text/html",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in lines.items()), "", ""]
    return "\r\n".join(head).encode() + body


def rows(tmp_path: Path, *records: bytes, packed: bool = False) -> list[dict[str, object]]:
    path = tmp_path / ("a.warc.gz" if packed else "a.warc")
    path.write_bytes(b"".join(gzip.compress(r) for r in records) if packed else b"".join(records))
    return [row for batch in read_warc(path) for row in batch.to_pylist()]


@pytest.mark.parametrize("packed", [False, True])
def test_a_response(tmp_path, packed):
    (row,) = rows(tmp_path, record("response", "http://a.example/x?s=1", http()), packed=packed)
    assert row["url"] == "http://a.example/x?s=1" and row["status"] == 200
    assert row["size"] == len(HTML) and row["digest"] == DIGEST
    assert row["text"] == "Some words here." and row["canonical"] == "http://a.example/x"
    assert row["fetched_at"].isoformat() == "2024-02-29T12:00:00"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(HTML), {"Content_Encoding": "gzip"}),
        (zlib.compress(HTML), {"Content_Encoding": "deflate"}),
        (b"%x\r\n%s\r\n0\r\n\r\n" % (len(HTML), HTML), {"Transfer_Encoding": "chunked"}),
    ],
)
def test_encodings_are_undone(tmp_path, body, headers):
    (row,) = rows(tmp_path, record("response", "http://a.example/", http(body, **headers)))
    assert row["digest"] == DIGEST and row["size"] == len(HTML) and row["text"] == "Some words here."


def test_a_redirect(tmp_path):
    block = http(b"", "301 Moved Permanently", Location="/new")
    (row,) = rows(tmp_path, record("response", "http://a.example/old", block))
    assert row["status"] == 301 and row["location"] == "/new"


def test_a_revisit_has_the_digest_of_what_it_repeats(tmp_path):
    named = "sha1:NAMEDBYTHECRAWLER"
    first = record("response", "http://a.example/a", http(), WARC_Payload_Digest=named)
    again = record("revisit", "http://a.example/b", http(b""), WARC_Payload_Digest=named)
    unmodified = record(
        "revisit", "http://a.example/a", http(b"", "304 Not Modified"), WARC_Payload_Digest=named
    )
    found = rows(tmp_path, first, again, unmodified)
    assert [row["status"] for row in found] == [200, 200, 200]
    assert [row["digest"] for row in found] == [DIGEST] * 3
    (lonely,) = rows(tmp_path, again)
    assert lonely["digest"] == named and lonely.get("text") is None


@pytest.mark.parametrize(
    "cut",
    [
        record("response", "http://a.example/", http(HTML[:40]), WARC_Truncated="length"),
        record("response", "http://a.example/", http(HTML[:40], Content_Length=str(len(HTML)))),
    ],
)
def test_a_truncated_record_is_alive_and_unknown(tmp_path, cut):
    (row,) = rows(tmp_path, cut)
    assert row["status"] == 200
    assert all(row.get(name) is None for name in ("digest", "size", "text"))


@pytest.mark.parametrize("packed", [False, True])
def test_what_precedes_a_damaged_end_is_read(tmp_path, packed):
    whole = [record("response", f"http://a.example/{k}", http()) for k in range(3)]
    path = tmp_path / "a.warc"
    data = b"".join(gzip.compress(r) for r in whole) if packed else b"".join(whole)
    path.write_bytes(data[:-150])
    found = [row for batch in read_warc(path) for row in batch.to_pylist()]
    assert [row["url"] for row in found][:2] == ["http://a.example/0", "http://a.example/1"]
    assert all(row.get("digest") in (DIGEST, None) for row in found)


def test_other_records_are_passed_over(tmp_path):
    request = record("request", "http://a.example/", b"GET / HTTP/1.1\r\n\r\n")
    dns = record("response", "dns:a.example", b"20240229120000\na.example. 60 IN A 192.0.2.1\n")
    resource = record("resource", "http://a.example/r", b"plain words", Content_Type="text/plain")
    (row,) = rows(tmp_path, request, dns, resource)
    assert (row["url"], row["text"], row["status"]) == ("http://a.example/r", "plain words", 200)


def test_images_have_a_digest_and_no_text(tmp_path):
    (row,) = rows(
        tmp_path, record("response", "http://a.example/i", http(b"\x89PNG\0", Content_Type="image/png"))
    )
    assert row["digest"] and row.get("text") is None and row["size"] == 5


def test_brackets_around_the_address_are_taken_off(tmp_path):
    (row,) = rows(tmp_path, record("response", "<http://a.example/>", http()))
    assert row["url"] == "http://a.example/"


def test_an_archive_becomes_a_labelled_site(tmp_path):
    path = tmp_path / "a.warc.gz"
    bodies = {"a": b"<p>one two three", "b": b"<p>one two  three<br>", "c": b"<p>something else"}
    path.write_bytes(
        b"".join(
            gzip.compress(record("response", f"http://a.example/{k}", http(b))) for k, b in bodies.items()
        )
    )
    crawl = read(path, sketcher=sketcher, sketch_kind=sketch_kind())
    site = next(split_sites(crawl.pages))
    assert site.labels.cluster.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("<p>Füße".encode("latin-1"), "iso-8859-1", "Füße"),
        ("<p>Füße".encode(), "no-such-charset", "Füße"),
        (b"\xef\xbb\xbf" + "<p>Füße".encode(), "latin-1", "Füße"),
        ("<meta charset=windows-1251><p>Дом".encode("cp1251"), None, "Дом"),
        ("<p>\ud83d\ude00 x".encode("utf-8", "surrogatepass"), "utf-8", None),
    ],
)
def test_charsets(body, charset, text):
    found = page_text(body, "http://a.example/", "text/html", charset).text
    assert found is not None and (text is None or found == text)
    found.encode()


@pytest.mark.parametrize(
    ("head", "link", "canonical"),
    [
        ("<link rel=canonical href='/a'>", [], "http://a.example/a"),
        ("<base href='http://b.example/d/'><link rel='Canonical' href='a'>", [], "http://b.example/d/a"),
        ("<link rel='alternate' href='/a'>", [], None),
        ("<link rel=canonical href='/a'><link rel=canonical href='/b'>", [], None),
        ("<link rel=canonical href='/a'><link rel=canonical href='/a'>", [], "http://a.example/a"),
        ("<link rel=canonical href=' '>", [], None),
        ("<link rel=canonical href='http://['>", [], None),
        ("", ['<http://a.example/c>; rel="canonical"'], "http://a.example/c"),
        ("", ["</s.css>; rel=preload, </c>; rel=canonical"], "http://a.example/c"),
        ("<link rel=canonical href='/a'>", ["</c>; rel=canonical"], None),
    ],
)
def test_canonical_links(head, link, canonical):
    html = f"<html><head>{head}</head><body>x</body></html>".encode()
    assert page_text(html, "http://a.example/p/q", "text/html", "utf-8", link).canonical == canonical


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b"<p>a</p><script>b()</script><style>c</style><!-- d --><p>e</p>", "text/html", "a e"),
        (b"a < b", "text/plain", "a < b"),
        (b"a\0b", "text/plain", None),
        (b"<!DOCTYPE html><p>a", None, "a"),
        (b"%PDF-1.4", "application/pdf", None),
        (b"", "text/html", ""),
    ],
)
def test_what_is_text(body, kind, text):
    assert page_text(body, "http://a.example/", kind).text == text


def test_decode_survives_any_bytes():
    for charset in (None, "utf-8", "utf-16", "idna", "punycode", "base64"):
        decode(bytes(range(256)), charset).encode()
