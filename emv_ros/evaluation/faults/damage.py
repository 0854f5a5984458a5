"""Files that were damaged or removed behind the memory's back, after its writer was killed."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random

from emv_ros.evaluation.faults.checks import ids_of, marked_in, numbers_in
from emv_ros.evaluation.faults.outcome import Outcome, judge
from emv_ros.evaluation.faults.prepared import DONE, WAITING, Prepared
from emv_ros.evaluation.faults.process import Worker
from emv_ros.evaluation.faults.workers import open_store
from emv_ros.memory.database import DATABASE_FILE

PAGE = 4096


def cut_last_pages(prepared: Prepared, chance: Random) -> Outcome:
    """Cut the database short by up to two pages, none of which is free."""
    with prepared.copy(prepared.filled) as folder:
        ids = ids_of(folder)
        with open_store(folder) as store:
            store.rewrite()
        file = folder / DATABASE_FILE
        with file.open('r+b') as stream:
            stream.truncate(file.stat().st_size - chance.randint(1, 2 * PAGE))
        return judge(folder, ids, ids=ids)


def damaged_page(prepared: Prepared, chance: Random) -> Outcome:
    """Overwrite a page of the database, but not those that hold its list of tables."""
    with prepared.copy(prepared.filled) as folder:
        ids = ids_of(folder)
        file = folder / DATABASE_FILE
        data = bytearray(file.read_bytes())
        pages = [number for number in range(1, len(data) // PAGE)
                 if b'CREATE ' not in data[number * PAGE:(number + 1) * PAGE]]
        at = chance.choice(pages) * PAGE
        data[at:at + PAGE] = chance.choice((bytes(PAGE), chance.randbytes(PAGE)))
        file.write_bytes(data)
        return judge(folder, ids, ids=ids)


def deleted_log(prepared: Prepared, chance: Random) -> Outcome:
    """Delete the write-ahead log of a writer that was killed."""
    with prepared.copy(prepared.filled) as folder:
        before = numbers_in(folder)
        worker = Worker('ingest', folder, count(DONE + WAITING))
        wanted = chance.randrange(20, 300)
        worker.wait_for(lambda _: len(worker.numbers) >= wanted)
        worker.kill()
        (folder / f'{DATABASE_FILE}-wal').unlink(missing_ok=True)
        return judge(folder, before | set(worker.numbers), is_repair_due=True)


def missing_pictures(prepared: Prepared, chance: Random) -> Outcome:
    """Remove some pictures; their rows must say so, and what is marked is no loss of a row."""
    return _pictures(prepared, chance, is_removed=True)


def damaged_pictures(prepared: Prepared, chance: Random) -> Outcome:
    """Change some bytes of some pictures, or cut them short."""
    return _pictures(prepared, chance, is_removed=False)


def _pictures(prepared: Prepared, chance: Random, is_removed: bool) -> Outcome:
    with prepared.copy(prepared.filled) as folder:
        files = sorted((folder / 'pictures').glob('??/*'))
        picked = chance.sample(files, chance.randint(1, 8))
        for path in picked:
            if is_removed:
                path.unlink()
            else:
                _damage(path, chance)
        outcome = judge(folder, range(DONE + WAITING))
        if outcome.lost != len(picked) or len(marked_in(folder)) != len(picked):
            outcome.wrong.append(f'{len(picked)} pictures were hit, {outcome.lost} are lost, '
                                 f'{len(marked_in(folder))} are marked')
        return outcome


def _damage(path: Path, chance: Random) -> None:
    data = bytearray(path.read_bytes())
    if chance.random() < 0.5:
        data[chance.randrange(len(data))] ^= 0xFF
    else:
        del data[chance.randrange(len(data)):]
    path.write_bytes(data)
