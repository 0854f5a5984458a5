"""In which stored pictures observations are seen, and where: what has to be filled to forget them.

A picture shows an observation where a box says so: that of one of its pictures, or of the object in
a scene that belongs to the picture (by its id, or by camera and stamp). Pictures of the same camera
between two such, which nobody looked at, show it too: there the box is that around both neighbours.
Where a picture is known to show it and no box is known, all of it counts. Pictures of the same
bytes are one file, and are treated alike. Depth pictures show no more than a shape, and are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.cutting import fitted

Box = tuple[float, float, float, float]
File = tuple[str, str]  # the SHA-256 and the media type of a stored picture


@dataclass(slots=True)
class ShownFile:
    """One file with the boxes to fill (None: all of it) and the ids of its rows.

    `is_kept`: a row needs it; else all of them say that it is gone.
    """

    width: int
    height: int
    is_kept: bool = False
    boxes: set[Box | None] = field(default_factory=set)
    image_ids: set[int] = field(default_factory=set)


def files_showing(session: Session, observation_ids: Sequence[int],
                  object_ids: Sequence[int]) -> dict[File, ShownFile]:
    """Return the files that show observations, or objects of scenes, with the boxes."""
    boxes: dict[int, set[Box | None]] = {}
    tracks: dict[int, dict[int, Box]] = {}  # of each observation, by picture
    _from_pictures(session, observation_ids, boxes, tracks)
    _from_scenes(session, object_ids, boxes, tracks)
    for track in tracks.values():
        _between(session, track, boxes)
    return _files(session, {key: _known(found) for key, found in boxes.items()})


def _from_pictures(session: Session, observation_ids: Sequence[int],
                   boxes: dict[int, set[Box | None]], tracks: dict[int, dict[int, Box]]) -> None:
    row = schema.ObservationImageRow
    for item in session.execute(select(row.observation_id, row.image_id, row.bbox).where(
            among(row.observation_id, observation_ids))):
        box = _box(item.bbox)
        boxes.setdefault(item.image_id, set()).add(box)
        if box is not None:
            tracks.setdefault(item.observation_id, {})[item.image_id] = box


def _from_scenes(session: Session, object_ids: Sequence[int], boxes: dict[int, set[Box | None]],
                 tracks: dict[int, dict[int, Box]]) -> None:
    part, scene, image = schema.SceneObjectRow, schema.SceneRow, schema.ImageRow
    belongs = or_(image.id == scene.image_id, and_(
        image.robot_id == scene.robot_id, image.stamp_ns == scene.stamp_ns,
        image.camera == scene.camera, image.is_depth.is_(False)))
    for item in session.execute(
            select(part.observation_id, image.id, part.bbox, scene.extra, image.width,
                   image.height).join(
                scene, scene.id == part.scene_id).join(image, belongs).where(
                among(part.id, object_ids), part.bbox.is_not(None))):
        box = _box(item.bbox)
        if box is None:
            continue
        box = fitted(box, item.extra, (item.width, item.height))
        boxes.setdefault(item.id, set()).add(box)
        if item.observation_id is not None:
            tracks.setdefault(item.observation_id, {}).setdefault(item.id, box)


def _between(session: Session, track: dict[int, Box], boxes: dict[int, set[Box | None]]) -> None:
    """Add the pictures between those in which a thing was seen."""
    row = schema.ImageRow
    known = [(item.robot_id, item.camera, item.stamp_ns, track[item.id])
             for item in session.execute(select(row.id, row.robot_id, row.camera, row.stamp_ns)
                                         .where(among(row.id, list(track)))
                                         .order_by(row.robot_id, row.camera, row.stamp_ns))]
    for before, after in zip(known, known[1:], strict=False):
        if before[:2] != after[:2]:
            continue
        around = (min(before[3][0], after[3][0]), min(before[3][1], after[3][1]),
                  max(before[3][2], after[3][2]), max(before[3][3], after[3][3]))
        for image_id in session.scalars(select(row.id).where(
                row.robot_id == before[0], row.camera == before[1], row.is_depth.is_(False),
                row.stamp_ns > before[2], row.stamp_ns < after[2])):
            boxes.setdefault(image_id, set()).add(around)


def _files(session: Session, boxes: dict[int, set[Box | None]]) -> dict[File, ShownFile]:
    row = schema.ImageRow
    found: dict[File, ShownFile] = {}
    hashes = set(session.scalars(select(row.sha256).where(among(row.id, list(boxes)))))
    # All rows of these bytes, whether they were known to show it or not.
    for part in _parts(sorted(hashes)):
        for item in session.scalars(select(row).where(row.sha256.in_(part))):
            file = found.setdefault((item.sha256, item.media_type),
                                    ShownFile(item.width, item.height))
            file.boxes |= boxes.get(item.id, set())
            file.image_ids.add(item.id)
            file.is_kept |= not item.gone
    return {file: shown for file, shown in found.items() if shown.boxes}


def _known(boxes: set[Box | None]) -> set[Box | None]:
    """Return boxes without "all of it" where a box is known."""
    return boxes - {None} or boxes


def _box(value: Sequence[float] | None) -> Box | None:
    return None if not value else (
        float(value[0]), float(value[1]), float(value[2]), float(value[3]))


def _parts(items: Sequence[str]) -> Iterable[Sequence[str]]:
    return (items[start:start + 500] for start in range(0, len(items), 500))
