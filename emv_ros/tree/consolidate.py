"""Consolidation: what was recorded since the last time finds its place in the tree.

Of one robot or of all, by one consolidator at a time. It may be stopped anywhere: what was
committed stands, and the next run goes on from there. With nothing new it writes nothing and calls
no model.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
import threading
import time

from sqlalchemy import select

from emv_ros.errors import NotFoundError
from emv_ros.memory import schema
from emv_ros.memory.clearing import clear_what_is_left
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings, TreeSettings
from emv_ros.timeline import parse_zone, to_datetime
from emv_ros.tree.budget import HourlyBudget
from emv_ros.tree.growth import Growth, waiting_records
from emv_ros.tree.journal import Journal
from emv_ros.tree.lease import HeldStore, Lease, holding
from emv_ros.tree.levels import EPISODE
from emv_ros.tree.report import ConsolidationReport
from emv_ros.tree.run_log import RunLog, end_killed
from emv_ros.tree.summaries import Summarizer, SummaryWriter

__all__ = ['ConsolidationReport', 'consolidate', 'waiting_records']


def consolidate(
        store: MemoryStore, settings: TreeSettings | Settings, *, robot: str | None = None,
        zone: tzinfo | str | None = None, model: Summarizer | None = None,
        now_ns: int | None = None, cancel: threading.Event | None = None,
        progress: Callable[[int, int], None] | None = None) -> ConsolidationReport:
    """Bring the tree of one robot, or of all, up to date with what is recorded.

    Days are those of `zone`, by default the robot's own. `now_ns` is the robot's time: what ended
    less than `goal_gap_s` ago keeps template texts until it has come to rest; without it all is
    at rest. `progress` is told (records done, records in all). Raises StoreBusyError where
    another consolidator is at work or takes over, NotFoundError for a robot that the memory does
    not know.
    """
    known = store.robots()
    if robot and robot not in known:
        raise NotFoundError(
            f'this memory knows no robot {robot!r}; it knows: {", ".join(known) or "none"}')
    tree = settings.tree if isinstance(settings, Settings) else settings
    report = ConsolidationReport()
    begun = time.monotonic()
    clear_what_is_left(store)
    with holding(store) as lease:
        end_killed(store)
        writer = SummaryWriter(model, tree, cancel, lease.renew, HourlyBudget(store, tree))
        for name in [robot] if robot else known:
            own_zone = zone if zone is not None else store.zone_of([name])
            course = _Course(store, lease, writer, name,
                             parse_zone(own_zone) if isinstance(own_zone, str) else own_zone,
                             tree, cancel, progress)
            report.robots[name] = course.run(now_ns)
            report.add(report.robots[name])
    report.canceled = cancel is not None and cancel.is_set()
    report.duration_s = time.monotonic() - begun
    return report


class _Course:
    """The consolidation of one robot: it keeps the lease and the log, and ends the journal."""

    def __init__(self, store: MemoryStore, lease: Lease, writer: SummaryWriter, robot: str,
                 zone: tzinfo, settings: TreeSettings, cancel: threading.Event | None,
                 progress: Callable[[int, int], None] | None) -> None:
        self.store = store
        self.lease = lease
        self.writer = writer
        self.robot = robot
        self.zone = zone
        self.settings = settings
        self.cancel = cancel
        self.log = RunLog(store, robot)
        self.growth = Growth(HeldStore(store, lease), robot, zone, settings, cancel, progress,
                             self._step)
        self.report = self.growth.report

    def run(self, now_ns: int | None) -> ConsolidationReport:
        """Consolidate, and leave a row in the log, whatever happens."""
        begun, outcome = time.monotonic(), 'failed'
        asking = self.writer.asking
        asking.begin(Journal(self.store, self.robot), self._before_call)
        before = asking.calls, asking.spent.copy(), self.writer.fallbacks
        try:
            self.growth.run(self.writer, now_ns)
            asking.end()
            self._tell_stop()
            outcome = 'stopped' if self.report.stopped else 'ok'
            if self.cancel is not None and self.cancel.is_set():
                outcome = 'canceled'
        finally:
            spent = asking.spent.minus(before[1])
            self.report.model_calls = asking.calls - before[0]
            self.report.prompt_tokens = spent.prompt_tokens
            self.report.completion_tokens = spent.completion_tokens
            self.report.cost = spent.cost
            self.report.fallbacks = self.writer.fallbacks - before[2]
            self.report.duration_s = time.monotonic() - begun
            self.log.end(self.report, outcome)
        return self.report

    def _step(self) -> None:
        self.lease.renew()
        if self.report.records:
            self.log.note(self.report)

    def _before_call(self) -> None:
        self.lease.renew()
        self.log.note(self.report)

    def _tell_stop(self) -> None:
        asking = self.writer.asking
        if asking.stopped is not None:
            self.report.stopped = asking.stopped.reason
            self.report.resumes_ns = asking.stopped.until_ns
            if asking.stopped.until_ns is not None:
                until = to_datetime(asking.stopped.until_ns, self.zone)
                self.report.stopped += f'; it goes on after {until:%H:%M}'
        elif 0 < self.settings.call_budget <= asking.calls and self._has_templates():
            self.report.stopped = ('the model calls of one consolidation '
                                   f'({self.settings.call_budget}) are made; the next one goes on')

    def _has_templates(self) -> bool:
        row = schema.NodeRow
        with self.store.reading() as session:
            robots = self.store.robot_ids(session, [self.robot])
            return session.scalar(select(row.id).where(
                row.robot_id.in_(robots), row.level >= EPISODE, row.made_by == 'calendar')
                .limit(1)) is not None
