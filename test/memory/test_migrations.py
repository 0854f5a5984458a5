"""Files of each earlier version open with all they hold, whatever happens on the way."""

from contextlib import closing
import os
from pathlib import Path
import shutil
import signal
import sqlite3
from typing import Any

import pytest
from sqlalchemy import event

from emv_ros.errors import StoreFullError
from emv_ros.evaluation.faults.old_file import VERSIONS, make_old, missing_from
from emv_ros.evaluation.faults.resources import fill, small_disk
from emv_ros.memory import migrate, queries
from emv_ros.memory.database import DATABASE_FILE, sqlite_url
from emv_ros.memory.migrate import MIGRATIONS, SCHEMA_VERSION
from emv_ros.memory.store import MemoryStore


def open_in(folder: Path) -> MemoryStore:
    return MemoryStore(folder, sqlite_url(folder), 'robot')


def version_of(folder: Path) -> str:
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        return str(connection.execute('SELECT version_num FROM alembic_version').fetchone()[0])


def schema_of(folder: Path) -> set[tuple[Any, ...]]:
    """Return names and columns of all tables, indices and triggers."""
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        names = connection.execute('SELECT type, name FROM sqlite_master').fetchall()
        return {(kind, name, *(row[1] for row in connection.execute(
            f'PRAGMA table_info({name})'))) for kind, name in names}


def test_no_version_is_left_out() -> None:
    known = sorted(file.name.partition('_')[0]
                   for file in (MIGRATIONS / 'versions').glob('[0-9]*.py'))
    assert [*VERSIONS, SCHEMA_VERSION] == known


@pytest.mark.parametrize('version', VERSIONS)
def test_all_that_an_earlier_version_held_comes_along(tmp_path: Path, version: str) -> None:
    made = make_old(tmp_path / 'old', version)
    assert version_of(tmp_path / 'old') == version
    assert {'image', 'utterance', 'skill_event', 'scene', 'node', 'observation', 'entity',
            'verdict', 'document', 'query', 'audit'} <= set(made)
    with open_in(tmp_path / 'old') as memory:
        assert [item.text for item in queries.utterances(memory)] == [
            f'text {number} of utterance' for number in (1, 2, 3)]
        assert len(queries.images(memory)) == len(queries.observations(memory)) == 3
        assert memory.picture(1).startswith(b'\x89PNG')
        with memory.reading() as session:
            assert session.connection().exec_driver_sql(
                "SELECT rowid FROM document_text WHERE document_text MATCH 'document'"
            ).scalars().all() == [1, 2, 3]
    assert version_of(tmp_path / 'old') == SCHEMA_VERSION
    assert missing_from(tmp_path / 'old', made) == []
    open_in(tmp_path / 'new').close()
    assert schema_of(tmp_path / 'old') == schema_of(tmp_path / 'new')


def open_and_be_killed(folder: Path, countdown: int) -> bool:
    """Open a memory in a process that kills itself before the n-th statement of the migration."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        return os.WIFSIGNALED(status)
    try:
        left = [countdown]

        def kill(*_: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        upgrade = migrate._upgrade

        def watched(engine: Any, *others: Any) -> None:
            event.listen(engine, 'before_cursor_execute', kill)
            event.listen(engine, 'commit', kill)
            upgrade(engine, *others)
        migrate._upgrade = watched
        open_in(folder).close()
    finally:
        os._exit(0)


@pytest.mark.parametrize('version', ['0001', '0007'])
def test_killed_in_any_step_the_old_file_stays_and_comes_along_later(
        tmp_path: Path, version: str) -> None:
    made = make_old(tmp_path / 'old', version)
    number, killed = 1, 0
    while True:
        folder = tmp_path / 'copy'
        shutil.copytree(tmp_path / 'old', folder)
        if not open_and_be_killed(folder, number):
            break
        was_done = version_of(folder) == SCHEMA_VERSION  # killed in what follows a migration
        killed += not was_done
        assert was_done or version_of(folder) == version
        open_in(folder).close()
        assert version_of(folder) == SCHEMA_VERSION
        assert missing_from(folder, made) == []
        shutil.rmtree(folder)
        number += 1 + number // 2
    assert killed >= 3


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    with small_disk() as disk:
        if disk is None:
            pytest.skip('a small disk cannot be mounted here')
        made = make_old(disk / 'old', '0003', 200)
        ballast = fill(disk, 40_000)
        with pytest.raises(StoreFullError, match='full'):
            open_in(disk / 'old')
        ballast.unlink()
        assert version_of(disk / 'old') == '0003'
        assert missing_from(disk / 'old', made) == []
        open_in(disk / 'old').close()
        assert version_of(disk / 'old') == SCHEMA_VERSION
        assert missing_from(disk / 'old', made) == []
