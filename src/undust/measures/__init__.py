"""Measures: every metric of the papers and ours, protocols to split pages by, and the papers' tables.

`evaluate` measures a rule book on a crawl; `Measures` says what each metric means.
"""

from undust.measures.evaluation import Evaluation, RuleMeasures, Spread, evaluate
from undust.measures.metrics import Measures, macro, measure, micro
from undust.measures.truth import Known, Truth, known

__all__ = [
    "Evaluation",
    "Known",
    "Measures",
    "RuleMeasures",
    "Spread",
    "Truth",
    "evaluate",
    "known",
    "macro",
    "measure",
    "micro",
]
