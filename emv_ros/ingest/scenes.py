"""Scene graphs: from our SceneGraph, and from plain values.

A scene with one bad object keeps the others: what is refused, and why, stands in the `extra` of
the record under 'refused'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import math
from typing import Any, TypeVar

from emv_ros.errors import RecordError
from emv_ros.ingest.speech import confidence_of
from emv_ros.ingest.stamps import stamp_from_header
from emv_ros.records import Scene, SceneObject, SceneRelation

_Part = TypeVar('_Part')


def scene_from_ros(message: Any, receipt_ns: int, is_wall: bool = False) -> Scene:
    """Return the scene of an emv_ros/SceneGraph; RecordError where nothing in it is usable."""
    stamp_ns, is_receipt = stamp_from_header(message, receipt_ns, is_wall)
    refused: list[str] = []
    frame = message.header.frame_id
    objects = collect(
        message.objects, 'object', lambda item: _object_from_ros(item, frame), refused)
    relations = collect(
        message.relations, 'relation',
        lambda item: scene_relation(item.subject, item.predicate, item.object), refused)
    return scene(
        stamp_ns, objects, relations, refused, camera=message.camera, robot=message.robot,
        stamp_is_receipt=is_receipt, extra=_picture_size(message))


def scene(
        stamp_ns: int, objects: Sequence[SceneObject], relations: Sequence[SceneRelation],
        refused: Sequence[str] = (), *, camera: str = '', robot: str = '',
        stamp_is_receipt: bool = False, extra: Mapping[str, Any] | None = None) -> Scene:
    """Return a scene that tells what was refused; RecordError where nothing else is left."""
    if refused and not objects and not relations:
        raise RecordError(f'nothing in the scene is usable: {"; ".join(refused)}')
    told = dict(extra or {})
    if refused:
        told['refused'] = list(refused)
    return Scene(
        stamp_ns=stamp_ns, objects=tuple(objects), relations=tuple(relations), camera=camera,
        robot=robot, stamp_is_receipt=stamp_is_receipt, extra=told)


def collect(
        items: Iterable[Any], what: str, convert: Callable[[Any], _Part],
        refused: list[str]) -> list[_Part]:
    """Return the converted items; why any could not be converted is added to `refused`."""
    converted: list[_Part] = []
    for number, item in enumerate(items, 1):
        try:
            converted.append(convert(item))
        except RecordError as error:
            refused.append(f'{what} {number}: {error}')
    return converted


def scene_object(
        name: str, instance: str = '', bbox: Iterable[Any] | None = None,
        position: Iterable[Any] | None = None, frame: str = '', confidence: float | None = None,
        state: str = '') -> SceneObject:
    """Return an object; `bbox` x1, y1, x2, y2 in pixels, `position` in metres.

    Raises RecordError where it has no name, or a box or position that cannot be.
    """
    if not name.strip():
        raise RecordError('it has no name')
    box = None if bbox is None else numbers(bbox, 4, 'box')
    if box is not None and (box[0] > box[2] or box[1] > box[3]):
        raise RecordError(f'the box of {name!r} ends before it begins: {list(box)}')
    place = None if position is None else numbers(position, 3, 'position')
    return SceneObject(
        name=name, instance=instance,
        bbox=None if box is None else (box[0], box[1], box[2], box[3]),
        position=None if place is None else (place[0], place[1], place[2]),
        frame=frame if place is not None else '', confidence=confidence_of(confidence),
        state=state)


def scene_relation(subject: str, predicate: str, target: str = '') -> SceneRelation:
    """Return a relation; RecordError where subject or predicate is missing."""
    if not subject.strip() or not predicate.strip():
        raise RecordError('it lacks a subject or a predicate')
    return SceneRelation(subject=subject, predicate=predicate, object=target)


def numbers(values: Iterable[Any], count: int, what: str) -> tuple[float, ...]:
    """Return that many finite numbers; RecordError otherwise."""
    try:
        found = tuple(float(value) for value in values)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordError(f'the {what} holds something that is no number ({error})') from error
    if len(found) != count:
        raise RecordError(f'the {what} has {len(found)} numbers, not {count}')
    if not all(map(math.isfinite, found)):
        raise RecordError(f'the {what} is not finite: {list(found)}')
    return found


def _object_from_ros(item: Any, frame: str) -> SceneObject:
    place = item.position
    return scene_object(
        item.name, item.instance, item.bbox if item.has_bbox else None,
        (place.x, place.y, place.z) if item.has_position else None, frame,
        # 0 is a field that nobody set.
        float(item.confidence) or None, item.state)


def _picture_size(message: Any) -> dict[str, Any]:
    if not message.image_width or not message.image_height:
        return {}
    return {'image_width': int(message.image_width), 'image_height': int(message.image_height)}
