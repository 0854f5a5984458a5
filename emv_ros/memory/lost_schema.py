"""A SQLite file whose list of tables is damaged: its tables found again in its pages.

SQLite refuses such a file as a whole, though the pages of its tables may all be there. The entries
of the list that are left are looked for in every page, and a copy of the file gets a new list of
them. What stood in the lost part of the list stays lost: after a rewrite of the file (`VACUUM`) its
end holds triggers alone, which a fresh file has anyway. Read `salvage` for what becomes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
import sqlite3

from emv_ros.memory.database import UNREADABLE

HEADER = 100
LEAF, INTERIOR = 13, 5
KINDS = ('table', 'index')
AUTO = 'sqlite_autoindex_'


@dataclass(frozen=True, slots=True)
class Entry:
    """What the list says of a table or an index: where it begins, and the words that made it."""

    kind: str
    name: str
    table: str
    root: int
    words: str | None


def regraft(damaged: Path, grafted: Path, known: Mapping[str, str]) -> bool:
    """Make a copy of a file, its log folded in, that has a list of the tables found in its pages.

    `known` are the words that make tables, for those whose own are damaged. False where none is
    found. The copy is for reading rows by their numbers, no more.
    """
    try:
        # Page by page: it looks at no table.
        with closing(sqlite3.connect(damaged)) as old, closing(sqlite3.connect(grafted)) as new:
            old.backup(new)
    except UNREADABLE:
        return False
    data = bytearray(grafted.read_bytes())
    size = page_size(data)
    if size == 0:
        return False
    found = {entry.name: _with_sound_words(entry, known) for number in range(len(data) // size)
             for entry in _entries(bytes(data[number * size:(number + 1) * size]), number == 0)
             if _is_tree(data, size, entry.root)}
    tables = {entry.name for entry in found.values() if entry.kind == 'table'}
    if not tables:
        return False
    _empty_list(data, size)
    grafted.write_bytes(data)
    with closing(sqlite3.connect(grafted)) as connection, connection:
        connection.execute('PRAGMA writable_schema = ON')
        connection.executemany('INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)', (
            (entry.kind, entry.name, entry.table, entry.root, entry.words)
            for entry in sorted(found.values(), key=lambda entry: KINDS.index(entry.kind))
            if entry.table in tables))
    return True


def _with_sound_words(entry: Entry, known: Mapping[str, str]) -> Entry:
    """Return an entry with the known words of its table where its own make none, or another."""
    if entry.kind != 'table' or entry.name not in known:
        return entry
    columns = _columns_of(entry.name, entry.words or '')
    if columns and columns <= _columns_of(entry.name, known[entry.name]):
        return entry
    return replace(entry, words=known[entry.name])


def _columns_of(table: str, words: str) -> set[str]:
    """Return the columns of the table that words make, none where they make none."""
    with closing(sqlite3.connect(':memory:')) as connection, suppress(
            sqlite3.Error, UnicodeDecodeError):
        connection.execute(words)
        return {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}
    return set()


def page_size(data: bytes | bytearray) -> int:
    """Return the size of a file's pages as its first one says, 0 where it says nothing."""
    if data[:16] != b'SQLite format 3\0':
        return 0
    size = int.from_bytes(data[16:18], 'big')
    return 65536 if size == 1 else size


def _empty_list(data: bytearray, size: int) -> None:
    """Let the first page hold a list without entries, and have no page given out again."""
    data[32:40] = bytes(8)  # the free pages
    data[28:32] = (len(data) // size).to_bytes(4, 'big')
    data[HEADER:size] = bytes(size - HEADER)
    data[HEADER] = LEAF
    data[HEADER + 5:HEADER + 7] = (size % 65536).to_bytes(2, 'big')


def _is_tree(data: bytearray, size: int, root: int) -> bool:
    """Whether a page may be the first of a table or an index."""
    return 1 < root <= len(data) // size and data[(root - 1) * size] in (2, INTERIOR, 10, LEAF)


def _entries(page: bytes, is_first: bool) -> Iterator[Entry]:
    """Yield the entries of tables, and of indices without words, that a page holds."""
    begin = HEADER if is_first else 0
    if page[begin] != LEAF:
        return
    for place in range(int.from_bytes(page[begin + 3:begin + 5], 'big')):
        at = begin + 8 + 2 * place
        with suppress(IndexError, ValueError):  # of another table, or damaged
            entry = _entry(page, int.from_bytes(page[at:at + 2], 'big'))
            if entry is not None:
                yield entry


def _entry(page: bytes, at: int) -> Entry | None:
    """Return the entry in a cell, None for another row. Raises IndexError, ValueError."""
    _, at = _number(page, at)  # how long it is
    _, at = _number(page, at)  # its row number
    begin = at
    length, at = _number(page, at)
    types = []
    while at < begin + length:
        kind, at = _number(page, at)
        types.append(kind)
    if len(types) != 5 or any(kind < 13 or kind % 2 == 0 for kind in types[:3]):
        return None
    values: list[str | int | None] = []
    for kind in types:
        value, at = _value(page, at, kind)
        values.append(value)
    kind_of, name, table, root, words = values
    if kind_of not in KINDS or not isinstance(root, int):
        return None
    # Its words may be damaged, and are known.
    is_table = kind_of == 'table' and isinstance(words, str)
    if is_table or (kind_of == 'index' and words is None and str(name).startswith(AUTO)):
        return Entry(str(kind_of), str(name), str(table), root,
                     words if isinstance(words, str) else None)
    return None


def _number(page: bytes, at: int) -> tuple[int, int]:
    """Return a number of SQLite's variable length, and where the next thing begins."""
    value = 0
    for place in range(8):
        byte = page[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | page[at + 8], at + 9


def _value(page: bytes, at: int, kind: int) -> tuple[str | int | None, int]:
    """Return a value of a type of SQLite's records; of numbers only whole ones."""
    if kind in (0, 8, 9):
        return (None, 0, 1)[(0, 8, 9).index(kind)], at
    if kind in range(1, 7):
        length = (1, 2, 3, 4, 6, 8)[kind - 1]
        return int.from_bytes(page[at:at + length], 'big', signed=True), at + length
    if kind < 13 or kind % 2 == 0:
        raise ValueError(f'a value of type {kind} is in no list of tables')
    length = (kind - 13) // 2
    if at + length > len(page):
        raise ValueError('it goes on elsewhere')
    return page[at:at + length].decode(errors='replace'), at + length
