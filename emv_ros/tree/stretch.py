"""What waits for consolidation, and what events are made of around it.

The dirty span widens to whole top-level nodes and by a pause on both sides, so that what is
derived from it alone is what would be derived from the whole past.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
import logging
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, literal, select, true, update
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.rows import object_of, record_of, relation_of
from emv_ros.records import Status
from emv_ros.timeline import HOUR_NS, Interval
from emv_ros.tree.events import Stretch
from emv_ros.tree.levels import DAY, EPISODE, GOAL
from emv_ros.tree.raw import RAW_KINDS
from emv_ros.tree.reopening import next_piece
from emv_ros.tree.unread import UNREADABLE, Unread, check_sound

EVENT_KINDS = ('skill_event', 'utterance', 'scene', 'annotation', 'observation')
# So many waiting records, and what lies around them, are derived at once.
CHUNK = 800
IN_LIMIT = 500
ENDS = frozenset(str(status) for status in Status if status.is_final)
# The rows that a scene consists of.
PARTS: dict[str, Any] = {
    'scene_object': schema.SceneObjectRow, 'scene_relation': schema.SceneRelationRow}

log = logging.getLogger(__name__)

Member = tuple[str, int]


class Top(NamedTuple):
    """An event or goal without a goal above."""

    id: int
    start_ns: int
    end_ns: int
    name: str


def chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    """Yield ids in pieces that a statement may hold."""
    return (ids[start:start + IN_LIMIT] for start in range(0, len(ids), IN_LIMIT))


def find_dirty(session: Session, robot_id: int, gap_ns: int,
               timeless: list[Member]) -> Interval | None:
    """Return the earliest span that waits, up to a pause or CHUNK records; None if nothing.

    Re-opened spans come first: what records said that are gone has no right to stay. Records
    whose stamp is damaged have no place in time; they are put into `timeless`.
    """
    if (piece := next_piece(session, robot_id)) is not None:
        return piece
    stamps: list[tuple[int, int]] = []
    for kind in EVENT_KINDS:
        stamps.extend(_waiting(session, robot_id, kind, timeless))
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
    if first_raw is not None and first_raw <= max(end_ns, start_ns + HOUR_NS):
        within = Interval(start_ns, start_ns + HOUR_NS)
        end_ns = max([end_ns, *(stamp for kind in RAW_KINDS if (stamp := _raw_bound(
            session, robot_id, kind, func.max, within)) is not None)])
    return Interval(start_ns, end_ns)


def _waiting(session: Session, robot_id: int, kind: str,
             timeless: list[Member]) -> Iterable[tuple[int, int]]:
    """Yield the spans of the first CHUNK waiting records of a kind that have a time."""
    table = schema.KINDS[kind]
    end = func.coalesce(table.end_ns, table.stamp_ns) if hasattr(table, 'end_ns') \
        else table.stamp_ns
    for ref_id, start_ns, end_ns in session.execute(
            select(table.id, table.stamp_ns, end).where(
                table.robot_id == robot_id, table.pending)
            .order_by(table.stamp_ns).limit(CHUNK)).all():
        if isinstance(start_ns, int):
            yield start_ns, max(start_ns, end_ns) if isinstance(end_ns, int) else start_ns
        else:
            log.warning('%s %d has no time and no place in the tree: its stamp is damaged',
                        kind.replace('_', ' '), ref_id)
            timeless.append((kind, ref_id))


def _raw_bound(session: Session, robot_id: int, kind: str, bound: Any,
               within: Interval | None) -> int | None:
    table = schema.KINDS[kind]
    inside = true() if within is None else and_(
        table.stamp_ns >= within.start_ns, table.stamp_ns < within.end_ns)
    found: int | None = session.scalar(
        select(bound(table.stamp_ns)).where(table.robot_id == robot_id, table.pending, inside))
    return found


def top_nodes(session: Session, robot_id: int, span: Interval) -> list[Top]:
    """Return the events and goals, without a goal above, that touch a span, ends included."""
    row = schema.NodeRow
    columns = select(row.level, row.id, row.start_ns, row.end_ns, row.name)
    touches = and_(row.start_ns <= span.end_ns, row.end_ns >= span.start_ns)
    found: list[Top] = []
    above = list(session.scalars(select(row.id).where(
        row.robot_id == robot_id, row.parent_id.is_(None), row.level >= DAY, touches)))
    # From the root downwards: its cost does not grow with the age of the memory.
    while above:
        below: list[int] = []
        for part in chunks(above):
            for level, node_id, *top in session.execute(
                    columns.where(row.parent_id.in_(part), touches)):
                if level >= EPISODE:
                    below.append(node_id)
                else:
                    found.append(Top._make((node_id, *top)))
        above = below
    found.extend(Top._make(top) for _, *top in session.execute(columns.where(
        row.robot_id == robot_id, row.parent_id.is_(None), row.level <= GOAL, touches)))
    return sorted(found, key=lambda node: (node.start_ns, node.id))


def widen(session: Session, robot_id: int, dirty: Interval,
          gap_ns: int) -> tuple[Interval, Sequence[Top]]:
    """Return the span to derive anew and the top-level nodes in it."""
    span = Interval(max(0, dirty.start_ns - gap_ns), dirty.end_ns + gap_ns)
    span = with_named(session, robot_id, span)
    while True:
        nodes = top_nodes(session, robot_id, span)
        wider = Interval(min([span.start_ns, *(node.start_ns for node in nodes)]),
                         max([span.end_ns, *(node.end_ns for node in nodes)]))
        if wider == span:
            return span, nodes
        span = wider


def with_named(session: Session, robot_id: int, span: Interval) -> Interval:
    """Widen a span to the runs that waiting runs name as their parents, or that name them so."""
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
    return _with_named_children(session, robot_id, span)


def _with_named_children(session: Session, robot_id: int, span: Interval) -> Interval:
    """Widen a span to the runs that name a waiting run of which only the end was reported."""
    row = schema.SkillEventRow
    try:
        ended = [source_id for source_id, transitions in session.execute(
            select(row.source_id, row.transitions).where(
                row.robot_id == robot_id, row.pending, row.source_id != '',
                row.stamp_ns >= span.start_ns, row.stamp_ns <= span.end_ns))
            if tells_only_an_end(transitions)]
    except UNREADABLE:  # one of them is damaged, and is named when the stretch is read
        return span
    for part in chunks(ended):
        first_ns = session.scalar(select(func.min(row.stamp_ns)).where(
            row.robot_id == robot_id, row.parent_source_id.in_(part),
            row.stamp_ns >= span.start_ns - 24 * HOUR_NS, row.stamp_ns <= span.end_ns))
        if first_ns is not None:
            span = Interval(min(span.start_ns, first_ns), span.end_ns)
    return span


def tells_only_an_end(transitions: Any) -> bool:
    """Whether the first change of state is an end; False for what is no list of changes."""
    first = transitions[0] if isinstance(transitions, list) and transitions else None
    return isinstance(first, list) and bool(first) and str(first[0]) in ENDS


def load(session: Session, robot_id: int, robot: str,
         span: Interval) -> tuple[Stretch, list[Unread]]:
    """Return the records that begin in a span, ends included, and the rows that are none."""
    unread: list[Unread] = []
    found: dict[str, list[Any]] = {}
    for kind in EVENT_KINDS:
        table = schema.KINDS[kind]
        inside = and_(table.robot_id == robot_id, table.stamp_ns >= span.start_ns,
                      table.stamp_ns <= span.end_ns)
        found[kind] = _read(session, kind, inside, partial(_sound, kind, robot), unread)
    found['scene'] = _with_contents(session, found['scene'], unread)
    return Stretch(found['skill_event'], found['utterance'], found['scene'], found['annotation'],
                   found['observation']), unread


def _sound(kind: str, robot: str, row: Any) -> Any:
    record = record_of(kind, row, robot)
    check_sound(record)
    return record


def _read(session: Session, kind: str, inside: ColumnElement[bool],
          made_of: Callable[[Any], Any], unread: list[Unread]) -> list[Any]:
    """Return what is made of rows; one by one where one of them is damaged, which is told."""
    table = PARTS.get(kind) or schema.KINDS[kind]
    order = table.id if kind in PARTS else table.stamp_ns
    query = select(table).where(inside).order_by(order, table.id)
    try:
        return [made_of(row) for row in session.scalars(query)]
    except UNREADABLE:
        records = []
    stamp = table.stamp_ns if hasattr(table, 'stamp_ns') else literal(0)
    for ref_id, stamp_ns in session.execute(
            select(table.id, stamp).where(inside).order_by(order, table.id)).all():
        try:
            records.append(made_of(session.get_one(table, ref_id)))
        except UNREADABLE as error:
            unread.append(Unread(kind, ref_id, stamp_ns, str(error)))
    return records


def _with_contents(session: Session, scenes: list[Any], unread: list[Unread]) -> list[Any]:
    parts: dict[str, dict[int, list[Any]]] = {kind: {} for kind in PARTS}
    for ids in chunks([scene.id for scene in scenes]):
        for kind, table in PARTS.items():
            make: Callable[[Any], Any] = object_of if kind == 'scene_object' else relation_of
            for scene_id, part in _read(session, kind, table.scene_id.in_(ids),
                                        partial(_placed, make), unread):
                parts[kind].setdefault(scene_id, []).append(part)
    return [replace(scene, objects=tuple(parts['scene_object'].get(scene.id, ())),
                    relations=tuple(parts['scene_relation'].get(scene.id, ())))
            for scene in scenes]


def _placed(make: Callable[[Any], Any], row: Any) -> tuple[int, Any]:
    return row.scene_id, make(row)


def waiting_in(session: Session, robot_id: int, span: Interval) -> set[Member]:
    """Return the records, raw ones too, that wait in a span."""
    found: set[Member] = set()
    for kind in (*EVENT_KINDS, *RAW_KINDS):
        table = schema.KINDS[kind]
        found.update((kind, ref_id) for ref_id in session.scalars(select(table.id).where(
            table.robot_id == robot_id, table.pending, table.stamp_ns >= span.start_ns,
            table.stamp_ns <= span.end_ns)))
    return found


def news_of(session: Session, unread: Iterable[Unread],
            waiting: Collection[Member]) -> list[Unread]:
    """Return the rows that cannot be read, and that wait or are of a scene that waits."""
    news = []
    for row in unread:
        if row.kind in PARTS:
            part = PARTS[row.kind]
            is_new = bool(session.scalar(
                select(schema.SceneRow.pending).join(part, part.scene_id == schema.SceneRow.id)
                .where(part.id == row.ref_id)))
        else:
            is_new = (row.kind, row.ref_id) in waiting
        news += [row] if is_new else []
    return news


def settle(session: Session, records: Iterable[Member]) -> int:
    """Mark records as consolidated; return how many had waited."""
    by_kind: dict[str, list[int]] = {}
    for kind, ref_id in records:
        by_kind.setdefault(kind, []).append(ref_id)
    taken = 0
    for kind, ids in by_kind.items():
        table = schema.KINDS[kind]
        for part in chunks(ids):
            done: Any = session.execute(
                update(table).where(table.id.in_(part), table.pending).values(pending=False)
                .execution_options(synchronize_session=False))
            taken += int(done.rowcount)
    return taken
