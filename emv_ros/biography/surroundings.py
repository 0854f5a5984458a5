"""What stands around observations in the memory: their scenes, and the runs that concern them.

Read for many observations at once. Of several like things in one scene, a relation is of that
whose box is nearest to the other thing. Nothing recorded after an observation is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
import math
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from emv_ros.biography.rule_words import (
    HELD,
    HOLDS,
    Run,
    State,
    Told,
    changes_in,
    concerns,
    states_of,
    tell,
)
from emv_ros.memory import schema
from emv_ros.memory.documents import words_of_name
from emv_ros.timeline import SECOND_NS

IN_LIMIT = 500
# More scenes of one observation than so many are thinned out.
MAX_LOOKS = 400
# How long before an observation another may have been what a run is about.
BEFORE_NS = 60 * SECOND_NS
# Overlap (IoU) of the boxes of a thing that stays put.
SAME_PLACE = 0.5


@dataclass(slots=True)
class Around:
    """One observation with its looks: relations of each scene that holds it, in order of time."""

    row: schema.ObservationRow
    looks: list[list[State]] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)

    @property
    def is_handled(self) -> bool:
        """Whether somebody held or moved it."""
        return bool(changes_in(states_of(self.looks)))


def read_around(session: Session, rows: Sequence[schema.ObservationRow]) -> list[Around]:
    """Return observations of one robot with what their scenes say of them."""
    found = {row.id: Around(row) for row in rows}
    own = list(_own_objects(session, rows))
    scene_ids = sorted({item.scene_id for _, item in own})
    objects = _by_scene(session, schema.SceneObjectRow, scene_ids)
    relations = _by_scene(session, schema.SceneRelationRow, scene_ids)
    for key, item in sorted(own, key=lambda pair: (pair[1].stamp_ns, pair[1].id)):
        around = found[key]
        if len(around.looks) >= MAX_LOOKS:
            around.looks = around.looks[::2]
        things = objects.get(item.scene_id, [])
        said = relations.get(item.scene_id, [])
        around.looks.append([
            *((one.predicate, _called(one.object, things)) for one in _of(item, things, said)),
            *((HOLDS[words_of_name(one.predicate)], _called(one.subject, things))
              for one in _done_to(item, things, said))])
        if around.row.is_person:
            around.holds += _held_by(item, things, said)
    return list(found.values())


def read_runs(session: Session, robot_id: int, start_ns: int,
              end_ns: int) -> list[tuple[int, int, Run]]:
    """Return the runs of skills that overlap [start_ns, end_ns), each with its start and end."""
    row = schema.SkillEventRow
    end = func.coalesce(row.end_ns, row.last_report_ns + 1)
    return [(begins, ends, Run(skill, tuple(goals), parameters))
            for begins, ends, skill, goals, parameters in session.execute(
                select(row.stamp_ns, end, row.skill, row.goal_stack, row.parameters).where(
                    row.robot_id == robot_id, row.stamp_ns < end_ns, end > start_ns)
                .order_by(row.stamp_ns, row.id))]


def tell_all(session: Session, rows: Sequence[schema.ObservationRow]) -> list[Told]:
    """Return what the rule says of each observation of one robot, in their order."""
    if not rows:
        return []
    start_ns = min(row.stamp_ns for row in rows)
    end_ns = max(row.end_ns for row in rows)
    runs = read_runs(session, rows[0].robot_id, start_ns, end_ns)
    others = read_others(session, rows[0].robot_id, start_ns - BEFORE_NS, end_ns) if runs else []
    return [_tell(one, runs, others) for one in read_around(session, rows)]


def read_others(session: Session, robot_id: int, start_ns: int,
                end_ns: int) -> list[tuple[schema.ObservationRow, str]]:
    """Return the observations that begin in [start_ns, end_ns), each with its camera or ''."""
    row, clip = schema.ObservationRow, schema.ClipRow
    return [(item, camera) for item, camera in session.execute(
        select(row, func.coalesce(clip.camera, '')).outerjoin(clip, clip.id == row.clip_id).where(
            row.robot_id == robot_id, row.stamp_ns >= start_ns, row.stamp_ns < end_ns)
        .order_by(row.stamp_ns, row.id))]


def stays_put(before: schema.ObservationRow, after: schema.ObservationRow) -> bool:
    """Whether an observation goes on where an earlier one of the same camera ended.

    Of an instance that its source vouches for, whether both are of it.
    """
    if before.instance or after.instance:
        return before.instance == after.instance
    return (before.name == after.name and bool(before.last_bbox) and bool(after.first_bbox)
            and _overlap(before.last_bbox or (), after.first_bbox or ()) >= SAME_PLACE)


def _tell(one: Around, runs: Sequence[tuple[int, int, Run]],
          others: Sequence[tuple[schema.ObservationRow, str]]) -> Told:
    row = one.row
    mine = [(begins, run) for begins, ends, run in runs
            if begins < row.end_ns and ends > row.stamp_ns
            and concerns(run, row.name, row.instance, row.attributes)]
    kept = [run for begins, run in mine
            if one.is_handled or not _has_rival(row, begins, run, others)]
    return tell(one.looks, kept, row.name, row.attributes, row.is_person, one.holds)


def _has_rival(row: schema.ObservationRow, begins_ns: int, run: Run,
               others: Sequence[tuple[schema.ObservationRow, str]]) -> bool:
    """Whether a run may be about another thing that the same camera saw while it went on."""
    camera = next((camera for other, camera in others if other.id == row.id), '')
    return any(where == camera and other.id != row.id and other.stamp_ns < row.end_ns
               and other.end_ns > max(begins_ns, row.stamp_ns - BEFORE_NS)
               and concerns(run, other.name, other.instance, other.attributes)
               and not (other.end_ns <= row.stamp_ns and stays_put(other, row))
               for other, where in others)


def _own_objects(session: Session, rows: Sequence[schema.ObservationRow]
                 ) -> Iterator[tuple[int, schema.SceneObjectRow]]:
    """Yield the objects in scenes that are an observation's, by its id."""
    item, linked = schema.SceneObjectRow, set[int]()
    for part in _parts([row.id for row in rows]):
        for found in session.scalars(select(item).where(item.observation_id.in_(part))):
            assert found.observation_id is not None
            linked.add(found.observation_id)
            yield found.observation_id, found
    for row in rows:
        if row.instance and row.id not in linked:
            for found in session.scalars(select(item).where(and_(
                    item.robot_id == row.robot_id, item.name == row.name,
                    item.stamp_ns >= row.stamp_ns, item.stamp_ns <= row.end_ns,
                    item.instance == row.instance))):
                yield row.id, found


def _by_scene(session: Session, table: Any, scene_ids: Sequence[int]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for part in _parts(scene_ids):
        for item in session.scalars(
                select(table).where(table.scene_id.in_(part)).order_by(table.id)):
            found.setdefault(item.scene_id, []).append(item)
    return found


def _of(item: Any, things: Sequence[Any], relations: Sequence[Any]) -> Iterator[Any]:
    """Yield the relations of a scene whose subject is this object."""
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for one in relations:
        if one.subject == _key(item):
            groups.setdefault((one.subject, one.predicate, one.object), []).append(one)
    rivals = [thing for thing in things if _key(thing) == _key(item)]
    for (_, _, other), said in groups.items():
        ranked = sorted(rivals, key=lambda thing: _gap_to(thing, other, things))
        if any(thing is item or thing.id == item.id for thing in ranked[:len(said)]):
            yield said[0]


def _done_to(item: Any, things: Sequence[Any], relations: Sequence[Any]) -> Iterator[Any]:
    """Yield the relations of those who hold or use this object, where they tell which it is."""
    if _is_sole(item, things):
        yield from (one for one in relations if one.object == _key(item)
                    and words_of_name(one.predicate) in HOLDS)


def _held_by(item: Any, things: Sequence[Any], relations: Sequence[Any]) -> Iterator[str]:
    """Yield what this person holds, where nobody else could."""
    if not _is_sole(item, things):
        return
    for one in relations:
        predicate = words_of_name(one.predicate)
        if one.object == _key(item) and predicate in HELD:
            yield _called(one.subject, things)
        elif one.subject == _key(item) and HOLDS.get(predicate) in HELD:
            yield _called(one.object, things)


def _is_sole(item: Any, things: Sequence[Any]) -> bool:
    return sum(_key(thing) == _key(item) for thing in things) == 1


def _key(thing: Any) -> str:
    return str(thing.instance or thing.name)


def _called(key: str, things: Sequence[Any]) -> str:
    """Return the name of what a relation names by its instance."""
    return next((str(thing.name) for thing in things if thing.instance == key), key)


def _gap_to(thing: Any, other: str, things: Sequence[Any]) -> float:
    """Return how far a box lies from the nearest box of another thing, px."""
    gaps = [_gap(thing.bbox, one.bbox) for one in things
            if _key(one) == other and one.id != thing.id and thing.bbox and one.bbox]
    return min(gaps, default=math.inf)


def _gap(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the distance of two boxes; of two that touch, less than 0, the more the deeper."""
    apart_x = max(first[0], second[0]) - min(first[2], second[2])
    apart_y = max(first[1], second[1]) - min(first[3], second[3])
    return math.hypot(max(apart_x, 0), max(apart_y, 0)) or max(apart_x, apart_y)


def _overlap(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the overlap (IoU) of two boxes, 0..1."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return width * height / (sum(areas) - width * height)


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start:start + IN_LIMIT] for start in range(0, len(items), IN_LIMIT))
