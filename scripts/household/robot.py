"""The simulated robot: while its skills change the household, its sensors and reports are recorded.

Time runs only in `wait`: sensors and reports that fall due on the way are made from the state of
that instant. All randomness (small shifts of stamps, noise, confidences) comes from one seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
import itertools
import math
import random
from typing import Any

from emv_ros.evaluation.life.motion import JOINTS, POSTURES, Move, efforts, quaternion, resting
from household.camera import look, pan_of
from household.messages import SECOND_NS, Recording
from household.scenes import objects_of, relations_of
from household.world import DOCK, PLACES, World

# How far a posture lifts the gripper in the view, px.
LIFTS = {'home': 0, 'high': 18, 'middle': 8, 'low': -10, 'carry': 4, 'offer': 14, 'pour': 12}
# Pictures come a little slower than the default of ingest.keyframe_period_s, which keeps them all.
PERIODS_S = {'picture': 1.05, 'joints': 1.0, 'odometry': 2.0, 'skill': 0.5, 'goal': 4.0}


@dataclass
class Run:
    """One execution of a skill or goal."""

    skill: str
    run: str
    goals: tuple[str, ...]
    parent: str
    parameters: Mapping[str, Any]
    trigger: str
    begin_ns: int
    status: str = 'preparing'
    narration: str = ''
    end_ns: int = 0

    def fail(self, why: str) -> None:
        """Let the run end without success."""
        self.status, self.narration = 'failed', why


@dataclass(frozen=True)
class Sight:
    """A picture, and what there really is to see in it: objects, relations (household.scenes)."""

    stamp_ns: int
    jpeg: bytes
    objects: list[dict[str, Any]]
    relations: list[tuple[str, str, str]]


@dataclass
class Robot:
    """The robot in its household.

    What it records is in `recording`; `runs`, `facts` and `sights` are what was really the case.
    """

    world: World
    recording: Recording
    seed: int
    now_ns: int = 0
    room: str = 'hall'
    place: str = ''
    runs: list[Run] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    sights: list[Sight] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._numbers = itertools.count(1)
        self._open: list[Run] = []
        self._due = dict.fromkeys(PERIODS_S, 0)
        self._arm = resting(POSTURES['home'])
        self._base = resting(DOCK)
        self._pan = resting(pan_of(''))
        self._lift = resting((LIFTS['home'],))

    def wake(self, stamp_ns: int) -> None:
        """Let the time until the next episode pass unseen."""
        if stamp_ns < self.now_ns:
            raise ValueError(f'the story goes back in time: {stamp_ns} after {self.now_ns}')
        self.now_ns = stamp_ns
        for number, stream in enumerate(PERIODS_S):
            self._due[stream] = stamp_ns + number * SECOND_NS // 20

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        until_ns = self.now_ns + round(seconds * SECOND_NS)
        while True:
            due_ns, stream = min((due_ns, stream) for stream, due_ns in self._due.items())
            if due_ns >= until_ns:
                break
            self.now_ns = max(self.now_ns, due_ns)
            getattr(self, f'_emit_{stream}')()
            period_ns = round(PERIODS_S[stream] * SECOND_NS)
            shift_ns = self._random.randint(-period_ns // 50, period_ns // 50)
            self._due[stream] = due_ns + period_ns + shift_ns
        self.now_ns = until_ns

    def say(self, speaker: str, text: str, by_recogniser: bool = False) -> None:
        """Let somebody speak; a sentence takes as long as its words."""
        self.wait(0.2)
        begin_ns, seconds = self.now_ns, 0.5 + 0.33 * len(text.split())
        self.wait(seconds)
        if by_recogniser:
            self.recording.add_recognised(self.now_ns, text)
        else:
            confidence = 1.0 if speaker == 'robot' else round(self._random.uniform(0.83, 0.98), 2)
            self.recording.add_utterance(begin_ns, self.now_ns, speaker, text, confidence)
        self.wait(0.8)

    @contextmanager
    def doing(self, skill: str, trigger: str = '', **parameters: Any) -> Iterator[Run]:
        """Run a skill, or a goal with skills inside; it succeeds unless `fail` is called on it."""
        around = self._open[-1] if self._open else None
        run = Run(skill, f'run_{next(self._numbers):04d}', tuple(one.skill for one in self._open),
                  around.run if around else '', parameters, trigger, self.now_ns)
        self.runs.append(run)
        self._open.append(run)
        self._report(run)
        self.wait(0.4)
        run.status = 'running'
        self._report(run)
        yield run
        if run.status == 'running':
            run.status = 'succeeded'
        run.end_ns = self.now_ns
        self._report(run)
        self._open.pop()
        self.wait(0.3)

    def note(self, kind: str, **details: Any) -> None:
        """Keep for the truth what just became the case."""
        self.facts.append({'kind': kind, 'at_ns': self.now_ns, **details})

    def move_arm(self, posture: str, seconds: float) -> None:
        """Move the arm, which takes that long."""
        now, _ = self._arm.at(self.now_ns)
        end_ns = self.now_ns + round(seconds * SECOND_NS)
        self._arm = Move(now, POSTURES[posture], self.now_ns, end_ns)
        lift, _ = self._lift.at(self.now_ns)
        self._lift = Move(lift, (LIFTS[posture],), self.now_ns, end_ns)
        self.wait(seconds)

    def drive(self, place: str) -> None:
        """Drive to a place of the household, or to 'dock'."""
        goal = PLACES[place].stand if place in PLACES else DOCK
        now, _ = self._base.at(self.now_ns)
        seconds = max(2.0, math.dist(now[:2], goal[:2]) / 0.6)
        end_ns = self.now_ns + round(seconds * SECOND_NS)
        self._base = Move(now, goal, self.now_ns, end_ns)
        room, at_place = (PLACES[place].room, place) if place in PLACES else ('hall', '')
        if room == self.room:
            pan, _ = self._pan.at(self.now_ns)
            self._pan = Move(pan, pan_of(at_place), self.now_ns, end_ns)
        self.wait(seconds / 2)
        if room != self.room:
            self._pan = resting(pan_of(at_place))
        self.room, self.place = room, at_place
        self.wait(seconds / 2)

    def _report(self, run: Run) -> None:
        self.recording.add_skill(
            self.now_ns, skill=run.skill, status=run.status, goals=run.goals,
            parameters=run.parameters, trigger=run.trigger, narration=run.narration, run=run.run,
            parent=run.parent)

    def _emit_skill(self) -> None:
        if self._open and self._open[-1].status == 'running':
            self._report(self._open[-1])

    def _emit_goal(self) -> None:
        for run in self._open[:-1]:
            self._report(run)

    def _emit_joints(self) -> None:
        position, velocity = self._arm.at(self.now_ns)
        has_load = self.world.held_by('robot') is not None
        noise = [self._random.gauss(0.0, 0.0004) for _ in JOINTS]
        shaken = tuple(angle + shift for angle, shift in zip(position, noise, strict=True))
        self.recording.add_joints(
            self.now_ns, JOINTS, shaken, velocity, efforts(position, has_load))

    def _emit_odometry(self) -> None:
        (x, y, yaw), (vx, vy, _) = self._base.at(self.now_ns)
        self.recording.add_odometry(
            self.now_ns, (round(x, 4), round(y, 4), 0.0), quaternion(round(yaw, 4)),
            round(math.hypot(vx, vy), 4))

    def _emit_picture(self) -> None:
        (pan_x, pan_y), _ = self._pan.at(self.now_ns)
        (lift,), _ = self._lift.at(self.now_ns)
        view = look(self.world, self.room, (round(pan_x), round(pan_y)), round(lift))
        # No day of this story is clouded: light comes and goes with the sun, highest at 11:30 UTC.
        hours = self.now_ns / SECOND_NS / 3600 % 24
        daylight = max(0.0, math.cos((hours - 11.5) / 24 * 2 * math.pi)) ** 0.5
        jpeg = view.jpeg(daylight, self._random.getrandbits(32))
        self.recording.add_picture(self.now_ns, jpeg)
        pose, _ = self._base.at(self.now_ns)
        objects = objects_of(self.world, self.room, view.boxes, pose)
        relations = relations_of(self.world, self.room, {item['instance'] for item in objects})
        self.sights.append(Sight(self.now_ns, jpeg, objects, relations))
