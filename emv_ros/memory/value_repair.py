"""Texts and JSON in a SQLite file that are none: mended as far as they go, and told.

SQLite checks pages, not what stands in them, and a value that is no UTF-8 or no JSON would fail
every question that comes across it. For a file whose pages are whole, whatever its version.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
import json
from pathlib import Path
import sqlite3
from typing import Any

# Those of JSON that a record can be without; of others the record goes.
DICTS = ('extra', 'parameters', 'attributes')


@dataclass
class MendedValues:
    """Row numbers by table: `parts` lost some of a value, `gone` are of no use without it."""

    parts: dict[str, list[int]] = field(default_factory=dict)
    gone: dict[str, list[int]] = field(default_factory=dict)


def mend_values(file: Path) -> MendedValues:
    """Mend what is no text or no JSON: other characters stand for the first, a default for these.

    Searchable texts go, since they are made again. Raises sqlite3.DatabaseError where the pages
    are not whole.
    """
    done = MendedValues()
    with closing(sqlite3.connect(file)) as connection, connection:
        for table, columns in _columns(connection):
            # All of them first: a cursor does not stand in a table that changes.
            for number, values in [*_damaged(connection, table, columns)]:
                _mend(connection, table, number, values, done)
    return done


def _columns(connection: sqlite3.Connection) -> Iterator[tuple[str, dict[str, tuple[bool, bool]]]]:
    """Yield each table with its columns of text: whether one is JSON, and whether it is needed."""
    names = [name for name, in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' "
        "AND name NOT LIKE 'document_text%' AND name <> 'alembic_version'")]
    for table in names:
        columns = {row[1]: (row[2].upper() == 'JSON', bool(row[3] or row[5]))
                   for row in connection.execute(f'PRAGMA table_info({table})')
                   if row[2].upper() == 'JSON' or 'CHAR' in row[2].upper()}
        if columns:
            yield table, columns


def _damaged(connection: sqlite3.Connection, table: str, columns: dict[str, tuple[bool, bool]],
             ) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield rows with what is to stand for their damaged values; None: nothing can."""
    connection.text_factory = bytes
    try:
        for number, *values in connection.execute(
                f'SELECT rowid, {", ".join(columns)} FROM {table}'):
            found = {name: _mended(value, *columns[name], name) for name, value in zip(
                columns, values, strict=True) if not _is_sound(value, columns[name][0])}
            if found:
                yield number, found
    finally:
        connection.text_factory = str


def _is_sound(value: Any, is_json: bool) -> bool:
    if value is None:
        return True
    try:
        text = value.decode()
        return '\0' not in text and (not is_json or _is_json(text))
    except (AttributeError, UnicodeDecodeError):
        return False


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _mended(value: Any, is_json: bool, is_needed: bool, name: str) -> str | None:
    """Return what is to stand for a damaged value, '' for none, None where the row must go."""
    text = value.decode(errors='replace') if isinstance(value, bytes) else str(value)
    text = text.replace('\0', ' ')
    if not is_json or _is_json(text):
        return text
    if name in DICTS:
        return '{}'
    return None if is_needed else ''


def _mend(connection: sqlite3.Connection, table: str, number: int,
          values: dict[str, str | None], done: MendedValues) -> None:
    if table == 'document':
        connection.execute('DELETE FROM document WHERE rowid = ?', (number,))
        return
    # The searchable text is made of the row.
    connection.execute('DELETE FROM document WHERE kind = ? AND ref_id = ?', (table, number))
    if None in values.values():
        connection.execute(f'DELETE FROM {table} WHERE rowid = ?', (number,))
        done.gone.setdefault(table, []).append(number)
        return
    for name, value in values.items():
        connection.execute(f"UPDATE {table} SET {name} = nullif(?, '') WHERE rowid = ?"
                           if value == '' else f'UPDATE {table} SET {name} = ? WHERE rowid = ?',
                           (value, number))
    done.parts.setdefault(table, []).append(number)
