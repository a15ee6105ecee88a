"""A crawl of two sites and a rule book for them, with rules that are right, wrong, waiting, rejected."""

from __future__ import annotations

from typing import Any

from undust.rules import Evidence, Rule, RuleBook, SiteRules

ATTACK = "</script><img src=x onerror=\"window.hacked='yes'\"><!--"


def pages(host: str = "a.example", contents: int = 12) -> list[dict[str, Any]]:
    """Each content under three session ids; two of them also under a print view; one login page for many."""
    rows = [
        {
            "url": f"http://{host}/show?id={i}&sid={sid}{i}",
            "cluster": f"{host} {i}",
            "status": 200,
            "size": 100 + i,
        }
        for i in range(contents)
        for sid in "xyz"
    ]
    rows += [{"url": f"http://{host}/print/{i}", "cluster": f"{host} {i}", "status": 200} for i in range(2)]
    rows += [
        {"url": f"http://{host}/reply?p={i}", "cluster": f"{host} login", "soft": True, "status": 200}
        for i in range(5)
    ]
    return [*rows, {"url": f"http://{host}/gone", "status": 404}]


DROP_SID = Rule(
    do={"query[sid]": None},
    source=("alignment",),
    evidence=Evidence("label", support=36, pairs=24, precision_low=0.9),
    examples=(("http://a.example/show?id=1&sid=x1", "http://a.example/show?id=1"),),
)
DROP_ID = Rule(do={"query[id]": None}, status="validated")
WAITING = Rule(when={"path": "/print/{n}"}, do={"path": "/show", "query[id]": "{n}"}, status="likely")
OFF = Rule(do={"query[p]": None}, status="disabled")
REFUSED = Rule(do={"query": None}, status="rejected", why="11 of 12 merges are of different pages")


def book(*rules: Rule, name: str = "a.example") -> RuleBook:
    kept = list(rules or (DROP_SID, DROP_ID, WAITING, OFF))
    return RuleBook({name: SiteRules(name, rules=kept, rejected=[REFUSED])})


def two_sites() -> tuple[RuleBook, list[dict[str, Any]]]:
    """One site with a wrong rule, one without."""
    both = book()
    both.add(SiteRules("b.example", rules=[DROP_SID]))
    return both, [*pages(), *pages("b.example", 30)]


def hostile() -> tuple[RuleBook, list[dict[str, Any]]]:
    """Markup wherever a text can come from outside: URLs, names, rules, reasons, notes, files."""
    rule = Rule(
        when={"query[x]": ATTACK.replace("{", "")},
        do={"query[x]": None},
        source=(ATTACK,),
        examples=((f"http://a.example/?x={ATTACK}", "javascript:alert(1)"),),
        learned_at=ATTACK,
    )
    refused = Rule(do={"query[y]": ATTACK}, status="rejected", why=ATTACK)
    site = SiteRules("a.example", rules=[rule, DROP_SID], rejected=[refused])
    group = {"duplicates": 3, "paths": [ATTACK], "example": [f"http://a.example/{ATTACK}"]}
    site.notes = {
        "advice": ATTACK,
        "failed": ATTACK,
        "unexplained": [group, ATTACK, 7],
        "learned_from": ATTACK,
    }
    rows = [
        {"url": f"http://a.example/{ATTACK}/{i}?sid={ATTACK}{s}", "digest": f"{i}", "fetched_at": ATTACK}
        for i in range(4)
        for s in "xy"
    ]
    rows += [{"url": f"http://a.example/\u202e{i}?\u200bsid=1", "digest": f"{i}"} for i in range(4)]
    other = SiteRules(ATTACK, rules=[rule], notes={"unexplained": [group]})
    return RuleBook({"a.example": site, ATTACK: other}), rows
