"""A guard: a condition that asks the list of URLs, not the URL itself ("and no other page of the topic is listed").

`docs/guarded.md` tells what guards are for, `listed.py` how they are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undust.errors import BookError
from undust.rules.condition import Condition, describe_condition, one_form, plain
from undust.rules.pattern import parse_key, parse_pattern

MOST_ABSENT = 8


@dataclass(frozen=True)
class Guard:
    """What the list must not hold for a rule to be followed, and what it must show to be taken for complete.

    `absent`: conditions like those of a rule, of *other pages of the same thing*. The groups they have in common with
    the rule's own conditions say what the thing is. `entities`: at least so many things must show another page in
    the list. `between`: of the pages before the last one of each of these things this share must be listed: the one
    the rule leads to, and the numbered ones. The numbers are what the first `int` group stands for that the rule's own
    conditions do not have.

    >>> guard = Guard(({"path": "/topic,{t:int}.{page:int}.html"},), entities=5, between=0.95)
    >>> Guard.from_dict(guard.to_dict()) == guard
    True
    >>> guard.describe({"t"})
    'if the list has no other URL of the same t where path is /topic,{t:int}.{page:int}.html'
    """

    absent: tuple[Mapping[str, Condition], ...]
    entities: int = 0
    between: float = 0.0

    def __post_init__(self) -> None:
        kept = tuple(
            {key: one_form(key, value, "guard.absent") for key, value in sorted(some.items())}
            for some in self.absent
        )
        if not 1 <= len(kept) <= MOST_ABSENT or not all(kept):
            raise BookError(f"a guard has 1 to {MOST_ABSENT} sets of conditions", field="guard.absent")
        object.__setattr__(self, "absent", kept)

    def bound(self, groups: frozenset[str] | set[str]) -> tuple[str, ...]:
        """Which of a rule's groups say what thing a URL is about: those that all conditions of the guard name.

        Without any, "another page" would be any page of the site.
        """
        common = set(groups)
        for some in self.absent:
            common &= group_names(some, "guard.absent")
        if not common:
            raise BookError("it has no group in common with the rule's conditions", field="guard.absent")
        return tuple(sorted(common))

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"absent": [plain(some) for some in self.absent]}
        if self.entities or self.between:
            out["complete"] = {"entities": self.entities, "between": self.between}
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guard:
        absent, complete = data.get("absent"), data.get("complete", {})
        if not isinstance(absent, Sequence) or isinstance(absent, str):
            raise BookError("a list of sets of conditions is needed", field="guard.absent")
        return cls(tuple(absent), complete.get("entities", 0), complete.get("between", 0.0))

    def describe(self, groups: frozenset[str] | set[str]) -> str:
        """For people."""
        try:
            same = " and ".join(self.bound(groups))
        except BookError:
            same = "?"
        told = " or ".join(
            " and ".join(describe_condition(key, value) for key, value in some.items())
            for some in self.absent
        )
        return f"if the list has no other URL of the same {same} where {told}"


def group_names(when: Mapping[str, Condition], field: str = "when") -> frozenset[str]:
    """The names of the groups in some conditions; each may be there once.

    >>> sorted(group_names({"path": "/t/{t}", "query[p]": "{p:int}"}))
    ['p', 't']
    """
    names: list[str] = []
    for key, condition in when.items():
        if key != "names" and isinstance(condition, str):
            try:
                names += [name for name in parse_pattern(condition, parse_key(key)).names if name]
            except BookError as error:
                raise BookError(error.why, field=error.field or f"{field}.{key}") from None
    if len(names) != len(set(names)):
        raise BookError("two conditions name the same group", field=field)
    return frozenset(names)
