"""The demo site as visitors meet it: deterministic crawls, a real socket, a plausible log."""

from __future__ import annotations

import http.client
import io
import re

from undust.demo import DemoSite, crawl, over_loopback, serve, write_log

COMBINED = re.compile(
    r'\S+ - - \[\d\d/\w{3}/\d{4}:[\d:]{8} \+0000\] "GET (\S+) HTTP/1\.1" (\d{3}) (\d+) "[^"]*" "[^"]*"'
)


def test_two_crawls_of_one_seed_agree_to_the_byte_and_seeds_differ() -> None:
    first, second = ([page.record() for page in crawl(DemoSite(seed=3, size=0.05).fetch)] for _ in range(2))
    assert first == second
    other = [page.url for page in crawl(DemoSite(seed=4, size=0.05).fetch)]
    assert other != [record["url"] for record in first]


def test_the_server_shows_what_the_site_holds_byte_for_byte() -> None:
    in_process = list(crawl(DemoSite(size=0.05).fetch))
    with serve(DemoSite(size=0.05)) as port, over_loopback(port) as get:
        assert list(crawl(get)) == in_process


def test_the_server_answers_as_a_proxy_for_its_names() -> None:
    with serve(DemoSite(size=0.03)) as port:
        bodies = []
        for target in ("/forum/?x=1", "http://demo.undust.test/forum/?x=1", "HTTP://www.demo.undust.test"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", target)
            reply = connection.getresponse()
            assert reply.status == 200, target
            bodies.append(re.sub(rb"<aside>.*", b"", reply.read()))
            connection.close()
    assert bodies[0] == bodies[1] != bodies[2]


def test_the_server_listens_on_loopback_only_and_stops() -> None:
    with serve(DemoSite(size=0.03)) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("HEAD", "/story_1")  # Host: 127.0.0.1, as a browser says it
        reply = connection.getresponse()
        assert (reply.status, reply.read()) == (200, b"")
        connection.close()
    refused = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        refused.connect()
    except ConnectionRefusedError:
        return
    raise AssertionError("still listening")


def test_pages_carry_clock_and_advertisements_and_files_do_not() -> None:
    site = DemoSite(size=0.05)
    story, document = "http://demo.undust.test/story_1", "http://demo.undust.test/docs/guide1/page1.html"
    assert site.fetch(story).body != site.fetch(story).body
    assert site.fetch(document).body == site.fetch(document).body


def test_numbered_files_have_one_size_and_thumbnails_resemble_images() -> None:
    site = DemoSite(size=0.2)
    sizes = {len(site.fetch(f"http://demo.undust.test/files/{i}.html").body) for i in range(1, 9)}
    assert len(sizes) == 1
    image, thumbnail = (
        site.fetch(f"http://demo.undust.test/{kind}/1").body for kind in ("images", "thumbnails")
    )
    assert image != thumbnail
    assert abs(len(image) - len(thumbnail)) < 100


def test_canonical_links_are_mostly_right_and_sometimes_wrong() -> None:
    site = DemoSite()
    given = {content: link for _, content in site.contents() if (link := site.canonical(content))}
    right = sum(site.content_id(link) == content for content, link in given.items())
    assert 0.2 < len(given) / 1637 < 0.5
    assert 0.8 < right / len(given) < 1


def test_log_lines_are_combined_and_say_what_the_site_answers() -> None:
    site = DemoSite(size=0.05)
    out = io.StringIO()
    write_log(site, out, 2000, urls=600)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2000
    targets = set()
    for line in lines:
        found = COMBINED.fullmatch(line)
        assert found, line
        targets.add(found[1])
        assert int(found[2]) == site.route("http://demo.undust.test" + found[1]).status
    assert 200 < len(targets) <= 600
    sizes = {line.split('" 200 ')[1].split()[0] for line in lines if '"GET /story_1 ' in line}
    assert all(
        abs(int(size) - len(site.fetch("http://demo.undust.test/story_1").body)) < 120 for size in sizes
    )


def test_vhost_log_names_the_hosts() -> None:
    out = io.StringIO()
    write_log(DemoSite(size=0.05), out, 300, vhost=True)
    hosts = {line.split(" ")[0] for line in out.getvalue().splitlines()}
    assert hosts == {"demo.undust.test:80", "www.demo.undust.test:80"}
