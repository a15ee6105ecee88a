"""What kind of thing a value is: number, date, session id, ... A closed list, each tested in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


def _regex(pattern: str) -> Callable[[str], bool]:
    match = re.compile(pattern).fullmatch
    return lambda value: match(value) is not None


_YEAR, _MONTH, _DAY = r"(?:19|20)[0-9]{2}", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12][0-9]|3[01])"
_OPAQUE = re.compile(r"[0-9A-Za-z_.!~\-]{16,}").fullmatch
_DIGIT_IN = re.compile(r"[0-9]").search
_UNIT_CHANGE = re.compile(r"(?=[a-z][A-Z0-9]|[A-Z][a-z0-9]|[0-9][A-Za-z])")


def _is_session(value: str) -> bool:
    """Opaque and long, with a change between lower case, upper case and digits at every sixth character.

    A random string changes at 40 % (base 36) to 62 % (base 62) of its characters, a title with numbers in it
    at less than 10 %; CamelCase may reach 20 %, but seldom holds a digit.
    """
    if not _OPAQUE(value) or not _DIGIT_IN(value):
        return False
    return len(_UNIT_CHANGE.findall(value)) * 6 >= len(value)


# From the most to the least specific.
_TESTS: dict[str, Callable[[str], bool]] = {
    "uuid": _regex(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
    "date": _regex(rf"{_YEAR}([-_.]?){_MONTH}\1{_DAY}|{_YEAR}[-_.]{_MONTH}"),
    "int": _regex(r"[0-9]+"),
    "hex": _regex(r"[0-9a-f]{8,}|[0-9A-F]{8,}"),
    "session": _is_session,
    "word": str.isalpha,
    "slug": _regex(r"[^\W_]+(?:[-_][^\W_]+)*"),
    "any": lambda value: True,
}
TYPES = tuple(_TESTS)


def value_type(value: str) -> str:
    """The most specific type `value` is of.

    >>> [value_type(v) for v in ("42", "2006-03-01", "9f86d081884c7d65", "about", "about-us", "a/b", "")]
    ['int', 'date', 'hex', 'word', 'slug', 'any', 'any']
    >>> value_type("8KpX2dQv0ZrT7yLm"), value_type("123e4567-e89b-12d3-a456-426614174000")
    ('session', 'uuid')
    """
    return next(name for name, test in _TESTS.items() if test(value))


def matches_type(type_name: str, value: str) -> bool:
    """Whether `value` is of the type. Types overlap: every int is a slug too. KeyError for an unknown type.

    >>> matches_type("int", "20060301"), matches_type("date", "20060301"), matches_type("int", "x1")
    (True, True, False)
    """
    return _TESTS[type_name](value)


def common_type(values: Iterable[str]) -> str:
    """The most specific type all `values` are of.

    >>> common_type(["20060301", "17"]), common_type(["about", "about-us"]), common_type(["1", "a b"])
    ('int', 'slug', 'any')
    """
    values = list(values)
    return next(name for name, test in _TESTS.items() if all(map(test, values)))
