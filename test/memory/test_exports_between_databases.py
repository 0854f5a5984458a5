"""An export of either database comes into the other, and is the same when it comes back."""

from collections.abc import Iterator
from pathlib import Path

import databases
from databases import database_url
from memory_contents import contents
from memory_parts import at
import postgresql
import pytest
from whole_memory import fill

from emv_ros.memory.export_format import FILE
from emv_ros.memory.export_reader import check_export
from emv_ros.memory.exporting import export_memory
from emv_ros.memory.imports import fingerprint
from emv_ros.memory.restoring import restore
from emv_ros.memory.store import MemoryStore


@pytest.fixture
def server(postgresql_server: postgresql.Server) -> Iterator[str]:
    yield postgresql_server.url('')
    databases.clear(postgresql_server.url(''))


def opened(folder: Path, kind: str, server: str, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """Return a memory in a database of a kind, which then also `contents` reads."""
    if kind == 'sqlite':
        monkeypatch.delenv(databases.SERVER, raising=False)
    else:
        monkeypatch.setenv(databases.SERVER, server)
    return MemoryStore(folder, database_url(folder), 'robot')


@pytest.mark.parametrize('kinds', [('sqlite', 'postgresql'), ('postgresql', 'sqlite')])
def test_there_and_back(kinds: tuple[str, str], server: str, tmp_path: Path,
                        monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / 'first', kinds[0], server, monkeypatch) as memory:
        fill(memory)
        told = contents(memory.folder, queries=True)
        export_memory(memory, tmp_path / 'out1', now_ns=at(100), with_queries=True)
    for number, kind in ((1, kinds[1]), (2, kinds[0])):
        file = tmp_path / f'out{number}' / FILE
        with opened(tmp_path / f'memory{number}', kind, server, monkeypatch) as memory:
            report = restore(memory, check_export(file), fingerprint(file), at(0))
            assert not isinstance(report, dict) and not report.lost
            export_memory(memory, tmp_path / f'out{number + 1}', now_ns=at(100), with_queries=True)
    assert contents(tmp_path / 'memory2', queries=True) == told
    first, second = ((tmp_path / name / FILE).read_text('utf-8').splitlines()
                     for name in ('out1', 'out3'))
    assert sorted(second) == sorted(first)
