"""Descriptions of what the detector saw: by rule for all, by a vision model for some.

In order of time each observation that has no more than the detector's name is told by rule: what
its scenes and the skills around it say. Where there is a vision model, it then describes, within
its budget, those that only the rule has told, first what was handled, then the rest, newest first;
it looks back over the latest LOOK_BACK observations, and what is older stays as the rule has it.
One that it answered wrongly keeps the words of the rule, and is asked for again by another model or
prompt only. Nothing is used that was recorded later than an observation and the words after it.

A thing that goes on staying where it was tells nothing new: for an hour at most its further
observations have no searchable text of their own, and no model is asked for them
(`extra['told_by']` names the one that has).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import threading
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from emv_ros.biography.description import PROMPT_VERSION
from emv_ros.biography.looking import Looker, Vision
from emv_ros.biography.rule_words import Told
from emv_ros.biography.surroundings import BEFORE_NS, read_others, stays_put, tell_all
from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings
from emv_ros.timeline import HOUR_NS, SECOND_NS

CHUNK = 200
# The latest observations among which the vision model is given some.
LOOK_BACK = 5000
# What a database's server gave out as ids may be committed in another order.
LATE_IDS = 1000
# A pause after which a thing that stays put is told again, and the longest time without.
PAUSE_NS, LONGEST_QUIET_NS = 10 * SECOND_NS, HOUR_NS

DETECTOR, RULE = 'detector', 'rule'


@dataclass(slots=True)
class DescriptionReport:
    """What one run described. `stopped` says why the vision model is not asked any more."""

    by_rule: int = 0
    by_model: int = 0
    refused: int = 0  # observations of which the model said nothing that could be used
    calls: int = 0
    damaged: int = 0  # pictures that could not be read
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    stopped: str = ''
    notes: list[str] = field(default_factory=list)


def describe(store: MemoryStore, settings: Settings, robot: str, vision: Vision | None = None,
             cancel: threading.Event | None = None,
             before_call: Callable[[], None] = lambda: None) -> DescriptionReport:
    """Describe what one robot observed and nobody has described yet.

    `before_call` is called before each call of the model, which may take long, and may raise.
    """
    report = DescriptionReport()
    with store.reading() as session:
        robot_id = next(iter(store.robot_ids(session, [robot])), None)
    if robot_id is None:
        return report
    while not (cancel is not None and cancel.is_set()):
        if not _tell_some(store, robot_id, report):
            break
    if vision is None or not settings.biography.description_calls:
        return report
    report.stopped = vision.why_unavailable('description')
    if not report.stopped:
        _look(store, settings, robot_id, vision, cancel, before_call, report)
    return report


def _tell_some(store: MemoryStore, robot_id: int, report: DescriptionReport) -> bool:
    """Tell the earliest observations by rule; return whether there may be more."""
    row, key = schema.ObservationRow, f'described:{robot_id}'
    mark = int((store.state(key) or {}).get('id', 0))
    with store.reading() as session:
        rows = _waiting(session, robot_id, row.pending) or _waiting(
            session, robot_id, row.id > mark - LATE_IDS)
        told = dict(zip((item.id for item in rows), tell_all(session, rows), strict=True))
        quiet = _quiet(session, robot_id, rows, told)
        latest = session.scalar(select(row.id).order_by(row.id.desc()).limit(1)) or 0
    if not told:
        if latest > mark + LATE_IDS:
            store.set_state(key, {'id': latest})
        return False
    with store.writing() as session:
        changed = [item for item in session.scalars(select(row).where(row.id.in_(list(told))))
                   if item.made_by == DETECTOR]
        for item in changed:
            _write(item, told[item.id], quiet.get(item.id))
        session.flush()
        renew_documents(session, 'observation', changed)
    report.by_rule += len(changed)
    return bool(changed)


def _waiting(session: Session, robot_id: int,
             is_new: ColumnElement[bool] | InstrumentedAttribute[bool]
             ) -> Sequence[schema.ObservationRow]:
    """Return the earliest observations that nobody described, among those that came or changed.

    Nearly all of them wait for the tree, too; one that it took in before does not any more.
    """
    row = schema.ObservationRow
    return session.scalars(
        select(row).where(row.robot_id == robot_id, row.made_by == DETECTOR, is_new)
        .order_by(row.stamp_ns, row.id).limit(CHUNK)).all()


def _write(item: schema.ObservationRow, told: Told, told_by: dict[str, int] | None) -> None:
    item.event = event_of(told)
    item.text = told.text
    item.location = told.location or item.location
    item.made_by = RULE
    item.pending = True
    extra = {name: value for name, value in item.extra.items() if name != 'told_by'}
    item.extra = extra | ({'told_by': told_by} if told_by else {})


def event_of(told: Told) -> str:
    """Return what happened to a thing, with what the robot was doing."""
    return '; '.join(part for part in (told.event, told.doing) if part)


def _quiet(session: Session, robot_id: int, rows: Sequence[schema.ObservationRow],
           told: dict[int, Told]) -> dict[int, dict[str, int]]:
    """Return of observations that tell nothing new the one that tells it: its id and stamp."""
    if not rows:
        return {}
    found: dict[int, dict[str, int]] = {}
    known = read_others(session, robot_id, rows[0].stamp_ns - BEFORE_NS,
                        max(row.stamp_ns for row in rows) + 1)
    latest: dict[tuple[str, str, str], list[schema.ObservationRow]] = {}
    for row, camera in known:
        group = latest.setdefault((camera, row.name, row.instance), [])
        before = next((item for item in reversed(group) if item.end_ns <= row.stamp_ns <=
                       item.end_ns + PAUSE_NS and stays_put(item, row)), None)
        group.append(row)
        del group[:-50]
        if row.id not in told or before is None:
            continue
        was = told.get(before.id) or Told(before.event, before.text, before.location)
        now = told[row.id]
        if event_of(now) or event_of(was) or before.made_by not in (DETECTOR, RULE) \
                or (now.text, now.location) != (was.text, was.location):
            continue
        root: dict[str, Any] = (found.get(before.id) or before.extra.get('told_by')
                                or {'id': before.id, 'since_ns': before.stamp_ns})
        if row.stamp_ns - root['since_ns'] < LONGEST_QUIET_NS:
            found[row.id] = root
    return found


def _look(store: MemoryStore, settings: Settings, robot_id: int, vision: Vision,
          cancel: threading.Event | None, before_call: Callable[[], None],
          report: DescriptionReport) -> None:
    """Have the vision model describe some observations, each committed when it is described."""
    looker = Looker(store, settings, vision, cancel, before_call)
    with store.reading() as session:
        wanted = _to_look_at(session, robot_id, looker.name, settings.biography.description_calls)
    for ref_id in wanted:
        if not looker.ready:
            break
        outcome = looker.describe(ref_id)
        report.by_model += outcome == 'described'
        report.refused += outcome == 'refused'
    report.calls, report.damaged, report.stopped = looker.calls, looker.damaged, looker.stopped
    report.prompt_tokens, report.completion_tokens = looker.prompt_tokens, looker.completion_tokens
    report.cost = looker.cost
    if looker.damaged:
        report.notes.append(f'{looker.damaged} pictures of observations could not be read')
    if looker.stopped:
        report.notes.append(f'no descriptions by a model for now: {looker.stopped}')


def _to_look_at(session: Session, robot_id: int, model: str, most: int) -> list[int]:
    row, shown = schema.ObservationRow, schema.ObservationImageRow
    latest = session.execute(
        select(row.id, row.event, row.made_by, row.model, row.prompt_version, row.extra)
        .where(row.robot_id == robot_id).order_by(row.stamp_ns.desc(), row.id.desc())
        .limit(LOOK_BACK)).all()
    waiting = [item for item in latest if item.made_by == RULE and 'told_by' not in item.extra
               and (item.model, item.prompt_version) != (model, PROMPT_VERSION)]
    waiting.sort(key=lambda item: not item.event)
    found: list[int] = []
    for start in range(0, len(waiting), CHUNK):
        part = [item.id for item in waiting[start:start + CHUNK]]
        has_pictures = set(session.scalars(
            select(shown.observation_id).where(shown.observation_id.in_(part))))
        found += [key for key in part if key in has_pictures]
        if len(found) >= most:
            break
    return found[:most]
