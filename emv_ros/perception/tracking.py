"""Which detections of a clip are one thing, picture by picture: the association of BoT-SORT.

Sure detections are matched first, faint ones with what is left, then both with tracks that were
out of sight: by the overlap of their boxes with where the tracks should be now (the camera's
motion taken out), or by looks where they are given. Only things of one name are matched. A doubt,
as of two cups that cross, makes a new track: tracks of one thing can be joined later, one track
of two things is never taken apart. Where a source vouches for an instance, the instance decides.

It is written out here since the trackers that come in packages bring torch or another OpenCV.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.box_motion import BoxMotion
from emv_ros.perception.camera_motion import CameraMotion
from emv_ros.perception.detections import Detection, Pixels
from emv_ros.perception.raw_boxes import overlaps

Floats = NDArray[np.float64]

SURE = 0.5  # confidence from which a detection is matched first
MIN_OVERLAP = 0.3  # IoU of a sure detection and its track
MIN_FAINT_OVERLAP = 0.5  # of a faint one
MIN_LOST_OVERLAP = 0.6  # with a track that the picture before did not show
CLEAR_OVERLAP = 0.8  # from which a thing did not move: the pair has no rival
RIVAL = 0.4  # share of its overlap from which another possibility makes a pair doubtful
# After a pause like things may have changed places: those within reach are each other's rivals.
BRIEF_S = 0.25  # a pause in which none do
SPEED = 3.0  # sizes of a box by which a thing is moved in a second
NEAR = 0.5  # of its size, by which a box grows on each side where looks count
OTHER = 2.0  # times the distance of like looks, beyond which boxes that overlap are two things
MEMORY_OF_LOOKS = 0.8  # share of the earlier looks of a track in its new ones
NS_PER_S = 1_000_000_000
_NEVER = 1e6  # the cost of what must not be matched


@dataclass(slots=True)
class _Track:
    number: int
    name: str
    motion: BoxMotion
    seen_s: float
    looks: NDArray[np.float32] | None = None


class Tracker:
    """Gives the detections of one clip of one camera the numbers of their tracks, from 1."""

    def __init__(self, *, lost_s: float = 2.0, looks_distance: float = 0.25) -> None:
        """Begin a clip.

        lost_s: how long a track waits for what is covered.
        looks_distance: cosine distance of looks up to which near boxes may be one thing.
        """
        self._lost_s, self._looks_distance = lost_s, looks_distance
        self._camera = CameraMotion()
        self._tracks: list[_Track] = []
        self._instances: dict[str, int] = {}
        self._count = 0
        self._first_ns: int | None = None
        self._now_s = self._before_s = 0.0

    def update(
            self, pixels: Pixels | None, detections: Sequence[Detection],
            features: NDArray[np.float32] | None = None, *,
            stamp_ns: int | None = None) -> list[int]:
        """Return the number of a track for each detection of the next picture.

        No two detections of a picture share one. features: one row of length 1 a detection.
        Without stamps a picture a second is assumed. Raises ValueError on other rows than
        detections.
        """
        looks = _rows_of_looks(features, len(detections))
        boxes = [detection.bbox for detection in detections]
        warp = self._camera.update(pixels, boxes)
        elapsed_s = self._advance(stamp_ns)
        self._tracks = [
            track for track in self._tracks if self._now_s - track.seen_s <= self._lost_s]
        for track in self._tracks:
            track.motion.warp(warp)
            track.motion.predict(elapsed_s)
        numbers = self._vouched(detections)
        matched = self._matched(detections, looks, numbers)
        for index, detection in enumerate(detections):
            if numbers[index]:
                continue
            if (known := matched.get(index)) is None:
                known = _Track(
                    self._next(), detection.name, BoxMotion(detection.bbox), self._now_s)
                self._tracks.append(known)
            else:
                known.motion.correct(detection.bbox)
            known.seen_s = self._now_s
            known.looks = _blended(known.looks, looks[index])
            numbers[index] = known.number
        return numbers

    def _advance(self, stamp_ns: int | None) -> float:
        """Go on to a stamp and return the seconds since the picture before; never back."""
        if self._first_ns is None and stamp_ns is not None:
            self._first_ns = stamp_ns
            return 0.0
        if stamp_ns is None or self._first_ns is None:
            now_s = self._now_s + 1.0
        else:
            now_s = max(self._now_s, (stamp_ns - self._first_ns) / NS_PER_S)
        self._before_s, self._now_s = self._now_s, now_s
        return now_s - self._before_s

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _vouched(self, detections: Sequence[Detection]) -> list[int]:
        """Return the numbers of what has an instance, 0 for all else.

        An instance that a source gives to two things of one picture counts for the first.
        """
        numbers = [0] * len(detections)
        for index, instance in enumerate(detection.instance for detection in detections):
            if not instance:
                continue
            if instance not in self._instances:
                self._instances[instance] = self._next()
            number = self._instances[instance]
            numbers[index] = self._next() if number in numbers else number
        return numbers

    def _matched(
            self, detections: Sequence[Detection], looks: Sequence[NDArray[np.float32] | None],
            numbers: Sequence[int]) -> dict[int, _Track]:
        """Return the track of each detection that goes on with one, by the index of the former."""
        free = [index for index, number in enumerate(numbers) if not number]
        tracks = self._tracks
        if not free or not tracks:
            return {}
        boxes = np.array([detections[index].bbox for index in free], np.float64)
        places = np.array([track.motion.box for track in tracks], np.float64)
        is_same = np.array([[detections[index].name == track.name for track in tracks]
                            for index in free])
        is_near = is_same & (overlaps(_grown(boxes), _grown(places)) > 0)
        distances = self._distances([looks[index] for index in free])
        alike = np.where(is_near & (distances <= self._looks_distance), distances, _NEVER)
        is_other = np.isfinite(distances) & (distances > OTHER * self._looks_distance)
        apart = np.where(is_same & ~is_other, 1 - overlaps(boxes, places), _NEVER)
        is_sure = np.array([_is_sure(detections[index]) for index in free])
        is_recent = np.array([track.seen_s >= self._before_s for track in tracks])
        waits_s = np.array([self._now_s - track.seen_s for track in tracks])
        reaches = SPEED * np.maximum(waits_s - BRIEF_S, 0.0)
        could_be = is_same & (overlaps(_grown(boxes), _grown(places, reaches[:, None])) > 0)
        has_moved = (reaches > 0) & (apart > 1 - CLEAR_OVERLAP)
        apart[has_moved & _has_rival(could_be, is_recent)] = _NEVER
        pairs: dict[int, int] = {}
        for limit, rows, columns in (
                (1 - MIN_OVERLAP, is_sure, is_recent),
                (1 - MIN_FAINT_OVERLAP, ~is_sure, is_recent),
                (1 - MIN_LOST_OVERLAP, np.ones_like(is_sure), ~is_recent)):
            pairs |= _assigned(apart, alike, limit, rows, columns, pairs)
        return {free[row]: tracks[column] for row, column in pairs.items()}

    def _distances(self, looks: Sequence[NDArray[np.float32] | None]) -> Floats:
        """Return cosine distances of detections and tracks; infinite where looks are unknown."""
        distances = np.full((len(looks), len(self._tracks)), np.inf)
        for row, mine in enumerate(looks):
            for column, track in enumerate(self._tracks):
                if mine is not None and track.looks is not None:
                    distances[row, column] = 1.0 - float(mine @ track.looks)
        return distances


def _has_rival(could_be: NDArray[np.bool_], is_recent: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where a track may have gone on elsewhere, or a detection be another track.

    Tracks out of sight are no rivals of those that the picture before showed.
    """
    tracks = np.where(is_recent, could_be[:, is_recent].sum(axis=1)[:, None],
                      could_be.sum(axis=1)[:, None])
    return np.asarray((could_be.sum(axis=0) > 1) | (tracks > 1))


def _grown(boxes: Floats, share: float | Floats = NEAR) -> Floats:
    """Return boxes that reach further by a share of their size, on each side."""
    margin = share * (boxes[:, 2:] - boxes[:, :2])
    return np.hstack([boxes[:, :2] - margin, boxes[:, 2:] + margin])


def _assigned(
        apart: Floats, alike: Floats, limit: float, rows: NDArray[np.bool_],
        columns: NDArray[np.bool_], taken: dict[int, int]) -> dict[int, int]:
    """Return the cheapest pairs (row to column) within a limit, of the rows and columns named.

    apart, alike: distances of boxes and of looks. taken: pairs made before, which are out.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = rows.copy(), columns.copy()
    rows[list(taken)] = columns[list(taken.values())] = False
    chosen = np.ix_(rows, columns)
    costs = np.minimum(
        np.where(_is_doubtful(apart[chosen]), _NEVER, apart[chosen]),
        np.where(_is_alone(alike[chosen] < _NEVER), alike[chosen], _NEVER))
    costs[costs > limit] = _NEVER
    pairs = zip(*linear_sum_assignment(costs), strict=True)
    return {int(np.flatnonzero(rows)[row]): int(np.flatnonzero(columns)[column])
            for row, column in pairs if costs[row, column] <= limit}


def _is_doubtful(apart: Floats) -> NDArray[np.bool_]:
    """Return where a pair has a rival, of its row or its column, that overlaps nearly as well."""
    overlap = np.maximum(1 - apart, 0.0)
    rival = np.maximum(_best_other(overlap), _best_other(overlap.T).T)
    return np.asarray((overlap < CLEAR_OVERLAP) & (rival > RIVAL * overlap))


def _is_alone(is_possible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where a pair is possible and nothing else is in its row or its column."""
    rivals = is_possible.sum(axis=0)[None, :] + is_possible.sum(axis=1)[:, None]
    return np.asarray(is_possible & (rivals == 2))


def _best_other(values: Floats) -> Floats:
    """Return for each value the largest of the others in its row; 0 where it has no other."""
    if values.shape[1] < 2:
        return np.zeros_like(values)
    second, first = np.sort(values, axis=1)[:, -2:].T
    is_first = np.arange(values.shape[1]) == values.argmax(axis=1)[:, None]
    return np.asarray(np.where(is_first, second[:, None], first[:, None]))


def _is_sure(detection: Detection) -> bool:
    return detection.confidence is None or detection.confidence >= SURE


def _rows_of_looks(
        features: NDArray[np.float32] | None, count: int) -> list[NDArray[np.float32] | None]:
    """Return one row a detection; None where there is none, or numbers that are none."""
    if features is None:
        return [None] * count
    if features.ndim != 2 or len(features) != count:
        raise ValueError(f'{count} detections, but looks of shape {features.shape}')
    return [row if np.isfinite(row).all() and row.any() else None for row in features]


def _blended(
        before: NDArray[np.float32] | None,
        now: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    if before is None or now is None:
        return before if now is None else now
    blend = MEMORY_OF_LOOKS * before + (1 - MEMORY_OF_LOOKS) * now
    return np.asarray(blend / max(float(np.linalg.norm(blend)), 1e-9), np.float32)
