"""`undust apply` is a filter, and nothing is lost in it."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

Undust = Callable[..., "subprocess.CompletedProcess[bytes]"]

LINES = b"""\
http://www.a.test/x?sid=1&t=2
http://other.test/x?sid=1
not a URL
http://www.a.test/story_7?ref=mail
"""


def last_line(stderr: bytes) -> str:
    return stderr.decode().splitlines()[-1]


def test_one_line_in_one_line_out_in_order(undust: Undust, book: Path) -> None:
    done = undust("apply", "-r", book, "--max-bad-ratio", 0.5, stdin=LINES)
    assert done.stdout.splitlines() == [
        b"http://www.a.test/x?t=2",
        b"http://other.test/x?sid=1",
        b"not a URL",
        b"http://www.a.test/story?ref=mail&id=7",
    ]
    assert last_line(done.stderr) == "in=4 out=4 merged=2 rules=2 bad=1"
    assert b"<stdin>:3: no URL: not a URL" in done.stderr
    assert done.returncode == 0


def test_too_many_bad_lines_are_exit_code_3_and_all_of_them_are_kept(
    undust: Undust, book: Path, tmp_path: Path
) -> None:
    lines = b"http://www.a.test/\n" + b"".join(b"bad %d\n" % i for i in range(8))
    done = undust("apply", "-r", book, "--rejects", tmp_path / "bad.txt", stdin=lines)
    assert done.returncode == 3
    assert done.stdout == lines
    assert (tmp_path / "bad.txt").read_bytes() == lines.partition(b"\n")[2]
    assert b"3 more such lines" in done.stderr


def test_levels(undust: Undust, book: Path) -> None:
    url = b"http://www.a.test/story_7?sid=1&ref=2\n"
    shown = [
        undust("apply", "-r", book, "--level", name, stdin=url).stdout
        for name in ("validated", "probable", "likely")
    ]
    assert shown == [
        b"http://www.a.test/story?sid=1&ref=2&id=7\n",
        b"http://www.a.test/story?ref=2&id=7\n",
        b"http://www.a.test/story?id=7\n",
    ]


def test_emit_both_and_jsonl(undust: Undust, book: Path) -> None:
    done = undust("apply", "-r", book, "--emit", "both", "--max-bad-ratio", 1, stdin=LINES)
    assert done.stdout.splitlines()[0] == b"http://www.a.test/x?sid=1&t=2\thttp://www.a.test/x?t=2"
    assert done.stdout.splitlines()[2] == b"not a URL\tnot a URL"
    done = undust("apply", "-r", book, "--emit", "jsonl", "--max-bad-ratio", 1, stdin=LINES)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(record.get("rules", ())) for record in records] == [1, 0, 0, 1]
    assert records[0]["canonical"] == records[0]["key"] == "http://www.a.test/x?t=2"
    assert records[2] == {"url": "not a URL", "canonical": "not a URL", "bad": True}


def test_bytes_that_are_not_utf8_survive(undust: Undust, book: Path) -> None:
    line = b"http://www.a.test/\xff\xfe\xe4?q=\x80&sid=1\n"
    done = undust("apply", "-r", book, stdin=line)
    assert done.stdout == line.replace(b"&sid=1", b"")
    done = undust("apply", "-r", book, "--emit", "both", "--max-bad-ratio", 1, stdin=b"\xff\xfe \x00\n")
    assert done.stdout == b"\xff\xfe \x00\t\xff\xfe \x00\n"


@pytest.mark.parametrize(
    ("suffix", "pack", "unpack"),
    [
        (".gz", gzip.compress, gzip.decompress),
        (".bz2", bz2.compress, bz2.decompress),
        (
            ".zst",
            zstandard.compress,
            lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
        ),
    ],
)
def test_compressed_in_and_out(undust, book, tmp_path, suffix, pack, unpack) -> None:  # type: ignore[no-untyped-def]  # parametrized
    source, target = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    source.write_bytes(pack(LINES[:30]))
    assert undust("apply", "-r", book, source, "-o", target).returncode == 0
    assert unpack(target.read_bytes()) == b"http://www.a.test/x?t=2\n"
    piped = undust("apply", "-r", book, stdin=pack(LINES[:30]))
    assert piped.stdout == b"http://www.a.test/x?t=2\n"


def test_a_byte_order_mark_hides_no_url(undust: Undust, book: Path) -> None:
    lines = codecs.BOM_UTF8 + b"http://www.a.test/x?sid=1\nhttp://www.a.test/y?sid=1\n"
    done = undust("apply", "-r", book, stdin=lines)
    assert done.stdout == codecs.BOM_UTF8 + b"http://www.a.test/x\nhttp://www.a.test/y\n"
    assert last_line(done.stderr) == "in=2 out=2 merged=2 rules=2 bad=0"
    record = json.loads(undust("apply", "-r", book, "--emit", "jsonl", stdin=lines).stdout.splitlines()[0])
    assert record["canonical"] == "http://www.a.test/x"


def test_rejects_take_the_place_of_no_other_file(undust: Undust, book: Path, tmp_path: Path) -> None:
    urls = tmp_path / "urls"
    urls.write_bytes(LINES)
    for taken in (urls, book):
        before = taken.read_bytes()
        done = undust("apply", "-r", book, urls, "--rejects", taken)
        assert done.returncode == 2
        assert b"would take the place" in done.stderr
        assert taken.read_bytes() == before


def test_lines_keep_their_ends(undust: Undust, book: Path) -> None:
    lines = b"http://www.a.test/x?sid=1\r\nnonsense\r\nhttp://www.a.test/y?sid=1\n"
    done = undust("apply", "-r", book, "--max-bad-ratio", 1, stdin=lines)
    assert done.stdout == lines.replace(b"?sid=1", b"")


def test_more_than_a_chunk_and_no_last_newline(undust: Undust, book: Path) -> None:
    lines = [b"http://www.a.test/%d?sid=%032x" % (i, i) for i in range(40_000)]
    done = undust("apply", "-r", book, stdin=b"\n".join(lines))
    assert done.stdout == b"".join(b"http://www.a.test/%d\n" % i for i in range(40_000))


def test_a_line_longer_than_any_chunk(undust: Undust, book: Path) -> None:
    url = b"http://www.a.test/" + b"x" * (3 << 20)
    assert undust("apply", "-r", book, stdin=url + b"?sid=1\n").stdout == url + b"\n"


def test_empty_input_is_done(undust: Undust, book: Path) -> None:
    done = undust("apply", "-r", book)
    assert (done.returncode, done.stdout) == (0, b"")
    assert last_line(done.stderr) == "in=0 out=0 merged=0 rules=2 bad=0"


def test_quiet_says_nothing(undust: Undust, book: Path) -> None:
    assert undust("apply", "-q", "-r", book, stdin=LINES).stderr == b""
    assert undust("-q", "apply", "-r", book, stdin=LINES).stderr == b""


def test_answers_each_line_before_the_next_comes(book: Path) -> None:
    command = [sys.executable, "-m", "undust", "apply", "-q", "-r", str(book)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as talk:
        assert talk.stdin and talk.stdout
        for i in range(3):
            talk.stdin.write(b"http://www.a.test/?t=%d&sid=0\n" % i)
            talk.stdin.flush()
            assert talk.stdout.readline() == b"http://www.a.test/?t=%d\n" % i


def test_a_closed_pipe_ends_it_quietly(book: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.txt"
    many.write_bytes(b"http://www.a.test/x?sid=1\n" * 300_000)
    command = [sys.executable, "-m", "undust", "apply", "-r", str(book), str(many)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as talk:
        assert talk.stdout and talk.stderr
        assert talk.stdout.readline() == b"http://www.a.test/x\n"
        talk.stdout.close()
        assert talk.stderr.read() == b""
    assert talk.returncode == 0


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_stopped_run_leaves_the_old_file(
    book: Path, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old\n")
    command = [sys.executable, "-m", "undust", "apply", "-r", str(book), "-o", str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdin
        run.stdin.write(LINES[:30])
        run.stdin.flush()
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob(".out.txt.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.1)
        run.send_signal(sent)
        assert run.wait(20) == code
    assert target.read_text() == "old\n"
    left = list(tmp_path.glob(".out.txt.*"))
    assert left == [] or sent == signal.SIGKILL


def test_output_keeps_mode_and_links_and_takes_devices(undust: Undust, book: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("")
    real.chmod(0o640)
    link.symlink_to(real)
    assert undust("apply", "-r", book, "-o", link, stdin=LINES[:30]).returncode == 0
    assert link.is_symlink()
    assert real.read_text() == "http://www.a.test/x?t=2\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert undust("apply", "-r", book, "-o", os.devnull, stdin=LINES[:30]).returncode == 0


def test_a_hostile_book_cannot_add_lines(undust: Undust, tmp_path: Path) -> None:
    book = {"undust": 1, "site_key": "host", "sites": {"a.test": {"rules": [{"do": {"path": "/a\nb"}}]}}}
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(book))
    done = undust("apply", "-r", path, stdin=b"http://a.test/x\n")
    if done.returncode == 0:  # the rule room may also refuse such a book
        assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["apply"], 2, "'-r'"),
        (["apply", "-r", "{book}", "--level", "sure"], 2, "sure"),
        (["apply", "-r", "missing.json"], 1, "missing.json"),
        (["apply", "-r", "{folder}/broken.json"], 1, "JSON"),
        (["apply", "-r", "{book}", "missing.txt"], 1, "missing.txt"),
        (["apply", "-r", "{book}", "{folder}"], 1, "{folder}"),
        (["apply", "-r", "{book}", "{folder}/cut.gz"], 1, "cut.gz"),
        (["apply", "-r", "{book}", "-o", "{folder}/none/out.txt"], 1, "none/out.txt"),
        (["no-such-verb"], 2, "no-such-verb"),
        ([], 2, "Usage"),
    ],
)
def test_wrong_use_says_what_and_where(  # type: ignore[no-untyped-def]  # parametrized
    undust, book, tmp_path, arguments, code, says
) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(LINES * 1000)[:200])
    given = [argument.format(book=book, folder=tmp_path) for argument in arguments]
    done = undust(*given, stdin=LINES, cwd=tmp_path)
    assert done.returncode == code
    assert says.format(folder=tmp_path) in done.stderr.decode()
