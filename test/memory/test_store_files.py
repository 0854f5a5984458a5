"""Folders and files that are not as they should be: each is told by name, none is harmed."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
import multiprocessing
from multiprocessing.queues import SimpleQueue
import os
from pathlib import Path
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time

from limits import SOON_S
from memory_parts import said
import pytest

from emv_ros.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    TimeExpressionError,
)
from emv_ros.memory import queries
from emv_ros.memory.checkup import check_database
from emv_ros.memory.database import DATABASE_FILE, sqlite_url
from emv_ros.memory.pictures import PictureFolder
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import MemorySettings

NOBODY = 65534


def open_in(folder: Path, busy_timeout_s: float = 5.0) -> MemoryStore:
    return MemoryStore(folder, sqlite_url(folder), 'robot', busy_timeout_s=busy_timeout_s)


def filled(folder: Path, count: int = 1) -> Path:
    with open_in(folder) as memory:
        memory.add_many([said(number, str(number)) for number in range(count)])
    return folder / DATABASE_FILE


class TestFolders:

    def test_one_that_is_not_there_is_made(self, tmp_path: Path) -> None:
        filled(tmp_path / 'a' / 'b')
        assert (tmp_path / 'a' / 'b' / DATABASE_FILE).is_file()

    def test_a_link_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / 'there').mkdir()
        (tmp_path / 'link').symlink_to('there')
        filled(tmp_path / 'link')
        assert (tmp_path / 'there' / DATABASE_FILE).is_file()

    def test_a_link_to_nothing(self, tmp_path: Path) -> None:
        (tmp_path / 'link').symlink_to('nowhere')
        with pytest.raises(StoreError, match='link'):
            open_in(tmp_path / 'link')

    def test_a_file_in_its_place(self, tmp_path: Path) -> None:
        (tmp_path / 'memory').write_text('')
        with pytest.raises(StoreError, match='folder .*memory.*exists'):
            open_in(tmp_path / 'memory')

    @pytest.mark.parametrize('name', ['what?', 'a#b', '100%', 'a b', 'ü', "it's", 'a%3fb'])
    def test_names_that_a_url_would_split(self, tmp_path: Path, name: str) -> None:
        filled(tmp_path / name)
        assert (tmp_path / name / DATABASE_FILE).is_file()
        with open_in(tmp_path / name) as memory:
            assert memory.counts()['utterance'] == 1

    def test_settings_name_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv('EMV_MEMORY', str(tmp_path / 'by_environment'))
        monkeypatch.setenv('TZ', 'Pacific/Auckland')
        with MemoryStore.open(MemorySettings()) as memory:
            assert memory.folder == tmp_path / 'by_environment'
            assert memory.zone == 'Pacific/Auckland'
        with MemoryStore.open(MemorySettings(folder=str(tmp_path / 'x'))) as memory:
            assert memory.folder == tmp_path / 'x'

    def test_a_zone_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(TimeExpressionError, match='Nowhere'):
            MemoryStore.open(MemorySettings(time_zone='Nowhere'), tmp_path)

    @pytest.mark.parametrize('url', ['no url', 'nosuch://x:secret@y/z', 'postgresql://x:secret@y/z'])
    def test_databases_that_cannot_be_reached(self, tmp_path: Path, url: str) -> None:
        with pytest.raises(StoreError) as caught:
            MemoryStore(tmp_path, url, 'robot')
        assert 'secret' not in str(caught.value)


class TestDamage:

    @pytest.mark.parametrize('damage', [
        lambda file: file.write_bytes(b'not a database at all' * 100),
        lambda file: file.write_bytes(file.read_bytes()[:4096 * 2 + 100]),
        lambda file: file.write_bytes(file.read_bytes()[:4096] + bytes(4096 * 60))])
    def test_a_damaged_file_is_named(
            self, tmp_path: Path, damage: Callable[[Path], None]) -> None:
        file = filled(tmp_path, 200)
        damage(file)
        with pytest.raises(StoreError, match='damaged') as caught, open_in(tmp_path) as memory:
            queries.utterances(memory)
        assert str(file) in str(caught.value)

    def test_an_empty_file_is_a_new_memory(self, tmp_path: Path) -> None:
        (tmp_path / DATABASE_FILE).write_bytes(b'')
        assert filled(tmp_path).is_file()

    def test_a_log_that_was_deleted(self, tmp_path: Path) -> None:
        with open_in(tmp_path / 'a') as memory:
            memory.add(said(0, 'a'))
            with closing(sqlite3.connect(tmp_path / 'a' / DATABASE_FILE)) as connection:
                connection.execute('PRAGMA wal_checkpoint')
            memory.add(said(1, 'b'))
            (tmp_path / 'b').mkdir()  # a copy of the file alone: what the log holds is lost
            shutil.copy(tmp_path / 'a' / DATABASE_FILE, tmp_path / 'b')
        with open_in(tmp_path / 'b') as memory:
            assert [item.text for item in queries.utterances(memory)] == ['a']
            assert memory.add(said(2, 'c')) == 2


class TestLocks:

    def test_a_lock_is_waited_for_and_no_longer_than_said(self, tmp_path: Path) -> None:
        file = filled(tmp_path)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute('BEGIN IMMEDIATE')
            began = time.monotonic()
            with open_in(tmp_path, 0.3) as memory:
                with pytest.raises(StoreBusyError, match=str(file)):
                    memory.add(said(1, 'b'))
                assert 0.3 <= time.monotonic() - began < SOON_S
                assert memory.counts()['utterance'] == 1  # who reads is not kept waiting
                other.execute('COMMIT')
                memory.add(said(1, 'b'))

    def test_a_reader_keeps_no_writer_waiting(self, tmp_path: Path) -> None:
        filled(tmp_path)
        with open_in(tmp_path, 0.3) as memory, memory.reading() as session:
            query = 'SELECT count(*) FROM utterance'
            assert session.connection().exec_driver_sql(query).scalar() == 1
            memory.add(said(1, 'b'))
            assert session.connection().exec_driver_sql(query).scalar() == 1
        with open_in(tmp_path) as memory:
            assert memory.counts()['utterance'] == 2


def test_a_full_database(tmp_path: Path) -> None:
    with open_in(tmp_path) as memory:
        memory.add(said(0, 'first'))
        with memory.reading() as session:
            run = session.connection().exec_driver_sql
            pages = run('PRAGMA page_count').scalar()
            run(f'PRAGMA max_page_count = {pages}')
        with pytest.raises(StoreFullError, match=str(tmp_path / DATABASE_FILE)):
            memory.add_many([said(number, 'x' * 1000) for number in range(100)])
        with memory.reading() as session:
            session.connection().exec_driver_sql('PRAGMA max_page_count = 100000')
        memory.add(said(1, 'second'))
        assert [item.text for item in queries.utterances(memory)] == ['first', 'second']


@pytest.mark.skipif(not Path('/dev/shm').is_dir(), reason='no file system in memory')
def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / 'disk'
    disk.mkdir()
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk],
                             capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip('a small disk cannot be mounted here')
    try:
        with open_in(disk) as memory:
            with pytest.raises(StoreFullError, match='disk'):
                for number in range(100):
                    memory.pictures.write(bytes([number]) * 100_000, 'image/jpeg')
            assert not list(disk.rglob('*.part'))
            with pytest.raises(StoreFullError):
                memory.add_many([said(number, 'x' * 1000) for number in range(500)])
            next(iter(memory.pictures)).unlink()
            memory.add(said(0, 'there is room again'))
    finally:
        subprocess.run(['umount', disk], check=False)


def read(folder: Path, tell: SimpleQueue[str]) -> None:
    """Tell what a user can do who may write nothing here; root may write everything."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        found = list(check_database(folder / DATABASE_FILE, PictureFolder(folder / 'pictures')))
        assert not any('by this user' in item.detail and 'repair' in item.mend for item in found)
        tell.put(' '.join(finding.state for finding in found))
        with open_in(folder) as memory:
            tell.put(f'{memory.is_read_only} {len(queries.utterances(memory))}')
            memory.add(said(0, ''))
    except StoreError as error:
        tell.put(f'{type(error).__name__} {error}')
    tell.put('')


@contextmanager
def readable_by_all() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def read_as_nobody(folder: Path) -> list[str]:
    # Forked, since another user may not be able to read this interpreter.
    context = multiprocessing.get_context('fork')
    tell = context.SimpleQueue()
    process = context.Process(target=read, args=(folder, tell))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    return list(iter(tell.get, ''))


class TestReadOnly:

    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        with readable_by_all() as folder:
            filled(folder, 3)
            yield folder
            folder.chmod(0o755)

    def test_a_closed_memory_is_read(self, folder: Path) -> None:
        before = sorted(folder.iterdir())
        folder.chmod(0o555)
        checked, said_first, said_then = read_as_nobody(folder)
        assert checked == 'ok ok ok ok'
        assert said_first == 'True 3'
        assert said_then.startswith('StoreReadOnlyError')
        assert str(folder / DATABASE_FILE) in said_then
        assert sorted(folder.iterdir()) == before

    def test_a_memory_that_another_user_writes_is_read(self, folder: Path) -> None:
        with open_in(folder) as memory:
            memory.add(said(9, 'new'))
            for file in folder.iterdir():
                file.chmod(0o644)
            assert read_as_nobody(folder)[:2] == ['ok ok ok ok', 'True 4']

    def test_a_file_that_may_not_be_read(self, folder: Path) -> None:
        (folder / DATABASE_FILE).chmod(0o200)
        checked, told = read_as_nobody(folder)
        assert checked == 'wrong' and told.startswith('StoreError')

    def test_an_older_schema_cannot_come_along(self, folder: Path) -> None:
        with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '0001'")
            connection.commit()
        checked, told = read_as_nobody(folder)
        assert checked == 'ok note ok ok'
        assert told.startswith('SchemaError')
        assert 'has schema 0001' in told
        assert 'cannot be written' in told

    def test_what_writes_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = filled(tmp_path)
        monkeypatch.setattr(os, 'access', lambda *_: False)
        with open_in(tmp_path) as memory:
            assert memory.is_read_only
            assert memory.counts()['utterance'] == 1
            for write in (lambda: memory.add(said(0, '')), memory.begin_session,
                          lambda: memory.set_state('a', {})):
                with pytest.raises(StoreReadOnlyError, match=str(file)):
                    write()


def test_who_reads_alone_keeps_to_one_connection(tmp_path: Path) -> None:
    """Each connection comes to hold a cache of 32 MB: in turn, five would."""
    with MemoryStore.open(MemorySettings(), tmp_path) as memory:
        together = threading.Barrier(4)

        def read() -> int:
            with memory.reading() as session:
                return id(session.connection().connection.driver_connection)

        def read_together() -> None:
            with memory.reading() as session:
                session.connection()
                together.wait(30)

        threads = [threading.Thread(target=read_together) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({read() for _ in range(8)}) == 1
