"""One row per URL: an oracle in plain Python, and laws."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import undust.crawl.aggregate
from undust.crawl.aggregate import Aggregator
from undust.crawl.formats.records import to_batch
from undust.errors import UndustError, UsageError

RECORDS = st.fixed_dictionaries(
    {"url": st.sampled_from(["http://h/a", "http://h/b"])},
    optional={
        "status": st.sampled_from([200, 203, 206, 301, 404, 500]),
        "size": st.integers(0, 3),
        "hits": st.integers(1, 3),
        "digest": st.sampled_from(["x", "y", "z", "-"]),
        "location": st.sampled_from(["p", "q"]),
        "sketch": st.sampled_from([[1, 2], [1, 3]]),
        "soft": st.booleans(),
        "cluster": st.sampled_from(["c", "d"]),
        "importance": st.sampled_from([0.5, 2.0]),
        "fetched_at": st.sampled_from([datetime(2001, 1, 1), datetime(2002, 1, 1)]),
    },
)


def aggregate(records: list[dict[str, Any]], at_a_time: int = 100) -> list[dict[str, Any]]:
    with Aggregator(threads=1) as pages:
        for i in range(0, len(records), at_a_time):
            pages.add(to_batch(records[i : i + at_a_time]))
        return list(pages.finish().to_pylist())


def rank(record: dict[str, Any], position: int) -> tuple[Any, ...]:
    status, time = record.get("status"), record.get("fetched_at")
    tier = 0 if status is None else 2 if 200 <= status <= 299 else 1
    return tier, time is not None, time or position, status or 0


def oracle(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The definition, word by word."""
    out = []
    for url in sorted({r["url"] for r in records}):
        mine = [(rank(r, i), r) for i, r in enumerate(records) if r["url"] == url]
        page: dict[str, Any] = {"url": url, "hits": sum(r.get("hits", 1) for _, r in mine)}
        (_, timed, time, status), _ = max(mine, key=lambda m: m[0])
        page["status"] = status or None
        page["fetched_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ") if timed else None
        whole = [
            r["size"]
            for _, r in mine
            if "size" in r and r.get("status", 200) // 100 == 2 and r.get("status") != 206
        ]
        page["size_min"], page["size_max"] = min(whole, default=None), max(whole, default=None)
        page["importance"] = max((r["importance"] for _, r in mine if "importance" in r), default=None)
        for name in ("digest", "location", "sketch", "soft", "cluster"):
            counted = [
                (k, r[name])
                for k, r in mine
                if name in r
                and r[name] != "-"
                and (name in ("soft", "cluster") or r.get("status", 200) < 400)
            ]
            page[name] = max(counted)[1] if counted else None
        out.append(page)
    return out


@settings(max_examples=25, deadline=None)
@given(st.lists(RECORDS, max_size=12), st.integers(1, 12))
def test_the_table_is_what_the_definition_says(records: list[dict[str, Any]], at_a_time: int) -> None:
    expected = oracle(records)
    got = [
        {k: row[k] for k in page} for row, page in zip(aggregate(records, at_a_time), expected, strict=True)
    ]
    assert got == expected


@settings(max_examples=10, deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=12), st.randoms())
def test_with_times_the_order_of_the_input_does_not_matter(
    records: list[dict[str, Any]], random: Any
) -> None:
    timed = [{"fetched_at": datetime(2001, 1, 1), **r} for r in records]
    shuffled = random.sample(timed, len(timed))
    assert aggregate(timed) == aggregate(shuffled, 3)


@settings(max_examples=10, deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=12), st.integers(1, 4))
def test_chunks_do_not_matter(records: list[dict[str, Any]], rows: int) -> None:
    whole = aggregate(records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(undust.crawl.aggregate, "CHUNK_ROWS", rows)
        assert aggregate(records, rows) == whole


def test_it_spills_to_disk_under_a_small_limit(tmp_path: Any) -> None:
    """Half a million distinct URLs do not fit; the answer is the same, and nothing is left behind."""
    with Aggregator(memory="60MB", temp_dir=str(tmp_path), threads=1) as pages:
        for start in range(0, 500_000, 100_000):
            urls = [
                f"http://www.example.com/a/rather/long/path/{i:09d}" for i in range(start, start + 100_000)
            ]
            pages.add(pa.RecordBatch.from_pydict({"url": urls, "size": pa.array(range(100_000), pa.int64())}))
        pages._flush()
        spilled = sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file())
        table = pages.finish()
    assert spilled > 1 << 20
    assert table.num_rows == 500_000
    assert table.column("url")[499_999].as_py().endswith("000499999")
    assert not list(tmp_path.iterdir())


def test_too_little_memory_is_said_in_one_line() -> None:
    with Aggregator(memory="20MB", threads=1) as pages:
        pages.add(pa.RecordBatch.from_pydict({"url": [f"http://h/{i:099d}" for i in range(300_000)]}))
        with pytest.raises(UndustError, match="allow more memory than 20MB"):
            pages.finish()


def test_an_amount_of_memory_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="'lots' is no amount of memory"):
        Aggregator(memory="lots")
