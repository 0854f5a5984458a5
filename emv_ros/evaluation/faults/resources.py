"""A disk that is full and a database that another program holds: work goes on when that is over.

The full disk is a small file system in memory, where one may be mounted. What filled it is removed
after the work has failed; then the same process, or the next, must come to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
import shutil
import subprocess
import tempfile
import threading

from emv_ros.evaluation.faults.checks import numbers_in
from emv_ros.evaluation.faults.kills import BEFORE, rows_in
from emv_ros.evaluation.faults.outcome import Outcome, judge
from emv_ros.evaluation.faults.prepared import Prepared
from emv_ros.evaluation.faults.process import Worker
from emv_ros.evaluation.faults.workers import FULL

DISK = '8m'
NEW = 200
BALLAST = 'ballast'


@contextmanager
def small_disk() -> Iterator[Path | None]:
    """Yield a folder on a disk of 8 MB, None where none can be mounted."""
    mount = shutil.which('mount')
    with tempfile.TemporaryDirectory(prefix='emv_disk_') as name:
        done = mount is not None and not subprocess.run(
            [mount, '-t', 'tmpfs', '-o', f'size={DISK}', 'tmpfs', name],
            capture_output=True, check=False).returncode
        try:
            yield Path(name) if done else None
        finally:
            if done:
                subprocess.run(['umount', '--lazy', name], capture_output=True, check=False)


def fill(disk: Path, left: int = 0) -> Path:
    """Fill a disk but for `left` bytes; return the file that does it."""
    ballast = disk / BALLAST
    with suppress(OSError), ballast.open('wb', buffering=0) as stream:
        while stream.write(bytes(4096)) == 4096:
            pass
    size = ballast.stat().st_size
    with ballast.open('r+b') as stream:
        stream.truncate(max(0, size - left))
    return ballast


def full_in_writes(prepared: Prepared, chance: Random) -> Outcome | None:
    """Fill the disk under an ingest: it says so, and stores all when there is room again."""
    with small_disk() as disk:
        if disk is None:
            return None
        folder = disk / 'memory'
        shutil.copytree(prepared.filled, folder)
        is_full = threading.Event()
        worker = Worker('ingest', folder, _numbers_after(is_full))
        worker.wait_for(lambda _: worker.is_ready)
        ballast = fill(disk, chance.randrange(150_000))
        is_full.set()
        worker.wait_for(lambda lines: any('full' in line for line in lines), 30)
        outcome = Outcome()
        if not any(line.startswith('trouble') and 'full' in line for line in worker.lines):
            outcome.wrong.append('the writer did not say that the disk is full')
        acknowledged = set(worker.numbers)
        ballast.unlink()
        if worker.end():
            outcome.wrong.append(f'the writer failed: {worker.errors[-200:]}')
        stored = numbers_in(folder)
        if not acknowledged <= stored:
            outcome.wrong.append('what was acknowledged on a full disk is gone')
        words = {n for n in range(len(BEFORE), len(BEFORE) + NEW) if n % 5 != 4}
        if words - stored:
            outcome.wrong.append(f'{len(words - stored)} events and words did not come in')
        return _with(outcome, judge(folder, set(BEFORE) | set(worker.numbers)))


def _numbers_after(event: threading.Event) -> Iterator[int]:
    """Yield the numbers of new records once an event is set."""
    event.wait()
    yield from range(len(BEFORE), len(BEFORE) + NEW)


def full_in_consolidation(prepared: Prepared, chance: Random) -> Outcome | None:
    """Fill the disk under a consolidation: it ends with a reason, and the next one goes on."""
    return _fails_then_works(prepared.filled, 'consolidate', chance.randrange(400_000))


def full_in_migration(prepared: Prepared, chance: Random) -> Outcome | None:
    """Fill the disk under a migration: the old file stays whole, and comes along later."""
    old = prepared.old(chance.choice(('0001', '0004', '0007')))
    before = rows_in(old)
    outcome = _fails_then_works(old, 'migrate', chance.randrange(200_000), before)
    if outcome is not None:
        outcome.acknowledged = sum(before.values())
    return outcome


def _fails_then_works(memory: Path, verb: str, left: int,
                      rows: Mapping[str, int] | None = None) -> Outcome | None:
    """Let a verb meet a disk that is full but for `left` bytes; `rows` must be there at the end."""
    with small_disk() as disk:
        if disk is None:
            return None
        folder = disk / 'memory'
        shutil.copytree(memory, folder)
        ballast = fill(disk, left)
        outcome = Outcome()
        worker = Worker(verb, folder)
        code, errors = worker.end(), worker.errors
        if code == 0:
            outcome.note = 'there was room enough'
        elif code != FULL:
            outcome.wrong.append(f'{verb} ended with {code} on a full disk: {errors[-200:]}')
        ballast.unlink()
        again = Worker(verb, folder)
        if again.end():
            outcome.wrong.append(f'{verb} fails although there is room: {again.errors[-200:]}')
        after = rows_in(folder)
        outcome.wrong += [f'{table}: {after.get(table, 0)} rows of {count}'
                          for table, count in (rows or {}).items() if after.get(table, 0) < count]
        is_life = verb == 'consolidate'
        return _with(outcome, judge(folder, BEFORE if is_life else (), is_tree_checked=is_life))


def locked(prepared: Prepared, chance: Random, seconds: float = 30.0) -> Outcome:
    """Have another process hold the database: the writer waits, and loses nothing."""
    with prepared.copy(prepared.filled) as folder:
        holder = Worker('hold', folder, None)
        holder.wait_for(lambda _: holder.is_ready)
        worker = Worker('ingest', folder, range(len(BEFORE), len(BEFORE) + NEW))
        worker.wait_for(lambda _: worker.is_ready)
        worker.run_on(seconds * chance.uniform(0.9, 1.1))
        outcome = Outcome()
        if worker.numbers:
            outcome.wrong.append('records were acknowledged while the database was locked')
        holder.kill()
        if worker.end():
            outcome.wrong.append(f'the writer failed: {worker.errors[-200:]}')
        if len(worker.numbers) != NEW:
            outcome.wrong.append(f'{len(worker.numbers)} of {NEW} records were stored')
        return _with(outcome, judge(folder, set(BEFORE) | set(worker.numbers)))


def _with(first: Outcome, second: Outcome) -> Outcome:
    second.wrong[:0] = first.wrong
    second.note = first.note or second.note
    return second
