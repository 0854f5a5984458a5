"""Observations and entities by hand: stamps are seconds after noon of 1 March 2026, UTC."""

from __future__ import annotations

from typing import Any

from databases import is_postgresql, rows
import numpy as np
from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.timeline import SECOND_NS

NOON_NS = 1_772_366_400 * SECOND_NS


def see(store: MemoryStore, start_s: float, name: str = 'mug', entity_id: int | None = None,
        robot: str = 'r1', **fields: Any) -> int:
    stamp_ns = NOON_NS + round(start_s * SECOND_NS)
    return store.add(Observation(
        stamp_ns=stamp_ns, end_ns=stamp_ns + 4 * SECOND_NS, name=name, entity_id=entity_id,
        robot=robot, **fields))


def entity(store: MemoryStore, name: str = 'mug', robot: str = 'r1', is_person: bool = False,
           seen: int = 0) -> int:
    """Make an entity that was seen so often, and return its id."""
    with store.writing() as session:
        row = schema.EntityRow(robot_id=store.robot_id(session, robot), name=name,
                               is_person=is_person, attributes={})
        session.add(row)
        session.flush()
        key = int(row.id)
    for place in range(seen):
        see(store, 100 * key + 10 * place, name, key, robot, is_person=is_person)
    return key


def held(store: MemoryStore) -> dict[int | None, list[int]]:
    """Return {entity: its observations}."""
    row = schema.ObservationRow
    found: dict[int | None, list[int]] = {}
    with store.reading() as session:
        for key, entity_id in session.execute(select(row.id, row.entity_id).order_by(row.id)):
            found.setdefault(entity_id, []).append(key)
    return found


def said(store: MemoryStore) -> set[tuple[int, int, str]]:
    """Return all verdicts as (first, second, verdict)."""
    with store.reading() as session:
        return {(row.first_id, row.second_id, row.verdict)
                for row in session.scalars(select(schema.VerdictRow))}


def apart(store: MemoryStore, first_id: int, second_id: int, frames: int = 12) -> None:
    with store.writing() as session:
        session.add(schema.SeparationRow(
            first_id=first_id, second_id=second_id, shared_frames=frames))


def look(store: MemoryStore, start_s: float, direction: int, off: float = 0.0,
         name: str = 'mug', **fields: Any) -> int:
    """See something that looks like others of its direction; `off` is the sine to it."""
    key = see(store, start_s, name, **fields)
    vector = np.zeros(32, np.float32)
    vector[direction], vector[31 - direction] = np.sqrt(1 - off * off), off
    with store.writing() as session:
        session.add(schema.AppearanceRow(
            observation_id=key, model='hand', vector=vector.astype('<f4').tobytes()))
    return key


def written(memory: MemoryStore) -> object:
    """Return what grows with each write."""
    if is_postgresql():
        return rows(memory.folder, 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text')
    return (memory.folder / 'memory.db-wal').stat().st_size
