"""A history tree that lost rows made whole again: what is left keeps its place and its text.

For a memory whose file was damaged; consolidation itself leaves a whole tree at every moment. Nodes
whose parent is gone are put under their day, groups and periods that hang in the air are taken
apart, and records without a node wait for the next consolidation, which derives them anew. Texts
above what changed are made anew by it as well.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session, aliased

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.timeline import Interval, parse_zone
from emv_ros.tree.levels import DAY, EPISODE, EVENT, GOAL
from emv_ros.tree.reopening import reopen_spans
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.stretch import EVENT_KINDS


def mend_trees(store: MemoryStore, settings: TreeSettings) -> list[str]:
    """Make the tree of each robot whole; return what was mended, in words."""
    told = []
    for robot in store.robots():
        told += _mend(store, robot, parse_zone(store.zone_of([robot])), settings)
    return told


def _mend(store: MemoryStore, robot: str, zone: tzinfo, settings: TreeSettings) -> list[str]:
    told = []
    with store.node_writer() as writer:
        session, robot_id = writer.session, store.robot_id(writer.session, robot)
        waiting = _free(session, robot_id)
        if waiting:
            told.append(f'{waiting:,} records of {robot} had no node and wait for consolidation')
        skeleton = Skeleton(writer, robot, zone, settings)
        loose = _take_apart(session, robot_id, skeleton)
        if loose:
            told.append(f'{len(loose):,} events and goals of {robot} had lost their place and have '
                        'one again')
        stale = _untrue(session, robot_id)
        if stale:
            told.append(f'{len(stale):,} nodes of {robot} did not fit their children')
        skeleton.attach(loose)
        for node_id in stale:
            skeleton.retell(node_id)
        skeleton.refresh()
    return told


def _free(session: Session, robot_id: int) -> int:
    """Have records without a node wait, and events without records derived anew."""
    member, node, count = schema.NodeMemberRow, schema.NodeRow, 0
    for kind in EVENT_KINDS:
        row = schema.KINDS[kind]
        done: Any = session.execute(update(row).where(
            row.robot_id == robot_id, row.pending.is_(False),
            row.id.not_in(select(member.ref_id).where(member.kind == kind))).values(pending=True))
        count += done.rowcount
    empty = session.execute(select(node.start_ns, node.end_ns).where(
        node.robot_id == robot_id, node.level == EVENT,
        node.id.not_in(select(member.node_id)), node.summary.not_like('recorded %'))).all()
    if empty:
        reopen_spans(session, robot_id, [Interval(first, last) for first, last in empty])
    return count


def _take_apart(session: Session, robot_id: int, skeleton: Skeleton) -> list[schema.NodeRow]:
    """Remove groups and periods that hang in the air; return events and goals without a parent."""
    node = schema.NodeRow
    tops = list(session.scalars(select(node).where(
        node.robot_id == robot_id, node.parent_id.is_(None))))
    roots = sorted((row for row in tops if row.level >= DAY),
                   key=lambda row: (row.level, row.end_ns - row.start_ns))
    kept = roots[-1] if roots else None
    loose, hanging = [], [row for row in tops if row is not kept]
    while hanging:
        row = hanging.pop()
        if row.level <= GOAL:
            loose.append(row)
            continue
        children = skeleton.children(row.id)
        for child in children:
            child.parent_id = None
        skeleton.remove(row)
        hanging += children
    return loose


def _untrue(session: Session, robot_id: int) -> list[int]:
    """Return groups and periods without children, or with another span or order than theirs."""
    node, child = schema.NodeRow, aliased(schema.NodeRow)
    below = select(
        child.parent_id, func.min(child.start_ns).label('first'), func.max(child.end_ns).label(
            'last'), func.count().label('number'), func.min(child.ordinal).label('low'),
        func.max(child.ordinal).label('high'),
        func.count(child.ordinal.distinct()).label('places')).where(
        child.parent_id.is_not(None)).group_by(child.parent_id).subquery()
    return list(session.scalars(select(node.id).outerjoin(
        below, below.c.parent_id == node.id).where(
        node.robot_id == robot_id, node.level >= EPISODE, or_(
            below.c.number.is_(None), below.c.first != node.start_ns,
            below.c.last != node.end_ns, below.c.low != 0,
            below.c.high != below.c.number - 1, below.c.places != below.c.number,
            (below.c.number == 1) & (node.level != DAY)))))
