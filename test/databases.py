"""Where the memories of tests lie: in SQLite, or each in a database of its own on PostgreSQL.

`database_url(folder)` gives one URL a folder, in this process and in those that it starts. The
fixture `database` (conftest.py) decides which it is.
"""

from __future__ import annotations

from contextlib import closing, suppress
from functools import cache
from hashlib import md5
import os
from pathlib import Path
import sqlite3
from typing import Any

from sqlalchemy import URL, make_url

from emv_ros.memory import schema  # noqa: F401 (makes the tables known)
from emv_ros.memory.columns import Base
from emv_ros.memory.database import DATABASE_FILE, sqlite_url

KINDS = 'sqlite', 'postgresql'
# Names the server to this process and to its children: a URL without a database.
SERVER = 'EMV_TEST_SERVER'
PREFIX = 'memory_'
CLEAN = 'clean_'
TEMPLATE = 'migrated'
# What tells that nobody altered a database.
SHAPE = """SELECT version_num, (SELECT count(*) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace) FROM alembic_version"""
# Rows go without triggers; ids begin anew, and so does the journal, with a token of its own.
WIPE = 'SET session_replication_role = replica;' + ''.join(
    f'DELETE FROM {name};' + (f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), 1, false);"
                              if table.columns.get('id') is not None else '')
    for name, table in Base.metadata.tables.items()) + (
    "INSERT INTO change (kind, ref_id) VALUES ('memory', 0)")


def database_url(folder: Path | str) -> URL:
    """Return the URL of the memory in a folder; on a server its database is made, migrated."""
    server = os.environ.get(SERVER)
    if not server:
        return sqlite_url(Path(folder))
    name = PREFIX + md5(str(Path(folder).resolve()).encode()).hexdigest()[:24]
    _make(server, name)
    return make_url(server).set(database=name)


def is_postgresql() -> bool:
    return SERVER in os.environ


@cache
def _make(server: str, name: str) -> None:
    import psycopg
    from psycopg.errors import DuplicateDatabase, UniqueViolation

    place = make_url(server).set(drivername='postgresql')
    with suppress(DuplicateDatabase, UniqueViolation), psycopg.connect(
            place.set(database='postgres').render_as_string(), autocommit=True) as connection:
        if connection.execute(f"SELECT 1 FROM pg_database WHERE datname = '{name}'").fetchone():
            return
        for (clean,) in connection.execute(
                f"SELECT datname FROM pg_database WHERE datname LIKE '{CLEAN}%'").fetchall():
            with suppress(psycopg.Error):  # another process took it
                connection.execute(f'ALTER DATABASE {clean} RENAME TO {name}'.encode())
                return
        quickly = ' STRATEGY file_copy' if connection.info.server_version >= 150_000 else ''
        connection.execute(f'CREATE DATABASE {name} TEMPLATE {TEMPLATE}{quickly}'.encode())
        with psycopg.connect(place.set(database=name).render_as_string(),
                             autocommit=True) as made:
            made.execute(WIPE)


def clear(server: str) -> None:
    """Empty the databases that were made, for others to use; those that were altered go.

    To empty one takes a tenth of the time that it takes to make one.
    """
    import psycopg

    _make.cache_clear()
    place = make_url(server).set(drivername='postgresql')

    def connect(name: str) -> psycopg.Connection[Any]:
        return psycopg.connect(place.set(database=name).render_as_string(), autocommit=True)

    with connect('postgres') as connection:
        for (name,) in connection.execute(
                f"SELECT datname FROM pg_database WHERE datname LIKE '{PREFIX}%'").fetchall():
            connection.execute('SELECT pg_terminate_backend(pid) FROM pg_stat_activity '
                               'WHERE datname = %s', (name,))
            try:
                with connect(name) as used, connect(TEMPLATE) as template:
                    is_whole = [used.execute(SHAPE).fetchall()] == [
                        template.execute(SHAPE).fetchall()]
                    used.execute(WIPE)
                if is_whole:
                    connection.execute(
                        f'ALTER DATABASE {name} RENAME TO {CLEAN}{name}'.encode())
                    continue
            except psycopg.Error:
                pass  # without its tables, or in use to the last
            connection.execute(f'DROP DATABASE {name} WITH (FORCE)'.encode())


def rows(folder: Path | str, query: str) -> list[dict[str, Any]]:
    """Return the rows of a query by plain SQL, as the database has them."""
    server = os.environ.get(SERVER)
    if not server:
        with closing(sqlite3.connect(Path(folder) / DATABASE_FILE)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query)]
    import psycopg
    from psycopg.rows import dict_row

    url = database_url(folder).set(drivername='postgresql').render_as_string()
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return connection.execute(query.encode()).fetchall()



def files_with(folder: Path, word: str) -> list[str]:
    """Return the files of a memory whose bytes hold a word: of its folder, and of its server."""
    places = [folder]
    if is_postgresql():
        # Files of tables that were written anew are cut by the checkpoint after that.
        place, = rows(folder, """SELECT current_setting('data_directory') AS data,
            oid FROM pg_database WHERE datname = current_database()""")
        _checkpoint(folder)
        places.append(Path(place['data']) / 'base' / str(place['oid']))
    return sorted(str(file.relative_to(place)) for place in places for file in place.rglob('*')
                  if file.is_file() and word.lower().encode() in file.read_bytes().lower())


def _checkpoint(folder: Path) -> None:
    import psycopg

    url = database_url(folder).set(drivername='postgresql').render_as_string()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute('CHECKPOINT')
