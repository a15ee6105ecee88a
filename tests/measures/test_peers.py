"""The peers run in process, and MaybeDont does what its description says."""

import random

import pytest

from undust.measures.maybedont import MaybeDont
from undust.measures.peers import PEERS, installed, rewritten

URLS = [
    "http://www.Example.com:80/a/./b?b=2&a=1&x=",
    "http://example.com/",
    "",
    "no url",
    "http://[",
    "\udcff",
]


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_never_fails_on_a_url(name: str) -> None:
    peers = dict(installed())
    if name not in peers:
        pytest.skip("not installed")
    out = rewritten(peers[name], URLS)
    assert len(out) == len(URLS) and all(isinstance(url, str) for url in out)


def test_peers_are_the_ones_they_are_called() -> None:
    peers = dict(installed())
    url = "http://www.example.com:80/a?b=2&a=1#x"
    if "w3lib" in peers:
        assert peers["w3lib"](url) == "http://www.example.com:80/a?a=1&b=2"
    if "url-normalize" in peers:
        assert peers["url-normalize"](url) == "http://www.example.com/a?b=2&a=1#x"


def taught(pages: list[tuple[str, int]]) -> MaybeDont:
    model = MaybeDont()
    random.Random(1).shuffle(pages)
    for url, content in pages:
        model.update(url, content)
    model.forget()
    return model


def test_maybedont_learns_that_a_parameter_does_not_matter_on_a_path() -> None:
    model = taught(
        [(f"http://a.example/p?id={i}&sid={s}", i) for i in range(300) for s in "ab"]
        + [(f"http://a.example/q?sid={i}", 1000 + i) for i in range(300)]
    )
    model.update("http://a.example/p?id=7777&sid=a", 7777)
    model.update("http://a.example/q?sid=7777", 8888)
    assert model.duplicate_of("http://a.example/p?id=7777&sid=b") == "http://a.example/p?id=7777&sid=a"
    assert model.duplicate_of("http://a.example/p?id=7778&sid=a") is None
    assert model.duplicate_of("http://a.example/q?sid=7778") is None


def test_maybedont_learns_that_a_default_may_go_and_other_values_may_not() -> None:
    model = taught(
        [(f"http://a.example/t?id={i}{start}", i) for i in range(200) for start in ("", "&start=0")]
        + [(f"http://a.example/t?id={i}&start=15", 1000 + i) for i in range(200)]
    )
    model.update("http://a.example/t?id=7777", 7777)
    assert model.duplicate_of("http://a.example/t?id=7777&start=0") == "http://a.example/t?id=7777"
    assert model.duplicate_of("http://a.example/t?id=7777&start=15") is None


def test_maybedont_needs_trials() -> None:
    model = taught([(f"http://a.example/p?id={i}&sid={s}", i) for i in range(10) for s in "ab"])
    model.update("http://a.example/p?id=77&sid=a", 77)
    assert model.duplicate_of("http://a.example/p?id=77&sid=b") is None
