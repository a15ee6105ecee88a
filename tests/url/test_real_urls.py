"""The laws on real URLs: the first 20,000 of every data file, where there are any."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from undust.url import SiteTable, normal, parse, unparse

from .test_laws import assert_same_meaning
from .test_table import assert_same

DATA = Path(os.environ.get("UNDUST_DATA", Path(__file__).parents[3] / "shared" / "data"))
FILES = sorted(p for p in DATA.glob("*") if re.search(r"\.(jsonl|log|warc|tsv|cdxj)(\.gz)?$", p.name))

_JSON_URL = re.compile(rb'"url": ?("(?:[^"\\\\]|\\\\.)*")').search
_REQUEST = re.compile(rb'"(?:GET|HEAD|POST) ([^ ]+)').search
_BARE = re.compile(rb"(?:^|[\t ])(https?://[^\t\r\n ]+)").search


def urls_of(path: Path) -> Iterator[str]:
    """URLs of a file in any of the formats, as raw as they are found."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            if found := _JSON_URL(line):
                yield json.loads(found[1])
            elif found := _REQUEST(line) or _BARE(line):
                yield found[1].decode("utf-8", "surrogateescape")


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="no data files beside the project; set UNDUST_DATA")
@pytest.mark.parametrize("number", range(len(FILES)))
def test_real_urls_keep_their_meaning(number: int) -> None:
    urls = list(itertools.islice(urls_of(FILES[number]), 20_000))
    assert urls
    for url in dict.fromkeys(urls):
        assert unparse(parse(url)) == url
        assert_same_meaning(url)
        assert normal(normal(url)) == normal(url)
    assert_same(SiteTable.build(urls[:5_000]), urls[:5_000])
