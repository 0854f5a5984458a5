"""Entities looked at again when a day is over, with all that is known by then.

Right after it was seen an observation gets its entity by what was known before. Once a local day
of the robot is over, the entities that got observations in it are grouped anew with those that
look like them, the likest first. Only what comes out otherwise is changed, each neighbourhood in a
transaction of its own. The looks that stand for a neighbourhood are limited in number, so that a
day costs what its things and their likes do, however long the life is; what is too large stays as
it is and is counted. A run that is killed is done again from the last day that was finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import threading
import time

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.biography.association import Associator
from emv_ros.biography.known import Key, Known
from emv_ros.biography.neighbourhood import Neighbourhood, read_neighbourhood
from emv_ros.biography.regrouping import Regrouped, regroup
from emv_ros.biography.rules import Rules, group_similarity_of, thresholds_of
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings, PerceptionSettings
from emv_ros.timeline import day_span, local_date, parse_zone

MARK = 'reconsidered:'
# Entities whose references one query reads.
READ_AT_ONCE = 200


@dataclass(slots=True)
class ReconsiderReport:
    """What a reconsideration looked at and changed."""

    neighbourhoods: int = 0
    changed: int = 0
    observations: int = 0  # that are of another entity now
    merged: int = 0  # entities that went into others
    made: int = 0
    left: int = 0  # neighbourhoods that are too large
    canceled: bool = False
    duration_s: float = 0.0

    def words(self) -> str:
        """Return the report as a person reads it, '' where nothing changed or was left."""
        if not self.changed and not self.left:
            return ''
        told = (f'looked at again with all that is known by now: {self.observations} of the '
                f'observations are of another entity, {self.merged} entities went into others, '
                f'{self.made} are new')
        return told + (f'; {self.left} groups of like entities are too large' if self.left else '')

    def add(self, done: Regrouped) -> None:
        """Count what a neighbourhood changed."""
        self.changed += 1
        self.observations += len(done.moved)
        self.merged += len(done.gone)
        self.made += len(done.made)


@dataclass(frozen=True, slots=True)
class _Due:
    """What is to be looked at: observations above an id and before a time."""

    robot_id: int
    after_id: int
    before_ns: int

    def fresh(self, session: Session) -> list[tuple[int, int, int]]:
        """Return (id, entity, stamp) of what is to be looked at, in order.

        What came before something of an earlier day is looked at with it, whatever its stamp: a
        clock that ran ahead was set right, or it is late, and nothing waits for a day far ahead.
        """
        seen = _since(session, self)
        count = max((at for at, (_, _, stamp_ns) in enumerate(seen, 1)
                     if stamp_ns < self.before_ns), default=0)
        return seen[:count]


@dataclass(frozen=True, slots=True)
class _Limits:
    """How like two groups must be to be one, and what is assumed of a single look."""

    group: float
    alone: float  # assumed cosine of one look to another of its thing


class Reconsidering:
    """Looks at the entities of one robot again, day by day. One thread at a time."""

    def __init__(self, store: MemoryStore, settings: BiographySettings, robot: str,
                 associator: Associator, thresholds: tuple[float, float] | None = None,
                 clip_gap_s: float = PerceptionSettings.clip_gap_s) -> None:
        """Read nothing yet. The references of entities are those of `associator`."""
        self._store = store
        self._settings = settings
        self._robot = robot
        self._associator = associator
        self._default = thresholds
        self._rules = Rules.of(settings, clip_gap_s)

    def run(self, cancel: threading.Event | None = None, finish: bool = False) -> ReconsiderReport:
        """Look again at what days that are over brought; with `finish`, the last one is over, too.

        Raises StoreError; what was changed before that stays changed.
        """
        report, begun = ReconsiderReport(), time.monotonic()
        if self._settings.reconsider == 'never' or self._rules.identity != 'looks':
            return report
        due = self._due(finish)
        if due is None:
            return report
        with self._store.reading() as session:
            keys = self._associator.known(session, due.robot_id).keys()
        for key in keys:
            self._take(due, key, report, cancel)
        if not report.canceled:
            self._set_mark(due)
        report.duration_s = time.monotonic() - begun
        return report

    # When

    def _due(self, finish: bool) -> _Due | None:
        row = schema.ObservationRow
        with self._store.reading() as session:
            robot_id = next(iter(self._store.robot_ids(session, [self._robot])), None)
            if robot_id is None:
                return None
            mark = session.get(schema.StateRow, f'{MARK}{robot_id}')
            after_id, until_ns = (int(mark.value['id']), int(mark.value['until_ns'])) if (
                mark) else (0, 0)
            its = row.robot_id == robot_id, row.entity_id.is_not(None)
            if finish:
                last = session.scalar(select(func.max(row.stamp_ns)).where(*its))
                return None if last is None else _Due(robot_id, after_id, last + 1)
            last = session.scalar(select(row.stamp_ns).where(
                *its, row.stamp_ns >= until_ns).order_by(row.stamp_ns.desc()).limit(1))
            zone = parse_zone(self._store.zone_of([self._robot]))
            if last is None:
                today = day_span(local_date(until_ns - 1, zone), zone)
                if not _has_earlier(session, _Due(robot_id, after_id, today.start_ns)):
                    return None
                last = today.start_ns
            today = day_span(local_date(last, zone), zone)
            due = _Due(robot_id, after_id, today.start_ns)
            is_over = bool(due.fresh(session))
        if not is_over:
            self._set_mark(due, after_id)
            return None
        return due

    def _set_mark(self, due: _Due, after_id: int | None = None) -> None:
        """Note what was looked at, and when the day after that is over."""
        with self._store.writing() as session:
            if after_id is None:
                fresh = due.fresh(session)
                after_id = fresh[-1][0] if fresh else due.after_id
            zone = parse_zone(self._store.zone_of([self._robot]))
            until_ns = day_span(local_date(due.before_ns, zone), zone).end_ns
            session.merge(schema.StateRow(
                key=f'{MARK}{due.robot_id}', value={'id': after_id, 'until_ns': until_ns}))

    # Which

    def _take(self, due: _Due, key: Key, report: ReconsiderReport,
              cancel: threading.Event | None) -> None:
        """Look at the entities again that look by one model, as persons or as things."""
        with self._store.reading() as session:
            least = group_similarity_of(session, key[0], self._settings)
            match, consistent = thresholds_of(session, key[0], self._settings, self._default)
            limits = _Limits(least, (match + consistent) / 2)
            known = self._associator.known(session, due.robot_id)
            parts = self._parts(session, due, known, key, limits) if least else []
        for part in parts:
            if cancel is not None and cancel.is_set():
                report.canceled = True
                return
            report.neighbourhoods += 1
            with self._store.reading() as session:
                found = self._read(session, due, key, part)
                if found is None:
                    report.left += 1
                    continue
                is_same = found.is_as(found.grouped(limits.group, limits.alone))
            if not is_same:
                self._change(due, key, part, limits, report)

    def _parts(self, session: Session, due: _Due, known: Known, key: Key,
               limits: _Limits) -> list[list[int]]:
        """Return the entities that got observations, with those that look like them, by parts."""
        references = known.get(*key)
        fresh = sorted({entity_id for _, entity_id, _ in due.fresh(session)
                        if entity_id in references})
        least = limits.group * limits.alone
        root: dict[int, int] = {}
        for place, entity_id in enumerate(fresh):
            if place % READ_AT_ONCE == 0:
                references.have(fresh[place:place + READ_AT_ONCE])
            near = {entity_id}
            for held in references.groups(entity_id):
                for vector in held:
                    near.update(item.entity_id for item in references.ranked(vector, least, least))
            _tie(root, near)
        found: dict[int, list[int]] = {}
        for entity_id in sorted(root):
            found.setdefault(_end(root, entity_id), []).append(entity_id)
        return list(found.values())

    def _read(self, session: Session, due: _Due, key: Key,
              entity_ids: Sequence[int]) -> Neighbourhood | None:
        entity = schema.EntityRow
        there = session.scalars(select(entity.id).where(
            among(entity.id, list(entity_ids)), entity.merged_into.is_(None))).all()
        zone = parse_zone(self._store.zone_of([self._robot]))
        return read_neighbourhood(
            session, due.robot_id, key, there, due.after_id, self._rules, zone)

    # What follows from it

    def _change(self, due: _Due, key: Key, entity_ids: Sequence[int], limits: _Limits,
                report: ReconsiderReport) -> None:
        """Group once more, while nobody else writes, and write what comes out."""
        with self._store.writing() as session:
            known = self._associator.known(session, due.robot_id)
            try:
                found = self._read(session, due, key, entity_ids)
                groups = found.grouped(limits.group, limits.alone) if found else []
                if found is None or found.is_as(groups):
                    return
                done = regroup(session, due.robot_id, found.before, groups)
                known.renew(session, done.changed)
                known.settle(session, {
                    *(('observation', ref) for ref in done.moved),
                    *(('entity', ref) for ref in done.changed)})
            except BaseException:
                known.forget()
                raise
        report.add(done)


def _since(session: Session, due: _Due) -> list[tuple[int, int, int]]:
    """Return (id, entity, stamp) of the observations above the mark that have an entity, in order.

    By their ids alone: however long the life is, only what came since is read.
    """
    row = schema.ObservationRow
    return [(key, entity_id, stamp_ns) for key, entity_id, stamp_ns, robot_id in session.execute(
        select(row.id, row.entity_id, row.stamp_ns, row.robot_id).where(row.id > due.after_id)
        .order_by(row.id)) if robot_id == due.robot_id and entity_id is not None]


def _has_earlier(session: Session, due: _Due) -> bool:
    """Whether something came since that is of a day before the one that goes on.

    Looked for by ids alone, too: sums keep a database from going through a whole life by its index.
    """
    row = schema.ObservationRow
    return session.scalar(select(row.id).where(
        row.id > due.after_id, row.robot_id + 0 == due.robot_id, row.entity_id.is_not(None),
        row.stamp_ns + 0 < due.before_ns).limit(1)) is not None


def forget_mark(session: Session, robot_id: int) -> None:
    """Let all days be looked at again, as after an association made anew."""
    row = session.get(schema.StateRow, f'{MARK}{robot_id}')
    if row is not None:
        session.delete(row)


def _tie(root: dict[int, int], keys: Iterable[int]) -> None:
    first, *others = sorted(keys)
    root.setdefault(first, first)
    for other in others:
        root.setdefault(other, other)
        low, high = sorted((_end(root, first), _end(root, other)))
        root[high] = low


def _end(root: dict[int, int], key: int) -> int:
    while root[key] != key:
        root[key] = root[root[key]]
        key = root[key]
    return key
