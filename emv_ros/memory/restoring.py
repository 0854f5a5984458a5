"""Import of an export: the same memory, under other ids.

The export is checked whole, ids are set aside for all of it, then its lines come in a lot at a
time, each with the note of how far the import came: one that is cut off goes on from there, and
doubles nothing. A robot of whom the memory already holds records is refused, since two trees of
one life cannot be joined; under another name it is another robot. Searchable texts are made anew;
vectors are not in an export, and are made by whoever searches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import hashlib
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from emv_ros.errors import ImportFileError, RecordError, StoreValueError
from emv_ros.memory import schema
from emv_ros.memory.adding import DOCUMENTED, renew_documents
from emv_ros.memory.among import among
from emv_ros.memory.export_format import BY_NAME, KINDS, PICTURES
from emv_ros.memory.export_parts import insert_all
from emv_ros.memory.export_reader import Checked, Lot, Reader, lines_of
from emv_ros.memory.gone_pictures import DAMAGED, MISSING
from emv_ros.memory.id_ranges import set_aside
from emv_ros.memory.imports import note_of, put_note
from emv_ros.memory.node_heads import key_of, value_of
from emv_ros.memory.pictures import PictureFolder
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.taking_back import take_back

LOT = 500
MAX_TOLD = 200


@dataclass
class RestoreReport:
    """What came in: lines by type, the robots by their names here, and pictures that are lost."""

    path: Path
    lines: Counter[str]
    robots: list[str]
    went_on: bool = False  # an import that was cut off before
    lost: list[str] = field(default_factory=list)
    lost_count: int = 0


def restore(store: MemoryStore, checked: Checked, sha256: str, now_ns: int, robot: str = '',
            before_lot: Callable[[], None] = lambda: None,
            progress: Callable[[int, int], None] = lambda done, total: None,
            ) -> RestoreReport | dict[str, Any]:
    """Bring an export into a memory, or return the note of an import of it that is done.

    `robot` is another name for its only robot. Whoever consolidates must be kept from it
    meanwhile; `before_lot` is called before each transaction, and may raise to stop there. Raises
    ImportFileError, and then nothing of the export is left; after another error the import can
    go on where it stopped.
    """
    with store.writing() as session:
        note = note_of(session, robot, sha256)
        went_on = note is not None
        if note is not None and note['is_done']:
            return note
        if note is None:
            note = _begin(store, session, checked, now_ns, robot)
            put_note(session, robot, sha256, note)
    report = RestoreReport(checked.file, checked.lines, sorted(note['export']['names'].values()),
                           went_on)
    work = _Restoring(store, checked.file, note['export'], report)
    try:
        for lot, offset in work.lots():
            before_lot()
            work.keep_pictures(lot)
            with store.writing() as session:
                found = note_of(session, robot, sha256)
                if found is None or found['export']['offset'] != note['export']['offset']:
                    raise ImportFileError(f'another process imports {checked.file}')
                keys = [*note['export']['keys'], *work.insert(session, lot)]
                note = note | {'export': note['export'] | {'offset': offset, 'keys': keys}}
                put_note(session, robot, sha256, note)
            progress(offset, checked.size_bytes)
    except (RecordError, StoreValueError) as error:
        take_back(store, robot, sha256)
        raise ImportFileError(f'the export {checked.file} cannot be stored: {error}') from error
    with store.writing() as session:
        put_note(session, robot, sha256, note | {
            'is_done': True, 'records': checked.lines.total(), 'export': {}})
    return report


def _begin(store: MemoryStore, session: Session, checked: Checked, now_ns: int,
           robot: str) -> dict[str, Any]:
    """Return the note of a new import; its robots and its ids are set aside."""
    if robot and len(checked.robots) != 1:
        raise ImportFileError(f'{checked.file} holds {len(checked.robots)} robots '
                              f'({", ".join(checked.robots)}): no one name can be given to them')
    names = {name: robot or name for name in checked.robots}
    known = store.robot_ids(session, names.values()) if names else {}
    row = schema.SessionRow
    for key, name in known.items():
        if session.scalar(select(func.count()).select_from(row).where(row.robot_id == key)):
            raise ImportFileError(
                f'the memory already holds records of the robot {name!r}, with whom those of '
                f'{checked.file} cannot be joined: name another memory, or --robot')
    made = [name for name in names.values() if name not in known.values()]
    return {'path': str(checked.file), 'stamp_ns': now_ns, 'is_done': False, 'records': 0,
            'export': {
                'offset': 0, 'keys': [], 'names': names, 'made': made,
                'robots': {name: store.robot_id(session, there) for name, there in names.items()},
                'highest': checked.highest, 'bases': set_aside(session, checked.highest)}}


class _Restoring:
    """The work of one import, from where its note says."""

    def __init__(self, store: MemoryStore, file: Path, note: Mapping[str, Any],
                 report: RestoreReport) -> None:
        self._pictures = store.pictures
        self._from = PictureFolder(file.parent / PICTURES)
        self._file = file
        self._offset = int(note['offset'])
        self._report = report
        bases = note['bases']
        self._reader = Reader(note['robots'], note['names'],
                              lambda kind, ref_id: bases[kind] + ref_id)

    def lots(self) -> Any:
        """Yield lots with the offset at which each ends."""
        lot, count, after = Lot(), 0, self._offset
        for _, after, line in lines_of(self._file, self._offset):
            self._reader.take(line, lot)
            count += 1
            if count == LOT:
                yield lot, after
                lot, count = Lot(), 0
        if count:
            yield lot, after

    def keep_pictures(self, lot: Lot) -> None:
        """Store the pictures of a lot, before their rows; tell which are lost, also in these."""
        for image in lot.images:
            if image['gone']:
                continue
            file = self._from.path(image['sha256'], image['media_type'])
            try:
                data = file.read_bytes()
                if hashlib.sha256(data).hexdigest() != image['sha256']:
                    raise ImportFileError('its bytes do not fit its name')
            except (OSError, ImportFileError) as error:
                self._report.lost_count += 1
                if len(self._report.lost) < MAX_TOLD:
                    reason = getattr(error, 'strerror', None) or error
                    self._report.lost.append(f'{file}: {reason}')
                image['gone'] = DAMAGED if isinstance(error, ImportFileError) else MISSING
                continue
            self._pictures.write(data, image['media_type'])

    def insert(self, session: Session, lot: Lot) -> list[str]:
        """Insert a lot and return the keys of the states that came with it."""
        insert_all(session, lot.rows)
        if lot.merges:
            session.execute(update(schema.EntityRow), lot.merges)
        for kind in KINDS:
            if kind.name in DOCUMENTED:
                ids = [values['id'] for row, values in lot.rows if row is kind.row]
                renew_documents(session, kind.name, list(session.scalars(
                    select(kind.row).where(among(kind.row.id, ids)))) if ids else [])
        keys = [self._put_head(session, *head) for head in lot.heads]
        for key, value, is_own in lot.states:
            # What is of no one robot may be known here already, perhaps by a person.
            if is_own or session.get(schema.StateRow, key) is None:
                session.merge(schema.StateRow(key=key, value=value))
                keys.append(key)
        return keys

    def _put_head(self, session: Session, node_id: int, text: str, children: list[int]) -> str:
        row = BY_NAME['node'].row
        told = {child.id: child.summary for child in session.execute(
            select(row.id, row.summary).where(among(row.id, children)))}
        session.merge(schema.StateRow(key=key_of(node_id), value=value_of(
            text, ((child, told.get(child, '')) for child in children))))
        return key_of(node_id)
