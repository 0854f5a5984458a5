"""The writer's thread: what it drops, whom it keeps waiting, and that nothing ends it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
import threading
import time
from typing import Any

from databases import rows
from memory_parts import joints, picture, report, said
import pytest

from emv_ros.errors import RecordError, SettingsError, StoreBusyError, StoreError, StoreFullError
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.waiting import Lanes
from emv_ros.memory.writer import BatchWriter
from emv_ros.records import Record

pytestmark = pytest.mark.both_databases


def wait_for(is_so: Callable[[], Any], limit_s: float = 10.0) -> None:
    end = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < end, 'it did not come about'
        time.sleep(0.005)


@contextmanager
def failing(memory: MemoryStore, monkeypatch: pytest.MonkeyPatch,
            error: Exception) -> Iterator[threading.Event]:
    """Make every commit fail; the event tells that one has."""
    tried = threading.Event()

    def refuse(*_: object) -> list[int]:
        tried.set()
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(memory, 'add_many', refuse)
        yield tried


def texts(memory: MemoryStore) -> list[str]:
    return [item.text for item in queries.utterances(memory)]


def test_everything_is_written_by_the_end_of_close(memory: MemoryStore) -> None:
    writer = BatchWriter(memory, flush_period_s=60.0, batch_size=7)
    for number in range(50):
        writer.add(said(number, str(number)))
    assert writer.close()
    assert texts(memory) == [str(number) for number in range(50)]
    assert writer.written == {'Utterance': 50}
    assert (writer.queued, writer.last_error) == (0, '')
    assert writer.close()


def test_a_record_is_written_after_the_period(memory: MemoryStore) -> None:
    writer = BatchWriter(memory, flush_period_s=0.05)
    writer.add(said(0, 'a'))
    wait_for(lambda: texts(memory) == ['a'])
    assert writer.close()


def test_a_full_batch_is_written_at_once(memory: MemoryStore) -> None:
    writer = BatchWriter(memory, flush_period_s=60.0, batch_size=3)
    for number in range(3):
        writer.add(said(number, 'a'))
    wait_for(lambda: len(texts(memory)) == 3)
    assert writer.close()


def test_flush_waits_for_what_was_before_and_not_for_what_comes(memory: MemoryStore) -> None:
    writer = BatchWriter(memory, flush_period_s=60.0)
    is_over = threading.Event()

    def chatter() -> None:
        while not is_over.wait(0.001):
            writer.add(said(1, 'later'))

    thread = threading.Thread(target=chatter)
    thread.start()
    try:
        writer.add(said(0, 'now'))
        assert writer.flush(10.0)
        assert 'now' in texts(memory)
    finally:
        is_over.set()
        thread.join()
        assert writer.close()


def test_nothing_is_taken_after_the_end(memory: MemoryStore) -> None:
    writer = BatchWriter(memory)
    writer.close()
    with pytest.raises(StoreError, match='closed'):
        writer.add(said(0, 'a'))


@pytest.mark.parametrize('bad', ['0.5', None, 0, -1, float('nan'), float('inf'), True])
def test_periods_and_sizes_that_are_none(memory: MemoryStore, bad: Any) -> None:
    for name in ('flush_period_s', 'batch_size', 'queue_size'):
        with pytest.raises(SettingsError, match=name):
            BatchWriter(memory, **{name: bad})


class TestFullQueue:

    def test_the_oldest_pictures_go_first(self) -> None:
        lanes = Lanes()
        for record in (joints(0, 1.0), picture(1), said(2, 'a'), picture(3), joints(4, 1.0)):
            lanes.add(record, None)
        gone = [lanes.drop_for(said(9, 'b')) for _ in range(5)]
        assert [item and item.stamp_ns for item in gone] == [
            picture(1).stamp_ns, picture(3).stamp_ns, joints(0).stamp_ns, joints(4).stamp_ns, None]
        assert [item.record for item in lanes.take(9)] == [said(2, 'a')]

    def test_a_picture_never_pushes_out_a_joint_sample(self) -> None:
        lanes = Lanes()
        lanes.add(joints(0, 1.0), None)
        late = picture(1)
        assert lanes.drop_for(late) is late

    def test_events_go_on_while_pictures_are_dropped(
            self, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        with failing(memory, monkeypatch, StoreFullError('the disk is full')) as tried:
            writer = BatchWriter(memory, flush_period_s=0.01, batch_size=1, queue_size=3)
            writer.add(said(0, '0'))
            assert tried.wait(10)
            for number in range(1, 9):
                writer.add_image(bytes([number]), picture(number))
            for number in range(1, 4):
                writer.add(said(number, str(number)))
            assert writer.dropped == {'ImageRecord': 8}
            wait_for(lambda: 'full' in writer.last_error)
        assert writer.close()
        assert texts(memory) == ['0', '1', '2', '3']
        assert writer.refused == {}

    def test_a_caller_that_waits_is_released_by_the_commit(
            self, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        with failing(memory, monkeypatch, StoreBusyError('it is locked')) as tried:
            writer, waiting = self.blocked(memory, tried)
        waiting.join(10)
        assert not waiting.is_alive()
        assert writer.close()
        assert texts(memory) == ['0', '1', '2']

    def test_a_caller_that_waits_is_released_by_the_end(
            self, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        with failing(memory, monkeypatch, StoreBusyError('it is locked')) as tried:
            writer, waiting = self.blocked(memory, tried)
            assert not writer.close(0.2)
            waiting.join(10)
            wait_for(lambda: not writer.queued)
        assert not waiting.is_alive()
        assert writer.refused == {'Utterance': 2}
        assert 'locked' in writer.last_error

    def blocked(self, memory: MemoryStore,
                tried: threading.Event) -> tuple[BatchWriter, threading.Thread]:
        writer = BatchWriter(memory, flush_period_s=0.01, batch_size=1, queue_size=1)
        writer.add(said(0, '0'))
        assert tried.wait(10)
        writer.add(said(1, '1'))

        def add() -> None:
            with suppress(StoreError):  # it may have been closed
                writer.add(said(2, '2'))

        thread = threading.Thread(target=add)
        thread.start()
        return writer, thread


class TestErrors:

    def test_a_bad_record_costs_no_other(self, memory: MemoryStore) -> None:
        writer = BatchWriter(memory, flush_period_s=60.0)
        for number in range(21):
            writer.add(said(number, '\ud83e' if number in (3, 4, 20) else str(number)))
        assert writer.close()
        assert texts(memory) == [str(number) for number in range(21) if number not in (3, 4, 20)]
        assert writer.refused == {'Utterance': 3}
        assert writer.written == {'Utterance': 18}
        assert 'cannot hold' in writer.last_error

    def test_an_error_that_nobody_expects(
            self, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        with failing(memory, monkeypatch, ZeroDivisionError('oh')) as tried:
            writer = BatchWriter(memory, flush_period_s=0.01)
            writer.add(said(0, 'a'))
            assert tried.wait(10)
            wait_for(lambda: writer.refused)
        assert 'ZeroDivisionError: oh' in writer.last_error
        writer.add(said(1, 'b'))
        assert writer.close()
        assert texts(memory) == ['b']

    def test_a_picture_that_cannot_be_kept(
            self, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> str:
            raise StoreFullError('no room for a picture')

        monkeypatch.setattr(memory.pictures, 'write', full)
        writer = BatchWriter(memory)
        writer.add_image(b'x', picture(0))
        writer.add(said(0, 'a'))
        assert writer.close()
        assert texts(memory) == ['a']
        assert writer.refused == {'ImageRecord': 1}
        assert 'no room' in writer.last_error

    def test_what_follows_a_commit_may_fail(self, memory: MemoryStore) -> None:
        told: list[int] = []

        def follow(records: list[Record]) -> None:
            told.append(len(records))
            raise ValueError('not today')

        writer = BatchWriter(memory, on_commit=follow)
        for text in 'ab':
            writer.add(said(0, text))
            assert writer.flush()
        assert writer.close()
        assert told == [1, 1]
        assert texts(memory) == ['a', 'b']
        assert 'not today' in writer.last_error

    def test_a_store_that_comes_back(
            self, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        with failing(memory, monkeypatch, StoreError('the folder is gone')) as tried:
            writer = BatchWriter(memory, flush_period_s=0.01)
            writer.add(report(0, 'running'))
            assert tried.wait(10)
        assert writer.close()
        assert writer.written == {'SkillReport': 1}

    def test_no_session_begins_before_what_cannot_be_written(
            self, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        writer = BatchWriter(memory)
        monkeypatch.setattr(writer, 'flush', lambda: False)
        with pytest.raises(StoreBusyError, match='no session'):
            writer.begin_session()
        writer.close()

    def test_a_zone_that_is_none(self, memory: MemoryStore) -> None:
        writer = BatchWriter(memory)
        with pytest.raises(RecordError):
            writer.begin_session(zone='nowhere')
        writer.close()


class TestPromisedSessions:
    """A session begins with its first record, and waits as that does."""

    def test_it_begins_with_its_first_record(self, memory: MemoryStore) -> None:
        writer = BatchWriter(memory)
        run = writer.promise_session('ada', 5, 'sim', 'Europe/Berlin', 'speech')
        never = writer.promise_session('ada', 9)
        assert memory.counts()['session'] == 0 and run != never
        for number in range(3):
            writer.add(replace(said(number, str(number)), robot='ada', session_id=run))
            assert writer.flush()
        assert writer.close()
        (kept,) = rows(memory.folder, 'SELECT * FROM session')
        assert (kept['start_ns'], kept['clock_source'], kept['zone'], kept['source']) == (
            5, 'sim', 'Europe/Berlin', 'speech')
        assert {item.session_id for item in queries.utterances(memory)} == {kept['id']}
        assert len(texts(memory)) == 3

    def test_it_waits_for_a_store_that_cannot_be_written(
            self, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        tried = threading.Event()

        def refuse(*_: object) -> int:
            tried.set()
            raise StoreFullError('no room')

        writer = BatchWriter(memory, flush_period_s=0.01)
        with monkeypatch.context() as patch:
            patch.setattr(memory, 'begin_session', refuse)
            writer.add(replace(said(0, 'hello'), session_id=writer.promise_session()))
            assert tried.wait(10)
            wait_for(lambda: writer.is_kept_off)
        assert writer.flush() and not writer.is_kept_off
        assert writer.close() and not writer.refused
        assert texts(memory) == ['hello'] and memory.counts()['session'] == 1

    def test_one_that_cannot_be_costs_its_own_records_alone(self, memory: MemoryStore) -> None:
        writer = BatchWriter(memory, flush_period_s=60.0)
        bad, good = writer.promise_session(zone='nowhere'), writer.promise_session()
        for number in range(6):
            writer.add(replace(said(number, str(number)), session_id=(bad, good)[number % 2]))
        assert writer.close()
        assert texts(memory) == ['1', '3', '5']
        assert writer.refused == {'Utterance': 3} and 'nowhere' in writer.last_error
