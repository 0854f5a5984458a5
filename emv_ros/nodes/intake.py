"""Where the records of all ingest nodes of a process go: one store, one writer.

Nodes that share a process share it; it opens with the first of them and closes with the last. Not
safe for several threads, but for `close`: ingest nodes run on one executor with one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import logging
import threading
import time

from emv_ros.errors import EmvError, RecordError, StoreError, StoreReadOnlyError
from emv_ros.ingest.clocks import SessionTracker
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.nodes.lag import LagMeter
from emv_ros.nodes.survey import Survey
from emv_ros.records import ImageRecord, Record
from emv_ros.settings import Settings
from emv_ros.timeline import SECOND_NS, system_zone

log = logging.getLogger(__name__)

DRAIN_S = 60.0
CACHE_KB = 2000  # of each connection, as SQLite has it: nothing here reads what it wrote


class Intake:
    """Takes records, gives each its session, and hands it to the writer."""

    def __init__(self) -> None:
        self.writer: BatchWriter | None = None
        self.survey: Survey | None = None
        self.capacity = 0
        self._store: MemoryStore | None = None
        self._users = 0
        self._lags: LagMeter | None = None
        self._lock = threading.Lock()
        self._sessions: dict[str, SessionTracker] = {}
        self._notes: list[str] = []
        self._latest_ns = 0
        self._new_tracker: Callable[[str], SessionTracker] = _unopened

    def acquire(self, settings: Settings, clock_source: str, source: str) -> None:
        """Open for one more node. `clock_source` is 'wall' or 'sim', `source` names the node."""
        with self._lock:
            if not self._users:
                self._open(settings, clock_source, source)
            self._users += 1

    def release(self) -> None:
        """Close with the last node: everything is written, then the database is closed.

        Raises StoreError where records could not be written in time.
        """
        with self._lock:
            self._users -= 1
            if self._users or not self._store or not self.writer or not self.survey:
                return
            is_done = self.writer.close(DRAIN_S)
            self.survey.close()
            self._store.close()
            lost = self.writer.queued
            self._store = self.writer = self.survey = None
            if not is_done:
                raise StoreError(f'{lost} records could not be written within {DRAIN_S} s')

    def add(self, record: Record, topic: str, data: bytes | None = None,
            through: Callable[[bytes, ImageRecord], None] | None = None) -> None:
        """Take a record of a topic, with its bytes if it is a picture; that goes `through`."""
        if self.writer is None:
            raise EmvError('the intake is closed')
        if not record.stamp_ns:
            raise RecordError('it has no time, and the clock of the node has none yet')
        tracker = self._sessions.get(record.robot)
        if tracker is None:
            tracker = self._sessions[record.robot] = self._new_tracker(record.robot)
        self._latest_ns = max(self._latest_ns, record.stamp_ns)
        if self._lags is not None:
            self._lags.received(record)
        placed = replace(record, session_id=tracker.session_of(topic, record.stamp_ns))
        if data is not None and isinstance(placed, ImageRecord):
            (through or self.writer.add_image)(data, placed)
        else:
            self.writer.add(placed)

    def put_picture(self, data: bytes, record: ImageRecord) -> None:
        """Take a picture that was placed already. Raises EmvError where nothing is open."""
        writer = self.writer
        if writer is None:
            raise EmvError('the intake is closed')
        writer.add_image(data, record)

    def flush(self) -> None:
        """Wait until everything is written. Raises StoreError where it takes too long."""
        if self.writer and not self.writer.flush(DRAIN_S):
            raise StoreError(f'records could not be written within {DRAIN_S} s')
        if self.survey:
            self.survey.renew()

    def clock_went_back(self, now_ns: int) -> None:
        """Begin new sessions where the clock stands before what was received under it."""
        if now_ns >= self._latest_ns:
            return  # another node of this process told it already
        log.warning('the clock went back: a new session begins')
        self._notes = [*self.notes, 'the clock went back: a new session began'][-3:]
        self._sessions.clear()
        self._latest_ns = 0

    @property
    def lag_s(self) -> float | None:
        """The longest time from a stamp to its commit, of the latest minute; None where unknown."""
        return None if self._lags is None else self._lags.longest_s

    @property
    def notes(self) -> list[str]:
        """What was odd about clocks and sessions."""
        return [*self._notes, *(note for tracker in self._sessions.values()
                                for note in tracker.notes)]

    def _open(self, settings: Settings, clock_source: str, source: str) -> None:
        memory = settings.memory
        store = MemoryStore.open(memory)
        if store.is_read_only:
            store.close()
            raise StoreReadOnlyError(
                f'the memory in {settings.folder} cannot be written by this user: nothing would '
                'be recorded')
        self._lags = lags = LagMeter(
            None if clock_source == 'sim' else time.time_ns, settings.ingest.late_tolerance_s)
        store.limit_cache(CACHE_KB)
        writer = BatchWriter(store, memory.flush_period_s, memory.batch_size, memory.queue_size,
                             on_commit=lags.committed)
        zone = memory.time_zone or system_zone()
        tolerance_ns = round(settings.ingest.late_tolerance_s * SECOND_NS)

        def new_tracker(robot: str) -> SessionTracker:
            return SessionTracker(tolerance_ns, lambda start_ns: writer.promise_session(
                robot, start_ns, clock_source, zone, source))

        self._store, self.writer, self.survey = store, writer, Survey(store)
        self.capacity = memory.queue_size
        self._new_tracker = new_tracker
        self._sessions.clear()
        self._latest_ns = 0


def _unopened(robot: str) -> SessionTracker:
    raise EmvError(f'no memory is open for records of {robot!r}')
