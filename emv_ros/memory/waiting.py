"""The records that wait to be written, oldest first, with room for what matters most.

Pictures, joint samples and poses may be dropped, each in a lane of its own, so that the oldest of
a lane is at hand; nothing here waits or locks, which is the writer's business.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from emv_ros.records import ImageRecord, JointSample, Pose, Record

# What is dropped first stands first.
DROPPABLE: tuple[type[Record], ...] = (ImageRecord, JointSample, Pose)


class Waiting(NamedTuple):
    """A record with its place in the order of arrival, and its bytes if it is a picture."""

    place: int
    record: Record
    data: bytes | None


class Lanes:
    """The waiting records by what may be dropped, popped in their order of arrival."""

    def __init__(self) -> None:
        self._lanes: tuple[deque[Waiting], ...] = tuple(deque() for _ in (*DROPPABLE, None))
        self.last_place = 0

    def __len__(self) -> int:
        return sum(map(len, self._lanes))

    @property
    def first_place(self) -> int | None:
        """The place of the record that has waited longest."""
        return min((lane[0].place for lane in self._lanes if lane), default=None)

    def add(self, record: Record, data: bytes | None) -> None:
        """Put a record at the end."""
        self.last_place += 1
        self._lanes[_lane(record)].append(Waiting(self.last_place, record, data))

    def take(self, count: int) -> list[Waiting]:
        """Remove and return the first records, `count` of them at most."""
        taken: list[Waiting] = []
        while len(taken) < count:
            lane = min((lane for lane in self._lanes if lane),
                       key=lambda lane: lane[0].place, default=None)
            if lane is None:
                break
            taken.append(lane.popleft())
        return taken

    def drop_for(self, record: Record) -> Record | None:
        """Remove and return what gives way to a record: perhaps itself, None if nothing can."""
        mine = _lane(record)
        for place, lane in enumerate(self._lanes[:-1]):
            if lane:
                return lane.popleft().record
            if place == mine:
                return record
        return None


def _lane(record: Record) -> int:
    return next((place for place, kind in enumerate(DROPPABLE) if isinstance(record, kind)),
                len(DROPPABLE))
