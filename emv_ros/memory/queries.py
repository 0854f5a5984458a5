"""Exact questions to the store: which records fit, in order of time.

A filter is a frozen dataclass; what it means stands in its fields. With `before_ns` (the time of a
question) nothing that was recorded later is seen: later rows are absent, and a run of a skill is
shown as it stood then.
"""

# No `from __future__ import annotations` here: `annotations` is one of the questions.

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
import re
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, false, func, or_, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.documents import text_of
from emv_ros.memory.dropped import GOAL, PREFIX
from emv_ros.memory.entities import entities_called, stands_for
from emv_ros.memory.letter_case import equals, holds
from emv_ros.memory.names import match_names, names_like, spellings, stem
from emv_ros.memory.parents import with_goals
from emv_ros.memory.rows import object_of, record_of, relation_of
from emv_ros.memory.store import MemoryStore
from emv_ros.records import (
    Annotation,
    ImageRecord,
    Node,
    Observation,
    QueryRecord,
    Scene,
    SceneObject,
    SkillEvent,
    Status,
    Utterance,
)

_WORDS = re.compile(r'\w+')


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Whose records, and when: those that overlap [start_ns, end_ns); None is open.

    Where both are equal, the window is that instant; one that ends before it starts holds
    nothing. `before_ns` is the time of a question.
    """

    robots: tuple[str, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    before_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which part of the rows, in order of time (latest first where `newest_first`)."""

    limit: int | None = None
    offset: int = 0
    newest_first: bool = False


CHUNK = 500
ALL = Window()
EVERY = Page()


@dataclass(frozen=True, slots=True)
class Sighting:
    """An object in a scene, with when and by whom it was seen."""

    scene_id: int
    robot: str
    stamp_ns: int
    object: SceneObject


def skill_events(store: MemoryStore, window: Window = ALL, *, skill: str = '',
                 status: Iterable[str] = (), goal: str = '', text: str = '', top_only: bool = False,
                 page: Page = EVERY) -> list[SkillEvent]:
    """Return runs of skills.

    `skill` and `goal` are names as people or programs write them; a goal matches at any depth of
    the goal stack, and the run of the goal itself. A run that names only its parent has the goal
    stack that follows. All words of `text` must stand in the run's
    document, as it was at the time of the question.
    """
    return skill_events_page(
        store, window, skill=skill, status=status, goal=goal, text=text, top_only=top_only,
        page=page, is_counted=False)[0]


def skill_events_page(
        store: MemoryStore, window: Window = ALL, *, skill: str = '', status: Iterable[str] = (),
        goal: str = '', text: str = '', top_only: bool = False, page: Page = EVERY,
        is_counted: bool = True) -> tuple[list[SkillEvent], int]:
    """Return runs as skill_events, and how many fit, those beyond the page included.

    Without `is_counted` the number may be that of the page.
    """
    row = schema.SkillEventRow
    wanted = {Status(item) for item in status}
    # What SQL cannot tell is sifted below, and so the page is cut there too. As a run stood at the
    # time of a question, its state and its words may be others.
    is_past = window.before_ns is not None
    is_sifted = bool(goal or top_only or (is_past and (wanted or text)))
    with store.reading() as session:
        query = within(store, session, select(row), row, window)
        if skill:
            query = query.where(row.skill.in_(names_like(session, row.skill, skill)))
        if wanted and not is_past:
            query = query.where(row.status.in_([str(item) for item in wanted]))
        if text:
            is_told = row.id.in_(_documents_with(text, 'skill_event'))
            # Of a run that went on later the document says what was not known yet.
            query = query.where(is_told if window.before_ns is None else or_(
                is_told, row.last_report_ns >= window.before_ns))
        rows = session.scalars(_ordered(query, row, EVERY if is_sifted else page))
        robots = store.robot_ids(session)
        found = with_goals(store, session, [
            record_of('skill_event', item, robots[item.robot_id]) for item in rows],
            window.before_ns)
        total = len(found)
        if is_counted and not is_sifted and page != EVERY:
            total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    events = [as_of(event, window.before_ns) for event in found]
    if not is_sifted:
        return events, total
    events = [event for event, whole in zip(events, found, strict=True)
              if (not wanted or event.status in wanted) and (not goal or _has_goal(event, goal))
              and not (top_only and event.goal_stack)
              and (not text or event is whole or says(event, text))]
    if page.newest_first:
        events.reverse()
    return events[page.offset:][:page.limit], len(events)


def as_of(event: SkillEvent, before_ns: int | None) -> SkillEvent:
    """Return the run as it stood just before `before_ns`; what came later is unknown in it."""
    if before_ns is None or event.last_report_ns < before_ns:
        return event
    known = tuple(change for change in event.transitions if change[1] < before_ns)
    status = Status(known[-1][0]) if known else Status.UNKNOWN
    end_ns = event.end_ns if event.end_ns is not None and event.end_ns < before_ns else None
    is_heard = event.extra.get('narrated_ns', event.stamp_ns) < before_ns
    if end_ns is None and status.is_final:
        # A span that was told at once, and was not over yet.
        status, is_heard = Status.RUNNING, False
        known = (*known[:-1], (str(status), known[-1][1]))
    return replace(
        event, transitions=known, status=status, end_ns=end_ns,
        narration=event.narration if is_heard else '',
        last_report_ns=max((stamp_ns for _, stamp_ns in known), default=event.stamp_ns))


def seen_as_of(seen: Observation, before_ns: int | None) -> Observation:
    """Return the observation as it stood just before `before_ns`.

    What a description took from the end of it, or from words after it, is unknown before that; so
    is a name by clothing that only a later observation tells.
    """
    if before_ns is None:
        return seen
    called = seen.extra.get('called')
    if called and called['known_ns'] >= before_ns:
        seen = replace(seen, name=called['was'], attributes={
            key: value for key, value in seen.attributes.items() if key != 'named_by'})
    is_described = seen.made_by in ('rule', 'model')
    if is_described and max(seen.end_ns, seen.extra.get('told_ns', 0)) > before_ns:
        seen = replace(seen, event='', text='', location='')
    return replace(seen, end_ns=min(seen.end_ns, before_ns))


def utterances(store: MemoryStore, window: Window = ALL, *, text: str = '', speaker: str = '',
               page: Page = EVERY) -> list[Utterance]:
    """Return what was said, by a speaker and with all words of `text`.

    The speaker 'robot' also finds the robot's own words.
    """
    row = schema.UtteranceRow
    with store.reading() as session:
        query = within(store, session, select(row), row, window)
        if speaker:
            is_speaker = equals(row.speaker, speaker)
            own = row.is_own if speaker.lower() in ('robot', 'me', 'i', 'self') else None
            query = query.where(is_speaker if own is None else or_(is_speaker, own))
        if text:
            query = query.where(row.id.in_(_documents_with(text, 'utterance')))
        return _records(store, session, 'utterance', _ordered(query, row, page))


def annotations(store: MemoryStore, window: Window = ALL, *, kind: str = '', text: str = '',
                page: Page = EVERY) -> list[Annotation]:
    """Return goals and narrations that their source named."""
    row = schema.AnnotationRow
    with store.reading() as session:
        query = within(store, session, select(row), row, window)
        if kind:
            query = query.where(row.kind == kind)
        if text:
            query = query.where(row.id.in_(_documents_with(text, 'annotation')))
        return _records(store, session, 'annotation', _ordered(query, row, page))


def observations(store: MemoryStore, window: Window = ALL, *, name: str = '', text: str = '',
                 entity_id: int | None = None, instance: str = '',
                 page: Page = EVERY) -> list[Observation]:
    """Return observations of things whose name, or that of their entity, holds `name`.

    `entity_id` is that of an entity, or of one that was merged into it.
    """
    row = schema.ObservationRow
    with store.reading() as session:
        query = within(store, session, select(row), row, window)
        if name:
            called = and_(row.robot_id.in_(list(store.robot_ids(session, window.robots))),
                          row.name.in_(names_like(session, row.name, name)))
            entities = entities_called(session, name)
            query = query.where(or_(called, among(row.entity_id, entities)) if entities else called)
        if text:
            query = query.where(row.id.in_(_documents_with(text, 'observation')))
        if entity_id is not None:
            query = query.where(row.entity_id == (stands_for(session, entity_id) or 0))
        if instance:
            query = query.where(row.instance == instance)
        return _records(store, session, 'observation', _ordered(query, row, page))


def sightings(store: MemoryStore, window: Window = ALL, *, name: str = '', instance: str = '',
              page: Page = EVERY) -> list[Sighting]:
    """Return each time that a scene held an object of the name (or a name that holds it).

    Without those of which an observation tells: that says the same once.
    """
    row = schema.SceneObjectRow
    with store.reading() as session:
        query = within(store, session, select(row), row, window).where(
            row.observation_id.is_(None))
        if name:
            query = query.where(row.name.in_(names_like(session, row.name, name)))
        if instance:
            query = query.where(row.instance == instance)
        robots = store.robot_ids(session)
        return [Sighting(item.scene_id, robots[item.robot_id], item.stamp_ns, object_of(item))
                for item in session.scalars(_ordered(query, row, page))]


def scenes(store: MemoryStore, window: Window = ALL, *, ids: Sequence[int] | None = None,
           page: Page = EVERY) -> list[Scene]:
    """Return scenes with their objects and relations."""
    row = schema.SceneRow
    with store.reading() as session:
        query = within(store, session, select(row), row, window)
        if ids is not None:
            query = query.where(row.id.in_(list(ids)))
        found: list[Scene] = _records(store, session, 'scene', _ordered(query, row, page))
        keys = [scene.id for scene in found]
        objects = _parts(session, schema.SceneObjectRow, keys)
        relations = _parts(session, schema.SceneRelationRow, keys)
    return [replace(scene, objects=tuple(map(object_of, objects.get(scene.id, ()))),
                    relations=tuple(map(relation_of, relations.get(scene.id, ()))))
            for scene in found]


def _parts(session: Session, table: Any, scene_ids: Sequence[int | None]) -> dict[Any, list[Any]]:
    parts: dict[Any, list[Any]] = {}
    for start in range(0, len(scene_ids), CHUNK):
        for item in session.scalars(select(table).where(
                table.scene_id.in_(scene_ids[start:start + CHUNK])).order_by(table.id)):
            parts.setdefault(item.scene_id, []).append(item)
    return parts


def images(store: MemoryStore, window: Window = ALL, *, camera: str = '',
           is_kept: bool | None = None, page: Page = EVERY) -> list[ImageRecord]:
    """Return stored pictures, of one camera where named; `is_kept`: whose file is there or not."""
    row = schema.ImageRow
    with store.reading() as session:
        query = within(store, session, select(row), row, window)
        if camera:
            query = query.where(row.camera == camera)
        if is_kept is not None:
            query = query.where((row.gone == '') == is_kept)
        return _records(store, session, 'image', _ordered(query, row, page))


def nodes(store: MemoryStore, window: Window = ALL, *, level: int | None = None,
          parent_id: int | None = None, roots: bool = False, page: Page = EVERY) -> list[Node]:
    """Return nodes of the tree; with `before_ns` only those that hold nothing later."""
    row = schema.NodeRow
    with store.reading() as session:
        query = within(store, session, select(row), row, window)
        if level is not None:
            query = query.where(row.level == level)
        if parent_id is not None:
            query = query.where(row.parent_id == parent_id)
        if roots:
            query = query.where(row.parent_id.is_(None))
        return _records(store, session, 'node', _ordered(query, row, page))


def members(store: MemoryStore, node_id: int) -> list[tuple[str, int]]:
    """Return the (kind, id) of the records that a node was made of."""
    row = schema.NodeMemberRow
    with store.reading() as session:
        return [(kind, ref_id) for kind, ref_id in session.execute(
            select(row.kind, row.ref_id).where(
                row.node_id == node_id, ~row.kind.startswith(PREFIX, autoescape=True))
            .order_by(row.kind, row.ref_id))]


def latest_query(store: MemoryStore) -> QueryRecord | None:
    """Return the question that was answered last, or None."""
    row = schema.QueryRow
    with store.reading() as session:
        found = session.scalar(select(row).order_by(row.id.desc()).limit(1))
        return record_of('query', found, '') if found else None


def known_names(store: MemoryStore, robots: Iterable[str] = (),
                before_ns: int | None = None) -> dict[str, list[str]]:
    """Return the distinct names that occur: skills, goals, objects, cameras, speakers.

    With `before_ns` only those that were recorded before it.
    """
    skill, annotation, node = schema.SkillEventRow, schema.AnnotationRow, schema.NodeRow
    with store.reading() as session:
        ids = list(store.robot_ids(session, robots))

        def known(table: Any) -> list[ColumnElement[bool]]:
            is_theirs = table.robot_id.in_(ids)
            return [is_theirs] if before_ns is None else [is_theirs, table.stamp_ns < before_ns]

        def distinct(column: Any, table: Any) -> list[str]:
            return sorted(session.scalars(select(column).where(
                *known(table)).distinct()))

        objects = {*distinct(schema.SceneObjectRow.name, schema.SceneObjectRow),
                   *distinct(schema.ObservationRow.name, schema.ObservationRow)}
        skills = distinct(skill.skill, skill)
        goals = {*session.scalars(select(annotation.text).where(
            *known(annotation), annotation.kind == 'goal').distinct()),
            *session.scalars(select(node.name).where(
                node.robot_id.in_(ids), node.level == GOAL, node.name != '',
                *(() if before_ns is None else (node.start_ns < before_ns,))).distinct())}
        return {'skills': skills, 'goals': sorted(goals.difference(skills)),
                'objects': sorted(objects),
                'cameras': distinct(schema.ImageRow.camera, schema.ImageRow),
                'speakers': distinct(schema.UtteranceRow.speaker, schema.UtteranceRow)}


def _has_goal(event: SkillEvent, goal: str) -> bool:
    return bool(match_names(goal, (event.skill, *event.goal_stack)))


def says(event: SkillEvent, text: str) -> bool:
    """Whether all words of a text stand in the document of a run, as it is given."""
    told = (text_of(event) or '').lower()
    return all(any(form in told for form in forms) for forms in _forms(text))


def _forms(text: str) -> list[set[str]]:
    """Return of each word how it may stand in a document; a text of no words stands as it is."""
    words = _WORDS.findall(text.lower()) or [' '.join(text.lower().split())]
    return [{form for spelt in spellings(word) for form in (spelt, stem(spelt))} for word in words]


def _documents_with(text: str, kind: str) -> Select[int]:
    row = schema.DocumentRow
    conditions = [or_(*(holds(row.text, form) for form in sorted(forms)))
                  for forms in _forms(text)]
    return select(row.ref_id).where(and_(row.kind == kind, *conditions))


def within(store: MemoryStore, session: Session, query: Any, row: Any, window: Window) -> Any:
    """Narrow a query to a window; a row without an end is an instant, a running skill goes on."""
    is_node = row is schema.NodeRow
    start = row.start_ns if is_node else row.stamp_ns
    end = row.end_ns if hasattr(row, 'end_ns') else start
    if row is schema.SkillEventRow:
        # A run whose end was never reported reaches to the last report about it.
        end = func.coalesce(row.end_ns, row.last_report_ns + 1)
    elif row is schema.UtteranceRow:
        end = func.coalesce(row.end_ns, start)
    if window.robots:
        query = query.where(row.robot_id.in_(list(store.robot_ids(session, window.robots))))
    if window.start_ns is not None:
        query = query.where(or_(end > window.start_ns, start >= window.start_ns))
    if window.end_ns is not None:
        is_instant = window.start_ns == window.end_ns
        if window.start_ns is not None and window.end_ns < window.start_ns:
            query = query.where(false())
        query = query.where(start <= window.end_ns if is_instant else start < window.end_ns)
    if window.before_ns is not None:
        query = query.where((end if is_node else start) < window.before_ns)
    return query


def _ordered(query: Any, row: Any, page: Page) -> Any:
    start = row.start_ns if row is schema.NodeRow else row.stamp_ns
    order = (start.desc(), row.id.desc()) if page.newest_first else (start, row.id)
    query = query.order_by(*order)
    if page.limit is not None:
        query = query.limit(page.limit)
    return query.offset(page.offset) if page.offset else query


def _records(store: MemoryStore, session: Session, kind: str, query: Any) -> list[Any]:
    robots = store.robot_ids(session)
    return [record_of(kind, item, robots[item.robot_id]) for item in session.scalars(query)]
