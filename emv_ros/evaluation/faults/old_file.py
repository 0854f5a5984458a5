"""Memories of earlier versions, with a row of every kind, as their migrations make them.

Rows are made of the columns that a version has: numbers and texts that follow from the table, the
row and the column, and links to rows that are there. So what must be there after a migration is
known without the code of any version.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
import hashlib
import json
from pathlib import Path
import sqlite3
from typing import Any

from emv_ros.evaluation.faults.life import BEGIN_NS, ROBOT, STEP_NS, picture_of
from emv_ros.memory.migrate import build
from emv_ros.memory.pictures import PictureFolder

VERSIONS = ('0001', '0002', '0003', '0004', '0005', '0006', '0007', '0008')
# Written by triggers and migrations, or derived.
NOT_FILLED = ('change', 'alembic_version', 'state')
LISTS = ('names', 'position', 'velocity', 'effort', 'orientation', 'goal_stack', 'transitions',
         'bbox', 'first_bbox', 'last_bbox', 'robots', 'evidence', 'trace')
PICTURES = 3
VALUES: dict[str, Any] = {
    'zone': 'Europe/Berlin', 'clock_source': 'wall', 'media_type': 'image/png',
    'status': 'succeeded', 'transitions': [], 'bbox': [0.0, 0.0, 1.0, 1.0], 'trace': [],
    'first_bbox': [0.0, 0.0, 1.0, 1.0], 'last_bbox': [0.0, 0.0, 1.0, 1.0], 'goal_stack': ['Fetch'],
    'robots': [ROBOT], 'evidence': [], 'orientation': [0.0, 0.0, 0.0, 1.0], 'pending': 1,
    'stamp_is_receipt': 0, 'names': ['a', 'b', 'c'], 'parent_id': None, 'merged_into': None,
    'made_by': 'source', 'verdict': 'same', 'level': 2, 'ordinal': 0}


def make_old(folder: Path, version: str, rows: int = 3) -> dict[str, list[dict[str, Any]]]:
    """Make the memory of a version in a folder; return its rows by table."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / 'memory.db'
    build(file, version)
    made: dict[str, list[dict[str, Any]]] = {}
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute('PRAGMA foreign_keys = OFF')
        for table in tables_in(connection):
            for number in range(1, (1 if table == 'robot' else rows) + 1):
                row = _row(connection, table, number)
                marks = ', '.join('?' * len(row))
                connection.execute(
                    f'INSERT INTO {table} ({", ".join(row)}) VALUES ({marks})', [*row.values()])
                made.setdefault(table, []).append(row)
        pictures = PictureFolder(folder / 'pictures')
        for number in range(1, PICTURES + 1):
            pictures.write(picture_of(number), 'image/png')
        broken = connection.execute('PRAGMA foreign_key_check').fetchall()
        assert not broken, broken
    return made


def tables_in(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the tables that hold contents."""
    for name, in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall():
        if name not in NOT_FILLED and not name.startswith(('sqlite', 'document_text')):
            yield name


def missing_from(folder: Path, made: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return which rows of an old memory are not in the migrated one as they were."""
    missing = []
    with closing(sqlite3.connect(folder / 'memory.db')) as connection:
        for table, rows in made.items():
            for row in rows:
                names = ' AND '.join(f'{name} IS ?' for name in row)
                if connection.execute(f'SELECT count(*) FROM {table} WHERE {names}',
                                      [*row.values()]).fetchone() != (1,):
                    missing.append(f'{table} {row}')
    return missing


def _picture(number: int) -> int:
    """Return which of the few pictures a row shows."""
    return (number - 1) % PICTURES + 1


def _row(connection: sqlite3.Connection, table: str, number: int) -> dict[str, Any]:
    links = {row[3]: row[2] for row in connection.execute(f'PRAGMA foreign_key_list({table})')}
    row = {name: _value(table, name, kind.upper(), number, links.get(name))
           for _, name, kind, _, _, _ in connection.execute(f'PRAGMA table_info({table})')}
    if table in ('separation', 'verdict'):  # a pair of two
        row['second_id'] = row['first_id'] % 3 + 1
    if table == 'image':
        row['sha256'] = hashlib.sha256(picture_of(_picture(number))).hexdigest()
    if table in ('document', 'node_member'):
        row['kind'] = 'utterance'
    return row


def _value(table: str, name: str, kind: str, number: int, link: str | None) -> Any:
    if name in ('robot_id',) or link == 'robot':
        return 1
    if name in VALUES:
        value = VALUES[name]
        return json.dumps(value) if isinstance(value, list) else value
    if name in ('id', 'ref_id') or link is not None or name == 'query_id':
        return number
    if name.endswith('_ns'):
        return BEGIN_NS + number * STEP_NS + (STEP_NS // 2 if name.startswith(('end', 'last')) else
                                              0)
    if kind == 'JSON':
        return json.dumps([float(number), 0.5, -1.0] if name in LISTS else {'of': table})
    if kind == 'BLOB':
        return bytes([number % 256] * 8)
    if kind.startswith(('DOUBLE', 'FLOAT', 'REAL')):
        return number / 4
    if 'INT' in kind or kind == 'BOOLEAN':
        return 0 if kind == 'BOOLEAN' else number
    return f'{name} {number} of {table}' if name != 'name' or table != 'robot' else ROBOT
