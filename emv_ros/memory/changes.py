"""The journal of changes: what came, changed or went since a reader last looked.

Triggers of the database write it within the transaction of each change, whoever makes it. It is
pruned, so that a reader that was away for long has to read everything anew; `since` tells.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the journal; the token tells it from the same place of another memory.

    No journal holds the default.
    """

    id: int = 0
    token: int = 0


_ROW = schema.ChangeRow
# Made once: every search asks several times.
_SINCE = (select(_ROW.id, _ROW.token, _ROW.kind, _ROW.ref_id)
          .where(_ROW.id >= bindparam('mark')).order_by(_ROW.id))


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
    # One statement: where each sees the latest, another could see more.
    rows = session.execute(_SINCE, {'mark': mark.id}).all()
    if not rows or (rows[0].id, rows[0].token) != (mark.id, mark.token):
        return None
    return ({(kind, ref_id) for _, _, kind, ref_id in rows[1:]},
            Mark(rows[-1].id, rows[-1].token))
