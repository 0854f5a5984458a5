"""Scenes from vision_msgs: Detection2DArray and Detection3DArray of any of its versions.

A detection becomes an object of the scene: its name is the class of its surest hypothesis, as it
stands there (a number stays that number, as a word), its instance is the id of the detection. A
turned box becomes the upright one around it. Between versions fields moved: `bbox.center` holds
x and y or a position, a result is a hypothesis or has one, an id was called tracking_id. A message
with one bad detection keeps the others, as scenes do.

Such messages do not name their camera. It is read from the topic, without the words for what is
published there ('camera/wrist' of /camera/wrist/detections), so that it fits that of pictures.
"""

from __future__ import annotations

import math
from typing import Any

from emv_ros.errors import RecordError
from emv_ros.ingest.scenes import collect, numbers, scene, scene_object
from emv_ros.ingest.stamps import stamp_from_header
from emv_ros.records import Scene, SceneObject

# How the last parts of a topic begin that say what is published, and nothing about the camera.
_CONTENT = ('detection', 'tracked', 'tracks', 'objects', 'yolo', 'bbox')


def detections_from_ros(
        message: Any, topic: str, receipt_ns: int, is_wall: bool = False) -> Scene:
    """Return the scene of an array of detections; RecordError where none of them is usable."""
    stamp_ns, is_receipt = stamp_from_header(message, receipt_ns, is_wall)
    frame = str(message.header.frame_id)
    refused: list[str] = []
    objects = collect(
        message.detections, 'detection', lambda item: _object_of(item, frame), refused)
    return scene(stamp_ns, objects, [], refused, camera=camera_of_detections(topic),
                 stamp_is_receipt=is_receipt)


def camera_of_detections(topic: str) -> str:
    """Return the camera of a topic of detections, '' where it names none."""
    parts = [part for part in topic.split('/') if part]
    while parts and parts[-1].lower().startswith(_CONTENT):
        parts.pop()
    return '/'.join(parts)


def _object_of(item: Any, frame: str) -> SceneObject:
    name, score = _surest(item.results)
    instance = str(getattr(item, 'id', '') or getattr(item, 'tracking_id', '') or '')
    box, place = (None, _place_of(item.bbox)) if hasattr(item.bbox, 'size') else (
        _box_of(item.bbox), None)
    return scene_object(name, instance, box, place, str(item.header.frame_id) or frame, score)


def _surest(results: Any) -> tuple[str, float]:
    """Return the class and the score of the best hypothesis; RecordError where there is none."""
    best: tuple[str, float] | None = None
    for result in results:
        told = getattr(result, 'hypothesis', result)
        name = str(told.class_id if hasattr(told, 'class_id') else told.id)
        score = float(told.score)
        if best is None or score > best[1] or math.isnan(best[1]):
            best = name, score
    if best is None:
        raise RecordError('it has no hypothesis of what it is')
    return best


def _box_of(bbox: Any) -> tuple[float, ...] | None:
    """Return x1, y1, x2, y2 in pixels, None for a box that nobody set.

    Raises RecordError for one that is not finite, or of no size.
    """
    center = getattr(bbox.center, 'position', bbox.center)
    x, y, turn, width, height = numbers(
        (center.x, center.y, bbox.center.theta, bbox.size_x, bbox.size_y), 5, 'box')
    if not any((x, y, width, height)):
        return None
    if width <= 0 or height <= 0:
        raise RecordError(f'the box has a size of {width:g}×{height:g} pixels')
    across = (abs(width * math.cos(turn)) + abs(height * math.sin(turn))) / 2
    down = (abs(width * math.sin(turn)) + abs(height * math.cos(turn))) / 2
    return x - across, y - down, x + across, y + down


def _place_of(bbox: Any) -> tuple[float, ...]:
    """Return the middle of a box in space, metres. Raises RecordError as `_box_of`."""
    size = numbers((bbox.size.x, bbox.size.y, bbox.size.z), 3, 'size')
    if min(size) < 0:
        raise RecordError(f'the box has a negative size: {list(size)}')
    place = bbox.center.position
    return numbers((place.x, place.y, place.z), 3, 'position')
