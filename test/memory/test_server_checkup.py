"""What `emv doctor` finds about a memory on a server."""

from __future__ import annotations

from pathlib import Path

from databases import database_url
import postgresql
import pytest

from emv_ros.memory.server_checkup import check_server


@pytest.fixture
def url(postgresql_server: postgresql.Server, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv('EMV_TEST_SERVER', postgresql_server.url(''))
    return database_url(tmp_path).set(password='hunter2').render_as_string(hide_password=False)


def states(url: str) -> dict[str, str]:
    found = list(check_server(url))
    assert not any('hunter2' in finding.detail + finding.mend for finding in found)
    return {finding.name: finding.state for finding in found}


def test_it_names_what_is_wrong(url: str, postgresql_server: postgresql.Server) -> None:
    database = url.rpartition('/')[2]
    # The tests' server runs without syncing, which is what it should warn of.
    assert states(url) == {'database': 'ok', 'server': 'wrong', 'schema': 'ok', 'rights': 'ok',
                           'text index': 'ok'}
    postgresql_server.run('DROP INDEX ix_document_words', database)
    assert states(url)['text index'] == 'wrong'
    postgresql_server.run("UPDATE alembic_version SET version_num = '0008'", database)
    assert states(url)['schema'] == 'note'
    postgresql_server.run("UPDATE alembic_version SET version_num = '9999'", database)
    assert states(url)['schema'] == 'wrong'
    postgresql_server.run('DROP TABLE alembic_version', database)
    assert states(url)['schema'] == 'wrong'


def test_no_server_no_driver_no_url(url: str) -> None:
    for other in (f'{url}_nowhere', 'nosuch://a:hunter2@b/c', 'no url',
                  'postgresql+psycopg://a:b@c:hunter2/d',
                  'postgresql+psycopg://a@127.0.0.1:1/d?password=hunter2&sslpassword=hunter2'):
        assert states(other) == {'database': 'wrong'}
    found, = check_server(f'{url}_nowhere')
    assert 'does not exist' in found.detail and '127.0.0.1' in found.detail
