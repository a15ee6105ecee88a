"""Validation: rules are put to the test by fetching pages, as few and as politely as can be.

`validate` is the sequential test on live pages; `PublishedValidation` is the papers' way; a `Fetcher` is whatever
pages come from. Fetching needs the extra `undust[validate]`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from undust.errors import UsageError
from undust.validation.fetcher import Fetcher, MemoryFetcher, NotRecorded, Page, RecordedFetcher
from undust.validation.published import PublishedValidation, Trial, Validated
from undust.validation.sequential import SequentialTest

if TYPE_CHECKING:
    from undust.validation.book import Outcome, Validation, run, validate
    from undust.validation.live import LiveFetcher
    from undust.validation.offline import Offline

__all__ = [
    "Fetcher",
    "LiveFetcher",
    "MemoryFetcher",
    "NotRecorded",
    "Offline",
    "Outcome",
    "Page",
    "PublishedValidation",
    "RecordedFetcher",
    "SequentialTest",
    "Trial",
    "Validated",
    "Validation",
    "run",
    "validate",
]

_LATER = {
    "LiveFetcher": "live",
    "Offline": "offline",
    "Outcome": "book",
    "Validation": "book",
    "run": "book",
    "validate": "book",
}


def __getattr__(name: str) -> Any:
    # The fetcher's libraries are an extra; recorded pages do without them.
    if name not in _LATER:
        raise AttributeError(name)
    try:
        module = import_module(f"undust.validation.{_LATER[name]}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("undust"):
            raise
        why = f"fetching needs {missing.name}: pip install 'undust[validate]'"
        raise UsageError(why) from None
    return getattr(module, name)
