"""Boxes that the robot's own detector gave: the stored scenes of a camera at its pictures' stamps.

They are used as they come, with the identities that they vouch for. Where a scene tells the size of
the picture that its boxes refer to, they are brought to that of the stored one by whoever reads it.
Of several scenes at one stamp that with the most identities counts, else the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.cutting import fitted
from emv_ros.memory.rows import object_of
from emv_ros.perception.clips import Clip
from emv_ros.perception.detections import Detection

# In `extra` of a scene that perception made: the detector that saw it.
DETECTOR = 'detector'


@dataclass(frozen=True, slots=True)
class StoredBoxes:
    """The objects with boxes of a stored scene, and the ids of their rows.

    `told` is what the scene tells besides, as the size of the picture that they refer to.
    """

    scene_id: int
    objects: tuple[int, ...]
    detections: tuple[Detection, ...]
    told: Mapping[str, Any]

    def in_picture(self, size: tuple[int, int]) -> tuple[Detection, ...]:
        """Return the detections with their boxes as they lie in the stored picture of `size`."""
        return tuple(replace(item, bbox=fitted(item.bbox, self.told, size))
                     for item in self.detections)


def stored_boxes(session: Session, robot_id: int, camera: str,
                 clip: Clip) -> dict[int, StoredBoxes]:
    """Return the boxes that the robot gave within a clip, by stamp."""
    scene, part = schema.SceneRow, schema.SceneObjectRow
    rows: dict[int, list[schema.SceneObjectRow]] = {}
    about: dict[int, tuple[int, Mapping[str, Any]]] = {}
    for item, stamp_ns, extra in session.execute(
            select(part, scene.stamp_ns, scene.extra).join(scene, scene.id == part.scene_id).where(
                scene.robot_id == robot_id, scene.stamp_ns >= clip.start_ns,
                scene.stamp_ns < clip.end_ns, scene.session_id == clip.session_id,
                scene.camera == camera).order_by(part.id)):
        if item.bbox and DETECTOR not in extra:
            rows.setdefault(item.scene_id, []).append(item)
            about[item.scene_id] = stamp_ns, extra
    found: dict[int, StoredBoxes] = {}
    for scene_id, objects in sorted(rows.items(), key=lambda item: (
            -sum(bool(part.instance) for part in item[1]), item[0])):
        stamp_ns, extra = about[scene_id]
        found.setdefault(stamp_ns, StoredBoxes(
            scene_id, tuple(item.id for item in objects),
            tuple(_detection(item) for item in objects), extra))
    return found


def _detection(row: schema.SceneObjectRow) -> Detection:
    item = object_of(row)
    assert item.bbox is not None
    return Detection(name=item.name, bbox=item.bbox, confidence=item.confidence,
                     instance=item.instance, state=item.state)


def cameras_with_boxes(session: Session, robot_id: int, after: int) -> tuple[set[str], int]:
    """Return the cameras of which scenes with an id above `after` have the robot's own boxes.

    And the highest id of a scene, up to which that is known.
    """
    scene, part = schema.SceneRow, schema.SceneObjectRow
    highest, cameras = after, set()
    # By id alone: an index of the robot would be taken else, and all of its life read.
    for scene_id, owner, camera, extra in session.execute(
            select(scene.id, scene.robot_id, scene.camera, scene.extra).where(
                scene.id > after).order_by(scene.id)):
        highest = max(highest, scene_id)
        if owner == robot_id and camera and camera not in cameras and DETECTOR not in extra and any(
                session.scalars(select(part.bbox).where(part.scene_id == scene_id))):
            cameras.add(camera)
    return cameras, highest
