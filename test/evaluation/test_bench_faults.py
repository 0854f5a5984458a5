"""Faults against real processes, each once; and the checks of the bench see what they are for."""

from contextlib import closing
from pathlib import Path
from random import Random
import shutil
import sqlite3

import pytest

from emv_ros.evaluation.faults.bench_faults import FAULTS, bench_faults
from emv_ros.evaluation.faults.checks import faults_of, numbers_in
from emv_ros.evaluation.faults.life import picture_of, record_of
from emv_ros.evaluation.faults.power_cut import Disk, Trace, cut_at_random, trace
from emv_ros.evaluation.faults.prepared import Prepared
from emv_ros.evaluation.faults.system_calls import Call

# What was destroyed cannot come back: there it is enough that it is told.
DESTROYED = {'missing pictures', 'damaged pictures', 'cut last page', 'damaged page',
             'deleted write-ahead log'}


def test_every_fault_once(tmp_path: Path) -> None:
    told: list[str] = []
    measured = bench_faults(tmp_path, runs=1, seed=2, tell=told.append, locked_s=1.0)
    rows = {row['fault']: row for row in measured['faults']}
    assert {*rows, *measured['left_out']} == set(FAULTS)
    assert 'kill -9 in writes' in rows
    for name, row in rows.items():
        assert row['wrong'] == [], name
        assert row['lost_untold'] == 0, name
        if name not in DESTROYED:
            assert (row['lost'], row['opened_by_itself']) == (0, row['times']), name
    assert measured['is_whole']


@pytest.fixture(scope='module')
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(tmp_path_factory.mktemp('prepared'))


@pytest.fixture(scope='module')
def traced(prepared: Prepared) -> Trace:
    found = trace(prepared)
    if found is None:
        pytest.skip('processes cannot be traced here')
    return found


class TestPowerCut:

    def test_played_back_whole_it_is_what_the_process_left(
            self, prepared: Prepared, traced: Trace, tmp_path: Path) -> None:
        disk = Disk(traced.before)
        for call in traced.calls:
            disk.play(call)
        disk.durable_names = dict(disk.names)
        for file in disk.files.values():
            file.sync()
        disk.cut(tmp_path / 'memory', Random(0))
        assert faults_of(tmp_path / 'memory') == []
        assert numbers_in(tmp_path / 'memory') == set(range(800))

    @pytest.mark.parametrize('synced', ['memory.db', 'pictures'])
    def test_what_is_not_synced_is_missed(
            self, prepared: Prepared, traced: Trace, synced: str) -> None:
        """Without the syncs of either, some cuts cost what was acknowledged, or leave it broken."""
        calls = [call for call in traced.calls
                 if not (call.kind == 'sync' and call.path.startswith(synced))]
        outcomes = [cut_at_random(prepared, Random(seed), Trace(calls, traced.before))
                    for seed in range(3)]
        assert any(outcome.lost or outcome.wrong or not outcome.opened for outcome in outcomes)


class TestDisk:

    def test_a_write_that_is_not_synced_may_be_torn(self, tmp_path: Path) -> None:
        left = set()
        for seed in range(40):
            disk = Disk(None)
            for call in (Call('create', 'a'), Call('write', 'a', at=0, data=b'1' * 1024),
                         Call('sync', 'a'), Call('sync', ''),
                         Call('write', 'a', at=0, data=b'2' * 1024)):
                disk.play(call)
            disk.cut(tmp_path / str(seed), Random(seed))
            left.add((tmp_path / str(seed) / 'a').read_bytes())
        old, new = b'1' * 512, b'2' * 512
        assert left == {old + old, old + new, new + old, new + new}

    def test_a_name_is_there_for_certain_once_its_folder_is_synced(self, tmp_path: Path) -> None:
        names = {True: set(), False: set()}
        for is_synced, found in names.items():
            for seed in range(20):
                disk = Disk(None)
                calls = [Call('create', 'p/.x'), Call('write', 'p/.x', at=-1, data=b'x'),
                         Call('sync', 'p/.x'), Call('rename', 'p/.x', 'p/x')]
                for call in [*calls, Call('sync', 'p')] if is_synced else calls:
                    disk.play(call)
                folder = tmp_path / f'{is_synced}{seed}'
                disk.cut(folder, Random(seed))
                found.add(tuple(sorted(path.name for path in folder.rglob('?*')
                                       if path.is_file())))
        assert names[True] == {('x',)}
        assert {(), ('.x',), ('x',)} <= names[False]


class TestChecks:

    @pytest.fixture
    def folder(self, prepared: Prepared, tmp_path: Path) -> Path:
        shutil.copytree(prepared.filled, tmp_path / 'memory')
        return tmp_path / 'memory'

    def test_a_whole_memory_has_no_fault(self, folder: Path) -> None:
        assert faults_of(folder) == []
        assert numbers_in(folder) == set(range(400))

    @pytest.mark.parametrize('statement, told', [
        ("DELETE FROM document WHERE kind = 'utterance' AND ref_id = 5", 'without a text'),
        ('DELETE FROM session', 'points to no session'),
        ("INSERT INTO document_text(rowid, text) VALUES (99999, 'x')", 'full-text index'),
        ("DELETE FROM node_member WHERE kind = 'utterance' AND ref_id = 9", 'has no node'),
        ('UPDATE node SET end_ns = start_ns WHERE level = 8', 'lies outside'),
        ('UPDATE node SET parent_id = NULL WHERE id = (SELECT min(id) FROM node WHERE level = 4)',
         'roots')])
    def test_rows(self, folder: Path, statement: str, told: str) -> None:
        assert faults_of(folder) == []  # consolidated
        with closing(sqlite3.connect(folder / 'memory.db')) as connection, connection:
            connection.execute(statement)
        assert told in ' '.join(faults_of(folder))

    def test_a_picture_that_is_gone_and_not_marked(self, folder: Path) -> None:
        next((folder / 'pictures').glob('??/*')).unlink()
        assert 'is not marked' in ' '.join(faults_of(folder))

    def test_a_record_that_is_gone(self, folder: Path) -> None:
        with closing(sqlite3.connect(folder / 'memory.db')) as connection, connection:
            connection.execute("DELETE FROM utterance WHERE text LIKE 'word12 %'")
        assert set(range(400)) - numbers_in(folder) == {12}


def test_the_life_is_the_same_each_time() -> None:
    assert record_of(7) == record_of(7)
    assert picture_of(4) == picture_of(4) != picture_of(9)
