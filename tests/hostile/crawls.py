"""Sites that mean harm: crawls of about `n` pages that want a learner to explode, or two different pages merged."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

HOST = "http://evil.example"
Rows = Iterator[dict[str, Any]]


def row(path: str, content: object) -> dict[str, Any]:
    return {"url": HOST + path, "status": 200, "digest": f"d{content}", "size": 500}


def many_parameters(n: int) -> Rows:
    """No two pages share a parameter: n names, each a candidate to be dropped."""
    for i in range(n):
        yield row(f"/p?x{i}=1&id={i // 2}", i // 2)


def wide_pages(n: int) -> Rows:
    """A thousand parameters in each URL."""
    for i in range(max(2, n // 50)):
        yield row("/p?" + "&".join(f"k{j}={i * j % 7}" for j in range(1000)) + f"&id={i // 2}", i // 2)


def one_long_url(n: int) -> Rows:
    """One URL with 100 parameters a page of the crawl, among harmless ones."""
    yield row("/p?" + "&".join(f"k{j}=1" for j in range(100 * n)), 0)
    for i in range(n):
        yield row(f"/p?id={i}&s={i * 7919 % 9973}", i)
        yield row(f"/p?id={i}", i)


def deep_paths(n: int) -> Rows:
    """Two thousand directories deep, and each directory may have twins."""
    for i in range(max(2, n // 50)):
        yield row("/" + "/".join(f"d{(i >> (j % 8)) & 1}" for j in range(2000)) + f"/{i // 2}", i // 2)


def same_directories(n: int) -> Rows:
    """`a/a/a/...`: the loops that relative links make."""
    for i in range(n):
        yield row("/a" * (i % 200 + 1) + f"/{i // 200}", i // 200)


def one_cluster(n: int) -> Rows:
    """Every URL shows one content: n ** 2 / 2 pairs of duplicates."""
    for i in range(n):
        yield row(f"/{i % 97}/x{i}?a={i * 31 % 1009}", "all")


def two_clusters(n: int) -> Rows:
    """Two contents alternate under URLs that differ in one number: what merges half of it merges all of it."""
    for i in range(n):
        yield row(f"/x?n={i}", i % 2)


def collisions(n: int) -> Rows:
    """Names and values that are equal in everything a cheap hash might look at: length, letters, their sum."""
    rng = random.Random(1)
    letters = list("abcdefghijklmnop")
    for i in range(n):
        rng.shuffle(letters)
        yield row(f"/p?{''.join(letters)}={''.join(reversed(letters))}&id={i // 2}", i // 2)


def repeats(n: int) -> Rows:
    """Periodic text, in which a substring occurs everywhere: quadratic for substitution rules."""
    for i in range(n):
        yield row("/" + "ab" * (i % 100 + 1) + "-" * (i % 50) + f"{i // 3}", i // 3)


def patterns(n: int) -> Rows:
    """What a backtracking expression would stumble over, in what becomes a pattern."""
    for i in range(n):
        yield row(
            f"/{{x}}(a+)+{'a' * (i % 60)}!{'_1' * (i % 30)}.{{}}/[{i // 2}]?q=%s{{0}}&{{y:rest}}={i % 2}",
            i // 2,
        )


def merge_me(n: int) -> Rows:
    """A bait: dropping `id` is right for nine pages in ten, which are one; the tenth is a page of its own."""
    for i in range(n):
        yield row(f"/read?id={i}&s=1", f"own{i}" if i % 10 == 0 else "same")
        yield row(f"/read?id={i}&s=2", f"own{i}" if i % 10 == 0 else "same")


def late_turn(n: int) -> Rows:
    """`t` does not matter to the pages seen most, and is all that tells the others apart."""
    for i in range(n):
        yield row(f"/v?p={i // 4}&t={i % 4}", i // 4) | {"hits": 100}
    for i in range(n // 20):
        yield row(f"/v?p=x&t={i + 10}", f"t{i}")


def circles(n: int) -> Rows:
    """Each page is the canonical one of the next, in a circle, and redirects run the other way."""
    for i in range(n):
        yield row(f"/c?n={i}", i // 5) | {"canonical": f"{HOST}/c?n={(i + 1) % n}"}
        yield row(f"/c/{i}", i // 5) | {"status": 302, "location": f"{HOST}/c/{(i + n - 1) % n}"}


def many_hosts(n: int) -> Rows:
    """A domain with a host a page, each of which might be an alias of each other."""
    for i in range(n):
        yield {"url": f"http://h{i}.evil.example/{i % 7}", "status": 200, "digest": f"{i % 7}", "size": 500}


CRAWLS: dict[str, Callable[[int], Rows]] = {
    make.__name__: make
    for make in (
        many_parameters, wide_pages, one_long_url, deep_paths, same_directories, one_cluster, two_clusters, collisions,
        repeats, patterns, merge_me, late_turn, circles, many_hosts,
    )
}  # fmt: skip
