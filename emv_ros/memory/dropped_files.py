"""Pictures that retention drops: the rows say so first, then the files go.

A file is noted in the transaction that marks its rows, and deleted after it, so that a crash leaves
a note and a file too many, never a row that promises what is not there: the next run goes on from
the note. A file stays while a row needs it, and while it is so fresh that a writer may be about to
store the same picture again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.gone_pictures import RETENTION, is_needed
from emv_ros.memory.store import MemoryStore

NOTE = 'retention:files'
# A picture is stored this long before its row at most: the queue of the writer is emptied sooner.
FRESH_S = 600.0
LOT = 200

File = tuple[str, str]  # the SHA-256 and the media type of a stored picture


def drop_pictures(session: Session, ids: Collection[int]) -> list[int]:
    """Mark pictures as dropped, in the caller's transaction; return those that were there still.

    Their vectors go, and their files are noted for `clear_dropped`.
    """
    row, vector = schema.ImageRow, schema.PictureEmbeddingRow
    wanted = sorted(ids)
    there = session.execute(select(row.id, row.sha256, row.media_type).where(
        among(row.id, wanted), row.gone == '')).all()
    kept = [item.id for item in there]
    session.execute(update(row).where(among(row.id, kept)).values(gone=RETENTION)
                    .execution_options(synchronize_session=False))
    session.execute(delete(vector).where(among(vector.image_id, kept)))
    files = dict.fromkeys((item.sha256, item.media_type) for item in there)
    noted = session.get(schema.StateRow, NOTE, with_for_update=True)
    known = [tuple(file) for file in noted.value['files']] if noted else []
    _put(session, list(dict.fromkeys([*known, *files])))
    return kept


def clear_dropped(store: MemoryStore, fresh_s: float = FRESH_S) -> int:
    """Delete the noted files that no row needs; return how many. Raises StoreError.

    What cannot go yet, being fresh, stays noted.
    """
    with store.reading() as session:
        noted = session.get(schema.StateRow, NOTE)
        waiting = [tuple(file) for file in noted.value['files']] if noted else []
    removed = 0
    for start in range(0, len(waiting), LOT):
        done: set[File] = set()
        for sha256, media_type in waiting[start:start + LOT]:
            with store.reading() as session:
                needed = is_needed(session, sha256, media_type)
            if needed:
                store.pictures.put_back(sha256, media_type)
                done.add((sha256, media_type))
            elif store.pictures.discard(sha256, media_type, fresh_s):
                done.add((sha256, media_type))
                removed += 1
        if done:
            with store.writing() as session:
                now = session.get(schema.StateRow, NOTE, with_for_update=True)
                _put(session, [file for item in (now.value['files'] if now else ())
                               if (file := tuple(item)) not in done])
    return removed


def _put(session: Session, files: Sequence[Sequence[str]]) -> None:
    if files:
        session.merge(schema.StateRow(key=NOTE, value={'files': [list(file) for file in files]}))
    else:
        session.execute(delete(schema.StateRow).where(schema.StateRow.key == NOTE))
