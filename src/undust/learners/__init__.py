"""Learners propose rules for a site: one published method a file, all speaking the same rule language.

`LEARNERS` maps a name to its class and imports it only when it is asked for; `create` makes one from
a name and parameters (texts, as they come from a command line, are understood).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from undust.errors import UsageError
from undust.learners.base import Learner, parameters

__all__ = ["LEARNERS", "Learner", "create", "parameters"]

# One line a learner: its name, its file and its class.
_WHERE = {
    "auto": ("auto", "Auto"),
    "dustbuster": ("dustbuster", "DustBuster"),
    "rewrite": ("rewrite", "Rewrite"),
    "pairwise": ("pairwise", "Pairwise"),
    "pattern-tree": ("pattern_tree", "PatternTree"),
    "alignment": ("alignment", "Alignment"),
}


class _Registry(Mapping[str, type[Learner]]):
    """Name -> class; a learner's imports are paid for when it is used."""

    def __getitem__(self, name: str) -> type[Learner]:
        module, cls = _WHERE[name]
        found: type[Learner] = getattr(import_module(f"{__name__}.{module}"), cls)
        return found

    def __contains__(self, name: object) -> bool:  # Mapping's own would import the learner to find out
        return name in _WHERE

    def __iter__(self) -> Iterator[str]:
        return iter(_WHERE)

    def __len__(self) -> int:
        return len(_WHERE)


LEARNERS: Mapping[str, type[Learner]] = _Registry()


def __getattr__(name: str) -> Any:
    """`undust.learners.DustBuster` and its like, imported when first used."""
    for learner, (_, cls) in _WHERE.items():
        if cls == name:
            return LEARNERS[learner]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def create(name: str, params: Mapping[str, Any] | None = None) -> Learner:
    """The learner of that name with these parameters; a text is read as the type of the default.

    >>> list(LEARNERS)
    ['auto', 'dustbuster', 'rewrite', 'pairwise', 'pattern-tree', 'alignment']
    >>> create("dust-buster")
    Traceback (most recent call last):
    undust.errors.UsageError: no learner 'dust-buster'; there are auto, dustbuster, ...
    """
    if name not in LEARNERS:
        raise UsageError(f"no learner {name!r}; there are {', '.join(LEARNERS)}")
    defaults = parameters(LEARNERS[name])
    given: dict[str, Any] = {}
    for key, value in (params or {}).items():
        if key not in defaults:
            raise UsageError(
                f"learner {name} has no parameter {key!r}; it has {', '.join(defaults) or 'none'}"
            )
        given[key] = _read(value, defaults[key], f"{name}: {key}") if isinstance(value, str) else value
    return LEARNERS[name](**given)


def _read(text: str, default: Any, what: str) -> Any:
    """`text` as a value of the default's type."""
    try:
        if isinstance(default, bool):
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
                text.lower()
            ]
        if isinstance(default, int | float):
            return type(default)(text)
    except (KeyError, ValueError):
        raise UsageError(f"{what}={text!r} is not a {type(default).__name__}") from None
    return None if default is None and text.lower() == "none" else text
