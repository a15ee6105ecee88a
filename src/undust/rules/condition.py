"""Conditions on keys: the forms they may have, the one form they are brought to, and how they are said in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from undust.errors import BookError
from undust.rules.pattern import parse_key

_ORDINALS = {2: "second", 3: "third"}

# null: absent | pattern | any of these literals | {"not": [...]}: present and none of these
Condition: TypeAlias = str | tuple[str, ...] | Mapping[str, tuple[str, ...]] | None


def one_form(key: str, value: Any, field: str = "when") -> Condition:
    """Bring a condition to its one form: lists become sorted tuples, `{"present": true}` becomes `{}`."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        if dict(value) == {"present": True}:
            return "{:rest}" if key.startswith("path") else "{}"
        if set(value) == {"not"} and isinstance(value["not"], Sequence) and not isinstance(value["not"], str):
            return {"not": _literals(f"{field}.{key}", value["not"])}
    elif isinstance(value, Sequence | set | frozenset):
        return _literals(f"{field}.{key}", value)
    raise BookError(
        'a condition is null, a pattern, a list of texts, or {"not": [...]}', field=f"{field}.{key}"
    )


def _literals(field: str, values: Any) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise BookError("a list of alternatives holds texts only", field=field)
    return tuple(sorted(set(values)))


def plain(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON form of `when` or `do`."""
    return {
        key: plain(value)
        if isinstance(value, Mapping)
        else list(value)
        if isinstance(value, tuple)
        else value
        for key, value in mapping.items()
    }


def short(key: str) -> str:
    """The key as one would say it: `id` for `query[id]`, `second id` for `query[id#2]`."""
    known = parse_key(key)
    if not known.name or not key.startswith("query["):
        return key
    if known.occurrence == 1:
        return known.name
    return f"{_ORDINALS.get(known.occurrence, f'{known.occurrence}th')} {known.name}"


def describe_condition(key: str, condition: Condition) -> str:
    """A condition for people.

    >>> describe_condition("query[page]", {"not": ("0", "1")})
    'page is not 0 or 1'
    """
    if key == "names":
        return "the parameters are " + (", ".join(condition or ()) or "none")
    if condition is None:
        return f"no {short(key)}"
    if isinstance(condition, str):
        return f"{short(key)} is {condition}" if condition else f"{short(key)} is empty"
    if isinstance(condition, tuple):
        return f"{short(key)} is " + " or ".join(condition)
    return f"{short(key)} is not " + " or ".join(condition["not"])
