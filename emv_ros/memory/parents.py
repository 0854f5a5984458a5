"""The goals of runs that name their parent by its id alone, as their goal stack would tell them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent
from emv_ros.timeline import SECOND_NS

CHUNK = 500
# A child may begin this long after its goal's last report, or before its first.
SLACK_NS = 2 * SECOND_NS
# The deepest nesting, far beyond that of any robot: a source that goes deeper is broken, and
# neither what derives the tree nor what reads it may fail over it.
DEEPEST = 64

Key = tuple[int | None, str]  # session, id of the source


@dataclass(frozen=True, slots=True)
class _Run:
    id: int
    stamp_ns: int
    skill: str
    goals: tuple[str, ...]
    parent: str


def with_goals(store: MemoryStore, session: Session, events: Sequence[SkillEvent],
               before_ns: int | None) -> list[SkillEvent]:
    """Return runs with the goals that they serve, where only their parents tell these.

    An id that was used again means the run that began last before the part. A parent that is not
    in memory, or came later than `before_ns`, tells nothing: such a run is one at the top.
    """
    lacking = {_key(event) for event in events if event.parent_source_id and not event.goal_stack}
    if not lacking:
        return list(events)
    known = _ancestors(store, session, lacking, before_ns)
    return [event if event.goal_stack or not event.parent_source_id else replace(
        event, goal_stack=_goals_of(_key(event), event.stamp_ns, {event.id}, known))
        for event in events]


def _key(event: SkillEvent) -> Key:
    return event.session_id, event.parent_source_id


def _ancestors(store: MemoryStore, session: Session, wanted: set[Key],
               before_ns: int | None) -> dict[Key, list[_Run]]:
    known: dict[Key, list[_Run]] = {}
    robots = list(store.robot_ids(session))
    for _ in range(DEEPEST):
        wanted = wanted.difference(known)
        if not wanted:
            break
        known |= {key: [] for key in wanted}
        for key, run in _runs(session, robots, sorted({source for _, source in wanted})):
            if key in wanted and (before_ns is None or run.stamp_ns < before_ns):
                known[key].append(run)
        wanted = {(key[0], run.parent) for key in wanted for run in known[key]
                  if run.parent and not run.goals}
    return known


def _runs(session: Session, robots: list[int],
          sources: list[str]) -> Iterable[tuple[Key, _Run]]:
    row = schema.SkillEventRow
    for start in range(0, len(sources), CHUNK):
        for found in session.execute(
                select(row.session_id, row.source_id, row.id, row.stamp_ns, row.skill,
                       row.goal_stack, row.parent_source_id)
                .where(row.robot_id.in_(robots), row.source_id.in_(sources[start:start + CHUNK]))
                .order_by(row.stamp_ns, row.id)):
            yield (found.session_id, found.source_id), _Run(
                found.id, found.stamp_ns, found.skill, tuple(found.goal_stack),
                found.parent_source_id)


def _goals_of(key: Key, stamp_ns: int, below: set[int | None],
              known: dict[Key, list[_Run]]) -> tuple[str, ...]:
    """Return the goals down to the run of an id; `below` are runs that it cannot be part of."""
    runs = [run for run in known.get(key, ()) if run.id not in below]
    if not runs or len(below) > DEEPEST:
        return ()
    begun = [run for run in runs if run.stamp_ns <= stamp_ns + SLACK_NS]
    parent = begun[-1] if begun else runs[0]
    above = parent.goals or _goals_of(
        (key[0], parent.parent), parent.stamp_ns, below | {parent.id}, known)
    return (*above, parent.skill)
