"""The growth of one robot's tree: all that waits is derived, then the upper tree is tidied.

Waiting records are taken in spans; each span is derived anew from L0 and put under its days in
one transaction, which also marks the records as consolidated. Then the upper tree is grouped and
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
import logging
import threading

from sqlalchemy.orm import Session

from emv_ros.errors import EmvError, StoreValueError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS, Interval, format_span
from emv_ros.tree.drafts import Draft
from emv_ros.tree.events import Stretch, derive
from emv_ros.tree.parameter_choices import ParameterChoices
from emv_ros.tree.parameters import Choices
from emv_ros.tree.raw import raw_drafts
from emv_ros.tree.reconcile import Reconciled, Reconciler
from emv_ros.tree.reopening import reopen_spans, take_up
from emv_ros.tree.report import ConsolidationReport
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.stretch import EVENT_KINDS, find_dirty, load, settle, widen
from emv_ros.tree.summaries import SummaryWriter
from emv_ros.tree.tidy import Tidy
from emv_ros.tree.unread import plain_drafts, unread_drafts

log = logging.getLogger(__name__)

DraftsOf = Callable[[Session, int, Interval, Stretch, TreeSettings], list[Draft]]


def derived(session: Session, robot_id: int, span: Interval, stretch: Stretch,
            settings: TreeSettings, choices: Choices | None = None) -> list[Draft]:
    """Return the events and goals of a stretch by the rules."""
    drafts = derive(stretch, settings, choices)
    return drafts + raw_drafts(session, robot_id, span, drafts,
                               round(settings.event_gap_s * SECOND_NS))


def plain(session: Session, robot_id: int, span: Interval, stretch: Stretch,
          settings: TreeSettings) -> list[Draft]:
    """Return an event for each record of a stretch, and those of raw records between them."""
    drafts = plain_drafts(stretch)
    return drafts + raw_drafts(session, robot_id, span, drafts,
                               round(settings.event_gap_s * SECOND_NS))


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
        self._at: Interval | None = None
        self._choices = ParameterChoices(store)
        self._runs: Sequence[SkillEvent] = ()

    def run(self, writer: SummaryWriter, now_ns: int | None) -> ConsolidationReport:
        """Derive all that waits, then tidy the upper tree."""
        total, done = self._waiting(), 0
        while not self._is_canceled() and (taken := self._derive_next()) is not None:
            self.renew()
            self._choices.learn(self._runs, writer.asking)
            if self.progress:
                done += taken
                self.progress(min(done, total), total)
        tidy = Tidy(self.store, self.robot, self.zone, self.settings, writer, now_ns, self.cancel,
                    self.renew)
        if not self._is_canceled():
            tidy.run()
        self.report.summaries += tidy.written
        return self.report

    def _is_canceled(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    def _waiting(self) -> int:
        return sum(waiting_records(self.store, self.robot).values()) if self.progress else 0

    def _derive_next(self) -> int | None:
        """Derive the earliest span that waits; return how many records had, None for no span."""
        try:
            return self._derive(partial(derived, choices=self._choices))
        except Exception as error:
            if isinstance(error, EmvError) and not isinstance(error, StoreValueError):
                raise  # the store's trouble: the same again the next time, or a matter of waiting
            log.exception('the events of robot %r around %s cannot be derived; each record there '
                          'gets a plain one', self.robot, self._where())
        taken = self._derive(plain)
        self.report.faults += 1
        return taken

    def _where(self) -> str:
        return format_span(self._at, self.zone) if self._at else 'its first record'

    def _derive(self, drafts_of: DraftsOf) -> int | None:
        gap_ns = round(max(self.settings.goal_gap_s, self.settings.event_gap_s) * SECOND_NS)
        with self.store.node_writer() as writer:
            session = writer.session
            robot_id = self.store.robot_id(session, self.robot)
            self._at = dirty = find_dirty(session, robot_id, gap_ns)
            if dirty is None:
                return None
            span, nodes = widen(session, robot_id, dirty, gap_ns)
            stretch, unread = load(session, robot_id, self.robot, span)
            self._runs = stretch.runs
            drafts = drafts_of(session, robot_id, span, stretch, self.settings)
            drafts += unread_drafts(row for row in unread if row.kind in EVENT_KINDS)
            drafts.sort(key=lambda draft: (draft.start_ns, draft.end_ns))
            done = Reconciler(writer, self.robot, nodes).apply(drafts)
            self._put(Skeleton(writer, self.robot, self.zone, self.settings), done)
            taken, news = settle(session, robot_id, span, stretch, unread)
            take_up(session, robot_id, span)
            reopen_spans(session, robot_id, done.left)
        for row in news:
            log.warning('a record of robot %r cannot be read: %s', self.robot, row)
        self.report.unread += news
        self.report.records += taken
        self.report.up_to_ns = max(self.report.up_to_ns or 0, dirty.end_ns)
        self.report.events += done.events
        self.report.goals += done.goals
        return taken

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
    """Return how many records of each kind wait for consolidation, and how many re-opened spans."""
    from sqlalchemy import func, select

    from emv_ros.tree.raw import RAW_KINDS
    from emv_ros.tree.reopening import waiting_spans

    with store.reading() as session:
        ids = list(store.robot_ids(session, [robot]))
        waiting = {kind: int(session.scalar(
            select(func.count()).select_from(schema.KINDS[kind]).where(
                schema.KINDS[kind].robot_id.in_(ids), schema.KINDS[kind].pending)) or 0)
            for kind in (*EVENT_KINDS, *RAW_KINDS)}
        return {**waiting, 'reopened': sum(
            len(waiting_spans(session, robot_id)) for robot_id in ids)}
