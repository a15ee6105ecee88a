"""A rule as search and replace: regular expressions that Java, PCRE and Python read alike.

Every expression holds from the first to the last character of an absolute URL. It may fire on fewer URLs than the
rule (a URL with user name, a parameter given twice), never on more: what cannot be said that exactly is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from undust.exports.target import Cannot, Placed, ask_nobody
from undust.rules import MutableUrl, Rule, compile_rule
from undust.rules.compiled import compile_condition, crossing
from undust.rules.pattern import Pattern, Template, parse_key, parse_pattern, parse_template
from undust.url import Key

Replacement = tuple["str | int", ...]

MOST_OF_ONE = 2
"""How often a parameter may be given for all of it to be dropped."""

_OF_HOST = ("scheme", "host", "port")
_SPECIAL = frozenset(".?+*()|{}^$[]")
_HEXED = frozenset("\"'\\ #`\t<>")
# The alphanumeric characters of undust's tokens, by what they are not: that every dialect can say.
_WORD = r"[^\x00-/:-@\[-`{-\x7f]"
_IS_WORD = re.compile(_WORD)

# What a value of the type looks like; `session` is counted, not matched.
_TYPES = {
    "int": "[0-9]+",
    "hex": "(?:[0-9a-f]{8,}|[0-9A-F]{8,})",
    "uuid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "word": "[A-Za-z]+",
    "slug": "[0-9A-Za-z]+(?:[-_][0-9A-Za-z]+)*",
}
_IN_TYPE = {"int": "0-9", "hex": "0-9A-Fa-f", "uuid": "0-9A-Fa-f-", "word": "A-Za-z", "slug": "0-9A-Za-z_-"}
# What cannot occur in the value of a key. More than may is excluded, so that no escaping is called for.
_OUTSIDE = {"path": "?#", "segment": "/?#;", "field": "&;#?", "query": "#"}


def quote(text: str) -> str:
    """Literal text.

    >>> quote("/a.php b")
    '/a\\\\.php\\\\x20b'
    """
    return "".join(map(_quoted, text))


def _quoted(char: str) -> str:
    if char in _SPECIAL:
        return "\\" + char
    if char in _HEXED or (char.isascii() and not char.isprintable()):
        return f"\\x{ord(char):02X}"
    if not char.isprintable():
        # A line that ends here for some reader would be followed by whatever the rule says next.
        raise Cannot(f"{char!r} cannot be written into a file that is read line by line")
    return char


@dataclass(frozen=True)
class Rewrite:
    """One search and replace for a rule; an int in the replacement is the number of a group."""

    rule: Rule
    pattern: str
    replacement: Replacement
    hosts: tuple[str, ...] = ()
    """The only hosts it can match; none: any."""

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @property
    def groups(self) -> int:
        return self._compiled.groups

    def apply(self, url: str) -> str | None:
        """The rewritten URL; None: it does not match. What the target will do, done here."""
        found = self._compiled.match(url)
        if found is None:
            return None
        return "".join(piece if isinstance(piece, str) else found[piece] or "" for piece in self.replacement)


def rewrites(place: Placed) -> list[Rewrite]:
    """The rule as expressions, each to be tried once, in this order; Cannot says why there are none.

    >>> rule = Rule(when={"path": "/wiki/{t}"}, do={"path": "/", "query": "title={t}"})
    >>> [r] = rewrites(Placed(rule, ("example.com",)))
    >>> r.pattern
    '^(https?://example\\\\.com(?::[0-9]+)?)(?=[/?#]|$)(?:/wiki/([^#&+/;?]+))(?:\\\\?[^#]*)?((?:#.*)?)$'
    >>> r.apply("http://example.com/wiki/Dust")
    'http://example.com/?title=Dust'
    """
    place.check()
    return [replace(found, hosts=place.hosts) for found in _rewrites(place)]


def _rewrites(place: Placed) -> list[Rewrite]:
    rule = place.rule
    ask_nobody(rule)
    if "substitute" in rule.do:
        return [_substitution(place, rule.do["substitute"])]
    for key in (*rule.when, *rule.do):
        if key in ("url", "fragment") or (key != "names" and parse_key(key).occurrence > 1):
            raise Cannot(f"{key} cannot be told apart")
    out: list[Rewrite] = []
    for where, scheme, target in _heads(place):
        for edit in _query_edits(rule):
            out.append(_Writer(rule, where, scheme, target).write(edit))
    return out


# -- scheme, host and port ------------------------------------------------


def _heads(place: Placed) -> list[tuple[str, str, str | None]]:
    """(expression for host and port, expression for the scheme, new scheme and host): what a rule asks of hosts is
    asked now, of each host that is known."""
    rule = place.rule
    when = {k: v for k, v in rule.when.items() if k != "names" and parse_key(k).kind in _OF_HOST}
    do = {k: v for k, v in rule.do.items() if k != "substitute" and parse_key(k).kind in _OF_HOST}
    if any(isinstance(v, Mapping) or (v and parse_template(v).references) for v in do.values()):
        raise Cannot("a host that depends on the URL")
    if any(k == "port" for k in (*when, *do)):
        raise Cannot("ports are not looked at")
    if not place.hosts:
        if any(k != "scheme" for k in (*when, *do)):
            raise Cannot("a condition on hosts needs the names of the hosts")
        name = r"(?:[^/?#@:]*\.)?" + quote(place.domain) if place.domain else r"[^/?#@:]+"
        return _by_scheme(rule, when, do, {None: [name + "(?::[0-9]+)?"]})
    groups: dict[str | None, list[str]] = {}
    host_do = {k: v for k, v in do.items() if k != "scheme"}
    move = compile_rule(Rule(do=host_do)) if host_do else None
    for host in place.hosts:
        url = MutableUrl(f"http://{host}/")
        if not all(compile_condition(k, v)(url, {}) for k, v in when.items() if k != "scheme"):
            continue
        moved = move.apply(str(url)) if move else None
        there = moved[len("http://") : -1] if moved else None
        # Where the host changes, the writer keeps the port; here it is part of what stays.
        port = "" if there or re.search(r":[0-9]+\Z", host) else "(?::[0-9]+)?"
        groups.setdefault(there, []).append(quote(host) + port)
    if not groups:
        raise Cannot("no host of the site meets its conditions")
    return _by_scheme(rule, when, do, groups)


def _by_scheme(
    rule: Rule, when: Mapping[str, Any], do: Mapping[str, Any], groups: Mapping[str | None, list[str]]
) -> list[tuple[str, str, str | None]]:
    schemes = when.get("scheme", ("http", "https"))
    schemes = (schemes,) if isinstance(schemes, str) else schemes
    if not isinstance(schemes, tuple) or not set(schemes) <= {"http", "https"}:
        raise Cannot("its condition on the scheme")
    scheme = schemes[0] if len(schemes) == 1 else "https?"
    if "scheme" in do:
        raise Cannot("a change of scheme is the business of the server's own redirect")
    out: list[tuple[str, str, str | None]] = []
    for there, hosts in groups.items():
        where = hosts[0] if len(hosts) == 1 else f"(?:{'|'.join(hosts)})"
        out.append((where, scheme, there))
    return out


# -- the query: what is done to it, in one of a few ways ------------------


@dataclass(frozen=True)
class _Edit:
    """`keep`; `drop` the parameter `name`; `whole`: set to `value`; `set` a parameter that is there, `add` one to a
    query, `only`: add one where there is no query."""

    kind: str = "keep"
    name: str = ""
    value: str | None = None
    ignore: bool = False


def _query_edits(rule: Rule) -> list[_Edit]:
    """The ways in which the rule meets a query, one expression each."""
    found = {k: v for k, v in rule.do.items() if k == "query" or k.startswith("query[")}
    others = len(rule.do) > len(found)
    if not found:
        return [_Edit()]
    if "query" in found:
        if len(found) > 1:
            raise Cannot("the query is written whole and in part")
        value = found["query"]
        if isinstance(value, Mapping):
            raise Cannot("a query to be ignored")
        return [_Edit("whole", value=value)]
    names = [str(parse_key(key).name) for key in found]
    present = rule.when.get("names")
    if isinstance(present, tuple) and all(v is None for v in found.values()):
        kept = [name for name in present if name not in names]
        if not kept and set(names) <= set(present):
            return [_Edit("whole")]
        if len(kept) == 1 and len(names) > 1:
            return [_Edit("field", kept[0])]
    if len(names) > 1:
        touched = {f"query[{name}]" for name in names} | {"names", "query"}
        if others or any(v is not None for v in found.values()) or touched & set(rule.when):
            raise Cannot("several parameters are written at once, under conditions")
        return [_Edit("drop", name) for name in names for _ in (1, 2)]
    ((key, action), name) = next(iter(found.items())), names[0]
    there = rule.when.get(key, "?")  # "?": nothing is asked of it
    if action is None:
        if there is None:
            raise Cannot("it drops what must be absent")
        once = there != "?" or "names" in rule.when
        drops = [_Edit("drop", name)] * (1 if once else 2)
        # A rule that does more fires too where there is nothing to drop.
        return [drops[0], _Edit("without", name)] if others and not once else drops[:1] if others else drops
    if isinstance(action, Mapping):
        if others:
            raise Cannot("a parameter is ignored while more is written")
        return [_Edit("set", name, action["ignore"].replace("{", "{{").replace("}", "}}"), True)]
    ways = []
    bare = rule.when.get("query", "?") is None or rule.when.get("names") == ()
    if there is not None and not bare:
        ways.append(_Edit("set", name, action))
    if there in (None, "?"):
        ways += [_Edit("only", name, action)] + ([] if bare else [_Edit("add", name, action)])
    return ways


# -- the writer -----------------------------------------------------------


class _Writer:
    """Writes one expression from left to right, and the replacement next to it."""

    def __init__(self, rule: Rule, where: str, scheme: str, target: str | None) -> None:
        self.rule, self.target = rule, target
        self.text: list[str] = ["^"]
        self.groups = 0
        self.named: dict[str, int] = {}  # group of the rule -> group of the expression
        self.keyed: dict[Key, int] = {}  # key that a template reads -> group
        self.replacement: list[str | int] = []
        self.templates = {
            key: parse_template(value) for key, value in rule.do.items() if isinstance(value, str)
        }
        self.used = {ref.source for template in self.templates.values() for ref in template.references}
        for template in self.templates.values():
            for ref in template.references:
                if ref.steps:
                    raise Cannot(f"regular expressions cannot do |{ref.steps[0]}")
        kinds = {_kind(key) for key, template in self.templates.items() if template.references}
        # A captured text goes where it needs no escaping.
        self.banned = "".join(
            _OUTSIDE["field"] if kind in ("field", "query") else _OUTSIDE.get(kind, "/?#@:") for kind in kinds
        )
        # Nor may it hold what means another thing on the other side of the `?`: a plus sign, `..`.
        self.crossing = crossing(rule)
        self.banned += "+" if self.crossing else ""
        if target is None:
            self.replacement.append(self.capture(f"{scheme}://{where}"))
        else:
            self.replacement += [self.capture(f"{scheme}://"), target]
            self.add(where)
            self.replacement.append(self.capture("(?::[0-9]+)?"))
        # Here the host ends: `a.example.evil` is another one, and so is `a.example:80` of `a.example:8080`.
        self.add("(?=[/?#]|$)")

    def add(self, text: str) -> None:
        self.text.append(text)

    def group(self) -> int:
        self.groups += 1
        return self.groups

    def capture(self, text: str) -> int:
        number = self.group()
        self.add(f"({text})")
        return number

    def write(self, edit: _Edit) -> Rewrite:
        self.conditions(edit)
        self.path()
        self.query(edit)
        return _checked(Rewrite(self.rule, "".join(self.text), tuple(_joined(self.replacement))))

    # conditions, as looks ahead from the beginning of the path

    def conditions(self, edit: _Edit) -> None:
        rule = self.rule
        if rule.scope.path is not None and rule.scope.path != "/":
            prefix = rule.scope.path
            self.add(f"(?={quote(prefix)}{'' if prefix.endswith('/') else '(?:[/?#]|$)'})")
        for text, condition in rule.when.items():
            if text == "names":
                self.names(condition, edit)
                continue
            key = parse_key(text)
            if key.kind in ("scheme", "host"):
                continue
            if key.kind == "path" and key.position is None:
                if condition is None:
                    raise Cannot("a URL without a path")
                if self.segmented():
                    self.add("(?=")
                    self.condition(key, condition)
                    self.add("(?:[?#]|$))")
            elif key.kind == "path":
                self.segment(key, condition)
            elif key.kind == "query" and key.name is None:
                self.whole_query(key, condition)
            elif key.kind == "query":
                self.field(key, condition)
            elif key.kind == "separator" and condition == "&":
                self.add(r"(?![^?#]*\?[^#]*;)")
            else:
                raise Cannot(f"it has no conditions on {text}")
        for source in self.used:
            if isinstance(source, Key) and source not in self.keyed:
                if source.kind == "path" and source.position is not None:
                    self.segment(source, "{}", source)
                elif source.kind == "query" and source.name is not None:
                    self.field(source, "{}", source)
                else:
                    raise Cannot(f"a template reads {source.kind}")

    def segmented(self) -> bool:
        """Whether the path is taken apart by what the rule does."""
        return any(key.startswith(("path[", "matrix[")) for key in self.rule.do)

    def condition(self, key: Key, condition: Any, read: Key | None = None) -> None:
        """What the value of `key` looks like."""
        kind = "segment" if key.position is not None else "field" if key.name is not None else key.kind
        if isinstance(condition, tuple):
            if kind == "field" and any(set("&;#") & set(value) for value in condition):
                raise Cannot("a value with a separator in it")
            self.add(f"(?:{'|'.join(map(quote, condition))})")
        elif isinstance(condition, Mapping):
            raise Cannot("it has no exceptions")
        else:
            self.pattern(parse_pattern(condition, key), kind, read)

    def pattern(self, pattern: Pattern, kind: str, read: Key | None = None) -> None:
        """A pattern of the rule language: up to the first occurrence of the literal that follows."""
        if kind == "field" and any(set("&;#") & set(literal) for literal in pattern.literals):
            raise Cannot("a value with a separator in it")
        self.add(quote(pattern.literals[0]))
        for place, (group, literal) in enumerate(zip(pattern.groups, pattern.literals[1:], strict=True)):
            last = place == len(pattern.groups) - 1
            number = None
            if (group.name and group.name in self.used) or read is not None:
                number = self.group()
                if group.name:
                    self.named[group.name] = number
                if read is not None:
                    self.keyed[read] = number
            self.add("(" if number else "(?:")
            self.add(self.value(group.type, kind, literal, last, number is not None, pattern.may_be_empty))
            self.add(")" + quote(literal))
            if not literal and not last:
                self.add(f"(?![{_IN_TYPE[group.type]}])")

    def value(
        self, type_: str, kind: str, literal: str, last: bool, captured: bool, may_be_empty: bool
    ) -> str:
        if type_ in ("any", "rest"):
            outside = _OUTSIDE[kind] + ("/" if type_ == "any" and kind == "path" else "")
            outside += self.banned if captured else ""
            char = f"[^{''.join(sorted(set(outside)))}]"
            empty = type_ == "rest" or may_be_empty
            if last:
                return char + ("*" if empty else "+")
            step = f"(?!{quote(literal)}){char}"
            return f"(?:{step})*" if empty else f"{char}(?:{step})*"
        if type_ not in _TYPES:
            raise Cannot(f"no expression for the type {type_}")
        if not last and literal and re.match(f"[{_IN_TYPE[type_]}]", literal[0]):
            raise Cannot(f"what follows a group of type {type_} could belong to it")
        return _TYPES[type_]

    def segment(self, key: Key, condition: Any, read: Key | None = None) -> None:
        at = key.position or 0
        if at >= 0:
            reach = f"(?:/[^/?#]*){{{at}}}/" if at else "/"
            end = "(?=[/;?#]|$)"
        else:
            reach = "[^?#]*/"
            end = "(?:;[^/?#]*)?" + (f"(?:/[^/?#]*){{{-at - 1}}}" if at < -1 else "") + "(?:[?#]|$)"
        if condition is None:
            self.add(f"(?!{reach})" if at >= 0 else f"(?!(?:/[^/?#]*){{{-at}}})")
            return
        self.add(f"(?={reach}")
        self.condition(key, condition, read)
        self.add(f"{end})")

    def whole_query(self, key: Key, condition: Any) -> None:
        if condition is None:
            self.add(r"(?![^#]*\?)")
            return
        self.add(r"(?=[^?#]*\?")
        self.condition(key, condition)
        self.add("(?:#|$))")

    def field(self, key: Key, condition: Any, read: Key | None = None) -> None:
        name = quote(_plain(str(key.name)))
        if condition is None:
            self.add(rf"(?![^?#]*\?(?:[^#]*[&;])?{name}(?:[=&;#]|$))")
            return
        # Of a parameter that is given twice the first value counts: here none does.
        self.add(rf"(?![^?#]*\?(?:[^#]*&)?{name}(?:=[^&#]*)?&(?:[^#]*&)?{name}(?:[=&#]|$))")
        if isinstance(condition, Mapping):
            self.add(
                rf"(?![^?#]*\?(?:[^#]*&)?{name}=?(?:{'|'.join(map(quote, condition['not']))})(?:[&;#]|$))"
            )
            if "" in condition["not"]:
                raise Cannot("a value that must not be empty")
            self.add(rf"(?=[^?#]*\?(?:[^#]*&)?{name}(?:=[^&;#]*)?(?:[&#]|$))")
            return
        if "path" in self.crossing:
            self.add(rf"(?![^?#]*\?(?:[^#]*&)?{name}=(?:[^&;#]*/)?\.\.?(?:[/&;#]|$))")
        self.add(rf"(?=[^?#]*\?(?:[^#]*&)?{name}")
        if condition == "":
            self.add("=?")
        elif condition == "{}" and read is None:
            self.add("(?:=[^&;#]*)?")
        else:
            self.add("=")
            self.condition(key, condition, read)
        self.add("(?:[&#]|$))")

    def names(self, condition: Any, edit: _Edit) -> None:
        names = [_plain(name) for name in condition]
        if not names:
            self.add(r"(?![^#]*\?)")
            return
        for name in names:
            self.add(rf"(?=[^?#]*\?(?:[^#]*&)?{quote(name)}(?:[=&#]|$))")
        some = f"(?:{'|'.join(map(quote, names))})(?:=[^&;#]*)?"
        self.add(rf"(?=[^?#]*\?{some}(?:&{some})*(?:#|$))")
        if edit.kind == "field":
            name = quote(edit.name)
            self.add(rf"(?![^?#]*\?(?:[^#]*&)?{name}(?:=[^&#]*)?&(?:[^#]*&)?{name}(?:[=&#]|$))")
            self.add(r"(?=[^?#]*\?(?:[^#]*&)?")
            self.keyed[Key("query", name=edit.name)] = self.capture(f"{name}(?:=[^&;#]*)?")
            self.add("(?:[&#]|$))")

    # what is written

    def fill(self, template: Template) -> None:
        for piece in template.pieces:
            if isinstance(piece, str):
                self.replacement.append(piece)
            elif isinstance(piece.source, str):
                self.replacement.append(self.named[piece.source])
            else:
                self.replacement.append(self.keyed[piece.source])

    def path(self) -> None:
        rule = self.rule
        written = {k: v for k, v in rule.do.items() if parse_key(k).kind in ("path", "matrix")}
        condition = rule.when.get("path", "")
        if condition is None or isinstance(condition, Mapping):
            raise Cannot("it has no exceptions for paths")
        if not written:
            if "path" not in rule.when:
                self.replacement.append(self.capture("[^?#]*"))
            else:
                number = self.group()
                self.add("(")
                self.condition(Key("path"), condition)
                self.add(")")
                self.replacement.append(number)
            return
        if "path" in written:
            if len(written) > 1 or isinstance(written["path"], Mapping):
                raise Cannot("the path is written whole and in part")
            self.add("(?:")
            if "path" in rule.when:
                self.condition(Key("path"), condition)
            else:
                self.add("[^?#]*")
            self.add(")")
            template = self.templates["path"]
            first = template.pieces[0] if template.pieces else ""
            if isinstance(first, str):
                if not first.startswith("/") or set("?#") & set(
                    "".join(p for p in template.pieces if isinstance(p, str))
                ):
                    raise Cannot("the new path does not begin with a slash")
            else:
                pattern = parse_pattern(condition, Key("path")) if isinstance(condition, str) else None
                begins = pattern is not None and not pattern.literals[0] and pattern.groups
                if not begins or pattern is None or first.source != pattern.groups[0].name:
                    raise Cannot("the new path may not begin with a slash")
            self.fill(template)
            return
        keys = {parse_key(k): v for k, v in written.items()}
        if any(key.kind == "matrix" for key in keys):
            self.matrix(keys)
        else:
            self.segments(
                {
                    int(key.position or 0): (text, v)
                    for (text, v), key in zip(written.items(), keys, strict=True)
                }
            )

    def matrix(self, keys: Mapping[Key, Any]) -> None:
        if len(keys) > 1 or next(iter(keys.values())) is not None:
            raise Cannot("several things are done to the path")
        name = quote(str(next(iter(keys)).name))
        self.replacement.append(self.capture("[^?#]*"))
        self.add(f";{name}(?:=[^/;?#]*)?")
        self.replacement.append(self.capture("(?:[/;][^?#]*)?"))

    def segments(self, edits: Mapping[int, tuple[str, Any]]) -> None:
        """Segments that are set or dropped, counted from one end."""
        places = sorted(edits)
        if (places[0] < 0) != (places[-1] < 0):
            raise Cannot("segments are counted from both ends")
        from_end = places[0] < 0
        if from_end:
            self.replacement.append(
                self.capture("[^?#]+" if edits.get(-1, ("", ""))[1] is None else "[^?#]*")
            )
        for place in range(places[0], 0) if from_end else range(places[-1] + 1):
            if place not in edits:
                self.replacement.append(self.capture("/[^/?#]*"))
                continue
            text, action = edits[place]
            if action is None:
                self.add("/[^/?#]*")
                continue
            self.replacement.append("/")
            if isinstance(action, Mapping):
                self.add(f"/(?!{quote(action['ignore'])}(?:[/?#]|$))[^/;?#]*")
                self.replacement.append(_plain(action["ignore"], "/?#;"))
            else:
                literal = self.templates[text].literal
                if literal is not None:
                    _plain(literal, "/?#;")
                    self.add(f"/(?!{quote(literal)}(?:[/?#]|$))[^/;?#]*")
                else:
                    self.add("/[^/;?#]*")
                self.fill(self.templates[text])
        if not from_end:
            kept = any(place not in edits or edits[place][1] is not None for place in range(places[-1] + 1))
            self.replacement.append(self.capture("(?:/[^?#]*)?" if kept else "/[^?#]*"))

    def query(self, edit: _Edit) -> None:
        name = quote(_plain(edit.name)) if edit.name else ""
        some = rf"{name}(?:=[^&;#]*)?"
        keep = self.replacement
        absent = rf"(?!\?(?:[^#]*[&;])?{name}(?:[=&;#]|$))"
        if edit.kind != "whole":
            # Semicolons may be separators, or become them when the last `&` goes. What one rule leaves alone all must:
            # else a later one would lead on from where the book never was.
            self.add(r"(?!\?[^#]*;)")
        if edit.kind == "keep":
            keep.append(self.capture(r"(?:[?#].*)?"))
            self.add("$")
            return
        if edit.kind == "drop":
            # Two are dropped at most; where there are more of them none is, so that nothing is left half done.
            self.add(rf"(?!(?:[^#]*[?&]{name}(?=[=&#]|$)){{{MOST_OF_ONE + 1}}})")
            self.add(rf"(?:\?{some}(?=#|$)|")
            keep.append(self.capture(r"\?[^#]*"))
            self.add(rf"&{some}(?=[&#]|$)|")
            keep.append(self.capture(r"\?"))
            self.add(f"{some}&)")
            keep.append(self.capture("[^#]*"))
        elif edit.kind == "without":
            self.add(absent)
            keep.append(self.capture(r"(?:\?[^#]*)?"))
        elif edit.kind == "field":
            self.add(r"\?[^#]*")
            keep += ["?", self.keyed[Key("query", name=edit.name)]]
        elif edit.kind == "whole":
            alone = len(self.rule.do) == 1
            self.add(r"\?[^#]*" if alone and not edit.value else r"(?:\?[^#]*)?")
            if edit.value:
                keep.append("?")
                self.fill(parse_template(edit.value))
        else:
            assert edit.value is not None
            template = parse_template(edit.value)
            if template.literal is not None:
                _plain(template.literal)
            if edit.kind == "set":
                # of a parameter that is given twice the first is meant, and an expression could take the other
                self.add(rf"(?!\?(?:[^#]*&)?{name}(?:=[^&#]*)?&(?:[^#]*&)?{name}(?:[=&#]|$))")
                keep.append(self.capture(rf"\?(?:[^#]*&)?{name}="))
                if template.literal is not None:
                    self.add(f"(?!{quote(template.literal)}(?:[&#]|$))")
                self.add("[^&;#]*(?=[&#]|$)")
                self.fill(template)
                keep.append(self.capture("[^#]*"))
            elif edit.kind == "only":
                keep.append(f"?{edit.name}=")
                self.fill(template)
            else:
                self.add(absent)
                keep.append(self.capture(r"\?[^;#]+"))
                keep.append(f"&{edit.name}=")
                self.fill(template)
        keep.append(self.capture("(?:#.*)?"))
        self.add("$")


def _checked(rewrite: Rewrite) -> Rewrite:
    """No text of a book may end the line it is written on, or stand for two URLs."""
    for piece in rewrite.replacement:
        if isinstance(piece, str) and (not piece.isprintable() or " " in piece):
            raise Cannot(f"{piece!r} cannot be written as it stands")
    return rewrite


def _kind(key: str) -> str:
    if key.startswith("query["):
        return "field"
    return "segment" if key.startswith("path[") else key


def _plain(text: str, special: str = "&;#") -> str:
    """Text that needs no escaping where it goes."""
    if set(special) & set(text) or not text.isprintable():
        raise Cannot(f"{text!r} would need escaping")
    return text


def _joined(pieces: list[str | int]) -> list[str | int]:
    out: list[str | int] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        elif piece != "":
            out.append(piece)
    return out


def _asked(rule: Rule, where: str, scheme: str) -> str:
    """The conditions of a substitution, as a look ahead from the beginning of the URL."""
    if not rule.when:
        return ""
    # As if the path were taken apart: then its condition is a look ahead as well.
    writer = _Writer(replace(rule, do={"path[0]": None}), where, scheme, None)
    writer.conditions(_Edit())
    if writer.groups != 1:
        raise Cannot("a substitution under such conditions")
    return "(?=" + "".join(writer.text).removeprefix("^").replace("(", "(?:", 1) + ")"


def _substitution(place: Placed, swap: Any) -> Rewrite:
    """DustBuster's substitution: whole tokens, first occurrence, anywhere in the URL."""
    rule = place.rule
    old, new = str(swap["from"]), str(swap["to"])
    before = f"(?<!{_WORD})" if _IS_WORD.match(old) else ""
    after = f"(?!{_WORD})" if _IS_WORD.match(old[-1:]) else ""
    heads = _heads(place)
    if len(heads) != 1:
        raise Cannot("a substitution for many hosts")
    where, scheme, _ = heads[0]
    scope = rule.scope.path or "/"
    below = quote(scope) + ("" if scope.endswith("/") else "(?:[/?#]|$)") if scope != "/" else "(?:[/?#]|$)"
    guard = f"(?={scheme}://{where}{below})" + _asked(rule, where, scheme)
    found = f"{before}{quote(old)}{after}"
    pieces: list[str | int]
    if swap["start"] and swap["end"]:
        pattern, pieces = f"^{guard}{quote(old)}$", [new]
    elif swap["start"]:
        pattern, pieces = f"^{guard}{quote(old)}{after}(.*)$", [new, 1]
    elif swap["end"]:
        pattern, pieces = f"^{guard}(.*){before}{quote(old)}$", [1, new]
    else:
        # Where the text occurs twice the rule fires twice, an expression once: there it is left alone.
        rest = f"((?:(?!{found}).)*)"
        pattern, pieces = f"^{guard}{rest}{found}{rest}$", [1, new, 2]
    return _checked(Rewrite(rule, pattern, tuple(_joined(pieces))))
