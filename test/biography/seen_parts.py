"""What perception leaves in a memory, by hand: an observation with its scenes and pictures.

Stamps are seconds after noon of 1 March 2026, UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from sqlalchemy import select, update

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import (
    ImageRecord,
    Observation,
    Scene,
    SceneObject,
    SceneRelation,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.timeline import SECOND_NS

NOON_NS = 1_772_366_400 * SECOND_NS
BOX = (10.0, 10.0, 50.0, 50.0)

Relation = tuple[str, str, str]


@dataclass(frozen=True)
class Thing:
    """An observation and where its boxes stand."""

    id: int
    name: str
    bbox: tuple[float, float, float, float] = BOX
    instance: str = ''


def at(seconds: float) -> int:
    return NOON_NS + round(seconds * SECOND_NS)


def observe(store: MemoryStore, start_s: float, end_s: float, name: str = 'mug',
            bbox: Sequence[float] = BOX, **fields: Any) -> Thing:
    """Add an observation as the detector leaves it."""
    box = (bbox[0], bbox[1], bbox[2], bbox[3])
    fields = {'made_by': 'detector', 'first_bbox': box, 'last_bbox': box, **fields}
    key = store.add(Observation(stamp_ns=at(start_s), end_ns=at(end_s), name=name, **fields))
    return Thing(key, name, box, fields.get('instance', ''))


def clip(store: MemoryStore, start_s: float, end_s: float, camera: str = 'head') -> int:
    with store.writing() as session:
        row = schema.ClipRow(robot_id=store.robot_id(session, 'r1'), camera=camera,
                             start_ns=at(start_s), end_ns=at(end_s))
        session.add(row)
        session.flush()
        return int(row.id)


def scene(store: MemoryStore, second: float, things: Sequence[Thing],
          relations: Sequence[Relation] = (), others: Sequence[SceneObject] = (),
          image_id: int | None = None) -> int:
    """Add a scene that shows things, each linked to its observation, and objects beside them."""
    scene_id = store.add(Scene(
        stamp_ns=at(second), camera='head', image_id=image_id,
        objects=(*(SceneObject(name=item.name, bbox=item.bbox, instance=item.instance)
                   for item in things), *others),
        relations=tuple(SceneRelation(subject=one, predicate=predicate, object=other)
                        for one, predicate, other in relations)))
    row = schema.SceneObjectRow
    with store.writing() as session:
        keys = session.scalars(select(row.id).where(row.scene_id == scene_id).order_by(row.id))
        for key, item in zip(keys.all(), things, strict=False):
            session.execute(update(row).where(row.id == key).values(observation_id=item.id))
    return scene_id


def run(store: MemoryStore, skill: str, start_s: float, end_s: float,
        goals: Sequence[str] = (), **parameters: Any) -> None:
    common: dict[str, Any] = {'skill': skill, 'goal_stack': tuple(goals), 'parameters': parameters,
                              'source_id': f'{skill} {start_s}'}
    store.add_many([SkillReport(stamp_ns=at(start_s), status=Status.RUNNING, **common),
                    SkillReport(stamp_ns=at(end_s), status=Status.SUCCEEDED, **common)])


def say(store: MemoryStore, second: float, text: str, speaker: str = 'user',
        is_own: bool = False) -> None:
    store.add(Utterance(stamp_ns=at(second), speaker=speaker, text=text, is_own=is_own))


def picture(store: MemoryStore, second: float, colour: tuple[int, int, int] = (0, 0, 200)) -> int:
    """Store a picture of 100 × 80 pixels of one colour (BGR)."""
    pixels = np.full((80, 100, 3), colour, np.uint8)
    data = bytes(cv2.imencode('.png', pixels)[1])
    return store.add_image(data, ImageRecord(
        stamp_ns=at(second), camera='head', sha256='', media_type='image/png', width=100,
        height=80))


def show(store: MemoryStore, thing: Thing, image_id: int, is_crop: bool = True) -> None:
    """Note that a picture shows an observation, in its box."""
    with store.writing() as session:
        session.add(schema.ObservationImageRow(
            observation_id=thing.id, image_id=image_id, bbox=list(thing.bbox), is_crop=is_crop))


def observation(store: MemoryStore, thing: Thing) -> Observation:
    found: Observation = store.get('observation', thing.id)
    return found
