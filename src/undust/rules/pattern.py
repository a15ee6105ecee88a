"""Patterns and templates: the two little text forms in which conditions and rewrites of a rule are written.

A *pattern* is literal text with groups: `/topic,{t:int}.msg{:int}.html`. It is matched without backtracking:
the text must begin with the first literal and end with the last one, every literal between is looked for from
left to right and its first occurrence taken, and only then the type of each group is tested. So a pattern
matches in one way or not at all, in time linear in the text.

A *template* is literal text with references: `/topic,{t}.0.html`, `{query[title]|tr( ,_)}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from undust.errors import BookError
from undust.rules.conversion import CONVERSIONS, Convert, translate
from undust.url import Key, matches_type, split_key

MAX_TEXT = 4_000
MAX_GROUPS = 32
MAX_CONVERSIONS = 8

WHOLE = ("url", "scheme", "host", "port", "path", "query", "fragment")
TYPES = ("any", "rest", "int", "hex", "uuid", "date", "slug", "word", "session")
# Groups of these types may stand directly before another group: they take the longest run they can.
RUNS = {"int": re.compile(r"[0-9]+"), "word": re.compile(r"[^\W\d_]+")}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Group:
    """A hole in a pattern; `name` is empty for a group nobody refers to."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """Literals and groups in turn: `literals[0] groups[0] literals[1] ... literals[n]`."""

    literals: tuple[str, ...]
    groups: tuple[Group, ...]
    in_path: bool = False
    may_be_empty: bool = False
    # The same as a regular expression without backtracking, where the literals cannot occur in the groups before
    # them; `checks` are the groups whose type says more than which characters it may have.
    quick: Callable[[str], re.Match[str] | None] | None = field(default=None, compare=False)
    checks: tuple[tuple[int, str], ...] = field(default=(), compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.groups)

    @property
    def literal(self) -> str | None:
        """The text itself when there is no group."""
        return None if self.groups else self.literals[0]

    def match(self, text: str) -> tuple[str, ...] | None:
        """The text of each group, or None.

        >>> parse_pattern("topic,{t:int}.msg{m:int}.html").match("topic,12.msg7.html")
        ('12', '7')
        >>> parse_pattern("topic,{t:int}.html").match("topic,x.html") is None
        True
        """
        if self.quick is not None:
            found = self.quick(text)
            if found is None:
                return None
            values = found.groups()
            for place, type_ in self.checks:
                if not matches_type(type_, values[place]):
                    return None
            return values
        return self.match_slowly(text)

    def match_slowly(self, text: str) -> tuple[str, ...] | None:
        """The definition of `match`: what the regular expression must agree with, where there is one."""
        literals, groups = self.literals, self.groups
        begin = literals[0]
        if not groups:
            return () if text == begin else None
        end = len(text) - len(literals[-1])
        at = len(begin)
        if end < at or not text.startswith(begin) or not text.endswith(literals[-1]):
            return None
        values = []
        for group, literal in zip(groups, literals[1:-1], strict=False):
            if literal:
                stop = text.find(literal, at + self._least(group), end)
                if stop < 0:
                    return None
            else:
                run = RUNS[group.type].match(text, at, end)
                if run is None:
                    return None
                stop = run.end()
            values.append(text[at:stop])
            at = stop + len(literal)
        values.append(text[at:end])
        for group, value in zip(groups, values, strict=True):
            if not self._accepts(group.type, value):
                return None
        return tuple(values)

    def _least(self, group: Group) -> int:
        return 0 if group.type == "rest" or (group.type == "any" and self.may_be_empty) else 1

    def _accepts(self, type_: str, value: str) -> bool:
        if type_ == "any":
            return (bool(value) or self.may_be_empty) and not (self.in_path and "/" in value)
        return type_ == "rest" or matches_type(type_, value)


@lru_cache(maxsize=65536)
def parse_pattern(text: str, key: Key | None = None) -> Pattern:
    """Read a pattern; what `any` means depends on the key it is for.

    >>> parse_pattern("{{x}}").literal
    '{x}'
    """
    literals: list[str] = [""]
    groups: list[Group] = []
    for literal, inside in _pieces(text):
        literals[-1] += literal
        if inside is None:
            continue
        name, colon, type_ = inside.partition(":")
        if colon and not type_:
            raise BookError(f"a group needs a type after the colon: {{{inside}}}")
        type_ = type_ or "any"
        if type_ not in TYPES:
            raise BookError(f"unknown type {type_!r} in {{{inside}}}; known are {', '.join(TYPES)}")
        if name and (_NAME.match(name) is None or name in WHOLE):
            raise BookError(
                f"{name!r} cannot be the name of a group (a letter, then letters, digits, _; no key)"
            )
        if groups and not literals[-1] and groups[-1].type not in RUNS:
            raise BookError(
                f"two groups side by side in {text!r}: the first must be of type {' or '.join(RUNS)}, "
                "else nobody knows where it ends"
            )
        groups.append(Group(name, type_))
        literals.append("")
    if len(groups) > MAX_GROUPS:
        raise BookError(f"more than {MAX_GROUPS} groups")
    named = [group.name for group in groups if group.name]
    if len(named) != len(set(named)):
        raise BookError(f"a group's name occurs twice in {text!r}")
    # A wildcard does not cross a slash of the path; that of a parameter may be empty: `?print=`.
    in_path = key is not None and key.kind == "path"
    in_query = key is not None and key.name is not None
    quick, checks = _quick(literals, groups, in_path, in_query)
    return Pattern(tuple(literals), tuple(groups), in_path, in_query, quick, checks)


# The characters a text of each type is made of (all of them, perhaps more).
_CHARACTERS = {
    "int": "[0-9]",
    "hex": "[0-9A-Fa-f]",
    "uuid": "[0-9A-Fa-f-]",
    "date": "[0-9_.-]",
    "slug": r"[\w-]",
    "word": r"[^\W\d_]",
    "session": "[0-9A-Za-z_.!~-]",
}


def _quick(
    literals: list[str], groups: list[Group], in_path: bool, in_query: bool
) -> tuple[Callable[[str], re.Match[str] | None] | None, tuple[tuple[int, str], ...]]:
    """The pattern as a regular expression with possessive groups; none where that would mean something else.

    "Up to the first occurrence of the next literal" and "as many characters of the type as there are" are the same
    if the literal begins with a character the type does not have.
    """
    if not groups:
        return None, ()
    expression, checks = re.escape(literals[0]), []
    for place, (group, literal) in enumerate(zip(groups, literals[1:], strict=True)):
        characters = _CHARACTERS.get(group.type, "[^/]" if group.type == "any" and in_path else None)
        empty = group.type == "rest" or (group.type == "any" and in_query)
        if characters is None:
            if literal or place < len(groups) - 1:
                return None, ()
            characters = "."
        elif literal and re.match(characters, literal[0]):
            return None, ()
        expression += f"({characters}{'*' if empty else '+'}+){re.escape(literal)}"
        if group.type in _CHARACTERS and group.type != "int":
            checks.append((place, group.type))
    return re.compile(expression + r"\Z", re.DOTALL).match, tuple(checks)


@lru_cache(maxsize=65536)
def parse_key(text: str) -> Key:
    """Read the name of a key.

    >>> parse_key("path[-1]").position
    -1
    """
    try:
        return split_key(text)
    except ValueError:
        raise BookError(
            f"unknown key; known are {', '.join(WHOLE)}, host[i], path[i], matrix[n], query[n]", field=text
        ) from None


@dataclass(frozen=True, slots=True)
class Reference:
    """`{t}` (the text of a group) or `{path[1]}` (the value of a key), then conversions."""

    source: str | Key
    steps: tuple[str, ...]
    converts: tuple[Convert, ...]

    def convert(self, value: str) -> str:
        for convert in self.converts:
            value = convert(value)
        return value


@dataclass(frozen=True, slots=True)
class Template:
    """Literal pieces and references in the order of the text."""

    pieces: tuple[str | Reference, ...]

    @property
    def literal(self) -> str | None:
        """The text itself when there is no reference."""
        if all(isinstance(piece, str) for piece in self.pieces):
            return "".join(piece for piece in self.pieces if isinstance(piece, str))
        return None

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Reference))

    def fill(self, read: Callable[[Key], str | None], groups: Mapping[str, str]) -> str | None:
        """The text with every reference resolved; None when a key it refers to is absent.

        >>> parse_template("/doku.php?id={p|tr(/,:)}").fill(lambda key: None, {"p": "a/b"})
        '/doku.php?id=a:b'
        """
        out = []
        for piece in self.pieces:
            if isinstance(piece, str):
                out.append(piece)
                continue
            value = groups[piece.source] if isinstance(piece.source, str) else read(piece.source)
            if value is None:
                return None
            out.append(piece.convert(value))
        return "".join(out)


@lru_cache(maxsize=65536)
def parse_template(text: str) -> Template:
    """Read a template."""
    pieces: list[str | Reference] = []
    for literal, inside in _pieces(text):
        if literal:
            pieces.append(literal)
        if inside is not None:
            pieces.append(_parse_reference(inside))
    if sum(isinstance(piece, Reference) for piece in pieces) > MAX_GROUPS:
        raise BookError(f"more than {MAX_GROUPS} references")
    return Template(tuple(pieces))


def escape(literal: str) -> str:
    """Write literal text so that a pattern or template takes it literally.

    >>> escape("a{b}")
    'a{{b}}'
    """
    return literal.replace("{", "{{").replace("}", "}}")


def _pieces(text: str) -> list[tuple[str, str | None]]:
    """Cut at braces: pairs of literal text and what the braces after it hold (None: the end)."""
    if len(text) > MAX_TEXT:
        raise BookError(f"longer than {MAX_TEXT} characters")
    out: list[tuple[str, str | None]] = []
    literal: list[str] = []
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        if char == "{" and not text.startswith("{{", at):
            close = _close(text, at)
            out.append(("".join(literal), text[at + 1 : close]))
            literal = []
            at = close + 1
        elif char in "{}":
            if not text.startswith(char * 2, at):
                raise BookError(
                    f"a lone }} at position {at} of {text!r}; write }}}} for the character itself"
                )
            literal.append(char)
            at += 2
        else:
            literal.append(char)
            at += 1
    out.append(("".join(literal), None))
    return out


def _close(text: str, open_: int) -> int:
    """The brace that closes the one at `open_`; a backslash in a conversion's arguments protects one."""
    at = open_ + 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "}":
            return at
        elif text[at] == "{":
            break
        at += 1
    raise BookError(
        f"the brace at position {open_} of {text!r} is not closed; write {{{{ for the character itself"
    )


_SOURCE = re.compile(r"(?:host|path|matrix|query)\[.*?\](?=\||\Z)|[A-Za-z_][A-Za-z0-9_]*", re.DOTALL)
_STEP = re.compile(r"\|([a-z]+)(?:\(((?:[^\\)]|\\.)*)\))?", re.DOTALL)


def _parse_reference(inside: str) -> Reference:
    found = _SOURCE.match(inside)
    if found is None:
        raise BookError(f"{{{inside}}} refers to no group and no key")
    source: str | Key = found[0]
    if "[" in found[0] or found[0] in WHOLE:
        source = parse_key(found[0])
    steps, converts = [], []
    at = found.end()
    while at < len(inside):
        step = _STEP.match(inside, at)
        if step is None:
            raise BookError(
                f"cannot read {inside[at:]!r} in {{{inside}}}; conversions look like |lower or |tr(a,b)"
            )
        converts.append(_conversion(step[1], step[2]))
        steps.append(step[0][1:])
        at = step.end()
    if len(converts) > MAX_CONVERSIONS:
        raise BookError(f"more than {MAX_CONVERSIONS} conversions in {{{inside}}}")
    return Reference(source, tuple(steps), tuple(converts))


def _conversion(name: str, arguments: str | None) -> Convert:
    if name == "tr":
        texts = [
            re.sub(r"\\(.)", r"\1", a, flags=re.DOTALL)
            for a in re.findall(r"(?:[^\\,]|\\.)+|(?<=,)\Z", arguments or "", re.DOTALL)
        ]
        if len(texts) != 2 or not texts[0]:
            raise BookError("tr needs two texts, the first not empty: tr(_,-)")
        return translate(*texts)
    if name not in CONVERSIONS or arguments is not None:
        raise BookError(f"unknown conversion {name!r}; known are {', '.join(CONVERSIONS)}, tr(a,b)")
    return CONVERSIONS[name]
