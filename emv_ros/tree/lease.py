"""One consolidator at a time: a lease in the store, taken over where its holder is gone.

A holder on this very machine that no longer runs is gone at once; one elsewhere, or one that
cannot be looked at, when its lease has run out. Its writes go through a HeldStore, each of which
first sees that the lease is still its own. Reads the wall clock for the expiry alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import os
from pathlib import Path
import socket
import time
from typing import Any
import uuid

from sqlalchemy.orm import Session

from emv_ros.errors import StoreBusyError
from emv_ros.memory import schema
from emv_ros.memory.imports import check_whole
from emv_ros.memory.store import MemoryStore

KEY = 'lease:consolidation'
LENGTH_S = 300.0
# How old a lease may grow before it is written anew.
RENEWAL_S = 30.0


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a process runs: the running system with its space of process ids, pid and birth.

    Two containers on one machine may have the same pids, and after a boot another process has
    this one; so a pid alone says nothing. `system` is '' where it cannot be told.
    """

    system: str
    pid: int
    born: str

    @classmethod
    def own(cls) -> Seat:
        """Return the seat of this process."""
        try:
            boot = Path('/proc/sys/kernel/random/boot_id').read_text(encoding='ascii').strip()
            system = f'{boot}/{Path("/proc/self/ns/pid").readlink()}'
        except OSError:
            return cls('', os.getpid(), '')
        return cls(system, os.getpid(), _born(os.getpid()))

    def is_left(self) -> bool:
        """Whether the process is known to run no more."""
        if not self.system or not self.born or self.system != Seat.own().system:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass  # another user's
        now = _born(self.pid)
        return bool(now) and now != self.born


def _born(pid: int) -> str:
    """Return when a process began, in ticks since the boot, '' where it cannot be told.

    It is 'dead' for one that ended and that only its parent still knows.
    """
    try:
        state, *rest = Path(f'/proc/{pid}/stat').read_text(
            encoding='utf-8', errors='replace').rpartition(')')[2].split()
    except (OSError, ValueError):
        return ''
    return 'dead' if state in 'ZX' else rest[18]


class Lease:
    """The right to consolidate; renewed by its holder as work goes on."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.seat = Seat.own()
        self.holder = f'{socket.gethostname()}/{self.seat.pid}/{uuid.uuid4().hex}'
        self._renewed = -RENEWAL_S

    def renew(self) -> None:
        """Take or keep the lease. Raises StoreBusyError where another consolidator holds it."""
        if time.monotonic() - self._renewed < RENEWAL_S:
            with self.store.reading() as session:
                self.check(session)
            return
        with self.store.writing() as session:
            row = session.get(schema.StateRow, KEY)
            held = row.value if row else {}
            if held.get('holder', self.holder) != self.holder and not _is_over(held):
                raise StoreBusyError(
                    f'another process consolidates this memory ({_in_words(held)})')
            session.merge(schema.StateRow(key=KEY, value={
                'holder': self.holder, 'expires_s': time.time() + LENGTH_S,
                'system': self.seat.system, 'pid': self.seat.pid, 'born': self.seat.born}))
        self._renewed = time.monotonic()

    def check(self, session: Session) -> None:
        """Raise StoreBusyError where the lease is no longer ours."""
        row = session.get(schema.StateRow, KEY)
        if row is None or row.value.get('holder') != self.holder:
            raise StoreBusyError('another process took over the consolidation of this memory '
                                 f'({_in_words(row.value) if row else "and has ended it"})')

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        with self.store.writing() as session:
            row = session.get(schema.StateRow, KEY)
            if row is not None and row.value.get('holder') == self.holder:
                session.delete(row)


class HeldStore(MemoryStore):
    """A memory as the holder of a lease writes it: no write after the lease was taken over."""

    def __init__(self, store: MemoryStore, lease: Lease) -> None:
        """Share all of the open store, which stays whose it is: never close this one."""
        vars(self).update(vars(store))
        self._lease = lease

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Yield a transaction as MemoryStore does. Raises StoreBusyError without the lease."""
        with super().writing() as session:
            self._lease.check(session)
            yield session


def drop_left(store: MemoryStore) -> bool:
    """Remove a lease that has run out, or whose holder runs no more; return whether one was."""
    with store.writing() as session:
        row = session.get(schema.StateRow, KEY)
        if row is None or not _is_over(row.value):
            return False
        session.delete(row)
        return True


@contextmanager
def holding(store: MemoryStore, is_import: bool = False) -> Iterator[Lease]:
    """Yield a lease that is held until the block ends.

    Raises StoreBusyError while a part of an export is in the memory, but for its import: a tree
    that is not whole would be mended.
    """
    lease = Lease(store)
    lease.renew()
    try:
        if not is_import:
            check_whole(store)
        yield lease
    finally:
        lease.release()


def _is_over(held: dict[str, Any]) -> bool:
    left_s = held.get('expires_s', 0.0) - time.time()
    # None is given for so long: the clock was set back since.
    if left_s <= 0 or left_s > 2 * LENGTH_S:
        return True
    return Seat(held.get('system', ''), held.get('pid', 0), held.get('born', '')).is_left()


def _in_words(held: dict[str, Any]) -> str:
    host, _, rest = str(held.get('holder', '')).partition('/')
    return f'process {rest.partition("/")[0]} on {host}'
