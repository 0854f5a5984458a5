"""The growth of one robot's tree: all that waits is derived, then the upper tree is tidied.

Waiting records are taken in spans; each span is derived anew from L0 and put under its days in
one transaction, which also marks the records as consolidated. Then the upper tree is grouped and
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
import threading
import time

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.events import derive
from emv_ros.tree.raw import raw_drafts
from emv_ros.tree.reconcile import Reconciled, Reconciler
from emv_ros.tree.report import ConsolidationReport
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.stretch import find_dirty, load, settle, widen
from emv_ros.tree.summaries import SummaryWriter
from emv_ros.tree.tidy import Tidy


class Growth:
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
            taken = settle(session, robot_id, span, stretch)
        self.report.records += taken
        self.report.up_to_ns = max(self.report.up_to_ns or 0, dirty.span.end_ns)
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
            elif row.id in done.retold:
                skeleton.retell(row.parent_id)
            elif row.id in done.changed:
                skeleton.touched.add(row.parent_id)
        skeleton.attach(loose)
        for node_id in done.bereft:
            skeleton.retell(node_id)
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
