"""Rows of which an index tells and which are not there: what a damaged file held for certain.

An index is a tree of pages of its own, and holds the number of each row. So it tells what stood on
a page that is gone without a trace, as where other rows lie in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
import sqlite3


def missing_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str,
                 limit: int) -> list[int]:
    """Return the numbers up to `limit` that indices of `old` name and that `new` has not.

    As far as the indices can be read, from either end.
    """
    new.execute('CREATE TEMP TABLE named (id INTEGER PRIMARY KEY)')
    for name, columns in _indices(old, table):
        for way in ('', ' DESC'):
            order = ', '.join(f'{column}{way}' for column in columns)
            # OperationalError also for an index of a part of the rows, which this may not use.
            with suppress(sqlite3.DatabaseError), closing(old.execute(
                    f'SELECT rowid FROM {table} INDEXED BY {name} ORDER BY {order}')) as numbers:
                new.executemany('INSERT OR IGNORE INTO temp.named VALUES (?)', (
                    row for row in numbers if isinstance(row[0], int) and 0 < row[0] <= limit))
    found = [number for number, in new.execute(
        f'SELECT id FROM temp.named WHERE id NOT IN (SELECT id FROM {table}) ORDER BY id')]
    new.execute('DROP TABLE temp.named')
    return found


def _indices(old: sqlite3.Connection, table: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the indices of whole columns, each with these."""
    try:
        names = [row[1] for row in old.execute(f'PRAGMA index_list({table})')]
        for name in names:
            columns = [row[2] for row in old.execute(f'PRAGMA index_info({name})')]
            if columns and None not in columns:
                yield name, columns
    except sqlite3.DatabaseError:
        return
