"""The robot of simulated histories: it acts as that of the made-up life, and logs the truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from emv_ros.evaluation.histories.truth import Placement, Saying, Step, Task, Truth, Words
from emv_ros.evaluation.life.home import EVERY_PLACE
from emv_ros.evaluation.life.robot import AFTER_RUN_S, Robot, Run
from emv_ros.timeline import SECOND_NS, Interval

# Seldom enough that a long history is written within seconds. There are no pictures, joints, poses.
PERIODS_S = {'scene': 12.0, 'report': 20.0}

# The skills after which a thing is somewhere else; others change its state.
MOVING = ('PlaceObject', 'HandOverObject', 'ReceiveObject')


@dataclass
class HistoryRobot(Robot):
    """A robot that logs what it does, says, hears and moves in `truth`."""

    periods_s: dict[str, float] = field(default_factory=lambda: dict(PERIODS_S))
    truth: Truth = field(default_factory=lambda: Truth(UTC))
    _task: Task | None = None
    _depth: int = 0

    @contextmanager
    def working_on(self, task: Task, **parameters: str) -> Iterator[Run]:
        """Be busy with a task, whose span and outcome are logged."""
        task.start_ns, self._task = self.now_ns, task
        self.truth.tasks.append(task)
        with super().doing(task.skill, trigger=task.wish, **parameters) as run:
            yield run
        task.end_ns = self._ended_ns
        task.status, task.reason, self._task = run.status, run.narration, None

    @contextmanager
    def doing(self, skill: str, trigger: str = '', **parameters: Any) -> Iterator[Run]:
        """Run a skill inside the task; what it handled belongs to the task where it succeeded."""
        self._depth += 1
        step = Step(skill, {name: str(value) for name, value in parameters.items()}, self._depth,
                    self.now_ns)
        if self._task is not None:
            self._task.steps.append(step)
        with super().doing(skill, trigger, **parameters) as run:
            yield run
        self._depth -= 1
        step.end_ns, step.status, step.reason = self._ended_ns, run.status, run.narration
        thing = step.parameters.get('object', '')
        if thing and self._task is not None and not step.reason \
                and thing not in self._task.things:
            self._task.things.append(thing)

    def say(self, speaker: str, text: str, topic: str = '', items: tuple[Words, ...] = ()) -> None:
        """Let somebody speak; `topic` and `items` where a question may be asked about it."""
        start_ns = self.now_ns
        super().say(speaker, text)
        self.truth.sayings.append(
            Saying(speaker, text, Interval(start_ns, self.now_ns), topic, items))

    def notice(self, instance: str, event: str, seconds: float = 2.0) -> None:
        """Record what happened to a thing, and log where it is now."""
        super().notice(instance, event, seconds)
        if self._open[-1].skill in MOVING:
            self._placed(instance, True)

    def moved_unseen(self, instance: str, where: str) -> None:
        """Let a person put a thing somewhere while the robot does not look."""
        self.home.things[instance].place = where
        self._placed(instance, False)

    def settle(self) -> None:
        """Let people put somewhere what they hold."""
        for thing in self.home.things.values():
            if thing.place not in (*EVERY_PLACE, thing.home):
                self.moved_unseen(thing.instance, thing.home)

    def _placed(self, instance: str, seen: bool) -> None:
        where = self.home.things[instance].place
        start_ns = self._task.start_ns if self._task is not None else self.now_ns
        self.truth.placements.append(Placement(
            self.now_ns, instance, where, seen, Interval(start_ns, self.now_ns)))

    @property
    def _ended_ns(self) -> int:
        """When the run that was just left had sent its last report."""
        return self.now_ns - round(AFTER_RUN_S * SECOND_NS)
