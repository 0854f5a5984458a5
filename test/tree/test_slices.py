"""A dense stream is derived while others write, and written in short transactions."""

from contextlib import contextmanager
from dataclasses import replace
import os
from pathlib import Path
import signal
import threading

from databases import database_url
from life_parts import SETTINGS, at, below_days, check_whole, open_memory, say
import pytest
from sqlalchemy import event

from emv_ros.errors import StoreBusyError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillReport, Status
from emv_ros.tree import differences, growth
from emv_ros.tree.consolidate import consolidate, waiting_records
from emv_ros.tree.reopening import reopen

pytestmark = pytest.mark.both_databases

PER_GOAL, RATE_HZ = 20, 5


def runs(first, count, status='succeeded', **more):
    """Return reports of runs that are over, numbered, PER_GOAL in each goal."""
    return [SkillReport(stamp_ns=at(number / RATE_HZ), skill=f'skill{number % 7}',
                        status=Status(status), goal_stack=(f'errand {number // PER_GOAL}',),
                        source_id=f'run{number}', **more)
            for number in range(first, first + count)]


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(differences, 'LONGEST_SLICE', 2 * PER_GOAL + 2)


@contextmanager
def rows_written(store):
    """Yield a list that gets the number of rows that each transaction changed, triggers' too."""
    found, before = [], {}

    def begin(connection):
        before[connection] = connection.connection.driver_connection.total_changes

    def commit(connection):
        changes = connection.connection.driver_connection.total_changes
        found.append(changes - before.pop(connection))
    event.listen(store._engine, 'begin', begin)
    event.listen(store._engine, 'commit', commit)
    try:
        yield found
    finally:
        event.remove(store._engine, 'begin', begin)
        event.remove(store._engine, 'commit', commit)


@pytest.mark.sqlite_only  # whose driver counts the rows that were written
def test_no_transaction_writes_more_as_the_stream_goes_on(store, small_slices):
    longest, all_rows = [], []
    for part in range(4):  # of 80 s, so that all lies within a pause that ends a goal
        store.add_many(runs(400 * part, 400))
        with rows_written(store) as rows:
            consolidate(store, SETTINGS, now_ns=at(80 * (part + 1)))
        longest.append(max(rows))
        all_rows.append(sum(rows))
        check_whole(store)
    assert max(longest) < 30 * differences.LONGEST_SLICE
    assert min(all_rows) > 4 * max(longest)
    assert longest[-1] < 1.5 * longest[0]


def test_what_has_not_changed_is_not_written_again(store, small_slices):
    store.add_many(runs(0, 400))
    consolidate(store, SETTINGS)
    with store.reading() as session:
        last = session.query(schema.NodeRow.id).order_by(schema.NodeRow.id.desc()).first()[0]
    store.add_many(runs(400, 20))
    written = []
    real = growth.Reconciler.apply

    def apply(self, drafts):
        written.extend(drafts)
        assert all(node_id > last for node_id in self.nodes)
        return real(self, drafts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth.Reconciler, 'apply', apply)
        consolidate(store, SETTINGS)
    assert [draft.name for draft in written] == ['errand 20']
    check_whole(store, SETTINGS)


@contextmanager
def between(store, act, times=1):
    """Let another process act when a stretch was derived, as often as `times` says."""
    left, real = [times], growth.derive

    def derive(*arguments):
        drafts = real(*arguments)
        if left[0]:
            left[0] -= 1
            with MemoryStore(store.folder, database_url(store.folder), 'r2', busy_timeout_s=0.05) \
                    as other:
                act(other)
        return drafts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, 'derive', derive)
        yield


def at_once(folder, *parts):
    with open_memory(folder) as once:
        for part in parts:
            once.add_many(part)
        consolidate(once, SETTINGS)
        return below_days(once)


def test_what_comes_while_a_stretch_is_derived_waits_for_the_next(store, tmp_path, small_slices):
    first = [*runs(0, 100), SkillReport(stamp_ns=at(3), skill='Carry', status=Status.RUNNING,
                                        source_id='long')]
    later = [*runs(100, 30), say(4.1, 'hurry'), SkillReport(
        stamp_ns=at(19), skill='Carry', status=Status.FAILED, source_id='long')]
    store.add_many(first)
    later = [replace(record, session_id=1) for record in later]
    cancel = threading.Event()
    with between(store, lambda other: other.add_many(later)):
        report = consolidate(store, SETTINGS, cancel=cancel, progress=lambda *_: cancel.set())
    assert report.records == 100  # but for the run that changed
    assert waiting_records(store, 'r2')['skill_event'] == 31
    assert waiting_records(store, 'r2')['utterance'] == 1
    check_whole(store)
    assert below_days(store) == at_once(tmp_path / 'before', first)
    consolidate(store, SETTINGS)
    check_whole(store, SETTINGS)
    assert below_days(store) == at_once(tmp_path / 'once', first, later)


def test_a_consolidation_ends_though_the_stream_goes_on(store, small_slices):
    store.add_many(runs(0, 100))
    derived = []

    def more(other):
        derived.append(None)
        other.add_many(runs(100 * len(derived), 100))
    with between(store, more, times=50):
        assert consolidate(store, SETTINGS).records == 100
    assert len(derived) == 1
    consolidate(store, SETTINGS)
    check_whole(store, SETTINGS)


def forget(other, number):
    with other.writing() as session:
        row = session.query(schema.SkillEventRow).filter_by(source_id=f'run{number}').one()
        reopen(session, 'skill_event', [row.id])
        session.query(schema.DocumentRow).filter_by(kind='skill_event', ref_id=row.id).delete()
        session.delete(row)


@pytest.mark.parametrize('times', [1, growth.TRIES, 20])
def test_what_is_taken_away_meanwhile_is_nowhere_in_the_tree(
        store, tmp_path, small_slices, times):
    store.add_many(runs(0, 100))
    gone = []

    def act(other):
        try:
            forget(other, 3 * len(gone))
        except StoreBusyError:  # after some tries it is derived while nobody else may write
            return
        gone.append(3 * len(gone))
    with between(store, act, times):
        consolidate(store, SETTINGS)
    check_whole(store)
    assert 0 < len(gone) <= max(times, growth.TRIES)
    consolidate(store, SETTINGS)
    check_whole(store, SETTINGS)
    left = [report for number, report in enumerate(runs(0, 100)) if number not in gone]
    assert [row[:6] for row in below_days(store)] == [
        row[:6] for row in at_once(tmp_path / 'once', left)]


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.parametrize('killed_at', [1, 2, 4])
def test_killed_between_slices_it_goes_on(tmp_path: Path, small_slices, killed_at):
    with open_memory(tmp_path / 'killed') as store:
        store.add_many(runs(0, 200))
    pid = os.fork()
    if not pid:
        try:
            left, real = [killed_at], growth.Growth._write

            def write(self, *arguments):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(self, *arguments)
            growth.Growth._write = write
            with open_memory(tmp_path / 'killed') as store:
                consolidate(store, SETTINGS)
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    with open_memory(tmp_path / 'killed') as store:
        check_whole(store)
        assert waiting_records(store, 'r2')['skill_event'] == 200 - 2 * PER_GOAL * killed_at
        consolidate(store, SETTINGS)
        check_whole(store, SETTINGS)
        assert below_days(store) == at_once(tmp_path / 'once', runs(0, 200))
