"""A memory mended as a whole: its file, its rows and pictures, its tree, what is kept beside it.

The one function for all who mend. It reaches into every part that keeps something in the memory,
and asks each of them to put its own in order; the order matters, since rows come before what is
derived from them. What can be done again without loss (caches, leases, an unfinished forgetting)
is done; what is lost is told by kind, number and time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
import time

from emv_ros.errors import StoreError
from emv_ros.memory.clearing import CACHES, alone, clear, clear_caches, is_noted
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.memory.imports import cut_off
from emv_ros.memory.picture_repair import clear_strays, mend_pictures
from emv_ros.memory.repair import Repair, drop_copy, remove_copy, repair_file
from emv_ros.memory.row_repair import mend_rows, mend_text_index
from emv_ros.memory.salvage import UNKNOWN, Lost
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ID_LETTERS
from emv_ros.settings import Settings
from emv_ros.timeline import format_stamp
from emv_ros.tree.lease import drop_left
from emv_ros.tree.mending import mend_trees


@dataclass
class MemoryRepair:
    """What was done, in words, and the copy that was made before; None where nothing had to be."""

    copy: Path | None
    mended: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lost_rows: list[Lost] = field(default_factory=list)


def repair_memory(folder: Path, settings: Settings) -> MemoryRepair:
    """Mend the SQLite memory in a folder. Nobody else may have it open.

    Raises StoreError where there is none, where somebody has it open, or where nothing can be
    read of its file; SchemaError for one of a newer version.
    """
    begun_s = time.time()
    done = repair_file(folder / DATABASE_FILE)
    try:
        store = MemoryStore.open(settings.memory, folder)
    except StoreError:
        drop_copy(done)
        raise
    with store:
        result = _mended(store, settings, done, begun_s)
    if result.copy is not None and not result.mended and not result.lost:
        remove_copy(result.copy)
        result.copy = None
    return result


def _mended(store: MemoryStore, settings: Settings, done: Repair,
            begun_s: float) -> MemoryRepair:
    result = MemoryRepair(done.copy, [*done.mended], [*done.lost_words], lost_rows=done.lost)
    result.lost += [told_lost(lost) for lost in done.lost]
    result.mended += mend_rows(store)
    result.mended += mend_text_index(store)
    result.mended += mend_trees(store, settings.tree)
    if drop_left(store):
        result.mended.append('the lease of a consolidation that was killed is dropped')
    if is_noted(store):
        with alone(store.folder):
            note = clear(store)
        result.mended.append('a forgetting that was cut off is done' + (f', but {note}' if note
                                                                       else ''))
        if result.copy is not None and not result.copy.exists():
            result.copy = None
            result.notes.append('no copy is kept: it held what was forgotten')
    mended, lost = mend_pictures(store)
    result.mended += mended
    result.lost += lost
    mended, notes = clear_strays(store, done.is_file_damaged, begun_s)
    result.mended += mended
    result.notes += notes
    if any((store.folder / CACHES).glob('*')):
        clear_caches(store.folder)
        result.notes.append('what search keeps beside the database is made anew when it is needed')
    with store.reading() as session:
        result.notes += [f'the import of {note["path"]} was cut off: `emv import` of it goes on, '
                         '`emv import --undo` takes back what came in'
                         for note in cut_off(session).values()]
    if done.is_file_damaged:
        result.notes.append('`emv consolidate` makes anew what follows from the records that are '
                            'left')
    return result


def told_lost(lost: Lost) -> str:
    """Return in words which rows are lost, between which times."""
    letter = ID_LETTERS.get(lost.table, '')
    kind = lost.table.replace('_', ' ')
    if lost.last >= UNKNOWN:
        what = f'{kind}: all rows from {letter}{lost.first} on'
    elif lost.count == 1:
        what = f'{kind}: {letter}{lost.first}'
    else:
        what = (f'{kind}: {letter}{lost.first} to {letter}{lost.last} '
                f'({lost.count:,} rows at most)')
    times = [f'{word} {format_stamp(stamp_ns)}' for word, stamp_ns in (
        ('after', lost.after_ns), ('before', lost.before_ns)) if stamp_ns is not None]
    return f'{what}, {" and ".join(times)}' if times else what
