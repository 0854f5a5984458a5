"""What is killed: each verb is a process that does one real thing to a memory.

    python -m emv_ros.evaluation.faults.workers VERB FOLDER

It writes `ready` when it has loaded what it needs, and then a line for each thing that is on disk
for certain: whoever reads a line may rely on it. `ingest` and `clips` take the numbers of records
from standard input, one a line. The verbs call the same functions as the nodes and commands.
"""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import sqlite3
import sys

from emv_ros.errors import StoreFullError
from emv_ros.evaluation.faults.life import ROBOT, number_of, record_of, stamp_of
from emv_ros.memory.database import DATABASE_FILE, sqlite_url
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.records import ImageRecord, Record
from emv_ros.settings import Settings

FULL = 3


def open_store(folder: Path, busy_timeout_s: float = 30.0) -> MemoryStore:
    """Open or make the memory of a fault."""
    return MemoryStore(folder, sqlite_url(folder), ROBOT, busy_timeout_s=busy_timeout_s)


def say(line: str) -> None:
    """Write a line at once, in one piece."""
    os.write(sys.stdout.fileno(), f'{line}\n'.encode())


def ingest(folder: Path) -> None:
    """Store the records whose numbers come in, as an ingest node does."""
    def committed(records: list[Record]) -> None:
        say(' '.join(str(number_of(record)) for record in records))

    with open_store(folder) as store:
        writer = BatchWriter(store, flush_period_s=0.02, batch_size=25, on_commit=committed)
        say('ready')
        told = ''
        for line in sys.stdin:
            record, data = record_of(int(line))
            if data is not None and isinstance(record, ImageRecord):
                writer.add_image(data, record)
            else:
                writer.add(record)
            told = _tell_trouble(writer, told)
        while not writer.flush(0.2):
            told = _tell_trouble(writer, told)
        writer.close()


def _tell_trouble(writer: BatchWriter, told: str) -> str:
    """Say what went wrong last, as a node does in its status, unless that is told."""
    if writer.last_error != told:
        say(f'trouble {writer.last_error}')
    return writer.last_error


def consolidate_all(folder: Path) -> None:
    """Consolidate what waits, with texts from templates."""
    from emv_ros.tree.consolidate import consolidate

    say('ready')
    with open_store(folder) as store:
        consolidate(store, Settings())
    say('done')


def forget_some(folder: Path) -> None:
    """Forget the observations whose ids come in, one by one."""
    from emv_ros.agent.forgetting import forget

    with open_store(folder) as store:
        say('ready')
        for line in sys.stdin:
            key = int(line)
            forget(store, [('observation', key)], author='bench', reason='a fault is tried',
                   stamp_ns=stamp_of(10**6))
            say(str(key))


def clips(folder: Path) -> None:
    """Write the clips whose numbers come in, as perception does."""
    from emv_ros.evaluation.faults.clip_parts import clip_of
    from emv_ros.memory.clip_writer import write_clip

    with open_store(folder) as store:
        say('ready')
        for line in sys.stdin:
            parts = clip_of(store, int(line))
            if parts is not None and write_clip(store, parts) is not None:
                say(line.strip())


def migrate(folder: Path) -> None:
    """Open a memory of an older version."""
    from alembic import command  # noqa: F401  (loaded before, so that a kill meets the migration)

    say('ready')
    with open_store(folder):
        pass
    say('done')


def hold(folder: Path) -> None:
    """Hold the database as another program may: locked for writing until the input ends."""
    connection = sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)
    connection.execute('BEGIN IMMEDIATE')
    say('ready')
    sys.stdin.read()
    connection.execute('ROLLBACK')
    connection.close()


def restore(folder: Path) -> None:
    """Bring the export that lies beside the folder into it, as `emv import` does."""
    from emv_ros.cli import main

    say('ready')
    code = main(['--memory', str(folder), 'import', str(folder.with_name('export'))])
    if code:
        raise SystemExit(code)
    say('done')


VERBS: dict[str, Callable[[Path], None]] = {
    'ingest': ingest, 'consolidate': consolidate_all, 'forget': forget_some, 'clips': clips,
    'migrate': migrate, 'hold': hold, 'import': restore}


def main(arguments: list[str]) -> int:
    """Run a verb; FULL where the disk is."""
    verb, folder = arguments
    try:
        VERBS[verb](Path(folder))
    except StoreFullError as error:
        sys.stderr.write(f'{error}\n')
        return FULL
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
