"""The lives of things and persons: which there are, their observations, others of their name.

A thing is an entity, which answers to the ids of those that were merged into it; where nobody has
associated it yet, the instance that its source vouches for; else no more than a name of one robot.
Everything is read from rows, a page of things at a time, and nothing is judged here: that two were
seen apart, or told apart by a person, stands in the memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy import and_, false, func, or_, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.entities import aliases_of, entities_called, merged_ids, standing
from emv_ros.memory.names import names_like
from emv_ros.memory.queries import ALL, Window, seen_as_of, within
from emv_ros.memory.rows import record_of
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ID_LETTERS, Observation

CHUNK = 900
SEEN_APART, TOLD_APART = 'seen apart', 'told apart'


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One thing with its observations in a window, in order of time; at least one."""

    id: str  # of an entity as people see it, e3; else the instance, else the name
    entity_id: int | None
    name: str
    is_person: bool
    observations: tuple[Observation, ...]
    different: tuple[int, ...] = ()  # entities of the same name that are certainly others
    unresolved: tuple[int, ...] = ()  # of which nobody can tell
    reasons: Mapping[int, str] = field(default_factory=dict)  # of `different`: SEEN_ or TOLD_APART
    aliases: tuple[str, ...] = ()  # what the entity is or was called besides
    merged: tuple[int, ...] = ()  # entities that were merged into it


@dataclass(frozen=True, slots=True)
class _Thing:
    entity_id: int | None
    robot_id: int
    instance: str
    name: str  # '' where an entity or an instance tells it


@dataclass(frozen=True, slots=True)
class _Around:
    """What entities are told from, and what was merged into each."""

    namesakes: dict[int, list[tuple[int, str]]]
    merged: dict[int, list[int]]


def lives(store: MemoryStore, window: Window = ALL, *, ids: Collection[str] = (), name: str = '',
          limit: int | None = None, offset: int = 0) -> tuple[list[Life], int]:
    """Return things that were observed in the window, by when they first were, and how many fit.

    `ids` are those of entities (e3), or instances that a source vouches for; `name` is one of the
    names of the observations, or the entity's own.
    """
    row = schema.ObservationRow
    with store.reading() as session:
        query = within(store, session, select(
            row.entity_id, row.robot_id, row.instance, row.name, func.min(row.stamp_ns)), row,
            window)
        if ids:
            query = query.where(_are(session, ids))
        if name:
            named = entities_called(session, name)
            # The index of names begins with the robot.
            robots = list(store.robot_ids(session, window.robots))
            query = query.where(or_(
                and_(row.robot_id.in_(robots), row.name.in_(names_like(session, row.name, name))),
                row.entity_id.in_(named)))
        found: dict[_Thing, int] = {}
        for entity_id, robot_id, instance, called, first_ns in session.execute(
                query.group_by(row.entity_id, row.robot_id, row.instance, row.name)):
            thing = _thing(entity_id, robot_id, instance, called)
            found[thing] = min(first_ns, found.get(thing, first_ns))
        ordered = sorted(found, key=lambda thing: (found[thing], thing.entity_id or 0,
                                                   thing.instance, thing.name))
        page = ordered[offset:] if limit is None else ordered[offset:offset + limit]
        keys = [thing.entity_id for thing in page if thing.entity_id is not None]
        around = _Around(namesakes(session, keys, window.before_ns),
                         _merged(session, keys, window.before_ns))
        return [_life(store, session, thing, window, around) for thing in page], len(ordered)


def namesakes(session: Session, entity_ids: Iterable[int],
              before_ns: int | None = None,
              most: int | None = None) -> dict[int, list[tuple[int, str]]]:
    """Return, of entities, others of the same robot and name, and why they certainly are others.

    The reason is SEEN_APART or TOLD_APART, '' where nobody can tell. At most `most` of each. What
    was met or told only at `before_ns` and later is not known yet.
    """
    entity, ids = schema.EntityRow, list(entity_ids)
    own = {key: (robot_id, name) for part in _parts(ids) for key, robot_id, name in session.execute(
        select(entity.id, entity.robot_id, entity.name).where(entity.id.in_(part)))}
    others: dict[tuple[int, str], list[int]] = {}
    for told in {told for told in own.values() if told[1]}:
        of_name = select(entity.id).where(
            entity.name == told[1], entity.robot_id == told[0],
            entity.merged_into.is_(None)).order_by(entity.id)
        if most is not None and before_ns is None:  # a name may be that of hundreds
            of_name = of_name.limit(most + len(own))
        others[told] = list(session.scalars(of_name))
    apart = _apart(session, [key for key in own if len(others.get(own[key], ())) > 1], before_ns)
    found: dict[int, list[tuple[int, str]]] = {}
    for key, told in own.items():
        is_known = (other for other in others.get(told, ()) if other != key
                    and (before_ns is None or _was_met(session, other, before_ns)))
        reasons = apart.get(key, {})
        found[key] = [(other, reasons.get(other, '')) for other in islice(is_known, most)]
    return found


def _thing(entity_id: int | None, robot_id: int, instance: str, name: str) -> _Thing:
    if entity_id is not None:
        return _Thing(entity_id, 0, '', '')
    return _Thing(None, robot_id, instance, '' if instance else name)


def _are(session: Session, ids: Collection[str]) -> Any:
    row, letter = schema.ObservationRow, ID_LETTERS['entity']
    numbers = {int(text[1:]) for text in ids
               if text[:1] == letter and text[1:].isascii() and text[1:].isdigit()
               and len(text) < 20}
    return or_(false(), row.entity_id.in_(set(standing(session, numbers).values())),
               and_(row.instance != '', row.instance.in_(ids)))


def _life(store: MemoryStore, session: Session, thing: _Thing, window: Window,
          around: _Around) -> Life:
    row = schema.ObservationRow
    if thing.entity_id is not None:
        is_its = row.entity_id == thing.entity_id
    else:
        is_its = and_(row.entity_id.is_(None), row.robot_id == thing.robot_id,
                      row.instance == thing.instance,
                      *([row.name == thing.name] if thing.name else ()))
    robots = store.robot_ids(session)
    rows = session.scalars(within(store, session, select(row).where(is_its), row, window)
                           .order_by(row.stamp_ns, row.id))
    seen: list[Observation] = [
        record_of('observation', item, robots[item.robot_id]) for item in rows]
    seen = [seen_as_of(item, window.before_ns) for item in seen]
    entity = None if thing.entity_id is None else session.get(schema.EntityRow, thing.entity_id)
    told = around.namesakes.get(thing.entity_id or 0, ())
    name, aliases = _names(session, entity, seen, window.before_ns)
    return Life(
        id=f'{ID_LETTERS["entity"]}{thing.entity_id}' if thing.entity_id is not None
        else thing.instance or thing.name,
        entity_id=thing.entity_id, name=name or seen[0].name,
        is_person=any(item.is_person for item in seen) or bool(entity and entity.is_person),
        observations=tuple(seen), different=tuple(key for key, reason in told if reason),
        unresolved=tuple(key for key, reason in told if not reason),
        reasons={key: reason for key, reason in told if reason},
        aliases=aliases,
        merged=tuple(around.merged.get(thing.entity_id or 0, ())))


def _names(session: Session, entity: Any, seen: Sequence[Observation],
           before_ns: int | None) -> tuple[str, tuple[str, ...]]:
    """Return what an entity is called, and its other names, as they were known at `before_ns`."""
    if entity is None:
        return '', ()
    if before_ns is None:
        return entity.name, aliases_of(entity.attributes)
    row, naming = schema.ObservationRow, schema.NamingRow
    given = session.scalars(select(naming.name).join(row, row.id == naming.observation_id).where(
        row.entity_id == entity.id, naming.stamp_ns < before_ns).order_by(naming.id)).all()
    usual = Counter(item.name for item in seen if item.name)
    name = given[-1] if given else min(usual, key=lambda word: (-usual[word], word), default='')
    known = {*given, *usual} - {name}
    return name, tuple(word for word in (*aliases_of(entity.attributes), entity.name)
                       if word in known)


def _merged(session: Session, entity_ids: Sequence[int],
            before_ns: int | None) -> dict[int, list[int]]:
    """Return, of entities, the ids that were merged into each, as far as that was known.

    An entity keeps no time of a merge, but what was said for it has one: where a person told two of
    its observations to be the same only at `before_ns` and later, its old ids are left out.
    """
    found, seen, said = merged_ids(session, entity_ids), schema.ObservationRow, schema.VerdictRow
    if before_ns is None or not found:
        return found
    later = set[int | None]()
    for part in _parts(list(found)):
        for end in (said.first_id, said.second_id):
            later.update(session.scalars(select(seen.entity_id).join(said, end == seen.id).where(
                seen.entity_id.in_(part), said.verdict == 'same', said.stamp_ns >= before_ns)))
    return {key: ids for key, ids in found.items() if key not in later}


def _apart(session: Session, entity_ids: Sequence[int],
           before_ns: int | None) -> dict[int, dict[int, str]]:
    """Return, of entities, those that were seen apart from them, or told apart by a person."""
    seen, found = schema.ObservationRow, dict[int, dict[int, str]]()
    for table, reason in ((schema.SeparationRow, SEEN_APART), (schema.VerdictRow, TOLD_APART)):
        if session.execute(select(table.first_id).limit(1)).first() is None:
            continue  # most memories hold no verdict at all
        for mine, theirs in ((table.first_id, table.second_id), (table.second_id, table.first_id)):
            other = select(seen.id, seen.entity_id, seen.stamp_ns).subquery()
            for part in _parts(entity_ids):
                query = (select(seen.entity_id, other.c.entity_id).join(table, mine == seen.id)
                         .join(other, other.c.id == theirs)
                         .where(seen.entity_id.in_(part), other.c.entity_id.is_not(None)))
                if table is schema.VerdictRow:
                    query = query.where(schema.VerdictRow.verdict == 'different')
                if before_ns is not None:
                    query = query.where(seen.stamp_ns < before_ns, other.c.stamp_ns < before_ns)
                    if table is schema.VerdictRow:
                        query = query.where(schema.VerdictRow.stamp_ns < before_ns)
                for key, apart in session.execute(query.distinct()):
                    found.setdefault(key, {})[apart] = reason
    return found


def _was_met(session: Session, entity_id: int, before_ns: int) -> bool:
    row = schema.ObservationRow
    return session.scalar(select(row.id).where(
        row.entity_id == entity_id, row.stamp_ns < before_ns).limit(1)) is not None


def _parts(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (items[start:start + CHUNK] for start in range(0, len(items), CHUNK))
