"""Corrections by a person: entities that are one, observations of another thing, names.

Each is one transaction, and is kept as verdicts on observations, so that it survives an association
made anew. An id that was merged away still answers. Nothing is guessed here: what contradicts what
was seen or told is refused, unless the person insists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from emv_ros.biography import entity_rows, verdicts
from emv_ros.biography.verdicts import Told
from emv_ros.errors import CorrectionError, NotFoundError
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.entities import standing
from emv_ros.memory.store import MemoryStore

MAX_NAME_CHARS = 200
SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What came of a correction: entities that resulted, ids of the verdicts and names behind it.

    The first entity is the one that stays; `is_new` is False where it was so already.
    """

    entities: tuple[int, ...]
    verdicts: tuple[int, ...] = ()
    namings: tuple[int, ...] = ()
    message: str = ''
    is_new: bool = True


def merge(store: MemoryStore, entity_ids: Sequence[int], *, author: str, stamp_ns: int,
          name: str = '', reason: str = '', force: bool = False) -> Correction:
    """Make entities one: the first stays, and gets the observations of the others.

    Raises NotFoundError, or CorrectionError where they cannot be the same; with `force` only where
    they are of two robots, since what was seen can be wrong.
    """
    name, told = _checked(name), Told(author=author, stamp_ns=stamp_ns, reason=reason)
    if len(set(entity_ids)) < len(entity_ids) or len(entity_ids) < 2:
        raise CorrectionError('a merge takes two entities or more, each once; given were '
                              f'{_listed(entity_ids)}')
    with store.writing() as session:
        entities, is_so = _to_merge(session, entity_ids)
        stays = entities[0]
        if is_so:
            words = f'{_listed(entity_ids)} are one entity already: e{stays.id}'
            if not name or entity_rows.is_called(stays, name):
                return Correction(entities=(stays.id,), message=words, is_new=False)
            namings = [entity_rows.call(session, stays, name, told)]
            entity_rows.renew(session, [stays.id])
            return Correction(entities=(stays.id,), namings=tuple(namings), message=words)
        _check_kind(entities, force)
        seen = entity_rows.observations_of(session, entities)
        made = _tie(session, [seen[entity.id] for entity in entities], told, force)
        names = entity_rows.take_over(session, entities)
        namings = []
        if name or len(names) > 1:  # the latest name counts: it must be that of the one that stays
            namings.append(entity_rows.call(session, stays, name or names[0], told))
        entity_rows.renew(session, [stays.id])
        return Correction(
            entities=(stays.id,), verdicts=tuple(made), namings=tuple(namings),
            message=f'{_listed([entity.id for entity in entities[1:]])} went into e{stays.id}')


def split(store: MemoryStore, entity_id: int, observation_ids: Sequence[int], *, author: str,
          stamp_ns: int, name: str = '', reason: str = '') -> Correction:
    """Make some observations of an entity an entity of their own, called `name` if given.

    Raises NotFoundError, or CorrectionError where they are none, all, or not of that entity.
    """
    name, told = _checked(name), Told(author=author, stamp_ns=stamp_ns, reason=reason)
    with store.writing() as session:
        entity = _entity(session, entity_id)
        moved = _of_one_entity(session, entity, observation_ids)
        if (known := _split_before(session, entity, moved)) is not None:
            return Correction(entities=(entity.id, known), is_new=False,
                              message=f'these observations are e{known} already')
        all_ids = entity_rows.observations_of(session, [entity])[entity.id]
        there = {row.id for row in moved}
        stay = [key for key in all_ids if key not in there]
        if not stay:
            raise CorrectionError(f'e{entity.id} has no other observations than these: '
                                  'nothing would be left of it')
        goes = [key for key in all_ids if key in there]
        made = verdicts.part(session, stay, goes, told)
        fresh = entity_rows.new_entity(session, entity.robot_id, moved)
        session.execute(update(schema.ObservationRow).where(
            among(schema.ObservationRow.id, goes)).values(entity_id=fresh.id))
        # A name that was given to the whole stays with what stays.
        session.execute(update(schema.NamingRow).where(
            among(schema.NamingRow.observation_id, goes)).values(observation_id=stay[0]))
        session.expire_all()
        namings = (entity_rows.call(session, fresh, name, told),) if name else ()
        entity_rows.renew(session, [entity.id, fresh.id])
        return Correction(entities=(entity.id, fresh.id), verdicts=tuple(made), namings=namings,
                          message=f'{len(goes)} of {len(all_ids)} observations of e{entity.id} '
                                  f'are e{fresh.id} now')


def rename(store: MemoryStore, entity_id: int, name: str, *, author: str, stamp_ns: int,
           reason: str = '') -> Correction:
    """Call an entity by a name; what it was called stays an alias.

    Raises NotFoundError, or CorrectionError for a name that is none.
    """
    name, told = _checked(name), Told(author=author, stamp_ns=stamp_ns, reason=reason)
    if not name:
        raise CorrectionError('the new name is empty')
    with store.writing() as session:
        entity = _entity(session, entity_id)
        if entity_rows.is_called(entity, name):
            return Correction(entities=(entity.id,), is_new=False,
                              message=f'e{entity.id} is called {name!r} already')
        before = entity.name
        naming = entity_rows.call(session, entity, name, told)
        entity_rows.renew(session, [entity.id])
        return Correction(entities=(entity.id,), namings=(naming,),
                          message=f'e{entity.id} is called {name!r} now'
                                  + (f', no longer {before!r}' if before not in ('', name) else ''))


def _checked(name: str) -> str:
    name = ' '.join(name.split())
    if len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise CorrectionError(f'{name[:40]!r} is no name: it must be printable, and of at most '
                              f'{MAX_NAME_CHARS} characters')
    return name


def _entity(session: Session, entity_id: int) -> Any:
    key = standing(session, [entity_id]).get(entity_id)
    if key is None:
        raise NotFoundError(f'there is no entity e{entity_id}')
    return session.get_one(schema.EntityRow, key)


def _to_merge(session: Session, entity_ids: Sequence[int]) -> tuple[list[Any], bool]:
    """Return the entities that are meant, in order, and whether they are one already."""
    now = standing(session, entity_ids)
    if missing := [key for key in entity_ids if key not in now]:
        raise NotFoundError(f'there is no entity {_listed(missing)}')
    meant = list(dict.fromkeys(now[key] for key in entity_ids))
    entities = [session.get_one(schema.EntityRow, key) for key in meant]
    if len(meant) == 1:
        return entities, True
    for key in entity_ids:
        if now[key] not in entity_ids or (key == entity_ids[0] and now[key] != key):
            raise CorrectionError(f'e{key} was merged into e{now[key]} already: '
                                  f'name e{now[key]} where that is meant')
    return entities, False


def _tie(session: Session, groups: Sequence[Sequence[int]], told: Told, force: bool) -> list[int]:
    """Say that groups of observations are one thing; return the verdicts' ids."""
    doubts = verdicts.against(session, groups)
    if doubts and not force:
        words = '; '.join(doubt.words for doubt in doubts[:SHOWN_REASONS])
        more = f', and {len(doubts) - SHOWN_REASONS} more' if len(doubts) > SHOWN_REASONS else ''
        raise CorrectionError(f'they cannot be the same: {words}{more}')
    # All of it is tied, not one of each: whatever the looks of a thing, it is one from now on. One
    # who insists says so also of the very pairs that speak against it.
    made = verdicts.tie(session, [key for keys in groups for key in keys], told)
    return made + verdicts.say(
        session, dict.fromkeys((doubt.pair for doubt in doubts), verdicts.SAME), told)


def _check_kind(entities: Sequence[Any], force: bool) -> None:
    if len({entity.robot_id for entity in entities}) > 1:
        raise CorrectionError('entities of different robots cannot be one: each robot has its own')
    if len({entity.is_person for entity in entities}) > 1 and not force:
        persons = _listed([entity.id for entity in entities if entity.is_person])
        raise CorrectionError(f'a person and a thing cannot be the same: of these {persons} is one')


def _of_one_entity(session: Session, entity: Any, observation_ids: Sequence[int]) -> list[Any]:
    """Return the rows of observations that are to leave an entity, or left it before."""
    if not observation_ids:
        raise CorrectionError('a split takes the observations that are of another thing, as o7')
    row, wanted = schema.ObservationRow, list(dict.fromkeys(observation_ids))
    rows = {item.id: item for item in session.scalars(select(row).where(among(row.id, wanted)))}
    if missing := [key for key in wanted if key not in rows]:
        raise NotFoundError('there is no observation ' + ', '.join(f'o{key}' for key in missing))
    found = [rows[key] for key in wanted]
    strange = [item for item in found if item.entity_id != entity.id]
    if strange and _split_before(session, entity, found) is None:
        item = strange[0]
        raise CorrectionError(
            f'o{item.id} is not of e{entity.id} but '
            + ('of no entity yet' if item.entity_id is None else f'of e{item.entity_id}'))
    return found


def _split_before(session: Session, entity: Any, rows: Sequence[Any]) -> int | None:
    """Return the entity that just these observations make up since they were split off this one."""
    whole = {item.entity_id for item in rows}
    other = next(iter(whole))
    if len(whole) > 1 or other in (None, entity.id):
        return None
    seen, said = schema.ObservationRow, schema.VerdictRow
    ids = set(session.scalars(select(seen.id).where(seen.entity_id == other)))
    if ids != {item.id for item in rows}:
        return None
    its = list(session.scalars(select(seen.id).where(seen.entity_id == entity.id)))
    pairs = ((said.first_id, said.second_id), (said.second_id, said.first_id))
    is_told = any(session.scalar(select(said.id).where(
        said.verdict == verdicts.DIFFERENT, among(mine, its), among(theirs, sorted(ids))).limit(1))
        for mine, theirs in pairs)
    return int(other) if is_told else None


def _listed(entity_ids: Sequence[int]) -> str:
    return ', '.join(f'e{key}' for key in entity_ids) or 'none'
