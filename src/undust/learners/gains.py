"""What each candidate adds to those before it, so that the first few of a list say most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from undust.learners.duplicate_nodes import in_clusters_of_two
from undust.learners.node_rules import Candidate
from undust.learners.sample import Sample
from undust.likeness.components import components

__all__ = ["gains"]

Ints = NDArray[np.int64]


def gains(found: Sequence[tuple[Sample, Candidate]], *, max_rows: int = 8_000) -> list[int]:
    """Per candidate, in the order given, how many URLs it brings to their own that no earlier one has brought.

    Counted on whole clusters, at most `max_rows` URLs of them. A rule and its inverse bring the same URLs
    together: the second one adds nothing.
    """
    if not found:
        return []
    sample = found[0][0]
    rows = np.flatnonzero(
        (sample.position >= 0) & in_clusters_of_two(np.where(sample.position < 0, -1, sample.cluster))
    )
    every = 1 + len(rows) // max_rows
    rows = rows[sample.cluster[rows] % every == 0]
    chosen = np.full(len(sample.cluster), -1, np.int64)
    chosen[rows] = np.arange(len(rows))
    joined = np.arange(len(rows))
    out: list[int] = []
    for sample, candidate in found:
        if not len(rows):
            out.append(0)
            continue
        cluster = sample.cluster[rows]
        forms = sample.form[rows]
        for node, when, ops in candidate.parts(sample):
            met = sample.matching(node, when)
            met = met[chosen[met] >= 0]
            forms[chosen[met]] = sample.rewritten(met, ops)
        # One number for a form and a cluster together: sorting once is cheaper than twice.
        forms += sample.mark(len(sample.ids), cluster + 1)
        order = np.argsort(forms)
        same = forms[order][1:] == forms[order][:-1]
        a, b = joined[order[1:][same]], joined[order[:-1][same]]
        root = components(len(rows), a, b)
        before, joined = len(np.unique(joined)), root[joined]
        first = np.unique(joined, return_index=True)[1]
        out.append(before - len(first))
        if out[-1]:
            # Clusters that are whole have nothing to gain.
            parts = np.bincount(cluster[first])
            left = parts[cluster] > 1
            chosen[rows[~left]] = -1
            rows = rows[left]
            chosen[rows] = np.arange(len(rows))
            joined = np.unique(joined[left], return_inverse=True)[1]
    return out
