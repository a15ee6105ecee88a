"""The kinds of column `Canonicalizer.map` takes, each given back as it came: list, Arrow, pandas, Polars."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

Many = Callable[[Iterable[Any]], list[str | None]]


def convert(urls: Any, many: Many) -> Any:
    """Apply `many` to the texts of a column and give back a column of the same kind.

    >>> convert(("a", None), lambda texts: [text and text.upper() for text in texts])
    ('A', None)
    >>> convert(pa.array(["a", None]), lambda texts: [text and text.upper() for text in texts]).to_pylist()
    ['A', None]
    """
    if isinstance(urls, str):
        return many([urls])[0]
    if isinstance(urls, pa.ChunkedArray):
        return pa.chunked_array([_arrow(chunk, many) for chunk in urls.chunks], type=_text_type(urls.type))
    if isinstance(urls, pa.Array):
        return _arrow(urls, many)
    package = type(urls).__module__.partition(".")[0]
    if package == "pandas" and type(urls).__name__ == "Series":
        return _pandas(urls, many)
    if package == "polars" and type(urls).__name__ == "Series":
        import polars

        return polars.Series(urls.name, many(urls.to_list()), dtype=polars.String)
    out = many(urls)
    return tuple(out) if isinstance(urls, tuple) else out


def _text_type(type_: Any) -> Any:
    return type_ if type_ in (pa.string(), pa.large_string(), pa.string_view()) else pa.string()


def _arrow(urls: Any, many: Many) -> Any:
    type_ = _text_type(urls.type)
    try:
        texts = urls.to_pylist()
    except UnicodeDecodeError:  # Arrow does not check what it is given
        raw = urls.cast(pa.large_binary(), safe=False).to_pylist()
        texts = [None if text is None else text.decode("utf-8", "surrogateescape") for text in raw]
    out = many(texts)
    try:
        return pa.array(out, type=type_)
    except UnicodeEncodeError:
        raw = [None if text is None else text.encode("utf-8", "surrogateescape") for text in out]
        return pa.array(raw, type=pa.large_binary()).cast(type_, safe=False)


def _pandas(urls: Any, many: Many) -> Any:
    import pandas  # type: ignore[import-untyped]  # no stubs: two calls do not need them

    dtype = urls.dtype if urls.dtype != object and pandas.api.types.is_string_dtype(urls.dtype) else object
    return pandas.Series(many(urls.tolist()), index=urls.index, name=urls.name, dtype=dtype)
