"""No chains: clusters that hang together by a row of links, each good enough, whose ends are different pages.

Every page of a cluster must be linked to the cluster's commonest text itself, or agree with it. What only
hangs on by way of others is cut off, and may form clusters of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from undust.likeness.boilerplate import own_agreement
from undust.likeness.components import Edges, components
from undust.likeness.seen import Seen

ROUNDS = 20


def unchained(
    seen: Seen, boiler: NDArray[np.bool_], text: NDArray[np.int64], linked: Edges
) -> NDArray[np.int64]:
    """Groups of pages: equal texts (`text`) joined by links, without chains.

    The first round takes from each connected group what is linked to its centre, the next round
    goes on with what is left.
    """
    n = len(text)
    i, j = text[linked[0]], text[linked[1]]
    group = np.arange(n, dtype=np.int64)
    size = np.bincount(text, minlength=n)
    for _ in range(ROUNDS):
        i, j = i[i != j], j[i != j]
        if not len(i):
            break
        root = components(n, i, j)
        # The centre is the text that most links lead to, the commonest and the first among equals.
        touched = np.unique(np.concatenate((i, j)))
        links = np.bincount(np.concatenate((i, j)), minlength=n)
        order = touched[np.lexsort((touched, -size[touched], -links[touched], root[touched]))]
        roots, first = np.unique(root[order], return_index=True)
        centre_of = np.arange(n, dtype=np.int64)
        centre_of[roots] = order[first]
        centre = centre_of[root]
        direct = np.zeros(n, dtype=bool)
        direct[i[centre[i] == j]] = True
        direct[j[centre[j] == i]] = True
        agree, against = own_agreement(seen, boiler, touched, centre[touched])
        alike = np.zeros(n, dtype=bool)
        if seen.sketch.shape[1]:
            length, of_centre = seen.text_len[touched], seen.text_len[centre[touched]]
            near = np.abs(length - of_centre) <= 0.1 * np.maximum(length, of_centre)
            alike[touched] = near & (agree > against)
        kept = direct | alike | (centre == np.arange(n))
        kept[np.setdiff1d(np.arange(n), touched)] = False
        group[kept] = centre[kept]
        left = ~kept[i] & ~kept[j]
        i, j = i[left], j[left]
    return group[text]
