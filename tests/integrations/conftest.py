"""What the tests of the integrations share."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """url-matcher asks tldextract, which would fetch the list of suffixes on first use: take the one it ships."""
    tldextract = pytest.importorskip("tldextract.tldextract")
    offline = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    monkeypatch.setattr("url_matcher.util.tldextract.extract", offline)
