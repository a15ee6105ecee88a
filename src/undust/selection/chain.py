"""Two rules that follow each other as one rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from undust.rules import Rule, escape
from undust.rules.pattern import parse_key, parse_template
from undust.rules.rule import Action

__all__ = ["concatenate"]

_REFERENCE = re.compile(r"(?<!\{)\{((?:host|path|matrix|query)\[[^{}|]*\])\}(?!\})")


def concatenate(first: Rule, second: Rule) -> Rule | None:
    """One rule that does what the first and then the second do; None when that is not simply said.

    The second's conditions must be the first's too, or be about what the first has written.

    >>> first = Rule(when={"path": "/old", "query[n]": "{}"}, do={"path": "/show", "query[id]": "{query[n]}"})
    >>> second = Rule(when={"path": "/show", "query[id]": "{}"}, do={"path": "/item/{query[id]}"})
    >>> concatenate(first, second).describe()
    '*: when path is /old and n is {}: set path to /item/{query[n]}, set id to {query[n]}'
    """
    before, after = dict(first.do), dict(second.do)
    if first.scope != second.scope or {"url", "substitute"} & (before.keys() | after.keys()):
        return None
    written = {parse_key(key).kind for key in before}
    for key, condition in second.when.items():
        kind = "query" if key == "names" else parse_key(key).kind
        if kind not in written and (key not in first.when or first.when[key] != condition):
            return None
    for key, action in after.items():
        if isinstance(action, str):
            resolved = _resolved(action, before)
            if resolved is None:
                return None
            after[key] = resolved
    done = _overlaid(before, after)
    if done is None:
        return None
    source = tuple(dict.fromkeys((*first.source, *second.source)))
    return Rule(first.scope, first.when, done, first.order, first.status, source, first.evidence)


def _resolved(template: str, before: Mapping[str, Action]) -> str | None:
    """The template with every key it refers to as the first rule has left it."""
    for reference in parse_template(template).references:
        if isinstance(reference.source, str) or (reference.steps and _touched(reference.source.kind, before)):
            return None
        whole = reference.source.position is None and reference.source.name is None
        if whole and _touched(reference.source.kind, before):
            return None
    failed = False

    def value(found: re.Match[str]) -> str:
        nonlocal failed
        key = found[1]
        if key in before:
            action = before[key]
            if isinstance(action, str):
                return action
            if isinstance(action, Mapping):
                return escape(str(action["ignore"]))
            failed = True
            return ""
        kind = parse_key(key).kind
        if kind == "path" and "path" in before:
            pieces = str(before["path"]).split("/")[1:]
            position = parse_key(key).position or 0
            if -len(pieces) <= position < len(pieces):
                return pieces[position]
            failed = True
        elif kind in before or (kind == "path" and _moved(before)):
            failed = True
        return found[0]

    out = _REFERENCE.sub(value, template)
    return None if failed else out


def _touched(kind: str, before: Mapping[str, Action]) -> bool:
    return any(parse_key(key).kind == kind for key in before)


def _moved(do: Mapping[str, Action]) -> bool:
    """Whether a segment was dropped, so that positions do not mean what they did."""
    return any(do[key] is None for key in do if key.startswith("path["))


def _overlaid(before: dict[str, Action], after: dict[str, Action]) -> dict[str, Any] | None:
    """What both do, the later over the earlier."""
    done = dict(before)
    for key, action in after.items():
        place = parse_key(key)
        whole = place.kind
        if key == whole:  # a whole component replaces all of its parts
            done = {k: a for k, a in done.items() if parse_key(k).kind != whole}
        elif whole in done:
            changed = _within(str(done[whole]), place.kind, place.position, place.name, action)
            if changed is None:
                return None
            done[whole] = changed
            continue
        elif whole == "path" and _moved(done):
            return None
        if isinstance(action, Mapping) and key in done:
            if done[key] is None:
                continue  # a dropped key is not set to a representative
            action = escape(str(action["ignore"]))
        done[key] = action
    return done


def _within(template: str, kind: str, position: int | None, name: str | None, action: Action) -> str | None:
    """A part of a component that the first rule has written whole."""
    value = escape(str(action["ignore"])) if isinstance(action, Mapping) else action
    if kind == "path" and position is not None:
        pieces = template.split("/")[1:]
        if not -len(pieces) <= position < len(pieces):
            return None
        pieces[position : position + 1 or None] = [] if value is None else [value]
        return "/" + "/".join(pieces)
    if kind == "query" and name is not None:
        fields = [field for field in template.split("&") if field]
        at = [i for i, field in enumerate(fields) if field.partition("=")[0] == escape(name)]
        if len(at) > 1:
            return None
        if at:
            fields[at[0] : at[0] + 1] = [] if value is None else [f"{escape(name)}={value}"]
        elif isinstance(action, str):
            fields.append(f"{escape(name)}={value}")
        return "&".join(fields)
    return None
