"""Which pictures wait to be looked at, and what says that a clip is over.

Of each camera a mark tells up to where its pictures were looked at, (session, stamp) and the
highest id; it is written with the clip that moves it. A picture that comes later but belongs before
the mark is late. Of each robot a floor is kept below which none waits, so that finding new pictures
costs by what is new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.clip_writer import Mark, mark_of
from emv_ros.perception.clips import Clip, Picture
from emv_ros.timeline import HOUR_NS, SECOND_NS

# A database on a server may show rows a little out of the order of their ids.
HELD_BACK = 1000
# Records that say that time went on after a clip lie within this of its end.
SOON_NS = HOUR_NS
_RECORDED = (schema.ImageRow, schema.PoseRow, schema.JointSampleRow, schema.SceneRow,
             schema.UtteranceRow, schema.SkillEventRow)


@dataclass(slots=True)
class Waiting:
    """What waits of one camera: `late` lies before its mark, `new` after it."""

    new: list[Picture] = field(default_factory=list)
    late: list[Picture] = field(default_factory=list)


def waiting(session: Session, robot_id: int, floor: int) -> tuple[dict[str, Waiting], int]:
    """Return what waits of each camera of a robot, and the highest id of a picture seen."""
    row = schema.ImageRow
    found: dict[str, Waiting] = {}
    marks: dict[str, Mark] = {}
    highest = floor
    # By id alone: an index of the robot would be taken else, and all of its life read.
    for item in session.execute(
            select(row.id, row.robot_id, row.session_id, row.stamp_ns, row.sha256, row.media_type,
                   row.camera, row.is_depth).where(row.id > floor).order_by(row.id)):
        highest = max(highest, item.id)
        if item.is_depth or item.robot_id != robot_id:
            continue
        picture = Picture(item.id, item.session_id, item.stamp_ns, item.sha256, item.media_type)
        if item.camera not in marks:
            marks[item.camera] = mark_of(session, robot_id, item.camera)
        mark = marks[item.camera]
        if picture.moment > (mark.session_id, mark.stamp_ns):
            found.setdefault(item.camera, Waiting()).new.append(picture)
        elif picture.id > mark.image_id:
            found.setdefault(item.camera, Waiting()).late.append(picture)
    return found, highest


def floor_after(left: Mapping[str, Waiting], highest: int) -> int:
    """Return the floor below which nothing waits, where `left` does."""
    lowest = min((picture.id for each in left.values() for picture in (*each.new, *each.late)),
                 default=highest + 1)
    return max(0, min(lowest - 1, highest - HELD_BACK))


def is_at_rest(session: Session, robot_id: int, clip: Clip, gap_s: float) -> bool:
    """Whether the robot recorded something beyond the pause that ends a clip."""
    after_ns = clip.end_ns + round(gap_s * SECOND_NS)
    return any(session.scalar(select(exists().where(*_between(
        table, robot_id, clip.session_id, after_ns)))) for table in _RECORDED)


def _between(table: Any, robot_id: int, session_id: int,
             after_ns: int) -> tuple[ColumnElement[bool], ...]:
    # Sessions that began before are of other recordings, which may be later by their stamps.
    return (table.robot_id == robot_id, table.stamp_ns >= after_ns,
            table.stamp_ns < after_ns + SOON_NS, table.session_id >= session_id)


def is_covered(session: Session, robot_id: int, camera: str, clip: Clip) -> bool:
    """Whether a stored clip of the camera overlaps this one."""
    row = schema.ClipRow
    # No clip is longer than an hour.
    return bool(session.scalar(select(exists().where(
        row.robot_id == robot_id, row.camera == camera, row.start_ns < clip.end_ns,
        row.start_ns > clip.start_ns - HOUR_NS - SECOND_NS, row.end_ns > clip.start_ns))))
