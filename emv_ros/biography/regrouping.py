"""Entities as a reconsideration leaves them, written in one transaction; it judges nothing.

The greatest overlap keeps the id; an id that is left over answers for the entity that holds most of
what it held; what leaves all of them is a new entity. A name that a person gave goes with the
observation that it was given to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from emv_ros.biography import entity_rows
from emv_ros.biography.joining import EntityWriter
from emv_ros.biography.relabelling import give_names, kept_ids
from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.among import among


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Observations that moved; entities that went into others, are new, or changed at all."""

    moved: tuple[int, ...]
    gone: tuple[int, ...]
    made: tuple[int, ...]
    changed: tuple[int, ...]


def regroup(session: Session, robot_id: int, before: Mapping[int, Sequence[int]],
            groups: Sequence[Sequence[int]]) -> Regrouped:
    """Make entities of `groups`, which hold the observations of `before`, {entity: its own}."""
    row = schema.ObservationRow
    kept = kept_ids(before, {ref: place for place, keys in enumerate(groups) for ref in keys})
    made: list[int] = []
    holder: dict[int, int] = {}
    for place, keys in enumerate(groups):
        if place not in kept:
            rows = session.scalars(select(row).where(among(row.id, list(keys)))).all()
            made.append(int(entity_rows.new_entity(session, robot_id, rows).id))
            kept[place] = made[-1]
        holder.update(dict.fromkeys(keys, kept[place]))
    entity_of = {ref: key for key, keys in before.items() for ref in keys}
    moved = sorted(ref for ref, key in holder.items() if entity_of[ref] != key)
    _move(session, {ref: holder[ref] for ref in moved})
    gone = _send_on(session, before, holder)
    changed = sorted({*(holder[ref] for ref in moved), *(entity_of[ref] for ref in moved)})
    alive = [key for key in changed if key not in gone]
    give_names(session, robot_id, before, alive)
    writer = EntityWriter(session, robot_id)
    writer.touch(alive)
    writer.write()
    renew_documents(session, 'observation', session.scalars(
        select(row).where(among(row.id, moved)).order_by(row.id)).all())
    session.flush()
    return Regrouped(tuple(moved), tuple(gone), tuple(made), tuple(changed))


def _move(session: Session, to: Mapping[int, int]) -> None:
    table: Any = schema.ObservationRow.__table__
    if to:
        session.connection().execute(
            update(table).where(table.c.id == bindparam('of')).values(entity_id=bindparam('to')),
            [{'of': ref, 'to': key} for ref, key in to.items()])
    session.expire_all()


def _send_on(session: Session, before: Mapping[int, Sequence[int]],
             holder: Mapping[int, int]) -> list[int]:
    """Let the ids that hold nothing any more stand for what holds most of theirs."""
    alive, gone = set(holder.values()), []
    for key, keys in before.items():
        if key not in alive and keys:
            most = Counter(holder[ref] for ref in keys).most_common(1)[0][0]
            session.get_one(schema.EntityRow, key).merged_into = most
            gone.append(key)
    session.flush()
    return gone
