"""How far back a stretch has to begin: in a dense stream mostly not by a whole `goal_gap_s`.

A stretch may begin at the start of an event or goal if nothing before it can have to do with what
waits. That is so where all before it has ended, and where no goal before it goes on in what waits,
nor can anything up to there turn out to be part of a run of which only the end was reported. Where
that cannot be shown, the stretch stays as long as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
import json

from sqlalchemy import Text, cast, exists, func, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.parents import SLACK_NS
from emv_ros.timeline import SECOND_NS, Interval
from emv_ros.tree import stretch
from emv_ros.tree.levels import GOAL
from emv_ros.tree.stretch import Top
from emv_ros.tree.unread import UNREADABLE

# Raw records and scenes reach as far as `event_gap_s`; this is for what begins at the same stamp.
MARGIN_NS = SECOND_NS


def shortened(session: Session, robot_id: int, dirty: Interval, span: Interval,
              tops: Sequence[Top], event_gap_ns: int) -> tuple[Interval, Sequence[Top]]:
    """Return the later part of a span and its nodes that suffices to derive what waits in it.

    `tops` are the top-level nodes of the span in order of time. What is shorter than a CHUNK of
    records before what waits is not cut.
    """
    # A node that goes on in what waits may fall apart, from its start on.
    open_ns = min([dirty.start_ns, *(top.start_ns for top in tops
                                     if top.end_ns >= dirty.start_ns)])
    at = _cut(tops, open_ns - max(event_gap_ns, SLACK_NS) - MARGIN_NS)
    if not at or _count(session, robot_id, Interval(span.start_ns, tops[at].start_ns)) \
            < stretch.CHUNK:
        return span, tops
    shorter = Interval(tops[at].start_ns, span.end_ns)
    try:
        is_enough = stretch.with_named(session, robot_id, shorter) == shorter \
            and not _is_any_open(session, robot_id, span.start_ns, dirty.start_ns) \
            and not _reach_back(session, robot_id, dirty, span, shorter, open_ns)
    except UNREADABLE:  # one of the records is damaged, and is named when the stretch is read
        is_enough = False
    return (shorter, tops[at:]) if is_enough else (span, tops)


def _reach_back(session: Session, robot_id: int, dirty: Interval, span: Interval,
                shorter: Interval, open_ns: int) -> bool:
    """Whether runs that wait may take part in what begins before the shorter span, or hold it.

    What begins from `open_ns` on may take part in it, too: its place is not certain.
    """
    row = schema.SkillEventRow
    goals: set[str] = set()
    ended: set[str] = set()
    sources: set[str] = set()
    for skill, stack, source_id, transitions in session.execute(
            select(row.skill, row.goal_stack, row.source_id, row.transitions).where(
                row.robot_id == robot_id, row.pending, row.stamp_ns >= span.start_ns,
                row.stamp_ns <= span.end_ns)):
        goals.update(stack)
        sources.add(source_id)
        if stretch.tells_only_an_end(transitions):
            ended.add(skill)
    for said, parent, is_open in session.execute(
            select(cast(row.goal_stack, Text), row.parent_source_id,
                   row.stamp_ns >= open_ns).distinct().where(
                row.robot_id == robot_id, row.stamp_ns >= span.start_ns,
                row.stamp_ns < dirty.start_ns)):
        stack = json.loads(said)
        if (parent and parent in sources) or not ended.isdisjoint(stack):
            return True
        goals.update(stack if is_open else ())
    return not goals.isdisjoint(
        _made_goals(session, robot_id, span.start_ns, shorter.start_ns))


def _cut(tops: Sequence[Top], limit_ns: int) -> int:
    """Return the place of the last node with a name, up to a stamp, before which all has ended."""
    found, end_ns = 0, -1
    for place, top in enumerate(tops):
        if top.start_ns > limit_ns:
            break
        if top.name and top.start_ns > end_ns:
            found = place
        end_ns = max(end_ns, top.end_ns)
    return found


def _count(session: Session, robot_id: int, span: Interval) -> int:
    """Return how many records of events begin in a span without its end."""
    return sum(int(session.scalar(
        select(func.count()).select_from(table).where(
            table.robot_id == robot_id, table.stamp_ns >= span.start_ns,
            table.stamp_ns < span.end_ns)) or 0)
        for table in (schema.KINDS[kind] for kind in stretch.EVENT_KINDS))


def _is_any_open(session: Session, robot_id: int, start_ns: int, end_ns: int) -> bool:
    row = schema.SkillEventRow
    return session.scalar(select(row.id).where(
        row.robot_id == robot_id, row.end_ns.is_(None), row.stamp_ns >= start_ns,
        row.stamp_ns < end_ns).limit(1)) is not None


def _made_goals(session: Session, robot_id: int, start_ns: int, end_ns: int) -> set[str]:
    """Return the names of the goals that begin in a span and that no run or annotation reported."""
    row, member = schema.NodeRow, schema.NodeMemberRow
    return set(session.scalars(select(row.name).distinct().where(
        row.robot_id == robot_id, row.level == GOAL, row.start_ns >= start_ns,
        row.start_ns < end_ns, ~exists().where(member.node_id == row.id))))
