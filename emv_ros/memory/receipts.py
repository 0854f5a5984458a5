"""Which batch each writer committed last, so that none is stored twice.

The connection to a server can be lost between a COMMIT and its answer. Whoever tries again then
finds the number of the batch in a row of `state` that the batch's own transaction wrote; it waits
for the write lock first, by when the lost transaction is over. SQLite always answers, and has none
of these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from emv_ros.memory.schema import StateRow

PREFIX = 'receipt:'
# Rows of processes that were killed are dropped after so long, by the server's clock.
KEPT_S = 30 * 86_400


@dataclass(frozen=True, slots=True)
class Receipt:
    """The batch of a writer: its number, and a name that no other writer has."""

    number: int = 0
    key: str = field(default_factory=lambda: f'{PREFIX}{uuid4().hex}')

    def next(self) -> Receipt:
        """Return the receipt of the writer's next batch."""
        return replace(self, number=self.number + 1)


def sessions_of(session: Session, receipt: Receipt) -> dict[int, int] | None:
    """Return {robot id: session id} that a batch began; None where it is not stored."""
    if _answers(session):
        return None
    row = session.get(StateRow, receipt.key)
    if row is None or row.value['number'] != receipt.number:
        return None
    return dict(row.value['sessions'])


def sign(session: Session, receipt: Receipt, sessions: Mapping[int, int]) -> None:
    """Note in a batch's transaction that it is stored, and what sessions it began."""
    if _answers(session):
        return
    now_s = int(session.scalar(select(func.extract('epoch', func.now()))) or 0)
    row = session.get(StateRow, receipt.key)
    if row is None:
        _drop_old(session, now_s)
        row = StateRow(key=receipt.key)
        session.add(row)
    row.value = {'number': receipt.number, 'sessions': list(map(list, sessions.items())),
                 'time_s': now_s}


def drop(session: Session, receipt: Receipt) -> None:
    """Drop the row of a writer that ends."""
    session.execute(delete(StateRow).where(StateRow.key == receipt.key))


def _drop_old(session: Session, now_s: int) -> None:
    for row in session.scalars(select(StateRow).where(
            StateRow.key.startswith(PREFIX, autoescape=True))):
        if row.value['time_s'] < now_s - KEPT_S:
            session.delete(row)


def _answers(session: Session) -> bool:
    return session.get_bind().dialect.name == 'sqlite'
