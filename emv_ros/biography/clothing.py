"""Names of persons by what they wear: within one local day, and only where nobody else wears it.

An observation of a person whose name a description, a source or an operator told says what that
person wears. Another observation of that day in the same single colour is of that person, if no
other named person wears it that day, and no two in it were seen apart. Several colours, or none
that is known, tell nothing; nor does another day. What a later record makes ambiguous is undone:
`extra['called']` holds what a person was called before, and since when the name is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
import threading

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from emv_ros.biography.description import is_name
from emv_ros.biography.rule_words import colour_words
from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.entities import given_names
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import day_span, local_date, parse_zone

CHUNK = 500


@dataclass(slots=True)
class ClothingReport:
    """How many observations got a name, and how many lost one again."""

    named: int = 0
    undone: int = 0


def name_people(store: MemoryStore, robot: str, days: Collection[date] | None = None,
                cancel: threading.Event | None = None) -> ClothingReport:
    """Name what one robot saw of persons by their clothing.

    Days are local to the robot's zone; without them, those of which observations of persons wait
    for consolidation. A day of which observations were forgotten has to be named.
    """
    report = ClothingReport()
    zone = parse_zone(store.zone_of([robot]))
    with store.reading() as session:
        robot_id = next(iter(store.robot_ids(session, [robot])), None)
        if robot_id is None:
            return report
        wanted = set(_waiting(session, robot_id, zone) if days is None else days)
    for day in sorted(wanted):
        if cancel is not None and cancel.is_set():
            break
        with store.writing() as session:
            _name_day(session, robot_id, day, zone, report)
    return report


def _waiting(session: Session, robot_id: int, zone: tzinfo) -> Iterable[date]:
    row = schema.ObservationRow
    return {local_date(stamp_ns, zone) for stamp_ns in session.scalars(
        select(row.stamp_ns).where(row.robot_id == robot_id, row.pending, row.is_person))}


def _name_day(session: Session, robot_id: int, day: date, zone: tzinfo,
              report: ClothingReport) -> None:
    row = schema.ObservationRow
    span = day_span(day, zone)
    seen = session.scalars(
        select(row).where(row.robot_id == robot_id, row.is_person, row.stamp_ns >= span.start_ns,
                          row.stamp_ns < span.end_ns).order_by(row.stamp_ns, row.id)).all()
    named = _told_names(session, seen)
    worn: dict[str, list[schema.ObservationRow]] = {}
    for item in seen:
        if (colour := _worn(item)) is not None:
            worn.setdefault(colour, []).append(item)
    changed: list[schema.ObservationRow] = []
    for item in seen:
        if item.id in named:
            continue
        colour = _worn(item)
        group = worn.get(colour, []) if colour else []
        names = {named[other.id] for other in group if other.id in named}
        is_clear = len(names) == 1 and not _are_apart(session, [other.id for other in group])
        if _call(item, names.pop() if is_clear else '', colour or '',
                 min((other.stamp_ns for other in group if other.id in named), default=0)):
            changed.append(item)
            report.named += is_clear
            report.undone += not is_clear
    if changed:
        session.flush()
        renew_documents(session, 'observation', changed)


def _told_names(session: Session, seen: Sequence[schema.ObservationRow]) -> dict[int, str]:
    """Return the names that were told of observations, not those by clothing, by their ids."""
    given = given_names(session, {item.entity_id for item in seen if item.entity_id is not None})
    found = {}
    for item in seen:
        name = given.get(item.entity_id or 0, '') or ('' if 'called' in item.extra else item.name)
        if is_name(name):
            found[item.id] = name
    return found


def _worn(item: schema.ObservationRow) -> str | None:
    """Return the one colour that a person wears; None where it is several, or not known."""
    told = item.attributes.get('clothing') or item.attributes.get('colour')
    colours = colour_words(told) if isinstance(told, str) else set()
    return colours.pop() if len(colours) == 1 else None


def _are_apart(session: Session, ids: Sequence[int]) -> bool:
    """Whether two of these were seen apart, or told apart by a person."""
    wanted = set(ids)
    for table in (schema.SeparationRow, schema.VerdictRow):
        for start in range(0, len(ids), CHUNK):
            part = ids[start:start + CHUNK]
            query = select(table.first_id, table.second_id).where(
                or_(table.first_id.in_(part), table.second_id.in_(part)))
            if table is schema.VerdictRow:
                query = query.where(schema.VerdictRow.verdict == 'different')
            if any(first in wanted and second in wanted
                   for first, second in session.execute(query)):
                return True
    return False


def _call(item: schema.ObservationRow, name: str, colour: str, known_ns: int) -> bool:
    """Give an observation a name, or, where that is '', what it was called before.

    Return whether that changed anything.
    """
    before = item.extra.get('called')
    was = before['was'] if before else item.name
    called = {'was': was, 'colour': colour, 'known_ns': max(known_ns, item.stamp_ns)} \
        if name else None
    if (item.name, before) == (name or was, called):
        return False
    extra = {key: value for key, value in item.extra.items() if key != 'called'}
    attributes = {key: value for key, value in item.attributes.items() if key != 'named_by'}
    item.extra = extra | ({'called': called} if called else {})
    item.attributes = attributes | ({'named_by': f'{colour} clothing'} if called else {})
    item.name = name or was
    item.pending = True
    return True
