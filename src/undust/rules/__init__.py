"""The one rule language: rules, the rule book they are kept in, and the canonicalizer compiled from it.

`docs/rules.md` is the reference of the language.
"""

from .aliases import AliasTable
from .book import RuleBook, SiteRules
from .canonicalizer import Canonicalizer, Explanation
from .compiled import CompiledRule, Trigger, compile_rule, trigger
from .conflict import Conflict, Proof, conflicts, prove
from .guard import Guard
from .listed import Listed
from .mutable import MutableUrl
from .pattern import escape
from .refinement import refined_by, refines, substitution_refines
from .rule import Evidence, Rule, Scope

__all__ = [
    "AliasTable",
    "Canonicalizer",
    "CompiledRule",
    "Conflict",
    "Evidence",
    "Explanation",
    "Guard",
    "Listed",
    "MutableUrl",
    "Proof",
    "Rule",
    "RuleBook",
    "Scope",
    "SiteRules",
    "Trigger",
    "compile_rule",
    "conflicts",
    "escape",
    "prove",
    "refined_by",
    "refines",
    "substitution_refines",
    "trigger",
]
