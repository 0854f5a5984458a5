"""One clip that was looked at, written in one transaction with the mark of its camera.

So a crash costs the clip as a whole, which is then looked at again; nothing is half there, and
nothing twice. Two processes that look at the same clip do not double it either: the mark tells the
second that it came too late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.adding import CHUNK, add_records
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation, Scene, SceneRelation

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Mark:
    """Up to where the pictures of a camera in one session were looked at; so far none of them.

    Each session has its own: a recording may be imported while the robot goes on recording.
    """

    stamp_ns: int = -1
    image_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenScene:
    """What was seen in one picture.

    `shows` gives of each object the place of its observation in the clip, or None. With
    `known_objects`, the ids of rows that are stored already in that order, the scene came from the
    robot: it is kept as it is, and gets `scene.relations` where it has none.
    """

    scene: Scene
    shows: Sequence[int | None]
    known_objects: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Where an observation is seen: its box in a picture, best first; else a whole frame."""

    image_id: int
    bbox: Box
    is_crop: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An observation of a clip with what shows it, and its looks: float32 little-endian."""

    observation: Observation
    shown: Sequence[Shown] = ()
    vector: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipParts:
    """All that came of a clip.

    `image_ids` are the pictures that it rests on. `separations` are (first, second, shared
    pictures) by the places of observations. `before` is the mark that was found, `after` that which
    is left; of late pictures they are equal but for the image.
    """

    robot: str
    camera: str
    session_id: int
    start_ns: int
    end_ns: int
    image_ids: Sequence[int]
    before: Mark
    after: Mark
    scenes: Sequence[SeenScene] = ()
    observations: Sequence[Seen] = ()
    separations: Sequence[tuple[int, int, int]] = ()
    vectors_by: str = ''


def mark_of(session: Session, robot_id: int, camera: str, session_id: int) -> Mark:
    """Return the mark of a camera in a session."""
    row = session.get(schema.StateRow, _key(robot_id, camera, session_id))
    return Mark(**row.value) if row else Mark()


def set_mark(session: Session, robot_id: int, camera: str, session_id: int, mark: Mark) -> None:
    """Move the mark of a camera in a session."""
    session.merge(schema.StateRow(
        key=_key(robot_id, camera, session_id), value=asdict(mark)))


def _key(robot_id: int, camera: str, session_id: int) -> str:
    return f'perception:{robot_id}:{session_id}:{camera}'


def write_clip(store: MemoryStore, parts: ClipParts) -> list[int] | None:
    """Write a clip and return the ids of its observations.

    None, and nothing written, where another process moved the mark, or a picture was forgotten in
    the meantime. Raises StoreError.
    """
    with store.writing() as session:
        robot_id = store.robot_id(session, parts.robot)
        if (mark_of(session, robot_id, parts.camera, parts.session_id) != parts.before
                or not _are_there(session, parts.image_ids)):
            return None
        clip = schema.ClipRow(robot_id=robot_id, camera=parts.camera, start_ns=parts.start_ns,
                              end_ns=parts.end_ns)
        session.add(clip)
        session.flush()
        made = _add_observations(session, parts, robot_id, clip.id)
        _add_scenes(session, parts, robot_id, made)
        _add_separations(session, parts, made)
        set_mark(session, robot_id, parts.camera, parts.session_id, parts.after)
        return made


def _are_there(session: Session, image_ids: Sequence[int]) -> bool:
    row, found = schema.ImageRow, 0
    for start in range(0, len(image_ids), CHUNK):
        found += session.scalar(select(func.count()).select_from(row).where(
            row.id.in_(image_ids[start:start + CHUNK]))) or 0
    return found == len(image_ids)


def _add_observations(session: Session, parts: ClipParts, robot_id: int,
                      clip_id: int) -> list[int]:
    made = add_records(
        session, (replace(seen.observation, clip_id=clip_id) for seen in parts.observations),
        lambda _, __: (robot_id, parts.session_id))
    shown, looks = [], []
    for ref_id, seen in zip(made, parts.observations, strict=True):
        shown += [{'observation_id': ref_id, 'image_id': item.image_id, 'bbox': list(item.bbox),
                   'is_crop': item.is_crop} for item in seen.shown]
        if seen.vector is not None:
            looks.append({'observation_id': ref_id, 'model': parts.vectors_by,
                          'vector': seen.vector})
    _insert(session, schema.ObservationImageRow, shown)
    _insert(session, schema.AppearanceRow, looks)
    return made


def _add_scenes(session: Session, parts: ClipParts, robot_id: int, made: Sequence[int]) -> None:
    new = [seen for seen in parts.scenes if seen.known_objects is None]
    ids = add_records(session, (seen.scene for seen in new),
                      lambda _, __: (robot_id, parts.session_id))
    objects = _objects_of(session, ids)
    links: list[dict[str, Any]] = []
    for scene_id, seen in zip(ids, new, strict=True):
        links += _links(objects.get(scene_id, ()), seen, made)
    for seen in parts.scenes:
        if seen.known_objects is not None:
            links += _links(seen.known_objects, seen, made)
            _complete(session, seen.scene)
    if links:
        session.execute(update(schema.SceneObjectRow), links)


def _objects_of(session: Session, scene_ids: Sequence[int]) -> dict[int, list[int]]:
    row = schema.SceneObjectRow
    found: dict[int, list[int]] = {}
    for start in range(0, len(scene_ids), CHUNK):
        for item in session.execute(select(row.id, row.scene_id).where(
                row.scene_id.in_(scene_ids[start:start + CHUNK])).order_by(row.id)):
            found.setdefault(item.scene_id, []).append(item.id)
    return found


def _links(objects: Sequence[int], seen: SeenScene, made: Sequence[int]) -> list[dict[str, Any]]:
    return [{'id': ref_id, 'observation_id': made[place]}
            for ref_id, place in zip(objects, seen.shows, strict=True) if place is not None]


def _complete(session: Session, scene: Scene) -> None:
    """Give a scene of the robot's own its picture and relations, where it has none."""
    row = session.get(schema.SceneRow, scene.id)
    if row is None:
        return
    row.image_id = row.image_id or scene.image_id
    part = schema.SceneRelationRow
    known = session.scalar(select(part.id).where(part.scene_id == row.id).limit(1))
    if known is None and scene.relations:
        _insert(session, part, [_relation(row.id, item) for item in scene.relations])
        row.pending = True  # its event is made anew


def _relation(scene_id: int, relation: SceneRelation) -> dict[str, Any]:
    return {'scene_id': scene_id, 'subject': relation.subject, 'predicate': relation.predicate,
            'object': relation.object}


def _add_separations(session: Session, parts: ClipParts, made: Sequence[int]) -> None:
    rows = []
    for first, second, shared in parts.separations:
        one, other = sorted((made[first], made[second]))
        rows.append({'first_id': one, 'second_id': other, 'shared_frames': shared})
    _insert(session, schema.SeparationRow, rows)


def _insert(session: Session, table: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        session.execute(insert(table.__table__), rows)
