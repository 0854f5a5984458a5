"""The things and relations of a camera taken up where its last stored scene left them.

So a clip, or a process that was started anew, does not have to see everything a few times again
before it tells what stood where all the while.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.rows import object_of
from emv_ros.perception.clips import Clip
from emv_ros.perception.detections import PERSON, Detection
from emv_ros.perception.presence import Before
from emv_ros.perception.relations import Relations, Thing
from emv_ros.timeline import SECOND_NS


@dataclass(frozen=True, slots=True)
class Resumed:
    """With what a clip begins: relations, and what was there just before it, if that is known."""

    relations: Relations = field(default_factory=Relations)
    before: Before | None = None


def resumed(session: Session, robot_id: int, camera: str, clip: Clip, gap_s: float) -> Resumed:
    """Return the relations and things with which a clip begins: those of the scene before it.

    That is one of the same camera and session, at most `gap_s` before the clip.
    """
    row = schema.SceneRow
    scene = session.scalar(select(row).where(
        row.robot_id == robot_id, row.stamp_ns < clip.start_ns,
        row.stamp_ns >= clip.start_ns - round(gap_s * SECOND_NS), row.camera == camera,
        row.session_id == clip.session_id).order_by(row.stamp_ns.desc(), row.id.desc()).limit(1))
    return Resumed() if scene is None else _taken_up(session, scene)


def _taken_up(session: Session, scene: Any) -> Resumed:
    part, relation = schema.SceneObjectRow, schema.SceneRelationRow
    relations, things, called, detections = Relations(), [], [], []
    for row in session.scalars(select(part).where(part.scene_id == scene.id).order_by(part.id)):
        item = object_of(row)
        if item.bbox is not None:
            things.append(Thing(key=('stored', row.id), name=item.name, bbox=item.bbox,
                                is_person=item.name == PERSON))
            called.append(item.instance or item.name)
            detections.append(Detection(
                name=item.name, bbox=item.bbox, confidence=item.confidence,
                instance=item.instance, state=item.state))
    told = {(row.subject, row.predicate, row.object) for row in session.scalars(
        select(relation).where(relation.scene_id == scene.id))}
    relations.resume(scene.stamp_ns, things, called, told)
    return Resumed(relations, Before(scene.stamp_ns, detections))
