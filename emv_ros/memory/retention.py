"""Retention: old records make room, by age, by the size of the memory and by the room on the disk.

Pictures go first, and their rows stay to say so; then motion, then scenes; words and runs of skills
only by an age that is set for them. The tree keeps its words, and nodes that lost records are
marked. Each lot is one small transaction with the note of how far the work came and the account of
it, in numbers; between them others write. A run may be stopped or killed anywhere: the next one
goes on. What would take more than `memory.max_share` of a kind at once is refused and told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
import shutil
import threading
import time
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.errors import ShareError
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.dropped import drop_rows
from emv_ros.memory.dropped_files import FRESH_S, clear_dropped, drop_pictures
from emv_ros.memory.imports import check_whole
from emv_ros.memory.memory_size import database_bytes, take_off, used_bytes
from emv_ros.memory.picture_evidence import PictureEvidence, cited
from emv_ros.memory.retention_lots import Lot, Place, lots_of
from emv_ros.memory.retention_report import RetentionReport
from emv_ros.memory.retention_rules import DISK, PICTURES, SIZE, Rule, is_wanted, rules_of
from emv_ros.memory.share_guard import FEW, check_share
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings
from emv_ros.timeline import MAX_NS, parse_zone

# As long as one run works after a consolidation, s; the next one goes on.
RUN_S = 10.0
# The longest pause after a lot, s, in which others write.
REST_S = 0.5
# Room is made until this much less than the limit is used, so that not every run makes some.
SLACK = 0.02
AUTHOR = 'retention'


def free_bytes_of(folder: Path) -> int:
    """Return the room that is left on the disk of a folder, bytes."""
    return shutil.disk_usage(folder).free


def retain(store: MemoryStore, settings: Settings, *, now_ns: int, force: bool = False,
           time_limit_s: float = RUN_S, cancel: threading.Event | None = None,
           free_bytes: Callable[[Path], int] = free_bytes_of,
           fresh_s: float = FRESH_S) -> RetentionReport:
    """Drop what the settings of retention let go; nothing where none is set.

    now_ns: the robot's time, from which ages are counted.
    force: drop more than `memory.max_share` of a kind, too.
    free_bytes: the room left on the disk of a folder.
    fresh_s: see `PictureFolder.discard`.

    Raises StoreBusyError while an import is unfinished, StoreError.
    """
    report = RetentionReport()
    report.files = clear_dropped(store, fresh_s)
    if not is_wanted(settings.retention):
        return report
    check_whole(store)
    run = _Run(store, settings, now_ns, report, force, time_limit_s, cancel, fresh_s)
    run.by_age()
    run.by_size()
    run.by_disk(free_bytes)
    return report


def preview(store: MemoryStore, settings: Settings, *, now_ns: int,
            free_bytes: Callable[[Path], int] = free_bytes_of) -> RetentionReport:
    """Return what `retain` would drop as the memory stands; of a want of room the first round."""
    report = RetentionReport(is_preview=True)
    if is_wanted(settings.retention):
        run = _Run(store, settings, now_ns, report, False, float('inf'), None)
        run.by_age()
        run.by_size()
        run.by_disk(free_bytes)
    return report


class _Run:
    """One run over a memory, or with `report.is_preview` a look at what one would do."""

    def __init__(self, store: MemoryStore, settings: Settings, now_ns: int,
                 report: RetentionReport, force: bool, time_limit_s: float,
                 cancel: threading.Event | None, fresh_s: float = FRESH_S) -> None:
        self.store = store
        self.settings = settings
        self.now_ns = now_ns
        self.report = report
        self.force = force
        self._until = time.monotonic() + time_limit_s
        self._cancel = cancel or threading.Event()
        self._fresh_s = fresh_s
        self._audits: dict[str, int] = {}
        with store.reading() as session:
            self.robots = store.robot_ids(session)

    @cached_property
    def _evidence(self) -> dict[int, PictureEvidence]:
        with self.store.reading() as session:
            known = cited(session)
        return {key: PictureEvidence(key, known) for key in self.robots}

    @cached_property
    def _stored(self) -> dict[str, int]:
        """How many of each kind are stored; of pictures, whose file is there."""
        image = schema.ImageRow
        with self.store.reading() as session:
            found = {}
            for kind in _KINDS:
                query = select(func.count()).select_from(schema.KINDS[kind])
                found[kind] = int(session.scalar(
                    query.where(image.gone == '') if kind == 'image' else query) or 0)
        return found

    # By age

    def by_age(self) -> None:
        """Drop what is older than the settings let it be."""
        due = [(key, rule) for key, name in self.robots.items()
               for rule in rules_of(self.settings.retention, self.now_ns,
                                    parse_zone(self.store.zone_of([name])))
               if not self._progress(key, rule)['is_done']]
        for robot_id, rule in self._allowed(due):
            if not self.report.is_preview and not self._sweep(robot_id, rule):
                self.report.is_done = False
                return

    def _allowed(self, due: Sequence[tuple[int, Rule]]) -> list[tuple[int, Rule]]:
        """Return those of the rules that may go on; tell those that would take too much."""
        if not self.report.is_preview and (self.force or all(
                self._progress(*item)['is_allowed'] for item in due)):
            for item in due:
                self._note(*item, is_allowed=True, is_refused=False)
            return list(due)
        counts: Counter[str] = Counter()
        for robot_id, rule in due:
            progress = self._progress(robot_id, rule)
            if progress['is_refused'] and not self.report.is_preview:
                continue
            with self.store.reading() as session:
                for lot in lots_of(session, self._scan(robot_id, rule), self._at(progress)):
                    counts[rule.kind] += len(lot.stamps)
                    if self.report.is_preview:
                        self.report.count('age', lot)
        wrong = {kind for kind, count in counts.items() if self._is_too_much(kind, count)}
        for robot_id, rule in due:
            if not self.report.is_preview and not self._progress(robot_id, rule)['is_refused']:
                self._note(robot_id, rule, is_allowed=rule.kind not in wrong,
                           is_refused=rule.kind in wrong)
        return [item for item in due
                if item[1].kind not in wrong and not self._progress(*item)['is_refused']]

    def _is_too_much(self, kind: str, count: int) -> bool:
        try:
            with self.store.reading() as session:
                check_share(session, {kind: count}, self.settings.memory.max_share,
                            of=self._stored)
        except ShareError as error:
            self.report.refused.append(f'retention is refused: {error}')
            return True
        return False

    def _sweep(self, robot_id: int, rule: Rule) -> bool:
        """Drop all that a rule takes; False where the time is up before."""
        scan, at = self._scan(robot_id, rule), self._at(self._progress(robot_id, rule))
        while not self._is_over:
            with self.store.reading() as session:
                lot = scan.lot(session, at)
            if lot is None:
                self._note(robot_id, rule, is_done=True)
                return True
            at = lot.at
            if lot.stamps:
                self._drop(robot_id, rule, lot, 'age')
        self._note(robot_id, rule, at=at)
        return False

    # For want of room

    def by_size(self) -> None:
        """Drop what makes the memory larger than it may be."""
        limit = self.settings.retention.max_bytes
        if limit and (used := used_bytes(self.store)) > limit:
            with self.store.reading() as session:
                stages = SIZE if database_bytes(session) else PICTURES
            left = self._make_room('size', stages, used - round(limit * (1 - SLACK)))
            if left > 0 and not self.report.is_preview:
                self.report.notes.append(
                    f'the memory had {used:,} bytes, more than the {limit:,} of '
                    'retention.max_bytes, and not enough of it may go now')

    def by_disk(self, free_bytes: Callable[[Path], int]) -> None:
        """Drop pictures where the disk is nearly full."""
        limit = self.settings.retention.min_free_bytes
        free = free_bytes(self.store.folder) if limit else 0
        if free >= limit:
            return
        self.report.notes.append(f'the disk is nearly full: {free:,} bytes are free, of '
                                 f'{limit:,} that retention.min_free_bytes wants')
        left = self._make_room('disk', DISK, round(limit * (1 + SLACK)) - free)
        if left > 0 and not self.report.is_preview:
            self.report.notes.append('no more pictures may go now: make room on the disk')

    def _make_room(self, reason: str, stages: Sequence[str], needed: int) -> int:
        """Drop by one stage after the other; return how many bytes are needed still."""
        budget = {kind: count if self._is_all(kind) else int(
            count * self.settings.memory.max_share) for kind, count in self._stored.items()}
        for stage in stages:
            rule = Rule(stage, MAX_NS, makes_room=True)
            active = list(self.robots)
            while active and needed > 0 and budget[rule.kind] > 0 and not self._is_over:
                for robot_id in list(active):
                    needed, is_worn = self._pass(robot_id, rule, reason, needed, budget)
                    if is_worn or self.report.is_preview:
                        active.remove(robot_id)
            if needed <= 0:
                break
            if budget[rule.kind] <= 0 < self._stored[rule.kind] and not self._is_all(rule.kind):
                self.report.notes.append(
                    f'no more than a share of {self.settings.memory.max_share:g} of a kind goes '
                    'at once (memory.max_share): the next run goes on')
                break
        self.report.is_done = self.report.is_done and not self._is_over
        return needed

    def _pass(self, robot_id: int, rule: Rule, reason: str, needed: int,
              budget: dict[str, int]) -> tuple[int, bool]:
        """Go once over the records of a robot; return what is still needed, and if none went.

        A pass that was ended goes on where it was, so that it is not always the oldest that thin.
        """
        at = self._at(self._progress(robot_id, rule))
        is_whole, went = at == rule.start, 0
        scan = self._scan(robot_id, rule)
        while needed > 0 and budget[rule.kind] > 0 and not self._is_over:
            with self.store.reading() as session:
                lot = scan.lot(session, at)
            if lot is None:
                self._note(robot_id, rule, at=rule.start)
                return needed, is_whole and not went
            lot = lot.first(budget[rule.kind], needed)
            at = lot.at
            if not lot.stamps:
                continue
            if self.report.is_preview:
                self.report.count(reason, lot)
                gone, freed = len(lot.stamps), lot.size_bytes
            else:
                gone, freed = self._drop(robot_id, rule, lot, reason)
            went += gone
            budget[rule.kind] -= gone
            needed -= freed
        self._note(robot_id, rule, at=at)
        return needed, False

    def _is_all(self, kind: str) -> bool:
        """Whether all of a kind may go at once."""
        return self.force or self._stored[kind] < FEW or self.settings.memory.max_share >= 1.0

    # Lots

    def _scan(self, robot_id: int, rule: Rule) -> Any:
        return rule.scan(robot_id, self._evidence[robot_id],
                         bool(self.settings.perception.detector), self.settings.retention)

    @property
    def _is_over(self) -> bool:
        return self._cancel.is_set() or time.monotonic() > self._until

    def _drop(self, robot_id: int, rule: Rule, lot: Lot, reason: str) -> tuple[int, int]:
        """Drop a lot in one transaction, then let others write; return (rows, bytes) that went."""
        began = time.monotonic()
        with self.store.writing() as session:
            if lot.kind == 'image':
                dropped = drop_pictures(session, lot.stamps)
                gone, freed = len(dropped), take_off(session, dropped)
            else:
                before = database_bytes(session)
                table = schema.KINDS[lot.kind]
                settled = set(session.scalars(select(table.id).where(
                    among(table.id, list(lot.stamps)), table.pending.is_(False))))
                stamps = {key: stamp for key, stamp in lot.stamps.items() if key in settled}
                drop_rows(session, robot_id, lot.kind, stamps)
                session.flush()
                gone, freed = len(stamps), max(0, before - database_bytes(session))
            self._put(session, robot_id, rule, at=lot.at)
            self._account(session, reason, lot.kind, gone)
        self.report.count(reason, lot, gone)
        if lot.kind == 'image':
            self.report.files += clear_dropped(self.store, self._fresh_s)
        self._cancel.wait(min(REST_S, time.monotonic() - began))
        return gone, freed

    def _account(self, session: Session, reason: str, kind: str, count: int) -> None:
        """Keep numbers of what went: a row for each run and reason."""
        row = session.get(schema.AuditRow, self._audits.get(reason, 0))
        if row is None:
            row = schema.AuditRow(stamp_ns=self.now_ns, author=AUTHOR, reason=reason, counts={})
            session.add(row)
        row.counts = {**row.counts, kind: row.counts.get(kind, 0) + count}
        session.flush()
        self._audits[reason] = row.id

    # How far the work came

    def _progress(self, robot_id: int, rule: Rule) -> dict[str, Any]:
        with self.store.reading() as session:
            return _progress_of(session, robot_id, rule)

    @staticmethod
    def _at(progress: dict[str, Any]) -> Place:
        return progress['at'][0], progress['at'][1]

    def _note(self, robot_id: int, rule: Rule, **changes: Any) -> None:
        if not self.report.is_preview:
            with self.store.writing() as session:
                self._put(session, robot_id, rule, **changes)

    def _put(self, session: Session, robot_id: int, rule: Rule, **changes: Any) -> None:
        key = _key(robot_id)
        row = session.get(schema.StateRow, key, with_for_update=True)
        session.merge(schema.StateRow(key=key, value={
            **(row.value if row else {}),
            rule.key: _progress_of(session, robot_id, rule) | {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in changes.items()}}))


_KINDS = ('image', 'joint_sample', 'pose', 'scene', 'utterance', 'skill_event', 'annotation')


def _progress_of(session: Session, robot_id: int, rule: Rule) -> dict[str, Any]:
    """Return how far a rule came; from the start where it is for another day by now."""
    row = session.get(schema.StateRow, _key(robot_id))
    fresh = {'before_ns': rule.before_ns, 'at': list(rule.start), 'is_done': False,
             'is_allowed': False, 'is_refused': False}
    known = row.value.get(rule.key) if row else None
    is_same = known is not None and (rule.makes_room or known['before_ns'] == rule.before_ns)
    return fresh | known if known is not None and is_same else fresh


def _key(robot_id: int) -> str:
    return f'retention:{robot_id}'
