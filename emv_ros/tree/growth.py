"""The growth of one robot's tree: all that waits is derived, then the upper tree is tidied.

Waiting records are taken in spans; each span is derived anew from L0 while others may write. What
differs from the tree as it stands is put under its days slice by slice, in transactions that are
short, and that also mark the records as consolidated. Then the upper tree is grouped and written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
import gc
import logging
import threading
import time

from sqlalchemy.orm import Session

from emv_ros.errors import EmvError, StoreValueError
from emv_ros.memory import schema
from emv_ros.memory.node_writer import NodeWriter
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS, Interval, format_span
from emv_ros.tree.context import shortened
from emv_ros.tree.derivation import Derivation, OvertakenError
from emv_ros.tree.differences import Slice, slices_of
from emv_ros.tree.drafts import Draft
from emv_ros.tree.events import Stretch, derive
from emv_ros.tree.parameter_choices import ParameterChoices
from emv_ros.tree.parameters import Choices
from emv_ros.tree.raw import raw_drafts
from emv_ros.tree.reconcile import Reconciled, Reconciler
from emv_ros.tree.reopening import reopen_spans, take_up, times_reopened, waiting_spans
from emv_ros.tree.report import ConsolidationReport
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.stored import Stored
from emv_ros.tree.stretch import (
    EVENT_KINDS,
    Member,
    find_dirty,
    load,
    news_of,
    settle,
    waiting_in,
    widen,
)
from emv_ros.tree.summaries import SummaryWriter
from emv_ros.tree.tidy import Tidy
from emv_ros.tree.unread import plain_drafts, unread_drafts

log = logging.getLogger(__name__)

# So often a span is derived while others write; then they have to wait for it.
TRIES = 3
# Between two slices others may write.
LONGEST_REST_S = 0.1

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
        self._timeless: list[Member] = []
        self._is_reopened = False
        self._rest = cancel or threading.Event()

    def run(self, writer: SummaryWriter, now_ns: int | None) -> ConsolidationReport:
        """Derive what waits now, then tidy the upper tree; what comes meanwhile is for the next."""
        total, done = sum(waiting_records(self.store, self.robot).values()), 0
        while not self._is_canceled() and (taken := self._derive_next()) is not None:
            self.renew()
            self._choices.learn(self._runs, writer.asking)
            done += taken
            if self.progress:
                self.progress(min(done, total), total)
            if self._is_enough(taken, done >= total):
                break
        tidy = Tidy(self.store, self.robot, self.zone, self.settings, writer, now_ns, self.cancel,
                    self.renew)
        if not self._is_canceled():
            tidy.run()
        self.report.summaries += tidy.written
        return self.report

    def _is_enough(self, taken: int, has_all: bool) -> bool:
        """Whether to end: all that waited at first is done, or what waits changes all the time."""
        if not taken and not self._is_reopened:
            return True
        if not has_all:
            return False
        with self.store.reading() as session:
            return not any(waiting_spans(session, robot_id)
                           for robot_id in self.store.robot_ids(session, [self.robot]))

    def _is_canceled(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

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
        taken = 0
        for _ in range(TRIES):
            with self.store.reading() as session:
                found = self._read(session, drafts_of)
            if self._timeless:
                with self.store.writing() as session:
                    settle(session, self._timeless)
            if found is None:
                return None
            try:
                if len(found.slices) > 1:
                    gc.collect()  # in the midst of a transaction it would keep others waiting
                for part, is_last in found.steps():
                    begun = time.monotonic()
                    with self.store.node_writer() as writer:
                        taken += self._write(writer, found, part, is_last)
                    if self._is_canceled():
                        return taken
                    if not is_last:
                        # SQLite's writers look for the lock again each 0.1 s at the latest.
                        self._rest.wait(min(LONGEST_REST_S, time.monotonic() - begun))
                return self._tell(found, taken)
            except OvertakenError:
                log.info('the tree of robot %r was changed while it was derived', self.robot)
        with self.store.node_writer() as writer:
            found = self._read(writer.session, drafts_of)
            if found is None:
                return None
            taken += sum(self._write(writer, found, part, is_last)
                         for part, is_last in found.steps())
        return self._tell(found, taken)

    def _read(self, session: Session, drafts_of: DraftsOf) -> Derivation | None:
        """Derive the earliest span that waits from what is there now; write nothing."""
        gap_ns = round(max(self.settings.goal_gap_s, self.settings.event_gap_s) * SECOND_NS)
        robot_id = self.store.robot_id(session, self.robot)
        self._timeless.clear()
        self._at = dirty = find_dirty(session, robot_id, gap_ns, self._timeless)
        if dirty is None:
            return None
        span, tops = widen(session, robot_id, dirty, gap_ns)
        self._is_reopened = bool(waiting_spans(session, robot_id))
        if not self._is_reopened:
            span, tops = shortened(session, robot_id, dirty, span, tops,
                                   round(self.settings.event_gap_s * SECOND_NS))
        stretch, unread = load(session, robot_id, self.robot, span)
        self._runs = stretch.runs
        drafts = drafts_of(session, robot_id, span, stretch, self.settings)
        drafts += unread_drafts(row for row in unread if row.kind in EVENT_KINDS)
        drafts.sort(key=lambda draft: (draft.start_ns, draft.end_ns))
        waiting = waiting_in(session, robot_id, span)
        found = Derivation(
            self.robot, robot_id, dirty, span,
            slices_of(drafts, Stored.of(session, [top.id for top in tops])), waiting,
            times_reopened(session, robot_id), news_of(session, unread, waiting))
        found.know(stretch)
        return found

    def _write(self, writer: NodeWriter, found: Derivation, part: Slice, is_last: bool) -> int:
        """Write one slice; return how many records that waited it took."""
        session = writer.session
        nodes = found.nodes_of(session, part)
        done = Reconciler(writer, self.robot, nodes).apply(part.drafts)
        self._put(Skeleton(writer, self.robot, self.zone, self.settings), done)
        taken = settle(session, found.taken_by(session, part, is_last))
        found.left += done.left
        if is_last:
            take_up(session, found.robot_id, found.span)
        if done.left or (is_last and found.left):
            reopen_spans(session, found.robot_id, found.left)
            found.times = times_reopened(session, found.robot_id)
        self.report.records += taken
        self.report.events += done.events
        self.report.goals += done.goals
        return taken

    def _tell(self, found: Derivation, taken: int) -> int:
        for row in found.news:
            log.warning('a record of robot %r cannot be read: %s', self.robot, row)
        self.report.unread += found.news
        self.report.up_to_ns = max(self.report.up_to_ns or 0, found.dirty.end_ns)
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

    with store.reading() as session:
        ids = list(store.robot_ids(session, [robot]))
        waiting = {kind: int(session.scalar(
            select(func.count()).select_from(schema.KINDS[kind]).where(
                schema.KINDS[kind].robot_id.in_(ids), schema.KINDS[kind].pending)) or 0)
            for kind in (*EVENT_KINDS, *RAW_KINDS)}
        return {**waiting, 'reopened': sum(
            len(waiting_spans(session, robot_id)) for robot_id in ids)}
