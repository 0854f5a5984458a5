"""The connection to a server is cut at a commit: what is tried again is stored once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
import socket
import threading

from databases import database_url, rows
from memory_parts import report, said
import postgresql
import pytest

from emv_ros.errors import StoreError
from emv_ros.memory import queries
from emv_ros.memory.receipts import KEPT_S, PREFIX, Receipt
from emv_ros.memory.schema import StateRow
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter

COMMIT = b'COMMIT\0'


class Wire:
    """A way to the server. While `cut_at` is set, it is cut once at a commit, before or after it.

    After it means: the server has committed and answered, and the answer goes nowhere.
    """

    def __init__(self, port: int) -> None:
        self.cut_at = ''
        self.cuts = 0
        self._server = port
        self._door = socket.create_server(('127.0.0.1', 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.create_connection(('127.0.0.1', self._server))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._carry, args=(source, target, source is client),
                                     daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, is_asked: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if is_asked and COMMIT in data and self.cut_at:
                    self._cut(data, source, target)
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _cut(self, data: bytes, client: socket.socket, server: socket.socket) -> None:
        where, self.cut_at = self.cut_at, ''
        self.cuts += 1  # before the writer can notice, and be done
        client.shutdown(socket.SHUT_RDWR)  # first: nothing more gets through to it
        if where == 'after':
            server.sendall(data)
            # The server ends the session once it has dealt with what came before.
            server.shutdown(socket.SHUT_WR)


@pytest.fixture
def wire(postgresql_server: postgresql.Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    monkeypatch.setenv('EMV_TEST_SERVER', postgresql_server.url(''))
    made = Wire(postgresql_server.port)
    yield made
    made.close()


@pytest.fixture
def memory(wire: Wire, tmp_path: Path) -> Iterator[MemoryStore]:
    url = database_url(tmp_path).set(port=wire.port)
    with MemoryStore(tmp_path, url, 'robot', busy_timeout_s=5.0) as store:
        yield store


@pytest.mark.parametrize('where', ['before', 'after'])
def test_a_batch_is_stored_once(memory: MemoryStore, wire: Wire, where: str) -> None:
    writer = BatchWriter(memory, flush_period_s=60.0, batch_size=100)
    for number in range(4):
        wire.cut_at = where if number in (0, 2) else ''
        for record in (said(2 * number, f'word {number}'), report(2 * number + 1, 'running')):
            writer.add(record)
        assert writer.flush(30)
    assert wire.cuts == 2 and not writer.refused
    assert writer.written == {'Utterance': 4, 'SkillReport': 4}
    assert [item.text for item in queries.utterances(memory)] == [
        f'word {number}' for number in range(4)]
    counts = memory.counts()
    assert (counts['skill_event'], counts['skill_report']) == (1, 4)
    # The session that the first batch began goes on.
    assert counts['session'] == 1
    assert writer.close(30)
    assert not rows(memory.folder, f"SELECT * FROM state WHERE key LIKE '{PREFIX}%'")


@pytest.mark.parametrize('where', ['before', 'after'])
def test_a_promised_session_begins_once(memory: MemoryStore, wire: Wire, where: str) -> None:
    writer = BatchWriter(memory, flush_period_s=60.0)
    for number in range(2):
        wire.cut_at = where
        writer.add(replace(said(number, str(number)),
                           session_id=writer.promise_session(start_ns=number)))
        assert writer.flush(30)
    assert wire.cuts == 2 and not writer.refused
    assert [row['start_ns'] for row in rows(
        memory.folder, 'SELECT start_ns FROM session ORDER BY id')] == [0, 1]
    assert writer.close(30)
    assert not rows(memory.folder, f"SELECT * FROM state WHERE key LIKE '{PREFIX}%'")


def test_without_a_receipt_nobody_knows(memory: MemoryStore, wire: Wire) -> None:
    """What the receipt is for: the caller is told of an error, and the record is there."""
    wire.cut_at = 'after'
    with pytest.raises(StoreError, match='cannot be reached'):
        memory.add(said(0, 'hello'))
    with memory.writing():  # it waits for the lost transaction
        pass
    assert [item.text for item in queries.utterances(memory)] == ['hello']


def test_receipts_of_the_dead_go_after_a_while(memory: MemoryStore) -> None:
    old, killed = Receipt(1), Receipt(1)
    for receipt in (old, killed):
        memory.add_many([said(0, 'x')], receipt)
    with memory.writing() as session:
        row = session.get_one(StateRow, old.key)
        row.value = {**row.value, 'time_s': row.value['time_s'] - KEPT_S - 10}
    memory.add_many([said(1, 'y')], Receipt(1))
    found = {row['key'] for row in rows(
        memory.folder, f"SELECT key FROM state WHERE key LIKE '{PREFIX}%'")}
    assert killed.key in found and old.key not in found and len(found) == 2
