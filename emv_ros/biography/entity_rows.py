"""Entities as rows that change: what they hold, what they are called, what they went into.

It judges nothing; corrections by persons and an association made anew go through it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from emv_ros.biography.verdicts import Told
from emv_ros.errors import CorrectionError
from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.among import among
from emv_ros.memory.entities import ALIASES, NAMED_BY, aliases_of


def observations_of(session: Session, entities: Sequence[Any]) -> dict[int, list[int]]:
    """Return the observations of entities in order of time. Raises CorrectionError for none."""
    row = schema.ObservationRow
    found: dict[int, list[int]] = {entity.id: [] for entity in entities}
    for key, entity_id in session.execute(
            select(row.id, row.entity_id).where(among(row.entity_id, list(found)))
            .order_by(row.stamp_ns, row.id)):
        if entity_id is not None:
            found[entity_id].append(key)
    for entity_id, keys in found.items():
        if not keys:
            raise CorrectionError(f'e{entity_id} has no observations')
    return found


def take_over(session: Session, entities: Sequence[Any]) -> list[str]:
    """Move all observations to the first entity; return the names that persons gave, its first."""
    stays, *others = entities
    seen = schema.ObservationRow
    session.execute(update(seen).where(
        among(seen.entity_id, [entity.id for entity in others])).values(entity_id=stays.id))
    given = [entity.name for entity in entities if NAMED_BY in entity.attributes]
    names = [name for entity in entities
             for name in (entity.name, *aliases_of(entity.attributes))]
    for entity in others:
        entity.merged_into = stays.id
    if given and NAMED_BY not in stays.attributes:
        giver = next(entity for entity in others if NAMED_BY in entity.attributes)
        stays.name = given[0]
        stays.attributes = {**stays.attributes, NAMED_BY: giver.attributes[NAMED_BY]}
    set_aliases(stays, names)
    session.flush()
    session.expire_all()
    return given


def set_aliases(entity: Any, names: Sequence[str]) -> None:
    """Let an entity be found by names other than its own."""
    others = [name for name in dict.fromkeys(names) if name not in ('', entity.name)]
    kept = {key: value for key, value in entity.attributes.items() if key != ALIASES}
    entity.attributes = {**kept, ALIASES: others} if others else kept


def call(session: Session, entity: Any, name: str, told: Told) -> int:
    """Give an entity a name by way of its first observation; return the naming's id."""
    seen = schema.ObservationRow
    first = session.scalar(select(seen.id).where(seen.entity_id == entity.id)
                           .order_by(seen.stamp_ns, seen.id).limit(1))
    if first is None:
        raise CorrectionError(f'e{entity.id} has no observations, which is what a name stays with')
    row = schema.NamingRow(observation_id=first, name=name, author=told.author,
                           stamp_ns=told.stamp_ns, reason=told.reason)
    session.add(row)
    names = (*aliases_of(entity.attributes), entity.name)
    entity.name = name
    entity.attributes = {**entity.attributes, NAMED_BY: told.author}
    set_aliases(entity, names)
    session.flush()
    return int(row.id)


def is_called(entity: Any, name: str) -> bool:
    """Whether a person gave the entity this name."""
    return entity.name == name and NAMED_BY in entity.attributes


def new_entity(session: Session, robot_id: int, rows: Sequence[Any]) -> Any:
    """Return a new entity, called as most of some observations are."""
    names = Counter(item.name for item in rows)
    fresh = schema.EntityRow(
        robot_id=robot_id, name=names.most_common(1)[0][0],
        is_person=any(item.is_person for item in rows), attributes={})
    session.add(fresh)
    session.flush()
    return fresh


def renew(session: Session, entity_ids: Sequence[int]) -> None:
    """Let observations be found by what their entity is called."""
    row = schema.ObservationRow
    renew_documents(session, 'observation', session.scalars(
        select(row).where(among(row.entity_id, list(entity_ids))).order_by(row.id)).all())
    session.flush()
