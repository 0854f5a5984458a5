"""What really happened in a simulated history, as the simulator logged it while it acted.

Nothing here is read back from records or from a memory: a question's right answer must not depend
on what is being measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo

from emv_ros.records import Status
from emv_ros.timeline import Interval, to_datetime

# Words that may stand for one thing that an answer has to name.
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Detail:
    """Something about a task that can be asked: `asks` hold '{when}' where the task is told.

    `items` are what an answer has to name, in order where `is_ordered`.
    """

    asks: tuple[str, ...]
    text: str
    items: tuple[Words, ...]
    is_ordered: bool = False


@dataclass(slots=True)
class Step:
    """One run of a skill inside a task; `depth` 1 is right below the task."""

    skill: str
    parameters: dict[str, str]
    depth: int
    start_ns: int
    end_ns: int = 0
    status: Status = Status.RUNNING
    reason: str = ''

    @property
    def span(self) -> Interval:
        """When it ran."""
        return Interval(self.start_ns, self.end_ns)


@dataclass(slots=True)
class Task:
    """One thing that the robot was busy with: a goal that stands in no other.

    `do` and `did` say it with its particulars ('bring Clara a coffee'), `general_do` and
    `general_did` without ('bring somebody a hot drink'). `names` may stand for it in an answer.
    `things` are the instances that it handled. `person` asked for it, in the words `wish`; '' where
    nobody did.
    """

    kind: str
    skill: str
    do: str
    did: str
    general_do: str
    general_did: str
    names: Words
    person: str
    wish: str
    start_ns: int
    end_ns: int = 0
    status: Status = Status.RUNNING
    reason: str = ''
    steps: list[Step] = field(default_factory=list)
    things: list[str] = field(default_factory=list)
    details: list[Detail] = field(default_factory=list)

    @property
    def span(self) -> Interval:
        """When it ran."""
        return Interval(self.start_ns, self.end_ns)

    @property
    def failed(self) -> bool:
        """Whether it ended without success."""
        return self.status is not Status.SUCCEEDED


@dataclass(frozen=True, slots=True)
class Saying:
    """Words that were spoken; `topic` and `items` where they told something that can be asked."""

    speaker: str
    text: str
    span: Interval
    topic: str = ''
    items: tuple[Words, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """From `stamp_ns` on a thing was at `where`; `seen` False: people moved it unseen."""

    stamp_ns: int
    instance: str
    where: str
    seen: bool
    span: Interval


@dataclass(slots=True)
class Truth:
    """The log of a history, each list in order of time; `days` are all its days, also empty ones.

    `names` gives the name of each instance.
    """

    zone: tzinfo
    days: list[date] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    sayings: list[Saying] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def day_of(self, task: Task) -> date:
        """Return the local day on which a task began."""
        return to_datetime(task.start_ns, self.zone).date()

    def on(self, first: date, last: date | None = None) -> list[Task]:
        """Return the tasks of a day, or of the days from `first` to `last`."""
        return [task for task in self.tasks if first <= self.day_of(task) <= (last or first)]

    def request(self, task: Task) -> tuple[Interval, ...]:
        """Return when somebody asked for a task; nothing where nobody did."""
        said = [one.span for one in self.sayings if one.text == task.wish
                and one.speaker == task.person and one.span.end_ns <= task.start_ns]
        return tuple(said[-1:])

    def instances(self, name: str) -> list[str]:
        """Return the instances of a name."""
        return [instance for instance, own in self.names.items() if own == name]

    def latest(self, instance: str, stamp_ns: int) -> Placement | None:
        """Return where a thing came last before a time."""
        return next((one for one in reversed(self.placements)
                     if one.instance == instance and one.stamp_ns <= stamp_ns), None)


def grouped(tasks: Sequence[Task], by: str) -> Iterator[tuple[str, list[Task]]]:
    """Yield each value of a field of the tasks with those that have it, in order of time."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(str(getattr(task, by)), []).append(task)
    yield from groups.items()
