"""A backup of a server as docs/fleet.md tells it: what comes back is the memory, and goes on."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess

from databases import database_url
from memory_contents import contents, states
from memory_parts import said
import postgresql
import pytest
from whole_memory import fill

from emv_ros.memory.queries import utterances
from emv_ros.memory.server_checkup import check_server
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.word_index import word_index


def test_what_is_restored_is_the_memory(postgresql_server: postgresql.Server, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    programs = postgresql_server.programs
    if not (programs / 'pg_restore').exists():
        pytest.skip('only the server is installed, without pg_dump')
    monkeypatch.setenv('EMV_TEST_SERVER', postgresql_server.url(''))
    first, again = tmp_path / 'first', tmp_path / 'again'
    with MemoryStore(first, database_url(first), 'robot') as memory:
        fill(memory)
        # While somebody writes: a dump shows one state.
        with memory.writing() as session:
            memory.robot_id(session, 'robot')
            _run(programs / 'pg_dump', '--format=custom', f'--file={tmp_path / "emv.dump"}',
                 plain(first))
        told, state = contents(first, queries=True), states(first)
    name = str(database_url(again).database)
    postgresql_server.run(f'DROP DATABASE {name}')
    postgresql_server.run(f'CREATE DATABASE {name} ENCODING UTF8 TEMPLATE template0')
    _run(programs / 'pg_restore', '--exit-on-error', '--no-owner', f'--dbname={plain(again)}',
         tmp_path / 'emv.dump')
    shutil.copytree(first / 'pictures', again / 'pictures')
    assert (contents(again, queries=True), states(again)) == (told, state)
    assert {finding.name for finding in check_server(database_url(again))
            if finding.state == 'wrong'} == {'server'}  # fsync is off in tests
    with MemoryStore(again, database_url(again), 'robot') as memory:
        known = {item.id for item in utterances(memory)}
        new = memory.add(said(200, 'a brand new word'))
        assert new > max(known)  # the counters came along
        with memory.reading() as session:
            index = word_index(session)
            assert index.count('brand', 1, 10**6) == 1 and index.count('mug', 1, 10**6) > 1
        assert memory.picture(1)


def plain(folder: Path) -> str:
    return database_url(folder).set(drivername='postgresql').render_as_string()


def _run(program: Path, *arguments: object) -> None:
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
