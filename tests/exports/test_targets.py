"""Each export in its real target, where that is at hand: what it does is what the book does, or less."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import readers
from test_hostile_rules import World

from undust.exports import TARGETS, export
from undust.exports.company import Company
from undust.exports.expression import Rewrite
from undust.exports.sequence import redirects, settled
from undust.rules import Canonicalizer, Rule, RuleBook, Scope, SiteRules

JAVA = """
import java.nio.file.*; import java.util.*; import java.util.regex.*;
import javax.xml.parsers.*; import org.w3c.dom.*;
class Normalize {
  public static void main(String[] a) throws Exception {
    NodeList rules = DocumentBuilderFactory.newInstance().newDocumentBuilder()
      .parse(Paths.get(a[0]).toFile()).getElementsByTagName("regex");
    List<Pattern> patterns = new ArrayList<>(); List<String> texts = new ArrayList<>();
    for (int i = 0; i < rules.getLength(); i++) {
      Element e = (Element) rules.item(i);
      patterns.add(Pattern.compile(e.getElementsByTagName("pattern").item(0).getTextContent()));
      texts.add(e.getElementsByTagName("substitution").item(0).getTextContent());
    }
    StringBuilder out = new StringBuilder();
    for (String url : Files.readAllLines(Paths.get(a[1]))) {
      for (int i = 0; i < patterns.size(); i++) url = patterns.get(i).matcher(url).replaceAll(texts.get(i));
      out.append(url).append('\\n');
    }
    Files.write(Paths.get(a[2]), out.toString().getBytes("UTF-8"));
  }
}
"""


@pytest.mark.parametrize("to", TARGETS)
def test_nothing_is_dropped_silently(to: str, book: RuleBook) -> None:
    found = export(book, to)
    listed = {missing.rule.id for missing in found.missing}
    assert all(missing.why for missing in found.missing)
    nothing = export(RuleBook({"a.test": SiteRules("a.test")}), to)
    assert nothing.missing == [] and found.text != nothing.text
    assert len(listed) < len(book)


def agrees(book: RuleBook, urls: list[str], after: list[str]) -> int:
    """How many URLs are rewritten; none is led elsewhere than by the book."""
    canon = Canonicalizer(book)
    assert [canon(url) for url in after] == [canon(url) for url in urls]
    return sum(map(str.__ne__, urls, after))


def test_regex_lines_do_in_python_what_the_book_does(book: RuleBook, urls: list[str]) -> None:
    after = list(map(readers.regex(export(book, "regex").text), urls))
    assert agrees(book, urls, after) > len(urls) // 3


@pytest.mark.skipif(shutil.which("javac") is None, reason="no javac")
def test_nutch_rules_do_in_java_what_the_book_does(book: RuleBook, urls: list[str], tmp_path: Path) -> None:
    found = export(book, "nutch")
    (tmp_path / "regex-normalize.xml").write_text(found.text)
    (tmp_path / "urls").write_text("\n".join(urls) + "\n")
    (tmp_path / "Normalize.java").write_text(JAVA)
    subprocess.run(["javac", "Normalize.java"], cwd=tmp_path, check=True, timeout=120)
    run = ["java", "-cp", ".", "Normalize", "regex-normalize.xml"]
    subprocess.run([*run, "urls", "once"], cwd=tmp_path, check=True, timeout=120)
    subprocess.run([*run, "once", "twice"], cwd=tmp_path, check=True, timeout=120)
    once = (tmp_path / "once").read_text().splitlines()
    assert (tmp_path / "twice").read_text().splitlines() == once
    assert agrees(book, urls, once) > len(urls) // 3
    # odd rules, each on a host of its own: what Java makes of them is what Python does
    world = World(4)
    sites = {f"h{n}.test": SiteRules(f"h{n}.test", rules=[world.rule()]) for n in range(300)}
    sites = {name: replace(site, rules=[replace(r, scope=Scope((name,), path=r.scope.path)) for r in site.rules])
             for name, site in sites.items()}  # fmt: skip
    odd = RuleBook(sites)
    some = [world.url().replace("h.test", f"h{world.dice.randrange(300)}.test", 1) for _ in range(1200)]
    (tmp_path / "regex-normalize.xml").write_text(export(odd, "nutch").text)
    (tmp_path / "urls").write_text("\n".join(some) + "\n")
    subprocess.run([*run, "urls", "once"], cwd=tmp_path, check=True, timeout=120)
    sequence = settled(odd)
    assert (tmp_path / "once").read_text().split("\n")[:-1] == [sequence.once(url) for url in some]
    assert found.beside["host-urlnormalizer.txt"] == "www.demo.undust.test demo.undust.test\n"


def dud(text: str, tmp_path: Path):  # type: ignore[no-untyped-def]
    canonicalizer = pytest.importorskip("duplicate_url_discarder.url_canonicalizer")
    path = tmp_path / "dud.json"
    path.write_text(text)
    return canonicalizer.UrlCanonicalizer([path]).process_url


def test_duplicate_url_discarder_does_what_the_book_does(
    book: RuleBook, urls: list[str], tmp_path: Path, no_network: None
) -> None:
    process = dud(export(book, "dud").text, tmp_path)
    after = [process(url) for url in urls]
    assert agrees(book, urls, after) > 0
    assert [process(url) for url in after] == after


def test_duplicate_url_discarder_traps(tmp_path: Path, no_network: None) -> None:
    here = Scope(("h.test",))
    rules = [
        Rule(here, do={"query[sid]": None}),
        Rule(Scope(("h.test",), path="/p"), do={"query[x]": None}),
        Rule(here, {"path[0]": "print"}, {"path[0]": None}),
        Rule(here, do={"path[0]": None}, status="likely"),
        Rule(Scope(("h.test:8080",)), do={"query[sid]": None}),
    ]
    book = RuleBook(
        {
            "h.test": SiteRules("h.test", ("h.test", "www.h.test"), rules),
            "*": SiteRules("*", (), [Rule(do={"query[utm]": None})]),
        }
    )
    found = export(book, "dud", "likely")
    process = dud(found.text, tmp_path)
    # a: a universal rule is followed on hosts with rules of their own as well
    assert process("http://h.test/a?utm=1&sid=2&y=3") == "http://h.test/a?y=3"
    assert process("http://other.test/?utm=1&sid=2") == "http://other.test/?sid=2"
    # b: the www. twin and other subdomains are other hosts
    assert process("http://www.h.test/a?sid=2&y=3") == "http://www.h.test/a?sid=2&y=3"
    assert process("http://sub.h.test/a?sid=2") == "http://sub.h.test/a?sid=2"
    # c: a path ends at a segment
    assert process("http://h.test/p?x=1") == "http://h.test/p"
    assert process("http://h.test/p/q?x=1") == "http://h.test/p/q"
    assert process("http://h.test/pq?x=1") == "http://h.test/pq?x=1"
    # e: a dropped segment is known, so the output no longer matches
    assert process("http://h.test/print/a/b") == "http://h.test/a/b"
    whys = {missing.rule.id: missing.why for missing in found.missing}
    assert set(whys) == {rules[3].id, rules[4].id}
    assert "port" in whys[rules[4].id]


def test_clearurls_does_what_the_book_does(book: RuleBook, urls: list[str]) -> None:
    text = export(book, "clearurls").text
    for apply in (readers.clear_urls(text), readers.clear_urls_before(text)):
        assert agrees(book, urls, list(map(apply, urls))) > 0


def test_clearurls_lists_names_whose_case_matters() -> None:
    rules = [Rule(do={"query[S]": None}), Rule(when={"query[s]": "1"}, do={"query[s]": None})]
    found = export(RuleBook({"h.test": SiteRules("h.test", rules=rules)}), "clearurls")
    assert {missing.rule.id for missing in found.missing} == {rule.id for rule in rules}


def test_clean_param_read_back_does_what_the_book_does(book: RuleBook, urls: list[str]) -> None:
    apply = readers.clean_param(export(book, "clean-param").text)
    assert agrees(book, urls, list(map(apply, urls))) > 0


@pytest.mark.parametrize("to", ["nginx", "apache"])
def test_redirects_are_active_for_validated_rules_only(to: str) -> None:
    rules = [
        Rule(when={"path": "/a"}, do={"path": "/b"}, status="validated"),
        Rule(when={"path": "/c"}, do={"path": "/d"}),
    ]
    text = export(RuleBook({"h.test": SiteRules("h.test", rules=rules)}), to).text
    active = [line for line in text.splitlines() if not line.strip().startswith("#")]
    assert any("(?:/a)" in line for line in active) and not any("(?:/c)" in line for line in active)
    assert "(?:/c)" in text


@pytest.fixture
def trusted(book: RuleBook) -> RuleBook:
    """The same rules as if all had been validated by fetching."""
    sites = {
        name: replace(site, rules=[replace(rule, status="validated") for rule in site.rules])
        for name, site in book.sites.items()
    }
    return RuleBook(sites, book.site_key)


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(command: list[str], port: int) -> Iterator[Callable[..., str]]:
    """A web server while the block runs; gives a function that follows one redirect."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, server.stderr and server.stderr.read()
            time.sleep(0.05)

        def ask(url: str, method: str = "GET") -> str:
            host, _, rest = url.removeprefix("http://").partition("/")
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.putrequest(method, f"/{rest}", skip_host=True)
            connection.putheader("Host", host)
            connection.endheaders()
            answer = connection.getresponse()
            answer.read()
            connection.close()
            return (answer.getheader("Location") or "?") if answer.status == 301 else url

        yield ask
    finally:
        server.terminate()
        server.wait(10)


def redirects_as_the_book_says(
    ask: Callable[..., str], book: RuleBook, urls: list[str], expected: list[Rewrite]
) -> None:
    canon = Canonicalizer(book)
    moved = 0
    for url in urls:
        first = next((v for r in expected if (v := r.apply(url)) is not None), url)
        assert ask(url) == first
        assert ask(url, "POST") == url
        moved += first != url
        at = url
        for _ in range(12):
            if (after := ask(at)) == at:
                break
            at = after
        assert canon(at) == canon(url)
        assert ask(at) == at
    assert moved > len(urls) // 3


def nginx(text: str, folder: Path, port: int) -> list[str]:
    """The command of an nginx that has nothing but the exported file."""
    (folder / "map.conf").write_text(text)
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}} http {{"
        f" access_log off; {temporary} include {folder}/map.conf; server {{ listen 127.0.0.1:{port};"
        " if ($undust_target) { return 301 $undust_target; } location / { return 200 ok; } } }"
    )
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def apache(text: str, folder: Path, port: int) -> list[str]:
    """The command of an Apache that has nothing but the exported file."""
    binary = Path(str(shutil.which("apache2")))
    modules = binary.parents[1] / "lib" / "apache2" / "modules"
    loaded = "".join(
        f"LoadModule {name}_module {modules}/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "rewrite")
    )
    (folder / "httpd.conf").write_text(
        f"ServerRoot {folder}\nServerName h.test\nListen 127.0.0.1:{port}\n{loaded}"
        f"PidFile {folder}/pid\nErrorLog {folder}/errors\nDocumentRoot {folder}\n{text}"
    )
    return [str(binary), "-D", "FOREGROUND", "-f", str(folder / "httpd.conf")]


SERVERS = [
    pytest.param("nginx", nginx, marks=pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx")),
    pytest.param(
        "apache", apache, marks=pytest.mark.skipif(shutil.which("apache2") is None, reason="no apache2")
    ),
]
Command = Callable[[str, Path, int], list[str]]


@pytest.mark.parametrize(("to", "command"), SERVERS)
def test_a_server_redirects_as_the_book_says(
    to: str, command: Command, trusted: RuleBook, urls: list[str], tmp_path: Path, port: int
) -> None:
    with running(command(export(trusted, to).text, tmp_path, port), port) as ask:
        redirects_as_the_book_says(ask, trusted, urls[::7], redirects(trusted).rewrites)


@pytest.mark.parametrize(("to", "command"), SERVERS)
def test_a_server_reads_hundreds_of_odd_rules_as_they_are_meant(
    to: str, command: Command, tmp_path: Path, port: int
) -> None:
    """Each on a host of its own, half of them validated: names and paths with all signs a server may stumble over."""
    world, sites = World(3), {}
    for number in range(300):
        rule = replace(world.rule(), status=("validated", "probable")[number % 2])
        rule = replace(rule, scope=Scope((f"h{number}.test",), path=rule.scope.path))
        sites[f"h{number}.test"] = SiteRules(f"h{number}.test", (f"h{number}.test",), [rule])
    book = RuleBook(sites)
    found = redirects(book).rewrites
    active = [rewrite for rewrite in found if rewrite.rule.status == "validated"]
    assert len(active) > 60
    moved = asked = 0
    with running(command(export(book, to).text, tmp_path, port), port) as ask:
        some = [world.url().replace("h.test", f"h{world.dice.randrange(300)}.test", 1) for _ in range(1500)]
        for url in Company.of(book).urls() + some:
            if not re.fullmatch(r"http://[a-z0-9.:]+/[!-~]*", url) or "#" in url:
                continue
            asked += 1
            expected = next((v for rewrite in active if (v := rewrite.apply(url)) is not None), url)
            moved += expected != url
            assert ask(url) == expected, url
    assert asked > 500 and moved > 50
