"""Memories that faults are tried on: made once, and copied for each repetition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
import shutil
import tempfile

from sqlalchemy import select

from emv_ros.evaluation.faults.clip_parts import clip_of
from emv_ros.evaluation.faults.life import BEGIN_NS, record_of
from emv_ros.evaluation.faults.old_file import make_old
from emv_ros.evaluation.faults.workers import open_store
from emv_ros.memory import schema
from emv_ros.memory.clip_writer import write_clip
from emv_ros.memory.exporting import export_memory
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, Record
from emv_ros.settings import Settings
from emv_ros.tree.consolidate import consolidate

# Records that are consolidated, and those that wait.
DONE, WAITING = 250, 150
CLIPS = 30
# Rows of each kind in a memory of an earlier version.
OLD_ROWS = 400


@dataclass
class Prepared:
    """Memories below a folder of the bench, each made when it is first asked for."""

    root: Path

    @cached_property
    def filled(self) -> Path:
        """A memory with DONE records in a tree, WAITING more, and CLIPS clips."""
        folder = self.root / 'filled'
        if folder.exists():
            return folder
        with open_store(folder) as store:
            add(store, range(DONE))
            for number in range(CLIPS):
                parts = clip_of(store, number)
                assert parts is not None
                write_clip(store, parts)
            consolidate(store, Settings())
            add(store, range(DONE, DONE + WAITING))
        return folder

    @cached_property
    def export(self) -> Path:
        """An export of the filled memory."""
        with open_store(self.filled) as store:
            export_memory(store, self.root / 'exported' / 'export', now_ns=BEGIN_NS)
        return self.root / 'exported' / 'export'

    @cached_property
    def observations(self) -> dict[int, str]:
        """The ids and names of the observations of the filled memory."""
        row = schema.ObservationRow
        with open_store(self.filled) as store, store.reading() as session:
            return {int(key): str(name) for key, name in session.execute(
                select(row.id, row.name).order_by(row.id))}

    def old(self, version: str) -> Path:
        """Return a memory of an earlier version."""
        folder = self.root / f'old_{version}'
        if not folder.exists():
            make_old(folder, version, OLD_ROWS)
        return folder

    @contextmanager
    def copy(self, folder: Path | None) -> Iterator[Path]:
        """Yield a copy of a memory, or the name of a new one, that goes at the end."""
        with tempfile.TemporaryDirectory(dir=self.root) as name:
            copy = Path(name) / 'memory'
            if folder is not None:
                shutil.copytree(folder, copy)
            yield copy


def add(store: MemoryStore, numbers: Iterable[int]) -> None:
    """Store records of the life at once."""
    records: list[Record] = []
    for number in numbers:
        record, data = record_of(number)
        if data is not None and isinstance(record, ImageRecord):
            record = store.keep_picture(data, record)
        records.append(record)
    store.add_many(records)
