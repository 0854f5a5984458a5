"""Bring a database to this version's schema, or say why that cannot be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import logging
from pathlib import Path
import sqlite3

from sqlalchemy import URL, Connection, Engine, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from emv_ros.errors import SchemaError, StoreError, StoreFullError
from emv_ros.memory.database import (
    damaged,
    disk_error,
    is_log_gone,
    open_engine,
    place_of,
    says_full,
    translate,
    unreadable,
)

log = logging.getLogger(__name__)

MIGRATIONS = Path(__file__).parent / 'migrations'
# The newest revision in migrations/versions; a test checks that the two agree.
SCHEMA_VERSION = '0009'


def migrate(engine: Engine, folder: Path, is_read_only: bool = False) -> None:
    """Create or upgrade the tables, one process at a time.

    Raises SchemaError for a database of a newer version or of something else than emv_ros, and for
    an older one that cannot be written.
    """
    place = place_of(engine.url)
    if engine.dialect.name == 'sqlite' and is_log_gone(Path(place)):
        log.warning('the write-ahead log of %s was removed, and with it what was committed last; '
                    '`emv doctor --repair` looks at what is left', place)
    try:
        with engine.connect() as connection:
            version = _version(connection, place)
            is_ready = version == SCHEMA_VERSION and (is_read_only or _logs_ahead(connection))
    except SQLAlchemyError as error:
        raise translate(error, place) from error
    except UnicodeDecodeError as error:
        raise unreadable(place) from error
    if is_ready:
        return
    if is_read_only:
        _refuse_newer(version, place)
        raise SchemaError(f'the memory {place} has schema {version}, this emv_ros needs '
                          f'{SCHEMA_VERSION}, and its files cannot be written')
    with _lock(folder):
        _upgrade(engine, place)


def _version(connection: Connection, place: str) -> str | None:
    tables = set(inspect(connection).get_table_names())
    if 'alembic_version' in tables:
        found = connection.execute(text('SELECT version_num FROM alembic_version')).scalar()
        return str(found) if found else None
    if tables:
        raise SchemaError(f'the database {place} holds other tables '
                          f'({", ".join(sorted(tables)[:3])}): no emv_ros memory')
    return None


def _known() -> set[str]:
    return {file.name.partition('_')[0] for file in (MIGRATIONS / 'versions').glob('[0-9]*.py')}


def _refuse_newer(version: str | None, place: str) -> None:
    if version is not None and version not in _known():
        raise SchemaError(
            f'the memory {place} has schema {version}, made by a newer emv_ros; this one knows '
            f'up to {SCHEMA_VERSION}: update emv_ros')


def build(file: Path, version: str) -> None:
    """Make the tables of a known version in a new SQLite file. Raises SchemaError, StoreError."""
    engine = open_engine(URL.create('sqlite', database=str(file)), 0.0)
    try:
        _refuse_newer(version, str(file))
        _upgrade(engine, str(file), version)
    finally:
        engine.dispose()


def _upgrade(engine: Engine, place: str, version: str = 'head') -> None:
    # Alembic takes a third of a second to import, and most openings need no migration.
    from alembic import command
    from alembic.config import Config

    _log_ahead(engine, place)
    config = Config()
    config.set_main_option('script_location', str(MIGRATIONS).replace('%', '%%'))
    try:
        with engine.execution_options(emv_write=True).begin() as connection:
            _refuse_newer(_version(connection, place), place)
            config.attributes['connection'] = connection
            command.upgrade(config, version)
    except SQLAlchemyError as error:
        raise translate(error, place) from error


def _logs_ahead(connection: Connection) -> bool:
    return connection.dialect.name != 'sqlite' or (
        connection.exec_driver_sql('PRAGMA journal_mode').scalar() == 'wal')


def _log_ahead(engine: Engine, place: str) -> None:
    """Set SQLite's write-ahead log, which the file keeps: readers and a writer go side by side."""
    if engine.dialect.name != 'sqlite':
        return
    connection = engine.raw_connection()
    try:  # outside a transaction, where alone it can be set
        connection.cursor().execute('PRAGMA journal_mode = WAL')
    except sqlite3.OperationalError as error:
        if 'locked' not in str(error):
            kind = StoreFullError if says_full(str(error), place) else StoreError
            raise kind(f'the database {place} cannot be opened: {error}') from error
        log.warning('%s is in use and keeps its journal mode until it is opened again', place)
    except sqlite3.DatabaseError as error:
        raise damaged(place, error) from error
    finally:
        connection.close()


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    try:
        file = (folder / '.migrate.lock').open('w')
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise disk_error(f"cannot write in the memory's folder {folder}", error) from error
    with file:
        yield
