"""Records as the lines of an experience file, as far as simulated histories have them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
import json
from pathlib import Path
from typing import Any

from emv_ros.evaluation.histories.question_set import rfc3339
from emv_ros.records import Observation, Record, Scene, SceneObject, SkillReport, Utterance


def write_experience(path: Path, records: Sequence[Record], zone: tzinfo) -> None:
    """Write records as an experience file; TypeError for a record of a kind that it lacks."""
    with path.open('w', encoding='utf-8') as stream:
        for record in records:
            line = {'t': rfc3339(record.stamp_ns, zone)} | _fields(record, zone)
            stream.write(json.dumps(line, ensure_ascii=False) + '\n')


def _fields(record: Record, zone: tzinfo) -> dict[str, Any]:
    if isinstance(record, SkillReport):
        return _told(type='skill', skill=record.skill, status=str(record.status),
                     goal_stack=list(record.goal_stack), parameters=dict(record.parameters),
                     trigger=record.trigger, narration=record.narration, id=record.source_id,
                     parent_id=record.parent_source_id)
    if isinstance(record, Utterance):
        end_ns = record.stamp_ns if record.end_ns is None else record.end_ns
        return _told(type='speech', t_end=rfc3339(end_ns, zone), speaker=record.speaker,
                     text=record.text, confidence=record.confidence)
    if isinstance(record, Observation):
        return _told(type='observation', t_end=rfc3339(record.end_ns, zone), name=record.name,
                     instance=record.instance, event=record.event, location=record.location)
    if isinstance(record, Scene):
        return _told(type='scene', camera=record.camera, objects=list(map(_object, record.objects)),
                     relations=[{'subject': one.subject, 'predicate': one.predicate,
                                 'object': one.object} for one in record.relations])
    raise TypeError(f'no line of an experience file for a {type(record).__name__}')


def _object(thing: SceneObject) -> dict[str, Any]:
    return _told(name=thing.name, instance=thing.instance, state=thing.state,
                 confidence=thing.confidence,
                 position=None if thing.position is None else list(thing.position))


def _told(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ('', None)}
