"""Likeness: the evidence that two pages are alike, and the clusters it makes.

Sketches of texts, clusters of pages, soft pages, sites as the pages that are learned together.
"""

from undust.likeness.labels import LEVELS, Labels, label_site
from undust.likeness.noise import noise
from undust.likeness.site import Site, split_sites
from undust.likeness.sketch import sketch_kind, sketch_texts, sketcher
from undust.likeness.summary import Summary, summary

__all__ = [
    "LEVELS",
    "Labels",
    "Site",
    "Summary",
    "label_site",
    "noise",
    "sketch_kind",
    "sketch_texts",
    "sketcher",
    "split_sites",
    "summary",
]
