"""Where the stays that still go on lie in `state`: names and places of things, by their instance.

Whoever forgets observations drops their stays here; they begin anew with what is seen next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy.orm import Session

from emv_ros.memory import schema

# In a stay as it is packed: the id of its observation.
ROW_ID = 3


def key_of(robot_id: int) -> str:
    """Return the key of a robot's stays."""
    return f'symbolic:{robot_id}'


def drop_stays(session: Session, robot_id: int, observation_ids: Collection[int],
               is_told_by: Callable[[Any], bool]) -> int:
    """Drop the stays of observations, and those in which some name is told; return how many."""
    row = session.get(schema.StateRow, key_of(robot_id))
    if row is None:
        return 0
    going = row.value.get('open', [])
    kept = [item for item in going
            if not _is_of(item[2], observation_ids) and not is_told_by(item)]
    if len(kept) < len(going):
        row.value = {**row.value, 'open': kept}
    return len(going) - len(kept)


def _is_of(follower: dict[str, Any], observation_ids: Collection[int]) -> bool:
    stay = follower.get('now')
    return stay is not None and stay[ROW_ID] in observation_ids
