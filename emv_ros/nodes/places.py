"""One recorder of a name per memory and robot: two of them would store everything twice.

The lock is the kernel's, on a file in the memory's folder; it falls with its process, however that
ends. Recorders that differ in name, robot or memory go side by side.
"""

from __future__ import annotations

import fcntl
import logging
import os
from pathlib import Path
from typing import IO
from urllib.parse import quote

from emv_ros.errors import StoreBusyError
from emv_ros.memory.database import disk_error

log = logging.getLogger(__name__)

MAX_NAME_CHARS = 200


def take_place(folder: Path, node: str, robot: str) -> IO[str]:
    """Return the open file that holds the place of a node; closing it gives the place back.

    Raises StoreBusyError where another process holds it, StoreError where nothing can be written.
    """
    name = quote(f'{node.strip("/")}@{robot}', safe='@')[:MAX_NAME_CHARS]
    try:
        file = (folder / f'.{name}.lock').open('a+', encoding='utf-8')
    except OSError as error:
        raise disk_error(f"cannot write in the memory's folder {folder}", error) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.seek(0)
        holder = file.read().strip() or 'unknown'
        file.close()
        raise StoreBusyError(
            f'another {node} (process {holder}) records {robot!r} into {folder}, and two would '
            'store everything twice: end it, or give this one another memory, robot or '
            'node name') from error
    except OSError as error:  # a network share without locks
        log.warning('whether another %s records into %s is not known: %s', node, folder, error)
        return file
    file.truncate(0)
    file.write(f'{os.getpid()}\n')
    file.flush()
    return file
