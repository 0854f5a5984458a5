"""What holds for every test: it stays on this machine, on one thread, and is strict.

Tests marked `both_databases` run twice: over SQLite and over a real PostgreSQL server.
"""

from collections.abc import Iterator
import os
from pathlib import Path
import sqlite3
from typing import Any

# Before anything imports rclpy, NumPy or litellm, which read these once.
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_PYTHON_CHECK_FIELDS', '1')
os.environ.setdefault('OMP_NUM_THREADS', '1')
os.environ.setdefault('LITELLM_LOCAL_MODEL_COST_MAP', 'True')
# Processes that tests start find `databases`, too.
os.environ['PYTHONPATH'] = os.pathsep.join(
    filter(None, (str(Path(__file__).parent), os.environ.get('PYTHONPATH'))))

import databases  # noqa: E402
import postgresql  # noqa: E402
import pytest  # noqa: E402
from sqlalchemy import Engine, event  # noqa: E402


@event.listens_for(Engine, 'connect')
def _in_no_order(connection: Any, _record: Any) -> None:
    """Let SQLite give rows in reverse where no order is asked for: PostgreSQL gives any."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute('PRAGMA reverse_unordered_selects = ON')


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked so over both databases."""
    marker = metafunc.definition.get_closest_marker
    if marker('both_databases') and not marker('sqlite_only'):
        metafunc.parametrize('database', databases.KINDS, indirect=True)


@pytest.fixture(scope='session')
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgresql.Server]:
    """Yield a server that holds a migrated, empty memory to copy from."""
    if reason := postgresql.reason_against():
        if postgresql.is_required():
            pytest.fail(reason)
        pytest.skip(reason)
    server = postgresql.Server()
    try:
        server.run(f'CREATE DATABASE {databases.TEMPLATE}')
        from emv_ros.memory.store import MemoryStore

        MemoryStore(tmp_path_factory.mktemp('migrated'), server.url(databases.TEMPLATE),
                    'robot').close()
        yield server
    finally:
        server.remove()


@pytest.fixture(autouse=True)
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the kind of database in which memories lie during the test."""
    kind: str = getattr(request, 'param', databases.KINDS[0])
    if kind == 'sqlite':
        yield kind
        return
    server: postgresql.Server = request.getfixturevalue('postgresql_server')
    monkeypatch.setenv(databases.SERVER, server.url(''))
    yield kind
    databases.clear(server.url(''))
