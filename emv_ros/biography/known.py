"""The references of all entities of one robot; the database stays the truth.

They are read once, and follow the journal of changes from then on: what persons merge, split or
forget is taken over before the next observation is compared. A file beside the database keeps
them for the next process, which reads only what changed since. Looks are told apart by the model
that made them, their length, and whether they are of a person: no others are ever compared.

An entity that persons made of things that look unlike has a group of references for each look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from emv_ros.biography.references import References, Vectors
from emv_ros.biography.rules import CONSISTENT
from emv_ros.biography.stored_looks import (
    CHUNK,
    JOINED,
    OF_ENTITIES,
    OF_ROBOT,
    alike,
    by_length,
    looks_by,
    looks_by_model,
    tied,
)
from emv_ros.memory.cache_file import read_cache, write_cache
from emv_ros.memory.changes import Mark, mark_of, since
from emv_ros.memory.clearing import CACHES
from emv_ros.memory.migrate import SCHEMA_VERSION

log = logging.getLogger(__name__)

Key = tuple[str, int, bool]  # model, length, of persons
Change = tuple[str, int]
Held = tuple[tuple[str, bool, int], list[Any]]  # model, of persons, entity; its rows
Consistent = Callable[[Session, str], float]

# Entities that one query reads anew, and of which each costs more than reading all.
RENEWED, MANY = 200, 2000
# Entities from which on a file is worth it, and the share of them that may change before the next.
SAVED_FROM, SAVED_SHARE = 256, 16
# Looks of an entity that persons made that are grouped: the latest.
TOLD_FROM = 2000

@dataclass(frozen=True, slots=True)
class Strange:
    """Changes by others: entities to be read anew, and rows of what did no more than join one."""

    entities: set[int] = field(default_factory=set)
    joined: Sequence[Any] = ()

    @property
    def cost(self) -> float:
        """What taking it over costs, in entities."""
        return len(self.entities) + len(self.joined) / 4


class Known:
    """The references of a robot's entities, by what may be compared. One thread at a time."""

    def __init__(self, robot_id: int, most: int, folder: Path | None = None,
                 consistent: Consistent = lambda session, model: CONSISTENT) -> None:
        """Hold nothing until `follow`; of each entity at most `most`.

        They are kept in a file in a memory's folder. Looks that persons told to be of one thing
        count as alike where their cosine reaches `consistent`, for a model.
        """
        self._robot_id = robot_id
        self._most = most
        self._consistent = consistent
        self._mark = Mark()
        self._left: set[Change] = set()  # what others changed and is not taken over yet
        self._references: dict[Key, References] = {}
        self._session: Session | None = None
        self._file = None if folder is None else folder / CACHES / f'looks-{robot_id}.bin'
        self._contents = f'looks 1 of schema {SCHEMA_VERSION}, robot {robot_id}, {most} of each'
        self._unsaved = 0  # entities that changed since the file was written

    def follow(self, session: Session) -> None:
        """Take over what changed in the database since the last time; the first time, read all.

        What is kept in the file need not be read.
        """
        self._session = session
        if not self._mark.id:
            self._open()
        found = since(session, self._mark) if self._mark.id else None
        strange = Strange() if found is None else self._strange(session, self._left | found[0])
        if found is None or strange.cost > max(MANY, self._size // 4):
            self._references = {}
            self._mark = mark_of(session)
            self._read(session)
            self._unsaved = self._size
        else:
            self._mark = found[1]
            self.renew(session, sorted(strange.entities))
            self._add(session, strange.joined)
        self._left = set()

    def forget(self) -> None:
        """Hold nothing again: what was added came to nothing in the database."""
        self._mark = Mark()

    def is_outdated(self) -> bool:
        """Whether the file lacks more than whoever opens it should have to read.

        A share of what there is: so each observation pays a constant for the file in the end.
        """
        return (self._file is not None and self._size >= SAVED_FROM
                and self._unsaved > max(SAVED_FROM, self._size // SAVED_SHARE))

    def save(self, session: Session) -> None:
        """Write the file, within a transaction that holds the write lock.

        Whoever forgets something is done before, and it is not in the file; or comes after, and
        deletes the file.
        """
        self.follow(session)
        if self._file is None:
            return
        keys = json.dumps(list(self._references)).encode()
        arrays = {f'{place}.{name}': array
                  for place, references in enumerate(self._references.values())
                  for name, array in references.to_arrays().items()}
        write_cache(self._file, self._contents, self._mark,
                    {'keys': np.frombuffer(keys, np.uint8), **arrays})
        self._unsaved = 0

    def settle(self, session: Session, own: set[Change]) -> None:
        """Pass over changes of our own in this transaction: what we wrote was added here, too."""
        found = since(session, self._mark)
        if found is None:
            self.forget()
        else:
            changed, self._mark = found
            self._left = changed - own
            self._unsaved += len(own)

    def get(self, model: str, length: int, is_person: bool) -> References:
        """Return the references that may be compared with looks of a model and a length."""
        key = model, length, is_person
        if key not in self._references:
            self._references[key] = References(
                length, self._most, lambda ids: self._vectors(ids, model, length))
        return self._references[key]

    def keys(self) -> list[Key]:
        """Return what is told apart, in order: model, length, and whether it is of persons."""
        return sorted(self._references)

    def drop(self, entity_id: int) -> None:
        """Forget an entity."""
        for references in self._references.values():
            references.drop(entity_id)

    def renew(self, session: Session, entity_ids: Sequence[int]) -> None:
        """Read the references of some entities anew."""
        for entity_id in entity_ids:
            self.drop(entity_id)
        for start in range(0, len(entity_ids), RENEWED):
            self._read(session, entity_ids[start:start + RENEWED])
        self._unsaved += len(entity_ids)

    @property
    def _size(self) -> int:
        return sum(map(len, self._references.values()))

    def _open(self) -> None:
        """Take over the file, with its mark, where it is good."""
        self._references = {}
        kept = None if self._file is None else read_cache(self._file, self._contents)
        if kept is None:
            return
        mark, arrays = kept
        try:
            keys = json.loads(bytes(arrays['keys']))
            for place, (model, length, is_person) in enumerate(keys):
                self.get(str(model), int(length), bool(is_person)).load(
                    {name.partition('.')[2]: array for name, array in arrays.items()
                     if name.startswith(f'{place}.')})
        except (ValueError, KeyError, TypeError) as error:
            log.warning('%s cannot be used and is made anew: %s', self._file, error)
            self._references = {}
            return
        self._mark, self._unsaved = mark, 0

    def _strange(self, session: Session, changed: set[Change]) -> Strange:
        """Return what is to be read anew after changes by others, and what only joined."""
        entities = {ref_id for kind, ref_id in changed if kind == 'entity'}
        observations = sorted(ref_id for kind, ref_id in changed if kind == 'observation')
        for references in self._references.values():
            entities |= references.holders(observations)
        joined: list[Any] = []
        for start in range(0, len(observations), CHUNK):
            joined += session.execute(JOINED, {
                'ids': observations[start:start + CHUNK], 'robot': self._robot_id}).all()
        entities |= tied(session, sorted({row.entity_id for row in joined}))
        return Strange(entities, sorted(
            (row for row in joined if row.entity_id not in entities),
            key=lambda row: (row.stamp_ns, row.id)))

    def _add(self, session: Session, joined: Sequence[Any]) -> None:
        """Take the looks of observations that joined entities of which nothing else changed."""
        for start in range(0, len(joined), RENEWED):
            of_key = defaultdict[Key, list[tuple[Any, Vectors]]](list)
            rows = {row.id: row for row in joined[start:start + RENEWED]}
            for model, looks in looks_by_model(session, list(rows)).items():
                for key, row in rows.items():
                    if key in looks:
                        of_key[model, len(looks[key]), bool(row.is_person)].append(
                            (row, looks[key]))
            for (model, length, is_person), part in of_key.items():
                references = self.get(model, length, is_person)
                references.have([row.entity_id for row, _ in part])
                for row, vector in part:
                    references.add(row.entity_id, row.id, row.stamp_ns, vector)
        self._unsaved += len(joined)

    def _read(self, session: Session, entity_ids: Sequence[int] | None = None) -> None:
        """Take the latest looks of some entities, or of all."""
        by_persons = tied(session, entity_ids)
        found = session.execute(OF_ROBOT, {'robot': self._robot_id}) if entity_ids is None else (
            session.execute(OF_ENTITIES, {'robot': self._robot_id, 'ids': entity_ids}))
        rows = sorted(found, key=lambda row: (
            row.model, row.is_person, row.entity_id, row.stamp_ns, row.id))
        lot: list[Held] = []
        for key, part in groupby(rows, key=lambda row: (
                row.model, bool(row.is_person), row.entity_id)):
            item = key, list(part)
            if key[2] in by_persons:
                self._place_groups(session, item)
                continue
            if lot and (key[0] != lot[0][0][0] or len(lot) * self._most >= CHUNK):
                self._place(session, lot)
                lot = []
            lot.append(item)
        if lot:
            self._place(session, lot)

    def _place_groups(self, session: Session, item: Held) -> None:
        """Take the looks of an entity that persons made: a group of each that are alike."""
        (model, is_person, entity_id), rows = item
        least = self._consistent(session, model)
        rows = rows[-TOLD_FROM:]
        looks = looks_by(session, model, [row.id for row in rows])
        for length, of_length in by_length(rows, looks).items():
            references = self.get(model, length, is_person)
            for group, latest in enumerate(alike(of_length, least, self._most)):
                references.place(
                    entity_id, [row.id for row, _ in latest], [row.stamp_ns for row, _ in latest],
                    np.stack([vector for _, vector in latest]).mean(axis=0), group)

    def _place(self, session: Session, lot: Sequence[Held]) -> None:
        model = lot[0][0][0]
        found = looks_by(session, model, [
            row.id for _, rows in lot for row in rows[-self._most:]])
        for (_, is_person, entity_id), rows in lot:
            held = by_length(rows[-self._most:], found)
            if sum(map(len, held.values())) < min(self._most, len(rows)) or len(held) > 1:
                # Some cannot be read, or are of another length: earlier ones take their places.
                held = by_length(rows, found | looks_by(
                    session, model, [row.id for row in rows[:-self._most]]))
            for length, of_length in held.items():
                late = of_length[-self._most:]
                self.get(model, length, is_person).place(
                    entity_id, [row.id for row, _ in late], [row.stamp_ns for row, _ in late],
                    np.stack([vector for _, vector in late]).mean(axis=0))

    def _vectors(self, ids: Sequence[int], model: str, length: int) -> tuple[list[int], Vectors]:
        """Return the looks of observations, in their order; what is gone is left out."""
        assert self._session is not None, 'references are read between follow and the next'
        found = looks_by(self._session, model, ids)
        kept = [key for key in ids if key in found and len(found[key]) == length]
        matrix = np.zeros((len(kept), length), np.float32)
        for place, key in enumerate(kept):
            matrix[place] = found[key]
        return kept, matrix
