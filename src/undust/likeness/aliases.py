"""Hosts that are one site: `www.` twins, other ports, mirrors under one registrable domain."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from undust.likeness.components import components
from undust.likeness.labels import Labels

MIN_COMMON = 3
"""Distinct contents two hosts must show under the same paths to be taken for aliases."""

ALIKE = 0.8
"""Share of their common paths that must show the same content; and the resemblance that makes it the same."""

REACH = 8
"""Hosts that show one path are compared with so many of the next larger ones."""


def alias_groups(
    labels: Labels, path: NDArray[np.int64], host: NDArray[np.int64], domain: NDArray[np.int64]
) -> NDArray[np.int64]:
    """A group per host: hosts of one domain that show the same content under most of their common paths.

    `path` numbers what follows the authority, `host` is each page's host and `domain` each host's domain.
    A shared start page or robots.txt proves nothing: several distinct contents must agree. Soft pages are
    the same everywhere and are left out; what cannot be compared counts neither way.
    """
    size = np.bincount(host, minlength=len(domain))
    rows = np.flatnonzero((labels.cluster >= 0) & ~labels.soft)
    order = rows[np.lexsort((host[rows], -size[host[rows]], path[rows], domain[host[rows]]))]
    same_path: Counter[tuple[int, int]] = Counter()
    contents: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for step in range(1, REACH + 1):
        i, j = order[:-step], order[step:]
        meet = (path[i] == path[j]) & (domain[host[i]] == domain[host[j]]) & (host[i] != host[j])
        i, j = i[meet], j[meet]
        equal = labels.cluster[i] == labels.cluster[j]
        differ = ~equal & (labels.resemblance(i, j) < ALIKE)
        told = equal | differ
        pairs = zip(
            host[i[told]].tolist(),
            host[j[told]].tolist(),
            equal[told].tolist(),
            i[told].tolist(),
            strict=True,
        )
        for a, b, agree, row in pairs:
            pair = (min(a, b), max(a, b))
            same_path[pair] += 1
            if agree:
                contents[pair].append(int(labels.cluster[row]))
    aliases = [
        pair
        for pair, found in contents.items()
        if len(set(found)) >= MIN_COMMON and len(found) >= ALIKE * same_path[pair]
    ]
    ends = np.array(aliases, dtype=np.int64).reshape(-1, 2)
    return components(len(domain), ends[:, 0], ends[:, 1])
