"""Arrays kept in a file beside the database, to open quickly what takes long to read from it.

A file is used only if it is whole (a checksum says so), of this layout and of the same name of
contents; whether it is of this memory, and how far behind, its mark in the journal of changes
tells the caller. It holds no text, yet it is made of texts: `memory.clearing` removes it with every
forgetting. A memory whose folder cannot be written has no caches.
"""

from __future__ import annotations

from contextlib import suppress
import json
import logging
import os
from pathlib import Path
from typing import Any
import zlib

import numpy as np
from numpy.typing import NDArray

from emv_ros.memory.changes import Mark

logger = logging.getLogger(__name__)

LAYOUT = 'emv_ros cache 3'
ALIGNMENT = 64
HEADER_BYTES = 16_384

Arrays = dict[str, NDArray[Any]]


def write_cache(file: Path, contents: str, mark: Mark, arrays: Arrays) -> None:
    """Write arrays, which replace the file at once; a failure is logged and leaves the old one."""
    entries: list[tuple[str, str, list[int], int]] = []
    offset = HEADER_BYTES
    for name, array in arrays.items():
        offset += -offset % ALIGNMENT
        entries.append((name, array.dtype.str, list(array.shape), offset))
        offset += array.nbytes
    header = {'layout': LAYOUT, 'contents': contents, 'mark': [mark.id, mark.token],
              'arrays': entries, 'size': offset}
    new = file.with_name(f'.{file.name}.{os.getpid()}')
    try:
        file.parent.mkdir(exist_ok=True)
        with new.open('wb') as stream:
            checksum = 0
            stream.write(bytes(HEADER_BYTES))
            for (_, _, _, at), array in zip(entries, arrays.values(), strict=True):
                padding = bytes(at - stream.tell())
                checksum = zlib.crc32(padding, checksum)
                stream.write(padding)
                data: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                checksum = zlib.crc32(data, checksum)
                stream.write(data)
            checksum = zlib.crc32(json.dumps(header).encode(), checksum)
            told = json.dumps(header | {'checksum': checksum}).encode()
            if len(told) > HEADER_BYTES:
                raise OSError(f'{len(arrays)} arrays are too many for one file')
            stream.seek(0)
            stream.write(told.ljust(HEADER_BYTES))
        new.replace(file)
    except OSError as error:
        logger.warning('what is kept beside the database is not saved: %s', error)
        with suppress(OSError):
            new.unlink(missing_ok=True)


def read_cache(file: Path, contents: str) -> tuple[Mark, Arrays] | None:
    """Return the mark and the arrays of a file, which are read as they are used: copy what stays.

    Whoever kept them would lose them, and with them the process, when the file is cut short.
    None where there is no file, or, with the reason in the log, none that can be used.
    """
    try:
        mapped: Any = np.asarray(np.memmap(file, np.uint8, mode='c'))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # ValueError: an empty file
        logger.warning('%s cannot be used and is made anew: %s', file, error)
        return None
    try:
        return _checked(mapped, contents)
    except (ValueError, KeyError, TypeError) as error:
        logger.warning('%s cannot be used and is made anew: %s', file, error)
        return None


def _checked(mapped: Any, contents: str) -> tuple[Mark, Arrays]:
    """Return what the bytes of a file hold. Raises ValueError, KeyError or TypeError."""
    header = json.loads(bytes(mapped[:HEADER_BYTES]))
    if header['layout'] != LAYOUT or header['contents'] != contents:
        raise ValueError(f'it holds {header["layout"]}, {header["contents"]}')
    checksum = header.pop('checksum')
    if len(mapped) != header['size'] or checksum != zlib.crc32(
            json.dumps(header).encode(), zlib.crc32(mapped[HEADER_BYTES:])):
        raise ValueError('it is damaged')
    arrays: Arrays = {}
    for name, kind, shape, at in header['arrays']:
        dtype = np.dtype(kind)
        count = int(np.prod(shape))
        arrays[name] = mapped[at:at + count * dtype.itemsize].view(dtype).reshape(shape)
    return Mark(*header['mark']), arrays
