"""A damaged memory is mended: what can be read stays, what is lost is told, a copy is kept."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
import os
from pathlib import Path
import shutil
import sqlite3
import subprocess
import sys
import time

from damaged_files import PAGE, is_whole, open_in, pages_of, run, wipe
from memory_parts import at, picture, said
import pytest
import whole_memory

from emv_ros.agent.forgetting import forget
from emv_ros.agent.repairing import repair_memory
from emv_ros.errors import SchemaError, StoreBusyError, StoreError
from emv_ros.memory import queries, schema
from emv_ros.memory.checkup import check_database
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.memory.pictures import PictureFolder
from emv_ros.memory.row_walk import RowWalk
from emv_ros.memory.salvage import salvage
from emv_ros.settings import Settings
from emv_ros.tree.consolidate import consolidate

WORDS = 120


@pytest.fixture(scope='module')
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with a row of every kind and many words; consolidated."""
    folder = tmp_path_factory.mktemp('filled') / 'memory'
    with open_in(folder) as memory:
        whole_memory.fill(memory)
        with memory.writing() as session:  # a tree as consolidation makes it
            for table in (schema.NodeMemberRow, schema.NodeRow, schema.StateRow):
                session.query(table).delete()
            for kind in ('skill_event', 'utterance', 'scene', 'annotation', 'observation'):
                session.query(schema.KINDS[kind]).update({'pending': True})
        memory.add_many([said(100 + 5 * number, f'word {number} ' + 'so ' * 20)
                         for number in range(WORDS)])
        consolidate(memory, Settings())
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path / 'memory')
    return tmp_path / 'memory'


def copies(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob('*.before-repair-*'))


def test_a_whole_memory_is_left_as_it_is(folder: Path) -> None:
    before = run(folder, 'SELECT * FROM node ORDER BY id')
    done = repair_memory(folder, Settings())
    assert (done.mended, done.lost, done.copy, copies(folder)) == ([], [], None, [])
    assert run(folder, 'SELECT * FROM node ORDER BY id') == before


@pytest.mark.parametrize('filling', [b'\0', b'\x0d\x00\x05nonsense'])
def test_a_damaged_page_costs_its_own_rows_and_they_are_told(folder: Path, filling: bytes) -> None:
    file = folder / DATABASE_FILE
    page = pages_of(file, 'utterance')[1]
    original = file.read_bytes()
    wipe(file, page, with_bytes=filling)
    damaged = file.read_bytes()
    with pytest.raises(StoreError, match='emv doctor --repair'), open_in(folder) as memory:
        queries.utterances(memory)
    done = repair_memory(folder, Settings())
    assert done.copy is not None and done.copy.read_bytes() == damaged
    lost, = done.lost_rows
    left = {item[0] for item in run(folder, 'SELECT id FROM utterance')}
    file.with_name('original.db').write_bytes(original)
    with closing(sqlite3.connect(file.with_name('original.db'))) as connection:
        were = dict(connection.execute('SELECT id, stamp_ns FROM utterance'))
    assert set(were) - left == set(range(lost.first, lost.last + 1))
    assert (lost.table, lost.count) == ('utterance', lost.last - lost.first + 1)
    assert (lost.after_ns, lost.before_ns) == (were[lost.first - 1], were[lost.last + 1])
    assert f'u{lost.first} to u{lost.last}' in done.lost[0]
    assert is_whole(folder)
    with open_in(folder) as memory:
        assert memory.add(said(9000, 'later')) == max(were) + 1  # no id is given out again
        consolidate(memory, Settings())
    assert repair_memory(folder, Settings()).mended == []


@pytest.mark.parametrize('cut', [PAGE + 1, 3 * PAGE])
def test_a_file_that_was_cut_short(folder: Path, cut: int) -> None:
    file = folder / DATABASE_FILE
    with file.open('r+b') as stream:
        stream.truncate(file.stat().st_size - cut)
    before = WORDS + 3
    done = repair_memory(folder, Settings())
    assert any('cut short' in line for line in done.mended)
    assert is_whole(folder)
    count, = run(folder, 'SELECT count(*) FROM utterance')[0]
    told = sum(lost.count for lost in done.lost_rows if lost.table == 'utterance')
    assert before - told <= count <= before


def test_pages_all_over_the_file(folder: Path, tmp_path: Path) -> None:
    """Whatever single page is lost, but the first: the memory is whole afterwards."""
    data = (folder / DATABASE_FILE).read_bytes()
    pages = len(data) // PAGE
    for number in range(2, pages + 1, max(1, pages // 4)):
        copy = tmp_path / 'copy'
        shutil.copytree(folder, copy)
        wipe(copy / DATABASE_FILE, number)
        repair_memory(copy, Settings())
        assert is_whole(copy), number
        shutil.rmtree(copy)


def test_a_lost_part_of_the_list_of_tables(folder: Path) -> None:
    file = folder / DATABASE_FILE
    before = {table: run(folder, f'SELECT count(*) FROM {table}')[0][0] for table in (
        'utterance', 'node', 'observation', 'skill_event')}
    data = file.read_bytes()
    page = next(number for number in range(2, len(data) // PAGE + 1)
                if data[(number - 1) * PAGE] == 13
                and b'CREATE TABLE' in data[(number - 1) * PAGE:number * PAGE])
    names = {name for name, in run(folder, "SELECT name FROM sqlite_master WHERE type = 'table'")
             if any(f'CREATE TABLE {said}'.encode() in data[(page - 1) * PAGE:page * PAGE]
                    for said in (f'{name} ', f'"{name}"'))}
    wipe(file, page)
    done = repair_memory(folder, Settings())
    assert is_whole(folder)
    told = {lost.table for lost in done.lost_rows}
    assert told <= names and told
    assert all(f'{name.replace("_", " ")}: all rows' in ' '.join(done.lost) for name in told)
    for table, count in before.items():
        left = run(folder, f'SELECT count(*) FROM {table}')[0][0]
        assert left == count or table in told or told & {'robot', 'session', 'clip', 'entity'}


def test_a_list_of_tables_that_is_no_text(folder: Path) -> None:
    """Its words are quoted in what SQLite says, which then is no text either."""
    file = folder / DATABASE_FILE
    data = bytearray(file.read_bytes())
    data[data.index(b'CREATE TABLE utterance') + 2] = 0xFE
    file.write_bytes(data)
    assert [(finding.name, finding.state) for finding in check_database(
        file, PictureFolder(folder / 'pictures'))] == [('database', 'wrong')]
    with pytest.raises(StoreError, match='is damaged'):
        open_in(folder)
    repair_memory(folder, Settings())
    assert is_whole(folder)
    with open_in(folder) as memory:
        assert memory.counts()['skill_event']


def test_a_picture_without_a_name_is_told(folder: Path) -> None:
    run(folder, "UPDATE image SET sha256 = x'ff00' WHERE id = 1")
    assert 'wrong' in [finding.state for finding in check_database(
        folder / DATABASE_FILE, PictureFolder(folder / 'pictures'))
        if finding.name == 'pictures']


def test_a_cut_end_with_the_list_of_tables(folder: Path) -> None:
    """A rewritten file ends with the list's triggers."""
    with open_in(folder) as memory:
        assert memory.rewrite()
    file = folder / DATABASE_FILE
    assert b'CREATE TRIGGER' in file.read_bytes()[-2 * PAGE:]
    with file.open('r+b') as stream:
        stream.truncate(file.stat().st_size - 2 * PAGE)
    done = repair_memory(folder, Settings())
    assert (is_whole(folder), done.lost) == (True, [])
    with open_in(folder) as memory:
        assert memory.counts()['utterance'] == WORDS + 3
    assert repair_memory(folder, Settings()).mended == []


def test_a_file_without_its_first_page_is_refused_and_kept(folder: Path) -> None:
    file = folder / DATABASE_FILE
    wipe(file, 1)
    damaged = file.read_bytes()
    with pytest.raises(StoreError, match='put a copy back'):
        repair_memory(folder, Settings())
    assert file.read_bytes() == damaged


@pytest.mark.parametrize('make', [Path.touch, Path.mkdir])
def test_a_file_that_is_none_is_refused_and_costs_no_picture(
        folder: Path, make: Callable[[Path], None]) -> None:
    (folder / DATABASE_FILE).unlink()
    make(folder / DATABASE_FILE)
    pictures = sorted((folder / 'pictures').glob('??/*'))
    with pytest.raises(StoreError, match='put a copy back|a directory'):
        repair_memory(folder, Settings())
    assert sorted((folder / 'pictures').glob('??/*')) == pictures and copies(folder) == []


def test_pictures_of_a_lost_database_stay(folder: Path) -> None:
    with open_in(folder) as memory:
        for number in range(20):
            memory.pictures.write(b'%d' % number, 'image/jpeg')
    (folder / DATABASE_FILE).unlink()
    with open_in(folder) as memory:
        memory.add(said(1, 'anew'))
    for _ in range(2):
        done = repair_memory(folder, Settings())
        assert done.mended == [] and any('a database that is lost' in line for line in done.notes)
    assert len(list((folder / 'pictures').glob('??/*'))) == 22


def test_what_is_refused_leaves_no_copy(folder: Path) -> None:
    run(folder, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaError):
        repair_memory(folder, Settings())
    assert copies(folder) == []


def test_other_folders_among_the_caches(folder: Path) -> None:
    (folder / 'cache' / 'mine').mkdir(parents=True)
    assert repair_memory(folder, Settings()).mended == []
    assert (folder / 'cache' / 'mine').exists()


def test_a_removed_log_is_told(tmp_path: Path) -> None:
    script = ('import os, sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]; '
              'from test_repair import open_in, said\n'
              'memory = open_in(Path(sys.argv[1])); memory.fold_log()\n'
              'memory.add(said(0, "kept")); memory.fold_log()\n'
              'memory.add(said(1, "lost")); os._exit(0)')
    subprocess.run([sys.executable, '-c', script, tmp_path, Path(__file__).parent], check=True)
    assert (tmp_path / f'{DATABASE_FILE}-shm').exists()
    (tmp_path / f'{DATABASE_FILE}-wal').unlink()
    done = repair_memory(tmp_path, Settings())
    assert len(done.lost) == 1 and 'write-ahead log' in done.lost[0]
    with open_in(tmp_path) as memory:
        assert [item.text for item in queries.utterances(memory)] == ['kept']


def test_a_memory_in_use_is_not_touched(folder: Path) -> None:
    script = ('import sys, sqlite3\nc = sqlite3.connect(sys.argv[1])\n'
              'c.execute("SELECT count(*) FROM node").fetchall()\nprint(flush=True)\n'
              'sys.stdin.read()')
    with subprocess.Popen([sys.executable, '-c', script, folder / DATABASE_FILE],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdout.readline()
        with pytest.raises(StoreBusyError, match='another process'):
            repair_memory(folder, Settings())
        assert copies(folder) == []
        other.kill()


def test_nobody_opens_it_while_it_is_written_anew(
        folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they wrote would go into the file that is replaced."""
    file = folder / DATABASE_FILE
    wipe(file, pages_of(file, 'utterance')[1])
    early = sqlite3.connect(file, timeout=0)

    def write() -> None:
        with closing(sqlite3.connect(file, timeout=0)) as late:
            for connection in (early, late):
                with pytest.raises(sqlite3.OperationalError, match='locked'):
                    connection.execute("UPDATE robot SET name = 'x'")

    def meanwhile(damaged: Path, fresh: Path) -> object:
        write()
        return salvage(damaged, fresh)

    monkeypatch.setattr('emv_ros.memory.repair.salvage', meanwhile)
    assert repair_memory(folder, Settings()).lost_rows
    with closing(early), pytest.raises(sqlite3.DatabaseError, match='not a database'):
        early.execute("UPDATE robot SET name = 'x'")
    assert is_whole(folder)


def test_a_newer_memory_is_refused(folder: Path) -> None:
    run(folder, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaError, match='9999'):
        repair_memory(folder, Settings())


class TestRows:

    def test_an_index_out_of_step(self, folder: Path) -> None:
        with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection, connection:
            connection.execute('DROP TRIGGER document_text_update')
            connection.execute("UPDATE document SET text = 'zebra' WHERE id = 5")
        done = repair_memory(folder, Settings())
        assert ['full-text index' in line for line in done.mended] == [True]
        assert run(folder, "SELECT rowid FROM document_text WHERE document_text MATCH 'zebra'") == [
            (5,)]

    @pytest.mark.parametrize('damage, told', [
        ("DELETE FROM robot WHERE name = 'helper'", '1 robot rows made again'),
        ('DELETE FROM session WHERE id = 1', '1 session rows made again'),
        ('DELETE FROM clip', 'links of observation to clip emptied'),
        ('DELETE FROM observation WHERE id = 1', 'rows of appearance without their observation'),
        ("DELETE FROM document WHERE kind = 'annotation'", 'texts of annotation made again'),
        ('DELETE FROM utterance WHERE id = 7', 'members of nodes without their utterance')])
    def test_links(self, folder: Path, damage: str, told: str) -> None:
        with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection, connection:
            connection.execute('PRAGMA foreign_keys = OFF')
            connection.execute('DROP TRIGGER IF EXISTS untold_utterance')
            connection.execute(damage)
        done = repair_memory(folder, Settings())
        assert any(told in line for line in done.mended), done.mended
        assert is_whole(folder)
        with open_in(folder) as memory:
            consolidate(memory, Settings())
        assert repair_memory(folder, Settings()).mended == []

    def test_a_dead_lease_is_dropped(self, folder: Path) -> None:
        with open_in(folder) as memory:
            memory.set_state('lease:consolidation', {'holder': 'x/1/y', 'expires_s': 1.0})
        assert any('lease' in line for line in repair_memory(folder, Settings()).mended)
        with open_in(folder) as memory:
            assert memory.state('lease:consolidation') is None


class TestPictures:

    @pytest.mark.parametrize('damage, gone', [
        (lambda file: file.unlink(), 'missing'),
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), 'damaged'),
        (lambda file: file.write_bytes(file.read_bytes()[:-1] + b'!'), 'damaged')])
    def test_rows_say_what_their_files_are(
            self, folder: Path, damage: Callable[[Path], None], gone: str) -> None:
        with open_in(folder) as memory:
            key = memory.add_image(b'a picture', picture(50))
            image = memory.get('image', key)
        file = folder / 'pictures' / image.sha256[:2] / f'{image.sha256}.jpg'
        damage(file)
        done = repair_memory(folder, Settings())
        assert done.lost == [f'the files of 1 pictures are {gone}: i{key}']
        with open_in(folder) as memory:
            assert memory.get('image', key) == replace(image, gone=gone)
            memory.pictures.write(b'a picture', 'image/jpeg')  # the same bytes come again
        assert file.read_bytes() == b'a picture'
        assert repair_memory(folder, Settings()).mended == [f'1 pictures are back: i{key}']

    def test_files_of_no_row_go(self, folder: Path) -> None:
        with open_in(folder) as memory:
            memory.pictures.write(b'of nothing', 'image/jpeg')
        known = next((folder / 'pictures').glob('??/*'))
        (known.parent / f'.{known.name}.1-2.part').write_bytes(b'half')
        done = repair_memory(folder, Settings())
        assert sorted(done.mended) == ['1 picture files that no row needs removed',
                                       '1 unfinished picture files removed']

    def test_files_that_came_since_it_began_stay(self, folder: Path) -> None:
        """A recorder that starts meanwhile writes pictures before their rows."""
        with open_in(folder) as memory:
            sha256 = memory.pictures.write(b'its row comes', 'image/jpeg')
            file = memory.pictures.path(sha256, 'image/jpeg')
        partial = file.with_name(f'.{file.name}.1-2.part')
        partial.write_bytes(b'half')
        for path in (file, partial):
            os.utime(path, (time.time() + 60,) * 2)
        assert repair_memory(folder, Settings()).mended == []
        assert file.exists() and partial.exists()

    def test_they_stay_where_rows_were_lost(self, folder: Path) -> None:
        with open_in(folder) as memory:
            sha256 = memory.pictures.write(b'of nothing', 'image/jpeg')
        file = folder / DATABASE_FILE
        wipe(file, pages_of(file, 'utterance')[1])
        done = repair_memory(folder, Settings())
        assert any('belong to no row' in line for line in done.mended)
        with open_in(folder) as memory:
            assert memory.pictures.read(sha256, 'image/jpeg') == b'of nothing'


def test_a_walk_tells_the_gaps_between_two_damaged_pages(tmp_path: Path) -> None:
    file = tmp_path / 'rows.db'
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)')
        connection.executemany('INSERT INTO t VALUES (?, ?)', (
            (number, 'x' * 500) for number in range(1, 201)))
    pages = pages_of(file, 't')
    with closing(sqlite3.connect(file)) as connection:
        each = connection.execute('SELECT count(*) FROM t').fetchone()[0] // len(pages)
    wipe(file, pages[5], pages[7])  # one page between them is whole
    with closing(sqlite3.connect(file)) as connection:
        walk = RowWalk(connection, 't', 200)
        read = [row[0] for row in walk]
    assert read == sorted(set(read))
    lost = {number for gap in walk.gaps for number in range(gap.first, gap.last + 1)}
    assert lost == set(range(1, 201)) - set(read)
    assert 2 * (each - 2) <= len(lost) <= 2 * (each + 2)
    assert len(walk.gaps) == 2


def test_a_forgetting_removes_the_copies(folder: Path) -> None:
    file = folder / DATABASE_FILE
    wipe(file, pages_of(file, 'utterance')[1])
    assert repair_memory(folder, Settings()).copy is not None
    with open_in(folder) as memory:
        key = next(item.id for item in queries.observations(memory))
        forget(memory, [('observation', key)], author='Ann', reason='', stamp_ns=at(500))
    assert copies(folder) == []
