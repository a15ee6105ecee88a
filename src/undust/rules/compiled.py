"""A rule made ready to run: its tests and edits as closures, and the trigger without which it cannot fire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from undust.errors import BookError
from undust.rules.condition import Condition
from undust.rules.conversion import Growth
from undust.rules.guard import Guard, group_names
from undust.rules.mutable import MutableUrl, escape_chars, reader
from undust.rules.pattern import MAX_TEXT, Template, escape, parse_key, parse_pattern, parse_template
from undust.rules.rule import Rule, Scope
from undust.url import Key, host_labels, split_segment

Test = Callable[[MutableUrl, dict[str, str]], bool]
Value = Callable[[MutableUrl, Mapping[str, str]], str | None]
Write = Callable[[MutableUrl, str | None], bool]

# Coarse before fine, so that `path` and `query[title]` can be written by one rule.
_WRITE_ORDER = ("url", "scheme", "host", "port", "path", "matrix", "query", "fragment")


class Trigger(NamedTuple):
    """What must be present for a rule to change a URL: one of `values`.

    `kind`: `query` (a parameter of that name), `path` (the whole path), `segment` (a segment of the path),
    `text` (a substring of the URL).
    """

    kind: str
    values: tuple[str, ...]


class Edit(NamedTuple):
    """One write of a rule; `value` is computed on the URL before the rule, and None is "does not fire"."""

    key: Key
    read: Callable[[MutableUrl], str | None]
    value: Value | None  # None: drop
    write: Write
    ignore: bool


class CompiledRule:
    """A rule ready to run; `apply` for one URL, `apply_parsed` for a URL that is being rewritten.

    >>> rule = Rule(when={"path": "/wiki/{t}"}, do={"path": "/", "query[title]": "{t}"})
    >>> compile_rule(rule).apply("http://example.org/wiki/Casino_Royale")
    'http://example.org/?title=Casino_Royale'
    """

    __slots__ = ("_everywhere", "apply_parsed", "edits", "rule", "scope", "tests", "trigger")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.scope: Scope = rule.scope
        self._everywhere = rule.scope == Scope()
        # Rewrites a parsed URL, which lies in the scope; False: nothing changed.
        self.apply_parsed: Callable[[MutableUrl], bool]
        self.tests, self.edits, self.apply_parsed, self.trigger = _machine(rule.body)

    def apply(self, url: str) -> str | None:
        """The rewritten URL, or None when the rule does not fire or changes nothing."""
        if self.trigger is not None and not any(value in url for value in self.trigger.values):
            return None
        parsed = MutableUrl(url)
        if not self.covers(parsed) or not self.apply_parsed(parsed):
            return None
        out = str(parsed)
        return None if out == url or len(out) > parsed.limit else out

    def covers(self, u: MutableUrl) -> bool:
        """Whether the URL lies in the rule's scope."""
        if self._everywhere:
            return True
        scope = self.scope
        if scope.path is not None and not scope.covers_path(u.path):
            return False
        if not scope.hosts and scope.domain is None:
            return True
        host = u.host
        return host is not None and scope.covers_host(host, u.port)

    def ignored(self, u: MutableUrl) -> list[Edit]:
        """The edits whose value a key shows as a wildcard."""
        groups: dict[str, str] = {}
        if not self.covers(u) or not all(test(u, groups) for test in self.tests):
            return []
        return [edit for edit in self.edits if edit.ignore and edit.read(u) is not None]


class Machine(NamedTuple):
    """Conditions and rewrite of a rule, ready to run: the same for all rules that have them in common."""

    tests: tuple[Test, ...]
    edits: tuple[Edit, ...]
    run: Callable[[MutableUrl], bool]
    trigger: Trigger | None


@lru_cache(maxsize=8192)
def _machine(body: str) -> Machine:
    """`body` is that of the rule: sites share most of what they do ("drop sid"), and so its closures."""
    when, do = json.loads(body)
    rule = Rule(when=when, do=do)
    several = told_apart(rule)
    tests = tuple(compile_condition(key, value, several) for key, value in rule.when.items())
    group_names(rule.when)  # none may be there twice
    groups = _group_kinds(rule)
    substitute = _compile_substitution(rule)
    edits = () if substitute else tuple(_compile_edits(rule, groups))
    if substitute:
        run = _substitution_runner(tests, substitute)
    elif len(edits) == 1 and not _is_segment(edits[0]):
        # The commonest rule, "drop sid", needs none of the machinery.
        run = (
            _drop_runner(tests, edits[0].write) if edits[0].value is None else _single_runner(tests, edits[0])
        )
    elif rule.do == {"path[-1]": ""}:
        run = _index_file_runner(tests)
    else:
        run = _runner(tests, edits)
    return Machine(tests, edits, run, trigger(rule))


def _substitution_runner(
    tests: tuple[Test, ...], substitute: Callable[[str], str | None]
) -> Callable[[MutableUrl], bool]:
    def run(u: MutableUrl) -> bool:
        groups: dict[str, str] = {}
        for test in tests:
            if not test(u, groups):
                return False
        text = str(u)
        out = substitute(text)
        if out is None or out == text:
            return False
        if len(out) > u.limit:
            u.overlong = True
            return False
        u.replace(out)
        return True

    return run


def _drop_runner(tests: tuple[Test, ...], write: Write) -> Callable[[MutableUrl], bool]:
    def run(u: MutableUrl) -> bool:
        groups: dict[str, str] = {}
        for test in tests:
            if not test(u, groups):
                return False
        return u.authority is not None and write(u, None)

    return run


def _index_file_runner(tests: tuple[Test, ...]) -> Callable[[MutableUrl], bool]:
    """`"path[-1]": ""`, the second commonest: what follows the last slash goes, its path parameters stay."""

    def run(u: MutableUrl) -> bool:
        groups: dict[str, str] = {}
        for test in tests:
            if not test(u, groups):
                return False
        if u.authority is None or not u.path:
            return False
        below, _, segment = u.path.rpartition("/")
        if ";" in segment:
            segment = segment[len(split_segment(segment)[0]) :]
            return u.set_path(f"{below}/{segment}")
        return segment != "" and u.set_path(below + "/")

    return run


def _single_runner(tests: tuple[Test, ...], edit: Edit) -> Callable[[MutableUrl], bool]:
    """One key is written: what `_runner` does, without the book-keeping."""
    fill, write, read = edit.value, edit.write, edit.read
    assert fill is not None

    def run(u: MutableUrl) -> bool:
        if u.authority is None:
            return False
        groups: dict[str, str] = {}
        for test in tests:
            if not test(u, groups):
                return False
        try:
            value = fill(u, groups)
        except Growth:
            u.overlong = True
            return False
        if value is None:
            return False
        if len(value) > u.limit:
            u.overlong = read(u) != value
            return False
        return write(u, value)

    return run


def _is_segment(edit: Edit) -> bool:
    return edit.key.kind == "path" and edit.key.position is not None


def _runner(tests: tuple[Test, ...], edits: tuple[Edit, ...]) -> Callable[[MutableUrl], bool]:
    segmented = any(map(_is_segment, edits))

    def run(u: MutableUrl) -> bool:
        if u.authority is None:
            return False
        groups: dict[str, str] = {}
        for test in tests:
            if not test(u, groups):
                return False
        # All values are computed on the URL before the rule, then written.
        values: list[str | None] = []
        grown = 0
        for edit in edits:
            value = None
            if edit.value is not None:
                try:
                    value = edit.value(u, groups)
                    if value is None:
                        if not edit.ignore:
                            return False
                    else:
                        grown += len(value)
                except Growth:
                    value, grown = "", u.limit + 1
            values.append(value)
        if grown > u.limit:
            u.overlong = any(edit.read(u) != value for edit, value in zip(edits, values, strict=True))
            return False
        changed = False
        segments: dict[int, str | None] = {}
        for edit, value in zip(edits, values, strict=True):
            if value is None and edit.value is not None:
                continue  # nothing there to ignore
            if segmented and edit.key.kind == "path" and edit.key.position is not None:
                segments[edit.key.position] = value
            else:
                changed |= edit.write(u, value)
        if segments:
            changed |= _write_segments(u, segments)
        return changed

    return run


def compile_rule(rule: Rule) -> CompiledRule:
    """Make a rule ready to run; BookError naming the rule and the field when it cannot be."""
    try:
        if rule.guard is not None:
            check_guard(rule, rule.guard)
        return CompiledRule(rule)
    except BookError as error:
        if error.rule is not None:
            raise
        raise BookError(error.why, rule=rule.id, field=error.field) from None


def check_guard(rule: Rule, guard: Guard) -> None:
    """BookError where a guard cannot be asked."""
    guard.bound(group_names(rule.when))
    for some in guard.absent:
        for key, condition in some.items():
            try:
                compile_condition(key, condition)
            except BookError as error:
                raise BookError(error.why, field=f"guard.absent.{key}") from None


class Needs(NamedTuple):
    """What a rule cannot do without, each None or "one of these": all of them must be there.

    `paths`: the whole path. `segments`: a segment of the path, without its parameters. `names`: a parameter
    of the query, and `values`: one of its values. `texts`: a piece of the URL. `query`: that there is a query.
    """

    paths: tuple[str, ...] | None = None
    segments: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    texts: tuple[str, ...] | None = None
    last: bool = False  # the segment is the last one
    first: str | None = None  # the first segment of the path as it is written
    query: bool = False
    values: tuple[str, ...] | None = None


def needs(rule: Rule) -> Needs:
    """What must be present for `rule` to change a URL.

    >>> needs(Rule(when={"path": "/viewtopic.php"}, do={"query": "{query|sort}"}))
    Needs(paths=('/viewtopic.php',), segments=None, names=None,
          texts=('&', ';'), last=False, first=None, query=True, values=None)
    """
    swap = rule.do.get("substitute")
    names = None if swap is not None else _needed_names(rule)
    texts = None if swap is not None else _rewrite_needs(rule)
    if isinstance(swap, Mapping):
        texts = (swap["from"],) if swap["from"] else None
    paths = segments = values = None
    last, first = False, None
    for text, condition in rule.when.items():
        if text == "names" or condition is None:
            continue
        key = parse_key(text)
        if key.kind == "matrix" and texts is None:
            texts = (f";{key.name}",)
        elif key.kind == "path":
            some = literal_values(text, condition)
            if some is not None and key.position is None:
                paths = some
            elif some is not None:
                segments, last = some, key.position == -1
            elif isinstance(condition, str) and key.position is None:
                literals = parse_pattern(condition, key).literals
                texts = texts or _longest_literal(condition, key)
                if literals[0].count("/") > 1:
                    first = literals[0].split("/")[1]
                elif segments is None and "/" in literals[-1] and ";" not in literals[-1]:
                    segments, last = (literals[-1].rpartition("/")[2],), True
        elif key.kind == "query" and key.name:
            names, values = (key.name,), literal_values(text, condition)
        elif key.kind in ("url", "query", "fragment") and isinstance(condition, str) and texts is None:
            texts = _longest_literal(condition, key)
    if paths is None and first is None and rule.scope.path is not None:
        first = rule.scope.path.split("/")[1] or None
    query = names is not None or rule.when.get("query") is not None
    if not query and swap is None:
        query = any(
            reference.source == Key("query")
            for text, action in rule.do.items()
            if isinstance(action, str)
            for reference in _parse_template(text, action).references
        )
    return Needs(paths, segments, names, texts, last, first, query, values)


def trigger(rule: Rule) -> Trigger | None:
    """The one most telling of the rule's needs.

    >>> trigger(Rule(do={"query[sid]": None}))
    Trigger(kind='query', values=('sid',))
    >>> trigger(Rule(when={"path": "/viewtopic.php"}, do={"query": "{query|sort}"}))
    Trigger(kind='path', values=('/viewtopic.php',))
    """
    need = needs(rule)
    for kind, values in (
        ("query", need.names), ("path", need.paths), ("segment", need.segments), ("text", need.texts)
    ):  # fmt: skip
        if values and all(values):
            return Trigger(kind, values)
    return None


def _needed_names(rule: Rule) -> tuple[str, ...] | None:
    """Parameters one of which must be there, as far as `names` and the rewrite tell."""
    present = rule.when.get("names")
    if isinstance(present, tuple) and present:
        return (max(present, key=lambda name: (len(name), name)),)
    touched: set[str] | None = set()
    for text, action in rule.do.items():
        key = _parse_written(text)
        if isinstance(action, str):
            touched = None
            for reference in _parse_template(text, action).references:
                source = reference.source
                if isinstance(source, Key) and source.kind == "query" and source.name:
                    return (source.name,)
        elif touched is not None:
            if key.kind == "query" and key.name:
                touched.add(key.name)
            else:
                touched = None
    return tuple(sorted(touched)) if touched else None


# What a conversion looks for: without it, the conversion changes nothing.
_CONVERSION_NEEDS = {
    "amp": ("amp;",),
    "decode": ("%",),
    "dots": ("/.",),
    "first": ("&", ";"),
    "last": ("&", ";"),
    "plus": ("+",),
    "semi": (";",),
    "slashes": ("//",),
    "sort": ("&", ";"),
    "unplus": ("%20",),
}


def _rewrite_needs(rule: Rule) -> tuple[str, ...] | None:
    """Texts one of which the rewrite looks for: `;name` of a path parameter it drops or ignores, and for
    `{"query": "{query|sort}"}` and its like what the one conversion works on."""
    keys = [parse_key(text) for text in rule.do]
    if all(key.kind == "matrix" for key in keys) and not any(isinstance(a, str) for a in rule.do.values()):
        return tuple(f";{key.name}" for key in keys)
    if len(rule.do) != 1:
        return None
    ((text, action),) = rule.do.items()
    if not isinstance(action, str):
        return None
    pieces = _parse_template(text, action).pieces
    if len(pieces) != 1 or isinstance(pieces[0], str) or pieces[0].source != parse_key(text):
        return None
    return _CONVERSION_NEEDS.get(pieces[0].steps[0]) if len(pieces[0].steps) == 1 else None


def _longest_literal(condition: str, key: Key) -> tuple[str, ...] | None:
    literal = max(parse_pattern(condition, key).literals, key=len)
    return (literal,) if len(literal) > 1 else None


def _parse_template(text: str, template: str) -> Template:
    try:
        return parse_template(template)
    except BookError as error:
        raise BookError(error.why, field=f"do.{text}") from None


def literal_values(key: str, condition: Condition) -> tuple[str, ...] | None:
    if isinstance(condition, tuple):
        return condition
    if isinstance(condition, str):
        literal = parse_pattern(condition, parse_key(key)).literal
        return None if literal is None else (literal,)
    return None


def told_apart(rule: Rule) -> frozenset[str]:
    """The parameters of which the rule names a second or later occurrence: it knows what it does.

    >>> told_apart(Rule(when={"query[a#2]": None}, do={"query[a]": None, "query[b]": None}))
    frozenset({'a'})
    """
    keys = [parse_key(text) for text in rule.when if text != "names"]
    keys += [_parse_written(text) for text in rule.do if text != "substitute"]
    return frozenset(key.name for key in keys if key.kind == "query" and key.name and key.occurrence > 1)


def _group_kinds(rule: Rule) -> dict[str, str]:
    """The groups of the conditions, and what they are a part of: `path`, `query`, ..."""
    return {
        name: parse_key(text).kind
        for text, condition in rule.when.items()
        for name in group_names({text: condition})
    }


def compile_condition(text: str, condition: Condition, several: Collection[str] = ()) -> Test:
    """A condition as a function of the URL, which also takes down the groups of a pattern.

    `several` are the parameters of which the rule names several occurrences. Of any other that is there more
    than once, with different values, nobody knows which one the server goes by: no value of it meets a condition.
    """
    if text == "names":
        if not isinstance(condition, tuple):
            raise BookError("names takes the list of parameter names that are present", field="when.names")
        wanted = set(condition)
        return lambda u, groups: u.names() == wanted
    try:
        key = parse_key(text)
        read = reader(key)
        if condition is None:
            return lambda u, groups: read(u) is None
        read = _sure_reader(key, several)
        if isinstance(condition, tuple):
            some = frozenset(condition)
            return lambda u, groups: read(u) in some
        if isinstance(condition, Mapping):
            none_of = frozenset(condition["not"])
            return lambda u, groups: (value := read(u)) is not None and value not in none_of
        pattern = parse_pattern(condition, key)
    except BookError as error:
        raise BookError(error.why, field=f"when.{text}") from None
    if condition in ("{}", "{:rest}"):  # that it is there is certain
        read = reader(key)
    literal = pattern.literal
    if literal is not None:
        return lambda u, groups: read(u) == literal
    names, match = pattern.names, pattern.match
    nameless = not any(names)
    quick = pattern.quick
    if quick is not None and not pattern.checks:

        def quick_test(u: MutableUrl, groups: dict[str, str]) -> bool:
            value = read(u)
            found = None if value is None else quick(value)
            if found is None:
                return False
            if not nameless:
                groups.update(zip(names, found.groups(), strict=True))
            return True

        def path_test(u: MutableUrl, groups: dict[str, str]) -> bool:
            found = quick(u.path)
            if found is None:
                return False
            groups.update(zip(names, found.groups(), strict=True))
            return True

        return path_test if key == Key("path") else quick_test

    def test(u: MutableUrl, groups: dict[str, str]) -> bool:
        value = read(u)
        found = None if value is None else match(value)
        if found is None:
            return False
        if not nameless:
            groups.update(zip(names, found, strict=True))  # nobody asks for the group without a name
        return True

    return test


def _sure_reader(key: Key, several: Collection[str]) -> Callable[[MutableUrl], str | None]:
    """Reads a key; None also for a parameter with several values."""
    name = key.name
    if key.kind != "query" or name is None or key.occurrence > 1 or name in several:
        return reader(key)
    return lambda u: u.only_field(name)


# The alphanumeric characters of undust.url.tokenize, said by what they are not: compiles 90 times as fast.
_WORD = r"[^\x00-/:-@\[-`{-\x7f]"
_IS_WORD = re.compile(_WORD)


def _compile_substitution(rule: Rule) -> Callable[[str], str | None] | None:
    """DustBuster's substring substitution: whole tokens, first occurrence."""
    swap = rule.do.get("substitute")
    if swap is None:
        return None
    if len(rule.do) > 1:
        raise BookError("a substitution stands alone in `do`", field="do.substitute")
    assert isinstance(swap, Mapping)
    old, new, start, end = str(swap["from"]), str(swap["to"]), bool(swap["start"]), bool(swap["end"])
    if max(len(old), len(new)) > MAX_TEXT:
        raise BookError(f"longer than {MAX_TEXT} characters", field="do.substitute")
    if not old and start == end:
        raise BookError("`from` is empty: nobody knows where to put `to`", field="do.substitute.from")
    before = r"\A" if start else rf"(?<!{_WORD})" if _IS_WORD.match(old) else ""
    after = r"\Z" if end else rf"(?!{_WORD})" if _IS_WORD.match(old[-1:]) else ""
    search = re.compile(before + re.escape(old) + after).search
    anywhere = not before and not after

    def substitute(text: str) -> str | None:
        at = text.find(old)
        if at < 0:
            return None
        if not anywhere:
            found = search(text, 0 if start or at == 0 else at - 1)
            if found is None:
                return None
            at = found.start()
        return text[:at] + new + text[at + len(old) :]

    return substitute


def _compile_edits(rule: Rule, groups: Mapping[str, str]) -> list[Edit]:
    keys = {text: _parse_written(text) for text in rule.do}
    for whole in ("path", "host"):
        if whole in rule.do and any(key.kind == whole and key.position is not None for key in keys.values()):
            raise BookError(f"{whole} and a part of it cannot both be written", field=f"do.{whole}")
    if "url" in rule.do and len(rule.do) > 1:
        raise BookError("url stands alone in `do`", field="do.url")

    def place(text: str) -> tuple[int, bool, int, str]:
        key = keys[text]
        # Labels of a host from the far end, so that dropping one does not renumber the next.
        return _WRITE_ORDER.index(key.kind), key.name is not None, -(key.position or 0), text

    out = []
    drops: list[str] = []
    several = told_apart(rule)
    for text in sorted(rule.do, key=place):
        key, action = keys[text], rule.do[text]
        if action is None and key.kind == "query" and key.name is not None and key.occurrence == 1:
            drops.append(key.name)
            continue
        out.append(_compile_edit(text, key, action, groups, several))
    if drops:
        names = frozenset(drops)
        # Dropped last: what `query` or another parameter became is settled by then.
        out.append(
            Edit(
                Key("query", name=drops[0]),
                lambda u: None,
                None,
                lambda u, value: u.drop_fields(names),
                False,
            )
        )
    return out


def _parse_written(text: str) -> Key:
    try:
        return parse_key(text)
    except BookError as error:
        raise BookError(error.why, field=f"do.{text}") from None


_DROPPABLE = ("port", "query", "fragment", "matrix")


def _compile_edit(
    text: str, key: Key, action: object, groups: Mapping[str, str], several: Collection[str]
) -> Edit:
    field = f"do.{text}"
    read, write = reader(key), _writer(key)
    if action is None:
        piece = key.position is not None and (key.kind, key.position) != ("host", 0)
        if key.kind not in _DROPPABLE and not piece:
            raise BookError("cannot be dropped, a URL needs it", field=field)
        return Edit(key, read, None, write, False)
    ignore = isinstance(action, Mapping)
    # A representative value is no template: braces mean themselves.
    template = _parse_template(text, escape(action["ignore"]) if isinstance(action, Mapping) else str(action))
    for reference in template.references:
        if isinstance(reference.source, str) and reference.source not in groups:
            raise BookError(f"no condition has a group {{{reference.source}}}", field=field)
    fill = _filler(key, template, groups, several)
    return Edit(key, read, _valuer(key, template, ignore, fill), write, ignore)


_SIDE = {"path": "path", "matrix": "path", "query": "query"}


def crossing(rule: Rule) -> frozenset[str]:
    """Into which of path and query the rule carries a text from the other one.

    >>> crossing(Rule(when={"path": "/wiki/{t}"}, do={"path": "/", "query[title]": "{t}"}))
    frozenset({'query'})
    """
    groups = _group_kinds(rule)
    return frozenset(
        _SIDE[key.kind]
        for text, action in rule.do.items()
        if isinstance(action, str)
        for key in (_parse_written(text),)
        for reference in _parse_template(text, action).references
        if _carry(key, reference.source, groups) is not None
    )


def _carry(key: Key, source: str | Key, groups: Mapping[str, str]) -> Callable[[str], str | None] | None:
    """What happens to a text on its way from path to query or back; None: nothing, it stays on its side.

    A plus sign is itself in a path and a blank in a query: `/wiki/C++` is not `?title=C++`. On the way into the
    query it is encoded, which every server reads as the same. Back there is no spelling that is right everywhere,
    so the rule does not fire.
    """
    here, there = _SIDE.get(groups[source] if isinstance(source, str) else source.kind), _SIDE.get(key.kind)
    if here is None or there is None or here == there:
        return None
    if there == "path":
        return lambda text: None if "+" in text else text
    special = "+" if key.name else "+&;"
    return lambda text: escape_chars(text, special)


def _filler(key: Key, template: Template, groups: Mapping[str, str], several: Collection[str]) -> Value:
    """The template with its references looked up once: what `Template.fill` says, said in closures."""
    carried = [_carry(key, ref.source, groups) for ref in template.references]
    if not any(carried) and all(
        isinstance(ref.source, str) and not ref.converts for ref in template.references
    ):
        # Only groups, as they are: a format of our own making, in which nothing of the book has a meaning.
        text = "".join(
            escape(piece) if isinstance(piece, str) else f"{{{piece.source}}}" for piece in template.pieces
        )
        return lambda u, groups: text.format_map(groups)

    def read(source: str | Key) -> str | Callable[[MutableUrl], str | None]:
        if isinstance(source, str):
            return source
        # What a parameter becomes itself may be said of the first one; what another key becomes may not.
        return reader(source) if source == key else _sure_reader(source, several)

    pieces = [
        piece
        if isinstance(piece, str)
        else (read(piece.source), piece.converts, _carry(key, piece.source, groups))
        for piece in template.pieces
    ]

    def fill(u: MutableUrl, groups: Mapping[str, str]) -> str | None:
        out = []
        for piece in pieces:
            if isinstance(piece, str):
                out.append(piece)
                continue
            source, converts, carry = piece
            value = groups[source] if isinstance(source, str) else source(u)
            if value is None:
                return None
            for convert in converts:
                value = convert(value)
            if carry is not None and (value := carry(value)) is None:
                return None
            out.append(value)
        return "".join(out)

    return fill


_DOTS = frozenset({".", ".."})

_SCHEME = re.compile(r"[a-z][a-z0-9+.\-]*\Z")
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:\\\[\]]+)\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")


def _leads_away(path: str, before: str) -> bool:
    """Whether a parameter that held `../x` would lead to whatever lies there."""
    return ("/." in path or path[:1] == ".") and "/." not in before and not _DOTS.isdisjoint(path.split("/"))


def _valuer(key: Key, template: Template, ignore: bool, fill: Value) -> Value:
    """The value to write, computed before anything is written; None: the rule does not fire."""
    literal = template.literal
    read_own = reader(key)
    if (
        literal is not None
        and not ignore
        and key.kind in ("path", "query", "fragment", "url")
        and key == Key(key.kind)
    ):
        return lambda u, groups: literal
    valid = {"scheme": _SCHEME, "host": _HOST, "port": _PORT}.get(key.kind)

    def value(u: MutableUrl, groups: Mapping[str, str]) -> str | None:
        if ignore and read_own(u) is None:
            return None
        text = literal if literal is not None else fill(u, groups)
        if text is None:
            return None
        if valid is not None:
            text = text.lower()
            if valid.match(text) is None:
                return None
        elif key.kind == "path" and key.position is not None:
            if not -len(u.segments()) <= key.position <= len(u.segments()):
                return None
            if text != u.segment(key.position):
                if literal is None and text in _DOTS:
                    return None
                text = escape_chars(text, "/?#")
                if ";" in text and split_segment(text)[1]:
                    text = text.replace(";", "%3B")
        elif key.kind == "path" and literal is None and _leads_away(text, u.path):
            return None
        if key.kind == "host" and key.position is not None and key.position > len(host_labels(u.host or "")):
            return None
        return text

    return value


def _writer(key: Key) -> Write:
    kind, position, name, occurrence = key
    if kind == "url":
        return lambda u, value: _write_url(u, value or "")
    if kind == "scheme":
        return lambda u, value: u.set_scheme(value or "")
    if kind == "host":
        if position is None:
            return lambda u, value: u.set_host(value or "")
        return lambda u, value: _write_label(u, position, value)
    if kind == "port":
        return lambda u, value: u.set_port(value)
    if kind == "path":
        return _write_path
    if kind == "matrix":
        assert name is not None
        return lambda u, value: u.set_matrix(name, occurrence, value)
    if kind == "query":
        if name is None:
            return lambda u, value: u.set_query(value)
        return lambda u, value: (
            u.drop_field(name, occurrence) if value is None else u.set_field(name, occurrence, value)
        )
    return lambda u, value: u.set_fragment(value)


def _write_path(u: MutableUrl, value: str | None) -> bool:
    return u.set_path(value or "")


def _write_url(u: MutableUrl, value: str) -> bool:
    if str(u) == value:
        return False
    u.replace(value)
    return True


def _write_label(u: MutableUrl, position: int, value: str | None) -> bool:
    labels: list[str] = list(host_labels(u.host or ""))
    if position >= len(labels) and value is None:
        return False
    labels[position : position + 1] = [] if value is None else [value]
    return u.set_host(".".join(reversed(labels)))


def _write_segments(u: MutableUrl, edits: dict[int, str | None]) -> bool:
    """Set and drop several segments at once; positions are those of the path before."""
    segments: list[str | None] = list(u.segments())
    size = len(segments)
    for position, value in sorted(edits.items()):
        place = position if position >= 0 else size + position
        if place == size and value is not None and position >= 0:
            segments.append(value)
        elif 0 <= place < size:
            old = segments[place]
            if value is not None and old is not None and ";" in old:
                value += old[len(split_segment(old)[0]) :]
            segments[place] = value
    return u.set_segments([segment for segment in segments if segment is not None])
