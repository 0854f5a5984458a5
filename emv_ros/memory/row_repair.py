"""Rows that point to what is gone, searchable texts that are missing, and an index out of step.

Each function mends one kind in a transaction and says in words what it found. A robot or a session
that is gone is made again, since records belong to it; other rows that cannot be without what they
pointed to go, and links that may be empty are emptied.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from emv_ros.errors import StoreError
from emv_ros.memory import schema
from emv_ros.memory.adding import CHUNK, DOCUMENTED, renew_documents
from emv_ros.memory.store import MemoryStore

# Compares the index with each text; 1 says so.
CHECK_TEXTS = "INSERT INTO document_text(document_text, rank) VALUES ('integrity-check', 1)"
FOUND_AGAIN = 'found again by emv doctor'


def mend_rows(store: MemoryStore) -> list[str]:
    """Mend links, members and searchable texts; return what was mended, in words."""
    with store.writing() as session:
        return [*_mend_links(session), *_mend_members(session), *_mend_documents(session)]


def mend_text_index(store: MemoryStore) -> list[str]:
    """Make the full-text index anew where it does not agree with the texts."""
    try:
        with store.writing() as session:
            session.connection().exec_driver_sql(CHECK_TEXTS)
            return []
    except StoreError as error:
        if 'is damaged' not in str(error):  # what SQLite says of an index that does not agree, too
            raise
    with store.writing() as session:
        session.connection().exec_driver_sql(
            "INSERT INTO document_text(document_text) VALUES ('rebuild')")
    return ['the full-text index did not agree with the texts, and was made anew']


def _mend_links(session: Session) -> list[str]:
    run = session.connection().exec_driver_sql
    counts: Counter[str] = Counter()
    # One that goes may leave others without what they pointed to.
    while broken := run('PRAGMA foreign_key_check').fetchall():
        for table, rowid, parent, number in broken:
            link = next(row for row in run(f'PRAGMA foreign_key_list({table})') if row[0] == number)
            column, rule = link[3], link[6]
            if parent in ('robot', 'session') and rule == 'NO ACTION':
                _make_again(session, table, rowid, parent, counts)
            elif rule == 'SET NULL':
                run(f'UPDATE {table} SET {column} = NULL WHERE rowid = ?', (rowid,))
                counts[f'links of {table} to {parent} emptied'] += 1
            else:
                run(f'DELETE FROM {table} WHERE rowid = ?', (rowid,))
                counts[f'rows of {table} without their {parent} removed'] += 1
    return _told(counts)


def _make_again(session: Session, table: str, rowid: int, parent: str,
                counts: Counter[str]) -> None:
    """Make a robot or a session again that a row belongs to, if another row did not yet."""
    run = session.connection().exec_driver_sql
    robot_id = run(f'SELECT robot_id FROM {table} WHERE rowid = ?', (rowid,)).scalar()
    if not run('SELECT 1 FROM robot WHERE id = ?', (robot_id,)).scalar():
        run('INSERT INTO robot (id, name) VALUES (?, ?)',
            (robot_id, f'robot {robot_id} ({FOUND_AGAIN})'))
        counts['robot rows made again'] += 1
    if parent == 'robot':
        return
    key, stamp_ns = run(f'SELECT session_id, stamp_ns FROM {table} WHERE rowid = ?',
                        (rowid,)).one()
    if not run('SELECT 1 FROM session WHERE id = ?', (key,)).scalar():
        zone = run('SELECT zone FROM session WHERE robot_id = ? ORDER BY id DESC LIMIT 1',
                   (robot_id,)).scalar()
        run('INSERT INTO session (id, robot_id, start_ns, clock_source, zone, source) '
            'VALUES (?, ?, ?, ?, ?, ?)',
            (key, robot_id, stamp_ns, 'wall', zone or 'UTC', FOUND_AGAIN))
        counts['session rows made again'] += 1


def _mend_members(session: Session) -> list[str]:
    """Remove members of nodes, and texts, whose record is gone."""
    counts: Counter[str] = Counter()
    for kind, table in schema.KINDS.items():
        for part, told in ((schema.NodeMemberRow, 'members of nodes'),
                           (schema.DocumentRow, 'searchable texts')):
            gone: Any = session.execute(delete(part).where(
                part.kind == kind, part.ref_id.not_in(select(table.id))))
            counts[f'{told} without their {kind} removed'] += gone.rowcount
    return _told(counts)


def _mend_documents(session: Session) -> list[str]:
    """Make the searchable texts that records and nodes should have and have not."""
    document, counts = schema.DocumentRow, Counter[str]()
    for kind in sorted(DOCUMENTED):
        table = schema.KINDS[kind]
        ids = list(session.scalars(select(table.id).where(table.id.not_in(
            select(document.ref_id).where(document.kind == kind)))))
        before = session.scalar(select(func.count()).select_from(document)) or 0
        for start in range(0, len(ids), CHUNK):
            renew_documents(session, kind, list(session.scalars(
                select(table).where(table.id.in_(ids[start:start + CHUNK])))))
        session.flush()
        after = session.scalar(select(func.count()).select_from(document)) or 0
        counts[f'searchable texts of {kind} made again'] += after - before
    return _told(counts)


def _told(counts: Counter[str]) -> list[str]:
    return [f'{count:,} {told.replace("_", " ")}' for told, count in counts.items() if count]

