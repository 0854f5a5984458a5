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

from emv_ros.errors import ImportFileError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore

BLOCK = 2**20


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


def _key(robot: str, sha256: str) -> str:
    return f'import:{robot}:{sha256}'
