"""How like two groups of looks must be to be one, by what a person said of pairs of observations.

A pair tells something of it where its observations are of two entities: these are compared as when
a day is over. What is of one entity already, or has none, tells nothing. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.biography.calibration import Pair
from emv_ros.biography.grouping import Groups
from emv_ros.biography.stored_looks import looks_by
from emv_ros.biography.waiting import entities_of
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import local_date, parse_zone

# Observations of an entity that are compared, the latest.
LATEST = 40
# Above the most alike of what a person told apart.
MARGIN = 0.005


def likeness_of(store: MemoryStore, robot: str, model: str, pairs: Sequence[Pair],
                alone: float) -> dict[int, float]:
    """Return how like the two entities of each pair are, by its number from 1, see Groups.likeness.

    Pairs of one entity, or without looks of one length, are left out.
    """
    zone = parse_zone(store.zone_of([robot] if robot else []))
    found: dict[int, float] = {}
    with store.reading() as session:
        entity_of = entities_of(session, {
            key for pair in pairs for key in (pair.first_id, pair.second_id)})
        held = {key: _latest(session, key, model) for key in sorted({*entity_of.values()})}
    for number, pair in enumerate(pairs, 1):
        one, other = entity_of.get(pair.first_id), entity_of.get(pair.second_id)
        if one is None or other is None or one == other or not held[one] or not held[other]:
            continue
        both = [*held[one], *held[other]]
        if len({len(vector) for _, vector in both}) > 1:
            continue
        days = np.array([local_date(stamp_ns, zone).toordinal() for stamp_ns, _ in both], np.int64)
        of = np.array([0] * len(held[one]) + [1] * len(held[other]), np.int64)
        sums = Groups.of(np.array([vector for _, vector in both], np.float64), days, of, 2)
        found[number] = float(sums.likeness(0, alone)[1])
    return found


def _latest(session: Session, entity_id: int, model: str) -> list[tuple[int, np.ndarray]]:
    """Return (stamp, vector) of the latest observations of an entity that have looks."""
    row = schema.ObservationRow
    rows = session.execute(
        select(row.id, row.stamp_ns).where(row.entity_id == entity_id)
        .order_by(row.stamp_ns.desc(), row.id.desc()).limit(LATEST)).all()
    looks = looks_by(session, model, [item.id for item in rows])
    return [(item.stamp_ns, looks[item.id]) for item in rows if item.id in looks]


def propose_group(likeness: Mapping[int, float], is_same: Mapping[int, bool],
                  group: float) -> float:
    """Return how like two groups must be: above all that is different, at least.

    Below the present `group` it goes to the lowest that is the same, and where the model says
    nothing of it (0) only what is the same tells of it.
    """
    same = [likeness[number] for number, told in is_same.items() if told and number in likeness]
    different = [likeness[number] for number, told in is_same.items()
                 if not told and number in likeness]
    wanted = min([*same, *([group] if group else [])], default=0.0)
    if not wanted or not (same or different):
        return group
    return round(max(wanted, max(different) + MARGIN if different else 0.0), 3)
