"""Checks of a memory on a PostgreSQL server: reached, of a known schema, its text index there.

It changes nothing and migrates nothing, so that it can speak of an older or a newer memory as well.
Whether the server's files are whole is for the server's own programs (`pg_amcheck`) to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from emv_ros.errors import StoreError
from emv_ros.memory.checkup import Finding, check_schema
from emv_ros.memory.database import open_engine, place_of, translate

REACH_S = 10.0
LONG_S = 60
# Above this share of the server's connections others may soon find none.
CROWDED = 0.8


def check_server(url: str | URL) -> Iterator[Finding]:
    """Check the server at a URL and the memory in its database; no password is told."""
    try:
        engine = open_engine(url, REACH_S)
        place = place_of(engine.url)
    except StoreError as error:
        yield Finding('database', 'wrong', str(error), 'mend memory.url in the settings, or '
                      'install the driver: pip install emv_ros[postgresql]')
        return
    try:
        with engine.connect() as connection:
            yield from _checked(connection, place)
    except SQLAlchemyError as error:
        yield Finding('database', 'wrong', str(translate(error, place)),
                      'start the server, or mend memory.url, the password or the network')
    except StoreError as error:
        yield Finding('database', 'wrong', str(error), 'see docs/fleet.md')
    finally:
        engine.dispose()


def _checked(connection: Connection, place: str) -> Iterator[Finding]:
    version = _scalar(connection, "SELECT current_setting('server_version')")
    size = int(_scalar(connection, 'SELECT pg_database_size(current_database())'))
    yield Finding('database', 'ok', f'{place}: PostgreSQL {version}, {size / 1e6:.0f} MB')
    if _scalar(connection, 'SELECT pg_is_in_recovery()'):
        yield Finding('server', 'note', 'it is a replica, which can only be read',
                      'robots that record need the primary server')
    elif _scalar(connection, "SELECT current_setting('fsync')") != 'on':
        yield Finding('server', 'wrong', 'fsync is off: a loss of power can destroy the memory',
                      'set fsync = on in postgresql.conf')
    yield from _connections(connection)
    tables = set(inspect(connection).get_table_names())
    finding = check_schema(tables, partial(_scalar, connection),
                           'name a database of its own in memory.url')
    yield finding
    if finding.state == 'ok':
        yield _rights(connection)
        yield _text_index(connection)


def _connections(connection: Connection) -> Iterator[Finding]:
    used = int(_scalar(connection, 'SELECT count(*) FROM pg_stat_activity '
                       "WHERE backend_type = 'client backend'"))
    most = int(_scalar(connection, "SELECT current_setting('max_connections')::int"))
    if used > CROWDED * most:
        yield Finding('connections', 'note', f'{used} of {most} are in use',
                      'raise max_connections, or close what is idle')
    longest = _scalar(connection, 'SELECT max(extract(epoch FROM now() - xact_start)) '
                      'FROM pg_stat_activity WHERE datname = current_database() '
                      "AND pid <> pg_backend_pid() AND state <> 'idle'")
    if longest is not None and longest > LONG_S:
        yield Finding('transactions', 'note', f'one has been open for {float(longest):.0f} s',
                      'writers wait for one that writes: see pg_stat_activity')


def _rights(connection: Connection) -> Finding:
    if _scalar(connection, "SELECT has_table_privilege('utterance', 'INSERT')"):
        return Finding('rights', 'ok', 'this user can record')
    return Finding('rights', 'note', 'this user can only read',
                   'robots that record need a user who owns the tables')


def _text_index(connection: Connection) -> Finding:
    if _scalar(connection, "SELECT bool_and(indisvalid) FROM pg_index "
               "WHERE indexrelid = to_regclass('ix_document_words')"):
        return Finding('text index', 'ok', 'it is there and valid')
    return Finding('text index', 'wrong', 'it is missing or not valid: search is slow',
                   'DROP INDEX IF EXISTS ix_document_words; '
                   'CREATE INDEX ix_document_words ON document USING gin (words)')


def _scalar(connection: Connection, statement: str) -> Any:
    return connection.execute(text(statement)).scalar()
