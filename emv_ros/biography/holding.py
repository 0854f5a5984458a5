"""What entities hold, also while a rebuild goes on that took them apart; it changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among

# In `state`, for each robot: what its entities held before a rebuild that is not finished.
NOTE = 'rebuild:'


def noted(session: Session) -> dict[int, list[int]]:
    """Return the observations of entities as they were before a rebuild that still goes on."""
    row = schema.StateRow
    return {int(key): list(ids) for note in session.scalars(
        select(row).where(row.key.startswith(NOTE, autoescape=True)))
        for key, ids in note.value['entities'].items()}


def held(session: Session, entity_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return the observations of entities in order of time; what a rebuild took from them, too."""
    row, before = schema.ObservationRow, noted(session)
    of = {key: entity_id for entity_id in entity_ids for key in before.get(entity_id, ())}
    found: dict[int, list[int]] = {key: [] for key in entity_ids}
    for condition in (among(row.entity_id, list(entity_ids)), among(row.id, list(of))):
        for key, entity_id in session.execute(
                select(row.id, row.entity_id).where(condition).order_by(row.stamp_ns, row.id)):
            for holder in {entity_id, of.get(key)}:
                if holder in found and key not in found[holder]:
                    found[holder].append(key)
    return found
