"""What completes a unit: the reply to what was said, other times of a thing, others of its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet

from sqlalchemy import ColumnElement, bindparam, or_, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.lives import namesakes
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.units import Unit
from emv_ros.timeline import SECOND_NS

REPLY_NS = 30 * SECOND_NS
# Things of which other times are told, and records of one that are looked through for them.
THINGS = 6
MET = 40
NAMESAKES = 4


def add_company(session: Session, scope: Scope, units: Sequence[Unit],
                read: AbstractSet[tuple[str, int]]) -> None:
    """Complete the units of one search in place; what is not in scope completes nothing.

    Of a thing that several units tell of, the first one does.
    """
    shown = {(unit.kind, span.ref_id) for unit in units for span in unit.spans} | read
    things: dict[int, Unit] = {}
    for unit in units:
        if unit.kind == 'utterance':
            unit.reply = _reply(session, scope, unit, shown)
        elif unit.entity_id is not None and len(things) < THINGS:
            things.setdefault(unit.entity_id, unit)
    if things:
        _add_times(session, scope, things, shown)
        _add_namesakes(session, scope, things)


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


def _add_times(session: Session, scope: Scope, things: Mapping[int, Unit],
               shown: AbstractSet[tuple[str, int]]) -> None:
    """Tell when each thing was met besides, as far as that was not read."""
    row, window = schema.ObservationRow, scope.window
    conditions: list[ColumnElement[bool]] = []
    if scope.robot_ids is not None:
        conditions.append(row.robot_id.in_(scope.robot_ids))
    if window.start_ns is not None:
        conditions.append(or_(row.end_ns > window.start_ns, row.stamp_ns >= window.start_ns))
    conditions += [row.stamp_ns < end_ns for end_ns in (window.end_ns, window.before_ns)
                   if end_ns is not None]
    query = (select(row.id, row.stamp_ns).where(row.entity_id == bindparam('thing'), *conditions)
             .order_by(row.id).limit(MET))
    for entity_id, unit in things.items():
        met = session.execute(query, {'thing': entity_id}).all()
        unit.also_ns = sorted(stamp_ns for key, stamp_ns in met
                              if ('observation', key) not in shown)


def _add_namesakes(session: Session, scope: Scope, things: Mapping[int, Unit]) -> None:
    """Tell of each other entity of a thing's name whether it is certainly another."""
    found = namesakes(session, things, scope.window.before_ns, NAMESAKES)
    for key, others in found.items():
        things[key].verdicts = [f'e{other}: {"different" if reason else "unresolved"}'
                                for other, reason in others]
