"""What is known before a site is looked at: how much evidence a kind of rule needs. Never a rule by itself.

`strength` answers in pseudo-observations: a rule that removes a session id needs little to be believed, one that
removes a parameter called `id` needs much. The names come from common knowledge of the web's software.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from undust.rules import Rule

NEUTRAL = 8.0
OPAQUE = 11.0  # values that look like session ids, under a name that is not known

Opaque = Callable[[str], bool]
"""Do the values that a key (`query[s]`, `matrix[s]`) has on this site look like session ids?"""

# Names that nearly always carry who asks or how one came, seldom what is shown.
_TRACKING = re.compile(
    r"^(amp;)?(utm_\w+|mtm_\w+|itm_\w+|pk_\w+|gclid|fbclid|msclkid|dclid|yclid|igshid|mc_[ce]id|srsltid|_ga|"
    r"(php|j|asp|cf)sess(ion)?_?(id)?|phpsessid|jsessionid|aspsessionid\w*|oscsid|zenid|cfid|cftoken|"
    r"highlight|hilit|sectok|nocache|rand(om)?|cachebust\w*)$",
    re.I,
)
# Names that do so where their values look like it: `sid` is a session on one site and a story on the next.
_SESSION = re.compile(r"^(amp;)?(sess(ion)?_?(id)?|sid|s_?id|s|_|timestamp|token|hash|ts)$", re.I)
# Names that choose the presentation: often a default value of theirs means nothing.
_PRESENTATION = re.compile(
    r"^(amp;)?(sort\w*|order\w*|dir|direction|view|mode|layout|style|theme|skin|lang|limit|per_?page|show\w*|"
    r"print\w*|start|offset|page|first|from|do|action|format|postdays|postorder|c|o)$",
    re.I,
)
# Names that nearly always choose the content.
_CONTENT = re.compile(
    r"^(amp;)?(id|p|t|f|u|q|s|query|search|title|article|post|topic|thread|product|item|cat(egory)?|tag|name|file|path|url|page_?id|"
    r"oldid|rev(ision)?|version|diff)$",
    re.I,
)

_SAFE_HABITS = (
    "{query|amp}",
    "{query|noempty}",
    "{path|slashes}",
    "{path|decode}",
    "{query|plus|decode}",
    "{query|sort}",
    "{query|semi}",
    "{query|amp|noempty}",
    "{query|plus|decode|sort}",
)


def strength(rule: Rule, opaque: Opaque = lambda _: False) -> float:
    """Pseudo-observations in favour of a rule, from its form alone (0: needs all its evidence itself).

    `opaque` tells of a key whether its values on the site at hand look like session ids: a name alone is not enough
    for the ambiguous ones, and values can be enough for a name that nobody knows.

    >>> session = Rule(do={"query[sid]": None})
    >>> strength(session), strength(session, lambda key: True)
    (8.0, 14.0)
    """
    score = 14.0
    for key, value in rule.do.items():
        score = min(score, _strength_of(key, value, rule, opaque))
    return score


def _strength_of(key: str, value: object, rule: Rule, opaque: Opaque) -> float:
    condition = rule.when.get(key)
    if key == "substitute" and isinstance(value, Mapping):
        old, new = (_WORD.findall(str(value.get(end, ""))) for end in ("from", "to"))
        differ = [pair for pair in zip(old, new, strict=False) if pair[0] != pair[1]]
        numbers = len(old) == len(new) and differ and all(a.isdigit() and b.isdigit() for a, b in differ)
        return min(_of_values(a, b) for a, b in differ) if numbers else NEUTRAL
    if key.startswith(("query[", "matrix[")):
        return _of_parameter(key, value, condition, opaque)
    if (isinstance(value, str) and value in _SAFE_HABITS) or (key == "query" and condition == ""):
        return 12.0
    if key == "host" and isinstance(condition, str) and isinstance(value, str):
        return 13.0 if _without_www(condition) == _without_www(value) else 10.0
    if key in ("scheme", "host", "port"):
        return 10.0
    if key == "path[-1]" and isinstance(condition, str) and _INDEX.match(condition):
        return 13.0
    if key.startswith("path[") and value is None and isinstance(condition, str) and _TOKEN.search(condition):
        return OPAQUE
    return NEUTRAL


_WORD = re.compile(r"[^\W_]+")
_INDEX = re.compile(r"^(index|default|home)\.\w+$")
_TOKEN = re.compile(r"\{\w*:(hex|uuid|session)\}")
_WWW = re.compile(r"^www\d*\.")


def _without_www(host: str) -> str:
    return _WWW.sub("", host)


def _of_parameter(key: str, value: object, condition: object, opaque: Opaque) -> float:
    if value is not None:
        return _of_values(condition, value)
    name = key.partition("[")[2][:-1]
    literal = isinstance(condition, str) and "{" not in condition
    if _TRACKING.match(name) or (_SESSION.match(name) and opaque(key)):
        return 14.0
    if literal and (condition in ("", "0") or _PRESENTATION.match(name)):
        return 12.0
    if literal:
        return NEUTRAL
    if _CONTENT.match(name):
        return 0.0
    if _PRESENTATION.match(name):
        return 4.0
    return OPAQUE if opaque(key) else NEUTRAL


def _of_values(condition: object, value: object) -> float:
    """Of setting a parameter: one value for another comes in flocks (`day=7` to `day=6`) that are mostly false.

    Another spelling of one value (`07` for `7`, `Up` for `up`) is like any rule.
    """
    if not (isinstance(condition, str) and isinstance(value, str)) or "{" in condition + value:
        return NEUTRAL
    alike = condition.lower() == value.lower() or condition.lstrip("0") == value.lstrip("0")
    return NEUTRAL if alike else 0.0
