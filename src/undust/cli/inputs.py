"""INPUT as the verbs read it: pages, their texts sketched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undust.crawl import Crawl


def sketched(inputs: Sequence[str], **options: Any) -> Crawl:
    """The inputs as one table of pages; options as of `undust.crawl.read`."""
    from undust import crawl, likeness

    return crawl.read(list(inputs), sketcher=likeness.sketcher, sketch_kind=likeness.sketch_kind(), **options)
