"""The robot of the made-up life: while it works, its sensors and reports become records.

Time runs only in `wait`: what falls due on the way is recorded from the state of that instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
import itertools
import math
import random
from typing import Any

from emv_ros.evaluation.life.home import EVERY_PLACE, Home
from emv_ros.evaluation.life.motion import JOINTS, POSTURES, Move, efforts, quaternion, resting
from emv_ros.records import (
    ImageRecord,
    JointSample,
    Observation,
    Pose,
    Record,
    Scene,
    SceneObject,
    SceneRelation,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.timeline import SECOND_NS

CAMERA, MAP = 'head', 'map'
DOCK = (0.0, -1.6, 1.57)
SPEED = 0.5  # m/s
AFTER_RUN_S = 0.3  # between the last report of a run and what comes next
# How often each stream is recorded while the robot is awake, s.
PERIODS_S = {'picture': 2.0, 'joints': 0.5, 'pose': 1.0, 'scene': 8.0, 'report': 4.0}


@dataclass(slots=True)
class Run:
    """One execution of a skill or goal."""

    skill: str
    source_id: str
    goals: tuple[str, ...]
    parent: str
    parameters: Mapping[str, Any]
    trigger: str
    status: Status = Status.PREPARING
    narration: str = ''

    def fail(self, why: str) -> None:
        """Let the run end without success."""
        self.status, self.narration = Status.FAILED, why


@dataclass(slots=True)
class Robot:
    """A robot at home; `pictures` are the stored pictures of each place, taken anew and anew."""

    home: Home
    chance: random.Random
    pictures: Mapping[str, ImageRecord]
    now_ns: int
    name: str = 'run'
    place: str = ''
    # s between two records of each stream; one that is left out is not recorded at all
    periods_s: Mapping[str, float] = field(default_factory=lambda: dict(PERIODS_S))
    records: list[Record] = field(default_factory=list)
    _open: list[Run] = field(default_factory=list)
    _due: dict[str, int] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _arm: Move = field(default_factory=lambda: resting(POSTURES['home']))
    _base: Move = field(default_factory=lambda: resting(DOCK))

    def wake(self, stamp_ns: int) -> None:
        """Let the time until then pass unseen."""
        self.now_ns = max(self.now_ns, stamp_ns)
        for number, stream in enumerate(self.periods_s):
            self._due[stream] = self.now_ns + number * SECOND_NS // 20

    def wait(self, seconds: float) -> None:
        """Let time pass; record what falls due."""
        until_ns = self.now_ns + round(seconds * SECOND_NS)
        while True:
            due_ns, stream = min((due_ns, stream) for stream, due_ns in self._due.items())
            if due_ns >= until_ns:
                break
            self.now_ns = max(self.now_ns, due_ns)
            self._record(stream)
            self._due[stream] = due_ns + round(self.periods_s[stream] * SECOND_NS)
        self.now_ns = until_ns

    # What it does

    def say(self, speaker: str, text: str) -> None:
        """Let somebody speak, who takes as long as the words do."""
        begin_ns = self.now_ns
        self.wait(0.5 + 0.33 * len(text.split()))
        is_own = speaker == 'robot'
        self.records.append(Utterance(
            stamp_ns=begin_ns, end_ns=self.now_ns, speaker=speaker, text=text, is_own=is_own,
            confidence=1.0 if is_own else round(self.chance.uniform(0.83, 0.98), 2)))
        self.wait(0.8)

    @contextmanager
    def doing(self, skill: str, trigger: str = '', **parameters: Any) -> Iterator[Run]:
        """Run a skill, or a goal with skills inside; it succeeds unless `fail` is called."""
        around = self._open[-1] if self._open else None
        run = Run(skill, f'{self.name}_{next(self._numbers):03d}',
                  tuple(one.skill for one in self._open), around.source_id if around else '',
                  parameters, trigger)
        self._open.append(run)
        self._report(run)
        self.wait(0.4)
        run.status = Status.RUNNING
        self._report(run)
        yield run
        if run.status is Status.RUNNING:
            run.status = Status.SUCCEEDED
        self._report(run)
        self._open.pop()
        self.wait(AFTER_RUN_S)

    def move_arm(self, posture: str, seconds: float) -> None:
        """Move the arm, which takes that long."""
        now, _ = self._arm.at(self.now_ns)
        self._arm = Move(now, POSTURES[posture], self.now_ns,
                         self.now_ns + round(seconds * SECOND_NS))
        self.wait(seconds)

    def drive(self, place: str) -> None:
        """Drive to a place."""
        now, _ = self._base.at(self.now_ns)
        goal = EVERY_PLACE[place].stand
        seconds = max(2.0, math.dist(now[:2], goal[:2]) / SPEED)
        self._base = Move(now, goal, self.now_ns, self.now_ns + round(seconds * SECOND_NS))
        self.wait(seconds / 2)
        self.place = place
        self.wait(seconds / 2)

    def notice(self, instance: str, event: str, seconds: float = 2.0) -> None:
        """Record what happened to a thing during the last seconds."""
        thing = self.home.things[instance]
        self.records.append(Observation(
            stamp_ns=self.now_ns - round(seconds * SECOND_NS), end_ns=self.now_ns,
            name=thing.name, instance=instance, event=event, location=self.place))

    # What is recorded of it

    def _report(self, run: Run) -> None:
        self.records.append(SkillReport(
            stamp_ns=self.now_ns, skill=run.skill, status=run.status, goal_stack=run.goals,
            parameters=run.parameters, trigger=run.trigger, narration=run.narration,
            source_id=run.source_id, parent_source_id=run.parent))

    def _record(self, stream: str) -> None:
        if stream == 'report':
            for run in self._open:
                if run.status is Status.RUNNING:
                    self._report(run)
        else:
            self.records.append({
                'picture': self._picture, 'joints': self._joints, 'pose': self._pose,
                'scene': self._scene}[stream]())

    def _picture(self) -> Record:
        seen = self.pictures[self.place or 'front_door']
        return ImageRecord(
            stamp_ns=self.now_ns, camera=CAMERA, sha256=seen.sha256, media_type=seen.media_type,
            width=seen.width, height=seen.height, encoding=seen.encoding,
            size_bytes=seen.size_bytes)

    def _joints(self) -> Record:
        position, velocity = self._arm.at(self.now_ns)
        noise = self.chance.gauss(0.0, 0.0004)
        return JointSample(
            stamp_ns=self.now_ns, names=JOINTS, position=_rounded(position, noise),
            velocity=_rounded(velocity),
            effort=_rounded(efforts(position, self.home.held() is not None)))

    def _pose(self) -> Record:
        (x, y, yaw), _ = self._base.at(self.now_ns)
        return Pose(stamp_ns=self.now_ns, frame=MAP, position=(round(x, 3), round(y, 3), 0.0),
                    orientation=quaternion(round(yaw, 3)))

    def _scene(self) -> Record:
        place = EVERY_PLACE[self.place or 'front_door']
        x, y, _ = place.stand
        seen = [SceneObject(name=thing.name, instance=thing.instance, state=thing.state,
                            position=(round(x + 0.7, 2), round(y + 0.1 * number, 2), 0.9),
                            confidence=round(self.chance.uniform(0.8, 0.98), 2))
                for number, thing in enumerate(self.home.in_view(place.name))]
        links = [_related(thing.instance, place.predicate, place.name)
                 if thing.place == place.name else _related('gripper', 'holds', thing.instance)
                 for thing in self.home.in_view(place.name)]
        seen.append(SceneObject(name=place.name, instance=place.name))
        for person in self.home.people_in(place.room):
            seen.append(SceneObject(name='person', instance=person, state='standing'))
            links.append(_related(person, 'next_to', place.name))
        return Scene(stamp_ns=self.now_ns, camera=CAMERA, objects=tuple(seen),
                     relations=tuple(links))


def _related(subject: str, predicate: str, other: str) -> SceneRelation:
    return SceneRelation(subject=subject, predicate=predicate, object=other)


def _rounded(values: Sequence[float], shift: float = 0.0) -> tuple[float, ...]:
    return tuple(round(value + shift, 4) for value in values)
