"""Web server logs with one JSON object a line (nginx, Caddy, Traefik, Envoy, cloud load balancers)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from undust.crawl.formats import Head, Options
from undust.crawl.formats.access_log import request_of
from undust.crawl.formats.jsonl import item
from undust.crawl.formats.records import Numbered, lookup, to_batches
from undust.crawl.source import Source
from undust.crawl.tally import Tally

NAMES: dict[str, tuple[str, ...]] = {
    "method": (
        "method",
        "request_method",
        "RequestMethod",
        "request.method",
        "httpRequest.requestMethod",
        "http.request.method",
        "verb",
    ),
    "target": (
        "request_uri",
        "request.uri",
        "request_url",
        "RequestPath",
        "httpRequest.requestUrl",
        "url.original",
        "uri",
        "url",
        "path",
    ),
    "query": ("args", "query_string", "query", "url.query"),
    "host": (
        "host",
        "http_host",
        "request.host",
        "RequestHost",
        "server_name",
        "vhost",
        "authority",
        "url.domain",
    ),
    "scheme": ("scheme", "RequestScheme", "url.scheme"),
    "status": ("status", "status_code", "response_code", "DownstreamStatus", "httpRequest.status"),
    "size": (
        "body_bytes_sent",
        "size",
        "DownstreamContentSize",
        "bytes_sent",
        "bytes",
        "httpRequest.responseSize",
    ),
    "fetched_at": ("time_iso8601", "@timestamp", "timestamp", "time", "ts", "StartUTC", "start_time"),
}
"""Names in use, the most telling first: nginx's `uri` has lost its query, `request_uri` has it."""


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Objects within the object under dotted names."""
    flat = dict(value)
    for name, inner in value.items():
        if isinstance(inner, dict):
            flat.update({f"{name}.{key}": v for key, v in inner.items()})
            for key, deep in inner.items():
                if isinstance(deep, dict):
                    flat.update({f"{name}.{key}.{k}": v for k, v in deep.items()})
    return flat


def record(value: Mapping[str, Any], url_field: str | None = None) -> dict[str, Any] | None:
    """A log object as a raw record; None when it is none, empty when it is no page view.

    >>> record({"request": "GET /a HTTP/1.1", "status": 200, "host": "example.com"})["url"]
    'http://example.com/a'
    """
    flat = _flat(value)
    found = {}
    for field, names in NAMES.items():
        name = next((n for n in names if isinstance(flat.get(n), str | int | float)), None)
        if name is not None:
            found[field] = flat[name]
    if url_field:
        found["target"] = flat.get(url_field)
    elif isinstance(line := flat.get("request"), str) and (request := request_of(line)):
        found["method"], found["target"] = request
    method, url = found.pop("method", None), found.pop("target", None)
    if not isinstance(url, str) or method is None:
        return None
    if str(method).upper() not in ("GET", "HEAD"):
        return {}
    query, host, scheme = found.pop("query", None), found.pop("host", None), found.pop("scheme", "http")
    if query and "?" not in url:
        url = f"{url}?{str(query).lstrip('?')}"
    if url.startswith("/") and isinstance(host, str) and host not in ("", "-", "_"):
        url = f"{scheme}://{host}{url}"
    if str(method).upper() == "HEAD":
        found.pop("size", None)
    return {**lookup(value), **found, "url": url}


def sniff(head: Head) -> float:
    """Objects with a request method and a target."""
    objects = [item(line) for line in head.lines]
    return head.share(sum(o is not None and record(o) is not None for o in objects))


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The lines as raw records."""

    def records() -> Iterator[Numbered]:
        for number, line in source.numbered():
            if not line.strip():
                continue
            tally.lines += 1
            value = item(line)
            row = None if value is None else record(value, options.url_field)
            if row is None:
                tally.bad(number, "no JSON object with a request", line)
            elif not row:
                tally.skipped += 1
            else:
                yield number, line, row

    return to_batches(records(), options, tally)
