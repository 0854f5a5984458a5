"""Entities as an association writes them: new ones, what joins them, and what they are called.

An entity is called what most of its observations are, unless a person gave it a name; so for its
colour, and for whether it is a person. Of a long life the latest observations tell.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
import json
from typing import Any

from sqlalchemy import String, bindparam, cast, func, insert, select, update
from sqlalchemy.orm import Session

from emv_ros.biography.entity_rows import take_over
from emv_ros.biography.waiting import Seen, colour_of
from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.among import Numbers, among
from emv_ros.memory.entities import NAMED_BY

Said = tuple[str, bool, str]  # name, whether it is a person, colour

# Observations of an entity that tell its name, and its instances: the latest.
TOLD_BY, INSTANCES_BY = 200, 1000

_TABLE: Any = schema.ObservationRow.__table__
_SEEN: Any = _TABLE.c
_ENTITY: Any = schema.EntityRow.__table__
_IDS = bindparam('ids', type_=Numbers())
_MEMBERS = update(_TABLE).where(_SEEN.id == bindparam('of')).values(entity_id=bindparam('to'))
_LATEST = (select(_SEEN.name, _SEEN.is_person,
                  cast(_SEEN.attributes, String).label('attributes'))
           .where(_SEEN.entity_id == bindparam('entity')).order_by(_SEEN.id.desc())
           .limit(TOLD_BY).subquery())
_TOLD = (select(*_LATEST.c, func.count().label('times')).group_by(*_LATEST.c))
_ROWS = select(_ENTITY.c.id, _ENTITY.c.name, _ENTITY.c.is_person, _ENTITY.c.attributes).where(
    among(_ENTITY.c.id, _IDS))


class EntityWriter:
    """Writes the entities of one robot in one transaction; `made` are those that are new."""

    def __init__(self, session: Session, robot_id: int) -> None:
        """Write nothing yet."""
        self.made: set[int] = set()
        self._session = session
        self._robot_id = robot_id
        self._joined = defaultdict[int, list[Seen]](list)  # what the database has not yet
        self._touched: set[int] = set()
        self._said = defaultdict[int, set[Said]](set)  # by what joined
        self._counted: set[int] = set()  # of which more changed than what joined
        self._of_name: dict[tuple[str, bool], int] = {}

    def make(self, seen: Seen) -> int:
        """Return a new entity for an observation."""
        made = self._session.execute(
            insert(_ENTITY).returning(_ENTITY.c.id),
            {'robot_id': self._robot_id, 'name': seen.name, 'is_person': seen.is_person,
             'attributes': {'colour': seen.colour} if seen.colour else {}}).scalar_one()
        self.made.add(made)
        return int(made)

    def join(self, seen: Seen, entity_id: int) -> None:
        """Note that an observation is of an entity."""
        self._joined[entity_id].append(seen)
        self._of_name[seen.name, seen.is_person] = entity_id

    def touch(self, entity_ids: Iterable[int | None]) -> None:
        """Let `write` look at what entities are called, though nothing joins them."""
        found = {key for key in entity_ids if key is not None}
        self._touched |= found
        self._counted |= found

    def of_name(self, seen: Seen) -> int | None:
        """Return the entity of what has the same name and kind."""
        key = seen.name, seen.is_person
        if key not in self._of_name:
            found = self._session.scalar(select(_SEEN.entity_id).where(
                _SEEN.robot_id == self._robot_id, _SEEN.name == seen.name,
                _SEEN.is_person == seen.is_person, _SEEN.entity_id.is_not(None))
                .order_by(_SEEN.stamp_ns.desc()).limit(1))
            if found is None:
                return None
            self._of_name[key] = found
        return self._of_name[key]

    def instances(self, entity_id: int) -> set[tuple[int, str]]:
        """Return the (session, instance) of the latest observations of an entity."""
        latest = (select(_SEEN.session_id, _SEEN.instance).where(_SEEN.entity_id == entity_id)
                  .order_by(_SEEN.id.desc()).limit(INSTANCES_BY).subquery())
        found = {(session_id, instance) for session_id, instance in self._session.execute(
            select(*latest.c).where(latest.c.instance != '').distinct())}
        return found | {(seen.session_id, seen.instance)
                        for seen in self._joined.get(entity_id, ()) if seen.instance}

    def has_name(self, entity_id: int, name: str) -> bool:
        """Whether one of the latest observations of an entity has a name."""
        return (any(seen.name == name for seen in self._joined.get(entity_id, ()))
                or any(row.name == name for row in self._told(entity_id)))

    def take_over(self, stays: int, others: Sequence[int]) -> None:
        """Move what entities hold to one of them; they stand for it from now on."""
        self._write_members()
        take_over(self._session, [self._session.get_one(schema.EntityRow, key)
                                  for key in (stays, *others)])
        self._touched -= set(others)
        self.touch([stays])
        self.made -= set(others)
        for key, entity_id in self._of_name.items():
            if entity_id in others:
                self._of_name[key] = stays

    def write(self) -> None:
        """Write what joined, and what the entities are called after it."""
        joined = [seen.id for members in self._joined.values() for seen in members]
        self._write_members()
        changed = []
        for row in self._session.execute(_ROWS, {'ids': sorted(self._touched)}).all():
            if row.id not in self._counted and all(
                    _is_as(said, row) for said in self._said[row.id]):
                continue  # it agrees with what most others say already
            values = self._values(row)
            if values != {'name': row.name, 'is_person': bool(row.is_person),
                          'attributes': row.attributes}:
                changed.append({'of': row.id, **values})
        if changed:
            self._session.execute(
                update(_ENTITY).where(_ENTITY.c.id == bindparam('of')).values(
                    name=bindparam('name'), is_person=bindparam('is_person'),
                    attributes=bindparam('attributes')), changed,
                execution_options={'synchronize_session': False})
            self._session.expire_all()
        self._renew(joined)
        for pending in (self._touched, self._counted, self._said):
            pending.clear()

    def _write_members(self) -> None:
        values = [{'of': seen.id, 'to': entity_id}
                  for entity_id, members in self._joined.items() for seen in members]
        if values:
            self._session.connection().execute(_MEMBERS, values)
        for entity_id, members in self._joined.items():
            self._touched.add(entity_id)
            self._said[entity_id].update(
                (seen.name, seen.is_person, seen.colour) for seen in members)
        self._joined.clear()

    def _values(self, row: Any) -> dict[str, Any]:
        names, colours, kinds = Counter[str](), Counter[str](), Counter[bool]()
        for told in self._told(row.id):
            names[told.name] += told.times
            kinds[bool(told.is_person)] += told.times
            colour = colour_of(json.loads(told.attributes or '{}'))
            if colour:
                colours[colour] += told.times
        attributes = dict(row.attributes)
        if colours:
            attributes['colour'] = _first(colours)
        is_named = NAMED_BY in attributes or not names
        return {'name': row.name if is_named else _first(names),
                'is_person': kinds[True] > kinds[False], 'attributes': attributes}

    def _told(self, entity_id: int) -> Sequence[Any]:
        return self._session.execute(_TOLD, {'entity': entity_id}).all()

    def _renew(self, observation_ids: Iterable[int]) -> None:
        """Let what joined an entity that a person named be found by that name."""
        row, entity = schema.ObservationRow, schema.EntityRow
        called = {key for key, attributes in self._session.execute(
            select(entity.id, entity.attributes).where(among(entity.id, sorted(self._touched))))
            if NAMED_BY in attributes}
        if called:
            renew_documents(self._session, 'observation', self._session.scalars(
                select(row).where(among(row.id, list(observation_ids)),
                                  among(row.entity_id, sorted(called))).order_by(row.id)).all())


def _is_as(said: Said, row: Any) -> bool:
    name, is_person, colour = said
    return ((name == row.name or NAMED_BY in row.attributes)
            and is_person == bool(row.is_person)
            and colour in ('', row.attributes.get('colour')))


def _first(counted: Mapping[str, int]) -> str:
    """Return the most frequent; of several, the first by the alphabet."""
    return min(counted, key=lambda name: (-counted[name], name))
