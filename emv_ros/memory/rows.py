"""Records to rows and back; the only place that knows both shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any

from emv_ros.memory import schema
from emv_ros.records import (
    Annotation,
    ImageRecord,
    JointSample,
    Node,
    Observation,
    Pose,
    QueryRecord,
    Record,
    Scene,
    SceneObject,
    SceneRelation,
    SkillEvent,
    Status,
    Utterance,
)

KIND_OF: dict[type[Any], str] = {
    ImageRecord: 'image', JointSample: 'joint_sample', Pose: 'pose', Utterance: 'utterance',
    SkillEvent: 'skill_event', Annotation: 'annotation', Scene: 'scene',
    Observation: 'observation', Node: 'node', QueryRecord: 'query'}
RECORD_OF = {kind: record for record, kind in KIND_OF.items()}

Change = Callable[[Any], Any]

# What a field of a row becomes in its record, where they differ.
_INWARDS: dict[str, Change] = {
    'status': str, 'goal_stack': list, 'parameters': dict, 'extra': dict, 'attributes': dict,
    'names': list, 'position': list, 'orientation': list, 'velocity': list, 'effort': list,
    'robots': list, 'evidence': list, 'trace': list, 'first_bbox': list, 'last_bbox': list,
    'transitions': lambda value: [list(item) for item in value]}
_OUTWARDS: dict[str, Change] = {
    'goal_stack': tuple, 'names': tuple, 'velocity': tuple, 'effort': tuple, 'robots': tuple,
    'evidence': tuple, 'trace': tuple, 'position': tuple, 'orientation': tuple,
    'first_bbox': tuple, 'last_bbox': tuple,
    'transitions': lambda value: tuple(tuple(item) for item in value)}


@cache
def _stored(kind: str) -> tuple[bool, tuple[tuple[str, Change | None], ...]]:
    """Return whether the rows of a kind name a robot, and the fields that have a column."""
    columns = schema.KINDS[kind].__table__.columns
    return 'robot_id' in columns, tuple(
        (item.name, _INWARDS.get(item.name)) for item in fields(RECORD_OF[kind])
        if item.name in columns and item.name != 'id')


def values_of(record: Record | Node | QueryRecord, robot_id: int | None) -> dict[str, Any]:
    """Return the columns of a new row; scenes bring no objects here, see scene_values."""
    has_robot, stored = _stored(KIND_OF[type(record)])
    values: dict[str, Any] = {'robot_id': robot_id} if has_robot else {}
    for name, change in stored:
        value = getattr(record, name)
        values[name] = change(value) if change and value is not None else value
    return values


def row_of(record: Record | Node | QueryRecord, robot_id: int | None) -> Any:
    """Return a new row for the record, as values_of."""
    return schema.KINDS[KIND_OF[type(record)]](**values_of(record, robot_id))


def scene_values(scene: Scene, scene_id: int,
                 robot_id: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the columns of the rows of a scene's objects, and of its relations."""
    objects = [{
        'scene_id': scene_id, 'robot_id': robot_id, 'stamp_ns': scene.stamp_ns,
        'name': item.name, 'instance': item.instance,
        'bbox': list(item.bbox) if item.bbox else None,
        'position': list(item.position) if item.position else None, 'frame': item.frame,
        'confidence': item.confidence, 'state': item.state} for item in scene.objects]
    relations = [{
        'scene_id': scene_id, 'subject': item.subject, 'predicate': item.predicate,
        'object': item.object} for item in scene.relations]
    return objects, relations


def record_of(kind: str, row: Any, robot: str) -> Any:
    """Return the record of a row; a scene without its objects, see object_of."""
    record = RECORD_OF[kind]
    values: dict[str, Any] = {}
    for item in fields(record):
        if item.name == 'robot':
            values['robot'] = robot
        elif hasattr(row, item.name):
            value = getattr(row, item.name)
            change = _OUTWARDS.get(item.name)
            values[item.name] = change(value) if change and value is not None else value
    if kind == 'skill_event':
        values['status'] = Status(values['status'])
    if kind == 'scene':
        values['objects'] = ()
    return record(**values)


def object_of(row: schema.SceneObjectRow) -> SceneObject:
    """Return the object of a scene's row."""
    return SceneObject(
        name=row.name, instance=row.instance, bbox=_four(row.bbox),
        position=_three(row.position), frame=row.frame, confidence=row.confidence,
        state=row.state)


def relation_of(row: schema.SceneRelationRow) -> SceneRelation:
    """Return the relation of a scene's row."""
    return SceneRelation(subject=row.subject, predicate=row.predicate, object=row.object)


def _three(values: list[Any] | None) -> tuple[float, float, float] | None:
    return (values[0], values[1], values[2]) if values else None


def _four(values: list[Any] | None) -> tuple[float, float, float, float] | None:
    return (values[0], values[1], values[2], values[3]) if values else None
