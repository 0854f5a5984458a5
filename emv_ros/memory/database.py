"""Engines, transactions and the translation of database errors.

SQLite runs in WAL mode with foreign keys and full syncs: a committed record survives a loss of power. A write takes
the lock at its start, so that it waits its turn instead of failing half way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session

from emv_ros.errors import StoreBusyError, StoreError, StoreFullError

DATABASE_FILE = 'memory.db'


def open_engine(url: str, busy_timeout_s: float) -> Engine:
    """Return an engine for the URL, prepared as the module says."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StoreError(f'no database URL: {url!r}') from error
    if parsed.get_backend_name() != 'sqlite':
        return create_engine(parsed, pool_pre_ping=True)
    engine = create_engine(parsed, connect_args={
        'timeout': busy_timeout_s, 'check_same_thread': False})

    @event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        # The driver must not begin transactions by itself: `begin` below does.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f'PRAGMA busy_timeout = {int(busy_timeout_s * 1000)}')
        cursor.execute('PRAGMA foreign_keys = ON')
        cursor.execute('PRAGMA secure_delete = ON')
        cursor.execute('PRAGMA synchronous = FULL')
        cursor.execute('PRAGMA query_only').fetchone()
        try:
            cursor.execute('PRAGMA journal_mode = WAL')
        except Exception as error:  # a read-only file or folder keeps the mode that it has
            if 'readonly' not in str(error) and 'read-only' not in str(error):
                raise
        cursor.close()

    @event.listens_for(engine, 'begin')
    def begin(connection: Any) -> None:
        writes = connection.get_execution_options().get('emv_write', False)
        connection.exec_driver_sql('BEGIN IMMEDIATE' if writes else 'BEGIN')

    return engine


def sqlite_url(folder: Path) -> str:
    """Return the URL of the SQLite database in a memory's folder."""
    return f'sqlite:///{folder / DATABASE_FILE}'


@contextmanager
def transaction(engine: Engine, write: bool) -> Iterator[Session]:
    """Yield a session that commits at the end; errors come out as StoreError.

    A write session holds the database's write lock from the start.
    """
    bind = engine.execution_options(emv_write=write)
    try:
        with Session(bind, expire_on_commit=False) as session, session.begin():
            yield session
    except SQLAlchemyError as error:
        raise translate(error) from error
    except (UnicodeEncodeError, OverflowError) as error:  # of the driver: half a character, 2**63
        raise StoreError(f'a value that the database cannot hold: {error}') from error


def translate(error: SQLAlchemyError) -> StoreError:
    """Return the StoreError that tells what the database said."""
    said = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    if 'locked' in said or 'busy' in said:
        return StoreBusyError(f'the database is held by another process: {said}')
    if 'disk is full' in said or 'No space left' in said:
        return StoreFullError(f'the disk of the memory is full: {said}')
    if 'malformed' in said or 'not a database' in said:
        return StoreError(f'the database file is damaged ({said}); run `emv doctor`')
    return StoreError(f'the database refused: {said}')
