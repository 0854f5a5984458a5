"""A thread that commits records in batches, for sources that must never wait for the disk.

Callers enqueue and go on. A full queue drops pictures first, then joint samples and poses, and counts what it drops;
events, words and scenes are never dropped: their source waits instead. A failed commit is tried again; a record that
the database refuses is set aside and counted, and costs no other record.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
import logging
import threading
import time

from emv_ros.errors import EmvError, StoreBusyError, StoreFullError
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, JointSample, Pose, Record

log = logging.getLogger(__name__)

DROPPABLE = (ImageRecord, JointSample, Pose)
RETRY_WAIT_S = 0.5


class BatchWriter:
    """The one writer of a process. `add` and `add_image` are safe from any thread."""

    def __init__(self, store: MemoryStore, flush_period_s: float = 0.5, batch_size: int = 500,
                 queue_size: int = 5000,
                 on_commit: Callable[[list[Record]], None] | None = None) -> None:
        """Start the thread. `on_commit` is called in it with the records of each commit."""
        self.store = store
        self.dropped: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self.last_error = ''
        self._on_commit = on_commit
        self._period = flush_period_s
        self._batch_size = batch_size
        self._queue_size = queue_size
        self._queue: deque[tuple[Record, bytes | None]] = deque()
        self._changed = threading.Condition()
        self._busy = 0
        self._flush_wanted = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name='emv_writer', daemon=True)
        self._thread.start()

    def add(self, record: Record) -> None:
        """Enqueue a record."""
        self._enqueue(record, None)

    def add_image(self, data: bytes, record: ImageRecord) -> None:
        """Enqueue a picture: its bytes are written before its row."""
        self._enqueue(record, data)

    def begin_session(self, robot: str = '', start_ns: int = 0, clock_source: str = 'wall',
                      zone: str = '', source: str = '') -> int:
        """Begin a session after all that is queued, and return its id."""
        self.flush()
        return self.store.begin_session(robot, start_ns, clock_source, zone, source)

    @property
    def queued(self) -> int:
        """The number of records that wait."""
        return len(self._queue) + self._busy

    def flush(self, timeout_s: float = 60.0) -> bool:
        """Wait until all that was enqueued is committed; False where the time was not enough."""
        with self._changed:
            self._flush_wanted = True
            self._changed.notify_all()
            return self._changed.wait_for(
                lambda: not self._queue and not self._busy, timeout_s)

    def close(self, timeout_s: float = 60.0) -> bool:
        """Commit what is queued and end the thread; False where the time was not enough."""
        is_done = self.flush(timeout_s)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout_s)
        return is_done and not self._thread.is_alive()

    def _enqueue(self, record: Record, data: bytes | None) -> None:
        with self._changed:
            if self._closed:
                raise EmvError('the writer is closed')
            if len(self._queue) >= self._queue_size and not self._make_room(record):
                return
            self._queue.append((record, data))
            if len(self._queue) >= self._batch_size:
                self._changed.notify_all()

    def _make_room(self, record: Record) -> bool:
        """Return whether the record may be enqueued although the queue is full."""
        for kind in DROPPABLE:
            for waiting in self._queue:
                if isinstance(waiting[0], kind):
                    self._queue.remove(waiting)
                    self._drop(waiting[0])
                    return True
            if isinstance(record, kind):
                self._drop(record)
                return False
        # Nothing that may be dropped waits: the source waits for the next commit.
        self._changed.wait_for(lambda: len(self._queue) < self._queue_size or self._closed)
        return True

    def _drop(self, record: Record) -> None:
        self.dropped[type(record).__name__] += 1

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_due, self._period)
                batch = [self._queue.popleft()
                         for _ in range(min(len(self._queue), self._batch_size))]
                self._busy = len(batch)
                if not batch and self._closed:
                    return
            if batch:
                self._commit(batch)
            with self._changed:
                self._busy = 0
                if not self._queue:
                    self._flush_wanted = False
                self._changed.notify_all()

    def _is_due(self) -> bool:
        return (self._closed or len(self._queue) >= self._batch_size
                or (self._flush_wanted and bool(self._queue)))

    def _commit(self, batch: list[tuple[Record, bytes | None]]) -> None:
        records = self._with_pictures(batch)
        while records:
            try:
                self.store.add_many(records)
                break
            except (StoreBusyError, StoreFullError) as error:
                if not self._wait_after(error):
                    self._refuse(records, error)
                    return
            except EmvError as error:
                if len(records) == 1:
                    self._refuse(records, error)
                    return
                # One bad record must not cost its neighbours: find it by halves.
                middle = len(records) // 2
                for half in (records[:middle], records[middle:]):
                    self._commit([(record, None) for record in half])
                return
        if records:
            self.written.update(type(record).__name__ for record in records)
            if self._on_commit:
                self._on_commit(records)

    def _with_pictures(self, batch: list[tuple[Record, bytes | None]]) -> list[Record]:
        records: list[Record] = []
        for record, data in batch:
            if data is None or not isinstance(record, ImageRecord):
                records.append(record)
                continue
            try:
                records.append(self.store.keep_picture(data, record))
            except EmvError as error:
                self._refuse([record], error)
        return records

    def _wait_after(self, error: EmvError) -> bool:
        """Wait before the next try; False where the writer is closing and must give up."""
        self._note(error)
        if self._closed:
            return False
        time.sleep(RETRY_WAIT_S)
        return True

    def _refuse(self, records: list[Record], error: EmvError) -> None:
        self._note(error)
        self.refused.update(type(record).__name__ for record in records)

    def _note(self, error: EmvError) -> None:
        if str(error) != self.last_error:
            log.error('%s', error)
        self.last_error = str(error)


