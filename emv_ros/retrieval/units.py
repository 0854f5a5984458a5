"""Units of what a search shows: all records that say the same are one, with all their times.

One skill with the same goals, words and outcome; one observed thing (its entity, or the instance
that its source vouches for) with the same words; the same words of one speaker; one episode of the
tree. A unit carries each of its records' ids and spans, so that each can be cited. What is one
thing is a setting (`merge`), for comparison. Nothing is ranked or chosen here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import String, cast, or_, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.documents import text_of
from emv_ros.memory.queries import as_of, seen_as_of
from emv_ros.memory.rows import record_of
from emv_ros.retrieval.lexical import group_key
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.terms import squash

CHUNK = 900
# The length of a key of observations that are told apart by their thing or name, and by words.
WHOLE = 3


@dataclass(frozen=True, slots=True)
class Span:
    """One record of a unit: its id and [start_ns, end_ns)."""

    ref_id: int
    start_ns: int
    end_ns: int

    def overlaps(self, start_ns: int, end_ns: int) -> bool:
        """Whether the span and [start_ns, end_ns) share a moment."""
        return self.start_ns < end_ns and max(self.end_ns, self.start_ns + 1) > start_ns


@dataclass(slots=True, kw_only=True)
class Unit:
    """Records of one kind and robot that say the same, in order of time.

    `key` is the same in each search of one memory; `group` is that of the text alone. `thing` names
    whatever is observed, '' for other kinds: several units may be of one thing.
    """

    key: tuple[Any, ...]
    group: int
    kind: str
    robot: str
    robot_id: int
    text: str
    spans: list[Span]
    goal: str = ''
    thing: str = ''
    name: str = ''
    entity_id: int | None = None
    level: int = 0
    score: float = 0.0
    similarity: float | None = None
    total: int = 0  # all its records, those that are not shown included
    at_moment: int = 0  # above 0 at or near a moment that the question names, the nearer the more
    reply: str = ''  # what was said to it, as a line's end
    verdicts: list[str] = field(default_factory=list)
    also_ns: list[int] = field(default_factory=list)

    @property
    def words(self) -> str:
        """All that the unit says, for comparison with a question."""
        return f'{self.text} {self.goal}'


@dataclass(frozen=True, slots=True)
class _Details:
    """What tells records of equal texts apart."""

    text: str
    end_ns: int
    goal: str = ''
    thing: str = ''
    name: str = ''
    entity_id: int | None = None
    level: int = 0


def units_of(session: Session, scope: Scope, robots: Mapping[int, str],
             documents: Iterable[int], merge: str = 'entity') -> list[Unit]:
    """Return the units that documents in scope make up; `merge` as the setting has it."""
    row = schema.DocumentRow
    rows = [found for part in _parts(sorted(set(documents))) for found in session.execute(
        select(row.id, row.kind, row.ref_id, row.robot_id, row.start_ns, row.end_ns, row.text)
        .where(among(row.id, part), *scope.conditions(by_id=True)))]
    details = _details(session, scope, robots, rows)
    units: dict[tuple[Any, ...], Unit] = {}
    groups: dict[tuple[int, str, str], int] = {}  # most say the same as others
    for _, kind, ref_id, robot_id, start_ns, end_ns, text in rows:
        told = details.get((kind, ref_id)) or _Details(text, end_ns)
        key = _key(kind, ref_id, robot_id, told, merge)
        unit = units.get(key)
        if unit is None:
            said = robot_id, kind, text
            if said not in groups:
                groups[said] = group_key(*said)
            unit = units[key] = Unit(
                key=key, group=groups[said], kind=kind, robot=robots[robot_id],
                robot_id=robot_id, text=told.text, spans=[], goal=told.goal, thing=told.thing,
                name=told.name, entity_id=told.entity_id, level=told.level)
        unit.spans.append(_span(scope, ref_id, start_ns, told.end_ns))
    for unit in units.values():
        unit.spans.sort(key=lambda span: (span.start_ns, span.ref_id))
        unit.total = len(unit.spans)
    return list(units.values())


def spans_of_thing(session: Session, scope: Scope, unit: Unit,
                   documents: Sequence[int]) -> list[Span]:
    """Return those of some documents that are of a unit's thing (or name), in order of time."""
    row, seen = schema.DocumentRow, schema.ObservationRow
    if unit.entity_id is not None and unit.thing in unit.key:
        is_same = seen.entity_id == unit.entity_id
    elif unit.thing in unit.key:
        is_same = seen.instance == unit.thing.partition(' ')[2]
    else:
        is_same = seen.name == unit.name
    found = [_span(scope, *item) for part in _parts(documents) for item in session.execute(
        select(row.ref_id, row.start_ns, row.end_ns).join(seen, seen.id == row.ref_id)
        .where(among(row.id, part), is_same, *scope.conditions(by_id=True)))]
    return sorted(found, key=lambda span: (span.start_ns, span.ref_id))


def spans_of(session: Session, scope: Scope, documents: Sequence[int]) -> dict[int, Span]:
    """Return the spans of documents in scope by the documents' ids."""
    row = schema.DocumentRow
    found = (item for part in _parts(documents) for item in session.execute(
        select(row.id, row.ref_id, row.start_ns, row.end_ns)
        .where(among(row.id, part), *scope.conditions(by_id=True))))
    return {key: _span(scope, *span) for key, *span in found}


def _span(scope: Scope, ref_id: int, start_ns: int, end_ns: int) -> Span:
    return Span(ref_id, start_ns, max(start_ns, scope.known_end(end_ns)))


def _key(kind: str, ref_id: int, robot_id: int, told: _Details, merge: str) -> tuple[Any, ...]:
    if kind == 'node' or merge == 'none' or (kind == 'observation' and merge == 'events'):
        return kind, ref_id
    if kind != 'observation':
        return kind, robot_id, _squashed(told.text), _squashed(told.goal)
    if merge == 'name':
        return kind, f'{robot_id} {_squashed(told.name)}', _squashed(told.text)
    if not told.thing:  # a name alone does not tell that two are one
        return kind, ref_id
    return kind, told.thing, _squashed(told.text)


def _details(session: Session, scope: Scope, robots: Mapping[int, str],
             rows: Sequence[Any]) -> dict[tuple[str, int], _Details]:
    by_kind: dict[str, list[Any]] = {}
    for item in rows:
        by_kind.setdefault(item.kind, []).append(item)
    found: dict[tuple[str, int], _Details] = {}
    for item in by_kind.get('node', ()):
        found['node', item.ref_id] = _Details(item.text, item.end_ns)
    node = schema.NodeRow
    for part in _parts([item.ref_id for item in by_kind.get('node', ())]):
        for key, level in session.execute(select(node.id, node.level).where(among(node.id, part))):
            known = found['node', key]
            found['node', key] = _Details(known.text, known.end_ns, level=level)
    found |= _of_observations(session, scope, by_kind.get('observation', ()))
    found |= _of_skills(session, scope, robots, by_kind.get('skill_event', ()))
    return found


def _of_observations(session: Session, scope: Scope,
                     rows: Sequence[Any]) -> Iterator[tuple[tuple[str, int], _Details]]:
    row, before_ns = schema.ObservationRow, scope.window.before_ns
    known = {item.ref_id: item for item in rows}
    for part in _parts(list(known)):
        then = _as_seen_then(session, part, before_ns)
        for key, robot_id, name, instance, entity_id in session.execute(
                select(row.id, row.robot_id, row.name, row.instance, row.entity_id)
                .where(among(row.id, part))):
            thing = f'e{entity_id}' if entity_id is not None else (
                f'{robot_id} {instance}' if instance else '')
            text, name = then.get(key, (known[key].text, name))
            yield ('observation', key), _Details(
                text, known[key].end_ns, thing=thing, name=name, entity_id=entity_id)


def _as_seen_then(session: Session, ids: Sequence[int],
                  before_ns: int | None) -> dict[int, tuple[str, str]]:
    """Return the text and the name of observations of which more was told later, by their ids."""
    row, found = schema.ObservationRow, dict[int, tuple[str, str]]()
    if before_ns is None:
        return found
    extra = cast(row.extra, String)
    for item in session.scalars(select(row).where(among(row.id, ids), or_(
            row.end_ns > before_ns, extra.contains('"told_ns"'), extra.contains('"called"')))):
        whole = record_of('observation', item, '')
        seen = seen_as_of(whole, before_ns)
        if replace(seen, end_ns=whole.end_ns) != whole:
            found[item.id] = text_of(seen) or seen.name, seen.name
    return found


def _of_skills(session: Session, scope: Scope, robots: Mapping[int, str],
               rows: Sequence[Any]) -> Iterator[tuple[tuple[str, int], _Details]]:
    row, before_ns = schema.SkillEventRow, scope.window.before_ns
    known = {item.ref_id: item for item in rows}
    for part in _parts(list(known)):
        for key, goals, last_ns in session.execute(
                select(row.id, row.goal_stack, row.last_report_ns).where(among(row.id, part))):
            text, end_ns = known[key].text, known[key].end_ns
            if before_ns is not None and last_ns >= before_ns:
                whole = record_of('skill_event', session.get(row, key), '')
                event = as_of(whole, before_ns)
                text, end_ns = text_of(event) or '', event.end_ns or event.stamp_ns
            yield ('skill_event', key), _Details(text, end_ns, goal=' > '.join(goals))


@lru_cache(maxsize=2048)
def _squashed(text: str) -> str:
    return squash(text)  # of the records of a search most say the same as others


def _parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), CHUNK):
        yield ids[start:start + CHUNK]
