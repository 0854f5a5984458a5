"""Engines, transactions and the translation of database errors.

SQLite runs in WAL mode with foreign keys and full syncs: a committed record survives a loss of
power. A write takes the lock at its start, so that it waits its turn instead of failing half way.
Where the file or its folder cannot be written, it is opened for reading alone. A server is
PostgreSQL, see `emv_ros.memory.server`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import errno
import os
from pathlib import Path
import sqlite3
from typing import Any
from urllib.parse import unquote

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    SQLAlchemyError,
    StatementError,
)
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool

from emv_ros.errors import StoreBusyError, StoreError, StoreFullError, StoreValueError
from emv_ros.memory.columns import Base
from emv_ros.memory.letter_case import add_lower
from emv_ros.memory.server import (
    is_postgresql,
    reading_options,
    server_engine,
    shown_url,
    translate_state,
    write_anew,
)
from emv_ros.memory.values import from_json, to_json

DATABASE_FILE = 'memory.db'
# Of each connection: SQLite's own 2 MB hold less than one search reads in a long life.
CACHE_KB = 32_000
# What SQLite and its driver say of a damaged file; a text that is no UTF-8 is quoted behind it.
DAMAGED = 'malformed', 'not a database', 'Could not decode to UTF-8'
# Less than this on a disk, and SQLite fails where it would not say why.
LEAST_BYTES = 100_000
# A file that cannot be read; what SQLite quotes of a damaged schema may be no text.
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)


def sqlite_url(folder: Path) -> URL:
    """Return the URL of the SQLite database in a memory's folder."""
    return URL.create('sqlite', database=str(folder / DATABASE_FILE))


def open_engine(url: str | URL, busy_timeout_s: float) -> Engine:
    """Return an engine for the URL, prepared as the module says. Raises StoreError."""
    try:
        parsed = make_url(url)
        if is_postgresql(parsed):
            return server_engine(parsed, busy_timeout_s)
        if parsed.get_backend_name() != 'sqlite':
            return create_engine(parsed, pool_pre_ping=True)
    except (ArgumentError, ValueError):  # their message may hold a password
        raise StoreError('the database URL of the memory cannot be understood, or names a '
                         'database that SQLAlchemy does not know') from None
    except ImportError as error:
        raise StoreError(f'no driver is installed for the database URL: {error}') from error
    return _sqlite_engine(parsed, busy_timeout_s)


def is_read_only(url: str | URL) -> bool:
    """Whether the URL is of an SQLite file that is there and cannot be written."""
    file = _file_of(url)
    return file is not None and file.exists() and not (
        os.access(file, os.W_OK) and os.access(file.parent, os.W_OK | os.X_OK))


def is_log_gone(file: Path) -> bool:
    """Whether the write-ahead log was removed: its index outlives it only then."""
    return file.with_name(f'{file.name}-shm').exists() and not file.with_name(
        f'{file.name}-wal').exists()


def place_of(url: str | URL) -> str:
    """Return the database as a person knows it: its file, or its URL without the password."""
    file = _file_of(url)
    return str(file) if file else shown_url(make_url(url))


def _file_of(url: str | URL) -> Path | None:
    parsed = make_url(url)
    if parsed.get_backend_name() != 'sqlite' or not parsed.database:
        return None
    if not parsed.query.get('uri'):
        return Path(parsed.database)
    return Path(unquote(parsed.database.removeprefix('file:')))


def _sqlite_engine(url: URL, busy_timeout_s: float) -> Engine:
    # The connection used last is used first: in turn, each would come to hold a cache of its own.
    engine = create_engine(
        _for_reading(url) if is_read_only(url) else url, poolclass=QueuePool, pool_use_lifo=True,
        json_serializer=to_json, json_deserializer=from_json,
        connect_args={'timeout': busy_timeout_s, 'check_same_thread': False})

    @event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        # The driver must not begin transactions by itself: `begin` below does.
        connection.isolation_level = None
        add_lower(connection)
        cursor = connection.cursor()
        cursor.execute('PRAGMA foreign_keys = ON')
        cursor.execute('PRAGMA secure_delete = ON')
        cursor.execute('PRAGMA synchronous = FULL')
        cursor.execute(f'PRAGMA cache_size = -{CACHE_KB}')
        cursor.close()

    @event.listens_for(engine, 'begin')
    def begin(connection: Any) -> None:
        writes = connection.get_execution_options().get('emv_write', False)
        connection.exec_driver_sql('BEGIN IMMEDIATE' if writes else 'BEGIN')

    return engine


def _for_reading(url: URL) -> URL:
    """Return the URL that reads a file without writing beside it.

    SQLite cannot share a log with a writer where it may not write; if there is no log, none has
    the file open, and it can be read as it is.
    """
    file = Path(str(url.database)).absolute()
    query = {'uri': 'true', 'mode': 'ro'}
    if not file.with_name(f'{file.name}-wal').exists():
        query['immutable'] = '1'
    # SQLite splits such a name at these, as a URL.
    name = str(file).replace('%', '%25').replace('?', '%3f').replace('#', '%23')
    return URL.create('sqlite', database=f'file:{name}', query=query)


@contextmanager
def transaction(engine: Engine, write: bool) -> Iterator[Session]:
    """Yield a session that commits at the end; errors come out as StoreError.

    A write session holds the database's write lock from the start.
    """
    options = reading_options() if engine.dialect.name == 'postgresql' and not write else {}
    bind = engine.execution_options(emv_write=write, **options)
    try:
        with Session(bind, expire_on_commit=False) as session, session.begin():
            if write:
                session.connection()  # begins now: what is read in it is what is written over
            yield session
    except SQLAlchemyError as error:
        raise translate(error, place_of(engine.url)) from error
    except UnicodeDecodeError as error:
        raise unreadable(place_of(engine.url)) from error
    except (UnicodeEncodeError, OverflowError) as error:  # of the driver: half a character, 2**63
        raise StoreValueError(f'a value that the database cannot hold: {error}') from error


def unreadable(place: str) -> StoreError:
    """Return what says that SQLite could not even quote what it found."""
    return StoreError(f'the database file {place} is damaged (text in it is none); '
                      '`emv doctor --repair` keeps a copy and mends it')


def fold_log(engine: Engine) -> bool:
    """Fold SQLite's write-ahead log into its file and cut it to nothing.

    False where another connection is in its way, and for other databases.
    """
    return _outside_transactions(engine, 'PRAGMA wal_checkpoint(TRUNCATE)')


def rewrite(engine: Engine) -> bool:
    """Write the database anew, so that none of its pages holds what was deleted.

    SQLite's secure deletion zeroes rows, not the copies that were left when pages were split. It
    takes as long as the database is large, and as much room again. False where it cannot be done
    now.
    """
    if engine.dialect.name == 'postgresql':
        return write_anew(engine, Base.metadata.tables)
    return _outside_transactions(engine, 'VACUUM') and fold_log(engine)


def _outside_transactions(engine: Engine, statement: str) -> bool:
    """Run a statement that no transaction may hold; return whether it was done."""
    if engine.dialect.name != 'sqlite':
        return False
    connection = engine.raw_connection()
    try:
        row = connection.cursor().execute(statement).fetchone()
        return row is None or not row[0]  # a checkpoint begins its row with whether it was kept off
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()


def says_full(said: str, place: str) -> bool:
    """Whether what a database says means that the disk is full.

    It may be so full that SQLite cannot even make the file, or the index of its log.
    """
    return 'is full' in said or 'No space left' in said or (
        ('disk I/O' in said or 'unable to open' in said) and _has_no_room(Path(place).parent))


def _has_no_room(folder: Path) -> bool:
    try:
        stat = os.statvfs(folder)
    except OSError:
        return False
    return stat.f_bavail * stat.f_frsize < LEAST_BYTES


def disk_error(said: str, error: OSError) -> StoreError:
    """Return the error that tells why a file or folder of a memory cannot be written."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return (StoreFullError if is_full else StoreError)(f'{said}: {error.strerror or error}')


def damaged(place: str, said: object) -> StoreError:
    """Return the error that tells of a damaged file, without what it quotes of a row."""
    what = str(said).partition(' with text ')[0]
    return StoreError(f'the database file {place} is damaged ({what}); `emv doctor --repair` '
                      'keeps a copy and mends it')


def translate(error: SQLAlchemyError, place: str) -> StoreError:
    """Return the StoreError that tells what the database at `place` said."""
    # Not the error itself: it shows the statement with all that was to be written.
    cause = error.orig if isinstance(error, StatementError) and error.orig else error
    # Nor what follows the first line of a server: it may quote what was to be written.
    said = next(iter(str(cause).splitlines()), type(cause).__name__)
    if isinstance(error, DBAPIError):
        if hasattr(error.orig, 'sqlstate') and (
                found := translate_state(error, said, place)):
            return found
        if 'locked' in said or 'busy' in said:
            return StoreBusyError(f'the database {place} is held by another process: {said}')
        if says_full(said, place):
            return StoreFullError(f'the disk of the memory {place} is full: {said}')
        if any(sign in said for sign in DAMAGED):
            return damaged(place, said)
        if 'unable to open' in said:
            return StoreError(f'the database {place} cannot be opened: {said}')
    is_value = isinstance(error, DataError | IntegrityError) or 'binding parameter' in said or (
        isinstance(error, StatementError) and not isinstance(error, DBAPIError))
    if is_value:
        return StoreValueError(f'a value that the database cannot hold: {said}')
    return StoreError(f'the database {place} refused: {said}')
