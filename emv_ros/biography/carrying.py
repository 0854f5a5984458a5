"""What stayed put from the end of one clip to the begin of the next: boxes that match each other.

A cut of clips is no event in the world: a box that is at the same place on both sides of it is of
the same thing. Only boxes that are each other's best count, so that of two that overlap the same
one neither is taken for the wrong one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.biography.rules import Rules
from emv_ros.memory import schema
from emv_ros.timeline import SECOND_NS

Boxes = NDArray[np.float64]  # n × 4: x1, y1, x2, y2, px

# No clip is longer; where to look for the one before.
LONGEST_NS = 3600 * SECOND_NS


def carried(session: Session, clip_id: int, rules: Rules) -> dict[int, int]:
    """Return {observation of a clip: the one of the clip before it that stayed at its place}."""
    clip = session.get(schema.ClipRow, clip_id)
    before = _before(session, clip, rules.clip_gap_ns) if clip else None
    if clip is None or before is None:
        return {}
    old = [row for row in _observations(session, before)
           if row.end_ns >= clip.start_ns - rules.clip_gap_ns and _is_box(row.last_bbox)]
    new = [row for row in _observations(session, clip)
           if row.stamp_ns <= before.end_ns + rules.clip_gap_ns and _is_box(row.first_bbox)]
    if not old or not new:
        return {}
    overlaps = overlap(np.array([row.first_bbox for row in new], np.float64),
                       np.array([row.last_bbox for row in old], np.float64))
    best_old, best_new = overlaps.argmax(axis=1), overlaps.argmax(axis=0)
    return {
        new[at].id: old[best_old[at]].id for at in range(len(new))
        if best_new[best_old[at]] == at and overlaps[at, best_old[at]] >= rules.carry_over_iou
        and _may_be_one(old[best_old[at]], new[at], rules.clip_gap_ns)}


def overlap(first: Boxes, second: Boxes) -> Boxes:
    """Return how much each of n boxes overlaps each of m, n × m: shared by covered area."""
    corner = np.maximum(first[:, None, :2], second[None, :, :2])
    other = np.minimum(first[:, None, 2:], second[None, :, 2:])
    shared = np.maximum(other - corner, 0).prod(axis=2)
    areas = [np.maximum(boxes[:, 2:] - boxes[:, :2], 0).prod(axis=1) for boxes in (first, second)]
    covered = areas[0][:, None] + areas[1][None] - shared
    return np.where(covered > 0, shared / np.maximum(covered, 1e-9), 0.0)


def _before(session: Session, clip: schema.ClipRow, gap_ns: int) -> schema.ClipRow | None:
    row = schema.ClipRow
    return session.scalars(select(row).where(
        row.robot_id == clip.robot_id, row.camera == clip.camera, row.start_ns < clip.start_ns,
        row.start_ns >= clip.start_ns - LONGEST_NS - gap_ns,
        row.end_ns >= clip.start_ns - gap_ns)
        .order_by(row.start_ns.desc(), row.id.desc()).limit(1)).first()


def _observations(session: Session, clip: schema.ClipRow) -> list[Any]:
    row = schema.ObservationRow
    return list(session.execute(select(
        row.id, row.stamp_ns, row.end_ns, row.session_id, row.is_person, row.first_bbox,
        row.last_bbox).where(
            row.robot_id == clip.robot_id, row.stamp_ns >= clip.start_ns,
            row.stamp_ns <= clip.end_ns, row.clip_id == clip.id).order_by(row.id)))


def _may_be_one(old: Any, new: Any, gap_ns: int) -> bool:
    return (old.session_id == new.session_id and bool(old.is_person) == bool(new.is_person)
            and old.end_ns - gap_ns <= new.stamp_ns <= old.end_ns + gap_ns)


def _is_box(box: Any) -> bool:
    return (isinstance(box, list) and len(box) == 4
            and all(isinstance(edge, int | float) and np.isfinite(edge) for edge in box))
