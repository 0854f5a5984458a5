"""The journal of changes: what came, changed or went since a reader last looked.

Triggers of the database write it within the transaction of each change, whoever makes it. It is
pruned, so that a reader that was away for long has to read everything anew; `since` tells.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the journal; the token tells it from the same place of another memory.

    No journal holds the default.
    """

    id: int = 0
    token: int = 0


def mark_of(session: Session) -> Mark:
    """Return the place up to which the journal is written."""
    row = schema.ChangeRow
    found = session.execute(select(row.id, row.token).order_by(row.id.desc()).limit(1)).first()
    return Mark(found.id, found.token) if found else Mark()


def since(session: Session, mark: Mark) -> tuple[set[tuple[str, int]], Mark] | None:
    """Return the (kind, id) of all that changed after a mark, and the mark up to which that is.

    None where it is not known. Kinds are those of vertices ('node', 'clip', 'entity' and the units
    of retrieval), 'document' for a document or its vectors, and 'picture' for the vectors of one.
    """
    row = schema.ChangeRow
    if session.scalar(select(row.token).where(row.id == mark.id)) != mark.token:
        return None
    rows = session.execute(
        select(row.kind, row.ref_id, func.max(row.id)).where(row.id > mark.id)
        .group_by(row.kind, row.ref_id)).all()
    if not rows:
        return set(), mark
    # Not the end of the journal by now: where each statement sees the latest, more may be there.
    last = max(item[2] for item in rows)
    token = session.scalars(select(row.token).where(row.id == last)).one()
    return {(kind, ref_id) for kind, ref_id, _ in rows}, Mark(last, token)
