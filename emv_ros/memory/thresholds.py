"""The cosines that a model of looks goes by, beside its vectors: who compares needs no model.

A calibration by a person stands before what the model says of itself.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore

OWN, CALIBRATED = 'looks:', 'calibration:'

Pair = tuple[float, float]  # match, consistent


def stored_thresholds(session: Session, model: str, default: Pair) -> Pair:
    """Return (match, consistent): as calibrated, else as the model says, else `default`."""
    own = _of(session, OWN + model, default)
    return _of(session, CALIBRATED + model, own)


def stored_group(session: Session, model: str) -> float:
    """Return how like two groups of looks are that are one, 0 where nothing is known of it."""
    found = (session.get(schema.StateRow, key + model) for key in (CALIBRATED, OWN))
    return next((float(row.value['group']) for row in found if row and row.value.get('group')), 0.0)


def note_thresholds(store: MemoryStore, model: str, match: float, consistent: float,
                    group: float = 0.0) -> None:
    """Note what a model says of itself, where that is new."""
    value = {'match': match, 'consistent': consistent} | ({'group': group} if group else {})
    if store.state(OWN + model) != value:
        store.set_state(OWN + model, value)


def _of(session: Session, key: str, otherwise: Pair) -> Pair:
    row = session.get(schema.StateRow, key)
    value = row.value if row else {}
    return (float(value.get('match') or otherwise[0]),
            float(value.get('consistent') or otherwise[1]))
