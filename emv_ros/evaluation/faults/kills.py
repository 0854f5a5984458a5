"""Processes killed with SIGKILL at a random moment of what they do; then the memory is judged."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
import shutil
import sqlite3

from emv_ros.evaluation.faults.checks import faults_of, numbers_in
from emv_ros.evaluation.faults.clip_parts import names_of_clip
from emv_ros.evaluation.faults.old_file import VERSIONS
from emv_ros.evaluation.faults.outcome import Outcome, judge
from emv_ros.evaluation.faults.prepared import CLIPS, DONE, WAITING, Prepared
from emv_ros.evaluation.faults.process import Worker
from emv_ros.memory.migrate import SCHEMA_VERSION

BEFORE = range(DONE + WAITING)


def in_writes(prepared: Prepared, chance: Random) -> Outcome:
    """Kill the writer of an ingest that is fed over a pipe."""
    with prepared.copy(chance.choice((None, prepared.filled))) as folder:
        before = numbers_in(folder) if folder.exists() else set()
        worker = Worker('ingest', folder, count(len(BEFORE)))
        wanted = chance.randrange(1, 150)
        worker.wait_for(lambda _: len(worker.numbers) >= wanted)
        worker.run_on(chance.uniform(0, 0.03))
        outcome = _killed(worker)
        return _joined(outcome, judge(folder, before | set(worker.numbers)))


def in_consolidation(prepared: Prepared, chance: Random) -> Outcome:
    """Kill a consolidation; the next one, in `judge`, goes on from there."""
    with prepared.copy(prepared.filled) as folder:
        worker = Worker('consolidate', folder)
        worker.wait_for(lambda _: worker.is_ready)
        worker.run_on(chance.uniform(0.15, 0.75))
        return _joined(_killed(worker), judge(folder, BEFORE))


def in_forgetting(prepared: Prepared, chance: Random) -> Outcome:
    """Kill a forgetting of one observation after another; what was forgotten must not be back."""
    things = prepared.observations
    with prepared.copy(prepared.filled) as folder:
        picked = chance.sample(sorted(things), 12)
        worker = Worker('forget', folder, picked)
        wanted = chance.randrange(0, 6)
        worker.wait_for(lambda _: worker.is_ready and len(worker.numbers) >= wanted)
        worker.run_on(chance.uniform(0, 0.5))
        outcome = _joined(_killed(worker), judge(folder, BEFORE))
        outcome.wrong += _back(folder, {key: things[key] for key in worker.numbers})
        return outcome


def _back(folder: Path, forgotten: dict[int, str]) -> list[str]:
    """Return which forgotten observations are in rows or in the bytes of any file."""
    with closing(sqlite3.connect(folder / 'memory.db')) as connection:
        ids = {int(key) for key, in connection.execute('SELECT id FROM observation')}
    data = b''.join(path.read_bytes() for path in folder.rglob('*') if path.is_file())
    return [f'o{key} was forgotten and is back' for key in forgotten if key in ids] + [
        f'the name of o{key} is still in the files' for key, name in forgotten.items()
        if name.encode() in data]


def in_migration(prepared: Prepared, chance: Random) -> Outcome:
    """Kill the opening of a memory of any earlier version; the next opening does it whole."""
    version = chance.choice(VERSIONS)
    with prepared.copy(prepared.old(version)) as folder:
        before = rows_in(folder)
        worker = Worker('migrate', folder)
        worker.wait_for(lambda _: worker.is_ready)
        worker.run_on(chance.uniform(0, 0.35))
        outcome = _killed(worker)
        outcome.acknowledged = sum(before.values())
        outcome.wrong += _half_migrated(folder, version)
        outcome.wrong += faults_of(folder, is_tree_checked=False)
        after = rows_in(folder)
        outcome.lost = sum(number - after.get(table, 0) for table, number in before.items())
        return outcome


def _half_migrated(folder: Path, version: str) -> list[str]:
    with closing(sqlite3.connect(folder / 'memory.db')) as connection:
        now = connection.execute('SELECT version_num FROM alembic_version').fetchone()[0]
    return [] if now in (version, SCHEMA_VERSION) else [f'half migrated: {version} became {now}']


def rows_in(folder: Path) -> dict[str, int]:
    """Return the number of rows of each table that holds contents."""
    with closing(sqlite3.connect(folder / 'memory.db')) as connection:
        tables = [name for name, in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND "
            "name NOT LIKE 'document_text%'") if name not in ('change', 'state')]
        return {name: connection.execute(f'SELECT count(*) FROM {name}').fetchone()[0]
                for name in tables}


def in_import(prepared: Prepared, chance: Random) -> Outcome:
    """Kill an import of an export; the next one goes on and doubles nothing."""
    with prepared.copy(None) as folder:
        shutil.copytree(prepared.export, folder.with_name('export'))
        worker = Worker('import', folder)
        worker.wait_for(lambda _: worker.is_ready)
        worker.run_on(chance.uniform(0.3, 1.6))
        outcome = _killed(worker)
        again = Worker('import', folder)
        if again.end():
            outcome.wrong.append(f'the import does not go on: {again.errors[-200:]}')
        outcome = _joined(outcome, judge(folder, BEFORE))
        doubled = {table: (here, there) for table, there in rows_in(prepared.filled).items()
                   if (here := rows_in(folder).get(table)) != there and table in (
                       'utterance', 'skill_event', 'image', 'observation', 'scene', 'scene_object')}
        outcome.wrong += [f'{table}: {here} rows for {there}' for table, (here, there) in
                          doubled.items()]
        return outcome


def in_clips(prepared: Prepared, chance: Random) -> Outcome:
    """Kill the writer of clips; the next one looks at what is left, and at nothing twice."""
    pictures = len(BEFORE) // 5
    with prepared.copy(prepared.filled) as folder:
        worker = Worker('clips', folder, range(CLIPS, pictures))
        wanted = chance.randrange(0, 20)
        worker.wait_for(lambda _: worker.is_ready and len(worker.numbers) >= wanted)
        worker.run_on(chance.uniform(0, 0.05))
        outcome = _killed(worker)
        names = _names(folder)
        told = {name for number in worker.numbers for name in names_of_clip(number)}
        outcome.lost += len(told - set(names))
        Worker('clips', folder, range(CLIPS, pictures)).end()
        outcome = _joined(outcome, judge(folder, BEFORE))
        every = sorted(name for number in range(pictures) for name in names_of_clip(number))
        if _names(folder) != every:
            outcome.wrong.append('clips are missing or doubled')
        return outcome


def _names(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / 'memory.db')) as connection:
        return sorted(name for name, in connection.execute('SELECT name FROM observation'))


def _killed(worker: Worker) -> Outcome:
    return Outcome(is_too_late=not worker.kill())


def _joined(first: Outcome, second: Outcome) -> Outcome:
    second.lost += first.lost
    second.wrong[:0] = first.wrong
    second.is_too_late = first.is_too_late
    return second
