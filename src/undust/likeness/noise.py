"""Wrong labels on purpose: how well does a learner bear the mistakes that labels always have?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from undust.likeness.labels import Labels


def noise(labels: Labels, rate: float, seed: int = 0) -> Labels:
    """The labels with a share of the known pages moved into a cluster that is not theirs.

    A moved page joins the cluster of another page drawn at random, so large clusters draw more, as
    templates do.

    >>> from undust.likeness import split_sites
    >>> import pyarrow as pa
    >>> urls = [f"http://a.example/{i}" for i in range(100)]
    >>> site, = split_sites(pa.table({"url": urls, "digest": [str(i // 2) for i in range(100)]}))
    >>> int((noise(site.labels, 0.1).cluster != site.labels.cluster).sum())
    10
    """
    known = np.flatnonzero(labels.cluster >= 0)
    rng = np.random.default_rng(seed)
    moved = rng.choice(known, round(rate * len(known)), replace=False)
    cluster = labels.cluster.copy()
    for page in moved.tolist():
        others = known[labels.cluster[known] != labels.cluster[page]]
        if len(others):
            cluster[page] = labels.cluster[rng.choice(others)]
    return replace(labels, cluster=cluster)
