"""Which files a memory has taken in, so that none is taken in twice by mistake.

A file is known by the SHA-256 of its bytes, a folder by those of its files: a renamed copy is the
same. A claim is made before the first record is read, in one write transaction, so that of two
imports of one file only one goes on; what was interrupted stays told as such.
"""

from __future__ import annotations

from collections.abc import Callable
import hashlib
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from emv_ros.errors import ImportFileError, StoreBusyError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore

BLOCK = 2**20
PREFIX = 'import:'


def fingerprint(path: Path, progress: Callable[[int, int], None] | None = None) -> str:
    """Return the SHA-256 of a file, or of the names and bytes of the files in a folder.

    `progress` is told (bytes read, bytes in all). Raises ImportFileError where it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        files = [path] if path.is_file() else sorted(
            item for item in path.rglob('*') if item.is_file())
        total, done = sum(file.stat().st_size for file in files), 0
        for file in files:
            if file != path:
                digest.update(f'{file.relative_to(path)}\0{file.stat().st_size}\0'.encode())
            with file.open('rb') as stream:
                while block := stream.read(BLOCK):
                    digest.update(block)
                    done += len(block)
                    if progress:
                        progress(done, total)
    except OSError as error:
        raise ImportFileError(f'cannot read {path}: {error.strerror or error}') from error
    return digest.hexdigest()


def claim(store: MemoryStore, robot: str, sha256: str, path: Path, now_ns: int,
          again: bool = False) -> dict[str, Any] | None:
    """Note that an import begins; return the note of an earlier one, which then stays, or None.

    With `again` an earlier note gives way. A note holds `path`, `stamp_ns`, `is_done`, `records`.
    """
    with store.writing() as session:
        found = session.get(schema.StateRow, _key(robot, sha256))
        if found is not None and not again:
            return dict(found.value)
        session.merge(schema.StateRow(key=_key(robot, sha256), value={
            'path': str(path), 'stamp_ns': now_ns, 'is_done': False, 'records': 0}))
    return None


def settle(store: MemoryStore, robot: str, sha256: str, records: int) -> None:
    """Note that an import is done; one that stored nothing leaves no note."""
    with store.writing() as session:
        found = session.get_one(schema.StateRow, _key(robot, sha256))
        if records:
            found.value = {**found.value, 'is_done': True, 'records': records}
        else:
            session.delete(found)


def note_of(session: Session, robot: str, sha256: str) -> dict[str, Any] | None:
    """Return the note of an import, in the caller's transaction."""
    found = session.get(schema.StateRow, _key(robot, sha256))
    return dict(found.value) if found else None


def put_note(session: Session, robot: str, sha256: str, note: dict[str, Any] | None) -> None:
    """Change the note of an import, or remove it, in the caller's transaction."""
    if note is None:
        session.execute(delete(schema.StateRow).where(
            schema.StateRow.key == _key(robot, sha256)))
    else:
        session.merge(schema.StateRow(key=_key(robot, sha256), value=note))


def cut_off(session: Session) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the notes of exports of which a part is in the memory, by robot and SHA-256.

    A note of an export holds under `export` how far its import came.
    """
    row = schema.StateRow
    found = {}
    for key, note in session.execute(select(row.key, row.value).where(
            row.key.startswith(PREFIX, autoescape=True)).order_by(row.key)):
        if 'export' in note and not note['is_done']:
            robot, _, sha256 = key.removeprefix(PREFIX).rpartition(':')
            found[robot, sha256] = dict(note)
    return found


def check_whole(store: MemoryStore) -> None:
    """Raise StoreBusyError while a part of an export is in the memory.

    Whoever derives from records asks this first: what is not there yet would be taken for gone.
    """
    with store.reading() as session:
        paths = [str(note['path']) for note in cut_off(session).values()]
    if paths:
        raise StoreBusyError(
            f'the import of {paths[0]} goes on, or was cut off: `emv import` of it goes on where '
            'it stopped, `emv import --undo` takes back what came in')


def _key(robot: str, sha256: str) -> str:
    return f'{PREFIX}{robot}:{sha256}'
