"""What the graph reads from the database: rows of numbers, all of them or those of some ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
import zlib

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, func, literal, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema

CHUNK = 5000
# Hubs that are tied to the next of their level, or camera.
CHAINED = ('node', 'clip')
# An entity is a part of any time: its observations tell when it was met.
ALWAYS = (-2 ** 62, 2 ** 62)

Numbers = dict[str, NDArray[np.int64]]
HUB_COLUMNS = ('ref_id', 'document', 'robot', 'chain', 'start_ns', 'end_ns', 'parent')
UNIT_COLUMNS = ('ref_id', 'document', 'robot', 'start_ns', 'end_ns', 'node', 'clip', 'entity')


def read_hubs(session: Session, kind: str, ids: Sequence[int] | None = None) -> Numbers:
    """Return nodes, clips or entities by HUB_COLUMNS; what is absent is 0."""
    row: Any = schema.KINDS[kind]
    zero = literal(0)
    if kind == 'node':
        document = schema.DocumentRow
        query = select(
            row.id, func.coalesce(document.id, 0), row.robot_id, row.level, row.start_ns,
            row.end_ns, func.coalesce(row.parent_id, 0)).outerjoin(
            document, and_(document.kind == 'node', document.ref_id == row.id))
    elif kind == 'clip':
        query = select(row.id, zero, row.robot_id, row.camera, row.start_ns, row.end_ns, zero)
    else:
        query = select(row.id, zero, row.robot_id, zero, literal(ALWAYS[0]), literal(ALWAYS[1]),
                       zero)
    rows = _rows(session, query, row.id, ids)
    if kind == 'clip':
        rows = ((*item[:3], zlib.crc32(item[3].encode('utf-8', 'replace')), *item[4:])
                for item in rows)
    return _numbers(rows, HUB_COLUMNS)


def read_units(session: Session, kind: str, ids: Sequence[int] | None = None) -> Numbers:
    """Return the units of a kind that have a text by UNIT_COLUMNS; what is absent is 0."""
    document, member = schema.DocumentRow, schema.NodeMemberRow
    observation, zero = schema.ObservationRow, literal(0)
    is_seen = kind == 'observation'
    clip, entity = ((func.coalesce(observation.clip_id, 0), func.coalesce(observation.entity_id, 0))
                    if is_seen else (zero, zero))
    query = (
        select(document.ref_id, document.id, document.robot_id, document.start_ns,
               document.end_ns, func.coalesce(member.node_id, 0), clip, entity)
        .outerjoin(member, and_(member.kind == kind, member.ref_id == document.ref_id))
        .where(document.kind == kind))
    if is_seen:
        query = query.outerjoin(observation, observation.id == document.ref_id)
    return _numbers(_rows(session, query, document.ref_id, ids), UNIT_COLUMNS)


def _rows(session: Session, query: Any, column: Any,
          ids: Sequence[int] | None) -> Iterator[Sequence[Any]]:
    if ids is None:
        yield from session.execute(query.execution_options(yield_per=CHUNK))
        return
    for start in range(0, len(ids), CHUNK):
        yield from session.execute(query.where(column.in_(ids[start:start + CHUNK])))


def _numbers(rows: Iterator[Sequence[Any]], names: Sequence[str]) -> Numbers:
    parts: list[NDArray[np.int64]] = []
    waiting: list[tuple[Any, ...]] = []
    for row in rows:
        waiting.append(tuple(row))
        if len(waiting) == CHUNK:
            parts.append(np.array(waiting, np.int64))
            waiting = []
    parts.append(np.array(waiting, np.int64).reshape(-1, len(names)))
    table = np.concatenate(parts)
    return {name: table[:, at] for at, name in enumerate(names)}
