"""Bring a database to this version's schema, or say why that cannot be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from emv_ros.errors import SchemaError, StoreError
from emv_ros.memory.database import translate

MIGRATIONS = Path(__file__).parent / 'migrations'
# The newest revision in migrations/versions; a test checks that the two agree.
SCHEMA_VERSION = '0001'


def migrate(engine: Engine, folder: Path) -> None:
    """Create or upgrade the tables, one process at a time.

    Raises SchemaError for a database of a newer version or of something else than emv_ros.
    """
    try:
        with engine.connect() as connection:
            if _version(connection) == SCHEMA_VERSION:
                return
    except SQLAlchemyError as error:
        raise translate(error) from error
    with _lock(folder):
        _upgrade(engine)


def _version(connection: Connection) -> str | None:
    tables = set(inspect(connection).get_table_names())
    if 'alembic_version' in tables:
        found = connection.execute(text('SELECT version_num FROM alembic_version')).scalar()
        return str(found) if found else None
    if tables:
        raise SchemaError(
            f'this database holds other tables ({", ".join(sorted(tables)[:3])}): no emv_ros memory')
    return None


def _upgrade(engine: Engine) -> None:
    # Alembic takes a third of a second to import, and most openings need no migration.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option('script_location', str(MIGRATIONS).replace('%', '%%'))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    try:
        with engine.execution_options(emv_write=True).begin() as connection:
            version = _version(connection)
            if version is not None and version not in known:
                raise SchemaError(
                    f'this memory has schema {version}, made by a newer emv_ros; this one knows '
                    f'up to {SCHEMA_VERSION}: update emv_ros')
            config.attributes['connection'] = connection
            command.upgrade(config, 'head')
    except SQLAlchemyError as error:
        raise translate(error) from error


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    try:
        with (folder / '.migrate.lock').open('w') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise StoreError(f"cannot write in the memory's folder {folder}: {error}") from error
