"""The database file of a memory mended, before it is opened: a copy first, then what is damaged.

Only for a memory that nobody has open. A file whose pages are whole is left as it is; one with a
damaged, missing or cut page is written anew from the rows that can be read (`salvage`), beside the
old one, and takes its place when it is whole and on disk. What the rows say is not looked at here:
see `row_repair` and `picture_repair`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
import fcntl
import os
from pathlib import Path
import shutil
import sqlite3
import struct

from emv_ros.errors import StoreBusyError, StoreError
from emv_ros.memory.clearing import COPIES
from emv_ros.memory.database import UNREADABLE, is_log_gone
from emv_ros.memory.salvage import Lost, missing_pages, pad, salvage
from emv_ros.memory.value_repair import mend_values
from emv_ros.records import ID_LETTERS

ASIDE = '.repair'
SHOWN = 5
# Where SQLite's connections hold a lock for as long as they have a file with a log open.
SHARED_LOCK = (510, 0x4000_0002)


@dataclass
class Repair:
    """What was done: `mended` and `lost_words` in words, `lost` as rows, `copy` the copy's file."""

    copy: Path | None = None
    mended: list[str] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    lost_words: list[str] = field(default_factory=list)

    @property
    def is_file_damaged(self) -> bool:
        """Whether rows may be gone that were there: the file was salvaged, or its log is gone."""
        return bool(self.lost or self.lost_words)


def repair_file(file: Path) -> Repair:
    """Copy the database, then mend its pages where they are not whole.

    Raises StoreBusyError where somebody has it open, StoreError where nothing can be read of it,
    or the disk cannot take the copy; then it is as it was.
    """
    check_alone(file)
    if not file.stat().st_size and not _beside(file, '-wal').exists():
        raise StoreError(f'{file} is empty, nothing can be salvaged; put a copy back, or remove it '
                         'to begin anew')
    done = Repair()
    try:
        done.copy = _copy(file)
        if is_log_gone(file):
            done.lost_words.append(
                'the write-ahead log (memory.db-wal) is gone: what was committed after it was last '
                'folded into the file is lost, and the times up to which records reach tell when')
        if not is_whole(file):
            with kept_shut(file):
                _write_anew(file, done)
        else:
            _note_values(done, file)
        _beside(file, '-shm').unlink(missing_ok=True)
    except (OSError, StoreError) as error:
        drop_copy(done)
        if isinstance(error, StoreError):
            raise
        raise StoreError(f'cannot mend {file}: {error.strerror or error}') from error
    return done


def check_alone(file: Path) -> None:
    """Raise StoreBusyError where another process has the database open, StoreError for no file."""
    try:
        stream = file.open('r+b')
    except OSError as error:
        raise StoreError(f'{file} cannot be mended: {error.strerror}') from error
    with stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, *SHARED_LOCK)
        except OSError as error:
            raise StoreBusyError(f'{file} is open in another process: stop what uses this memory, '
                                 'then mend it') from error


@contextmanager
def kept_shut(file: Path) -> Iterator[None]:
    """Let nobody open the database meanwhile, nor this process.

    Whoever waits for a file that is replaced has the old one open: it is made unusable, so that
    nothing goes into a file that has no name. Raises StoreBusyError.
    """
    with file.open('r+b') as stream:
        lock = struct.pack('hhqqi0q', fcntl.F_WRLCK, os.SEEK_SET, *reversed(SHARED_LOCK), 0)
        try:
            # Of this opening, and no other of the process: closing one does not give it up.
            fcntl.fcntl(stream, fcntl.F_OFD_SETLK, lock)
        except OSError as error:
            raise StoreBusyError(f'{file} was opened in another process: stop what uses this '
                                 'memory, then mend it') from error
        yield
        if not os.path.samestat(os.fstat(stream.fileno()), file.stat()):
            stream.write(bytes(100))
            stream.flush()


def is_whole(file: Path) -> bool:
    """Whether SQLite finds nothing wrong with the pages and indices of a file, log included.

    Nor is it whole where its last page was cut: SQLite takes zeros for what is missing of that.
    """
    log = _beside(file, '-wal')
    if missing_pages(file) and not (log.exists() and log.stat().st_size):
        return False
    try:
        with closing(sqlite3.connect(file)) as connection:
            connection.text_factory = bytes  # what is wrong may be quoted
            return bool(connection.execute(
                'PRAGMA integrity_check(1)').fetchone() == (b'ok',))
    except UNREADABLE:
        return False


def _copy(file: Path) -> Path:
    """Copy the database with its log beside it, under the first number that is free."""
    number = 1
    while (copy := _beside(file, f'{COPIES}{number}')).exists():
        number += 1
    for part in ('-wal', ''):
        if _beside(file, part).exists():
            new = _beside(copy, part)
            shutil.copy2(_beside(file, part), new)
            _sync(new)
    _sync(file.parent)
    return copy


def drop_copy(done: Repair) -> None:
    """Remove the copy where it is of no use: nothing was mended or lost.

    One with a log stays: to look into a file is to fold its log in, and that may be another's.
    """
    if done.copy is None or done.mended or done.lost or done.lost_words or _beside(
            done.copy, '-wal').exists():
        return
    remove_copy(done.copy)
    done.copy = None


def remove_copy(copy: Path) -> None:
    """Remove a copy with its log."""
    for part in ('', '-wal'):
        _beside(copy, part).unlink(missing_ok=True)


def _write_anew(file: Path, done: Repair) -> None:
    aside = file.with_name(ASIDE)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        damaged, fresh = aside / 'damaged.db', aside / 'fresh.db'
        for part in ('', '-wal'):
            if _beside(file, part).exists():
                shutil.copy2(_beside(file, part), _beside(damaged, part))
        if missing := pad(damaged):
            done.mended.append(f'the file was cut short by {missing} pages')
        done.lost = salvage(damaged, fresh)
        if not is_whole(fresh):
            raise StoreError(f'{file} could not be written anew')
        _note_values(done, fresh)
        _fold(fresh)
        _sync(fresh)
        # A log of the old file beside the new one would be taken for its own.
        for part in ('-wal', '-shm'):
            _beside(file, part).unlink(missing_ok=True)
        fresh.replace(file)
        _sync(file.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    done.mended.append('the file had damaged pages and was written anew from the rows that can be '
                       'read')


def _note_values(done: Repair, file: Path) -> None:
    """Mend what is no text or no JSON, and note which rows that cost something."""
    values = mend_values(file)
    for table, numbers in values.parts.items():
        letter, kind = ID_LETTERS.get(table, ''), table.replace('_', ' ')
        some = ', '.join(f'{letter}{number}' for number in numbers[:SHOWN])
        done.lost_words.append(
            f'parts of {len(numbers):,} rows of {kind} could not be read: {some}'
            + (', …' if len(numbers) > SHOWN else ''))
    done.lost += [Lost(table, number, number, 1)
                  for table, numbers in values.gone.items() for number in numbers]


def _fold(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    for part in ('-wal', '-shm'):
        with suppress(FileNotFoundError):
            _beside(file, part).unlink()


def _beside(file: Path, part: str) -> Path:
    return file.with_name(file.name + part)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
