"""Tracks that the tracker split become one again, by what they look like.

The most similar pair is joined first, and what was joined is compared by its mean. Two tracks that
one picture shows at two places are two things, whatever they look like. Where the source vouches
for an identity, that alone counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.detections import Detection
from emv_ros.perception.looks import Vectors

# Tracks of a clip that are compared: the longest. A picture with noise makes thousands.
MOST = 1500
# A thing that is missed in one picture between two that show it was visible all the while.
MISSED = 1

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

        Stretches count from their first picture to their last; what lies between stretches, a pause
        of more than MISSED pictures, does not.
        """
        places = sorted(self.seen)
        return sum(stamps[after] - stamps[before]
                   for before, after in zip(places, places[1:], strict=False)
                   if after - before <= MISSED + 1)


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
    groups: list[Track | None] = [
        Track(list(track.keys), dict(track.seen), track.vectors) for track in tracks]
    means = np.stack([mean_of(track.vectors) for track in tracks])
    likeness = means @ means.T
    np.fill_diagonal(likeness, -np.inf)
    for first in range(len(tracks)):
        for second in range(first + 1, len(tracks)):
            if likeness[first, second] >= threshold and not _may_be_one(
                    tracks[first], tracks[second]):
                likeness[first, second] = likeness[second, first] = -np.inf
    while True:
        first, second = divmod(int(np.argmax(likeness)), len(tracks))
        if likeness[first, second] < threshold:
            return [group for group in groups if group is not None]
        one, other = groups[first], groups[second]
        assert one is not None and other is not None
        groups[first], groups[second] = _union(one, other), None
        likeness[second, :] = likeness[:, second] = -np.inf
        _compare(first, groups, means, likeness)


def _compare(place: int, groups: Sequence[Track | None], means: NDArray[np.float32],
             likeness: NDArray[np.float32]) -> None:
    """Compare a group that grew with all others."""
    group = groups[place]
    assert group is not None
    means[place] = mean_of(group.vectors)
    near = means @ means[place]
    for other, known in enumerate(groups):
        is_open = other != place and known is not None and _may_be_one(group, known)
        likeness[place, other] = likeness[other, place] = near[other] if is_open else -np.inf


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
