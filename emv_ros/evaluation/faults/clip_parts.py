"""Clips over the pictures of the recorded life: what perception hands to the writer of clips."""

from __future__ import annotations

from sqlalchemy import select

from emv_ros.evaluation.faults.life import ROBOT, THINGS
from emv_ros.memory import schema
from emv_ros.memory.clip_writer import ClipParts, Mark, Seen, SeenScene, Shown, mark_of
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation, Scene, SceneObject

BOX = (4.0, 4.0, 20.0, 20.0)
CAMERA = 'head'


def clip_of(store: MemoryStore, number: int) -> ClipParts | None:
    """Return the clip of picture `number` (0 is the first); None where it was looked at before.

    It shows two things, named by the number, which were seen apart.
    """
    row = schema.ImageRow
    with store.reading() as session:
        image = session.scalars(select(row).order_by(row.stamp_ns, row.id).offset(number).limit(
            1)).one()
        robot_id = image.robot_id
        before = mark_of(session, robot_id, CAMERA, image.session_id)
    if before.stamp_ns >= image.stamp_ns:
        return None
    names = names_of_clip(number)
    observations = [Observation(
        stamp_ns=image.stamp_ns, end_ns=image.stamp_ns + 1, name=name, made_by='detector')
        for name in names]
    scene = Scene(stamp_ns=image.stamp_ns, camera=CAMERA, image_id=image.id, objects=tuple(
        SceneObject(name=name, bbox=BOX, confidence=0.5) for name in names))
    return ClipParts(
        robot=ROBOT, camera=CAMERA, session_id=image.session_id, start_ns=image.stamp_ns,
        end_ns=image.stamp_ns + 1, image_ids=[image.id], before=before,
        after=Mark(image.stamp_ns, image.id), scenes=[SeenScene(scene=scene, shows=[0, 1])],
        observations=[Seen(observation=item, shown=[Shown(
            image_id=image.id, bbox=BOX, is_crop=True)], vector=bytes(8)) for item in observations],
        separations=[(0, 1, 1)], vectors_by='looks')


def names_of_clip(number: int) -> list[str]:
    """Return what the observations of a clip are called; none is a part of another."""
    return [f'{THINGS[number % len(THINGS)]} no{number:04}', f'table no{number:04}']


