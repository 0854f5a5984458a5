"""One consolidator at a time: a lease in the store, taken over where its holder is gone.

Reads the wall clock for the expiry of the lease alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
import socket
import time
import uuid

from emv_ros.errors import StoreBusyError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore

KEY = 'lease:consolidation'
LENGTH_S = 600.0


class Lease:
    """The right to consolidate; renewed by its holder as work goes on."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.holder = f'{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex}'

    def renew(self) -> None:
        """Take or keep the lease. Raises StoreBusyError where another consolidator holds it."""
        with self.store.writing() as session:
            row = session.get(schema.StateRow, KEY)
            held = row.value if row else {}
            other = held.get('holder', '')
            if other and other != self.holder and held.get('expires_s', 0.0) > time.time() \
                    and not _is_dead(other):
                raise StoreBusyError(f'another process consolidates this memory ({other})')
            session.merge(schema.StateRow(key=KEY, value={
                'holder': self.holder, 'expires_s': time.time() + LENGTH_S}))

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        with self.store.writing() as session:
            row = session.get(schema.StateRow, KEY)
            if row is not None and row.value.get('holder') == self.holder:
                session.delete(row)


@contextmanager
def holding(store: MemoryStore) -> Iterator[Lease]:
    """Yield a lease that is held until the block ends."""
    lease = Lease(store)
    lease.renew()
    try:
        yield lease
    finally:
        lease.release()


def _is_dead(holder: str) -> bool:
    """Whether a holder on this host is a process that no longer runs."""
    host, _, rest = holder.partition('/')
    pid = rest.partition('/')[0]
    if host != socket.gethostname() or not pid.isdigit() or os.name != 'posix':
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
