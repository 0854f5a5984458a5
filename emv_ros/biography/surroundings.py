"""What stands around observations in the memory: their scenes, and the runs that concern them.

Read for many observations at once. Of several like things in one scene, a relation is of that
whose box is nearest to the other thing. Nothing recorded after an observation is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
import math
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.biography.rule_words import (
    HELD,
    HOLDS,
    SUPPORTS,
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
# Further than any two boxes of a picture are apart.
FAR_PX = 1e6


class _Thing(NamedTuple):
    """An object of a scene."""

    id: int
    name: str
    instance: str
    bbox: Sequence[float] | None


_Relation = tuple[str, str, str]  # subject, predicate, object
# Of one scene: how each object stands, and what each holds, by its id.
_SceneTold = tuple[dict[int, list[State]], dict[int, list[str]]]
_NOTHING: _SceneTold = ({}, {})


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
    told = _told_in_scenes(session, sorted({scene_id for _, scene_id, _ in own}))
    for key, scene_id, item_id in sorted(own, key=lambda triple: triple[1:]):
        around = found[key]
        if len(around.looks) >= MAX_LOOKS:
            around.looks = around.looks[::2]
        stands, holds = told.get(scene_id, _NOTHING)
        around.looks.append(stands.get(item_id, []))
        if around.row.is_person:
            around.holds += holds.get(item_id, [])
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
                 ) -> Iterator[tuple[int, int, int]]:
    """Yield (observation, scene, object) of the objects in scenes that are an observation's.

    Scenes of one camera are numbered in order of time.
    """
    item, linked = schema.SceneObjectRow, set[int]()
    for part in _parts([row.id for row in rows]):
        for observation_id, scene_id, item_id in session.execute(
                select(item.observation_id, item.scene_id, item.id)
                .where(item.observation_id.in_(part))):
            if observation_id is not None:
                linked.add(observation_id)
                yield observation_id, scene_id, item_id
    for row in rows:
        if row.instance and row.id not in linked:
            for scene_id, item_id in session.execute(select(item.scene_id, item.id).where(
                    item.robot_id == row.robot_id, item.name == row.name,
                    item.stamp_ns >= row.stamp_ns, item.stamp_ns <= row.end_ns,
                    item.instance == row.instance)):
                yield row.id, scene_id, item_id


def _told_in_scenes(session: Session, scene_ids: Sequence[int]) -> dict[int, _SceneTold]:
    """Return what scenes tell of their objects."""
    item, link = schema.SceneObjectRow, schema.SceneRelationRow
    things: dict[int, list[_Thing]] = {}
    relations: dict[int, list[_Relation]] = {}
    for part in _parts(scene_ids):
        for scene_id, *values in session.execute(
                select(item.scene_id, item.id, item.name, item.instance, item.bbox)
                .where(item.scene_id.in_(part)).order_by(item.id)):
            things.setdefault(scene_id, []).append(_Thing(*values))
        for scene_id, subject, predicate, other in session.execute(
                select(link.scene_id, link.subject, link.predicate, link.object)
                .where(link.scene_id.in_(part)).order_by(link.id)):
            relations.setdefault(scene_id, []).append((subject, predicate, other))
    return {scene_id: _told(found, relations.get(scene_id, []))
            for scene_id, found in things.items()}


def _told(things: Sequence[_Thing], relations: Sequence[_Relation]) -> _SceneTold:
    """Return how the objects of a scene stand, and what persons hold, by the objects' ids."""
    by_key: dict[str, list[_Thing]] = {}
    for thing in things:
        by_key.setdefault(thing.instance or thing.name, []).append(thing)
    names = {thing.instance: thing.name for thing in things if thing.instance}
    stands: dict[int, list[State]] = {}
    holds: dict[int, list[str]] = {}
    counts = Counter(relations)
    resting = _resting(counts, by_key)
    for (subject, predicate, other), count in counts.items():
        doing = words_of_name(predicate)
        subjects, others = by_key.get(subject, []), by_key.get(other, [])
        if (subject, predicate, other) in resting:
            subjects = resting[subject, predicate, other]
        elif len(subjects) > count:  # of several like things the nearest ones
            subjects = sorted(subjects, key=lambda thing: _gap_to(thing, others))[:count]
        for thing in subjects:
            stands.setdefault(thing.id, []).append((predicate, names.get(other, other)))
        if doing in HOLDS and len(others) == 1:
            stands.setdefault(others[0].id, []).append(
                (HOLDS[doing], names.get(subject, subject)))
        if doing in HELD and len(others) == 1:
            holds.setdefault(others[0].id, []).append(names.get(subject, subject))
        elif HOLDS.get(doing) in HELD and len(by_key.get(subject, ())) == 1:
            holds.setdefault(subjects[0].id, []).append(names.get(other, other))
    return stands, holds


def _resting(counts: Counter[_Relation],
             by_key: dict[str, list[_Thing]]) -> dict[_Relation, list[_Thing]]:
    """Return of relations by which like things rest or are held those of which each one is.

    Each thing has one of them at most: the pairs that lie nearest to one another all together. A
    relation that is left over is nobody's: a box may have been dropped since. So a mug that reaches
    over the counter is on the shelf all the same where another must be the one on the counter.
    """
    from scipy.optimize import linear_sum_assignment

    found: dict[_Relation, list[_Thing]] = {}
    for key, subjects in by_key.items():
        rows = [relation for relation, count in counts.items() for _ in range(count)
                if relation[0] == key and words_of_name(relation[1]) in HELD | SUPPORTS.keys()]
        if len(rows) < 2 or len(subjects) < 2:
            continue
        found |= {relation: [] for relation in rows}
        gaps = [[min(_gap_to(thing, by_key.get(other, [])), FAR_PX) for thing in subjects]
                for _, _, other in rows]
        for row, place in zip(*linear_sum_assignment(gaps), strict=True):
            found[rows[row]].append(subjects[place])
    return found


def _gap_to(thing: _Thing, others: Sequence[_Thing]) -> float:
    """Return how far a box lies from the nearest box of other things, px."""
    return min((_gap(thing.bbox, other.bbox) for other in others
                if other.id != thing.id and thing.bbox and other.bbox), default=math.inf)


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
