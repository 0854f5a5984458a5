"""A damaged SQLite memory written anew: every row that can still be read goes into a fresh file.

The fresh file has the tables of the version that the damaged one has, made by the migrations, so
that indices, triggers and the full-text index come out whole. What could not be read is returned by
table, row numbers and the times around them. A file whose first page cannot be read cannot be
salvaged; one whose list of tables is damaged elsewhere can, see `lost_schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
import json
from pathlib import Path
import sqlite3
from typing import Any

from emv_ros.errors import StoreError
from emv_ros.memory.database import UNREADABLE
from emv_ros.memory.indexed_rows import missing_rows
from emv_ros.memory.lost_schema import regraft
from emv_ros.memory.migrate import SCHEMA_VERSION, build
from emv_ros.memory.row_walk import Gap, RowWalk

# Made anew by the fresh file's own triggers, or by the migrations.
MADE_ANEW = ('change', 'alembic_version')
# Made anew from other rows, so that nothing is lost with them: texts here, vectors when needed.
DERIVED = ('document', 'embedding', 'picture_embedding')
LOT = 500
# Beyond the highest number that was found, where the file no longer tells how many it gave out.
MARGIN = 10_000
# Numbers from here on are not known to have been given out.
UNKNOWN = 2**40
MAGIC = b'SQLite format 3\0'

Check = Callable[[Any], bool]


class RawText(bytes):
    """The bytes of a text as they stand in the file, be they UTF-8 or not."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Rows of a table that could not be read: numbers `first` to `last`, `count` at most.

    `after_ns` and `before_ns` are the times of the records around them, where they have any.
    """

    table: str
    first: int
    last: int
    count: int
    after_ns: int | None = None
    before_ns: int | None = None


def missing_pages(file: Path) -> int:
    """Return how many pages of a file were cut off, one that is there in part included."""
    return _pages(file)[1]


def pad(file: Path) -> int:
    """Fill a file that was cut short with empty pages, so that the rest can be read.

    Return how many pages are new.
    """
    wanted_bytes, missing = _pages(file)
    if missing:
        with file.open('r+b') as stream:
            stream.truncate(wanted_bytes)
    return missing


def _pages(file: Path) -> tuple[int, int]:
    """Return how long a file should be by what its first page says, and how many pages it lacks."""
    size = file.stat().st_size
    with file.open('rb') as stream:
        header = stream.read(100)
    if len(header) < 100 or header[:16] != MAGIC:
        return size, 0
    page = int.from_bytes(header[16:18], 'big')
    page = 65536 if page == 1 else page
    if page < 512:
        return size, 0
    pages = max(int.from_bytes(header[28:32], 'big'), -(-size // page))
    return pages * page, pages - size // page


def salvage(damaged: Path, fresh: Path) -> list[Lost]:
    """Copy what can be read of `damaged` into the new file `fresh`; return what was lost.

    Raises StoreError where no table can be found.
    """
    try:
        with closing(sqlite3.connect(damaged)) as old:
            return _salvaged(old, fresh)
    except UNREADABLE as error:
        grafted = fresh.with_name('grafted.db')
        try:
            if regraft(damaged, grafted, _words_of_tables(fresh)):
                with closing(sqlite3.connect(grafted)) as old:
                    return _salvaged(old, fresh)
        except UNREADABLE:
            pass  # not even then
        raise StoreError(
            f'nothing can be salvaged: the list of tables cannot be read ({error}), and no '
            'table was found in the pages; put a copy back') from error


def _salvaged(old: sqlite3.Connection, fresh: Path) -> list[Lost]:
    version, tables = _described(old)
    build(fresh, version)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as new:
        new.execute('PRAGMA foreign_keys = OFF')
        new.execute('BEGIN')
        lost: list[Lost] = []
        numbers = _given_out(old)
        for table in _tables(new):
            if table in tables:
                _check_columns(old, new, table)
        for table in _tables(new):
            if table in tables:
                lost += _Copy(old, new, table, numbers.get(table)).run()
            elif table not in DERIVED:
                lost.append(Lost(table, 1, UNKNOWN, UNKNOWN))
        new.execute('COMMIT')
    return lost


def _described(old: sqlite3.Connection) -> tuple[str, set[str]]:
    """Return the version and the tables of a file. Raises DatabaseError without a list of them."""
    tables = {name for name, in old.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table'")}
    try:
        row = old.execute('SELECT version_num FROM alembic_version').fetchone()
    except UNREADABLE:
        row = None
    return str(row[0]) if row else SCHEMA_VERSION, tables


def _check_columns(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> None:
    """Raise DatabaseError where a table has columns that none ever had: its words are damaged."""
    strange = _columns(old, table) - _columns(new, table)
    if strange:
        raise sqlite3.DatabaseError(f'table {table} has columns {", ".join(sorted(strange))}')


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f'PRAGMA table_info({table})')}


def _words_of_tables(fresh: Path) -> dict[str, str]:
    """Return the words that make each table, as the newest version has them."""
    newest = fresh.with_name('newest.db')
    build(newest, SCHEMA_VERSION)
    with closing(sqlite3.connect(newest)) as connection:
        return dict(connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"))


def _tables(new: sqlite3.Connection) -> list[str]:
    return [name for name, in new.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' "
        "AND name NOT LIKE 'document_text%' ORDER BY rowid") if name not in MADE_ANEW]


def _given_out(old: sqlite3.Connection) -> dict[str, int]:
    """Return the highest number that each table ever gave out, as far as that is known."""
    try:
        return {str(name): int(seq) for name, seq in old.execute(
            'SELECT name, seq FROM sqlite_sequence')}
    except (sqlite3.DatabaseError, TypeError, ValueError):
        return {}


class _Copy:
    """One table, from the damaged file into the fresh one."""

    def __init__(self, old: sqlite3.Connection, new: sqlite3.Connection, table: str,
                 given_out: int | None) -> None:
        self.old, self.new, self.table = old, new, table
        # An older file, of which nothing tells that, lacks some: they have defaults.
        stored = _columns(old, table)
        info = [row for row in new.execute(f'PRAGMA table_info({table})') if row[1] in stored]
        self.columns = [row[1] for row in info]
        # Bytes of a text go in as they are: one of them that is wrong does not cost the row.
        self.marks = ['CAST(? AS TEXT)' if _is_text(row[2]) else '?' for row in info]
        self.checks = [_check_of(row[2], bool(row[3] or row[5])) for row in info]
        self.stamp = next((self.columns.index(name) for name in ('stamp_ns', 'start_ns')
                           if name in self.columns), None)
        self.counted = 'id' in self.columns
        self.given_out = given_out
        self.refused: list[int] = []

    def run(self) -> list[Lost]:
        """Copy, and return what could not be."""
        limit, order = self._limit(), self._order()
        walk = RowWalk(self.old, self.table, limit)
        self.old.text_factory = RawText
        try:
            for lot in _lots(walk, LOT):
                self._insert(lot, order)
        finally:
            self.old.text_factory = str
        if self.counted:
            self._count(walk)
        if self.table in DERIVED:
            return []
        missing = missing_rows(self.old, self.new, self.table, limit) if self.counted else []
        gaps = _joined([*walk.gaps, *(Gap(number, number) for number in self._gone() + missing)])
        return [self._lost(gap) for gap in gaps]

    def _gone(self) -> list[int]:
        """Return what was refused, but for what stands there from elsewhere in the file."""
        return [number for number in self.refused if not self.new.execute(
            f'SELECT 1 FROM {self.table} WHERE rowid = ?', (number,)).fetchone()]

    def _limit(self) -> int:
        try:
            row = self.old.execute(f'SELECT max(rowid) FROM {self.table}').fetchone()
            highest = int(row[0] or 0)
        except (sqlite3.DatabaseError, TypeError, ValueError):
            return UNKNOWN if self.given_out is None else self.given_out
        return highest + 1 if self.given_out is None else max(highest, self.given_out)

    def _order(self) -> list[int]:
        """Return where each column stands in a row of the damaged file, behind its number."""
        stored = [row[1] for row in self.old.execute(f'PRAGMA table_info({self.table})')]
        return [stored.index(name) + 1 for name in self.columns]

    def _insert(self, lot: list[tuple[Any, ...]], order: Sequence[int]) -> None:
        rows = []
        for row in lot:
            values = tuple(row[at] for at in order)
            if all(check(value) for check, value in zip(self.checks, values, strict=True)):
                rows.append((row[0], values))
            else:
                self.refused.append(row[0])
        marks = ', '.join(self.marks)
        statement = f'INSERT INTO {self.table} ({", ".join(self.columns)}) VALUES ({marks})'
        self.new.execute('SAVEPOINT lot')
        try:
            self.new.executemany(statement, [values for _, values in rows])
        except sqlite3.IntegrityError:
            self.new.execute('ROLLBACK TO lot')
            for number, values in rows:
                try:
                    self.new.execute(statement, values)
                except sqlite3.IntegrityError:  # twice the same, from a page that was half old
                    self.refused.append(number)
        self.new.execute('RELEASE lot')

    def _count(self, walk: RowWalk) -> None:
        """See to it that no id is given out again, also none that was lost."""
        highest = self.new.execute(f'SELECT max(id) FROM {self.table}').fetchone()[0] or 0
        if self.given_out is not None:
            highest = max(highest, self.given_out)
        elif walk.gaps:
            highest += MARGIN
        if highest:
            self.new.execute('DELETE FROM sqlite_sequence WHERE name = ?', (self.table,))
            self.new.execute('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)',
                             (self.table, highest))

    def _lost(self, gap: Gap) -> Lost:
        after = before = None
        if self.counted and self.stamp is not None:
            column = self.columns[self.stamp]
            after, before = (self.new.execute(
                f'SELECT {column} FROM {self.table} WHERE id {sign} ? ORDER BY id {way} LIMIT 1',
                (at,)).fetchone() for sign, way, at in (
                    ('<', 'DESC', gap.first), ('>', 'ASC', gap.last)))
        return Lost(self.table, gap.first, gap.last, gap.last - gap.first + 1,
                    after[0] if after else None, before[0] if before else None)


def _joined(gaps: Iterable[Gap]) -> list[Gap]:
    joined: list[Gap] = []
    for gap in sorted(gaps, key=lambda gap: gap.first):
        if joined and gap.first <= joined[-1].last + 1:
            joined[-1] = Gap(joined[-1].first, max(joined[-1].last, gap.last))
        else:
            joined.append(gap)
    return joined


def _lots(rows: RowWalk, count: int) -> Iterator[list[tuple[Any, ...]]]:
    lot: list[tuple[Any, ...]] = []
    for row in rows:
        lot.append(row)
        if len(lot) == count:
            yield lot
            lot = []
    if lot:
        yield lot


def _is_text(kind: str) -> bool:
    """Whether a column of a declared type holds text."""
    return kind.upper() == 'JSON' or not any(
        part in kind.upper() for part in ('INT', 'BOOL', 'DOUBLE', 'FLOAT', 'REAL', 'BLOB'))


def _check_of(kind: str, is_needed: bool) -> Check:
    """Return whether a value can be one of a column: bytes of another page may look like a row."""
    is_text, kind = _is_text(kind), kind.upper()
    if is_text:
        fits: Check = _is_json if kind == 'JSON' else _is_of(RawText)
    elif 'INT' in kind or kind == 'BOOLEAN':
        fits = _is_of(int)
    elif kind.startswith(('DOUBLE', 'FLOAT', 'REAL')):
        fits = _is_of(int, float)
    else:
        fits = _is_of(bytes)
    return fits if is_needed else lambda value: value is None or fits(value)


def _is_of(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def _is_json(value: Any) -> bool:
    try:
        json.loads(value)
    except (ValueError, TypeError):
        return False
    return True
