"""Groups of things seen, the likest first, under what must never be one; numbers alone, no data.

How like two groups are is the mean cosine between them by the means within them: what light and
side do to looks shows within a group, and of two groups of one thing the looks differ no more than
that. So groups that are alike within have to be as alike to each other. Looks of one day, in one
light and from one side, tell too little of that: within a group pairs of looks count that are of
two days. Beside them one pair is assumed, so that one alone has a mean, too: `alone`.

What went together first knew least. So when the groups are there each unit is looked at again: it
goes where it is more like the others, and two that only keep each other out trade places. Then
groups that fall in two are parted, see parting. Last, a unit that is almost as like another group
that is well known is left alone: of two like things nobody could tell which it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.biography.parting import KNOWN_DAYS, Pairs, parted

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]  # n × n, symmetric

NEVER = -np.inf
# How often groups are joined, and their units settled: the second time the groups know more.
ROUNDS = 2
# A unit that is more like its own group than another by less may be of either.
DOUBT = 0.01
# Means that differ by less are equal: sums of floats in another order do.
ROUNDING = 1e-9


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

    def of_groups(self, at: NDArray[np.int64]) -> Groups:
        """Return the sums of groups, numbered from 0, of which one holds each unit."""
        return Groups(*(_summed(_summed(sums, at).T, at).T for sums in (
            self.cosines, self.pairs, self.day_cosines, self.day_pairs)))

    def likeness(self, at: int, alone: float) -> Numbers:
        """Return how like one group is to each: 1 where they differ no more than looks within."""
        pairs = (np.diagonal(self.pairs) - np.diagonal(self.day_pairs)) / 2
        own = (np.diagonal(self.cosines) - np.diagonal(self.day_cosines)) / 2
        within = np.maximum((alone + own) / (1 + pairs), alone)
        between = self.cosines[at] / np.maximum(self.pairs[at], 1)
        return np.asarray(between / np.sqrt(within[at] * within))


def group(units: Groups, barred: Flags, least: float, alone: float) -> NDArray[np.int64]:
    """Return the group of each of n units, as numbers.

    The likest are joined while they reach `least`, then units settle, see `joined` and `settled`;
    and once more. Then groups that are two are parted, and what may be of either is left alone.
    What has no looks stays by itself, and two that are barred are never in one group.
    """
    labels = np.arange(len(barred))
    if len(barred) < 2:
        return labels
    for _ in range(ROUNDS):
        places, at = np.unique(labels, return_inverse=True)
        apart = _summed(_summed(barred, at).T, at) > 0
        labels = places[joined(units.of_groups(at), apart, least, alone)[at]]
        labels = settled(units, barred, labels)
    labels = parted(Pairs(units.cosines, units.pairs, units.day_pairs), labels, alone)
    return without_doubtful(units, barred, labels)


def joined(groups: Groups, barred: Flags, least: float, alone: float) -> NDArray[np.int64]:
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


def settled(units: Groups, barred: Flags, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group of each unit, where none is more like another group than like its own.

    How like a unit is to a group is the mean cosine to the others in it. The greatest gain goes
    first, and no unit moves that is alone. Two units trade places where each alone keeps the other
    out, and both together gain.
    """
    places, at = np.unique(labels, return_inverse=True)
    every = np.arange(len(at))
    cosines, pairs, bars = (_summed(over, at) for over in (units.cosines, units.pairs, barred))
    for _ in range(2 * len(at)):  # it could go round in circles
        pairs_left = pairs[every, at] - np.diagonal(units.pairs)
        own = np.where(pairs_left > 0, (cosines[every, at] - np.diagonal(units.cosines))
                       / np.maximum(pairs_left, 1), np.inf)
        mean = np.where((pairs > 0) & (bars == 0), cosines / np.maximum(pairs, 1), NEVER)
        mean[every, at] = NEVER
        gains = mean.max(axis=1) - own
        unit = int(gains.argmax())
        moves = [(unit, int(mean[unit].argmax()))] if gains[unit] > ROUNDING else (
            _trade(units, barred, at, own, (cosines, pairs, bars)))
        if not moves:
            break
        for unit, to in moves:
            for sums, over in ((cosines, units.cosines), (pairs, units.pairs), (bars, barred)):
                sums[:, at[unit]] -= over[:, unit]
                sums[:, to] += over[:, unit]
            at[unit] = to
    return places[at]


def without_doubtful(units: Groups, barred: Flags,
                     labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group of each unit, where one is alone that may as well be of another group.

    It may where its mean cosine to the others of its group is not DOUBT above that to a group that
    was seen on more than KNOWN_DAYS and that nothing bars it from. What is known so well itself
    stays.
    """
    _, at = np.unique(labels, return_inverse=True)
    every = np.arange(len(at))
    cosines, pairs, bars = (_summed(over, at) for over in (units.cosines, units.pairs, barred))
    groups = units.of_groups(at)
    other = np.where(_is_known(groups) & (bars == 0), cosines / np.maximum(pairs, 1), NEVER)
    other[every, at] = NEVER
    left = pairs[every, at] - np.diagonal(units.pairs)
    own = (cosines[every, at] - np.diagonal(units.cosines)) / np.maximum(left, 1)
    is_doubtful = (left > 0) & ~_is_known(units) & (own - other.max(axis=1) < DOUBT)
    labels = labels.copy()
    labels[is_doubtful] = labels.max() + 1 + np.arange(is_doubtful.sum())
    return labels


def _is_known(groups: Groups) -> NDArray[np.bool_]:
    """Return whether each group was seen on more than KNOWN_DAYS, as `Pairs.days` counts."""
    return np.asarray(np.diagonal(groups.pairs) > KNOWN_DAYS * np.diagonal(groups.day_pairs))


def _trade(units: Groups, barred: Flags, at: NDArray[np.int64], own: Numbers,
           sums: tuple[Numbers, Numbers, Numbers]) -> list[tuple[int, int]]:
    """Return the moves of two units that gain most by trading places, none where none gain."""
    cosines, pairs, bars = sums
    one, other = np.nonzero(np.triu(barred, 1))
    can = ((at[one] != at[other]) & (bars[one, at[other]] == 1) & (bars[other, at[one]] == 1)
           & np.isfinite(own[one]) & np.isfinite(own[other]))
    one, other = one[can], other[can]
    left = [pairs[first, at[second]] - units.pairs[first, second]
            for first, second in ((one, other), (other, one))]
    mean = [(cosines[first, at[second]] - units.cosines[first, second]) / np.maximum(count, 1)
            for (first, second), count in zip(((one, other), (other, one)), left, strict=True)]
    gains = np.where((left[0] > 0) & (left[1] > 0),
                     mean[0] + mean[1] - own[one] - own[other], NEVER)
    if not len(gains) or gains.max() <= ROUNDING:
        return []
    best = int(gains.argmax())
    first, second = int(one[best]), int(other[best])
    return [(first, int(at[second])), (second, int(at[first]))]


def _summed(over: NDArray[Any], at: NDArray[np.int64]) -> Numbers:
    """Return sums over the columns that are in each group, numbered from 0, none of it empty."""
    order = np.argsort(at, kind='stable')
    starts = np.searchsorted(at[order], np.arange(at.max() + 1))
    return np.asarray(np.add.reduceat(over[:, order].astype(np.float64), starts, axis=1))
