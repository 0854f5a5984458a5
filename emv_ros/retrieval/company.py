"""What completes a unit: the reply to what was said, other times of a thing, others of its name."""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from typing import Any

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.units import Unit
from emv_ros.timeline import SECOND_NS

REPLY_NS = 30 * SECOND_NS
ALSO_SEEN = 8
NAMESAKES = 4


def add_company(session: Session, scope: Scope, units: Sequence[Unit],
                read: AbstractSet[tuple[str, int]]) -> None:
    """Complete the units of one search in place; what is not in scope completes nothing."""
    shown = {(unit.kind, span.ref_id) for unit in units for span in unit.spans} | read
    told: set[int] = set()
    for unit in units:
        if unit.kind == 'utterance':
            unit.reply = _reply(session, scope, unit, shown)
        elif unit.entity_id is not None and unit.entity_id not in told:
            told.add(unit.entity_id)
            unit.also_ns = _also_seen(session, scope, unit.entity_id, shown)
            unit.verdicts = _verdicts(session, scope, unit)


def _reply(session: Session, scope: Scope, unit: Unit, shown: AbstractSet[tuple[str, int]]) -> str:
    """Return what another said within half a minute after the unit's first record."""
    said = schema.UtteranceRow
    first = session.get(said, unit.spans[0].ref_id)
    if first is None:
        return ''
    document = schema.DocumentRow
    found = session.execute(
        select(document.ref_id, document.text, said.speaker)
        .join(said, said.id == document.ref_id)
        .where(document.kind == 'utterance', document.robot_id == first.robot_id,
               document.start_ns >= first.stamp_ns, said.id != first.id,
               document.start_ns <= first.stamp_ns + REPLY_NS, *scope.conditions())
        .order_by(document.start_ns, document.id).limit(1)).first()
    if found is None or found.speaker == first.speaker or ('utterance', found.ref_id) in shown:
        return ''
    return f'u{found.ref_id} {found.text}'


def _also_seen(session: Session, scope: Scope, entity_id: int,
               shown: AbstractSet[tuple[str, int]]) -> list[int]:
    document, row = schema.DocumentRow, schema.ObservationRow
    found = session.execute(
        select(row.id, row.stamp_ns).join(document, and_(
            document.kind == 'observation', document.ref_id == row.id))
        .where(row.entity_id == entity_id, *scope.conditions(by_id=True)).order_by(row.stamp_ns))
    return [stamp_ns for key, stamp_ns in found if ('observation', key) not in shown]


def _verdicts(session: Session, scope: Scope, unit: Unit) -> list[str]:
    """Return of each other entity of the same name whether it is certainly another."""
    entity, seen = schema.EntityRow, schema.ObservationRow
    own: Any = session.get(entity, unit.entity_id)
    if own is None:
        return []
    query = select(entity.id).where(entity.robot_id == own.robot_id, entity.name == own.name,
                                    entity.id != own.id)
    if scope.window.before_ns is not None:
        query = query.where(entity.id.in_(select(seen.entity_id).where(
            seen.stamp_ns < scope.window.before_ns)))
    others = session.scalars(query.order_by(entity.id).limit(NAMESAKES)).all()
    return [f'e{other}: {"different" if _are_apart(session, own.id, other) else "unresolved"}'
            for other in others]


def _are_apart(session: Session, one: int, other: int) -> bool:
    """Whether observations of the two were seen apart in one frame, or a person said so."""
    row, seen = schema.SeparationRow, schema.ObservationRow

    def of(entity_id: int) -> Any:
        return select(seen.id).where(seen.entity_id == entity_id)

    for table in (row, schema.VerdictRow):
        query: Any = select(table.first_id).where(or_(
            and_(table.first_id.in_(of(one)), table.second_id.in_(of(other))),
            and_(table.first_id.in_(of(other)), table.second_id.in_(of(one))))).limit(1)
        if table is schema.VerdictRow:
            query = query.where(schema.VerdictRow.verdict == 'different')
        if session.scalar(query) is not None:
            return True
    return False
