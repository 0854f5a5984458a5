"""Several processes on one memory, and one that is killed in the middle of a write."""

import multiprocessing
from pathlib import Path
import signal
import subprocess
import sys

from databases import database_url, is_postgresql
from memory_parts import report, said
import pytest

from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter

pytestmark = pytest.mark.both_databases

ROOT = Path(__file__).parents[2]
SPAWN = multiprocessing.get_context('spawn')
EACH = 150


def open_in(folder: Path) -> MemoryStore:
    return MemoryStore(folder, database_url(folder), 'robot', busy_timeout_s=30.0)


def write(folder: Path, name: str, start: object) -> None:
    """Write utterances of the robot `name`, and runs of one that all processes share."""
    start.wait(60)  # type: ignore[attr-defined]
    with open_in(folder) as memory:
        writer = BatchWriter(memory, flush_period_s=0.01, batch_size=10)
        for number in range(EACH):
            writer.add(said(number, f'{name} {number}', robot=name))
            writer.add(report(number, 'running', robot='shared', skill=f'{name}{number}'))
        assert writer.close(60)
        assert not writer.refused, writer.last_error
        assert not writer.dropped


def read(folder: Path, start: object, is_over: object) -> None:
    start.wait(60)  # type: ignore[attr-defined]
    last = 0
    with open_in(folder) as memory:
        while not is_over.is_set():  # type: ignore[attr-defined]
            count = len(queries.utterances(memory))
            assert count >= last
            last = count


def test_writers_and_readers_lose_nothing(tmp_path: Path) -> None:
    start, is_over = SPAWN.Barrier(5), SPAWN.Event()  # all open a memory that is not there yet
    writers = [SPAWN.Process(target=write, args=(tmp_path, name, start)) for name in 'abc']
    readers = [SPAWN.Process(target=read, args=(tmp_path, start, is_over)) for _ in range(2)]
    for process in (*writers, *readers):
        process.start()
    for process in writers:
        process.join(120)
    is_over.set()
    for process in readers:
        process.join(60)
    assert [process.exitcode for process in (*writers, *readers)] == [0] * 5
    with open_in(tmp_path) as memory:
        assert memory.robots() == ['a', 'b', 'c', 'shared']
        for name in 'abc':
            texts = [item.text for item in queries.utterances(
                memory, queries.Window(robots=(name,)))]
            assert texts == [f'{name} {number}' for number in range(EACH)]
        assert memory.counts()['skill_event'] == 3 * EACH


# Adds utterances one by one, and tells the id of each that is stored.
ENDLESS = """
import sys
from itertools import count
from pathlib import Path
from databases import database_url
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, Utterance
folder = Path(sys.argv[1])
memory = MemoryStore(folder, database_url(folder), 'robot')
for number in count(1):
    memory.add_image(str(number).encode() * 10_000, ImageRecord(
        stamp_ns=number, camera='', sha256='', media_type='image/png', width=1, height=1))
    print(memory.add(Utterance(stamp_ns=number, speaker='', text=str(number))), flush=True)
"""


def test_killed_in_a_write(tmp_path: Path) -> None:
    for _ in range(2):
        with subprocess.Popen([sys.executable, '-c', ENDLESS, tmp_path], cwd=ROOT, text=True,
                              stdout=subprocess.PIPE) as process:
            assert process.stdout
            acknowledged = [int(process.stdout.readline()) for _ in range(40)][-1]
            process.send_signal(signal.SIGKILL)
            acknowledged = max([acknowledged, *map(int, process.stdout.read().split())])
        with open_in(tmp_path) as memory:
            ids = {item.id for item in queries.utterances(memory)}
            assert ids >= set(range(1, acknowledged + 1))
            images = queries.images(memory)
            assert len(images) >= acknowledged
            for image in images:
                assert memory.pictures.read(image.sha256, image.media_type)
            if not is_postgresql():
                with memory.reading() as session:
                    check = session.connection().exec_driver_sql
                    assert check('PRAGMA integrity_check').scalar() == 'ok'
