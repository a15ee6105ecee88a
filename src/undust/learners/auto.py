"""The default learner: every method proposes, what they propose is judged alike."""

from __future__ import annotations

from dataclasses import replace

from undust.learners import LEARNERS
from undust.learners.alignment import Alignment
from undust.learners.base import Learner
from undust.learners.view import View
from undust.likeness import Site
from undust.rules import Rule

PUBLISHED = ("dustbuster", "pairwise", "pattern-tree")


class Auto(Learner):
    """Pool the proposals of all learners; equal rules become one with all their sources.

    Alignment of whole clusters proposes anew in every round of the selection, on the site as the accepted rules
    have rewritten it; when it has no more to say, the published methods are asked about what is left. Nothing
    is deployed because a method proposed it: each proposal is tried on the whole site, narrowed to where it
    holds and judged on clusters it was not found in (`undust.selection`).

    Parameters
    ----------
    learners
        Names of the methods asked besides alignment, comma separated.
    proposals
        How many of each one's proposals are tried, best first.
    """

    name = "auto"

    def __init__(self, *, learners: str = ",".join(PUBLISHED), proposals: int = 60) -> None:
        self.learners = learners
        self.proposals = proposals

    def propose(self, site: Site) -> list[Rule]:
        view = View(site)
        return pool([*self.propose_on(view), *self.propose_more(view)])

    def propose_on(self, view: View) -> list[Rule]:
        """What the alignment of its clusters says of the forms of a view."""
        return Alignment().propose_on(view)

    def propose_more(self, view: View) -> list[Rule]:
        """What the published methods find in the forms of a view: asked when alignment has no more to say."""
        left = view.as_site()
        found: list[Rule] = []
        for name in filter(None, self.learners.split(",")):
            found += LEARNERS[name]().propose(left)[: self.proposals]
        hosts, schemes = frozenset(view.site.hosts), {u.partition(":")[0] for u in view.urls}
        return pool([bare(rule, hosts, len(schemes) == 1) for rule in found])


def bare(rule: Rule, hosts: frozenset[str], one_scheme: bool) -> Rule:
    """The rule without what is so on the whole site: the papers' rules name scheme and host in every condition.

    >>> from undust.rules import Scope
    >>> rule = Rule(Scope(hosts=("a.example",)), when={"scheme": "http"}, do={"query[sid]": None})
    >>> bare(rule, frozenset({"a.example"}), True).describe()
    '*: drop sid'
    """
    when = {
        k: c for k, c in rule.when.items() if not (k == "scheme" and one_scheme and "scheme" not in rule.do)
    }
    scope = rule.scope
    if scope.hosts and hosts <= set(scope.hosts):
        scope = replace(scope, hosts=())
    return replace(rule, scope=scope, when=when)


def pool(rules: list[Rule]) -> list[Rule]:
    """Equal rules once, with the sources of all, in the order in which they first came.

    >>> a, b = Rule(do={"query[sid]": None}, source=("x",)), Rule(do={"query[sid]": None}, source=("y",))
    >>> [r.source for r in pool([a, b])]
    [('x', 'y')]
    """
    first: dict[str, Rule] = {}
    sources: dict[str, dict[str, None]] = {}
    for rule in rules:
        first.setdefault(rule.id, rule)
        sources.setdefault(rule.id, {}).update(dict.fromkeys(rule.source))
    return [replace(r, source=tuple(sources[i])) if len(sources[i]) > 1 else r for i, r in first.items()]
