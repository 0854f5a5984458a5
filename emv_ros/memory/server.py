"""PostgreSQL as the store of a fleet: its engine, its write lock and what its errors mean.

One transaction of a memory writes at a time, as in SQLite: runs are folded, leases taken and the
journal of changes numbered in one order, whatever robot writes. The lock is held by the
transaction, so that a robot that dies or loses its network gives it back. A transaction that reads
sees one state throughout.
"""

from __future__ import annotations

from collections.abc import Iterable
import logging
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from emv_ros.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreValueError,
)
from emv_ros.memory.values import from_json, to_json

log = logging.getLogger(__name__)

DRIVER = 'postgresql+psycopg'
OLDEST = 13
# The triggers of the journal of changes take the same one: whoever writes past this module waits.
WRITE_LOCK = "SELECT pg_advisory_xact_lock(hashtext('emv_ros change'))"
# A peer that is silent for this long is gone; its transaction ends, and with it its locks.
SILENCE_S, PROBES = 10, 3

# What the first letters of an SQLSTATE mean; longer ones stand before shorter ones.
_BUSY = ('55P03', '57014', '40001', '40P01', '53300', '55006')
_FULL = ('53100',)
_READ_ONLY = ('25006',)
_VALUE = ('22', '23', '54', '42804', '42846')
_GONE = ('57P', '08')
_PASSWORDS = ('password', 'sslpassword')  # parameters of a URL


def shown_url(url: URL) -> str:
    """Return a URL without its passwords, of which libpq takes some as parameters."""
    return url.difference_update_query(_PASSWORDS).render_as_string(hide_password=True)


def is_postgresql(url: URL) -> bool:
    """Whether a URL, parsed, is of a PostgreSQL server."""
    return url.drivername.partition('+')[0] in ('postgresql', 'postgres')


def server_engine(url: URL, busy_timeout_s: float) -> Engine:
    """Return an engine for a PostgreSQL server; it connects when it is first used.

    Raises ImportError where the driver is not installed.
    """
    if '+' not in url.drivername:
        url = url.set(drivername=DRIVER)
    seconds = max(2, round(busy_timeout_s))
    # Whatever the server's default: who waited for the write lock must see what was written before.
    engine = create_engine(url, pool_pre_ping=True, isolation_level='READ COMMITTED',
                           json_serializer=to_json,
                           json_deserializer=from_json, connect_args={
        'connect_timeout': seconds, 'client_encoding': 'utf8', 'keepalives_idle': SILENCE_S,
        'keepalives_interval': SILENCE_S, 'keepalives_count': PROBES,
        'tcp_user_timeout': 1000 * seconds})

    @event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        _check(connection, engine.url)
        connection.autocommit = True
        connection.execute(
            f"SELECT set_config('lock_timeout', '{1000 * busy_timeout_s:.0f}', false), "
            f"set_config('tcp_keepalives_idle', '{SILENCE_S}', false), "
            f"set_config('tcp_keepalives_interval', '{SILENCE_S}', false), "
            f"set_config('tcp_keepalives_count', '{PROBES}', false)")
        connection.autocommit = False

    @event.listens_for(engine, 'begin')
    def begin(connection: Any) -> None:
        if connection.get_execution_options().get('emv_write', False):
            connection.exec_driver_sql(WRITE_LOCK)

    return engine


def reading_options() -> dict[str, Any]:
    """Return the options of a connection whose transaction only reads, and sees one state."""
    return {'isolation_level': 'REPEATABLE READ', 'postgresql_readonly': True}


def write_anew(engine: Engine, tables: Iterable[str]) -> bool:
    """Write tables anew, so that they hold nothing deleted; False where not all is done.

    So is what the planner noted of them: earlier statistics show values of rows that are gone. A
    table may be in use; and one that this user may not write anew the server skips with a warning.
    """
    names = ', '.join(engine.dialect.identifier_preparer.quote(name) for name in tables)
    skipped: list[str] = []

    def told(notice: Any) -> None:
        if notice.severity_nonlocalized == 'WARNING':
            skipped.append(notice.message_primary or '')

    try:
        with engine.execution_options(isolation_level='AUTOCOMMIT').connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.add_notice_handler(told)
            try:
                connection.exec_driver_sql(f'VACUUM (FULL, ANALYZE) {names}')
                connection.exec_driver_sql('VACUUM (FULL) pg_catalog.pg_statistic')
            finally:
                driver.remove_notice_handler(told)
    except SQLAlchemyError:
        return False
    if skipped:
        log.warning('not all of the database is written anew: %s', '; '.join(skipped))
    return not skipped


def translate_state(error: DBAPIError, said: str, place: str) -> StoreError | None:
    """Return what an error of a server means; None where it tells no more than any other."""
    state = getattr(error.orig, 'sqlstate', None)
    if state is None and said.startswith('cannot adapt type'):
        return StoreValueError(f'a value that the database cannot hold: {said}')
    if state is None:
        is_lost = error.connection_invalidated or type(error).__name__ == 'OperationalError'
        return StoreError(f'the database {place} cannot be reached: {said}') if is_lost else None
    if state.startswith(_BUSY):
        return StoreBusyError(f'the database {place} is held by another process: {said}')
    if state.startswith(_FULL):
        return StoreFullError(f'the disk of the database {place} is full: {said}')
    if state.startswith(_READ_ONLY):
        return StoreReadOnlyError(f'the database {place} can only be read: {said}')
    if state.startswith(_VALUE):
        return StoreValueError(f'a value that the database cannot hold: {said}')
    if state.startswith(_GONE):
        return StoreError(f'the database {place} cannot be reached: {said}')
    return None


def _check(connection: Any, url: URL) -> None:
    """Raise StoreError for a server that cannot hold a memory."""
    place = shown_url(url)
    version = connection.info.server_version
    if version < OLDEST * 10_000:
        raise StoreError(f'the database {place} is on PostgreSQL {version // 10_000}; '
                         f'a memory needs {OLDEST} or newer')
    encoding = connection.info.parameter_status('server_encoding')
    if encoding != 'UTF8':
        raise StoreError(f'the database {place} has the encoding {encoding}, which does not hold '
                         'every text; make one with `createdb -E UTF8 -T template0 NAME`')
