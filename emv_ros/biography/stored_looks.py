"""Looks as the database has them, for the references of entities; nothing is held here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, or_, select
from sqlalchemy.orm import Session

from emv_ros.biography.references import Vectors
from emv_ros.biography.verdicts import SAME
from emv_ros.biography.waiting import as_vectors
from emv_ros.memory import schema
from emv_ros.memory.among import Numbers, among

# Observations that one query takes.
CHUNK = 2000
# Groups that the looks of an entity are sorted into, at most.
MAX_GROUPS = 8

_SEEN: Any = schema.ObservationRow.__table__.c
_LOOKS: Any = schema.AppearanceRow.__table__.c
_SAID: Any = schema.VerdictRow.__table__.c
_IDS = bindparam('ids', type_=Numbers())
_VECTORS = select(_LOOKS.observation_id, _LOOKS.vector).where(
    among(_LOOKS.observation_id, _IDS), _LOOKS.model == bindparam('model'))
_OF_ALL_MODELS = select(_LOOKS.observation_id, _LOOKS.model, _LOOKS.vector).where(
    among(_LOOKS.observation_id, _IDS))
JOINED = select(_SEEN.id, _SEEN.entity_id, _SEEN.stamp_ns, _SEEN.is_person).where(
    among(_SEEN.id, _IDS), _SEEN.entity_id.is_not(None), _SEEN.robot_id == bindparam('robot'))
# Which observation of which entity has looks, and by whom: an index tells, the looks stay unread.
_HELD: Any = (select(_SEEN.entity_id, _SEEN.stamp_ns, _SEEN.id, _SEEN.is_person, _LOOKS.model)
              .select_from(schema.AppearanceRow.__table__.join(
                  schema.ObservationRow.__table__, _SEEN.id == _LOOKS.observation_id)))
OF_ROBOT: Any = _HELD.where(
    _SEEN.robot_id == bindparam('robot'), _SEEN.entity_id.is_not(None))
OF_ENTITIES: Any = _HELD.where(
    _SEEN.robot_id == bindparam('robot'), among(_SEEN.entity_id, _IDS))


def looks_by(session: Session, model: str, observation_ids: Sequence[int]) -> dict[int, Vectors]:
    """Return the looks of observations by one model that can be read."""
    found: dict[int, Vectors] = {}
    for start in range(0, len(observation_ids), CHUNK):
        found |= as_vectors(session.execute(
            _VECTORS, {'ids': observation_ids[start:start + CHUNK], 'model': model}))
    return found


def looks_by_model(session: Session,
                   observation_ids: Sequence[int]) -> dict[str, dict[int, Vectors]]:
    """Return the looks of observations that can be read, by their model and their ids."""
    stored = defaultdict[str, list[tuple[int, bytes]]](list)
    for key, model, data in session.execute(_OF_ALL_MODELS, {'ids': list(observation_ids)}):
        stored[model].append((key, data))
    return {model: as_vectors(part) for model, part in stored.items()}


def tied(session: Session, entity_ids: Sequence[int] | None) -> set[int]:
    """Return the entities, of some or of all, that persons told observations to be one of."""
    if session.scalar(select(_SAID.id).where(_SAID.verdict == SAME).limit(1)) is None:
        return set()
    query = select(_SEEN.entity_id).join_from(
        schema.ObservationRow.__table__, schema.VerdictRow.__table__,
        or_(_SAID.first_id == _SEEN.id, _SAID.second_id == _SEEN.id)).where(
            _SAID.verdict == SAME, _SEEN.entity_id.is_not(None)).distinct()
    if entity_ids is None:
        return set(session.scalars(query))
    return set(session.scalars(query.where(among(_SEEN.entity_id, _IDS)),
                               {'ids': entity_ids}))


def by_length(rows: Iterable[Any], looks: Mapping[int, Vectors]) -> dict[int, list[tuple[
        Any, Vectors]]]:
    """Return the rows that have looks with these, by their length."""
    found = defaultdict[int, list[tuple[Any, Vectors]]](list)
    for row in rows:
        if row.id in looks:
            found[len(looks[row.id])].append((row, looks[row.id]))
    return found


def alike(looks: Sequence[tuple[Any, Vectors]], least: float,
           most: int) -> list[list[tuple[Any, Vectors]]]:
    """Return looks, in order of time, by groups: the latest of each, consistent with one another.

    When there are many groups, what is like none goes to the one that it is the least unlike.
    """
    groups: list[list[tuple[Any, Vectors]]] = []
    for row, vector in looks:
        worst = [min(float(held @ vector) for _, held in group) for group in groups]
        best = max(range(len(groups)), key=worst.__getitem__, default=None)
        if best is None or (worst[best] < least and len(groups) < MAX_GROUPS):
            groups.append([(row, vector)])
        else:
            groups[best] = [*groups[best], (row, vector)][-most:]
    return groups
