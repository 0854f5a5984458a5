"""What waits for consolidation, and what events are made of around it.

The dirty span widens to whole top-level nodes and by a pause on both sides, so that what is
derived from it alone is what would be derived from the whole past.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select, true, update
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.rows import object_of, record_of, relation_of
from emv_ros.timeline import HOUR_NS, Interval
from emv_ros.tree.events import Stretch
from emv_ros.tree.levels import DAY, EPISODE, GOAL
from emv_ros.tree.raw import RAW_KINDS

EVENT_KINDS = ('skill_event', 'utterance', 'scene', 'annotation', 'observation')
# So many waiting records are taken at once, so that no transaction holds the writers for long.
CHUNK = 800
IN_LIMIT = 500


def chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    """Yield ids in pieces that a statement may hold."""
    return (ids[start:start + IN_LIMIT] for start in range(0, len(ids), IN_LIMIT))


@dataclass(frozen=True, slots=True)
class Dirty:
    """A span that has waiting records."""

    span: Interval
    has_raw: bool


def find_dirty(session: Session, robot_id: int, gap_ns: int) -> Dirty | None:
    """Return the earliest span that waits, up to a pause or CHUNK records; None if nothing."""
    stamps: list[tuple[int, int]] = []
    for kind in EVENT_KINDS:
        table = schema.KINDS[kind]
        end = table.stamp_ns
        if hasattr(table, 'end_ns'):
            end = func.coalesce(table.end_ns, table.stamp_ns)
        stamps.extend((start, max(start, last)) for start, last in session.execute(
            select(table.stamp_ns, end).where(table.robot_id == robot_id, table.pending)
            .order_by(table.stamp_ns).limit(CHUNK)))
    stamps.sort()
    first_raw = min((stamp for kind in RAW_KINDS if (stamp := _raw_bound(
        session, robot_id, kind, func.min, None)) is not None), default=None)
    firsts = [stamp for stamp in (stamps[0][0] if stamps else None, first_raw) if stamp is not None]
    if not firsts:
        return None
    start_ns = end_ns = min(firsts)
    for begins, ends in stamps[:CHUNK]:
        if begins - end_ns > gap_ns:
            break
        end_ns = max(end_ns, ends)
    has_raw = first_raw is not None and first_raw <= max(end_ns, start_ns + HOUR_NS)
    if has_raw:
        within = Interval(start_ns, start_ns + HOUR_NS)
        end_ns = max([end_ns, *(stamp for kind in RAW_KINDS if (stamp := _raw_bound(
            session, robot_id, kind, func.max, within)) is not None)])
    return Dirty(Interval(start_ns, end_ns), has_raw)


def _raw_bound(session: Session, robot_id: int, kind: str, bound: Any,
               within: Interval | None) -> int | None:
    table = schema.KINDS[kind]
    inside = true() if within is None else and_(
        table.stamp_ns >= within.start_ns, table.stamp_ns < within.end_ns)
    found: int | None = session.scalar(
        select(bound(table.stamp_ns)).where(table.robot_id == robot_id, table.pending, inside))
    return found


def top_nodes(session: Session, robot_id: int, span: Interval) -> list[schema.NodeRow]:
    """Return the events and goals, without a goal above, that touch a span, ends included."""
    row = schema.NodeRow
    touches = and_(row.start_ns <= span.end_ns, row.end_ns >= span.start_ns)
    found: list[schema.NodeRow] = []
    above = list(session.scalars(select(row.id).where(
        row.robot_id == robot_id, row.parent_id.is_(None), row.level >= DAY, touches)))
    # From the root downwards: its cost does not grow with the age of the memory.
    while above:
        below: list[int] = []
        for part in chunks(above):
            for node in session.scalars(select(row).where(row.parent_id.in_(part), touches)):
                if node.level >= EPISODE:
                    below.append(node.id)
                else:
                    found.append(node)
        above = below
    found.extend(session.scalars(select(row).where(
        row.robot_id == robot_id, row.parent_id.is_(None), row.level <= GOAL, touches)))
    return sorted(found, key=lambda node: (node.start_ns, node.id))


def widen(session: Session, robot_id: int, dirty: Interval,
          gap_ns: int) -> tuple[Interval, list[schema.NodeRow]]:
    """Return the span to derive anew and the top-level nodes in it."""
    span = Interval(max(0, dirty.start_ns - gap_ns), dirty.end_ns + gap_ns)
    span = _with_named_parents(session, robot_id, span)
    while True:
        nodes = top_nodes(session, robot_id, span)
        wider = Interval(min([span.start_ns, *(node.start_ns for node in nodes)]),
                         max([span.end_ns, *(node.end_ns for node in nodes)]))
        if wider == span:
            return span, nodes
        span = wider


def _with_named_parents(session: Session, robot_id: int, span: Interval) -> Interval:
    """Widen a span to the runs that waiting runs name as their parents."""
    row = schema.SkillEventRow
    wanted = list(session.scalars(select(row.parent_source_id).where(
        row.robot_id == robot_id, row.pending, row.parent_source_id != '',
        row.stamp_ns >= span.start_ns, row.stamp_ns <= span.end_ns).distinct()))
    for start in range(0, len(wanted), IN_LIMIT):
        for first_ns, last_ns in session.execute(select(
                row.stamp_ns, func.coalesce(row.end_ns, row.last_report_ns)).where(
                row.robot_id == robot_id, row.source_id.in_(wanted[start:start + IN_LIMIT]),
                # An id that a source uses again far away is another run.
                row.stamp_ns >= span.start_ns - 24 * HOUR_NS, row.stamp_ns <= span.end_ns)):
            span = Interval(min(span.start_ns, first_ns), max(span.end_ns, last_ns))
    return span


def load(session: Session, robot_id: int, robot: str, span: Interval) -> Stretch:
    """Return the records that begin in a span, ends included; locked if the database can."""
    found: dict[str, list[Any]] = {}
    for kind in EVENT_KINDS:
        table = schema.KINDS[kind]
        rows = session.scalars(
            select(table).where(table.robot_id == robot_id, table.stamp_ns >= span.start_ns,
                                table.stamp_ns <= span.end_ns)
            .order_by(table.stamp_ns, table.id).with_for_update())
        found[kind] = [record_of(kind, row, robot) for row in rows]
    scenes = _with_contents(session, found['scene'])
    return Stretch(found['skill_event'], found['utterance'], scenes, found['annotation'],
                   found['observation'])


def _with_contents(session: Session, scenes: list[Any]) -> list[Any]:
    objects: dict[int, list[Any]] = {}
    relations: dict[int, list[Any]] = {}
    for part in chunks([scene.id for scene in scenes]):
        thing, relation = schema.SceneObjectRow, schema.SceneRelationRow
        for row in session.scalars(
                select(thing).where(thing.scene_id.in_(part)).order_by(thing.id)):
            objects.setdefault(row.scene_id, []).append(object_of(row))
        for link in session.scalars(
                select(relation).where(relation.scene_id.in_(part)).order_by(relation.id)):
            relations.setdefault(link.scene_id, []).append(relation_of(link))
    return [replace(scene, objects=tuple(objects.get(scene.id, ())),
                    relations=tuple(relations.get(scene.id, ()))) for scene in scenes]


def settle(session: Session, robot_id: int, span: Interval, stretch: Stretch) -> int:
    """Mark what was read, and the raw records of the span, as consolidated; return how many."""
    taken = 0
    for kind, records in zip(EVENT_KINDS, (
            stretch.runs, stretch.utterances, stretch.scenes, stretch.annotations,
            stretch.observations), strict=True):
        for part in chunks([record.id or 0 for record in records]):
            taken += _take(session, kind, schema.KINDS[kind].id.in_(part))
    for kind in RAW_KINDS:
        table = schema.KINDS[kind]
        taken += _take(session, kind, and_(
            table.robot_id == robot_id, table.stamp_ns >= span.start_ns,
            table.stamp_ns <= span.end_ns))
    return taken


def _take(session: Session, kind: str, wanted: ColumnElement[bool]) -> int:
    table = schema.KINDS[kind]
    done: Any = session.execute(
        update(table).where(wanted, table.pending).values(pending=False)
        .execution_options(synchronize_session=False))
    return int(done.rowcount)
