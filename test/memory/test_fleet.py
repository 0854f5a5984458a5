"""A memory on a server: others write in it, the server goes and comes, values are odd."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
import math
from pathlib import Path
import subprocess
import sys
import time

from databases import database_url, rows
from memory_parts import report, said
import postgresql
from psycopg.errors import DiskFull, SerializationFailure
import pytest
from sqlalchemy import func, make_url, select, text
from sqlalchemy.exc import OperationalError

from emv_ros.errors import (
    SchemaError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from emv_ros.memory import queries, schema
from emv_ros.memory.database import translate
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter

SECRET = 'hunter2'


@pytest.fixture
def server(
        postgresql_server: postgresql.Server) -> Iterator[postgresql.Server]:
    """Yield the server, which is up again afterwards whatever the test did."""
    yield postgresql_server
    if not postgresql_server.answers():
        postgresql_server.start()


@pytest.fixture
def on_server(server: postgresql.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('EMV_TEST_SERVER', server.url(''))


def with_password(folder: Path) -> str:
    return database_url(folder).set(password=SECRET).render_as_string(hide_password=False)


@pytest.mark.parametrize('is_killed', [False, True])
def test_a_server_that_goes_and_comes_loses_nothing(
        server: postgresql.Server, on_server: None, tmp_path: Path, is_killed: bool) -> None:
    with MemoryStore(tmp_path, with_password(tmp_path), 'robot') as memory:
        writer = BatchWriter(memory, flush_period_s=0.01, batch_size=10)
        for number in range(300):
            if number == 100:
                server.stop(is_killed)
            if number == 200:
                while not writer.last_error:
                    writer.flush(0.05)
                told = writer.last_error
                server.start()
            writer.add(said(number, f'word {number}'))
        assert writer.close(60)
        assert not writer.refused
        assert 'cannot be reached' in told and SECRET not in told
        assert sorted(int(item.text.split()[1]) for item in queries.utterances(memory)) == list(
            range(300))


def test_no_server_is_said_without_the_password(
        server: postgresql.Server, on_server: None, tmp_path: Path) -> None:
    url = with_password(tmp_path)
    with pytest.raises(StoreError, match='database "nowhere" does not exist') as absent:
        MemoryStore(tmp_path, make_url(url).set(database='nowhere'), 'robot')
    server.stop()
    with pytest.raises(StoreError, match='cannot be reached: .*refused') as refused:
        MemoryStore(tmp_path, url, 'robot')
    for caught in (absent, refused):
        assert SECRET not in str(caught.value)
        assert '127.0.0.1' in str(caught.value)


def test_one_writes_at_a_time_and_says_who_waits_too_long(
        on_server: None, tmp_path: Path) -> None:
    with MemoryStore(tmp_path, with_password(tmp_path), 'a') as one, \
            MemoryStore(tmp_path, with_password(tmp_path), 'b', busy_timeout_s=0.2) as other:
        with one.writing():
            assert other.counts()['utterance'] == 0  # readers do not wait
            with pytest.raises(StoreBusyError, match='held by another process') as caught:
                other.add(said(0, 'too early'))
            assert SECRET not in str(caught.value)
        other.add(said(0, 'in time'))
        assert one.counts()['utterance'] == 1


def test_a_killed_writer_gives_its_lock_back(on_server: None, tmp_path: Path) -> None:
    code = ('import sys\nfrom pathlib import Path\nfrom emv_ros.memory.store import MemoryStore\n'
            'with MemoryStore(Path(sys.argv[1]), sys.argv[2], "a") as store, '
            'store.writing() as session:\n    store.robot_id(session, "a")\n'
            '    print(1, flush=True)\n    sys.stdin.read()\n')
    url = with_password(tmp_path)
    with subprocess.Popen([sys.executable, '-c', code, tmp_path, url], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline()
        process.kill()
    with MemoryStore(tmp_path, url, 'b', busy_timeout_s=20.0) as store:
        store.add(said(0, 'hello'))
        assert store.robots() == ['b']


def test_who_reads_sees_one_state_and_cannot_write(on_server: None, tmp_path: Path) -> None:
    with MemoryStore(tmp_path, database_url(tmp_path), 'a') as store:
        with store.reading() as session:
            count = select(func.count()).select_from(schema.UtteranceRow)
            assert session.scalar(count) == 0
            store.add(said(0, 'meanwhile'))
            assert session.scalar(count) == 0
        with pytest.raises(StoreReadOnlyError), store.reading() as session:
            session.execute(text('DELETE FROM utterance'))
        assert store.counts()['utterance'] == 1


def test_what_no_index_holds_is_refused_and_costs_nothing_else(
        on_server: None, tmp_path: Path) -> None:
    import random

    endless = ''.join(random.Random(1).choices('abcdefghijklmnopqrstuvwxyz0123456789', k=9000))
    with MemoryStore(tmp_path, database_url(tmp_path), 'a') as store:
        writer = BatchWriter(store)
        for record in (said(0, 'before'), report(1, 'running', source_id=endless),
                       said(2, endless), said(3, 'after')):
            writer.add(record)
        assert writer.close(60)
        assert writer.refused == {'SkillReport': 1}
        assert [item.text for item in queries.utterances(store)] == ['before', endless, 'after']


@pytest.mark.both_databases
def test_odd_values_are_the_same_in_both(memory: MemoryStore) -> None:
    odd = {'nul\0': 'a\0b', 'nan': math.nan, 'deep': [math.inf, {'x': '\0'}], 'kept': '\\u0000'}
    memory.add(said(0, 'half\0way', extra=odd))
    memory.add(report(1, 'running', parameters=odd))
    found, = queries.utterances(memory)
    clean = {'nul ': 'a b', 'nan': None, 'deep': [None, {'x': ' '}], 'kept': '\\u0000'}
    assert (found.text, found.extra) == ('half way', clean)
    run, = queries.skill_events(memory)
    assert run.parameters == clean
    memory.add(report(2, 'succeeded', parameters=odd))
    assert memory.counts()['skill_event'] == 1  # the same run


@pytest.mark.both_databases
def test_letters_of_all_languages_are_found_whatever_their_case(memory: MemoryStore) -> None:
    for number, (speaker, words) in enumerate(
            (('Jörg', 'Über die STRASSE'), ('JÖRG', 'über ÉTÉ'), ('ann', 'МИР 100%_'))):
        memory.add(replace(said(number, words), speaker=speaker))
    for words, found in (('über', [1, 2]), ('ÜBER', [1, 2]), ('été', [2]), ('мир', [3]),
                         ('мир 100%_', [3]), ('Straße', []), ('strasse', [1]), ('é', [2])):
        assert [item.id for item in queries.utterances(memory, text=words)] == found, words
    assert [item.id for item in queries.utterances(memory, speaker='jörg')] == [1, 2]


@pytest.mark.both_databases
def test_odd_numbers_are_the_same_in_both(memory: MemoryStore) -> None:
    for number, confidence in enumerate((math.nan, math.inf, True, 1, 0.5)):
        memory.add(said(number, 'x', confidence=confidence))
    assert [item.confidence for item in queries.utterances(memory)] == [None, math.inf, 1, 1, 0.5]


@pytest.mark.both_databases
def test_values_of_no_kind_cost_no_other_record(memory: MemoryStore) -> None:
    """A writer must not try for ever what no database will ever take."""
    writer = BatchWriter(memory)
    odd = [said(1, b'bytes'), said(2, ['list']), said(3, 'x', confidence=[0.5]),
           said(4, 'x', confidence='half'), said(5, 'x', end_ns=[1])]
    for record in (said(0, 'before'), *odd, said(9, 'after')):
        writer.add(record)
    assert writer.close(20)
    assert [item.text for item in queries.utterances(memory)] == ['before', 'after']
    assert writer.refused == {'Utterance': len(odd)}


def test_what_errors_mean() -> None:
    for error, kind in ((DiskFull('no space'), StoreFullError),
                        (SerializationFailure('could not serialize'), StoreBusyError)):
        assert type(translate(OperationalError('x', {}, error), 'there')) is kind


def test_only_a_memory_is_opened(server: postgresql.Server, on_server: None,
                                 tmp_path: Path) -> None:
    server.run('DROP DATABASE IF EXISTS memory_latin')
    provider = ' LOCALE_PROVIDER libc' if server.version >= 15 else ''
    server.run("CREATE DATABASE memory_latin ENCODING 'SQL_ASCII' TEMPLATE template0 "
               f"LC_COLLATE 'C' LC_CTYPE 'C'{provider}")
    with pytest.raises(StoreError, match='encoding SQL_ASCII.*createdb'):
        MemoryStore(tmp_path, server.url('memory_latin'), 'robot')
    url = database_url(tmp_path)
    server.run("UPDATE alembic_version SET version_num = '9999'", str(url.database))
    with pytest.raises(SchemaError, match='schema 9999, made by a newer emv_ros'):
        MemoryStore(tmp_path, url, 'robot')
    server.run('DROP TABLE alembic_version', str(url.database))
    with pytest.raises(SchemaError, match='no emv_ros memory'):
        MemoryStore(tmp_path, url, 'robot')


def test_what_is_deleted_leaves_the_tables(on_server: None, tmp_path: Path) -> None:
    with MemoryStore(tmp_path, database_url(tmp_path), 'robot') as store:
        store.add_many(said(number, 'x' * 500) for number in range(1000))
        with store.writing() as session:
            session.execute(text('DELETE FROM utterance'))

        def size() -> int:
            return int(rows(tmp_path, "SELECT pg_table_size('utterance') AS n")[0]['n'])

        before = size()
        with store.reading() as session:
            session.execute(text('SELECT 1 FROM utterance'))
            with MemoryStore(tmp_path, database_url(tmp_path), 'r', busy_timeout_s=0.2) as other:
                assert not other.rewrite()
        assert store.rewrite()
        assert size() < before / 10


def test_who_waited_to_write_sees_what_was_written(
        server: postgresql.Server, on_server: None, tmp_path: Path) -> None:
    """Also on a server whose transactions see the state of their first statement by default."""
    url = database_url(tmp_path)
    server.run(f"ALTER DATABASE {url.database} "
               "SET default_transaction_isolation = 'repeatable read'")
    with MemoryStore(tmp_path, url, 'robot') as memory, ThreadPoolExecutor(1) as pool:
        def mark() -> object:
            with memory.writing() as session:
                return session.get_one(schema.StateRow, 'mark').value

        memory.set_state('mark', {'n': 1})
        with memory.writing() as session:
            later, end_s = pool.submit(mark), time.monotonic() + 20
            while not server.run("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' "
                                 'AND NOT granted'):
                assert time.monotonic() < end_s, 'the other does not wait'
            session.get_one(schema.StateRow, 'mark').value = {'n': 2}
        assert later.result(20) == {'n': 2}
        with memory.reading() as session:  # who reads goes on to see one state
            assert session.scalar(text('SHOW transaction_isolation')) == 'repeatable read'
