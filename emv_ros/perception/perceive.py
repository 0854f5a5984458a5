"""From stored pictures to scenes and observations: a pass over what waits, clip by clip.

It works on what the memory holds, so that it never holds up the recording, can be ended at any
time and goes on where it ended, and serves imports as well. The last clip of a camera waits until
it is full, or until the robot recorded something beyond the pause that ends a clip.

Pictures that come late, with a stamp before the mark of their camera, make clips of their own
where no stored clip covers that time; else they are counted and left. Where more pictures wait
than the setting allows and the caller has to catch up, only every n-th is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
import threading
from typing import Any

from sqlalchemy.orm import Session

from emv_ros.errors import StoreError
from emv_ros.memory.clip_writer import ClipParts, Mark, mark_of, set_mark, write_clip
from emv_ros.memory.imports import check_whole
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.thresholds import note_thresholds
from emv_ros.perception.assembling import assemble
from emv_ros.perception.clips import Clip, chosen, cut, stride_for
from emv_ros.perception.depth import DepthReader
from emv_ros.perception.detections import Detector
from emv_ros.perception.looking import ClipLook, Tally
from emv_ros.perception.looks import AppearanceModel
from emv_ros.perception.resuming import resumed
from emv_ros.perception.stored_boxes import cameras_with_boxes, stored_boxes
from emv_ros.perception.waiting import (
    Waiting,
    floor_after,
    is_at_rest,
    is_covered,
    replaced,
    waiting,
)
from emv_ros.settings import Settings

NOTHING_TO_SEE_WITH = ('perception.detector names no detector, and no scene of the robot has '
                       'boxes: pictures are not looked at')

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerceptionReport:
    """What a pass did.

    `pictures` were looked at; `passed_over` were not, to catch up or to keep to the period; `late`
    were left since their time was looked at already; `damaged` could not be read; of `failed` the
    detector told nothing. `waiting` are in clips that are not over. `seconds` are by stage. With
    `is_blind` there was nothing to see with, and nothing was done.
    """

    pictures: int = 0
    passed_over: int = 0
    late: int = 0
    damaged: int = 0
    failed: int = 0
    waiting: int = 0
    clips: int = 0
    scenes: int = 0
    observations: int = 0
    separations: int = 0
    canceled: bool = False
    is_blind: bool = False
    problems: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)


def perceive(store: MemoryStore, settings: Settings, *, robot: str = '',
             detector: Detector | None = None, appearance: AppearanceModel | None = None,
             finish: bool = False, catch_up: bool = False, cancel: threading.Event | None = None,
             progress: Progress | None = None) -> PerceptionReport:
    """Look at the pictures that wait, of one robot or of all, and return what came of it.

    finish: the last clip of each camera is over, too.
    catch_up: of more than `perception.backlog` pictures some are passed over.

    Raises StoreError where the memory cannot be read or written; each clip before that is kept.
    """
    check_whole(store)
    made = _Pass(store, settings, detector, appearance, finish, catch_up,
                 cancel or threading.Event(), progress or (lambda _done, _total: None))
    with store.reading() as session:
        robots = store.robot_ids(session, (robot,) if robot else ())
    if appearance is not None:
        own = appearance.thresholds
        note_thresholds(store, appearance.name, own.match, own.consistent, own.group)
    for robot_id, name in robots.items():
        made.take(robot_id, name)
    return made.report()


def can_see(store: MemoryStore, robot: str = '') -> bool:
    """Whether there is something to see with also without a detector: boxes from the robot."""
    with store.reading() as session:
        robots = store.robot_ids(session, (robot,) if robot else ())
    for robot_id in robots:
        floors = _Floors(store, robot_id, is_seeing=False)
        with store.reading() as session:
            cameras = floors.cameras(session)
        if cameras:
            return True
        floors.keep()
    return False


class _Pass:
    """One pass; see `perceive`."""

    def __init__(self, store: MemoryStore, settings: Settings, detector: Detector | None,
                 appearance: AppearanceModel | None, finish: bool, catch_up: bool,
                 cancel: threading.Event, progress: Progress) -> None:
        self._store = store
        self._settings = settings
        self._detector = detector
        self._appearance = appearance
        self._finish = finish
        self._catch_up = catch_up
        self._cancel = cancel
        self._progress = progress
        self._tally = Tally()
        self._is_blind = True
        self._done = self._total = 0

    def report(self) -> PerceptionReport:
        """Return what was done."""
        counts = self._tally.counts
        return PerceptionReport(
            **{name: counts[name] for name in (
                'pictures', 'passed_over', 'late', 'damaged', 'failed', 'waiting', 'clips',
                'scenes', 'observations', 'separations')},
            canceled=self._cancel.is_set(), is_blind=self._is_blind,
            problems=tuple(self._tally.problems), seconds=dict(self._tally.seconds))

    def take(self, robot_id: int, robot: str) -> None:
        """Look at what waits of a robot."""
        floors = _Floors(self._store, robot_id, is_seeing=self._detector is not None)
        with self._store.reading() as session:
            cameras = floors.cameras(session)
            is_blind = cameras is not None and not cameras
            found, highest = ({}, 0) if is_blind else waiting(session, robot_id, floors.floor)
        if is_blind:
            floors.keep()
            return
        self._is_blind = False
        if cameras is not None:
            found = {stream: each for stream, each in found.items() if stream[0] in cameras}
        if found:
            self._require_pictures()
        self._total += sum(len(each.new) + len(each.late) for each in found.values())
        with self._store.reading() as session:
            over = replaced(session, found)
        new = Counter[str]()
        for (camera, _), each in found.items():
            new[camera] += len(each.new)
        left = {}
        for stream, each in found.items():
            place = _Place(robot_id, robot, *stream)
            may_wait = not self._finish and stream not in over
            left[stream] = self._take_stream(place, each, highest if may_wait else None,
                                             self._stride(new[place.camera]))
        floors.floor = floor_after(left, highest)
        floors.keep()

    def _stride(self, waiting: int) -> int:
        return stride_for(waiting, self._settings.perception.backlog) if self._catch_up else 1

    def _take_stream(self, place: _Place, found: Waiting, highest: int | None,
                     stride: int) -> Waiting:
        """Look at what waits of a camera in a session, and return what waits still.

        The last clip may wait where `highest`, the id of the last picture of all, is given.
        """
        settings = self._settings.perception
        mark = found.mark
        late = cut(found.late, settings.clip_s, settings.clip_gap_s)
        new = cut(found.new, settings.clip_s, settings.clip_gap_s)
        left = Waiting()
        if new and highest is not None:
            with self._store.reading() as session:
                if not is_at_rest(session, place.robot_id, new[-1], settings.clip_gap_s, highest):
                    left.new = list(new.pop().pictures)
                    self._tally.counts['waiting'] += len(left.new)
        for number, clip in enumerate(late):
            # With the last of them the mark notes them all.
            after = mark if number < len(late) - 1 else replace(mark, image_id=max(
                mark.image_id, *(picture.id for picture in found.late)))
            if self._cancel.is_set() or not self._take_late(place, clip, mark, after):
                left.late = found.late
                left.new = found.new
                return left
            mark = after
        for number, clip in enumerate(new):
            after = Mark(clip.end_ns - 1, max(
                mark.image_id, *(picture.id for picture in clip.pictures)))
            if self._cancel.is_set() or not self._look(place, clip, mark, after, stride):
                left.new = [picture for each in new[number:] for picture in each.pictures
                            ] + left.new
                break
            mark = after
        return left

    def _take_late(self, place: _Place, clip: Clip, mark: Mark, after: Mark) -> bool:
        """Look at late pictures, or leave them; False where neither was to be."""
        with self._store.reading() as session:
            is_left = is_covered(session, place.robot_id, place.camera, clip)
        if not is_left:
            return self._look(place, clip, mark, after, stride=1)
        self._tally.counts['late'] += len(clip.pictures)
        self._step(clip)
        with self._store.writing() as session:
            stream = place.robot_id, place.camera, place.session_id
            if mark_of(session, *stream) != mark:
                return False
            set_mark(session, *stream, after)
        return True

    def _look(self, place: _Place, clip: Clip, before: Mark, after: Mark, stride: int) -> bool:
        """Look at a clip and store what came of it; False where that was not to be."""
        with self._store.reading() as session:
            stored = stored_boxes(session, place.robot_id, place.camera, clip)
            begin = resumed(session, place.robot_id, place.camera, clip,
                            self._settings.perception.clip_gap_s)
        look = ClipLook(self._store, self._detector, stored,
                        DepthReader(self._store, place.robot, place.camera), self._tally,
                        begin)
        pictures = chosen(clip, self._settings.perception.frame_period_s, stride)
        for picture in pictures:
            if self._cancel.is_set():
                return False
            look.at(picture)
            self._done += 1
            self._progress(self._done, self._total)
        self._done += len(clip.pictures) - len(pictures)
        name = self._detector.name if self._detector else ''
        found = assemble(look, self._settings, self._appearance, place.robot, place.camera, name,
                         self._tally)
        parts = ClipParts(
            robot=place.robot, camera=place.camera, session_id=clip.session_id,
            start_ns=clip.start_ns, end_ns=clip.end_ns,
            image_ids=sorted({glance.picture.id for glance in look.glances}), before=before,
            after=after, scenes=found.scenes, observations=found.observations,
            separations=found.separations,
            vectors_by=self._appearance.name if self._appearance else '')
        self._require_pictures()
        with self._tally.timed('write'):
            made = write_clip(self._store, parts)
        if made is None:
            self._tally.tell('lost', f'a clip of {place.camera} changed while it was looked at, '
                             'or another process looks at it: it is taken up again')
            return False
        self._tally.counts.update(
            clips=1, scenes=len(found.scenes), observations=len(made),
            separations=len(found.separations),
            passed_over=len(clip.pictures) - len(pictures))
        return True

    def _require_pictures(self) -> None:
        """Raise StoreError where the disk is away: each picture would pass as a damaged one."""
        folder = self._store.pictures.folder
        if not folder.is_dir():
            raise StoreError(f'the folder of pictures {folder} is missing; what waits is looked at '
                             'once it is there')

    def _step(self, clip: Clip) -> None:
        self._done += len(clip.pictures)
        self._progress(self._done, self._total)


@dataclass(frozen=True, slots=True)
class _Place:
    robot_id: int
    robot: str
    camera: str
    session_id: int


class _Floors:
    """Up to which ids the pictures and scenes of a robot are known: for speed, not for truth."""

    def __init__(self, store: MemoryStore, robot_id: int, is_seeing: bool) -> None:
        self._store = store
        self._robot_id = robot_id
        self._is_seeing = is_seeing
        self._key = f'perception:{robot_id}'
        self._known = store.state(self._key) or {}
        self._value: dict[str, Any] = dict(self._known)

    @property
    def floor(self) -> int:
        """The id below which no picture waits."""
        return int(self._value.get(self._name, 0))

    @floor.setter
    def floor(self, value: int) -> None:
        self._value[self._name] = max(self.floor, value)

    @property
    def _name(self) -> str:
        # Without a detector only the cameras with boxes are gone through; the others wait for one.
        return 'seen' if self._is_seeing else 'seen_without_detector'

    def cameras(self, session: Session) -> set[str] | None:
        """Return the cameras that the robot gives boxes for; None where all can be seen with."""
        if self._is_seeing:
            return None
        known = set(self._value.get('cameras', ()))
        more, highest = cameras_with_boxes(session, self._robot_id, int(
            self._value.get('scenes', 0)))
        self._value.update(cameras=sorted(known | more), scenes=highest)
        return known | more

    def keep(self) -> None:
        """Store what changed."""
        if self._value != self._known:
            self._store.set_state(self._key, self._value)
