"""Whatever the bytes: a table or an InputError, and every line accounted for."""

from __future__ import annotations

import gzip
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undust.crawl.detect import detect
from undust.crawl.formats import FORMATS, Options, load
from undust.crawl.source import Source
from undust.crawl.tally import Tally
from undust.errors import InputError

from .test_formats import SAMPLES

PIECES = [piece for sample in SAMPLES.values() for piece in sample.replace("\n", " \n ").split(" ")]
SOUP = (
    st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30)
    .map(" ".join)
    .map(lambda s: s.encode("utf-8", "surrogatepass"))
)


def consume(name: str, data: bytes) -> None:
    tally = Tally()
    tally.start("x", name)
    source = Source.of(data, "x")
    source.note = tally.note
    for batch in load(name).read(source, Options(host="h"), tally):
        batch.validate(full=True)
        tally.batch(batch)
    stats = tally.stats()
    assert stats.lines == stats.records + stats.bad + stats.skipped


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "warc"])
@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=200) | SOUP)
def test_no_bytes_raise_anything_but_an_input_error(name: str, data: bytes) -> None:
    with suppress(InputError):
        consume(name, data)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_with_bytes_changed(name: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    sample = (SAMPLES[name] * 3).encode()
    for _ in range(60):
        data = bytearray(sample)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.choice(
                [0, 10, 13, 34, 92, 123, 195, 255, rng.randrange(256)]
            )
        with suppress(InputError):
            consume(name, bytes(data))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=100) | SOUP)
def test_detection_never_fails_otherwise(data: bytes) -> None:
    for packed in (data, gzip.compress(data)[:-9]):
        with suppress(InputError):
            assert detect(Source.of(packed, "x")) in (None, *FORMATS)
