"""Ways to damage a memory's file that a test can name, and to look at what is left."""

from contextlib import closing
from pathlib import Path
import sqlite3

from emv_ros.memory.database import DATABASE_FILE, sqlite_url
from emv_ros.memory.store import MemoryStore

PAGE = 4096


def open_in(folder: Path) -> MemoryStore:
    return MemoryStore(folder, sqlite_url(folder), 'robot')


def run(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection, connection:
        return connection.execute(statement).fetchall()


def is_whole(folder: Path) -> bool:
    return (run(folder, 'PRAGMA integrity_check') == [('ok',)]
            and not run(folder, 'PRAGMA foreign_key_check'))


def pages_of(file: Path, table: str) -> list[int]:
    """Return the numbers, from 1, of the leaf pages of a table, by the way they are laid out."""
    with closing(sqlite3.connect(file)) as connection:
        root, = connection.execute(
            'SELECT rootpage FROM sqlite_master WHERE name = ?', (table,)).fetchone()
    data, found, waiting = file.read_bytes(), [], [root]
    while waiting:
        number = waiting.pop()
        page = data[(number - 1) * PAGE:number * PAGE]
        if page[0] == 13:  # a leaf
            found.append(number)
            continue
        assert page[0] == 5, page[0]
        cells = int.from_bytes(page[3:5], 'big')
        at = [int.from_bytes(page[12 + 2 * n:14 + 2 * n], 'big') for n in range(cells)]
        waiting += [int.from_bytes(page[place:place + 4], 'big') for place in at]
        waiting.append(int.from_bytes(page[8:12], 'big'))
    return sorted(found)


def wipe(file: Path, *pages: int, with_bytes: bytes = b'\0') -> None:
    """Overwrite pages."""
    with file.open('r+b') as stream:
        for number in pages:
            stream.seek((number - 1) * PAGE)
            stream.write((with_bytes * PAGE)[:PAGE])
