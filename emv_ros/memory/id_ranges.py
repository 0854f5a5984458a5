"""Ranges of ids that an import sets aside before its first row.

A record of a file then has the same new id however often the import is cut off and goes on, and
nobody else is ever given one of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.memory.export_format import BY_NAME

_SEQUENCE = sa.table('sqlite_sequence', sa.column('name'), sa.column('seq'))


def set_aside(session: Session, highest: Mapping[str, int]) -> dict[str, int]:
    """Return, of kinds, the number to add to the ids 1..highest, in a write transaction."""
    of_sqlite = session.get_bind().dialect.name == 'sqlite'
    give = _of_sqlite if of_sqlite else _of_server
    return {kind: give(session, BY_NAME[kind].row.__table__, count)
            for kind, count in highest.items()}


def _of_sqlite(session: Session, table: sa.Table, count: int) -> int:
    its = _SEQUENCE.c.name == table.name
    given = session.scalar(select(_SEQUENCE.c.seq).where(its))
    base = max(given or 0, session.scalar(select(func.max(table.c.id))) or 0)
    if given is None:
        session.execute(_SEQUENCE.insert().values(name=table.name, seq=base + count))
    else:
        session.execute(_SEQUENCE.update().where(its).values(seq=base + count))
    return base


def _of_server(session: Session, table: sa.Table, count: int) -> int:
    # Whoever inserts meanwhile waits, and takes its number afterwards.
    session.execute(sa.text(f'LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE'))
    name = session.scalar(select(func.pg_get_serial_sequence(table.name, 'id')))
    last, is_given = session.execute(sa.text(f'SELECT last_value, is_called FROM {name}')).one()
    base = int(last) if is_given else int(last) - 1
    session.execute(select(func.setval(name, base + count)))
    return base
