"""What was derived of one stretch, while others went on writing; and how it is written since.

A derivation is true of the moment when its records were read. What came later waits as before, and
so does a record that has changed: it is derived with the next stretch. Only where something was
taken away meanwhile, and where a part of the tree was re-opened, is a derivation worth nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.rows import KIND_OF, record_of
from emv_ros.records import Record, Scene
from emv_ros.timeline import Interval
from emv_ros.tree.differences import Slice
from emv_ros.tree.reopening import times_reopened
from emv_ros.tree.stretch import Member, chunks
from emv_ros.tree.unread import UNREADABLE, Unread


class OvertakenError(Exception):
    """What was read is gone, or was re-opened: it has to be derived anew."""


@dataclass(slots=True)
class Derivation:
    """What was made of the records in `span`, and which of them wait for it, by kind and id.

    `times` is how often the tree had been re-opened, `left` are the spans of nodes elsewhere that
    a record was taken from.
    """

    robot: str
    robot_id: int
    dirty: Interval
    span: Interval
    slices: list[Slice]
    waiting: set[Member]
    times: int
    news: Sequence[Unread] = ()
    records: dict[Member, Record] = field(default_factory=dict)
    left: list[Interval] = field(default_factory=list)

    def know(self, records: Iterable[Record]) -> None:
        """Keep what the records said that wait."""
        for record in records:
            member = (KIND_OF[type(record)], record.id or 0)
            if member in self.waiting:
                self.records[member] = record

    def nodes_of(self, session: Session, part: Slice) -> list[schema.NodeRow]:
        """Return the rows of the nodes that a slice replaces. Raises OvertakenError."""
        if times_reopened(session, self.robot_id) != self.times:
            raise OvertakenError
        found = [row for ids in chunks(part.tops) for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.id.in_(ids)))]
        members = _members(part)
        if len(found) != len(part.tops) or len(_stored(session, members)) != len(members):
            raise OvertakenError
        return found

    def steps(self) -> Iterator[tuple[Slice, bool]]:
        """Yield the slices, at least one, and whether each is the last."""
        slices = self.slices or [Slice()]
        for place, part in enumerate(slices, 1):
            yield part, place == len(slices)

    def taken_by(self, session: Session, part: Slice, is_last: bool) -> set[Member]:
        """Return the records of a slice that wait and are as they were read.

        The last one has also what else waits: raw records, and those that change no node.
        """
        mine = self.waiting if is_last else self.waiting.intersection(_members(part))
        self.waiting = self.waiting - mine
        return self._unchanged(session, mine)

    def _unchanged(self, session: Session, wanted: set[Member]) -> set[Member]:
        """Return those of the records that say what they said; rows that said nothing stay."""
        found = {member for member in wanted if member not in self.records}
        for kind, ids in _by_kind(wanted - found).items():
            table = schema.KINDS[kind]
            for part in chunks(ids):
                query = select(table).where(table.id.in_(part)).execution_options(
                    populate_existing=True)
                try:
                    found.update((kind, row.id) for row in session.scalars(query)
                                 if self._is_same(kind, row))
                except UNREADABLE:
                    continue  # damaged since: the next time it is known as such
        return found

    def _is_same(self, kind: str, row: Any) -> bool:
        known = self.records[kind, row.id]
        if isinstance(known, Scene):
            known = replace(known, objects=(), relations=())
        now = record_of(kind, row, self.robot)
        return bool(now == known) or repr(now) == repr(known)  # what is not a number equals nothing


def _members(part: Slice) -> list[Member]:
    return [member for draft in part.drafts for below in draft.walk() for member in below.members]


def _stored(session: Session, members: Iterable[Member]) -> set[Member]:
    return {(kind, ref_id) for kind, ids in _by_kind(members).items() for part in chunks(ids)
            for ref_id in session.scalars(select(schema.KINDS[kind].id).where(
                schema.KINDS[kind].id.in_(part)))}


def _by_kind(members: Iterable[Member]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for kind, ref_id in members:
        found.setdefault(kind, []).append(ref_id)
    return found
