"""What a forgetting leaves to be done after its commit, in a note, so that a crash leaves it too.

Files of pictures are deleted, what search keeps beside the database goes, and the file is written
anew. Whoever forgets does it at once; where that was cut off, or something was in the way, the next
that opens the memory for writing, the next consolidation or the next forgetting does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
import fcntl
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from emv_ros.errors import StoreBusyError, StoreError
from emv_ros.memory import schema
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.memory.gone_pictures import is_needed

if TYPE_CHECKING:
    from emv_ros.memory.store import MemoryStore

log = logging.getLogger(__name__)

# In `state`: the files to delete, some in each row, and whether the database is to be written anew.
FILES, REWRITE = 'forgetting:files', 'forgetting:rewrite'
LOT = 1000
# In `state`: how often something was forgotten.
TIMES = 'forgotten'
# What search keeps beside the database, in the memory's folder.
CACHES = 'cache'
# How the names of copies go on that `emv doctor --repair` keeps.
COPIES = '.before-repair-'
LOCK = '.forgetting.lock'
IN_THE_WAY = ('the database file or its write-ahead log may still hold bytes of what was '
              'forgotten: somebody reads in it, the disk is too full to write it anew, or it is on '
              'a server and this user does not own it')


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the right to forget in a memory, which one holds at a time.

    Raises StoreBusyError where another forgetting is under way, in whatever process; StoreError.
    """
    try:
        file = (folder / LOCK).open('w')
    except OSError as error:
        raise StoreError(f"cannot write in the memory's folder {folder}: {error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreBusyError(f'another forgetting is under way in {folder}') from error
        yield


def note_files(session: Session, files: Iterable[tuple[str, str]]) -> None:
    """Note files (SHA-256, media type) to be deleted after the commit, where no row needs them."""
    row = schema.StateRow
    known = session.scalars(select(row.key).where(row.key.startswith(FILES, autoescape=True)))
    place = 1 + max((int(key.rpartition(':')[2]) for key in known if key != FILES), default=0)
    part: list[list[str]] = []
    for file in files:
        part.append(list(file))
        if len(part) == LOT:
            session.merge(row(key=f'{FILES}:{place}', value={'files': part}))
            place, part = place + 1, []
    if part:
        session.merge(row(key=f'{FILES}:{place}', value={'files': part}))
    session.flush()


def note_rewrite(session: Session) -> None:
    """Note that caches are to be removed and the database is to be written anew."""
    session.merge(schema.StateRow(key=TIMES, value={'times': times_forgotten(session) + 1}))
    session.merge(schema.StateRow(key=REWRITE, value={}))


def times_forgotten(session: Session) -> int:
    """Return how often something was forgotten.

    Whoever read records, and writes what was made of them much later, compares it: what they said
    may have to stay away.
    """
    value: dict[str, int] | None = session.scalar(
        select(schema.StateRow.value).where(schema.StateRow.key == TIMES))
    return value['times'] if value else 0


def clear_files(store: MemoryStore) -> int:
    """Delete the files that are noted and that no row needs; return how many. Raises StoreError."""
    row = schema.StateRow
    with store.reading() as session:
        keys = session.scalars(select(row.key).where(
            row.key.startswith(FILES, autoescape=True)).order_by(row.key)).all()
    gone = 0
    for key in keys:
        with store.writing() as session:
            note = session.get(row, key)
            for sha256, media_type in note.value['files'] if note else ():
                if not is_needed(session, sha256, media_type):
                    store.pictures.delete(sha256, media_type)
                    gone += 1
            if note is not None:
                session.delete(note)
    return gone


def clear_caches(folder: Path) -> None:
    """Remove all that search keeps beside the database: it holds no text, but is made of texts."""
    for file in (folder / CACHES).glob('*'):
        if not file.is_dir():  # which search did not make
            file.unlink(missing_ok=True)


def clear_copies(folder: Path) -> None:
    """Remove the copies of the database that were kept before it was mended: they hold it all."""
    for file in folder.glob(f'{DATABASE_FILE}{COPIES}*'):
        file.unlink(missing_ok=True)


def clear(store: MemoryStore) -> str:
    """Do what is noted, while `alone`; return in words what could not be done, '' if nothing.

    Raises StoreError where a file cannot be deleted; the rest is done all the same.
    """
    if not is_noted(store):
        return ''
    try:
        clear_files(store)
    finally:
        done = _rewrite(store)
    return '' if done else IN_THE_WAY


def _rewrite(store: MemoryStore) -> bool:
    with store.reading() as session:
        if session.get(schema.StateRow, REWRITE) is None:
            return True
    clear_caches(store.folder)
    clear_copies(store.folder)
    if not store.rewrite():
        return False
    clear_caches(store.folder)  # again: who read in it until now may have written what it held
    with store.writing() as session:
        session.execute(delete(schema.StateRow).where(schema.StateRow.key == REWRITE))
    store.fold_log()
    return True


def is_noted(store: MemoryStore) -> bool:
    """Whether a forgetting left something to be done."""
    row = schema.StateRow
    with store.reading() as session:
        return session.scalar(select(row.key).where(
            row.key.startswith('forgetting:', autoescape=True)).limit(1)) is not None


def clear_what_is_left(store: MemoryStore) -> None:
    """Do what a forgetting that was cut off left, unless one is under way; failures are logged."""
    try:
        if store.is_read_only or not is_noted(store):
            return
        with alone(store.folder):
            note = clear(store)
    except StoreBusyError as error:
        log.info('what a forgetting left is not cleared now: %s', error)
    except StoreError as error:
        log.warning('what was forgotten is not all cleared away: %s', error)
    else:
        if note:
            log.warning('%s', note)
