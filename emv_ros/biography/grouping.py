"""Groups of things seen, the likest first, under what must never be one; numbers alone, no data.

How like two groups are is the mean cosine between them by the means within them: what light and
side do to looks shows within a group, and of two groups of one thing the looks differ no more than
that. So groups that are alike within have to be as alike to each other; of one alone it is assumed
that it would be so alike as `alone` to another look of its thing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Sums = NDArray[np.float64]  # n × dimension
Flags = NDArray[np.bool_]  # n × n, symmetric

NEVER = -np.inf


def likeness(products: NDArray[np.float64], counts: NDArray[np.float64], at: int,
             alone: float) -> NDArray[np.float64]:
    """Return how like one group is to each: 1 where they differ no more than looks within do.

    `products` holds the products of the sums of unit vectors of n groups, `counts` their numbers.
    """
    pairs = counts * (counts - 1) / 2
    own = (np.diagonal(products) - counts) / 2
    within = np.maximum((alone + own) / (1 + pairs), alone)
    between = products[at] / (counts[at] * counts)
    return np.asarray(between / np.sqrt(within[at] * within))


def group(sums: Sums, counts: NDArray[np.float64], barred: Flags, least: float,
          alone: float) -> NDArray[np.int64]:
    """Return the group of each of n: the two likest become one, as long as they reach `least`.

    Each is given by the sum and the number of its unit vectors; what has none stays by itself.
    Two that are barred are never in one group. n² numbers are held.
    """
    count = len(counts)
    labels = np.arange(count)
    if count < 2:
        return labels
    products, counts = sums @ sums.T, counts.astype(np.float64)
    barred = barred | np.eye(count, dtype=bool)
    is_open = counts > 0
    safe = np.maximum(counts, 1)
    like = np.stack([likeness(products, safe, at, alone) for at in range(count)])
    like[barred | ~is_open[:, None] | ~is_open[None, :]] = NEVER
    best = like.argmax(axis=1)
    while True:
        first = int(like[np.arange(count), best].argmax())
        second = int(best[first])
        if not like[first, second] >= least:
            return labels
        first, second = min(first, second), max(first, second)
        both = products[first, first] + products[second, second] + 2 * products[first, second]
        products[first] += products[second]
        products[:, first] = products[first]
        products[first, first] = both
        safe[first] += safe[second]
        barred[first] |= barred[second]
        barred[:, first] = barred[first]
        is_open[second] = False
        labels[labels == second] = first
        row = likeness(products, safe, first, alone)
        row[barred[first] | ~is_open] = NEVER
        like[first], like[:, first] = row, row
        like[second], like[:, second] = NEVER, NEVER
        stale = np.flatnonzero((best == first) | (best == second))
        best[stale] = like[stale].argmax(axis=1)
        best[first] = row.argmax()
        better = like[:, first] > like[np.arange(count), best]
        best[better] = first
