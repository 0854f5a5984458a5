"""How large a memory is: the pages of its database that are in use, and the files of pictures.

The files are summed up by what their rows say, which costs by what is new: all rows are read only
now and then. A database on a server counts as nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, exists, func, select
from sqlalchemy.orm import Session, aliased

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.store import MemoryStore

KEY = 'memory:bytes'
# After so many new pictures all are read again.
AGAIN = 10_000


def used_bytes(store: MemoryStore) -> int:
    """Return the bytes that a memory uses; not those of free pages, which are used again."""
    with store.reading() as session:
        known = session.get(schema.StateRow, KEY)
        value = dict(known.value) if known else None
        database = database_bytes(session)
        pictures, value = _picture_bytes(session, value)
    if not store.is_read_only:
        store.set_state(KEY, value)
    return database + pictures


def take_off(session: Session, image_ids: Sequence[int]) -> int:
    """Note, in the caller's transaction, that pictures went; return the bytes of files that go.

    Their rows say already that they are gone. A file that another picture needs stays.
    """
    row, other = schema.ImageRow, aliased(schema.ImageRow)
    each = select(func.max(row.size_bytes).label('size')).where(
        among(row.id, image_ids), ~exists().where(
            other.sha256 == row.sha256, other.gone == '')).group_by(row.sha256).subquery()
    freed = int(session.scalar(select(func.sum(each.c.size))) or 0)
    known = session.get(schema.StateRow, KEY, with_for_update=True)
    if known is not None:
        session.merge(schema.StateRow(key=KEY, value={
            **known.value, 'bytes': max(0, known.value['bytes'] - freed)}))
    return freed


def read_anew(session: Session) -> None:
    """Have all pictures read again, in the caller's transaction that changed them otherwise."""
    session.execute(delete(schema.StateRow).where(schema.StateRow.key == KEY))


def database_bytes(session: Session) -> int:
    """Return the bytes of the pages in use of an SQLite database, 0 for others."""
    if session.get_bind().dialect.name != 'sqlite':
        return 0
    pages, free, size = (int(session.connection().exec_driver_sql(f'PRAGMA {name}').scalar() or 0)
                         for name in ('page_count', 'freelist_count', 'page_size'))
    return (pages - free) * size


def _picture_bytes(session: Session,
                   known: dict[str, int] | None) -> tuple[int, dict[str, int]]:
    row = schema.ImageRow
    highest = int(session.scalar(select(func.max(row.id))) or 0)
    if known is None or highest - known['read'] >= AGAIN:
        each = select(func.max(row.size_bytes).label('size')).where(row.gone == '').group_by(
            row.sha256).subquery()
        total = int(session.scalar(select(func.sum(each.c.size))) or 0)
        return total, {'read': highest, 'upto': highest, 'bytes': total}
    other = aliased(row)
    each = select(func.max(row.size_bytes).label('size')).where(
        row.id > known['upto'], row.gone == '', ~exists().where(
            other.sha256 == row.sha256, other.gone == '', other.id <= known['upto'])).group_by(
        row.sha256).subquery()
    total = known['bytes'] + int(session.scalar(select(func.sum(each.c.size))) or 0)
    return total, known | {'upto': highest, 'bytes': total}
