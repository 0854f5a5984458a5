"""Which of the entities that an association made anew are those of before: ids and names for them.

The greatest overlap keeps the id; an id that is left over answers for the entity that holds most of
what it held. A name that a person gave goes with the observation that it was given to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.orm import Session

from emv_ros.biography import entity_rows, verdicts
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.entities import NAMED_BY, aliases_of

Members = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Relabelled:
    """How many entities kept their id, are new, and went into others."""

    kept: int = 0
    new: int = 0
    gone: int = 0


def relabel(session: Session, robot_id: int, before: Members) -> Relabelled:
    """Give a robot's entities the ids of those of `before`, {entity: its observations}."""
    entity = schema.EntityRow
    there = set(session.scalars(select(entity.id).where(among(entity.id, list(before)))))
    before = {key: ids for key, ids in before.items() if key in there}
    _bring_back(session, robot_id, before)
    holder = _holders(session, robot_id)
    kept = kept_ids(before, holder)
    _move(session, kept)
    holder = {key: kept.get(entity_id, entity_id) for key, entity_id in holder.items()}
    gone = _send_on(session, before, holder, set(kept.values()))
    give_names(session, robot_id, before)
    alive = set(holder.values())
    return Relabelled(len(alive & set(kept.values())), len(alive - set(kept.values())), gone)


def _holders(session: Session, robot_id: int) -> dict[int, int]:
    row = schema.ObservationRow
    return {item.id: item.entity_id for item in session.execute(select(
        row.id, row.entity_id).where(row.robot_id == robot_id, row.entity_id.is_not(None)))}


def _bring_back(session: Session, robot_id: int, before: Members) -> None:
    """Let observations that nothing tells of any more be where they were, beside most others."""
    row, holder = schema.ObservationRow, _holders(session, robot_id)
    there = set(session.scalars(select(row.id).where(
        row.robot_id == robot_id, row.entity_id.is_(None))))
    members: dict[int, list[int]] = {}
    for key, entity_id in holder.items():
        members.setdefault(entity_id, []).append(key)
    put: list[dict[str, int]] = []
    for old, keys in before.items():
        left = [key for key in keys if key in there]
        if not left:
            continue
        most = Counter(holder[key] for key in keys if key in holder).most_common(1)
        target = most[0][0] if most else old
        if most and verdicts.against(session, (left, members[target])):
            rows = session.scalars(select(row).where(among(row.id, left))).all()
            target = entity_rows.new_entity(session, robot_id, rows).id
        put += [{'of': key, 'to': target} for key in left]
    if put:
        table: Any = row.__table__
        session.connection().execute(
            update(table).where(table.c.id == bindparam('of')).values(entity_id=bindparam('to')),
            put)
    session.expire_all()


def kept_ids(before: Members, holder: Mapping[int, int]) -> dict[int, int]:
    """Return {what observations have now: the id that it had}, for those that had one.

    The greatest overlap counts, of equal ones that with the older id.
    """
    shared = Counter((holder[key], old) for old, keys in before.items()
                     for key in keys if key in holder)
    kept: dict[int, int] = {}
    taken: set[int] = set()
    for (made, old), _ in sorted(shared.items(), key=lambda item: (-item[1], item[0][1],
                                                                   item[0][0])):
        if made not in kept and old not in taken:
            kept[made] = old
            taken.add(old)
    return kept


def _move(session: Session, kept: Mapping[int, int]) -> None:
    """Put what entities hold and are under their old ids; the rows made meanwhile go."""
    changed = {made: old for made, old in kept.items() if made != old}
    entity = schema.EntityRow
    rows = {row.id: row for row in session.scalars(select(entity).where(
        among(entity.id, sorted({*changed, *changed.values()}))))}
    for made, old in changed.items():
        fresh, row = rows[made], rows[old]
        row.is_person = fresh.is_person
        if NAMED_BY not in row.attributes:
            row.name = fresh.name
        row.attributes = {**row.attributes, **fresh.attributes}
    for old in kept.values():
        if old in rows:
            rows[old].merged_into = None
    session.flush()
    pointing: tuple[tuple[Any, str], ...] = (
        (schema.ObservationRow.__table__, 'entity_id'), (entity.__table__, 'merged_into'))
    for table, column in pointing:
        if changed:
            session.connection().execute(
                update(table).where(table.c[column] == bindparam('made')).values(
                    {column: bindparam('old')}),
                [{'made': made, 'old': old} for made, old in changed.items()])
    session.execute(delete(entity).where(among(entity.id, list(changed))),
                    execution_options={'synchronize_session': False})
    session.expire_all()


def _send_on(session: Session, before: Members, holder: Mapping[int, int],
             alive: set[int]) -> int:
    """Let ids that are left over stand for the entity that holds most of what they held."""
    gone = 0
    for old, keys in before.items():
        if old in alive:
            continue
        most = Counter(holder[key] for key in keys if key in holder).most_common(1)
        row = session.get(schema.EntityRow, old)
        if most and row is not None:
            row.merged_into = most[0][0]
            gone += 1
    session.flush()
    return gone


def give_names(session: Session, robot_id: int, before: Members,
               entity_ids: Sequence[int] | None = None) -> None:
    """Give each entity, of some or all, the latest name that a person gave to one of its own."""
    naming, seen, entity = schema.NamingRow, schema.ObservationRow, schema.EntityRow
    given: dict[int, list[Any]] = {}
    named: set[int] = set()
    some = () if entity_ids is None else (among(seen.entity_id, entity_ids),)
    for told, entity_id in session.execute(
            select(naming, seen.entity_id).join(seen, seen.id == naming.observation_id)
            .where(seen.robot_id == robot_id, *some).order_by(naming.id)):
        if entity_id is not None:
            given.setdefault(entity_id, []).append(told)
            named.add(told.observation_id)
    touched = []
    some = () if entity_ids is None else (among(entity.id, entity_ids),)
    for row in session.scalars(select(entity).where(
            entity.robot_id == robot_id, entity.merged_into.is_(None), *some)):
        names = given.get(row.id, [])
        # A name whose observation was forgotten stays with the id; one that moved does not.
        has_left = not names and NAMED_BY in row.attributes and bool(
            named & set(before.get(row.id, ())))
        if not names and not has_left:
            continue
        touched.append(row.id)
        others = (*aliases_of(row.attributes), row.name, *(item.name for item in names[:-1]))
        attributes = {key: value for key, value in row.attributes.items() if key != NAMED_BY}
        if names:
            row.name = names[-1].name
            attributes[NAMED_BY] = names[-1].author
        else:
            row.name = _usual_name(session, row.id) or row.name
        row.attributes = attributes
        entity_rows.set_aliases(row, others)
    session.flush()
    entity_rows.renew(session, touched)


def _usual_name(session: Session, entity_id: int) -> str:
    row = schema.ObservationRow
    names = Counter(session.scalars(select(row.name).where(row.entity_id == entity_id)))
    return names.most_common(1)[0][0] if names else ''
