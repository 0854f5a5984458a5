"""The rows that are to go, by kind, as a temporary table of the transaction that drops them.

So a statement names millions of them at once, and this process holds none. It holds ids alone, no
words; it is dropped at the end of the transaction that made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    MetaData,
    Select,
    String,
    Table,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.orm import Session

LOT = 500
_TABLE = Table(
    'going', MetaData(), Column('kind', String, primary_key=True),
    Column('ref_id', BigInteger, primary_key=True, autoincrement=False), prefixes=['TEMPORARY'])


class Going:
    """The ids that go, see `going`. A kind is one of `schema.KINDS`, or a name of the caller's."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, kind: str, ids: Iterable[int]) -> None:
        """Add ids of a kind; those that are there stay."""
        wanted = sorted(set(ids))
        for start in range(0, len(wanted), LOT):
            part = wanted[start:start + LOT]
            known = self.among(kind, part)
            if fresh := [{'kind': kind, 'ref_id': key} for key in part if key not in known]:
                self._session.execute(insert(_TABLE), fresh)

    def add_from(self, kind: str, query: Select[Any]) -> None:
        """Add what a query returns, one column of ids."""
        found = query.distinct().subquery()
        key = found.c[0]
        self._session.execute(insert(_TABLE).from_select(['kind', 'ref_id'], select(
            literal(kind), key).where(key.is_not(None), key.not_in(self.ids(kind)))))

    def keep(self, kind: str, query: Select[Any]) -> None:
        """Leave of a kind what a query returns, and take out the rest."""
        self._session.execute(delete(_TABLE).where(
            _TABLE.c.kind == kind, _TABLE.c.ref_id.not_in(query)))

    def take_out(self, kind: str) -> None:
        """Take all ids of a kind out again."""
        self._session.execute(delete(_TABLE).where(_TABLE.c.kind == kind))

    def without(self, kind: str, other: str) -> None:
        """Take out of a kind the ids that go as another."""
        self._session.execute(delete(_TABLE).where(
            _TABLE.c.kind == kind, _TABLE.c.ref_id.in_(self.ids(other))))

    def ids(self, kind: str) -> Select[tuple[int]]:
        """Return the query of the ids of a kind, for conditions."""
        table = _TABLE.alias()  # or SQLAlchemy takes it for that of the statement around it
        return select(table.c.ref_id).where(table.c.kind == kind)

    def has(self, kind: str, column: Any) -> ColumnElement[bool]:
        """Return the condition that the id in a column goes: for statements that run many times.

        For `ids` the database lists all that go each time, which is quicker only for many rows.
        """
        table = _TABLE.alias()
        return exists().where(table.c.kind == kind, table.c.ref_id == column)

    def count(self, kind: str) -> int:
        """Return how many ids of a kind go."""
        return int(self._session.scalar(
            select(func.count()).select_from(_TABLE).where(_TABLE.c.kind == kind)) or 0)

    def among(self, kind: str, ids: Iterable[int]) -> set[int]:
        """Return those of some ids of a kind that go."""
        wanted, key, found = sorted(set(ids)), _TABLE.c.ref_id, set[int]()
        for start in range(0, len(wanted), LOT):
            found.update(self._session.scalars(select(key).where(
                _TABLE.c.kind == kind, key.in_(wanted[start:start + LOT]))))
        return found

    def lots(self, kind: str, size: int = LOT) -> Iterator[list[int]]:
        """Yield the ids of a kind in rising order, some at a time."""
        last, key = -1, _TABLE.c.ref_id
        while part := list(self._session.scalars(select(key).where(
                _TABLE.c.kind == kind, key > last).order_by(key).limit(size))):
            yield part
            last = part[-1]


@contextmanager
def going(session: Session) -> Iterator[Going]:
    """Yield an empty set of ids that go, for this transaction."""
    connection = session.connection()
    _TABLE.create(connection, checkfirst=False)
    # Where an error ends the transaction the table goes with it.
    yield Going(session)
    session.flush()
    _TABLE.drop(connection, checkfirst=False)
