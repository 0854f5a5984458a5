"""The content-addressed folder of pictures: each file is named by the SHA-256 of its bytes.

A file is complete and on disk before its name is given out, so that no row can point to half a
picture: a crash leaves only a `.part` file, which the next writer of the picture does not mind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
import hashlib
import os
from pathlib import Path
import threading
import time

from emv_ros.errors import NotFoundError, StoreError
from emv_ros.memory.database import disk_error

SUFFIXES = {'image/jpeg': '.jpg', 'image/png': '.png'}


class PictureFolder:
    """Pictures below one folder, in 256 subfolders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, sha256: str, media_type: str) -> Path:
        """Return where the picture lies or would lie."""
        return self.folder / sha256[:2] / f'{sha256}{SUFFIXES.get(media_type, ".bin")}'

    def write(self, data: bytes, media_type: str) -> str:
        """Store the bytes and return their SHA-256; the same bytes are stored once.

        Raises StoreFullError where the disk is full, StoreError where it cannot be written.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        target = self.path(sha256, media_type)
        partial = target.with_name(f'.{target.name}.{os.getpid()}-{threading.get_ident()}.part')
        try:
            if _holds(target, data) and _is_made_fresh(target):
                return sha256
            self._make(target.parent)
            with partial.open('wb') as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
            # A commit of the row does not force the name: SQLite writes over a log that is there,
            # which changes no name that a journal of the file system would have to hold.
            _sync(target.parent)
        except OSError as error:
            _discard(partial)
            raise disk_error(f'cannot store a picture of {len(data)} bytes in {target.parent}',
                             error) from error
        return sha256

    def _make(self, folder: Path) -> None:
        """Make a folder below the memory's, with its name on disk."""
        if folder.is_dir():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=True)
        _sync(self.folder)
        _sync(self.folder.parent)

    def read(self, sha256: str, media_type: str) -> bytes:
        """Return the bytes.

        Raises NotFoundError where the file is gone, StoreError where it is damaged.
        """
        target = self.path(sha256, media_type)
        try:
            data = target.read_bytes()
        except FileNotFoundError as error:
            raise NotFoundError(f'the picture file {target} is missing') from error
        except OSError as error:
            raise StoreError(f'cannot read the picture file {target}: {error}') from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StoreError(
                f'the picture file {target} is damaged: its bytes do not fit its name')
        return data

    def delete(self, sha256: str, media_type: str) -> None:
        """Remove the file if it is there, also one that a `discard` that was cut off put aside.

        Raises StoreError where that cannot be done.
        """
        target = self.path(sha256, media_type)
        try:
            target.unlink(missing_ok=True)
            _aside(target).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f'cannot remove the picture file {target}: {error}') from error

    def discard(self, sha256: str, media_type: str, fresh_s: float) -> bool:
        """Remove a file that was written, or asked for anew, at least `fresh_s` ago.

        False where it is fresher, and then it stays: whoever stores the same picture at this very
        moment finds it, or writes it anew. Raises StoreError where that cannot be done.
        """
        target = self.path(sha256, media_type)
        aside = _aside(target)
        try:
            with suppress(FileNotFoundError):
                if time.time() - target.stat().st_mtime < fresh_s:
                    return False
                target.replace(aside)
            # A writer that asked for it before it went aside has made it fresh.
            if aside.is_file() and time.time() - aside.stat().st_mtime < fresh_s:
                aside.replace(target)
                return False
            aside.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f'cannot remove the picture file {target}: {error}') from error
        return True

    def put_back(self, sha256: str, media_type: str) -> None:
        """Undo a `discard` that was cut off, of a file that is needed after all."""
        target = self.path(sha256, media_type)
        try:
            if not target.is_file() and _aside(target).is_file():
                _aside(target).replace(target)
        except OSError as error:
            raise StoreError(f'cannot put back the picture file {target}: {error}') from error

    def __iter__(self) -> Iterator[Path]:
        """Yield the path of each picture."""
        return (path for path in self.folder.glob('??/*') if not path.name.startswith('.'))


def _holds(file: Path, data: bytes) -> bool:
    """Whether a file is there and holds just these bytes: one that was damaged is written anew."""
    try:
        return file.stat().st_size == len(data) and file.read_bytes() == data
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _aside(target: Path) -> Path:
    return target.with_name(f'.{target.name}.gone')


def _is_made_fresh(target: Path) -> bool:
    """Tell whoever removes old files that this one is wanted; False where it cannot be told."""
    try:
        os.utime(target)
    except OSError:
        return False
    return True


def _discard(partial: Path) -> None:
    # Where that fails it stays beside the pictures, and is none of them.
    with suppress(OSError):
        partial.unlink(missing_ok=True)
