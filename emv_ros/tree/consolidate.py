"""Consolidation: what was recorded since the last time finds its place in the tree.

Waiting records are taken in spans; each span is derived anew from L0 and put under its days in
one transaction, which also marks the records as consolidated. Then the upper tree is grouped and
written. It may be stopped anywhere: what was committed stands, and the next run goes on from
there. With nothing new it writes nothing and calls no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
import logging
import threading
import time

from emv_ros.errors import NotFoundError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings, TreeSettings
from emv_ros.timeline import SECOND_NS, parse_zone
from emv_ros.tree.events import derive
from emv_ros.tree.lease import holding
from emv_ros.tree.raw import raw_drafts
from emv_ros.tree.reconcile import Reconciled, Reconciler
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.stretch import find_dirty, load, settle, widen
from emv_ros.tree.summaries import Summarizer, SummaryWriter
from emv_ros.tree.tidy import Tidy

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ConsolidationReport:
    """What a consolidation did: nodes made or changed by kind, and what the model was asked."""

    events: int = 0
    goals: int = 0
    summaries: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    fallbacks: int = 0
    duration_s: float = 0.0
    canceled: bool = False
    robots: dict[str, ConsolidationReport] = field(default_factory=dict)

    def add(self, other: ConsolidationReport) -> None:
        """Add the counts of another report."""
        for name in ('events', 'goals', 'summaries', 'model_calls', 'prompt_tokens',
                     'completion_tokens', 'fallbacks'):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def consolidate(
        store: MemoryStore, settings: TreeSettings | Settings, *, robot: str | None = None,
        zone: tzinfo | str | None = None, model: Summarizer | None = None,
        now_ns: int | None = None, cancel: threading.Event | None = None,
        progress: Callable[[int, int], None] | None = None) -> ConsolidationReport:
    """Bring the tree of one robot, or of all, up to date with what is recorded.

    Days are those of `zone`, by default the robot's own. `now_ns` is the robot's time: what ended
    less than `goal_gap_s` ago keeps template texts until it has come to rest; without it all is
    at rest. `progress` is told (records done, records in all). Raises StoreBusyError where
    another consolidator is at work, NotFoundError for a robot that the memory does not know.
    """
    known = store.robots()
    if robot and robot not in known:
        raise NotFoundError(
            f'this memory knows no robot {robot!r}; it knows: {", ".join(known) or "none"}')
    tree = settings.tree if isinstance(settings, Settings) else settings
    report = ConsolidationReport()
    begun = time.monotonic()
    with holding(store) as lease:
        writer = SummaryWriter(model, tree, cancel, lease.renew)
        for name in [robot] if robot else known:
            own_zone = zone if zone is not None else store.zone_of([name])
            one = _Consolidation(store, name, parse_zone(own_zone) if isinstance(own_zone, str)
                                 else own_zone, tree, cancel, progress, lease.renew)
            part = one.run(writer, now_ns)
            report.robots[name] = part
            report.add(part)
    report.canceled = cancel is not None and cancel.is_set()
    report.duration_s = time.monotonic() - begun
    return report


class _Consolidation:
    """The consolidation of one robot."""

    def __init__(self, store: MemoryStore, robot: str, zone: tzinfo, settings: TreeSettings,
                 cancel: threading.Event | None, progress: Callable[[int, int], None] | None,
                 renew: Callable[[], None]) -> None:
        self.store = store
        self.robot = robot
        self.zone = zone
        self.settings = settings
        self.cancel = cancel
        self.progress = progress
        self.renew = renew
        self.report = ConsolidationReport()

    def run(self, writer: SummaryWriter, now_ns: int | None) -> ConsolidationReport:
        """Derive all that waits, then tidy the upper tree."""
        begun = time.monotonic()
        before = writer.calls, writer.prompt_tokens, writer.completion_tokens, writer.fallbacks
        total, done = self._waiting(), 0
        while not self._is_canceled() and self._derive_next():
            self.renew()
            if self.progress:
                done = total - self._waiting()
                self.progress(max(0, done), total)
        tidy = Tidy(self.store, self.robot, self.zone, self.settings, writer, now_ns, self.cancel,
                    self.renew)
        if not self._is_canceled():
            tidy.run()
        report = self.report
        report.summaries += tidy.written
        report.model_calls = writer.calls - before[0]
        report.prompt_tokens = writer.prompt_tokens - before[1]
        report.completion_tokens = writer.completion_tokens - before[2]
        report.fallbacks = writer.fallbacks - before[3]
        report.duration_s = time.monotonic() - begun
        return report

    def _is_canceled(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    def _waiting(self) -> int:
        return sum(waiting_records(self.store, self.robot).values()) if self.progress else 0

    def _derive_next(self) -> bool:
        """Derive the earliest span that waits; False where nothing does."""
        gap_ns = round(max(self.settings.goal_gap_s, self.settings.event_gap_s) * SECOND_NS)
        with self.store.node_writer() as writer:
            session = writer.session
            robot_id = self.store.robot_id(session, self.robot)
            dirty = find_dirty(session, robot_id, gap_ns)
            if dirty is None:
                return False
            span, nodes = widen(session, robot_id, dirty.span, gap_ns)
            stretch = load(session, robot_id, self.robot, span)
            drafts = derive(stretch, self.settings)
            drafts += raw_drafts(session, robot_id, span, drafts,
                                 round(self.settings.event_gap_s * SECOND_NS))
            drafts.sort(key=lambda draft: (draft.start_ns, draft.end_ns))
            done = Reconciler(writer, self.robot, nodes).apply(drafts)
            self._put(Skeleton(writer, self.robot, self.zone, self.settings), done)
            settle(session, robot_id, span, stretch)
        self.report.events += done.events
        self.report.goals += done.goals
        return True

    def _put(self, skeleton: Skeleton, done: Reconciled) -> None:
        """Give what is new or moved its place, and open the paths above what changed."""
        loose: list[schema.NodeRow] = []
        for row in done.top:
            if row.id in done.moved:
                skeleton.detach(row)
            if row.parent_id is None:
                loose.append(row)
            elif row.id in done.changed:
                skeleton.touched.add(row.parent_id)
        skeleton.attach(loose)
        skeleton.touched |= done.bereft
        skeleton.refresh()


def waiting_records(store: MemoryStore, robot: str) -> Mapping[str, int]:
    """Return how many records of each kind wait for consolidation."""
    from sqlalchemy import func, select

    from emv_ros.tree.raw import RAW_KINDS
    from emv_ros.tree.stretch import EVENT_KINDS

    with store.reading() as session:
        ids = store.robot_ids(session, [robot])
        return {kind: int(session.scalar(select(func.count()).select_from(schema.KINDS[kind]).where(
            schema.KINDS[kind].robot_id.in_(ids), schema.KINDS[kind].pending)) or 0)
            for kind in (*EVENT_KINDS, *RAW_KINDS)}
