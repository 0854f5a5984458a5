"""The content-addressed folder of pictures: each file is named by the SHA-256 of its bytes.

A file is complete and on disk before its name is given out, so that no row can point to half a
picture: a crash leaves only a `.part` file, which the next writer of the picture does not mind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
import errno
import hashlib
import os
from pathlib import Path
import threading

from emv_ros.errors import NotFoundError, StoreError, StoreFullError

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
            if target.is_file() and target.stat().st_size == len(data):
                return sha256
            target.parent.mkdir(parents=True, exist_ok=True)
            with partial.open('wb') as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Its name is on disk with the commit of the row, which forces the same journal.
            partial.replace(target)
        except OSError as error:
            _discard(partial)
            kind = StoreFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
            raise kind(f'cannot store a picture of {len(data)} bytes in {target.parent}: '
                       f'{error.strerror or error}') from error
        return sha256

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
        """Remove the file if it is there. Raises StoreError where that cannot be done."""
        target = self.path(sha256, media_type)
        try:
            target.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f'cannot remove the picture file {target}: {error}') from error

    def __iter__(self) -> Iterator[Path]:
        """Yield the path of each picture."""
        return (path for path in self.folder.glob('??/*') if not path.name.startswith('.'))


def _discard(partial: Path) -> None:
    # Where that fails it stays beside the pictures, and is none of them.
    with suppress(OSError):
        partial.unlink(missing_ok=True)
