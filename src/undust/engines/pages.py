"""Reading with everything switched on: texts are sketched as they pass."""

from __future__ import annotations

from typing import Any

from undust import crawl
from undust.crawl import Crawl
from undust.likeness import sketch_kind, sketcher


def read(inputs: Any, **options: Any) -> Crawl:
    """Read inputs of any known format into one table of pages; texts become sketches.

    The options are those of `undust.crawl.read`: `format`, `host`, `url_field`, `memory`, `rejects`.

    >>> pages = read([{"url": "http://a.example/", "text": "one two three"}])
    >>> pages.pages["sketch_kind"].to_pylist()
    ['words10-min4-1']
    """
    return crawl.read(inputs, **{"sketcher": sketcher, "sketch_kind": sketch_kind(), **options})
