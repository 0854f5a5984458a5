"""One clip, picture by picture: what is in each, which box is whose, how things stand.

What fails in one picture costs that picture alone: it is counted, and its problem told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
import math
import time

import numpy as np

from emv_ros.errors import EmvError, PerceptionError
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.clips import Picture
from emv_ros.perception.crops import Album
from emv_ros.perception.depth import DepthReader
from emv_ros.perception.detections import Detection, Detector, Pixels, area, one_line
from emv_ros.perception.exposure import Light
from emv_ros.perception.relations import Thing
from emv_ros.perception.resuming import Resumed
from emv_ros.perception.stored_boxes import StoredBoxes
from emv_ros.perception.tracking import Tracker

MOST_PROBLEMS = 20
# The time that relations take grows with the cube of the things: these take a fifth of a second.
MOST_RELATED = 60


@dataclass(slots=True)
class Tally:
    """What was counted while clips were looked at; `seconds` are by stage."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def tell(self, kind: str, problem: str) -> None:
        """Count what went wrong, and keep its words where they are new and not too many."""
        self.counts[kind] += 1
        if problem not in self.problems and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time that a stage takes."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = (
                self.seconds.get(stage, 0.0) + time.perf_counter() - began)


@dataclass(frozen=True, slots=True)
class Glance:
    """What was found in one picture of `size` (width, height).

    Of each detection the track or instance that it belongs to, and its distance, m, where known.
    """

    picture: Picture
    size: tuple[int, int]
    detections: Sequence[Detection]
    tracks: Sequence[Hashable]
    depths_m: Sequence[float | None]
    stored: StoredBoxes | None = None


class ClipLook:
    """Looks at the pictures of one clip in order of time."""

    def __init__(self, store: MemoryStore, detector: Detector | None,
                 stored: Mapping[int, StoredBoxes], depth: DepthReader, tally: Tally,
                 begin: Resumed | None = None) -> None:
        """Get ready. `begin` is with what the clip begins."""
        self.album = Album()
        self.glances: list[Glance] = []
        self.stamps: list[int] = []
        self._store = store
        self._detector = detector
        self._stored = stored
        self._depth = depth
        self._tally = tally
        self._tracker = Tracker()
        begin = begin or Resumed()
        self.before = begin.before
        self._relations = begin.relations

    def at(self, picture: Picture) -> None:
        """Look at a picture; what is wrong with it is told in the tally."""
        stored = self._stored.get(picture.stamp_ns)
        if stored is None and self._detector is None:
            self._tally.counts['passed_over'] += 1
            return
        pixels = self._pixels(picture)
        if pixels is None:
            return
        size = pixels.shape[1], pixels.shape[0]
        found = stored.in_picture(size) if stored is not None else self._detect(picture, pixels)
        if found is None:
            return
        self._tally.counts['pictures'] += 1
        detections = [sane for item in found if (sane := within(item, size)) is not None]
        if stored is not None and len(detections) != len(found):
            stored = _without_bad(stored, size)
        with self._tally.timed('track'):
            tracks = self._track(picture, pixels, detections)
        with self._tally.timed('crop'):
            light = Light(pixels) if detections else None
            for track, item in zip(tracks, detections, strict=True):
                self.album.consider(track, picture.id, picture.stamp_ns, item.bbox, pixels,
                                    light.gain(item.bbox) if light else 1.0)
        with self._tally.timed('relate'):
            depths_m = self._depths(picture, size, detections)
        self.glances.append(Glance(picture, size, detections, tracks, depths_m, stored))
        self.stamps.append(picture.stamp_ns)

    def _pixels(self, picture: Picture) -> Pixels | None:
        with self._tally.timed('read'):
            try:
                return decoded(self._store.pictures.read(picture.sha256, picture.media_type))
            except EmvError as error:
                self._tally.tell('damaged', f'picture i{picture.id}: {error}')
                return None

    def _detect(self, picture: Picture, pixels: Pixels) -> Sequence[Detection] | None:
        assert self._detector is not None
        with self._tally.timed('detect'):
            try:
                return list(self._detector.detect(pixels))
            except Exception as error:  # of a network, whatever it is: it costs this picture
                said = str(error) if isinstance(error, EmvError) else (
                    f'{type(error).__name__}: {error}')
                self._tally.tell('failed', f'the detector {self._detector.name} failed: {said}')
                return None

    def _track(self, picture: Picture, pixels: Pixels,
               detections: Sequence[Detection]) -> list[Hashable]:
        """Return of each detection its instance or, where it has none, its track."""
        free = [item for item in detections if not item.instance]
        try:
            numbers = iter(self._tracker.update(pixels, free, stamp_ns=picture.stamp_ns))
        except Exception as error:  # a bug there must not stop what is seen here
            self._tally.tell('untracked', f'picture i{picture.id} could not be tracked: '
                             f'{type(error).__name__}: {error}')
            numbers = iter(range(-1, -len(free) - 1, -1))
            return [('instance', item.instance) if item.instance
                    else ('alone', picture.id, next(numbers)) for item in detections]
        return [('instance', item.instance) if item.instance else next(numbers)
                for item in detections]

    def _depths(self, picture: Picture, size: tuple[int, int],
                detections: Sequence[Detection]) -> list[float | None]:
        depth = self._depth.at(picture.stamp_ns, size) if len(detections) > 1 else None
        return [depth.distance(item.bbox, size) if depth else None for item in detections]

    def related(self, glance: Glance, things: Sequence[tuple[Hashable, Detection, float | None]],
                ) -> list[tuple[Hashable, str, Hashable]]:
        """Return how the things of a scene stand: each a key, its box, its distance in m.

        Of many the MOST_RELATED largest are related. The scenes of a clip are asked for once, in
        order of time.
        """
        if len(things) > MOST_RELATED:
            largest = sorted(things, key=lambda thing: -area(thing[1].bbox))[:MOST_RELATED]
            taken = set(map(id, largest))
            things = [thing for thing in things if id(thing) in taken]
        found = self._relations.update(
            glance.picture.stamp_ns, glance.size,
            [Thing(key=key, name=item.name, bbox=item.bbox, is_person=item.is_person,
                   depth_m=depth_m) for key, item, depth_m in things])
        return [(things[first][0], predicate, things[second][0])
                for first, predicate, second in found]


def decoded(data: bytes) -> Pixels:
    """Return a stored picture as BGR, whatever it is of. Raises PerceptionError."""
    import cv2

    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise PerceptionError(f'its {len(data)} bytes do not decode: {error}') from error
    if pixels is None:
        raise PerceptionError(f'its {len(data)} bytes do not decode')
    return np.asarray(pixels, np.uint8)


def within(detection: Detection, size: tuple[int, int]) -> Detection | None:
    """Return a detection with its box cut to a picture of `size`, as a memory can hold it.

    None where nothing is left of it: no name, or no box. A confidence is brought to 0..1.
    """
    width, height = size
    name = one_line(detection.name)
    try:
        x1, y1, x2, y2 = map(float, detection.bbox)
        sure = None if detection.confidence is None else float(detection.confidence)
    except (TypeError, ValueError):
        return None
    if not name or not all(map(math.isfinite, (x1, y1, x2, y2))):
        return None
    box = (round(max(0.0, x1), 1), round(max(0.0, y1), 1),
           round(min(float(width), x2), 1), round(min(float(height), y2), 1))
    if box[2] - box[0] < 1 or box[3] - box[1] < 1:
        return None
    sure = None if sure is None or math.isnan(sure) else min(1.0, max(0.0, sure))
    return replace(detection, bbox=box, name=name, confidence=sure,
                   state=one_line(detection.state))


def _without_bad(stored: StoredBoxes, size: tuple[int, int]) -> StoredBoxes:
    kept = [(ref_id, item) for ref_id, item in zip(
        stored.objects, stored.in_picture(size), strict=True) if within(item, size) is not None]
    return StoredBoxes(stored.scene_id, tuple(ref_id for ref_id, _ in kept),
                       tuple(item for _, item in kept), {})


