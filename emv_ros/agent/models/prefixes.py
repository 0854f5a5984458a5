"""Computed beginnings of prompts, kept on disk, so that a new process need not compute them again.

A fixed prefix of 600 tokens costs 20 s on one core, and milliseconds to read back. Only text that
the program itself brings is kept, never anything recorded: the caller says how many messages are
such. The newest few files stay.
"""

from __future__ import annotations

from collections.abc import Callable
import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from emv_ros.errors import ModelError

FOLDER = 'prefixes'
KEPT = 4
_ENDING = '.kv'

logger = logging.getLogger(__name__)


class Prefixes:
    """The prefixes of one loaded model.

    `fingerprint` names everything that makes a stored state valid: weights, context, version of
    llama.cpp. `slot` sends an order for the model's state: ('save' or 'restore', file name).
    """

    def __init__(self, folder: Path, fingerprint: str, slot: Callable[[str, str], None]) -> None:
        self._folder = folder
        self._fingerprint = fingerprint
        self._slot = slot
        self._ready: set[str] = set()

    def prepare(self, messages: list[Any], compute: Callable[[], object]) -> None:
        """Have the model hold these first messages: read back, or computed by `compute` and kept.

        Once a process for each prefix; after that the model's own cache has it. A file that cannot
        be written or read costs time, nothing else.
        """
        text = json.dumps([self._fingerprint, messages], sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:32] + _ENDING
        if name in self._ready:
            return
        if not self._restored(name):
            compute()
            self._keep(name)
        self._ready.add(name)

    def _restored(self, name: str) -> bool:
        path = self._folder / name
        if not path.is_file():
            return False
        try:
            self._slot('restore', name)
            os.utime(path)
        except (ModelError, OSError) as error:
            logger.warning('%s cannot be read back and is made anew: %s', path, error)
            path.unlink(missing_ok=True)
            return False
        return True

    def _keep(self, name: str) -> None:
        fresh = f'{name}.{os.getpid()}'
        try:
            self._slot('save', fresh)
            (self._folder / fresh).replace(self._folder / name)
            self._drop_oldest()
        except (ModelError, OSError) as error:
            logger.warning('the computed prompt is not kept in %s: %s', self._folder, error)
            (self._folder / fresh).unlink(missing_ok=True)

    def _drop_oldest(self) -> None:
        files = sorted(self._folder.glob(f'*{_ENDING}*'), key=lambda path: path.stat().st_mtime)
        for path in files[:-KEPT]:
            path.unlink(missing_ok=True)


def writable(folder: Path) -> bool:
    """Whether states can be kept in this folder, made here where it is absent."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
