"""Records to rows and back; the only place that knows both shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from emv_ros.memory import schema
from emv_ros.records import (
    Annotation, ImageRecord, JointSample, Node, Observation, Pose, QueryRecord, Record, Scene,
    SceneObject, SceneRelation, SkillEvent, Status, Utterance)

KIND_OF: dict[type[Any], str] = {
    ImageRecord: 'image', JointSample: 'joint_sample', Pose: 'pose', Utterance: 'utterance',
    SkillEvent: 'skill_event', Annotation: 'annotation', Scene: 'scene',
    Observation: 'observation', Node: 'node', QueryRecord: 'query'}
RECORD_OF = {kind: record for record, kind in KIND_OF.items()}

# What a field of a row becomes in its record, where they differ.
_INWARDS: dict[str, Callable[[Any], Any]] = {
    'status': str, 'goal_stack': list, 'parameters': dict, 'extra': dict, 'attributes': dict,
    'names': list, 'position': list, 'velocity': list, 'effort': list, 'robots': list,
    'evidence': list, 'trace': list, 'transitions': lambda value: [list(item) for item in value]}
_OUTWARDS: dict[str, Callable[[Any], Any]] = {
    'goal_stack': tuple, 'names': tuple, 'velocity': tuple, 'effort': tuple, 'robots': tuple,
    'evidence': tuple, 'trace': tuple, 'position': tuple, 'orientation': tuple,
    'transitions': lambda value: tuple(tuple(item) for item in value)}


def row_of(record: Record | Node | QueryRecord, robot_id: int | None) -> Any:
    """Return a new row for the record; scenes bring no objects here, see scene_rows."""
    table = schema.KINDS[KIND_OF[type(record)]]
    columns = table.__table__.columns
    values = {}
    for item in fields(record):
        if item.name in columns and item.name != 'id':
            value = getattr(record, item.name)
            change = _INWARDS.get(item.name)
            values[item.name] = change(value) if change and value is not None else value
    if 'robot_id' in columns:
        values['robot_id'] = robot_id
    return table(**values)


def scene_rows(scene: Scene, scene_id: int, robot_id: int) -> list[Any]:
    """Return the rows of a scene's objects and relations."""
    objects = [schema.SceneObjectRow(
        scene_id=scene_id, robot_id=robot_id, stamp_ns=scene.stamp_ns, name=item.name,
        instance=item.instance, bbox=list(item.bbox) if item.bbox else None,
        position=list(item.position) if item.position else None, frame=item.frame,
        confidence=item.confidence, state=item.state) for item in scene.objects]
    relations = [schema.SceneRelationRow(
        scene_id=scene_id, subject=item.subject, predicate=item.predicate, object=item.object)
        for item in scene.relations]
    return [*objects, *relations]


def record_of(kind: str, row: Any, robot: str) -> Any:
    """Return the record of a row; a scene without its objects, see scene_of."""
    record = RECORD_OF[kind]
    values = {}
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
        name=row.name, instance=row.instance, bbox=tuple(row.bbox) if row.bbox else None,
        position=tuple(row.position) if row.position else None, frame=row.frame,
        confidence=row.confidence, state=row.state)


def relation_of(row: schema.SceneRelationRow) -> SceneRelation:
    """Return the relation of a scene's row."""
    return SceneRelation(subject=row.subject, predicate=row.predicate, object=row.object)
