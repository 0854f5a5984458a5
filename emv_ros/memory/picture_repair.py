"""Pictures and their rows brought to agree: rows say what is missing, and files serve a row.

Reads the bytes of every picture, so it takes as long as the folder is large. A row whose file is
gone or holds other bytes is marked; one whose file came back is marked no more. Files that no row
needs are removed, unless rows were lost: then they may be all that is left of them, and stay.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from sqlalchemy import select, update

from emv_ros.errors import StoreError
from emv_ros.memory import schema
from emv_ros.memory.gone_pictures import DAMAGED, MISSING
from emv_ros.memory.store import MemoryStore

SHOWN = 5
# So many files without a row, or fewer, tell of no lost database.
FEW = 10
BLOCK = 2**20


def mend_pictures(store: MemoryStore) -> tuple[list[str], list[str]]:
    """Mark pictures by what their files are; return what was mended and what is lost, in words."""
    row = schema.ImageRow
    with store.reading() as session:
        known = session.execute(select(row.sha256, row.media_type, row.gone).where(
            row.gone.in_(('', MISSING, DAMAGED))).distinct()).all()
    changed: dict[str, list[str]] = {'': [], MISSING: [], DAMAGED: []}
    for sha256, media_type, gone in known:
        now = _state(store.pictures.path(sha256, media_type), sha256)
        if now == gone:
            continue
        with store.writing() as session:
            ids = session.scalars(update(row).where(
                row.sha256 == sha256, row.media_type == media_type, row.gone == gone).values(
                gone=now).returning(row.id)).all()
        changed[now] += [f'i{number}' for number in sorted(ids)]
    lost = [f'the files of {len(ids):,} pictures are {state}: {_some(ids)}'
            for state, ids in changed.items() if state and ids]
    back = changed['']
    return ([f'{len(back):,} pictures are back: {_some(back)}'] if back else []), lost


def clear_strays(store: MemoryStore, are_kept: bool,
                 begun_s: float) -> tuple[list[str], list[str]]:
    """Remove unfinished files, and files that no row needs unless they are kept.

    Return what was done, and what is to be known, in words. Where most files have no row they stay,
    since a database may be lost whose they were.

    Files that were written, or asked for anew, since `begun_s` (seconds since 1970) stay: whoever
    opened the memory since then is about to store their rows.
    """
    row = schema.ImageRow
    with store.reading() as session:
        needed = {store.pictures.path(sha256, media_type) for sha256, media_type in session.execute(
            select(row.sha256, row.media_type).where(
                row.gone.in_(('', MISSING, DAMAGED))).distinct())}
    partial = [path for path in store.pictures.folder.glob('??/.*') if _is_older(path, begun_s)]
    stray = [path for path in store.pictures
             if path not in needed and _is_older(path, begun_s)]
    told, notes = [], []
    if partial:
        _remove(partial)
        told.append(f'{len(partial):,} unfinished picture files removed')
    if stray and are_kept:
        told.append(f'{len(stray):,} picture files belong to no row, since rows were lost; they '
                    'stay until the memory is mended again')
    elif len(stray) > len(needed) and len(stray) > FEW:
        notes.append(f'{len(stray):,} picture files belong to no row, and {len(needed):,} to one: '
                     'they stay, since they may be of a database that is lost')
    elif stray:
        _remove(stray)
        told.append(f'{len(stray):,} picture files that no row needs removed')
    return told, notes


def _state(file: Path, sha256: str) -> str:
    digest = hashlib.sha256()
    try:
        with file.open('rb') as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
    except FileNotFoundError:
        return MISSING
    except OSError:  # of the disk itself
        return DAMAGED
    return '' if digest.hexdigest() == sha256 else DAMAGED


def _is_older(file: Path, begun_s: float) -> bool:
    try:
        return file.is_file() and file.stat().st_mtime < begun_s
    except FileNotFoundError:  # its writer gave it its name
        return False


def _remove(files: list[Path]) -> None:
    try:
        for file in files:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f'cannot remove {error.filename}: {error.strerror}') from error


def _some(ids: list[str]) -> str:
    return ', '.join(ids[:SHOWN]) + (', …' if len(ids) > SHOWN else '')
