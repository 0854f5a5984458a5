"""Groups of things seen, the likest first, under what must never be one; numbers alone, no data.

How like two groups are is the mean cosine between them by the means within them: what light and
side do to looks shows within a group, and of two groups of one thing the looks differ no more than
that. So groups that are alike within have to be as alike to each other. Looks of one day, in one
light and from one side, tell too little of that: within a group pairs of looks count that are of
two days. Beside them one pair is assumed, so that one alone has a mean, too: `alone`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]  # n × n, symmetric

NEVER = -np.inf


@dataclass(slots=True)
class Groups:
    """Sums over the pairs of looks, one of each of two groups: n × n, itself on the diagonal.

    `cosines` and `pairs` count all pairs, `day_cosines` and `day_pairs` those of one day; all of
    them add up where two groups become one.
    """

    cosines: Numbers
    pairs: Numbers
    day_cosines: Numbers
    day_pairs: Numbers

    @classmethod
    def of(cls, looks: Numbers, days: NDArray[np.int64], unit_of: NDArray[np.int64],
           count: int) -> Groups:
        """Return the sums for `count` units, of looks (m × dimension, length 1) by day and unit."""
        member = np.zeros((count, len(unit_of)))
        member[unit_of, np.arange(len(unit_of))] = 1
        cosines, is_day = looks @ looks.T, (days[:, None] == days[None, :]).astype(np.float64)
        return cls(*(member @ over @ member.T for over in (
            cosines, np.ones_like(cosines), cosines * is_day, is_day)))

    def join(self, first: int, second: int) -> None:
        """Make one of two groups, at the place of the first."""
        for sums in (self.cosines, self.pairs, self.day_cosines, self.day_pairs):
            sums[first] += sums[second]
            sums[:, first] += sums[:, second]

    def likeness(self, at: int, alone: float) -> Numbers:
        """Return how like one group is to each: 1 where they differ no more than looks within."""
        pairs = (np.diagonal(self.pairs) - np.diagonal(self.day_pairs)) / 2
        own = (np.diagonal(self.cosines) - np.diagonal(self.day_cosines)) / 2
        within = np.maximum((alone + own) / (1 + pairs), alone)
        between = self.cosines[at] / np.maximum(self.pairs[at], 1)
        return np.asarray(between / np.sqrt(within[at] * within))


def group(groups: Groups, barred: Flags, least: float, alone: float) -> NDArray[np.int64]:
    """Return the group of each of n: the two likest become one, as long as they reach `least`.

    What has no looks stays by itself. Two that are barred are never in one group. `groups` is used
    up.
    """
    count = len(barred)
    labels = np.arange(count)
    if count < 2:
        return labels
    barred = barred | np.eye(count, dtype=bool)
    is_open = np.diagonal(groups.pairs) > 0
    like = np.stack([groups.likeness(at, alone) for at in range(count)])
    like[barred | ~is_open[:, None] | ~is_open[None, :]] = NEVER
    best = like.argmax(axis=1)
    is_open = is_open.copy()
    while True:
        first = int(like[np.arange(count), best].argmax())
        second = int(best[first])
        if not like[first, second] >= least:
            return labels
        first, second = min(first, second), max(first, second)
        groups.join(first, second)
        barred[first] |= barred[second]
        barred[:, first] = barred[first]
        is_open[second] = False
        labels[labels == second] = first
        row = groups.likeness(first, alone)
        row[barred[first] | ~is_open] = NEVER
        like[first], like[:, first] = row, row
        like[second], like[:, second] = NEVER, NEVER
        stale = np.flatnonzero((best == first) | (best == second))
        best[stale] = like[stale].argmax(axis=1)
        best[first] = row.argmax()
        better = like[:, first] > like[np.arange(count), best]
        best[better] = first
