"""Tracks that the tracker split become one again, by what they look like.

The most similar pair is joined first, and what was joined is compared by its mean. Two tracks that
one picture shows at two places are two things, whatever they look like. Where one of them could as
well be another thing that looks alike, looks cannot tell: such tracks are joined only if the thing
stayed where it was. Where the source vouches for an identity, that alone counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.detections import Detection, iou
from emv_ros.perception.looks import Vectors
from emv_ros.timeline import SECOND_NS

# Tracks of a clip that are compared: the longest. A picture with noise makes thousands.
MOST = 1500
# A thing that is missed in one picture between two that show it, or for less than a second, was
# visible all the while.
MISSED = 1
MISSED_NS = SECOND_NS

# Overlap (IoU) of two boxes of what stayed where it was.
STAYED = 0.3

Row = NDArray[np.float32]


@dataclass(slots=True)
class Track:
    """What one track, or several that were joined, saw: a detection by the number of its picture.

    `vectors` are of its candidate crops; it may have none.
    """

    keys: list[Hashable]
    seen: dict[int, Detection] = field(default_factory=dict)
    vectors: Vectors | None = None

    @property
    def instance(self) -> str:
        """The identity that the source vouches for; '' where it does not."""
        return next((item.instance for item in self.seen.values()), '')

    @property
    def name(self) -> str:
        """The name that was given most often and most surely."""
        weights: dict[str, float] = {}
        for item in self.seen.values():
            weights[item.name] = weights.get(item.name, 0.0) + (
                1.0 if item.confidence is None else item.confidence)
        return max(sorted(weights), key=weights.__getitem__)

    @property
    def names(self) -> set[str]:
        """All names that were given."""
        return {item.name for item in self.seen.values()}

    def visible_ns(self, stamps: Sequence[int]) -> int:
        """Return for how long it was seen; `stamps` are those of the pictures looked at.

        Stretches count from their first picture to their last; the pauses between them, of more
        than MISSED pictures and MISSED_NS, do not.
        """
        places = sorted(self.seen)
        return sum(stamps[after] - stamps[before]
                   for before, after in zip(places, places[1:], strict=False)
                   if after - before <= MISSED + 1
                   or stamps[after] - stamps[before] <= MISSED_NS)


def regrouped(tracks: Sequence[Track], threshold: float) -> list[Track]:
    """Return the tracks with those joined that are one thing, in the order of their first picture.

    `threshold` is the cosine of the mean vectors from which two are joined. Only tracks that were
    given a name in common are.
    """
    fixed = [track for track in tracks if track.instance or track.vectors is None]
    free = sorted((track for track in tracks if not track.instance and track.vectors is not None),
                  key=lambda track: -len(track.seen))
    joined = _joined(free[:MOST], threshold)
    return sorted((*fixed, *joined, *free[MOST:]), key=lambda track: (
        min(track.seen), str(track.keys[0])))


def _joined(tracks: Sequence[Track], threshold: float) -> list[Track]:
    if len(tracks) < 2:
        return list(tracks)
    groups = _Groups(tracks, threshold)
    while (pair := groups.nearest()) is not None:
        if groups.is_clear(*pair):
            groups.join(*pair)
        else:
            groups.part(*pair)
    return groups.left()


class _Groups:
    """Tracks under way to groups, with how much each pair that may be one looks alike."""

    def __init__(self, tracks: Sequence[Track], threshold: float) -> None:
        self._threshold = threshold
        self._groups: list[Track | None] = [
            Track(list(track.keys), dict(track.seen), track.vectors) for track in tracks]
        self._means = np.stack([mean_of(track.vectors) for track in tracks])
        self._likeness = self._means @ self._means.T
        np.fill_diagonal(self._likeness, -np.inf)
        for first, second in zip(*np.nonzero(np.triu(self._likeness >= threshold)), strict=True):
            if not _may_be_one(tracks[first], tracks[second]):
                self.part(first, second)

    def left(self) -> list[Track]:
        """Return the groups as they are."""
        return [group for group in self._groups if group is not None]

    def nearest(self) -> tuple[int, int] | None:
        """Return the pair that looks most alike, of those that may be one."""
        first, second = divmod(int(np.argmax(self._likeness)), len(self._groups))
        return (first, second) if self._likeness[first, second] >= self._threshold else None

    def part(self, first: int, second: int) -> None:
        """Note that a pair is not one, as far as it goes now."""
        self._likeness[first, second] = self._likeness[second, first] = -np.inf

    def is_clear(self, first: int, second: int) -> bool:
        """Whether a pair may be joined: nothing else looks alike, or it stayed where it was."""
        one, other = self._at(first), self._at(second)
        return not (self._has_rival(first, second) or self._has_rival(second, first)) or (
            _stayed(one, other))

    def _has_rival(self, first: int, second: int) -> bool:
        """Whether something that is surely not the first could as well be the second."""
        one, other = self._at(first), self._at(second)
        near = self._means @ self._means[second]
        for place in np.nonzero(near >= self._threshold)[0]:
            rival = self._groups[place]
            if rival is None or place in (first, second):
                continue
            if rival.seen.keys() & one.seen.keys() and _may_be_one(rival, other):
                return True
        return False

    def join(self, first: int, second: int) -> None:
        """Make one group of two, and compare it with all others."""
        grown = _union(self._at(first), self._at(second))
        self._groups[first], self._groups[second] = grown, None
        self._likeness[second, :] = self._likeness[:, second] = -np.inf
        self._means[first] = mean_of(grown.vectors)
        near = self._means @ self._means[first]
        for place, known in enumerate(self._groups):
            is_open = place != first and known is not None and _may_be_one(grown, known)
            self._likeness[first, place] = self._likeness[place, first] = (
                near[place] if is_open else -np.inf)

    def _at(self, place: int) -> Track:
        group = self._groups[place]
        assert group is not None
        return group


def _stayed(first: Track, second: Track) -> bool:
    """Whether the boxes of two tracks agree where they come nearest in time."""
    places, others = (np.array(sorted(track.seen)) for track in (first, second))
    after = others[np.searchsorted(others, places).clip(max=len(others) - 1)]
    before = others[(np.searchsorted(others, places) - 1).clip(min=0)]
    nearest = np.where(np.abs(after - places) < np.abs(before - places), after, before)
    place = int(np.argmin(np.abs(nearest - places)))
    return iou(first.seen[int(places[place])].bbox,
               second.seen[int(nearest[place])].bbox) >= STAYED


def _may_be_one(first: Track, second: Track) -> bool:
    return not first.seen.keys() & second.seen.keys() and bool(first.names & second.names)


def _union(first: Track, second: Track) -> Track:
    vectors = [each.vectors for each in (first, second) if each.vectors is not None]
    return Track([*first.keys, *second.keys], {**first.seen, **second.seen},
                 np.concatenate(vectors))


def mean_of(vectors: Vectors | None) -> Row:
    """Return the mean of vectors, of length 1."""
    assert vectors is not None
    mean = vectors.mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)
