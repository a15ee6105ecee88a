"""The key-value view."""

from __future__ import annotations

import socket

import pytest

from undust.url import Key, host_labels, key_view, named_key, split_key, tokenize

HOSTS = [
    ("example.com", ("example.com",)),
    ("www.example.com", ("example.com", "www")),
    ("a.b.example.co.uk", ("example.co.uk", "b", "a")),
    ("me.github.io", ("me.github.io",)),
    ("www.me.github.io", ("me.github.io", "www")),
    ("github.io", ("github.io",)),
    ("co.uk", ("co.uk",)),
    ("localhost", ("localhost",)),
    ("192.0.2.7", ("192.0.2.7",)),
    ("[2001:db8::1]", ("[2001:db8::1]",)),
    ("www.example.com.", ("example.com.", "www")),
    ("www.xn--bcher-kva.example", ("xn--bcher-kva.example", "www")),
    ("www.b\u00fccher.example", ("b\u00fccher.example", "www")),
    ("", ("",)),
    ("..", ("..",)),
    ("a b", ("a b",)),
]


@pytest.mark.parametrize(("host", "labels"), HOSTS)
def test_host_labels_from_the_registrable_domain_leftwards(host: str, labels: tuple[str, ...]) -> None:
    assert host_labels(host) == labels


def test_no_network_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("tried to reach the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    host_labels.cache_clear()
    assert host_labels("x.example.org") == ("example.org", "x")


def test_TV_2_1_tokens() -> None:
    tokens = tokenize("http://www.site.com/index.html")
    assert " ".join(tokens) == "^ http : / / www . site . com / index . html $" and len(tokens) == 15


def test_TV_4_1_keys_of_a_wiki_page() -> None:
    view = key_view("http://en.wikipedia.org/wiki?title=Generalized_linear_model")
    assert (view["scheme"], view["host"], view["path[0]"]) == ("http", "en.wikipedia.org", "wiki")
    assert view["query[title]"] == "Generalized_linear_model"


def test_TV_4_3_positions_from_both_ends() -> None:
    long = key_view("http://ag.arizona.edu/srnr/about/art/index.html")
    short = key_view("http://ag.arizona.edu/srnr/about/art")
    assert long["path[-1]"] == "index.html" and long["path[-2]"] == long["path[2]"] == "art"
    assert short["path[-1]"] == short["path[2]"] == "art" and short["path[0]"] == short["path[-3]"] == "srnr"


def test_matrix_parameters_do_not_spoil_the_segments() -> None:
    view = key_view("/shop;a=1/item;jsessionid=X;a=2?q")
    assert [view["path[0]"], view["path[1]"], view["path[-1]"]] == ["shop", "item", "item"]
    assert (view["matrix[a]"], view["matrix[a#2]"], view["matrix[jsessionid]"]) == ("1", "2", "X")


def test_flags_empty_fields_and_repetition() -> None:
    view = key_view("?a&a=&&a=3&=x&b[]=1")
    names = {key: value for key, value in view.items() if key.startswith("query[")}
    assert names == {
        "query[a]": "",
        "query[a#2]": "",
        "query[a#3]": "3",
        "query[]": "x",
        "query[b[]]": "1",
    }


@pytest.mark.parametrize(
    "key", ["nonsense", "host[-1]", "query[a", "path[]", "path[x]", "query", "path[-1]", "query[a#2]"]
)
def test_split_key(key: str) -> None:
    known = {
        "query": Key("query"),
        "path[-1]": Key("path", position=-1),
        "query[a#2]": Key("query", name="a", occurrence=2),
    }
    if key in known:
        assert split_key(key) == known[key]
    else:
        with pytest.raises(ValueError, match="no key"):
            split_key(key)
    assert named_key("query", "a") == "query[a]"
