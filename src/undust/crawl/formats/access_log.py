r"""Web server logs: Common, Combined, with virtual host in front, and the EPA's of 1995.

The plain case is parsed by DuckDB, a block of lines at a time, with a regular expression of no more than
four groups: up to there RE2 runs in one pass, with five it takes four times as long. A line that is not plain
(escapes, quotes in the request, no method) is parsed in Python, which also decides whether it is bad.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from undust.crawl.formats import Head, Options
from undust.crawl.formats.records import moment, to_batch, valid
from undust.crawl.source import Source
from undust.crawl.tally import Tally

_ANSWER = r" +(?P<status>\d{3})(?: +(?P<size>\d+|-))?(?!\S)"
LINE = re.compile(r'(?P<front>[^"\[]*)\[(?P<time>[^\]]*)\] +"(?P<request>(?:[^"\\]|\\.)*)"' + _ANSWER)
LOOSE = re.compile(r'(?P<front>[^"\[]*)\[(?P<time>[^\]]*)\] +"(?P<request>.*?)"' + _ANSWER)
"""As LINE, for servers that do not escape quotes within the request."""
VHOST = re.compile(r'([^\s:"\[]+|\[[0-9a-fA-F:]+\])(?::(\d{1,5}))? +[^\s"\[-][^\s"\[]* +\S+ +\S')
"""The front of a line with the virtual host before the client: four words, the second not the `-` of ident"""
METHOD = re.compile("[A-Za-z]+")
VERSION = re.compile(r"[\d.]+")
ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.S)
ABSOLUTE = re.compile(r"https?://[^/?#]", re.I)

PLAIN = r"""
WITH part AS (
    SELECT regexp_extract(
        line,
        '^{front}\[([^\]"]*)\] "((?:GET|HEAD) [^\x00-\x20"\\\x7f]+) HTTP/[0-9.]+"' ||
            ' ([0-9]{{3}} (?:[0-9]+|-))[ \r\n]',
        ['vhost', 'time', 'request', 'answer']
    ) AS part FROM block
), named AS (
    SELECT part.vhost, part.time, part.answer, starts_with(part.request, 'HEAD') AS head,
           part.request[CASE WHEN starts_with(part.request, 'HEAD') THEN 6 ELSE 5 END:] AS target
    FROM part
)
SELECT CASE WHEN starts_with(target, '/') THEN {base} || target
            WHEN starts_with(target, 'http://') OR starts_with(target, 'https://') THEN target END AS url,
       TRY_CAST(answer[:3] AS SMALLINT) AS status,
       CASE WHEN NOT head THEN TRY_CAST(answer[5:] AS BIGINT) END AS size,
       make_timestamp_ms(epoch_ms(try_strptime(time, '%d/%b/%Y:%H:%M:%S %z'))) AS fetched_at
FROM named
"""
ONE_HOST = PLAIN.format(front=r'()[^"\[]*', base="$base")
HOSTED = PLAIN.format(
    front=r'([^ "\[]+) +[^ "\[-][^ "\[]* +[^ "\[]+ +[^ "\[][^"\[]*',
    base="""
            'http' || CASE WHEN ends_with(vhost, ':443') THEN 's' ELSE '' END || '://' ||
            regexp_replace(vhost, ':(80|443)$', '')""",
)


def _unescape(text: str) -> str:
    r"""What the client sent, where the server wrote it with escapes.

    >>> _unescape(r'/a\"b\xc3\xa9')
    '/a"bé'
    """
    if "\\" not in text:
        return text

    def byte(match: re.Match[str]) -> str:
        seq = match[1]
        return chr(int(seq[1:], 16)) if len(seq) == 3 else {"n": "\n", "t": "\t", "r": "\r"}.get(seq, seq)

    # Escapes stand for bytes: to Latin-1 and back, so that two of them may form one letter.
    raw = ESCAPE.sub(byte, text.encode("utf-8", "surrogateescape").decode("latin-1"))
    return raw.encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def _host(front: str) -> str | None:
    """The base URL of the virtual host at the beginning of a line.

    >>> _host("www.example.com:443 192.0.2.1 - - ")
    'https://www.example.com'
    """
    match = VHOST.match(front)
    if match is None:
        return None
    host, port = match.groups()
    scheme = "https" if port == "443" else "http"
    return f"{scheme}://{host}" + (f":{port}" if port not in (None, "80", "443") else "")


def _time(text: str) -> datetime | None:
    try:
        return moment(datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z"))
    except ValueError:
        return None


def request_of(line: str) -> tuple[str, str] | None:
    """Method and target of a request line. By hand: a regular expression would try each of a run of blanks in turn.

    >>> request_of("GET /a b HTTP/1.1 "), request_of("GET /a"), request_of("?")
    (('GET', '/a b'), ('GET', '/a'), None)
    """
    method, blank, rest = line.rstrip().partition(" ")
    if not blank or not METHOD.fullmatch(method):
        return None
    target, protocol, version = rest.lstrip(" ").rpartition(" HTTP/")
    if protocol and VERSION.fullmatch(version):
        return method, target.rstrip()
    return method, rest.lstrip(" ")


def _match(line: str) -> re.Match[str] | None:
    return LINE.match(line) or LOOSE.match(line)


def parse(line: str, options: Options, hosted: bool = False) -> dict[str, Any] | None:
    """One line as a raw record; None when it is no log line, empty when it says nothing about a page.

    >>> parse('::1 - - [29/Feb/2024:12:00:00 +0200] "GET /a HTTP/1.1" 200 7', Options(host="example.com"))
    {'url': 'http://example.com/a', 'status': 200, 'size': 7, 'fetched_at': datetime.datetime(2024, 2, ...)}
    """
    match = _match(line)
    if match is None:
        return None
    method, target = request_of(_unescape(match["request"])) or ("", "")
    if method not in ("GET", "HEAD"):
        return {}
    url: str | None = valid(target)
    assert url is not None
    if url.startswith("/"):
        base = _host(match["front"]) if hosted else None
        url = base + url if base else options.absolute(url)
    elif not ABSOLUTE.match(url):
        return {}
    # The answer to HEAD has no body: its size says nothing.
    known = match["size"] not in (None, "-") and method == "GET"
    size = int(match["size"][:18]) if known else None
    return {"url": url, "status": int(match["status"]), "size": size, "fetched_at": _time(match["time"])}


def sniff(head: Head) -> float:
    """Lines with a bracketed time, a quoted request, a status and a size."""
    return head.share(sum(_match(line) is not None for line in head.lines))


def _as_array(block: bytes) -> Any:
    """The lines of a block as strings, without copying: offsets are where the newlines are."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + 1
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(block)]
    return pa.Array.from_buffers(pa.string(), len(ends), buffers)


def read(source: Source, options: Options, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The GET and HEAD requests of a log as raw records; others are counted as skipped."""
    head = Head(source.head())
    matches = [m for m in map(_match, head.lines) if m]
    hosted = sum(VHOST.match(m["front"]) is not None for m in matches) * 2 > len(matches)
    plain, params = (HOSTED, {}) if hosted else (ONE_HOST, {"base": options.base})
    with duckdb.connect() as db:
        for number, block in source.lines():
            lines = _as_array(block)
            try:
                lines.validate(full=True)
            except pa.ArrowInvalid:
                # Percent-encode what is no UTF-8 right here: DuckDB and Arrow hold valid text only.
                lines = _as_array(valid(block.decode("utf-8", "surrogateescape")).encode())
            db.register("block", pa.table({"line": lines}))
            records = db.sql(plain, params=params).to_arrow_table().combine_chunks()
            good = records.column("url").is_valid()
            tally.lines += pc.sum(good).as_py() or 0
            yield from records.filter(good).to_batches()
            odd = [(number + int(i), lines[int(i)].as_py()) for i in np.flatnonzero(~good.to_numpy())]
            yield to_batch(list(_one_by_one(odd, options, hosted, tally)))


def _one_by_one(
    lines: list[tuple[int, str]], options: Options, hosted: bool, tally: Tally
) -> Iterator[dict[str, Any]]:
    """The records on lines that are not plain."""
    for number, line in lines:
        text = line.strip("\r\n\0")
        if not text.strip():
            continue
        tally.lines += 1
        record = parse(text, options, hosted)
        if record is None:
            tally.bad(number, "no access log line", text)
        elif not record:
            tally.skipped += 1
        elif record["url"] is None:
            tally.hostless(number, text)
        else:
            yield record
