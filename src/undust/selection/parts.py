"""Links to a part of something (a message of a topic), read from the list of URLs alone: candidates for a guard.

`/threads/x.7/post-981` is a part of `/threads/x.7/`, and `topic=7.msg981` one of `topic=7.0`: what differs is a number
at the end, and what is left without it is listed. Whether it shows the same is for the judge to say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from undust.learners.view import View, escape
from undust.rules import Rule
from undust.rules.pattern import parse_key, parse_pattern

LEAST = 50  # URLs of one build
BUILDS = 20  # builds that are looked at, the most frequent first
LOOKED_AT = 200  # URLs of a build that are looked at
LISTED = 0.5  # share of these that must lead to something listed
MOST = 4

_DIGITS = re.compile(r"\d+")
_TAIL = re.compile(r"(/[^/{}]*\{:int\}[^/{}]*)\Z")
_GROUP = re.compile(r"(?<!\{)\{(:\w+)?\}(?!\})")


def parts_of_things(view: View) -> Iterator[Rule]:
    """Rules that lead links to parts to the thing they are a part of, where most of these things are listed."""
    yield from islice(chain(_in_path(view), _in_values(view)), MOST)


def _in_path(view: View) -> Iterator[Rule]:
    codes, shapes = view.shapes
    paths = {(origin, path) for origin, path, _ in view.parts}
    for code, n in sorted(Counter(codes.tolist()).items(), key=lambda c: (-c[1], c[0]))[:BUILDS]:
        tail = _TAIL.search(shapes[code])
        if n < LEAST or tail is None:
            continue
        head = shapes[code][: tail.start()]
        if not _GROUP.search(head):
            continue
        match = parse_pattern(shapes[code], parse_key("path")).match
        rows = (codes == code).nonzero()[0][:LOOKED_AT].tolist()
        for end in ("", "/"):
            listed = 0
            for row in rows:
                origin, path, _ = view.parts[row]
                cut = path.rstrip("/").rfind("/")
                listed += match(path) is not None and (origin, path[:cut] + end) in paths
            if listed >= LISTED * len(rows):
                names = iter("abcdefgh")
                named = _GROUP.sub(lambda m: "{" + next(names, "") + (m.group(1) or "") + "}", head)  # noqa: B023
                to = re.sub(r"(?<!\{)\{(\w+):\w+\}", r"{\1}", named)
                yield Rule(when={"path": named + tail.group()}, do={"path": to + end}, source=("parts",))
                break


def _in_values(view: View) -> Iterator[Rule]:
    """`{:int}.msg{:int}` -> `{:int}.0` of one parameter: the most frequent other value of what begins alike."""
    for name, have in sorted(view.values.items(), key=lambda v: (-len(v[1]), v[0]))[:BUILDS]:
        if len(have) < LEAST or not name or "]" in name or "#" in name:
            continue
        builds: dict[str, list[str]] = {}
        for _, value in sorted(have.items()):
            if value[:1].isdigit() and not value.isdigit() and len(value) < 100:
                builds.setdefault(_DIGITS.sub("{:int}", escape(value)), []).append(value)
        known = set(have.values())
        for build, values in sorted(builds.items(), key=lambda b: (-len(b[1]), b[0]))[:BUILDS]:
            if len(values) < LEAST or build.count("{:int}") != 2:
                continue
            for other, some in sorted(builds.items(), key=lambda b: (-len(b[1]), b[0]))[:BUILDS]:
                if other == build:
                    continue
                rest, n = Counter(v[len(_DIGITS.match(v)[0]) :] for v in some).most_common(1)[0]  # type: ignore[index]
                looked = values[:LOOKED_AT]
                listed = sum(_DIGITS.match(v)[0] + rest in known for v in looked)  # type: ignore[index]
                if n > 1 and listed >= LISTED * len(looked):
                    key = f"query[{name}]"
                    when = {key: "{a:int}" + build.removeprefix("{:int}")}
                    yield Rule(when=when, do={key: "{a}" + escape(rest)}, source=("parts",))
                    break
