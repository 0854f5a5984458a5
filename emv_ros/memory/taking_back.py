"""Taking back what an unfinished import of an export brought in, row by row and picture by picture.

Its ids were set aside for it alone, so that all in these ranges is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, select

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.export_format import KINDS, Kind
from emv_ros.memory.gone_pictures import is_needed
from emv_ros.memory.imports import note_of, put_note
from emv_ros.memory.store import MemoryStore

LOT = 1000


def take_back(store: MemoryStore, robot: str, sha256: str) -> int:
    """Remove all that an unfinished import brought in, then its note; return how many rows.

    It can be cut off and repeated.
    """
    with store.reading() as session:
        note = note_of(session, robot, sha256)
    if note is None or note['is_done'] or 'export' not in note:
        return 0
    its, removed = note['export'], 0
    for kind in reversed(KINDS):
        while count := _remove_some(store, kind, its):
            removed += count
    with store.writing() as session:
        session.execute(delete(schema.StateRow).where(schema.StateRow.key.in_(its['keys'])))
        session.execute(delete(schema.RobotRow).where(
            schema.RobotRow.name.in_(its['made']),
            ~select(schema.SessionRow.id).where(
                schema.SessionRow.robot_id == schema.RobotRow.id).exists()))
        put_note(session, robot, sha256, None)
    return removed


def _remove_some(store: MemoryStore, kind: Kind, its: Mapping[str, Any]) -> int:
    row, base = kind.row, its['bases'].get(kind.name, 0)
    top = base + its['highest'].get(kind.name, 0)
    files: list[tuple[str, str]] = []
    with store.writing() as session:
        ids = list(session.scalars(select(row.id).where(
            row.id > base, row.id <= top).order_by(row.id).limit(LOT)))
        if not ids:
            return 0
        if kind.name == 'image':
            files = [(sha256, media_type) for sha256, media_type in session.execute(
                select(row.sha256, row.media_type).where(among(row.id, ids)).distinct())]
        document = schema.DocumentRow
        session.execute(delete(document).where(
            document.kind == kind.name, among(document.ref_id, ids)))
        session.execute(delete(row).where(among(row.id, ids)))
        files = [file for file in files if not is_needed(session, *file)]
    for file in files:
        store.pictures.delete(*file)
    return len(ids)
