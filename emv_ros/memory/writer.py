"""A thread that commits records in batches, for sources that must never wait for the disk.

Callers enqueue and go on. A full queue drops pictures first, then joint samples and poses, and
counts what it drops; events, words and scenes are never dropped: their source waits instead. While
the store cannot be written (busy, full, gone) a commit is tried again, and stored once where only
its answer was lost; a record that cannot be stored is set aside and counted, and costs no other
record. The thread outlives every error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
import logging
import math
import threading
import time

from emv_ros.errors import EmvError, RecordError, SettingsError, StoreBusyError, StoreError
from emv_ros.memory.receipts import Receipt
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.waiting import Lanes, Waiting
from emv_ros.records import ImageRecord, Record, Session

log = logging.getLogger(__name__)

RETRY_WAIT_S = 0.5


@dataclass(slots=True)
class _Promised:
    """A session that begins with its first record."""

    session: Session
    session_id: int | None = None
    receipt: Receipt = field(default_factory=lambda: Receipt(1))


class BatchWriter:
    """The one writer of a process; its methods are safe from any thread.

    `written`, `refused` (could not be stored) and `dropped` (the queue was full) count records by
    type; `last_error` is what went wrong last, '' at first, and again once the store can be written
    that could not be.
    """

    def __init__(self, store: MemoryStore, flush_period_s: float = 0.5, batch_size: int = 500,
                 queue_size: int = 5000,
                 on_commit: Callable[[list[Record]], None] | None = None) -> None:
        """Start the thread. `on_commit` is called in it with the records of each commit.

        Raises SettingsError for a period or size that is no positive number.
        """
        for name, value, kind in (('flush_period_s', flush_period_s, (int, float)),
                                  ('batch_size', batch_size, int), ('queue_size', queue_size, int)):
            if isinstance(value, bool) or not isinstance(value, kind) or not 0 < value < math.inf:
                raise SettingsError(f'{name} must be a positive number, not {value!r}')
        self.store = store
        self.dropped: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self.last_error = ''
        self._is_kept_off = False  # by the store: busy, full, gone
        self._receipt = Receipt()
        self._promised: dict[int, _Promised] = {}
        self._on_commit = on_commit
        self._period_s = flush_period_s
        self._batch_size = batch_size
        self._queue_size = queue_size
        self._waiting = Lanes()
        self._batch: list[Waiting] = []
        self._flush_to = 0  # the place up to which a commit is due at once
        self._end_s: float | None = None  # when closing gives up, by the monotonic clock
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name='emv_writer', daemon=True)
        self._thread.start()

    def add(self, record: Record) -> None:
        """Enqueue a record; where the queue is full of what may not be dropped, wait.

        Raises StoreError once the writer is closed.
        """
        self._enqueue(record, None)

    def add_image(self, data: bytes, record: ImageRecord) -> None:
        """Enqueue a picture: its bytes are written before its row. Raises StoreError as `add`."""
        self._enqueue(record, data)

    def begin_session(self, robot: str = '', start_ns: int = 0, clock_source: str = 'wall',
                      zone: str = '', source: str = '') -> int:
        """Begin a session after all that is queued, and return its id.

        Raises StoreBusyError where what is queued cannot be written now, StoreError where a
        session cannot.
        """
        if not self.flush():
            raise StoreBusyError(
                f'no session can begin: {self.queued} records before it cannot be written '
                f'({self.last_error or "the disk is too slow"})')
        return self.store.begin_session(robot, start_ns, clock_source, zone, source)

    def promise_session(self, robot: str = '', start_ns: int = 0, clock_source: str = 'wall',
                        zone: str = '', source: str = '') -> int:
        """Return what records may carry as their `session_id` until they are committed.

        The session begins with the first of them, and as they do it waits in the queue for a
        store that cannot be written now. Without any it never begins.
        """
        with self._changed:
            promise = -1 - len(self._promised)
            self._promised[promise] = _Promised(
                Session(robot=robot, start_ns=start_ns, clock_source=clock_source, zone=zone,
                        source=source))
        return promise

    @property
    def is_kept_off(self) -> bool:
        """Whether nothing can be written now: the store is busy, full or gone."""
        return self._is_kept_off

    @property
    def queued(self) -> int:
        """The number of records that wait or are being written."""
        return len(self._waiting) + len(self._batch)

    def flush(self, timeout_s: float = 60.0) -> bool:
        """Wait until what was enqueued before is dealt with; False where time was not enough."""
        with self._changed:
            upto = self._flush_to = self._waiting.last_place
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._is_dealt_with(upto), timeout_s)

    def close(self, timeout_s: float = 60.0) -> bool:
        """Take no more, commit what is queued and end the thread; waiting callers are released.

        False where the time was not enough: what is left is tried no more, and counted as refused.
        """
        with self._changed:
            if self._end_s is None:
                self._end_s = time.monotonic() + timeout_s
            self._changed.notify_all()
        self._thread.join(timeout_s)
        return not self._thread.is_alive() and time.monotonic() <= self._end_s

    def _enqueue(self, record: Record, data: bytes | None) -> None:
        with self._changed:
            if self._is_full() and self._end_s is None:
                gone = self._waiting.drop_for(record)
                if gone is not None:
                    self.dropped[type(gone).__name__] += 1
                if gone is record:
                    return
                if gone is None:
                    self._changed.wait_for(lambda: not self._is_full() or self._end_s is not None)
            if self._end_s is not None:
                raise StoreError('the writer is closed')
            self._waiting.add(record, data)
            if len(self._waiting) >= self._batch_size or self._is_full():
                self._changed.notify_all()

    def _is_full(self) -> bool:
        return len(self._waiting) >= self._queue_size

    def _is_dealt_with(self, upto: int) -> bool:
        places = [self._waiting.first_place, self._batch[0].place if self._batch else None]
        return all(place is None or place > upto for place in places)

    def _is_due(self) -> bool:
        return (self._end_s is not None or self._is_full()
                or len(self._waiting) >= self._batch_size
                or not self._is_dealt_with(self._flush_to))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_due, self._period_s)
                self._batch = self._waiting.take(self._batch_size)
                if not self._batch and self._end_s is not None:
                    break
                self._changed.notify_all()  # there is room again
            if self._batch:
                self._write(self._batch)
            with self._changed:
                self._batch = []
                self._changed.notify_all()
        if self._receipt.number and not self._is_kept_off and not self._is_over():
            with suppress(StoreError):  # it is dropped in a month, too
                self.store.drop_receipt(self._receipt)

    def _write(self, batch: list[Waiting]) -> None:
        try:
            self._commit(self._with_pictures(batch))
        except Exception as error:  # what it is cannot be known; the thread must live on
            log.exception('records could not be written')
            self._refuse([waiting.record for waiting in batch], error)

    def _commit(self, records: list[Record]) -> None:
        self._receipt = self._receipt.next()
        while records:
            if self._is_over():
                self._refuse(records, self.last_error or 'the writer was closed')
                return
            try:
                records = [self._placed(record) for record in records]
                self.store.add_many(records, self._receipt)
                break
            except StoreError as error:
                if not isinstance(error, RecordError):
                    self._wait_after(error)
                    continue
                self._divide(records, error)
                return
            except Exception as error:  # of one record, whatever it is
                self._divide(records, error)
                return
        if records:
            if self._is_kept_off:
                log.info('the memory can be written again')
                self._is_kept_off, self.last_error = False, ''
            self.written.update(type(record).__name__ for record in records)
            self._tell(records)

    def _placed(self, record: Record) -> Record:
        """Return a record with the session that it was promised, which begins where it is new."""
        if record.session_id is None or record.session_id >= 0:
            return record
        promised = self._promised[record.session_id]
        if promised.session_id is None:
            run = promised.session
            promised.session_id = self.store.begin_session(
                run.robot, run.start_ns, run.clock_source, run.zone, run.source, promised.receipt)
            with suppress(StoreError):
                self.store.drop_receipt(promised.receipt)
        return replace(record, session_id=promised.session_id)

    def _divide(self, records: list[Record], error: Exception) -> None:
        """Write the halves by themselves: one bad record must not cost its neighbours."""
        if len(records) == 1:
            self._refuse(records, error)
            return
        middle = len(records) // 2
        self._commit(records[:middle])
        self._commit(records[middle:])

    def _with_pictures(self, batch: list[Waiting]) -> list[Record]:
        records: list[Record] = []
        for _, record, data in batch:
            if data is None or not isinstance(record, ImageRecord):
                records.append(record)
                continue
            try:
                records.append(self.store.keep_picture(data, record))
            except Exception as error:  # also of a record that holds what it should not
                self._refuse([record], error)
        return records

    def _tell(self, records: list[Record]) -> None:
        if self._on_commit is None:
            return
        try:
            self._on_commit(records)
        except Exception as error:  # the records are stored all the same
            log.exception('what follows a commit failed')
            self.last_error = f'what follows a commit failed: {error}'

    def _is_over(self) -> bool:
        return self._end_s is not None and time.monotonic() >= self._end_s

    def _wait_after(self, error: StoreError) -> None:
        """Wait before the next try, not beyond the time that closing grants."""
        self._note(error)
        self._is_kept_off = True
        with self._changed:
            left_s = RETRY_WAIT_S if self._end_s is None else min(
                RETRY_WAIT_S, max(0.0, self._end_s - time.monotonic()))
            self._changed.wait_for(self._is_over, left_s)

    def _refuse(self, records: list[Record], error: Exception | str) -> None:
        self._note(error)
        self.refused.update(type(record).__name__ for record in records)

    def _note(self, error: Exception | str) -> None:
        said = str(error)
        if not isinstance(error, EmvError | str):
            said = f'{type(error).__name__}: {said}'
        if said != self.last_error:
            log.error('%s', said)
        self.last_error = said
