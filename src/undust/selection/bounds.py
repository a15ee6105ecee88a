"""Lower confidence bounds: what is claimed of a rule is what its evidence can carry."""

from __future__ import annotations

from math import sqrt


def wilson_lower(good: float, total: float, z: float = 1.645) -> float:
    """Lower edge of the one-sided 95 % Wilson interval for `good` successes in `total` trials.

    >>> round(wilson_lower(50, 50), 3), round(wilson_lower(3, 3), 3), wilson_lower(0, 0)
    (0.949, 0.526, 0.0)
    """
    if total <= 0:
        return 0.0
    p = good / total
    spread = z * sqrt(max(p * (1 - p), 0.0) / total + z * z / (4 * total * total))
    return max(0.0, (p + z * z / (2 * total) - spread) / (1 + z * z / total))


def wilson_upper(bad: float, total: float, z: float = 1.645) -> float:
    """Upper edge for a rate of failures.

    >>> round(wilson_upper(0, 50), 3)
    0.051
    """
    return 1.0 - wilson_lower(total - bad, total, z) if total > 0 else 1.0
