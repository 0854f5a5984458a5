"""What was done at the top: runs within no goal, and goals of which only the steps were reported.

Behavior trees and planners often report each skill with the goal that it served, and never the goal
itself. Steps of such a goal that follow one another stand for it then, as they do in the tree
(`emv_ros.tree.goals`): one run with the goal's name, from the first step to the end of the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
import json

from sqlalchemy import String, cast, select

from emv_ros.memory import queries, schema
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent, Status
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS

# A longer pause between two steps begins the goal anew.
GAP_NS = round(TreeSettings().goal_gap_s * SECOND_NS)
# What a made run keeps in `extra`: the ids of its steps.
STEPS = 'steps'


def is_made(record: object) -> bool:
    """Whether a record is a run that was made of the steps of a goal."""
    return isinstance(record, SkillEvent) and STEPS in record.extra


def activities(store: MemoryStore, window: Window = ALL, *, status: Iterable[str] = (),
               text: str = '') -> list[SkillEvent]:
    """Return what was done at the top in a window, in order of time.

    A run that was made of steps has the id, the trigger and the start of the first of them, and the
    status and the end of the last, as far as it is known. No goal is made of steps where a run of
    it was ever reported, nor in a session whose source annotated goals: it tells all of them.
    """
    wanted = {Status(item) for item in status}
    told = queries.skill_events(store, window, status=wanted, text=text, top_only=True)
    made = [event for event in goals_of_steps(store, window)
            if (not wanted or event.status in wanted) and (not text or queries.says(event, text))]
    return sorted((*told, *made), key=lambda event: (event.stamp_ns, event.id or 0)
                  ) if made else told


def goals_of_steps(store: MemoryStore, window: Window = ALL) -> list[SkillEvent]:
    """Return a run for each stretch of steps whose outermost goal no run was ever reported of."""
    unreported = _unreported(store, window)
    if not unreported:
        return []
    annotated = _annotated_sessions(store)
    stretches: dict[tuple[object, ...], list[list[SkillEvent]]] = {}
    ends: dict[tuple[object, ...], int] = {}
    for event in queries.skill_events(store, window):
        if event.goal_stack and event.goal_stack[0] in unreported and (
                event.session_id not in annotated):
            key = (event.robot, event.session_id, event.goal_stack[0])
            same = stretches.setdefault(key, [])
            if not same or event.stamp_ns - ends[key] > GAP_NS:
                same.append([])
            same[-1].append(event)
            ends[key] = max(ends.get(key, 0), _end_of(event))
    return [_goal_of(steps) for same in stretches.values() for steps in same]


def _unreported(store: MemoryStore, window: Window) -> set[str]:
    """Return the outermost goals in a window that are the name of no run."""
    row = schema.SkillEventRow
    with store.reading() as session:
        stacks = session.scalars(queries.within(
            store, session, select(cast(row.goal_stack, String)).distinct(), row, window))
        goals = {stack[0] for stack in map(json.loads, stacks) if stack}
        return goals.difference(session.scalars(
            select(row.skill).where(row.skill.in_(goals)).distinct())) if goals else goals


def _annotated_sessions(store: MemoryStore) -> set[int | None]:
    row = schema.AnnotationRow
    with store.reading() as session:
        return set(session.scalars(
            select(row.session_id).where(row.kind == 'goal').distinct()))


def _goal_of(steps: list[SkillEvent]) -> SkillEvent:
    first, last = steps[0], max(steps, key=_end_of)
    return replace(
        first, skill=first.goal_stack[0], goal_stack=(), parameters={}, narration='',
        status=last.status, transitions=(), end_ns=_end_of(last),
        last_report_ns=max(step.last_report_ns for step in steps), source_id='',
        parent_source_id='', extra={STEPS: [step.id for step in steps]})


def _end_of(event: SkillEvent) -> int:
    return max(event.stamp_ns, event.last_report_ns if event.end_ns is None else event.end_ns)
