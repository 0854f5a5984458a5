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

from emv_ros.memory.database import DATABASE_FILE, sqlite_url

KINDS = 'sqlite', 'postgresql'
# Names the server to this process and to its children: a URL without a database.
SERVER = 'EMV_TEST_SERVER'
PREFIX = 'memory_'
TEMPLATE = 'migrated'


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
    with suppress(DuplicateDatabase, UniqueViolation):
        with psycopg.connect(place.set(database='postgres').render_as_string(),
                             autocommit=True) as connection:
            connection.execute(
                f'CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY file_copy'.encode())
        with psycopg.connect(place.set(database=name).render_as_string(),
                             autocommit=True) as connection:
            # Each memory has a journal of its own.
            connection.execute('UPDATE change SET token = DEFAULT')


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


def forget_made() -> None:
    """Forget which databases were made: they are gone."""
    _make.cache_clear()
