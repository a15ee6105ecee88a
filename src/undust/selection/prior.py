"""What is known before a site is looked at: how much evidence a kind of rule needs. Never a rule by itself.

`strength` answers in pseudo-observations: a rule that removes a session id needs little to be believed, one that
removes a parameter called `id` needs much. The names come from common knowledge of the web's software.
"""

from __future__ import annotations

import re

from undust.rules import Rule

NEUTRAL = 8.0

# Names that nearly always carry who asks or how one came, seldom what is shown.
_TRACKING = re.compile(
    r"^(amp;)?(utm_\w+|mtm_\w+|itm_\w+|pk_\w+|gclid|fbclid|msclkid|dclid|yclid|igshid|mc_[ce]id|srsltid|_ga|"
    r"(php|j|asp|cf)?sess(ion)?_?(id)?|phpsessid|jsessionid|aspsessionid\w*|sid|oscsid|zenid|cfid|cftoken|s_?id|"
    r"highlight|hilit|sectok|nocache|_|rand(om)?|timestamp|cachebust\w*)$",
    re.I,
)
# Names that choose the presentation: often a default value of theirs means nothing.
_PRESENTATION = re.compile(
    r"^(amp;)?(sort\w*|order\w*|dir|direction|view|mode|layout|style|theme|skin|lang|limit|per_?page|show\w*|"
    r"print\w*|start|offset|page|first|from|do|action|format|postdays|postorder|c|o)$",
    re.I,
)
# Names that nearly always choose the content.
_CONTENT = re.compile(
    r"^(amp;)?(id|p|t|f|u|q|s|query|search|title|article|post|topic|thread|product|item|cat(egory)?|tag|name|file|path|url|page_?id)$",
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


def strength(rule: Rule) -> float:
    """Pseudo-observations in favour of a rule, from its form alone (0: needs all its evidence itself)."""
    score = 14.0
    for key, value in rule.do.items():
        score = min(score, _strength_of(key, value, rule))
    return score


def _strength_of(key: str, value: object, rule: Rule) -> float:
    condition = rule.when.get(key)
    if key.startswith("query["):
        name = key[6:-1]
        literal = isinstance(condition, str) and "{" not in condition
        if value is None:
            if _TRACKING.match(name):
                return 14.0
            if literal and (condition in ("", "0") or _PRESENTATION.match(name)):
                return 12.0
            if literal:
                return NEUTRAL
            return 0.0 if _CONTENT.match(name) else NEUTRAL if not _PRESENTATION.match(name) else 4.0
        return NEUTRAL
    if (isinstance(value, str) and value in _SAFE_HABITS) or (key == "query" and condition == ""):
        return 12.0
    if key in ("scheme", "host", "port"):
        return 10.0
    if (
        key == "path[-1]"
        and isinstance(condition, str)
        and re.match(r"^(index|default|home)\.\w+$", condition)
    ):
        return 13.0
    return NEUTRAL
