"""Which pictures wait to be looked at, and what says that a clip is over.

Of each camera and session a mark tells up to where its pictures were looked at, by stamp and the
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
from emv_ros.memory.among import among
from emv_ros.memory.clip_writer import Mark, mark_of
from emv_ros.perception.clips import Clip, Picture
from emv_ros.timeline import HOUR_NS, SECOND_NS

# A database on a server may show rows a little out of the order of their ids.
HELD_BACK = 1000
# The clocks of what the robot lives now; other sessions are imported.
_LIVE = ('wall', 'sim')
# Records that say that time went on after a clip lie within this of its end.
SOON_NS = HOUR_NS
_RECORDED = (schema.ImageRow, schema.PoseRow, schema.JointSampleRow, schema.SceneRow,
             schema.UtteranceRow, schema.SkillEventRow)


Stream = tuple[str, int]  # a camera in a session


@dataclass(slots=True)
class Waiting:
    """What waits of one camera in one session: `late` lies before its mark, `new` after it.

    The mark is that which was found together with them: one that another process moved meanwhile
    must not be taken for it.
    """

    mark: Mark = field(default_factory=Mark)
    new: list[Picture] = field(default_factory=list)
    late: list[Picture] = field(default_factory=list)


def waiting(session: Session, robot_id: int, floor: int) -> tuple[dict[Stream, Waiting], int]:
    """Return what waits of each camera and session of a robot, and the highest id of a picture."""
    row = schema.ImageRow
    found: dict[Stream, Waiting] = {}
    marks: dict[Stream, Mark] = {}
    highest = floor
    # By id alone: an index of the robot would be taken else, and all of its life read.
    for item in session.execute(
            select(row.id, row.robot_id, row.session_id, row.stamp_ns, row.sha256, row.media_type,
                   row.camera, row.is_depth, row.gone).where(
                row.id > floor).order_by(row.id)):
        highest = max(highest, item.id)
        if item.is_depth or item.gone or item.robot_id != robot_id:
            continue
        picture = Picture(item.id, item.session_id, item.stamp_ns, item.sha256, item.media_type)
        stream = item.camera, item.session_id
        if stream not in marks:
            marks[stream] = mark_of(session, robot_id, *stream)
        mark = marks[stream]
        if picture.stamp_ns > mark.stamp_ns:
            found.setdefault(stream, Waiting(mark)).new.append(picture)
        elif picture.id > mark.image_id:
            found.setdefault(stream, Waiting(mark)).late.append(picture)
    return {stream: found[stream] for stream in sorted(found)}, highest


def floor_after(left: Mapping[Stream, Waiting], highest: int) -> int:
    """Return the floor below which nothing waits, where `left` does."""
    lowest = min((picture.id for each in left.values() for picture in (*each.new, *each.late)),
                 default=highest + 1)
    return max(0, min(lowest - 1, highest - HELD_BACK))


def replaced(session: Session, found: Mapping[Stream, Waiting]) -> set[Stream]:
    """Return the streams that are over, since their camera goes on in a later session.

    That is one of the same kind: an import does not end what the robot lives, nor the other way.
    """
    row = schema.SessionRow
    lives = {key: clock in _LIVE for key, clock in session.execute(
        select(row.id, row.clock_source).where(among(row.id, sorted({key for _, key in found}))))}
    latest: dict[tuple[str, bool], int] = {}
    for camera, session_id in found:
        kind = camera, lives.get(session_id, True)
        latest[kind] = max(session_id, latest.get(kind, 0))
    return {(camera, session_id) for camera, session_id in found
            if latest[camera, lives.get(session_id, True)] > session_id}


def is_at_rest(session: Session, robot_id: int, clip: Clip, gap_s: float, highest: int) -> bool:
    """Whether the robot recorded something beyond the pause that ends a clip.

    Or so many pictures since, up to the id `highest`, that the clip shall hold up nothing.
    """
    if max(picture.id for picture in clip.pictures) < highest - HELD_BACK:
        return True
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
