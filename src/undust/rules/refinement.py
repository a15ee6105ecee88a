"""Refinement: rule f refines rule g when every pair f makes equal, g makes equal too (SPEC 2.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from undust.rules.compiled import told_apart
from undust.rules.condition import Condition
from undust.rules.pattern import parse_key, parse_pattern
from undust.rules.rule import Rule, Scope
from undust.url import tokenize

Tokens = tuple[str, ...]


def refined_by(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[Tokens, Tokens]]:
    """All substitutions that (a, b) refines: a common prefix and a common suffix deleted, in tokens.

    The lemma of SPEC 2.7 (a'->b' refines a->b iff a' = g a d and b' = g b d) turned round: so the rules
    refined by one rule are found by look-up, not by trying all pairs. The rule itself comes first.

    >>> [("".join(x), "".join(y)) for x, y in refined_by("axc", "ayc")]
    [('axc', 'ayc'), ('ax', 'ay'), ('xc', 'yc'), ('x', 'y')]
    """
    a, b = tuple(a), tuple(b)
    shorter = min(len(a), len(b))
    prefix = 0
    while prefix < shorter and a[prefix] == b[prefix]:
        prefix += 1
    for c in range(prefix + 1):
        d = 0
        while True:
            yield a[c : len(a) - d], b[c : len(b) - d]
            if d >= shorter - c or a[len(a) - d - 1] != b[len(b) - d - 1]:
                break
            d += 1


def substitution_refines(fine: tuple[Tokens, Tokens], coarse: tuple[Tokens, Tokens]) -> bool:
    """Whether (a', b') refines (a, b); sides are token sequences, `^` and `$` included where anchored.

    >>> fine = tuple("www . cnn".split()), ("cnn",)
    >>> substitution_refines(fine, (("www", "."), ()))
    True
    """
    (a1, b1), (a, b) = fine, coarse
    extra = len(a1) - len(a)
    if extra < 0 or len(b1) - len(b) != extra:
        return False
    return any(
        a1[c : c + len(a)] == a
        and a1[:c] == b1[:c]
        and b1[c : c + len(b)] == b
        and a1[c + len(a) :] == b1[c + len(b) :]
        for c in range(extra + 1)
    )


def sides(rule: Rule) -> tuple[Tokens, Tokens]:
    """Both sides of a substitution rule as tokens, with `^` and `$` where it is anchored."""
    swap = rule.do["substitute"]
    assert isinstance(swap, Mapping)
    begin, end = ("^",) * swap["start"], ("$",) * swap["end"]
    return (
        (*begin, *tokenize(swap["from"])[1:-1], *end),
        (*begin, *tokenize(swap["to"])[1:-1], *end),
    )


def refines(fine: Rule, coarse: Rule) -> bool:
    """Whether `fine` is a special case of `coarse`: never wrongly True, sometimes wrongly False.

    For substitutions the exact test of SPEC 2.7. For key rules: the same rewrite, a scope within the other's,
    and each condition of `coarse` implied by one of `fine`. A guarded rule is refined by one under the same guard only.

    >>> drop, narrow = Rule(do={"query[sid]": None}), Rule(when={"path": "/a"}, do={"query[sid]": None})
    >>> refines(narrow, drop), refines(drop, narrow)
    (True, False)
    """
    if not _scope_within(fine.scope, coarse.scope) or coarse.guard not in (None, fine.guard):
        return False
    if not all(_implied(key, condition, fine.when) for key, condition in coarse.when.items()):
        return False
    # A rule that names the second `x` fires where there are several; one that does not, does not.
    if told_apart(fine) - told_apart(coarse):
        return False
    if "substitute" in fine.do and "substitute" in coarse.do:
        return substitution_refines(sides(fine), sides(coarse))
    return fine.do == coarse.do and _same_groups(fine, coarse)


def _same_groups(fine: Rule, coarse: Rule) -> bool:
    """Whether the groups a rewrite refers to come from equal conditions; else they may hold other values."""
    for key, condition in coarse.when.items():
        if key != "names" and isinstance(condition, str):
            pattern = parse_pattern(condition, parse_key(key))
            if any(pattern.names) and fine.when.get(key, None) != condition:
                return False
    return True


def _scope_within(inner: Scope, outer: Scope) -> bool:
    if outer.path is not None and (inner.path is None or not outer.covers_path(inner.path)):
        return False
    if outer.hosts:
        return bool(inner.hosts) and set(inner.hosts) <= set(outer.hosts)
    if outer.domain is None:
        return True
    if inner.domain is not None:
        return outer.covers_host(inner.domain)
    return bool(inner.hosts) and all(outer.covers_host(host.partition(":")[0]) for host in inner.hosts)


def _implied(key: str, condition: Condition, when: Mapping[str, Condition]) -> bool:
    """Whether `condition` on `key` follows from the conditions `when`."""
    if key == "names":
        return when.get("names") == condition
    named = parse_key(key)
    if key not in when:
        names = when.get("names")
        if named.kind == "query" and named.name is not None and isinstance(names, tuple):
            if condition is None:
                return named.name not in names
            return condition == "{}" and named.name in names and named.occurrence == 1
        return False
    given = when[key]
    if given == condition:
        return True
    if given is None or condition is None:
        return False
    values = _values(key, given)
    if values is not None:
        return all(holds(key, condition, value) for value in values)
    if isinstance(condition, str):
        # Present with any value is implied by every other condition but absence.
        pattern = parse_pattern(condition, named)
        return pattern.literals == ("", "") and (
            pattern.groups[0].type == "rest" or (pattern.groups[0].type == "any" and pattern.may_be_empty)
        )
    if isinstance(condition, Mapping):
        if isinstance(given, Mapping):
            return set(condition["not"]) <= set(given["not"])
        pattern = parse_pattern(str(given), named)
        return all(pattern.match(value) is None for value in condition["not"])
    return False


def _values(key: str, condition: Condition) -> tuple[str, ...] | None:
    """The values a condition allows, when they can be listed."""
    if isinstance(condition, tuple):
        return condition
    if isinstance(condition, str):
        literal = parse_pattern(condition, parse_key(key)).literal
        return None if literal is None else (literal,)
    return None


def holds(key: str, condition: Condition, value: str) -> bool:
    """Whether a value that is present meets a condition."""
    if condition is None:
        return False
    if isinstance(condition, tuple):
        return value in condition
    if isinstance(condition, Mapping):
        return value not in condition["not"]
    return parse_pattern(condition, parse_key(key)).match(value) is not None
