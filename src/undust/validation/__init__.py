"""Validation: rules are put to the test by fetching pages, as few and as politely as can be.

`PublishedValidation` is the papers' way; a `Fetcher` is whatever pages come from.
"""

from undust.validation.fetcher import Fetcher, MemoryFetcher, NotRecorded, Page, RecordedFetcher
from undust.validation.published import PublishedValidation, Trial, Validated

__all__ = [
    "Fetcher",
    "MemoryFetcher",
    "NotRecorded",
    "Page",
    "PublishedValidation",
    "RecordedFetcher",
    "Trial",
    "Validated",
]
