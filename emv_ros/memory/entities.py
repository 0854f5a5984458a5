"""Entities by the ids and names that they answer to, old ones included; it changes nothing.

One that was merged stands for the entity that it went into, which may have been merged itself. A
name that a person gave is the entity's own; those that it had before are its aliases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import String, cast, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.names import match_names

# In the attributes of an entity: names that it also goes or went by, and who gave it its name.
ALIASES, NAMED_BY = 'aliases', 'named_by'


def standing(session: Session, entity_ids: Iterable[int]) -> dict[int, int]:
    """Return, of the entities that exist, the one that each stands for now: most for themselves."""
    row = schema.EntityRow
    into: dict[int, int | None] = {}
    wanted = set(entity_ids)
    while wanted:
        found: dict[int, int | None] = {item.id: item.merged_into for item in session.execute(
            select(row.id, row.merged_into).where(among(row.id, sorted(wanted))))}
        into |= found
        wanted = {key for key in found.values() if key is not None and key not in into}
    return {key: _end(key, into) for key in into}


def _end(key: int, into: dict[int, int | None]) -> int:
    passed = {key}
    while (following := into.get(key)) is not None and following in into and (
            following not in passed):  # a ring, which nothing here makes, has no end
        key = following
        passed.add(key)
    return key


def stands_for(session: Session, entity_id: int) -> int | None:
    """Return the entity that an id stands for now, or None where it names none."""
    return standing(session, [entity_id]).get(entity_id)


def merged_ids(session: Session, entity_ids: Collection[int]) -> dict[int, list[int]]:
    """Return, of entities, the ids of those that were merged into each, at whatever remove."""
    row = schema.EntityRow
    found: dict[int, list[int]] = {}
    known = {key: key for key in entity_ids}
    fresh = list(known)
    while fresh:
        rows = session.execute(select(row.id, row.merged_into).where(
            among(row.merged_into, fresh)).order_by(row.id)).all()
        fresh = []
        for key, target in rows:
            if key not in known and target is not None:
                known[key] = known[target]
                found.setdefault(known[key], []).append(key)
                fresh.append(key)
    return {key: sorted(keys) for key, keys in found.items()}


def aliases_of(attributes: dict[str, Any]) -> tuple[str, ...]:
    """Return the other names in the attributes of an entity."""
    told = attributes.get(ALIASES)
    return tuple(str(name) for name in told) if isinstance(told, list) else ()


def given_names(session: Session, entity_ids: Iterable[int]) -> dict[int, str]:
    """Return the names that persons gave to entities; those without one are left out."""
    row, ids = schema.EntityRow, sorted(set(entity_ids))
    if not ids:
        return {}
    return {key: name for key, name, attributes in session.execute(
        select(row.id, row.name, row.attributes).where(among(row.id, ids)))
        if name and NAMED_BY in attributes}


def entities_called(session: Session, asked: str) -> list[int]:
    """Return the entities whose name, or one of whose aliases, is meant by `asked`."""
    row = schema.EntityRow
    names = session.scalars(select(row.name).where(row.merged_into.is_(None)).distinct()).all()
    others: dict[str, list[int]] = {}
    for key, attributes in session.execute(select(row.id, row.attributes).where(
            row.merged_into.is_(None), cast(row.attributes, String).contains(f'"{ALIASES}"'))):
        for alias in aliases_of(attributes):
            others.setdefault(alias, []).append(key)
    meant = match_names(asked, {*names, *others})
    found = {key for name in meant for key in others.get(name, ())}
    found.update(_named(session, [name for name in meant if name in set(names)]))
    return sorted(found)


def _named(session: Session, names: Sequence[str]) -> Iterable[int]:
    row = schema.EntityRow
    return session.scalars(select(row.id).where(
        row.name.in_(names), row.merged_into.is_(None))) if names else ()
