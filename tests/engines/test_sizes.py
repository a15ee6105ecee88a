"""What is learned of a log, where sizes are all there is."""

from __future__ import annotations

import numpy as np

import undust
from undust.likeness.site import split_sites
from undust.likeness.sizes import label_by_size

HOME = "http://a.test/w"


def log() -> list[dict[str, object]]:
    """A parameter that may go where another one names the page, and names it everywhere else."""
    pages: list[dict[str, object]] = []
    for n in range(40):
        pages.append({"url": f"{HOME}?title=T{n}&oldid={n}", "size": 1000 + 7 * n})
        pages.append({"url": f"{HOME}?oldid={n}", "size": 1000 + 7 * n})
        pages.append({"url": f"{HOME}?title=T{n}&action=history", "size": 5000 + 3 * n})
    return pages


def test_pages_of_different_sizes_are_told_apart() -> None:
    [site] = split_sites(undust.read(log()).pages)
    labels = label_by_size(site.seen)
    row = {url: i for i, url in enumerate(site.urls)}
    one, twin = row[f"{HOME}?title=T1&oldid=1"], row[f"{HOME}?oldid=1"]
    other = row[f"{HOME}?title=T2&oldid=2"]
    alike = labels.resemblance(np.array([one, one]), np.array([twin, other]))
    assert alike.tolist() == [1.0, 0.0]


def test_sizes_that_differ_speak_against_a_rule() -> None:
    book = undust.learn(undust.read(log()))
    canon = undust.Canonicalizer(book, level="likely")
    assert all(rule.status == "likely" for rule in book.rules())
    assert len({canon(f"{HOME}?title=T{n}&action=history") for n in range(40)}) == 40
    assert canon(f"{HOME}?title=T7&oldid=7") == canon(f"{HOME}?oldid=7")
