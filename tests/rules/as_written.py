"""One rule on one URL as docs/rules.md says it, with the standard library: no code of `undust` but the rule's data.

It is slow and plain on purpose. Patterns are read by looking for each literal from the left, as the page says;
templates piece by piece. Types, conversions and the labels of a host are taken from `undust`, where they have tests
of their own.
"""

from __future__ import annotations

import re

from undust.rules.conversion import CONVERSIONS
from undust.url import host_labels, matches_type

RFC_3986 = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.S
)


class Url:
    """A URL in pieces."""

    def __init__(self, text: str) -> None:
        found = RFC_3986.fullmatch(text)
        assert found is not None
        self.scheme, authority, self.path, self.query, self.fragment = found.groups()
        self.known = authority is not None
        front, at, rest = (authority or "").rpartition("@")
        self.user = front + at
        port = re.fullmatch(r"(\[.*\]|[^:]*):([0-9]*)", rest, re.S)
        self.host, self.port = (port[1], port[2]) if port else (rest, None)
        self.host = "".join(
            c if re.fullmatch("%..", c, re.S) else c.lower() if c.isascii() else c
            for c in re.findall("%[0-9a-fA-F]{2}|.", self.host, re.S)
        )

    def text(self) -> str:
        out = "" if self.scheme is None else self.scheme + ":"
        if self.known:
            out += "//" + self.user + self.host + ("" if self.port is None else ":" + self.port)
        out += self.path
        out += "" if self.query is None else "?" + self.query
        return out + ("" if self.fragment is None else "#" + self.fragment)

    def segments(self) -> list[str]:
        return [] if not self.path else self.path.removeprefix("/").split("/")

    def separator(self) -> str:
        query = self.query or ""
        named = [piece for piece in query.split(";") if "=" in piece[1:]]
        return ";" if "&" not in query and len(named) >= 2 else "&"

    def fields(self) -> list[str]:
        return [] if self.query is None else self.query.split(self.separator())

    def put(self, fields: list[str]) -> None:
        by = self.separator()
        self.query = by.join(fields) if fields else None


def base_and_parameters(segment: str) -> tuple[str, list[str]]:
    pieces = segment.split(";")
    for place in range(1, len(pieces)):
        if "=" in pieces[place][1:]:
            return ";".join(pieces[:place]), pieces[place:]
    return segment, []


def occurrence(fields: list[str], name: str, number: int) -> int | None:
    """Where the field of that name is."""
    places = [i for i, field in enumerate(fields) if field and field.split("=", 1)[0] == name]
    return places[number - 1] if number <= len(places) else None


def value_of(field: str) -> str:
    return field.split("=", 1)[1] if "=" in field else ""


def bracket(key: str) -> tuple[str, str, int]:
    """`query[a#2]` is (`query`, `a`, 2)."""
    kind, inside = key[:-1].split("[", 1)
    name, mark, number = inside.rpartition("#")
    return (kind, name, int(number)) if mark and kind in ("query", "matrix") else (kind, inside, 1)


def read(url: Url, key: str) -> str | None:
    if "[" not in key:
        if key == "url":
            return url.text()
        if key == "scheme":
            return None if url.scheme is None else url.scheme.lower()
        if key in ("host", "port") and not url.known:
            return None
        return {"host": url.host, "port": url.port, "path": url.path, "query": url.query}.get(
            key, url.fragment
        )
    kind, name, number = bracket(key)
    if kind == "host":
        labels = host_labels(url.host) if url.known else ()
        return labels[int(name)] if int(name) < len(labels) else None
    if kind == "path":
        place, segments = int(name), url.segments()
        if not -len(segments) <= place < len(segments):
            return None
        return base_and_parameters(segments[place])[0]
    if kind == "matrix":
        parameters = [p for segment in url.segments() for p in base_and_parameters(segment)[1]]
        place_ = occurrence(parameters, name, number)
        return None if place_ is None else value_of(parameters[place_])
    place_ = occurrence(url.fields(), name, number)
    return None if place_ is None else value_of(url.fields()[place_])


def pieces(text: str) -> list[str]:
    """Literal, inside of braces, literal, ...; doubled braces are literal."""
    out, at = [""], 0
    while at < len(text):
        if text.startswith(("{{", "}}"), at):
            out[-1] += text[at]
            at += 2
        elif text[at] == "{":
            end = text.index("}", at)
            out += [text[at + 1 : end], ""]
            at = end + 1
        else:
            out[-1] += text[at]
            at += 1
    return out


def fits(kind: str, value: str, key: str) -> bool:
    if kind == "rest":
        return True
    if kind == "any":
        empty = key.startswith(("query[", "matrix["))
        return (bool(value) or empty) and not (key.startswith("path") and "/" in value)
    return matches_type(kind, value)


def match(pattern: str, value: str, key: str) -> dict[str, str] | None:
    parts = pieces(pattern)
    literals, groups = parts[::2], [(g.partition(":")[0], g.partition(":")[2] or "any") for g in parts[1::2]]
    if not groups:
        return {} if value == literals[0] else None
    if not value.startswith(literals[0]) or not value.endswith(literals[-1]):
        return None
    at, end = len(literals[0]), len(value) - len(literals[-1])
    if at > end:
        return None
    held = []
    for (_, kind), literal in zip(groups, [*literals[1:-1], None], strict=True):
        if literal is None:
            stop = end
        elif literal:
            # A group holds at least what its type asks for, so the literal is looked for behind that.
            stop = value.find(literal, at + (not fits(kind, "", key)), end)
        else:
            run = re.compile("[0-9]+" if kind == "int" else r"[^\W\d_]+").match(value, at, end)
            stop = run.end() if run else -1
        if stop < 0:
            return None
        held.append(value[at:stop])
        at = stop + len(literal or "")
    if not all(fits(kind, text, key) for (_, kind), text in zip(groups, held, strict=True)):
        return None
    return {name: text for (name, _), text in zip(groups, held, strict=True) if name}


def is_unsure(rule, url: Url, key: str) -> bool:
    """A parameter that is there with several values, where the rule does not say which one it means."""
    if not key.startswith("query[") or bracket(key)[2] > 1:
        return False
    name = bracket(key)[1]
    if any(
        k.startswith("query[") and bracket(k)[1] == name and bracket(k)[2] > 1 for k in [*rule.when, *rule.do]
    ):
        return False
    return len({value_of(f) for f in url.fields() if f and f.split("=", 1)[0] == name}) > 1


def conditions_hold(rule, url: Url) -> dict[str, str] | None:
    groups: dict[str, str] = {}
    for key, wanted in rule.when.items():
        if key == "names":
            if {f.split("=", 1)[0] for f in url.fields() if f} != set(wanted):
                return None
            continue
        value = read(url, key)
        if wanted is not None and wanted not in ("{}", "{:rest}") and is_unsure(rule, url, key):
            return None
        if wanted is None:
            found = {} if value is None else None
        elif value is None:
            found = None
        elif isinstance(wanted, str):
            found = match(wanted, value, key)
        elif isinstance(wanted, tuple):
            found = {} if value in wanted else None
        else:
            found = None if value in wanted["not"] else {}
        if found is None:
            return None
        groups |= found
    return groups


SIDES = {"path": "path", "matrix": "path", "query": "query"}


def side(key: str) -> str | None:
    return SIDES.get(key.split("[")[0])


def fill(rule, target: str, url: Url, groups: dict[str, str]) -> str | None:
    template = rule.do[target]
    out = []
    for place, piece in enumerate(pieces(template)):
        if place % 2 == 0:
            out.append(piece)
            continue
        source, *steps = piece.split("|")
        value = groups[source] if source in groups else read(url, source)
        if value is None or (source not in groups and source != target and is_unsure(rule, url, source)):
            return None
        for step in steps:
            if step.startswith("tr("):
                old, new = step[3:-1].split(",")
                value = value.replace(old, new)
            else:
                value = CONVERSIONS[step](value)
        home = source
        if source in groups:
            group = re.compile(r"\{" + source + "[:}]")
            [home] = [k for k, v in rule.when.items() if isinstance(v, str) and group.search(v)]
        if {side(home), side(target)} == {"path", "query"}:
            if side(target) == "path" and "+" in value:
                return None
            if side(target) == "query":
                value = escaped(value, "+&;" if target == "query" else "+")
        out.append(value)
    return "".join(out)


def escaped(text: str, chars: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in chars else c for c in text)


def in_scope(rule, url: Url) -> bool:
    scope = rule.scope
    if scope.path is not None:
        below = scope.path if scope.path.endswith("/") else scope.path + "/"
        if url.path != scope.path and not url.path.startswith(below):
            return False
    if scope.hosts:
        return url.known and (url.host in scope.hosts or f"{url.host}:{url.port}" in scope.hosts)
    if scope.domain is not None:
        return url.known and ("." + url.host).endswith("." + scope.domain)
    return True


TOKENS = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+|[\x00-\x7f]")


def substituted(swap, text: str) -> str:
    """The first run of whole tokens that spells `from`."""
    tokens = TOKENS.findall(text)
    wanted = TOKENS.findall(swap["from"])
    for at in range(len(tokens) - len(wanted) + 1):
        if tokens[at : at + len(wanted)] != wanted:
            continue
        if (swap["start"] and at) or (swap["end"] and at + len(wanted) < len(tokens)):
            continue
        return "".join(tokens[:at]) + swap["to"] + "".join(tokens[at + len(wanted) :])
    return text


def applied(rule, text: str) -> str:
    """The URL after the rule, once."""
    url = Url(text)
    if not in_scope(rule, url):
        return text
    groups = conditions_hold(rule, url)
    if groups is None:
        return text
    if "substitute" in rule.do:
        return substituted(rule.do["substitute"], text)
    if not url.known:
        return text
    values: dict[str, str | None] = {}
    for key, action in rule.do.items():
        if action is None:
            values[key] = None
            continue
        ignored = not isinstance(action, str)
        if ignored and read(url, key) is None:
            continue
        value = action["ignore"] if ignored else fill(rule, key, url, groups)
        if value is None:
            return text
        if key in ("scheme", "host", "port") or key.startswith("host["):
            value = value.lower()
            good = {
                "scheme": r"[a-z][a-z0-9+.\-]*", "port": "[0-9]{1,5}"
            }.get(key, r"\[[0-9a-f:.]+\]|[^\s/?#@:\\\[\]]+")  # fmt: skip
            if not re.fullmatch(good, value):
                return text
        if key.startswith("host[") and int(key[5:-1]) > len(host_labels(url.host)):
            return text
        fixed = ignored or len(pieces(action)) == 1
        if key == "path" and not fixed and "/." not in url.path and {".", ".."} & set(value.split("/")):
            return text
        if key.startswith("path["):
            if not fixed and value in (".", "..") and value != read(url, key):
                return text
            if not -len(url.segments()) <= int(key[5:-1]) <= len(url.segments()):
                return text
            if value != read(url, key):
                value = escaped(value, "/?#")
                if base_and_parameters(value)[1]:
                    value = value.replace(";", "%3B")
        values[key] = value
    if "url" in values:
        return values["url"] or ""
    write(url, values)
    return url.text()


def write(url: Url, values: dict[str, str | None]) -> None:
    """Whole components before their parts; what is written stays in its component."""
    if (scheme := values.get("scheme")) is not None and scheme != read(url, "scheme"):
        url.scheme = scheme
    if "host" in values:
        url.host = values["host"] or ""
    labels: list[str | None] = list(host_labels(url.host))
    for key in sorted((k for k in values if k.startswith("host[")), key=lambda k: -int(k[5:-1])):
        place = int(key[5:-1])
        if place < len(labels) or values[key] is not None:
            labels[place : place + 1] = [values[key]] if values[key] is not None else []
            url.host = ".".join(reversed([label for label in labels if label is not None]))
            labels = list(host_labels(url.host))
    if "port" in values:
        url.port = values["port"]
    if "path" in values and values["path"] != url.path:
        path = values["path"] or ""
        url.path = escaped(path if path.startswith("/") else "/" + path, "?#")
    segments = [k for k in values if k.startswith("path[")]
    if segments:
        old: list[str | None] = list(url.segments())
        size = len(old)
        for key in sorted(segments, key=lambda k: int(k[5:-1])):
            place, value = int(key[5:-1]), values[key]
            if place < 0:
                place += size
            if place == size and value is not None and not key.startswith("path[-"):
                old.append(value)
            elif 0 <= place < size:
                kept = base_and_parameters(old[place] or "")[1]
                old[place] = None if value is None else ";".join([value, *kept])
        url.path = "/" + "/".join(s for s in old if s is not None)
    for key in sorted(k for k in values if k.startswith("matrix[")):
        _, name, number = bracket(key)
        parameter(url, name, number, values[key])
    if "query" in values and values["query"] != url.query:
        query = values["query"]
        url.query = escaped(query, "#") if query else None
    inside = sorted(k for k in values if k.startswith("query["))
    for key in [k for k in inside if values[k] is not None or bracket(k)[2] > 1]:
        _, name, number = bracket(key)
        value, fields = values[key], url.fields()
        place_ = occurrence(fields, name, number)
        if value is None:
            if place_ is not None:
                url.put(fields[:place_] + fields[place_ + 1 :])
        elif place_ is None:
            url.put([*fields, f"{name}={escaped(value, '&#;')}"])
        elif value != value_of(fields[place_]):
            fields[place_] = f"{name}={escaped(value, '&#;')}"
            url.put(fields)
    gone = {bracket(k)[1] for k in inside if values[k] is None and bracket(k)[2] == 1}
    left = [f for f in url.fields() if not f or f.split("=", 1)[0] not in gone]
    if len(left) < len(url.fields()):
        url.put(left)
    if "fragment" in values:
        url.fragment = values["fragment"]


def parameter(url: Url, name: str, number: int, value: str | None) -> None:
    seen, out = 0, []
    for segment in url.segments():
        base, parameters = base_and_parameters(segment)
        kept = [base]
        for field in parameters:
            if field and field.split("=", 1)[0] == name:
                seen += 1
                if value is None and (number == 1 or seen == number):
                    continue
                if value is not None and seen == number and value != value_of(field):
                    field = f"{name}={escaped(value, '/?#;')}"
            kept.append(field)
        out.append(";".join(kept))
    if seen:
        url.path = "/" + "/".join(out)
