"""Objects of scenes that are of an observation, found and taken out with what names only them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import and_, delete, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among

Reopen = Callable[[Session, str, Iterable[int]], None]
Span = tuple[int, int]  # the first and last stamp

CHUNK = 500
# In `extra` of a scene: why parts of it were refused, in words that quote them.
REFUSED = 'refused'


def objects_showing(session: Session, rows: Sequence[Any], is_whole: bool) -> set[int]:
    """Return the ids of the objects of scenes that are of observations.

    By the link to their observation; by the instance within its span, and with `is_whole` in all of
    its session, except for what is of an observation that stays.
    """
    part, going = schema.SceneObjectRow, {row.id for row in rows}
    found = set(session.scalars(select(part.id).where(
        among(part.observation_id, [row.id for row in rows]))))
    spans: dict[int, dict[str, list[Span]]] = {}
    for row in rows:
        if row.instance:
            spans.setdefault(row.session_id, {}).setdefault(row.instance, []).append(_span(row))
    for session_id, told in spans.items():
        ordered = sorted(told)
        for start in range(0, len(ordered), CHUNK):
            instances = ordered[start:start + CHUNK]
            found |= _in_session(session, session_id, {
                name: told[name] for name in instances}, going, is_whole)
    return found


def _in_session(session: Session, session_id: int, told: dict[str, list[Span]],
                going: Collection[int], is_whole: bool) -> set[int]:
    """Return the objects of some instances that lie in spans, or with `is_whole` in no other."""
    part, scene, seen = schema.SceneObjectRow, schema.SceneRow, schema.ObservationRow
    others: dict[str, list[Span]] = {name: [] for name in told}
    for item in session.execute(
            select(seen.id, seen.instance, seen.stamp_ns, seen.end_ns).where(
                seen.session_id == session_id, seen.instance.in_(told))):
        if item.id not in going:
            others[item.instance].append(_span(item))
    its = {name: _Spans(spans) for name, spans in told.items()}
    left = {name: _Spans(spans) for name, spans in others.items()}
    query = select(part.id, part.instance, part.stamp_ns).join(
        scene, scene.id == part.scene_id).where(
        scene.session_id == session_id, part.instance.in_(told), part.observation_id.is_(None))
    if not is_whole:
        query = query.where(
            scene.stamp_ns >= min(first_ns for spans in told.values() for first_ns, _ in spans),
            scene.stamp_ns <= max(last_ns for spans in told.values() for _, last_ns in spans))
    return {key for key, name, stamp_ns in session.execute(query)
            if stamp_ns in its[name] or (is_whole and stamp_ns not in left[name])}


class _Spans:
    """Spans of time, ends included: whether a stamp lies in one is found by halving."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for first_ns, last_ns in sorted(spans):
            if self._ends and first_ns <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], last_ns)
            else:
                self._starts.append(first_ns)
                self._ends.append(last_ns)

    def __contains__(self, stamp_ns: int) -> bool:
        place = bisect_right(self._starts, stamp_ns) - 1
        return place >= 0 and stamp_ns <= self._ends[place]


def _span(row: Any) -> Span:
    return row.stamp_ns, max(row.stamp_ns, row.end_ns)


def objects_called(session: Session, robot_ids: Collection[int],
                   names: Collection[str]) -> set[int]:
    """Return the ids of the objects that bear a name and are of no observation."""
    part, told = schema.SceneObjectRow, sorted(names)
    found: set[int] = set()
    for start in range(0, len(told), CHUNK):
        found.update(session.scalars(select(part.id).where(
            part.robot_id.in_(sorted(robot_ids)), part.name.in_(told[start:start + CHUNK]),
            part.observation_id.is_(None))))
    return found


def take_out(session: Session, object_ids: Sequence[int], reopen: Reopen) -> tuple[int, int]:
    """Delete objects, the relations that name only them, and scenes that show nothing else.

    Return how many scenes changed or went, and how many relations went.
    """
    part = schema.SceneObjectRow
    of_scene: dict[int, list[tuple[int, str, str]]] = {}
    for item in session.execute(select(part.id, part.scene_id, part.name, part.instance).where(
            among(part.id, object_ids))):
        of_scene.setdefault(item.scene_id, []).append((item.id, item.name, item.instance))
    scene_ids, relations = sorted(of_scene), 0
    for start in range(0, len(scene_ids), CHUNK):
        ids = scene_ids[start:start + CHUNK]
        reopen(session, 'scene', ids)
        session.execute(delete(part).where(among(
            part.id, [key for scene_id in ids for key, _, _ in of_scene[scene_id]])))
        relations += _without(session, ids, of_scene)
    return len(scene_ids), relations


def _without(session: Session, scene_ids: Sequence[int],
             gone: dict[int, list[tuple[int, str, str]]]) -> int:
    """Delete what else tells of the objects that are gone; return how many relations."""
    part, relation, scene = schema.SceneObjectRow, schema.SceneRelationRow, schema.SceneRow
    left: dict[int, set[str]] = {}
    for scene_id, name, instance in session.execute(
            select(part.scene_id, part.name, part.instance).where(among(part.scene_id, scene_ids))):
        left.setdefault(scene_id, set()).update((name, instance))
    going, kept = [], set()
    for item in session.execute(select(relation.id, relation.scene_id, relation.subject,
                                       relation.object).where(
            among(relation.scene_id, scene_ids))):
        names = {name for _, *told in gone[item.scene_id] for name in told} - {''} - left.get(
            item.scene_id, set())
        if names & {item.subject, item.object}:
            going.append(item.id)
        else:
            kept.add(item.scene_id)
    session.execute(delete(relation).where(among(relation.id, going)))
    empty = [key for key in scene_ids if key not in left and key not in kept]
    session.execute(delete(schema.NodeMemberRow).where(and_(
        schema.NodeMemberRow.kind == 'scene', among(schema.NodeMemberRow.ref_id, empty))))
    session.execute(delete(scene).where(among(scene.id, empty)))
    for row in session.scalars(select(scene).where(among(scene.id, scene_ids))):
        if REFUSED in row.extra:
            row.extra = {key: value for key, value in row.extra.items() if key != REFUSED}
    session.flush()
    return len(going)
