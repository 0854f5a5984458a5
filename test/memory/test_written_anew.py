"""What a server skips because of its rights is not called written anew."""

from __future__ import annotations

from collections.abc import Iterator

import postgresql
import pytest
from sqlalchemy import Engine, make_url

from emv_ros.memory.server import server_engine, write_anew

DATABASE, USER = 'rights', 'tenant'


@pytest.fixture
def of_tenant(postgresql_server: postgresql.Server) -> Iterator[Engine]:
    """Yield the connections of a user who owns the table `own`, and neither `other` nor more."""
    server = postgresql_server
    server.run(f'CREATE ROLE {USER} LOGIN')
    server.run(f'CREATE DATABASE {DATABASE}')
    for statement in (f'GRANT ALL ON SCHEMA public TO {USER}', 'CREATE TABLE other (x text)',
                      'CREATE TABLE own (x text)', f'ALTER TABLE own OWNER TO {USER}'):
        server.run(statement, DATABASE)
    engine = server_engine(make_url(server.url(DATABASE)).set(username=USER), 5.0)
    yield engine
    engine.dispose()
    server.run(f'DROP DATABASE {DATABASE}')
    server.run(f'DROP ROLE {USER}')


def test_rights(of_tenant: Engine, postgresql_server: postgresql.Server,
                caplog: pytest.LogCaptureFixture) -> None:
    assert not write_anew(of_tenant, ['own'])  # the planner's statistics are the database's
    assert 'pg_statistic' in caplog.text
    assert not write_anew(of_tenant, ['own', 'other']) and 'other' in caplog.text
    postgresql_server.run(f'ALTER DATABASE {DATABASE} OWNER TO {USER}')
    assert write_anew(of_tenant, ['own'])
