"""Groups that fall in two are parted; numbers alone, no data.

Groups join by means, and a mean hides that the looks of two like things keep to themselves. So each
group is cut in two as well as it can be (2-means), and counts as two where the halves differ much
more than the looks within them: by the variance ratio of Calinski and Harabasz (1974), which says
the more, the more looks there are. Looks of one day are much alike, so days are counted. Sides and
lights make the looks of one thing fall in two as well, and over many days that would always show:
so beyond some, more days say no more. And few looks always fall in two: so each half must be known
from several days. Within, one pair of looks is assumed beside those that are there, as where groups
are joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

# The variance ratio above which a group is two.
TWO = 1.55
# Days beyond this many, of both halves together, add nothing to the evidence.
MOST_DAYS = 9
# A group is known that was seen on more days than this; halves are.
KNOWN_DAYS = 3.0
# Cuts along the widest axis from which halves are looked for, and how often each is bettered.
CUTS, STEPS = 16, 10


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sums over the pairs of looks, one of each of two units: n × n, itself on the diagonal."""

    cosines: Numbers
    pairs: Numbers
    day_pairs: Numbers  # of one day

    @property
    def counts(self) -> Numbers:
        """How many looks each unit has."""
        return np.sqrt(np.diagonal(self.pairs))

    def of(self, units: NDArray[Any]) -> Pairs:
        """Return the sums of some units."""
        at = np.ix_(units, units)
        return Pairs(self.cosines[at], self.pairs[at], self.day_pairs[at])

    def days(self) -> float:
        """Return on how many days all looks were seen, as they spread: fewer where most share one.

        That is the inverse of Simpson's index, 1 / sum of the squares of the shares.
        """
        return float(self.pairs.sum() / self.day_pairs.sum())

    def scatter(self) -> float:
        """Return the sum of the squares of how far looks, of length 1, lie from their mean."""
        looks = np.sqrt(self.pairs.sum())
        return float(looks - self.cosines.sum() / looks)


def parted(units: Pairs, labels: NDArray[np.int64], alone: float) -> NDArray[np.int64]:
    """Return the group of each of n units, where none is two; one half keeps the number.

    `alone` is the cosine that is assumed of a pair. Units stay whole. What has no looks stays with
    the half that keeps the number.
    """
    labels = labels.copy()
    todo = sorted(set(labels.tolist()))
    while todo:
        label = todo.pop()
        members = np.flatnonzero((labels == label) & (units.counts > 0))
        second = _halved(units.of(members), alone)
        if second is not None:
            fresh = int(labels.max()) + 1
            labels[members[second]] = fresh
            todo += [label, fresh]
    return labels


def variance_ratio(group: Pairs, second: Flags, alone: float) -> float:
    """Return how much more the halves of a group differ than looks within them.

    Squares are per look and count as many times as there are days.
    """
    halves = group.of(~second), group.of(second)
    days = sum(half.days() for half in halves)
    within = sum(half.scatter() for half in halves)
    share = days / group.counts.sum()
    return float((group.scatter() - within) * share / (within * share + 1 - alone)
                 * (min(days, MOST_DAYS) - 2))


def _halved(group: Pairs, alone: float) -> Flags | None:
    """Return which of a group's n units are in the one half, None where the group is one."""
    best, found = TWO, None
    for second in _halves(group.cosines, group.counts):
        ratio = variance_ratio(group, second, alone)
        if ratio > best and all(group.of(half).days() > KNOWN_DAYS for half in (~second, second)):
            best, found = ratio, second
    return found


def _halves(cosines: Numbers, counts: Numbers) -> Iterator[Flags]:
    """Yield halves that no unit would leave for the other's mean, each once."""
    size = len(counts)
    if size < 2:
        return
    like = cosines / np.outer(counts, counts)
    mean = like @ counts / counts.sum()
    centred = like - mean[:, None] - mean[None, :] + counts @ mean / counts.sum()
    root = np.sqrt(counts)
    _, axes = np.linalg.eigh(centred * np.outer(root, root))
    order = np.argsort(axes[:, -1] / root, kind='stable')
    seen: set[bytes] = set()
    for cut in np.unique(np.linspace(1, size - 1, min(CUTS, size - 1)).astype(int)):
        second = np.zeros(size, bool)
        second[order[cut:]] = True
        second = _settled(like, counts, second)
        key = min(second.tobytes(), (~second).tobytes())
        if key not in seen:
            seen.add(key)
            yield second


def _settled(like: Numbers, counts: Numbers, second: Flags) -> Flags:
    """Return halves after units went to the nearer mean, for some steps."""
    for _ in range(STEPS):
        near = []
        for half in (~second, second):
            share = np.where(half, counts, 0) / counts[half].sum()
            near.append(2 * like @ share - share @ like @ share)
        nearer = near[1] > near[0]
        if (nearer == second).all() or nearer.all() or not nearer.any():
            break
        second = nearer
    return second
