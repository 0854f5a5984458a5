"""What retention dropped of the records that nodes of the tree were made of: a mark stays.

The tree keeps its words when old records go. So that nobody derives it anew from what is left, and
so that whoever reads a node is told, each node keeps one mark for each kind of record that it lost:
a row of `node_member` whose kind is that of the records behind a prefix, and which names the first
of them. Records of the kinds in RAW are members of no node: there the events that were made of them
alone get the mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, exists, func, insert, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.timeline import HOUR_NS

PREFIX = 'dropped_'
RAW = frozenset(('joint_sample', 'pose'))
EVENT, GOAL = 2, 3  # the levels of nodes that are made of records


def mark_of(kind: str) -> str:
    """Return the kind of the mark that stands for records of a kind."""
    return PREFIX + kind


def is_mark(kind: str) -> bool:
    """Whether a member's kind is a mark."""
    return kind.startswith(PREFIX)


def kind_of(mark: str) -> str:
    """Return the kind of record that a mark stands for."""
    return mark.removeprefix(PREFIX)


def lost_by(session: Session, node_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return, of those of the nodes that lost records, the kinds of these."""
    row = schema.NodeMemberRow
    found: dict[int, tuple[str, ...]] = {}
    for node_id, kind in session.execute(
            select(row.node_id, row.kind).where(
                among(row.node_id, sorted(node_ids)), row.kind.startswith(PREFIX, autoescape=True))
            .order_by(row.node_id, row.kind)):
        found[node_id] = (*found.get(node_id, ()), kind_of(kind))
    return found


def marked_within(session: Session, robot_id: int, start_ns: int, end_ns: int) -> set[int]:
    """Return the nodes of a robot that lost records and touch a span, ends included.

    Whoever forgets a time takes their words back as well: no record leads there any more.
    """
    row, node = schema.NodeMemberRow, schema.NodeRow
    return set(session.scalars(
        select(node.id).join(row, row.node_id == node.id).where(
            node.robot_id == robot_id, node.start_ns <= end_ns, node.end_ns >= start_ns,
            row.kind.startswith(PREFIX, autoescape=True)).distinct()))


def marked_below(session: Session, node_ids: Iterable[int]) -> set[int]:
    """Return the nodes below events and goals that lost records: they may repeat their words."""
    row, node = schema.NodeMemberRow, schema.NodeRow
    found: set[int] = set()
    waiting = sorted(node_ids)
    while waiting:
        waiting = list(session.scalars(select(node.id).where(
            among(node.parent_id, waiting), node.level <= GOAL)))
        found |= set(session.scalars(select(row.node_id).where(
            among(row.node_id, waiting), row.kind.startswith(PREFIX, autoescape=True))))
    return found


def unmark(session: Session, node_ids: Iterable[int]) -> None:
    """Take the marks of nodes away, whose words are taken back: they are derived anew."""
    row = schema.NodeMemberRow
    session.execute(delete(row).where(
        among(row.node_id, sorted(node_ids)), row.kind.startswith(PREFIX, autoescape=True)))


def drop_rows(session: Session, robot_id: int, kind: str, stamps: Mapping[int, int]) -> None:
    """Delete records of a robot by {id: stamp_ns}, with what is part of them, and leave marks."""
    ids = list(stamps)
    row = schema.NodeMemberRow
    if kind in RAW:
        first = _first_in_raw_events(session, robot_id, stamps)
    else:
        first = {item.node_id: item.ref_id for item in session.execute(
            select(row.node_id, func.min(row.ref_id).label('ref_id')).where(
                row.kind == kind, among(row.ref_id, ids)).group_by(row.node_id))}
        session.execute(delete(row).where(row.kind == kind, among(row.ref_id, ids)))
    known = set(session.scalars(select(row.node_id).where(
        row.kind == mark_of(kind), among(row.node_id, list(first)))))
    marks = [{'kind': mark_of(kind), 'ref_id': ref_id, 'node_id': node_id}
             for node_id, ref_id in sorted(first.items()) if node_id not in known]
    if marks:
        session.execute(insert(row), marks)
    table: Any = schema.KINDS[kind]
    session.execute(delete(table).where(among(table.id, ids)))


def _first_in_raw_events(session: Session, robot_id: int,
                         stamps: Mapping[int, int]) -> dict[int, int]:
    """Return the first of the records in each event that was made of raw records alone.

    Each record is the first of one event at most: no mark has the number of another.
    """
    node, member = schema.NodeRow, schema.NodeMemberRow
    ordered: Sequence[tuple[int, int]] = sorted((stamp, key) for key, stamp in stamps.items())
    if not ordered:
        return {}
    # Such an event is an hour long at most.
    events = session.execute(select(node.id, node.start_ns, node.end_ns).where(
        node.robot_id == robot_id, node.level == EVENT, node.end_ns >= ordered[0][0],
        node.start_ns >= ordered[0][0] - HOUR_NS, node.start_ns <= ordered[-1][0],
        ~exists().where(member.node_id == node.id,
                        ~member.kind.startswith(PREFIX, autoescape=True)))
        .order_by(node.start_ns, node.id)).all()
    found: dict[int, int] = {}
    taken: set[int] = set()
    for node_id, start_ns, end_ns in events:
        key = next((key for stamp, key in ordered
                    if start_ns <= stamp <= end_ns and key not in taken), None)
        if key is not None:
            found[node_id] = key
            taken.add(key)
    return found
