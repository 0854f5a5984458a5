"""Shares of a small number of cases, with the interval in which the true share may lie."""

from __future__ import annotations

import math

Z_95 = 1.959964


def wilson(count: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of a share, 95 % by default; (0, 1) of nothing."""
    if not total:
        return 0.0, 1.0
    share, square = count / total, z * z / total
    middle = (share + square / 2) / (1 + square)
    reach = z / (1 + square) * math.sqrt(share * (1 - share) / total + square / (4 * total))
    return max(0.0, middle - reach), min(1.0, middle + reach)
