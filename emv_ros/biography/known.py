"""The references of all entities of one robot; the database stays the truth.

They are read once, and follow the journal of changes from then on: what persons merge, split or
forget is taken over before the next observation is compared. Looks are told apart by the model that
made them, their length, and whether they are of a person: no others are ever compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from emv_ros.biography.references import References, Vectors
from emv_ros.biography.waiting import as_vectors
from emv_ros.memory import schema
from emv_ros.memory.among import Numbers, among
from emv_ros.memory.changes import Mark, mark_of, since

Key = tuple[str, int, bool]  # model, length, of persons
Change = tuple[str, int]

CHUNK = 2000
# Changes by others of which each costs more than reading all.
MANY = 20_000

_SEEN: Any = schema.ObservationRow.__table__.c
_LOOKS: Any = schema.AppearanceRow.__table__.c
_IDS = bindparam('ids', type_=Numbers())
_VECTORS = select(_LOOKS.observation_id, _LOOKS.vector).where(
    among(_LOOKS.observation_id, _IDS), _LOOKS.model == bindparam('model'))
# Which observation of which entity has looks, and by whom: an index tells, the looks stay unread.
_HELD = (select(_SEEN.entity_id, _SEEN.stamp_ns, _SEEN.id, _SEEN.is_person, _LOOKS.model)
         .select_from(schema.AppearanceRow.__table__.join(
             schema.ObservationRow.__table__, _SEEN.id == _LOOKS.observation_id)))


class Known:
    """The references of a robot's entities, by what may be compared. One thread at a time."""

    def __init__(self, robot_id: int, most: int) -> None:
        """Hold nothing until `follow`; of each entity at most `most`."""
        self._robot_id = robot_id
        self._most = most
        self._mark = Mark()
        self._left: set[Change] = set()  # what others changed and is not taken over yet
        self._references: dict[Key, References] = {}
        self._session: Session | None = None

    def follow(self, session: Session) -> None:
        """Take over what changed in the database since the last time; the first time, read all."""
        self._session = session
        found = since(session, self._mark) if self._mark.id else None
        strange = self._left | found[0] if found else set()
        if found is None or len(strange) > MANY:
            self._references = {}
            self._mark = mark_of(session)
            self._read(session, _HELD.where(
                _SEEN.robot_id == self._robot_id, _SEEN.entity_id.is_not(None)))
        else:
            self._mark = found[1]
            self._renew(session, strange)
        self._left = set()

    def forget(self) -> None:
        """Hold nothing again: what was added came to nothing in the database."""
        self._mark = Mark()

    def settle(self, session: Session, own: set[Change]) -> None:
        """Pass over changes of our own in this transaction: what we wrote was added here, too."""
        found = since(session, self._mark)
        if found is None:
            self.forget()
        else:
            changed, self._mark = found
            self._left = changed - own

    def get(self, model: str, length: int, is_person: bool) -> References:
        """Return the references that may be compared with looks of a model and a length."""
        key = model, length, is_person
        if key not in self._references:
            self._references[key] = References(
                length, self._most, lambda ids: self._vectors(ids, model, length))
        return self._references[key]

    def drop(self, entity_id: int) -> None:
        """Forget an entity."""
        for references in self._references.values():
            references.drop(entity_id)

    def renew(self, session: Session, entity_ids: Iterable[int]) -> None:
        """Read the references of some entities anew."""
        for entity_id in entity_ids:
            self.drop(entity_id)
            self._read(session, _HELD.where(
                _SEEN.entity_id == entity_id, _SEEN.robot_id == self._robot_id))

    def _renew(self, session: Session, changed: set[Change]) -> None:
        entities = {ref_id for kind, ref_id in changed if kind == 'entity'}
        observations = sorted(ref_id for kind, ref_id in changed if kind == 'observation')
        for references in self._references.values():
            entities |= references.holders(observations)
        for start in range(0, len(observations), CHUNK):
            entities |= set(session.scalars(
                select(_SEEN.entity_id).where(
                    among(_SEEN.id, _IDS), _SEEN.entity_id.is_not(None)).distinct(),
                {'ids': observations[start:start + CHUNK]}))
        self.renew(session, sorted(entities))

    def _read(self, session: Session, query: Any) -> None:
        """Take the latest looks of the entities that a query gives rows of."""
        rows = sorted(session.execute(query), key=lambda row: (
            row.model, row.is_person, row.entity_id, row.stamp_ns, row.id))
        held: list[tuple[tuple[str, bool, int], list[Any]]] = []
        for key, part in groupby(rows, key=lambda row: (
                row.model, bool(row.is_person), row.entity_id)):
            held.append((key, list(part)))
        lot: list[tuple[tuple[str, bool, int], list[Any]]] = []
        for item in held:
            if lot and (item[0][0] != lot[0][0][0] or len(lot) * self._most >= CHUNK):
                self._place(session, lot)
                lot = []
            lot.append(item)
        if lot:
            self._place(session, lot)

    def _place(self, session: Session,
               lot: Sequence[tuple[tuple[str, bool, int], list[Any]]]) -> None:
        model = lot[0][0][0]
        found = self._looks(session, model, [row for _, rows in lot for row in rows[-self._most:]])
        for (_, is_person, entity_id), rows in lot:
            held = _by_length(rows[-self._most:], found)
            if sum(map(len, held.values())) < min(self._most, len(rows)) or len(held) > 1:
                # Some cannot be read, or are of another length: earlier ones take their places.
                held = _by_length(rows, found | self._looks(session, model, rows[:-self._most]))
            for length, of_length in held.items():
                late = of_length[-self._most:]
                self.get(model, length, is_person).place(
                    entity_id, [row.id for row, _ in late], [row.stamp_ns for row, _ in late],
                    np.stack([vector for _, vector in late]).mean(axis=0))

    def _looks(self, session: Session, model: str, rows: Sequence[Any]) -> dict[int, Vectors]:
        """Return the looks of rows that can be read."""
        found: dict[int, Vectors] = {}
        for start in range(0, len(rows), CHUNK):
            found |= as_vectors(session.execute(_VECTORS, {
                'ids': [row.id for row in rows[start:start + CHUNK]], 'model': model}))
        return found

    def _vectors(self, ids: Sequence[int], model: str, length: int) -> tuple[list[int], Vectors]:
        """Return the looks of observations, in their order; what is gone is left out."""
        assert self._session is not None, 'references are read between follow and the next'
        found = as_vectors(self._session.execute(_VECTORS, {'ids': ids, 'model': model}))
        kept = [key for key in ids if key in found and len(found[key]) == length]
        matrix = np.zeros((len(kept), length), np.float32)
        for place, key in enumerate(kept):
            matrix[place] = found[key]
        return kept, matrix


def _by_length(rows: Iterable[Any], looks: Mapping[int, Vectors]) -> dict[int, list[tuple[
        Any, Vectors]]]:
    """Return the rows that have looks with these, by their length."""
    found = defaultdict[int, list[tuple[Any, Vectors]]](list)
    for row in rows:
        if row.id in looks:
            found[len(looks[row.id])].append((row, looks[row.id]))
    return found
