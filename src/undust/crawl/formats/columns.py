"""Arrow tables with columns under any of the known names to raw records; values are converted leniently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from undust.crawl.formats import RAW_SCHEMA, Options
from undust.crawl.formats.records import ABSOLUTE, CONVERT, fields, text_or_none, why_no_url
from undust.crawl.tally import Tally
from undust.errors import InputError


def _cast(column: Any, name: str) -> Any:
    """A column in its raw type: by Arrow where it can, value by value where it cannot."""
    kind = RAW_SCHEMA.field(name).type
    try:
        if pa.types.is_timestamp(kind):
            if pa.types.is_timestamp(column.type) and column.type.tz:
                column = column.cast(pa.timestamp("us", "UTC"))
            elif not pa.types.is_temporal(column.type):
                raise pa.ArrowInvalid("text or numbers")
        elif column.type != kind and kind == pa.string() and not pa.types.is_string(column.type):
            raise pa.ArrowInvalid("not text")
        elif name == "status":
            raise pa.ArrowInvalid("bounds")
        cast = column.cast(kind)
        cast.validate(full=True)
        return cast
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array(map(CONVERT.get(name, text_or_none), _values(column)), kind)


def _values(column: Any) -> list[Any]:
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return list(column.cast(pa.binary()).to_pylist())


def from_columns(batch: pa.RecordBatch, options: Options, tally: Tally, at: int = 1) -> pa.RecordBatch:
    """A batch as raw records; rows without a usable URL are reported as bad, with their number from `at` on.

    >>> frame = pa.RecordBatch.from_pydict({"url": ["http://a/", None], "content_digest": ["x", "y"]})
    >>> from_columns(frame, Options(), Tally()).to_pylist()
    [{'url': 'http://a/', 'digest': 'x'}]
    """
    found = fields(batch.schema.names, options.url_field)
    if "url" not in found:
        raise InputError(
            "table", None, f"no URL column among {', '.join(batch.schema.names)}", "use --url-field"
        )
    columns = {raw: _cast(batch.column(name), raw) for raw, name in found.items()}
    url = columns["url"]
    tally.lines += batch.num_rows
    plain = pc.fill_null(pc.match_substring_regex(url, "^" + ABSOLUTE.pattern + r"[^\x00]*$"), False)
    if not pc.all(plain).as_py():
        urls: list[str | None] = url.to_pylist()
        for i, given in enumerate(urls):
            if why := why_no_url(given or ""):
                tally.bad(at + i, why, given or "")
                urls[i] = None
            else:
                assert given is not None
                urls[i] = options.absolute(text_or_none(given) or "")
                if urls[i] is None:
                    tally.hostless(at + i, given)
        columns["url"] = pa.array(urls, pa.string())
    out = pa.RecordBatch.from_pydict(columns)
    return out.filter(out.column("url").is_valid())


def from_table(table: Any, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow table or reader as raw records."""
    at = 1
    for batch in table.to_batches(max_chunksize=1 << 16) if isinstance(table, pa.Table) else table:
        yield from_columns(batch, options, tally, at)
        at += batch.num_rows
